/* Checks a snapshot: chooses the engine, and reports the edges of what was found. */
#include "engines/detect/check/engine.h"

#include "engines/detect/check/cuda.h"
#include "engines/detect/check/snapshot.h"
#include "foundation/base/error.h"

#include <string.h>

void check_result_free(struct check_result *result, const gordian_allocator *memory)
{
    memory_free_all(memory, result->deadlocked, result->parts, result->processes, result->resources,
                    result->edges, result->edge_starts);
    memset(result, 0, sizeof *result);
}

gordian_model check_model(const gordian_snapshot *snapshot)
{
    if (snapshot->waits.count > 0 || snapshot->wait_units)
        return GORDIAN_MODEL_GENERAL;
    return snapshot->several ? GORDIAN_MODEL_MULTI_UNIT : GORDIAN_MODEL_SINGLE_UNIT;
}

uint32_t gordian_snapshot_processes(const gordian_snapshot *snapshot)
{
    return snapshot->process_count;
}

uint32_t gordian_snapshot_resources(const gordian_snapshot *snapshot)
{
    return snapshot->resource_count;
}

/* ------------------------------------------------------------------ engines */

/* One thread for this many processes and resources. Fewer are not worth a thread. */
#define THREAD_NODES 500000

static gordian_status judge_sparse(const gordian_snapshot *snapshot, gordian_model model,
                                   unsigned threads, struct check_result *result,
                                   gordian_error *error)
{
    uint64_t nodes = (uint64_t)snapshot->process_count + snapshot->resource_count;
    unsigned most = snapshot_threads(snapshot, threads, nodes / THREAD_NODES);
    bool fine =
        (model == GORDIAN_MODEL_SINGLE_UNIT ? check_single : check_general)(snapshot, most, result);
    return fine ? GORDIAN_OK : fail_memory(error);
}

const struct check_engine check_sparse = {
    .about = {.name = "sparse", .summary = "checks a snapshot in linear time on the CPU"},
    .judge = judge_sparse,
};

const struct check_engine check_on_gpu = {
    .about = {.name = "cuda",
              .summary = "checks a snapshot on an NVIDIA GPU",
              .available = gpu_available},
    .judge = check_cuda,
};

/* `auto`: a device that fails, or has too little memory, counts as none. */
static gordian_status judge_auto(const gordian_snapshot *snapshot, gordian_model model,
                                 unsigned threads, struct check_result *result,
                                 const struct check_engine **engine, gordian_error *error)
{
    *engine = &check_on_gpu;
    if (check_cuda_pays(snapshot) &&
        check_cuda(snapshot, model, threads, result, NULL) == GORDIAN_OK)
        return GORDIAN_OK;
    *engine = &check_sparse;
    return judge_sparse(snapshot, model, threads, result, error);
}

static gordian_status judge_with(gordian_snapshot *snapshot, const char *name, unsigned threads,
                                 gordian_error *error)
{
    struct check_result result = {0};
    gordian_model model = check_model(snapshot);
    const struct engine *chosen;
    TRY(engine_choose(&check_family, name, NULL, &chosen, error));
    const struct check_engine *engine = (const struct check_engine *)chosen;
    TRY(engine_any(name) ? judge_auto(snapshot, model, threads, &result, &engine, error)
                         : engine->judge(snapshot, model, threads, &result, error));
    check_result_free(&snapshot->result, &snapshot->memory);
    snapshot->result = result;
    snapshot->result.report.model = model;
    snapshot->result.report.engine = engine->about.name;
    snapshot->judged = true;
    return GORDIAN_OK;
}

gordian_status gordian_snapshot_check_for(gordian_snapshot *snapshot,
                                          const gordian_check_options *options,
                                          gordian_report *report, gordian_error *error)
{
    const char *engine = options ? options->engine : NULL;
    bool known = snapshot->judged &&
                 (engine_any(engine) || strcmp(engine, snapshot->result.report.engine) == 0);
    gordian_status status =
        known ? GORDIAN_OK : judge_with(snapshot, engine, options ? options->threads : 0, error);
    if (status == GORDIAN_OK)
        *report = snapshot->result.report;
    return status;
}

gordian_status gordian_snapshot_check_with(gordian_snapshot *snapshot, const char *engine,
                                           gordian_report *report, gordian_error *error)
{
    return gordian_snapshot_check_for(snapshot, &(gordian_check_options){engine, 0}, report, error);
}

gordian_status gordian_snapshot_check(gordian_snapshot *snapshot, gordian_report *report,
                                      gordian_error *error)
{
    return gordian_snapshot_check_with(snapshot, "auto", report, error);
}

/* ------------------------------------------------------------------ edges */

/* Derives a cycle's edges from its processes and resources: wait, hold, wait, ... */
static gordian_status cycle_edges(gordian_snapshot *snapshot, const gordian_part *part,
                                  gordian_error *error)
{
    struct check_result *result = &snapshot->result;
    if (!memory_grow(&snapshot->memory, &result->edges, &result->edge_room, 2 * part->process_count,
                     sizeof *result->edges))
        return fail_memory(error);
    for (size_t i = 0; i < part->process_count; i++) {
        size_t next = i + 1 < part->process_count ? i + 1 : 0;
        result->edges[2 * i] = (gordian_edge){1, part->processes[i], part->resources[i], true};
        result->edges[2 * i + 1] =
            (gordian_edge){1, part->processes[next], part->resources[i], false};
    }
    return GORDIAN_OK;
}

/* Returns the index of this part of the report, or part_count. The processes of all parts are
 * stored one after another, so the address identifies the part, even one of an old report. */
static size_t find_part(const struct check_result *result, const gordian_part *part)
{
    size_t low = 0, high = result->report.part_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)result->parts[middle].processes < (uintptr_t)part->processes)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < result->report.part_count && result->parts[low].processes == part->processes)
        return low;
    return result->report.part_count;
}

gordian_status gordian_snapshot_edges(gordian_snapshot *snapshot, const gordian_part *part,
                                      const gordian_edge **edges, size_t *count,
                                      gordian_error *error)
{
    struct check_result *result = &snapshot->result;
    if (!snapshot->judged)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the snapshot has not been checked since it changed");
    size_t index = find_part(result, part);
    if (index == result->report.part_count)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "this is not a part of the snapshot's last report");
    if (result->parts[index].cycle) {
        TRY(cycle_edges(snapshot, &result->parts[index], error));
        *edges = result->edges;
        *count = 2 * result->parts[index].process_count;
        return GORDIAN_OK;
    }
    if (!result->edge_starts && !check_part_edges(snapshot, result))
        return fail_memory(error);
    *edges = result->edges + result->edge_starts[index];
    *count = result->edge_starts[index + 1] - result->edge_starts[index];
    return GORDIAN_OK;
}

/*
 * `reduce`: the plain engine, and the oracle for the others. It reduces the whole graph from
 * scratch after every event that could change the answer.
 *
 * First all running processes finish and release everything. Then, round after round, every process
 * whose whole request fits the free units also finishes. Those left over can never run again. There
 * is no shortcut and no state except the last answer.
 */
#include "engines/detect/engine/engine.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

struct reduce {
    const struct rag *graph;
    gordian_allocator memory;
    uint64_t *dead; /* a bit for every process: it can never run again */
    uint64_t *done; /* during a reduction: it has finished */
    size_t dead_room, done_room;
    uint64_t *work; /* by resource: free units during a reduction */
    size_t work_room;
};

static gordian_status reduce_open(void **engine, const struct detect_engine *table,
                                  struct rag *graph, gordian_error *error)
{
    (void)table;
    struct reduce *reduce = memory_zeroed(&graph->memory, sizeof *reduce);
    if (!reduce)
        return fail_memory(error);
    reduce->graph = graph;
    reduce->memory = graph->memory;
    *engine = reduce;
    return GORDIAN_OK;
}

static void reduce_close(void *engine)
{
    struct reduce *reduce = engine;
    gordian_allocator memory = reduce->memory;
    memory_free_all(&memory, reduce->dead, reduce->done, reduce->work, reduce);
}

static gordian_status reduce_prepare(void *engine, gordian_model model, uint32_t processes,
                                     uint32_t resources, gordian_error *error)
{
    struct reduce *reduce = engine;
    (void)model; /* one method for all models */
    if (!memory_grow_zeroed(&reduce->memory, &reduce->dead, &reduce->dead_room,
                            bits_words(processes), sizeof *reduce->dead) ||
        !memory_grow(&reduce->memory, &reduce->done, &reduce->done_room, bits_words(processes),
                     sizeof *reduce->done) ||
        !memory_grow(&reduce->memory, &reduce->work, &reduce->work_room, resources,
                     sizeof *reduce->work))
        return fail_memory(error);
    return GORDIAN_OK;
}

static bool request_fits_work(const struct reduce *reduce, uint32_t process)
{
    struct rag_edge edge;
    for (uint32_t ref = process; ref != NONE; ref = edge.next) {
        edge = rag_wanted(reduce->graph, ref);
        if (edge.units > reduce->work[edge.resource])
            return false;
    }
    return true;
}

static void finish_reduced(struct reduce *reduce, uint32_t process)
{
    struct rag_edge edge;
    bits_set(reduce->done, process);
    for (uint32_t ref = reduce->graph->processes[process].held; ref != NONE; ref = edge.next) {
        edge = rag_held(reduce->graph, ref);
        reduce->work[edge.resource] += edge.units;
    }
}

/* Runs the whole reduction; `dead` becomes the set of the processes left over. */
static void reduce_settle(void *engine)
{
    struct reduce *reduce = engine;
    const struct rag *graph = reduce->graph;
    if (graph->process_limit == 0)
        return;
    memset(reduce->done, 0, reduce->done_room * sizeof *reduce->done);
    memset(reduce->dead, 0, reduce->dead_room * sizeof *reduce->dead);
    for (uint32_t q = 0; q < graph->resource_limit; q++)
        reduce->work[q] = rag_is_resource(graph, q) ? rag_free_units(graph, q) : 0;
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_is_process(graph, p) && !rag_waits(graph, p))
            finish_reduced(reduce, p);
    for (bool progress = true; progress;) {
        progress = false;
        for (uint32_t p = 0; p < graph->process_limit; p++)
            if (rag_waits(graph, p) && !bits_test(reduce->done, p) &&
                request_fits_work(reduce, p)) {
                finish_reduced(reduce, p);
                progress = true;
            }
    }
    for (uint32_t p = 0; p < graph->process_limit; p++)
        if (rag_waits(graph, p) && !bits_test(reduce->done, p))
            bits_set(reduce->dead, p);
}

/* Returns whether a newcomer that holds nothing and makes the same request would never be served.
 * Only the holdings of the dead are never released. */
static bool is_hopeless(const struct reduce *reduce, uint32_t process)
{
    const struct rag *graph = reduce->graph;
    struct rag_edge want;
    for (uint32_t ref = process; ref != NONE; ref = want.next) {
        want = rag_wanted(graph, ref);
        uint64_t left = rag_total_units(graph, want.resource);
        struct rag_edge hold;
        for (uint32_t h = rag_first_holder(graph, want.resource); h != NONE; h = hold.next) {
            hold = rag_holder(graph, h);
            if (bits_test(reduce->dead, hold.process))
                left -= hold.units;
        }
        if (left < want.units)
            return true;
    }
    return false;
}

static gordian_outcome reduce_block(void *engine, uint32_t process)
{
    struct reduce *reduce = engine;
    bool doomed = is_hopeless(reduce, process); /* because of earlier dead processes */
    reduce_settle(reduce);
    if (!bits_test(reduce->dead, process))
        return GORDIAN_OUTCOME_BLOCKED;
    return doomed ? GORDIAN_OUTCOME_DOOMED : GORDIAN_OUTCOME_DEADLOCK;
}

static gordian_status reduce_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    const struct reduce *reduce = engine;
    (void)error;
    if (reduce->graph->process_limit)
        memcpy(set, reduce->dead, bits_words(reduce->graph->process_limit) * sizeof *set);
    return GORDIAN_OK;
}

const struct detect_engine detect_reduce = {
    .about =
        {
            .name = "reduce",
            .summary = "reduces the whole graph after every event: simple and slow, the oracle",
        },
    .open = reduce_open,
    .close = reduce_close,
    .prepare = reduce_prepare,
    .block = reduce_block,
    .settle = reduce_settle,
    .deadlocked = reduce_deadlocked,
};

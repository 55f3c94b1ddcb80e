/* The engine cuda-blocks compared with cuda, for few held units of very many resources: device
 * memory, and events. The held units are scattered at random and form chains, short ones or a
 * single long one. */
#include "engines/detect/cuda/cuda.h"
#include "engines/detect/system.h"
#include "foundation/base/error.h"
#include "foundation/base/random.h"
#include "lab/bench/detect/cuda.h"

#include <stdio.h>

#define SHORT  8u    /* links of a short chain */
#define GRANTS 1000u /* of a chain */

struct holders {
    uint32_t size; /* number of processes, and of resources */
    uint32_t held; /* of each kind */
    enum cuda_scale scale;
};

static const struct holders all_holders[] = {
    {300, 24, CUDA_EMULATED}, {65536, 64, CUDA_FULL},    {65536, 656, CUDA_QUICK},
    {262144, 264, CUDA_FULL}, {262144, 2624, CUDA_FULL},
};

/* One engine with its load; measures the first chain. */
struct load {
    struct long_chain chain;
    const uint32_t *free_id; /* ids of a process and a resource outside all chains */
};

/* ------------------------------------------------------------------ the load */

/* Draws `count` different ids at random. */
static gordian_status draw_ids(const struct cuda_bench *cuda, const struct holders *holders,
                               uint32_t count, uint32_t **ids)
{
    struct random random;
    random_seed(&random, cuda->bench->options->seed);
    *ids = memory_alloc(&cuda->bench->memory, holders->size * sizeof **ids);
    if (!*ids)
        return fail_memory(cuda->bench->error);
    for (uint32_t i = 0; i < holders->size; i++)
        (*ids)[i] = i;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t other = i + (uint32_t)random_below(&random, holders->size - i), id = (*ids)[i];
        (*ids)[i] = (*ids)[other];
        (*ids)[other] = id;
    }
    return GORDIAN_OK;
}

static gordian_status open_load(struct load *load, const char *engine,
                                const struct holders *holders, uint32_t length, uint64_t units,
                                const uint32_t *ids, gordian_error *error)
{
    double ignored;
    gordian_status status =
        long_chain_open_within(&load->chain, engine, length, units, ids, holders->size, error);
    load->free_id = &ids[holders->held];
    for (uint32_t i = 0; i < holders->held / length && status == GORDIAN_OK; i++) {
        struct long_chain chain = load->chain;
        chain.ids = ids + (uint64_t)i * length;
        chain.first_units = i ? 1 : units;
        status = long_chain_build(&chain, true, NULL, &ignored, error);
    }
    return status;
}

/* ------------------------------------------------------------------ timed operations */

static gordian_status run_answer(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    double settled;
    return long_chain_block(&load->chain, long_chain_worst(&load->chain), ns, &settled, error);
}

static gordian_status run_settled_block(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    double answer;
    return long_chain_block(&load->chain, long_chain_worst(&load->chain), &answer, ns, error);
}

static gordian_status run_cancel(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    const uint32_t process = long_chain_worst(&load->chain);
    gordian_status status = long_chain_cancel(&load->chain, process, ns, error);
    const uint32_t *ids = load->chain.ids;
    THEN(status,
         gordian_request(load->chain.system, ids[process], ids[process + 1], 1, NULL, error));
    return status == GORDIAN_OK ? long_chain_settle(&load->chain, error) : status;
}

static gordian_status run_chain_off(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    double built;
    TRY(long_chain_release_all(&load->chain, ns, error));
    return long_chain_build(&load->chain, true, NULL, &built, error);
}

static gordian_status run_grants(void *context, double *ns, gordian_error *error)
{
    struct load *load = context;
    gordian_status status = GORDIAN_OK;
    const uint32_t id = *load->free_id;
    uint64_t start = clock_ns();
    for (uint32_t i = 0; i < GRANTS && status == GORDIAN_OK; i++) {
        status = gordian_request(load->chain.system, id, id, 1, NULL, error);
        THEN(status, gordian_release(load->chain.system, id, id, 1, NULL, error));
    }
    THEN(status, long_chain_settle(&load->chain, error));
    *ns = (double)(clock_ns() - start) / (2 * GRANTS);
    return status;
}

struct timed {
    const char *id;
    gordian_status (*run)(void *context, double *ns, gordian_error *error);
    const char *note;
    bool multi; /* also multi-unit systems */
};

static const struct timed all_timed[] = {
    {"block", run_answer, "in the middle of the chain: from the event to the answer", true},
    {"block-settled", run_settled_block, "the same with its bookkeeping", true},
    {"cancel", run_cancel, "that wait cancelled, settled; multi-unit: all of RP recomputed", true},
    {"release", run_chain_off, "releases along the chain, each handing over: average, settled",
     false},
    {"grant", run_grants, "a free resource granted or released: average, settled", true},
};

/* ------------------------------------------------------------------ rows */

/* Shared by the rows of a load. */
struct occasion {
    const struct cuda_bench *cuda;
    const struct holders *holders;
    const char *model, *chains;
};

static struct bench_row begin_holders_row(const struct occasion *at, const char *unit,
                                          const char *id)
{
    return bench_row(unit, "detect/cuda-blocks/%s%s-%u-%u-%s", at->model, id, at->holders->size,
                     at->holders->held, at->chains);
}

static gordian_status device_memory_row(const struct occasion *at, struct load *loads, size_t count)
{
    uint64_t bytes[2] = {0}, used[2] = {0};
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++)
        status =
            cuda_memory(loads[i].chain.system->state, &bytes[i], &used[i], at->cuda->bench->error);
    TRY(status);
    struct bench_row row = begin_holders_row(at, "MiB", "memory");
    row.value = (double)bytes[0] / (1 << 20);
    if (count > 1) {
        row.baseline = "cuda";
        row.baseline_value = (double)bytes[1] / (1 << 20);
    }
    bench_note(&row, "device memory; %.2f MiB of it in use", (double)used[0] / (1 << 20));
    snprintf(row.series, sizeof row.series, "cuda-blocks");
    return cuda_add(at->cuda, &row, 0);
}

static gordian_status timed_row(const struct occasion *at, struct load *loads, size_t count,
                                const struct timed *timed)
{
    struct bench_side sides[] = {{&loads[0], timed->run}, {&loads[1], timed->run}};
    TRY(bench_measure(at->cuda->bench, sides, count, cuda_effort(at->cuda, 1)));
    struct bench_row row = begin_holders_row(at, "us", timed->id);
    bench_fill(&row, &sides[0], 1e3);
    if (count > 1)
        bench_against_curve(&row, "cuda", &sides[1]);
    bench_note(&row, "%s", timed->note);
    snprintf(row.series, sizeof row.series, "cuda-blocks");
    return cuda_add(at->cuda, &row, 0);
}

static gordian_status measure_loads(const struct occasion *at, struct load *loads, size_t count)
{
    TRY(device_memory_row(at, loads, count));
    for (size_t i = 0; i < sizeof all_timed / sizeof *all_timed; i++)
        if (all_timed[i].multi || !at->model[0])
            TRY(timed_row(at, loads, count, &all_timed[i]));
    return GORDIAN_OK;
}

/* A device may be too small for whole matrices; then there is no comparison. */
static gordian_status holders_load_rows(const struct occasion *at, uint32_t length, uint64_t units)
{
    gordian_error *error = at->cuda->bench->error;
    struct load loads[2] = {0};
    uint32_t *ids = NULL;
    bench_progress(at->cuda->bench, "%s%u held of %u, %s chains, cuda-blocks", at->model,
                   at->holders->held, at->holders->size, at->chains);
    gordian_status status = draw_ids(at->cuda, at->holders, at->holders->held + 1, &ids);
    THEN(status, open_load(&loads[0], "cuda-blocks", at->holders, length, units, ids, error));
    if (status == GORDIAN_OK) {
        status = open_load(&loads[1], "cuda", at->holders, length, units, ids, error);
        bool whole = status != GORDIAN_STATUS_MEMORY;
        if (status == GORDIAN_OK || !whole)
            status = measure_loads(at, loads, whole ? 2 : 1);
    }
    long_chain_close(&loads[0].chain);
    long_chain_close(&loads[1].chain);
    memory_free(&at->cuda->bench->memory, ids);
    return status;
}

gordian_status detect_blocks_rows(struct bench *bench)
{
    if (!bench_wants(bench, "cuda-blocks"))
        return GORDIAN_OK;
    const char *why;
    if (!gpu_available(&why))
        return bench_skip(bench, "detect/cuda-blocks", why);
    struct cuda_bench cuda;
    TRY(cuda_begin(bench, &cuda));
    for (size_t i = 0; i < 2 * sizeof all_holders / sizeof *all_holders; i++)
        if (cuda_takes(&cuda, all_holders[i / 2].scale)) {
            const struct holders *holders = &all_holders[i / 2];
            struct occasion at = {&cuda, holders, i % 2 ? "multi/" : "", "short"};
            TRY(holders_load_rows(&at, SHORT, i % 2 ? 2 : 1));
            at.chains = "long";
            TRY(holders_load_rows(&at, holders->held, i % 2 ? 2 : 1));
        }
    return GORDIAN_OK;
}

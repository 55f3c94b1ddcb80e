/* The cuda engine on single-unit systems: a worst-case blocked event, the papers' lists, releases;
 * the round trip to the device is measured separately. */
#include "lab/bench/detect/cuda.h"

#include "engines/detect/cuda/cuda.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ shared by all parts */

bool cuda_takes(const struct cuda_bench *cuda, enum cuda_scale scale)
{
    if (cuda->info.emulated)
        return scale == CUDA_EMULATED;
    return scale == CUDA_QUICK || (scale == CUDA_FULL && !cuda->bench->options->quick);
}

struct bench_effort cuda_effort(const struct cuda_bench *cuda, double seconds)
{
    if (cuda->info.emulated)
        return (struct bench_effort){0, 2, 2, 0};
    return (struct bench_effort){3, 5, 1000, cuda->bench->options->quick ? seconds / 4 : seconds};
}

gordian_status cuda_add(const struct cuda_bench *cuda, struct bench_row *row, double bar)
{
    if (bar > 0 && cuda->bars)
        bench_bar(row, BAR_VALUE_AT_MOST, bar);
    if (!row->series[0])
        snprintf(row->series, sizeof row->series, "cuda");
    return bench_add(cuda->bench, row);
}

/* ------------------------------------------------------------------ a blocked event */

struct block {
    struct long_chain *chain;
    bool settled; /* counts the time until settled, otherwise until the answer */
};

static gordian_status run_chain_block(void *context, double *ns, gordian_error *error)
{
    const struct block *block = context;
    double answer, settled;
    gordian_status status =
        long_chain_block(block->chain, long_chain_worst(block->chain), &answer, &settled, error);
    *ns = block->settled ? settled : answer;
    return status;
}

struct block_size {
    uint32_t size;
    enum cuda_scale scale;
    double answer_bar, settled_bar; /* us */
    bool matrix;                    /* also measures that engine */
};

static const struct block_size block_sizes[] = {
    {64, CUDA_EMULATED, 0, 0, true},   {512, CUDA_FULL, 0, 0, true},
    {1024, CUDA_QUICK, 0, 0, true},    {2048, CUDA_FULL, 0, 0, true},
    {4096, CUDA_FULL, 0, 0, true},     {8192, CUDA_QUICK, 10, 0, true},
    {16384, CUDA_FULL, 0, 0, true},    {32768, CUDA_FULL, 0, 0, false},
    {65536, CUDA_FULL, 0, 750, false}, {131072, CUDA_FULL, 0, 0, false},
};

#define BLOCK_PLOT "A worst blocked event (us)"

/* Adds rows: until the answer, until settled, and the device's computation, which is settled minus
 * the round trip. */
static gordian_status add_block_rows(const struct cuda_bench *cuda, const struct block_size *size,
                                     const struct bench_side *sides, double round_trip)
{
    const struct detect_paper paper = detect_paper_at(size->size);
    struct bench_row answer = bench_measured(&sides[0], "us", "detect/cuda/block-%u", size->size);
    struct bench_row settled =
        bench_measured(&sides[1], "us", "detect/cuda/block-%u-settled", size->size);
    struct bench_row computing = bench_row("us", "detect/cuda/block-%u-computing", size->size);
    bench_against_curve(&answer, "sparse", &sides[2]);
    bench_against_curve(&settled, "sparse", &sides[2]);
    computing.value = (sides[1].median > round_trip ? sides[1].median - round_trip : 0) / 1e3;
    bench_curve(&answer, BLOCK_PLOT, size->size, "cuda, answered");
    bench_curve(&settled, BLOCK_PLOT, size->size, "cuda, settled");
    /* The papers measure until the whole update is done. */
    bench_paper(&settled, paper.block_ms.cpu * 1e3, paper.block_ms.gpu * 1e3);
    bench_note(&computing,
               "settled minus the round trip: half of the resources gain half of the chain");
    TRY(cuda_add(cuda, &answer, size->answer_bar));
    TRY(cuda_add(cuda, &settled, size->settled_bar));
    return cuda_add(cuda, &computing, 0);
}

static gordian_status add_matrix_block(const struct cuda_bench *cuda, uint32_t size)
{
    struct long_chain chain;
    double built;
    gordian_error *error = cuda->bench->error;
    TRY(long_chain_open(&chain, "matrix", size, 1, error));
    struct block block = {&chain, true};
    struct bench_side side = {&block, run_chain_block};
    gordian_status status = long_chain_build(&chain, true, NULL, &built, error);
    THEN(status, bench_measure(cuda->bench, &side, 1, cuda_effort(cuda, 1)));
    long_chain_close(&chain);
    struct bench_row row = bench_measured(&side, "us", "detect/cuda/block-%u/matrix", size);
    bench_curve(&row, BLOCK_PLOT, size, "matrix");
    return status == GORDIAN_OK ? cuda_add(cuda, &row, 0) : status;
}

static gordian_status block_rows(const struct cuda_bench *cuda, const struct block_size *size,
                                 double round_trip)
{
    struct long_chain chain, plain = {0};
    gordian_error *error = cuda->bench->error;
    double built;
    bench_progress(cuda->bench, "a worst blocked event, %u x %u, cuda", size->size, size->size);
    gordian_status status = long_chain_open(&chain, "cuda", size->size, 1, error);
    THEN(status, long_chain_open(&plain, "sparse", size->size, 1, error));
    THEN(status, long_chain_build(&chain, true, NULL, &built, error));
    THEN(status, long_chain_build(&plain, true, NULL, &built, error));
    struct block answer = {&chain, false}, settled = {&chain, true}, sparse = {&plain, true};
    struct bench_side sides[] = {
        {&answer, run_chain_block}, {&settled, run_chain_block}, {&sparse, run_chain_block}};
    THEN(status, bench_measure(cuda->bench, sides, 3, cuda_effort(cuda, 2)));
    long_chain_close(&chain);
    long_chain_close(&plain);
    THEN(status, add_block_rows(cuda, size, sides, round_trip));
    if (status == GORDIAN_OK && size->matrix)
        status = add_matrix_block(cuda, size->size);
    return status;
}

static gordian_status all_block_rows(const struct cuda_bench *cuda)
{
    double round_trip = 0;
    struct long_chain chain;
    TRY(long_chain_open(&chain, "cuda", 64, 1, cuda->bench->error));
    struct bench_side side = {&chain, long_chain_round_trip};
    gordian_status status = bench_measure(cuda->bench, &side, 1, cuda_effort(cuda, 1));
    long_chain_close(&chain);
    struct bench_row row = bench_measured(&side, "us", "detect/cuda/round-trip");
    round_trip = side.median;
    bench_note(&row, "a granted request and its completion: only communication");
    THEN(status, cuda_add(cuda, &row, 0));
    for (size_t i = 0; i < sizeof block_sizes / sizeof *block_sizes; i++)
        if (status == GORDIAN_OK && cuda_takes(cuda, block_sizes[i].scale))
            status = block_rows(cuda, &block_sizes[i], round_trip);
    return status;
}

/* ------------------------------------------------------------------ the papers' lists */

static gordian_status cuda_run_list(void *context, double *ns, gordian_error *error)
{
    const struct cuda_list *list = context;
    struct long_chain chain;
    TRY(long_chain_open(&chain, list->engine, list->size, list->first_units, error));
    gordian_status status = long_chain_build(&chain, false, NULL, ns, error);
    uint64_t start = clock_ns();
    THEN(status, long_chain_close_ring(&chain, error));
    *ns += (double)(clock_ns() - start);
    long_chain_close(&chain);
    return status;
}

static struct bench_row list_row(const char *id, const struct cuda_list *list, const char *engine,
                                 const struct bench_side *side)
{
    const struct detect_paper paper = detect_paper_at(list->size);
    const bool multi = list->first_units > 1;
    const struct detect_paper_times theirs = multi ? paper.multi_s : paper.list_s;
    struct bench_row row =
        bench_measured(side, "ms", "detect/cuda/%s-%u%s", id, list->size, engine);
    bench_paper(&row, theirs.cpu * 1e3, theirs.gpu * 1e3);
    bench_curve(&row, multi ? "2M events, multi-unit (ms)" : "The papers' 2M events (ms)",
                list->size, "%s", list->engine);
    return row;
}

gordian_status cuda_list_rows(const struct cuda_bench *cuda, const char *id, uint32_t size,
                              uint64_t first_units, bool matrix, double bar)
{
    struct cuda_list lists[] = {
        {"cuda", size, first_units}, {"sparse", size, first_units}, {"matrix", size, first_units}};
    struct bench_side sides[] = {
        {&lists[0], cuda_run_list}, {&lists[1], cuda_run_list}, {&lists[2], cuda_run_list}};
    /* Every sample reopens the device, which takes a third of a second; the longest lists take half
     * a minute. */
    const bool once = cuda->info.emulated || size > 16384, few = matrix && size > 4096;
    struct bench_effort effort = {0, once ? 1 : 3, once || few ? 3 : 10, once ? 0 : 3};
    struct bench_effort matrix_effort = {0, 1, 3, 2};
    bench_progress(cuda->bench, "%s, M = %u", id, size);
    TRY(bench_measure(cuda->bench, sides, 2, effort));
    struct bench_row row = list_row(id, &lists[0], "", &sides[0]);
    bench_against_curve(&row, "sparse", &sides[1]);
    if (first_units > 1 && !cuda->info.emulated)
        bench_note(&row, "the papers do not say which events they used; these are a chain's");
    gordian_status status = cuda_add(cuda, &row, bar);
    if (status != GORDIAN_OK || !matrix)
        return status;
    status = bench_measure(cuda->bench, &sides[2], 1, matrix_effort);
    row = list_row(id, &lists[2], "/matrix", &sides[2]);
    return status == GORDIAN_OK ? cuda_add(cuda, &row, 0) : status;
}

static gordian_status single_list_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
        bool matrix;
        double bar; /* ms */
    } sizes[] = {
        {48, CUDA_EMULATED, true, 0}, {512, CUDA_FULL, true, 0},    {1024, CUDA_QUICK, true, 0},
        {2048, CUDA_FULL, true, 0},   {4096, CUDA_FULL, true, 0},   {8192, CUDA_QUICK, false, 100},
        {16384, CUDA_FULL, false, 0}, {32768, CUDA_FULL, false, 0}, {65536, CUDA_FULL, false, 0},
    };
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (cuda_takes(cuda, sizes[i].scale))
            TRY(cuda_list_rows(cuda, "events", sizes[i].size, 1, sizes[i].matrix, sizes[i].bar));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ releases */

struct releases {
    struct long_chain chain;
    uint64_t seed; /* 0: releases along the chain; otherwise at random */
    unsigned rounds;
};

static gordian_status run_chain_releases(void *context, double *ns, gordian_error *error)
{
    struct releases *releases = context;
    double built;
    if (releases->seed)
        return long_chain_release_random(&releases->chain, releases->seed++, releases->rounds, ns,
                                         error);
    TRY(long_chain_build(&releases->chain, true, NULL, &built, error));
    return long_chain_release_all(&releases->chain, ns, error);
}

static gordian_status add_releases(const struct cuda_bench *cuda, struct releases *both,
                                   const char *kind, const char *note, double bar)
{
    const uint32_t size = both[0].chain.length;
    struct bench_side sides[] = {{&both[0], run_chain_releases}, {&both[1], run_chain_releases}};
    struct bench_effort effort = cuda_effort(cuda, 2);
    effort.warmups = 0;
    TRY(bench_measure(cuda->bench, sides, 2, effort));
    const struct detect_paper paper = detect_paper_at(size);
    struct bench_row row = bench_measured(&sides[0], "us", "detect/cuda/release-%u%s", size, kind);
    bench_against_curve(&row, "sparse", &sides[1]);
    bench_paper(&row, paper.release_ms.cpu * 1e3, paper.release_ms.gpu * 1e3);
    bench_note(&row, "%s", note);
    return cuda_add(cuda, &row, bar);
}

static gordian_status release_rows(const struct cuda_bench *cuda, uint32_t size, double bar)
{
    struct releases both[2] = {{.rounds = 2}, {.rounds = 2}};
    gordian_error *error = cuda->bench->error;
    bench_progress(cuda->bench, "releases, %u x %u, cuda", size, size);
    gordian_status status = long_chain_open(&both[0].chain, "cuda", size, 1, error);
    THEN(status, long_chain_open(&both[1].chain, "sparse", size, 1, error));
    THEN(status,
         add_releases(cuda, both, "",
                      "releases along a chain, each handing over: average, settled at the end",
                      bar));
    both[0].seed = both[1].seed = cuda->bench->options->seed + 1;
    THEN(status, add_releases(cuda, both, "-random", "at random: average, settled at the end", 0));
    long_chain_close(&both[0].chain);
    long_chain_close(&both[1].chain);
    return status;
}

static gordian_status all_release_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
        double bar; /* us */
    } sizes[] = {{64, CUDA_EMULATED, 0}, {512, CUDA_FULL, 0},  {1024, CUDA_QUICK, 0},
                 {2048, CUDA_FULL, 0},   {4096, CUDA_FULL, 0}, {8192, CUDA_QUICK, 5}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (cuda_takes(cuda, sizes[i].scale))
            TRY(release_rows(cuda, sizes[i].size, sizes[i].bar));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ all of them */

gordian_status cuda_begin(struct bench *bench, struct cuda_bench *cuda)
{
    struct gpu *gpu;
    *cuda = (struct cuda_bench){.bench = bench};
    TRY(bench_open_gpu(bench, &gpu, &cuda->info));
    gpu_close(gpu);
    cuda->bars = strstr(cuda->info.name, "H200") != NULL;

    return GORDIAN_OK;
}

gordian_status detect_cuda_rows(struct bench *bench)
{
    if (!bench_wants(bench, "cuda"))
        return GORDIAN_OK;
    const char *why;
    if (!gpu_available(&why))
        return bench_skip(bench, "detect/cuda", why);
    struct cuda_bench cuda;
    gordian_status status = cuda_begin(bench, &cuda);
    static gordian_status (*const parts[])(const struct cuda_bench *) = {
        all_block_rows,    single_list_rows, all_release_rows,   cuda_multi_rows,
        cuda_what_if_rows, cuda_check_rows,  cuda_published_rows};
    for (size_t i = 0; i < sizeof parts / sizeof *parts && status == GORDIAN_OK; i++)
        status = parts[i](&cuda);
    return status;
}

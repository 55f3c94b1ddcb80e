/* The cuda engine on multi-unit systems: recomputes all of reachability after a release, on the
 * longest possible chain; and lists of 2M events. */
#include "lab/bench/detect/cuda.h"

#include "engines/detect/cuda/cuda.h"
#include "engines/detect/cuda/lmdda.h"
#include "engines/detect/system.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <stdio.h>

#define UNITS    2   /* of the first resource, which makes the system multi-unit */
#define RELEASES 200 /* most releases that the CPU engines measure */

struct reach {
    void *state; /* of cuda_lmdda */
    bool whole;  /* measures with transfers and waiting, otherwise the device alone */
};

static gordian_status run_reach(void *context, double *ns, gordian_error *error)
{
    const struct reach *reach = context;
    double on_device = 0;
    uint64_t start = clock_ns();
    gordian_status status = cuda_lmdda_recompute(reach->state, &on_device, error);
    *ns = reach->whole ? (double)(clock_ns() - start) : on_device * 1e3;
    return status;
}

/* Row q of RP has all processes from q on. */
static gordian_status check_reach(void *state, uint32_t length, gordian_error *error)
{
    for (uint32_t i = 0; i <= 4; i++) {
        const uint32_t row = (uint32_t)((uint64_t)(length - 1) * i / 4);
        const uint64_t *words = NULL;
        TRY(cuda_lmdda.matrix_row(state, GORDIAN_MATRIX_RP, row, &words, error));
        for (uint32_t p = 0; p < length; p++)
            if (bits_test(words, p) != (p >= row))
                return fail(error, GORDIAN_STATUS_INPUT, "cuda: RP[%u][%u] of a chain is wrong",
                            row, p);
    }
    return GORDIAN_OK;
}

/* Releases from the end of the chain, one after the other. */
struct run_off {
    struct long_chain *chain;
    uint32_t next;
};

static gordian_status run_one_release(void *context, double *ns, gordian_error *error)
{
    struct run_off *off = context;
    return long_chain_release(off->chain, off->next--, ns, error);
}

static gordian_status measure_releases(const struct cuda_bench *cuda, struct long_chain *chain,
                                       unsigned most, struct bench_side *side)
{
    struct run_off off = {chain, chain->length - 1};
    *side = (struct bench_side){&off, run_one_release};
    if (most > chain->length / 2)
        most = chain->length / 2;
    return bench_measure(cuda->bench, side, 1, (struct bench_effort){0, 1, most, 1});
}

static gordian_status add_matrix(const struct cuda_bench *cuda, uint32_t size)
{
    struct long_chain chain;
    struct bench_side side = {0};
    double built;
    gordian_error *error = cuda->bench->error;
    TRY(long_chain_open(&chain, "matrix", size, UNITS, error));
    gordian_status status = long_chain_build(&chain, true, NULL, &built, error);
    THEN(status, measure_releases(cuda, &chain, 10, &side));
    long_chain_close(&chain);
    struct bench_row row = bench_measured(&side, "us", "detect/cuda/multi/reach-%u/matrix", size);
    bench_curve(&row, "Reachability after a release (us)", size, "matrix");
    return status == GORDIAN_OK ? cuda_add(cuda, &row, 0) : status;
}

/* Measures the device alone, then everything around it, then without its matrix units. */
static gordian_status measure_reach(const struct cuda_bench *cuda, struct gpu *gpu,
                                    const struct long_chain *chain, struct bench_side sides[3])
{
    gordian_error *error = cuda->bench->error;
    const uint32_t length = chain->length;
    void *state = NULL;
    TRY(cuda_lmdda.open(&state, &cuda_lmdda, gpu, &chain->system->graph, length, length, error));
    struct reach alone = {state, false}, whole = {state, true};
    struct bench_effort effort = cuda_effort(cuda, 2);
    struct hop_options options;
    hop_options_init(&options, &cuda->info);
    sides[0] = (struct bench_side){&alone, run_reach};
    sides[1] = (struct bench_side){&whole, run_reach};
    sides[2] = sides[0];
    gordian_status status = bench_measure(cuda->bench, sides, 2, effort);
    THEN(status, check_reach(state, length, error));
    options.tensor = false;
    THEN(status, cuda_lmdda_tune(state, &options, error));
    THEN(status, bench_measure(cuda->bench, &sides[2], 1, effort));
    cuda_lmdda.close(state);
    return status;
}

static gordian_status add_reach(const struct cuda_bench *cuda, uint32_t size,
                                const struct bench_side *sides, double bar)
{
    const char *plot = "Reachability after a release (us)";
    struct bench_row row = bench_measured(&sides[0], "us", "detect/cuda/multi/reach-%u", size);
    struct bench_row whole =
        bench_measured(&sides[1], "us", "detect/cuda/multi/reach-%u-waited", size);
    struct bench_row words =
        bench_measured(&sides[2], "us", "detect/cuda/multi/reach-%u-words", size);
    bench_against_curve(&row, "sparse", &sides[3]);
    bench_curve(&row, plot, size, "cuda");
    bench_curve(&words, plot, size, "cuda, words");
    bench_note(&row,
               "all of RP recomputed, on the device; sparse: the release, which does not need RP");
    bench_note(&whole, "the same with launches, transfers and waiting");
    bench_note(&words, "the same without the matrix units");
    TRY(cuda_add(cuda, &row, bar));
    TRY(cuda_add(cuda, &whole, 0));
    return cuda_add(cuda, &words, 0);
}

static gordian_status reach_rows(const struct cuda_bench *cuda, struct gpu *gpu, uint32_t size,
                                 bool matrix, double bar)
{
    struct long_chain chain;
    struct bench_side sides[4] = {0};
    double built;
    gordian_error *error = cuda->bench->error;
    bench_progress(cuda->bench, "reachability after a release, %u x %u, cuda", size, size);
    TRY(long_chain_open(&chain, "sparse", size, UNITS, error));
    gordian_status status = long_chain_build(&chain, true, NULL, &built, error);
    THEN(status, measure_reach(cuda, gpu, &chain, sides));
    THEN(status, measure_releases(cuda, &chain, RELEASES, &sides[3]));
    long_chain_close(&chain);
    THEN(status, add_reach(cuda, size, sides, bar));
    return status == GORDIAN_OK && matrix ? add_matrix(cuda, size) : status;
}

static gordian_status multi_list_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
    } sizes[] = {{24, CUDA_EMULATED}, {64, CUDA_FULL},  {128, CUDA_FULL},
                 {256, CUDA_FULL},    {512, CUDA_FULL}, {1024, CUDA_QUICK}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (cuda_takes(cuda, sizes[i].scale))
            TRY(cuda_list_rows(cuda, "multi/events", sizes[i].size, UNITS, true, 0));
    return GORDIAN_OK;
}

gordian_status cuda_multi_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
        bool matrix;
        double bar; /* us */
    } sizes[] = {
        {130, CUDA_EMULATED, true, 0},  {1024, CUDA_QUICK, true, 60},
        {2048, CUDA_FULL, true, 0},     {4096, CUDA_QUICK, false, 0},
        {8192, CUDA_FULL, false, 0},    {16384, CUDA_FULL, false, 30000},
        {65536, CUDA_FULL, false, 2e6},
    };
    struct gpu *gpu;
    gordian_status status = gpu_open_default(&gpu, &cuda->bench->memory, cuda->bench->error);
    TRY(status);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (status == GORDIAN_OK && cuda_takes(cuda, sizes[i].scale))
            status = reach_rows(cuda, gpu, sizes[i].size, sizes[i].matrix, sizes[i].bar);
    gpu_close(gpu);
    TRY(status);
    return multi_list_rows(cuda);
}

/* "What would deadlock?" for all pairs of a process and a resource, from the matrices on the device
 * and from the graph. Both fill the same array, one bit per pair. */
#include "lab/bench/detect/cuda.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

struct what_if {
    struct long_chain chain;
    uint64_t *pairs;
    size_t stride;
};

static gordian_status run_what_if(void *context, double *ns, gordian_error *error)
{
    struct what_if *what_if = context;
    uint64_t start = clock_ns();
    gordian_status status =
        gordian_what_if_all(what_if->chain.system, what_if->pairs, what_if->stride, NULL, error);
    *ns = (double)(clock_ns() - start);
    return status;
}

static gordian_status open_what_if(struct what_if *what_if, struct bench *bench, const char *engine,
                                   uint32_t size, uint64_t first_units)
{
    double built;
    what_if->stride = bits_words(size);
    what_if->pairs = memory_alloc(&bench->memory, what_if->stride * size * sizeof *what_if->pairs);
    if (!what_if->pairs)
        return fail_memory(bench->error);
    TRY(long_chain_open(&what_if->chain, engine, size, first_units, bench->error));
    return long_chain_build(&what_if->chain, true, NULL, &built, bench->error);
}

static gordian_status what_if_row(const struct cuda_bench *cuda, uint32_t size,
                                  uint64_t first_units)
{
    struct bench *bench = cuda->bench;
    const char *multi = first_units > 1 ? "multi/" : "";
    struct what_if both[2] = {0};
    struct bench_side sides[] = {{&both[0], run_what_if}, {&both[1], run_what_if}};
    bench_progress(bench, "what would deadlock, %u x %u, cuda", size, size);
    gordian_status status = open_what_if(&both[0], bench, "cuda", size, first_units);
    THEN(status, open_what_if(&both[1], bench, "sparse", size, first_units));
    THEN(status, bench_measure(bench, sides, 2, cuda_effort(cuda, 1)));
    if (status == GORDIAN_OK &&
        memcmp(both[0].pairs, both[1].pairs, both[0].stride * size * sizeof *both[0].pairs) != 0)
        status = fail(bench->error, GORDIAN_STATUS_INPUT, "what if: cuda and sparse differ");
    for (size_t i = 0; i < 2; i++) {
        long_chain_close(&both[i].chain);
        memory_free(&bench->memory, both[i].pairs);
    }
    struct bench_row row = bench_measured(&sides[0], "us", "detect/cuda/%swhat-if-%u", multi, size);
    bench_against_curve(&row, "sparse", &sides[1]);
    bench_note(&row, "all pairs; the host fills the array of answers");
    return status == GORDIAN_OK ? cuda_add(cuda, &row, 0) : status;
}

gordian_status cuda_what_if_rows(const struct cuda_bench *cuda)
{
    static const struct {
        uint32_t size;
        enum cuda_scale scale;
    } sizes[] = {{24, CUDA_EMULATED}, {1024, CUDA_QUICK}, {8192, CUDA_QUICK}, {32768, CUDA_FULL}};
    for (uint64_t first_units = 1; first_units <= 2; first_units++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (cuda_takes(cuda, sizes[i].scale))
                TRY(what_if_row(cuda, sizes[i].size, first_units));
    return GORDIAN_OK;
}

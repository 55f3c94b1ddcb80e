/* Deadlock avoidance: the thesis's worst cases, a typical load, many requests at once. */
#include "lab/bench/avoid/avoid.h"

#include "foundation/base/error.h"

#include <string.h>

bool avoid_wants(const struct avoid_bench *avoid, const char *engine)
{
    return strcmp(engine, "cuda") == 0 ? avoid->cuda
                                       : avoid->cpu && bench_wants(avoid->bench, engine);
}

static gordian_status look_at_device(struct avoid_bench *avoid)
{
    struct bench *bench = avoid->bench;
    const char *why = NULL;
    if (!bench_wants(bench, "cuda"))
        return GORDIAN_OK;
    if (!gpu_available(&why))
        return bench_skip(bench, "avoid/*/cuda", why);
    struct gpu *gpu;
    TRY(bench_open_gpu(bench, &gpu, &avoid->info));
    gpu_close(gpu);
    avoid->cuda = true;
    avoid->emulated = avoid->info.emulated;
    avoid->bars = strstr(avoid->info.name, "H200") != NULL;

    return GORDIAN_OK;
}

gordian_status bench_avoid(struct bench *bench)
{
    struct avoid_bench avoid = {.bench = bench,
                                .cpu = bench_wants(bench, "holt") || bench_wants(bench, "dense")};
    TRY(look_at_device(&avoid));
    static gordian_status (*const parts[])(const struct avoid_bench *) = {
        avoid_load_rows, avoid_batch_rows, avoid_cuda_rows, avoid_published_rows, avoid_worst_rows};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        TRY(parts[i](&avoid));
    return GORDIAN_OK;
}

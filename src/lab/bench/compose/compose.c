/* Composition: reachable states compared with SPIN, the thesis's experiment, growth, GPU, MPI. */
#include "lab/bench/compose/compose.h"
#include "foundation/base/error.h"

#include "foundation/base/machine.h"

#include <stdio.h>

static gordian_status check_wanted_engine(struct bench *bench, const char *name, bool *wanted)
{
    const struct compose_engine *engine = compose_engine_named(name);
    const char *why = "it is not built in";
    char id[64];
    if (!bench_wants(bench, name))
        return GORDIAN_OK;
    *wanted = engine && engine_usable(&engine->about, NULL, &why);
    if (*wanted)
        return GORDIAN_OK;
    snprintf(id, sizeof id, "compose/*/%s", name);
    return bench_skip(bench, id, why);
}

gordian_status bench_compose(struct bench *bench)
{
    static gordian_status (*const parts[])(const struct compose_bench *) = {
        compose_paper_rows,     compose_reach_rows, compose_models_rows,
        compose_scale_rows,     compose_graph_rows, compose_gpu_rows,
        compose_published_rows, compose_mpi_rows,   compose_ranks_rows,
    };
    struct compose_bench compose = {.bench = bench};
    struct machine machine;
    machine_describe(&machine);
    compose.cores = machine.cores ? machine.cores : 1;
    TRY(check_wanted_engine(bench, "dense", &compose.dense));
    TRY(check_wanted_engine(bench, "cpu", &compose.cpu));
    TRY(check_wanted_engine(bench, "cuda", &compose.cuda));
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        TRY(parts[i](&compose));
    return GORDIAN_OK;
}

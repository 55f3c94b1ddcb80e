/* The table of composition engines, and the choice among them. */
#include "engines/compose/engine/engine.h"

#include "foundation/gpu/gpu.h"

/* The best engine comes first: `auto` is the first usable one, except for a GPU (auto_run). */
static const struct engine *const compose_engines[] = {
#ifdef GORDIAN_MPI
    &compose_mpi.about, /* only in gordian-mpi */
#endif
    &compose_cpu.about, &compose_dense.about, &compose_cuda.about, NULL,
};

const struct engine_family compose_family = {"compose", "composition", compose_engines};

/* ------------------------------------------------------------------ choice of device */

/* Starting a GPU takes 0.3 s. In that time two cores find some hundred million states in a bitmap,
 * or a few hundred thousand in a hash table (docs/lab/performance.md). The number of reachable
 * states is not known in advance. So if all combinations do not fit a small bitmap, the CPU
 * searches the first states, and if there are more, the GPU repeats the whole search. */

static gordian_status auto_run(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error)
{
    gordian_compose_options first = *options;
    gordian_compose_result attempt;
    const char *why;
    const struct compose_problem problem = {circuit, options};
    first.max_states = ENGINE_COMPOSE_FIRST;
    first.count_transitions = false;
    first.max_deadlocks = 0;
    TRY(compose_cpu.run(circuit, &first, NULL, &attempt, error));
    bool more = attempt.stop == GORDIAN_COMPOSE_STOP_STATES;
    gordian_compose_result_free(&attempt);
    more = more && engine_usable(&compose_cuda.about, &problem, &why); /* starts the driver */
    return (more ? &compose_cuda : &compose_cpu)->run(circuit, options, sink, result, error);
}

static const struct compose_engine cpu_then_cuda = {
    .about.name = "auto",
    .about.summary = "the CPU for few states, the GPU for many",
    .run = auto_run,
};

static bool may_pay_on_gpu(const struct compose_problem *problem)
{
    const gordian_circuit *circuit = problem->circuit;
    const gordian_compose_options *options = problem->options;
    bool many = !circuit->whole_fits || circuit->whole > ENGINE_COMPOSE_FROM;
    bool limited = options->max_states > 0 && options->max_states <= ENGINE_COMPOSE_FIRST;
    return many && !limited && !options->full && gpu_likely();
}

gordian_status compose_choose(const gordian_circuit *circuit,
                              const gordian_compose_options *options,
                              const struct compose_engine **engine, gordian_error *error)
{
    const struct engine *chosen;
    const struct compose_problem problem = {circuit, options};
    TRY(engine_choose(&compose_family, options->engine, &problem, &chosen, error));
    bool either =
        engine_any(options->engine) && chosen == &compose_cpu.about && may_pay_on_gpu(&problem);
    *engine = either ? &cpu_then_cuda : (const struct compose_engine *)chosen;
    return GORDIAN_OK;
}

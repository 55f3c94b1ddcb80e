/* The table of makespan engines, and the functions they share. */
#include "engines/makespan/model/engine.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

static const struct engine *const makespan_engines[] = {
    &makespan_exact.about,
    &makespan_anneal.about,
    &makespan_cuda.about,
    &makespan_relax.about,
#ifdef GORDIAN_MPI
    &makespan_mpi.about, /* only in gordian-mpi */
#endif
    NULL,
};

const struct engine_family makespan_family = {"makespan", "makespans", makespan_engines};

bool makespan_is_plain(const void *problem, const char **why)
{
    const struct makespan_model *model = problem;
    *why = "only 'relax' supports several instructions of a warp per cycle and latency intervals";
    return !model->relaxed;
}

void makespan_result_free(struct makespan_result *result)
{
    memory_free_all(&result->memory, result->order, result->cycles, result->pieces);
    *result = (struct makespan_result){.memory = result->memory};
}

/* Builds the schedule of an order, sorts it by cycle and checks it. */
static gordian_status build_schedule(const struct makespan_model *model, const uint8_t *from,
                                     uint8_t *order, uint32_t *cycles, uint32_t *makespan,
                                     gordian_error *error)
{
    struct evaluator *evaluator;
    TRY(evaluator_open(&evaluator, model, &model->memory, error));
    *makespan = evaluator_set(evaluator, from);
    memcpy(order, evaluator_order(evaluator), model->work);
    memcpy(cycles, evaluator_cycles(evaluator), model->work * sizeof *cycles);
    evaluator_close(evaluator);
    gordian_status status = schedule_canonical(model, order, cycles);
    if (status != GORDIAN_OK)
        return fail_memory(error);
    return schedule_check(model, order, cycles, *makespan, error);
}

gordian_status makespan_result_take(struct makespan_result *result,
                                    const struct makespan_model *model,
                                    const gordian_makespan_options *options, const uint8_t *order,
                                    gordian_error *error)
{
    uint32_t makespan = 0;
    uint8_t *fresh = memory_alloc(&model->memory, model->work);
    uint32_t *cycles = memory_alloc(&model->memory, model->work * sizeof *cycles);
    gordian_status status = fresh && cycles
                                ? build_schedule(model, order, fresh, cycles, &makespan, error)
                                : fail_memory(error);
    bool better = status == GORDIAN_OK &&
                  (!result->cycles ||
                   makespan_better(options->goal, makespan, result->cycles[model->work - 1] + 1));
    if (better) {
        memory_free_all(&result->memory, result->order, result->cycles);
        result->memory = model->memory;
        result->order = fresh;
        result->cycles = cycles;
        return GORDIAN_OK;
    }
    memory_free_all(&model->memory, fresh, cycles);
    return status;
}

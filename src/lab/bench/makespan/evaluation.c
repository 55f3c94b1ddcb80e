/*
 * Cost of an evaluation: the makespan of a schedule that differs from the current one by a move of
 * the annealer. Measured from scratch, with the plain and the fast algorithm, on a finished order,
 * so that only the evaluation counts; and incrementally. Chains draw the moves, after they ran for
 * a while. All algorithms must agree on every move.
 */
#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

#include <string.h>

#define STATES  8u   /* chains that the moves are taken from */
#define MOVES   256u /* of each chain */
#define WARMING 3000u

struct sample {
    struct chain_move moves[MOVES];
    uint8_t *windows;    /* MOVES orders: the content of their windows after a move */
    uint8_t *candidates; /* MOVES whole orders */
    uint8_t *order;      /* the current order */
    uint32_t plain[MOVES];
};

struct evaluation {
    const struct makespan_model *model;
    struct evaluator *evaluators[STATES];
    struct sample samples[STATES];
    uint32_t expected; /* sum of all values */
};

/* Draws moves at the chain's current state. */
static gordian_status draw_moves(struct evaluation *e, struct sample *sample,
                                 struct anneal_chain *chain)
{
    const struct makespan_model *model = e->model;
    size_t work = model->work;
    memcpy(sample->order, evaluator_order(chain->evaluator), work);
    for (size_t m = 0; m < MOVES; m++) {
        struct chain_move *move = &sample->moves[m];
        uint8_t *window = sample->windows + m * work, *whole = sample->candidates + m * work;
        chain_draw(&chain->random, false, model->warps, model->work, sample->order, move);
        chain_apply(move, sample->order + move->first, window);
        memcpy(whole, sample->order, work);
        memcpy(whole + move->first, window, move->last - move->first);
        TRY(schedule_build(model, whole, NULL, &sample->plain[m]));
        e->expected += sample->plain[m];
    }
    return GORDIAN_OK;
}

/* Runs chain `number` for a while, then draws moves. */
static gordian_status prepare_state(struct evaluation *e, size_t number,
                                    const gordian_allocator *memory, gordian_error *error)
{
    struct sample *sample = &e->samples[number];
    size_t work = e->model->work;
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.evaluations = 10 * WARMING;
    sample->windows = memory_alloc(memory, MOVES * work);
    sample->candidates = memory_alloc(memory, MOVES * work);
    sample->order = memory_alloc(memory, work);
    uint8_t *capacity = memory_alloc(memory, 3 * work);
    if (!sample->windows || !sample->candidates || !sample->order || !capacity) {
        memory_free(memory, capacity);
        return fail_memory(error);
    }
    gordian_status status = evaluator_open(&e->evaluators[number], e->model, memory, error);
    if (status == GORDIAN_OK) {
        struct anneal_chain chain = {.model = e->model,
                                     .options = &options,
                                     .evaluator = e->evaluators[number],
                                     .number = number,
                                     .best_order = capacity,
                                     .candidate = capacity + work,
                                     .order = capacity + 2 * work};
        anneal_chain_begin(&chain);
        while (chain.step < WARMING)
            anneal_chain_run(&chain, WARMING - chain.step);
        status = draw_moves(e, sample, &chain);
    }
    memory_free(memory, capacity);
    return status;
}

static gordian_status run_incremental(void *context, double *ns, gordian_error *error)
{
    struct evaluation *e = context;
    uint32_t sum = 0;
    uint64_t begin = work_ns();
    for (size_t s = 0; s < STATES; s++) {
        const struct sample *sample = &e->samples[s];
        for (size_t m = 0; m < MOVES; m++)
            sum += evaluator_try(e->evaluators[s], sample->moves[m].first, sample->moves[m].last,
                                 sample->windows + m * e->model->work);
    }
    *ns = (double)(work_ns() - begin) / (STATES * MOVES);
    return sum == e->expected
               ? GORDIAN_OK
               : fail(error, GORDIAN_STATUS_INPUT, "incremental evaluation is wrong");
}

static gordian_status run_scratch(void *context, double *ns, gordian_error *error)
{
    struct evaluation *e = context;
    uint32_t sum = 0;
    uint64_t begin = work_ns();
    for (size_t s = 0; s < STATES; s++)
        for (size_t m = 0; m < MOVES; m++)
            sum += evaluator_scratch(e->evaluators[s],
                                     e->samples[s].candidates + m * e->model->work, NULL);
    *ns = (double)(work_ns() - begin) / (STATES * MOVES);
    return sum == e->expected
               ? GORDIAN_OK
               : fail(error, GORDIAN_STATUS_INPUT, "evaluation from scratch is wrong");
}

static gordian_status run_plain(void *context, double *ns, gordian_error *error)
{
    struct evaluation *e = context;
    uint32_t sum = 0, value = 0;
    gordian_status status = GORDIAN_OK;
    uint64_t begin = work_ns();
    for (size_t s = 0; s < STATES; s++)
        for (size_t m = 0; m < MOVES && status == GORDIAN_OK; m++) {
            status = schedule_build(e->model, e->samples[s].candidates + m * e->model->work, NULL,
                                    &value);
            sum += value;
        }
    *ns = (double)(work_ns() - begin) / (STATES * MOVES);
    if (status != GORDIAN_OK)
        return fail_memory(error);
    return sum == e->expected ? GORDIAN_OK
                              : fail(error, GORDIAN_STATUS_INPUT, "the plain evaluation is wrong");
}

/* The baseline of the incremental evaluation is the faster of the two from scratch. */
static gordian_status add_evaluation_rows(struct bench *bench, struct evaluation *e,
                                          const char *name, bool bar)
{
    struct bench_side sides[] = {{e, run_incremental}, {e, run_scratch}, {e, run_plain}};
    const struct bench_effort effort = {2, 20, 400, bench->options->quick ? 0.5 : 3};
    TRY(bench_measure(bench, sides, 3, effort));
    bool plain = sides[2].median < sides[1].median;
    struct bench_row row =
        bench_measured(&sides[0], "ns", "makespan/evaluation-%s/incremental", name);
    bench_against(&row, plain ? "scratch, plain" : "scratch", &sides[plain ? 2 : 1]);
    bench_bar(&row, bar ? BAR_AT_LEAST : BAR_NONE, 3);
    bench_note(&row, "%.2f M evaluations/s on one core; from scratch: fast %.0f ns, plain %.0f ns",
               1e3 / sides[0].median, sides[1].median, sides[2].median);
    return bench_add(bench, &row);
}

static gordian_status measure_evaluations(struct bench *bench, uint32_t warps, uint32_t schedulers)
{
    struct makespan_model *model;
    struct evaluation *e = memory_zeroed(&bench->memory, sizeof *e);
    char name[16];
    if (!e)
        return fail_memory(bench->error);
    makespan_case_name(name, warps, schedulers);
    bench_progress(bench, "makespan: evaluations, %s warps", name);
    gordian_status status = makespan_case(&model, warps, schedulers, bench->error);
    if (status != GORDIAN_OK) {
        memory_free(&bench->memory, e);
        return status;
    }
    e->model = model;
    for (size_t i = 0; i < STATES && status == GORDIAN_OK; i++)
        status = prepare_state(e, i, &bench->memory, bench->error);
    THEN(status, add_evaluation_rows(bench, e, name, warps == 16));
    for (size_t i = 0; i < STATES; i++) {
        evaluator_close(e->evaluators[i]);
        memory_free_all(&bench->memory, e->samples[i].windows, e->samples[i].candidates,
                        e->samples[i].order);
    }
    memory_free(&bench->memory, e);
    model_close(model);
    return status;
}

gordian_status makespan_evaluation_rows(struct bench *bench)
{
    TRY(measure_evaluations(bench, 16, 0));
    TRY(measure_evaluations(bench, 16, 4));
    if (!bench->options->quick)
        TRY(measure_evaluations(bench, 32, 0));
    return GORDIAN_OK;
}

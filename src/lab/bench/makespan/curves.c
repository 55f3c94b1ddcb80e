/*
 * The paper's figure 7: estimates of the case study over time, for annealing chains with different
 * starts. As in the paper, eight chains run one after another, two for each start, each with its
 * own clock; the result of parallel chains is the best of them. The paper's Java took minutes to
 * reach 160, which is exact. With four schedulers, where 184 is exact, the published search does
 * not reach it.
 */
#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/error.h"
#include "lab/bench/makespan/makespan.h"

#include <stdio.h>

#define CHAINS 8u
#define TIMES  9u

/* Milliseconds of a chain's run. */
static const double times[TIMES] = {1, 3, 10, 30, 100, 300, 1000, 3000, 10000};

static const char *const starts[ORDER_TEMPLATES] = {"round-robin", "fixed-priority", "most-pending",
                                                    "random"};

/* The best of one start, or of all, at each time. */
struct curve {
    uint32_t best[TIMES];
    uint64_t steps;
    double seconds;
};

static void note_reached(struct curve *curve, double ms, uint32_t best)
{
    for (size_t i = 0; i < TIMES; i++)
        if (ms <= times[i] && best > curve->best[i])
            curve->best[i] = best;
}

struct figure {
    struct bench *bench;
    struct makespan_model *model;
    char name[16];
    const char *plot;
    bool published;
    uint32_t exact; /* no estimate may exceed it */
};

/* `id` names the curve in rows, `series` in the picture. */
static gordian_status add_curve_rows(const struct figure *figure, const struct curve *curve,
                                     const char *id, const char *series)
{
    const size_t count = figure->bench->options->quick ? TIMES - 2 : TIMES;
    for (size_t i = 0; i < count; i++) {
        struct bench_row row =
            bench_row("cycles", "makespan/found-%s-%gms/%s", figure->name, times[i], id);
        row.value = curve->best[i];
        bench_times(&row, "exact", figure->exact);
        bench_curve(&row, figure->plot, times[i], "%s", series);
        snprintf(row.baseline_series, sizeof row.baseline_series, "exact");
        if (curve->best[i] > figure->exact)
            return fail(figure->bench->error, GORDIAN_STATUS_INPUT,
                        "%s: %u cycles found, exact are %u", row.id, curve->best[i], figure->exact);
        if (i + 1 == count && curve->seconds > 0)
            bench_note(&row, "%.2f M evaluations/s", (double)curve->steps / curve->seconds / 1e6);
        TRY(bench_add(figure->bench, &row));
    }
    return GORDIAN_OK;
}

/* Runs all chains of one kind; the published kind has a curve for each start, as in the figure. */
static gordian_status run_figure_chains(const struct figure *figure, struct evaluator *evaluator,
                                        uint8_t *capacity)
{
    size_t work = figure->model->work;
    struct curve curves[ORDER_TEMPLATES] = {{{0}, 0, 0}}, all = {{0}, 0, 0};
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.seed = figure->bench->options->seed;
    options.published = figure->published;
    options.evaluations = figure->bench->options->quick ? 100000 : 2000000;
    for (uint64_t number = 0; number < CHAINS; number++) {
        struct anneal_chain chain = {.model = figure->model,
                                     .options = &options,
                                     .evaluator = evaluator,
                                     .number = number,
                                     .best_order = capacity,
                                     .candidate = capacity + work,
                                     .order = capacity + 2 * work};
        bench_progress(figure->bench, "makespan: %s warps, %s chain %u", figure->name,
                       figure->published ? "published" : "our", (unsigned)number + 1);
        /* Runs a chain to its end, with its own clock, or until the picture's last time. */
        struct curve *curve = &curves[number % ORDER_TEMPLATES];
        uint64_t begin = work_ns();
        double ms = 0;
        anneal_chain_begin(&chain);
        note_reached(curve, 0, chain.best);
        note_reached(&all, 0, chain.best);
        while (!anneal_chain_over(&chain) && ms < times[TIMES - 1]) {
            bool better = anneal_chain_run(&chain, 2000);
            ms = (double)(work_ns() - begin) / 1e6;
            if (better) {
                note_reached(curve, ms, chain.best);
                note_reached(&all, ms, chain.best);
            }
        }
        curve->steps += chain.step;
        curve->seconds += ms / 1e3;
    }
    for (size_t i = 0; i < ORDER_TEMPLATES; i++) {
        all.steps += curves[i].steps;
        all.seconds += curves[i].seconds;
        char id[40], series[32];
        snprintf(id, sizeof id, "published-%s", starts[i]);
        snprintf(series, sizeof series, "published, %s", starts[i]);
        if (figure->published)
            TRY(add_curve_rows(figure, &curves[i], id, series));
    }
    if (!figure->published)
        TRY(add_curve_rows(figure, &all, "anneal", "ours, best of 8"));
    return GORDIAN_OK;
}

static gordian_status draw_figure(struct bench *bench, uint32_t schedulers, uint32_t exact,
                                  const char *plot)
{
    struct figure figure = {.bench = bench, .plot = plot, .exact = exact};
    struct evaluator *evaluator = NULL;
    makespan_case_name(figure.name, 16, schedulers);
    TRY(makespan_case(&figure.model, 16, schedulers, bench->error));
    uint8_t *capacity = memory_alloc(&bench->memory, 3 * (size_t)figure.model->work);
    gordian_status status =
        capacity ? evaluator_open(&evaluator, figure.model, &bench->memory, bench->error)
                 : fail_memory(bench->error);
    for (int published = 1; published >= 0 && status == GORDIAN_OK; published--) {
        figure.published = published;
        status = run_figure_chains(&figure, evaluator, capacity);
    }
    evaluator_close(evaluator);
    memory_free(&bench->memory, capacity);
    model_close(figure.model);
    return status;
}

gordian_status makespan_curve_rows(struct bench *bench)
{
    TRY(draw_figure(bench, 0, 160, "worst case found (cycles) by time (ms), 16 warps"));
    return draw_figure(bench, 4, 184,
                       "worst case found (cycles) by time (ms), 16 warps, 4 schedulers");
}

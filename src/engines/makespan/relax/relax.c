/*
 * The engine for relaxed models (relax.h), which also accepts plain ones.
 *
 * Simulated annealing provides the schedule at one end of the interval. The other end is the bound
 * in closed form, which holds with both relaxations (model/model.h). If all states fit into memory,
 * enumerating them gives the exact value.
 */
#include "engines/makespan/relax/relax.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <stdio.h>

#define FIRST_STEPS UINT64_C(1000) /* per chain, before the states are enumerated */
/* The most states that are kept: some hundred MB. */
#define MOST_STATES UINT64_C(4000000)
/* The enumeration gets a third of the time limit; the rest is for schedules. */
#define STATES_SHARE 3

struct relax_run {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct meter meter;
    struct watch watch;
    struct relax_schedule best;
};

/* Returns whether no work is left. */
static bool interval_is_settled(struct relax_run *run)
{
    return watch_closed(&run->watch) || watch_stopped(&run->watch);
}

/* Computes both ends by enumerating the states, if that is possible. */
static gordian_status close_interval(struct relax_run *run, struct relax_schedule *found,
                                     gordian_error *error)
{
    uint32_t value = 0;
    run->watch.phase = "searching";
    struct relax_limits limits = {.states = MOST_STATES};
    if (run->watch.deadline)
        limits.until = clock_ns() + run->options->max_ns / STATES_SHARE;
    gordian_status status = relax_states(run->model, run->options->goal, &limits, &run->watch,
                                         &run->meter.memory, found, &value, error);
    if (status == GORDIAN_STATUS_END || (status == GORDIAN_STATUS_MEMORY && run->meter.refused))
        return GORDIAN_OK;
    if (status != GORDIAN_OK)
        return status;
    if (makespan_better(run->options->goal, value, run->best.makespan)) {
        struct relax_schedule old = run->best;
        run->best = *found;
        *found = old;
        watch_searched(&run->watch, value);
    }
    watch_bound(&run->watch, run->options->goal, value);
    watch_found(&run->watch, run->options->goal, value);
    return GORDIAN_OK;
}

static gordian_status anneal_plans(struct relax_run *run, uint64_t steps, gordian_error *error)
{
    /* A step costs model->work. */
    uint64_t affordable = UINT64_C(400000000) / run->model->work + 10;
    run->watch.phase = "annealing";
    return relax_anneal(run->model, run->options, steps < affordable ? steps : affordable,
                        &run->watch, &run->meter.memory, &run->best, error);
}

/* The steps per chain that fit into the time left. Chains that cool down to the end find better
 * schedules than chains that are stopped early. `taken`: nanoseconds of the first steps. */
static uint64_t steps_in_time(const struct relax_run *run, uint64_t wanted, uint64_t taken)
{
    uint64_t deadline = run->watch.deadline, now = clock_ns();
    if (!deadline)
        return wanted;
    double step = (double)taken / ((double)FIRST_STEPS * run->options->chains) + 1;
    double steps = now < deadline ? (double)(deadline - now) / step / run->options->chains : 1;
    return steps < (double)wanted ? (uint64_t)steps + 1 : wanted;
}

static gordian_status run_relax(const struct makespan_model *model,
                                const gordian_makespan_options *options,
                                struct makespan_result *result, gordian_error *error)
{
    struct relax_run run = {.model = model, .options = options};
    *result = (struct makespan_result){.memory = model->memory};
    TRY(anneal_check_options(options, error));
    meter_open(&run.meter, &model->memory, options->max_memory);
    watch_open(&run.watch, model, options, &run.meter);
    gordian_status status = relax_schedule_open(&run.best, model->work, &model->memory)
                                ? GORDIAN_OK
                                : fail_memory(error);
    if (status == GORDIAN_OK) {
        uint64_t all = run.options->evaluations, begin = clock_ns();
        status = anneal_plans(&run, all < FIRST_STEPS ? all : FIRST_STEPS, error);
        uint64_t taken = clock_ns() - begin;
        if (status == GORDIAN_OK && !interval_is_settled(&run)) {
            struct relax_schedule found;
            bool room = relax_schedule_open(&found, model->work, &model->memory);
            status = room ? close_interval(&run, &found, error) : fail_memory(error);
            relax_schedule_close(&found, &model->memory);
        }
        if (status == GORDIAN_OK && !interval_is_settled(&run) && all > FIRST_STEPS)
            status = anneal_plans(&run, steps_in_time(&run, all, taken), error);
        THEN(status, relax_check(run.model, &run.best, error));
    }
    if (status == GORDIAN_OK) {
        watch_report(&run.watch, result);
        if (!result->exact && result->stop == GORDIAN_MAKESPAN_STOP_DONE)
            snprintf(result->note, sizeof result->note,
                     "too many states: using the closed-form bound");
    }
    meter_close(&run.meter);
    result->order = run.best.warps;
    result->pieces = run.best.pieces;
    result->cycles = run.best.cycles;
    result->count = run.best.count;
    result->engine = makespan_relax.about.name;
    if (status != GORDIAN_OK)
        makespan_result_free(result);
    return status;
}

const struct makespan_engine makespan_relax = {
    .about.name = "relax",
    .about.summary = "several instructions of a warp per cycle, latencies within intervals",
    .run = run_relax,
};

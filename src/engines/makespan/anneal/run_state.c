/* Limits, interval and progress of a run (run_state.h). */
#include "engines/makespan/anneal/run_state.h"

#include "engines/makespan/anneal/anneal.h"
#include "foundation/base/clock.h"

#include <assert.h>

void watch_open(struct watch *watch, const struct makespan_model *model,
                const gordian_makespan_options *options, struct meter *meter)
{
    watch->options = options;
    watch->meter = meter;
    watch->begin = clock_ns();
    watch->deadline = options->max_ns ? watch->begin + options->max_ns : 0;
    watch->phase = "annealing";
    atomic_init(&watch->lower, model_lower_bound(model));
    atomic_init(&watch->upper, model_upper_bound(model));
    atomic_init(&watch->evaluations, 0);
    atomic_init(&watch->states, 0);
    atomic_init(&watch->stop, GORDIAN_MAKESPAN_STOP_DONE);
}

void watch_stop(struct watch *watch, gordian_makespan_stop why)
{
    int none = GORDIAN_MAKESPAN_STOP_DONE;
    atomic_compare_exchange_strong(&watch->stop, &none, (int)why);
}

void watch_poll(void *context)
{
    struct watch *watch = context;
    const gordian_makespan_options *options = watch->options;
    if (watch->deadline && clock_ns() >= watch->deadline)
        watch_stop(watch, GORDIAN_MAKESPAN_STOP_TIME);
    if (!options->go_on || watch_stopped(watch))
        return;
    gordian_makespan_progress progress = {
        .lower = atomic_load(&watch->lower),
        .upper = atomic_load(&watch->upper),
        .evaluations = atomic_load(&watch->evaluations),
        .states = atomic_load(&watch->states),
        .memory = watch->meter ? meter_now(watch->meter) : 0,
        .phase = watch->phase,
    };
    if (!options->go_on(options->context, &progress))
        watch_stop(watch, GORDIAN_MAKESPAN_STOP_STOPPED);
}

void watch_raise(struct watch *watch, uint32_t lower)
{
    uint32_t old = atomic_load(&watch->lower);
    while (old < lower && !atomic_compare_exchange_weak(&watch->lower, &old, lower))
        continue;
    assert(lower <= atomic_load(&watch->upper)); /* otherwise one of the two proofs is wrong */
}

void watch_lower(struct watch *watch, uint32_t upper)
{
    uint32_t old = atomic_load(&watch->upper);
    while (old > upper && !atomic_compare_exchange_weak(&watch->upper, &old, upper))
        continue;
    assert(upper >= atomic_load(&watch->lower));
}

void watch_found(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan)
{
    (goal == GORDIAN_MAKESPAN_GOAL_WORST ? watch_raise : watch_lower)(watch, makespan);
}

void watch_bound(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan)
{
    (goal == GORDIAN_MAKESPAN_GOAL_WORST ? watch_lower : watch_raise)(watch, makespan);
}

uint32_t watch_best(const struct watch *watch, gordian_makespan_goal goal)
{
    return atomic_load(goal == GORDIAN_MAKESPAN_GOAL_WORST ? &watch->lower : &watch->upper);
}

uint32_t watch_limit(const struct watch *watch, gordian_makespan_goal goal)
{
    return atomic_load(goal == GORDIAN_MAKESPAN_GOAL_WORST ? &watch->upper : &watch->lower);
}

bool watch_closed(struct watch *watch)
{
    return atomic_load(&watch->lower) == atomic_load(&watch->upper);
}

static double seconds_since(uint64_t begin)
{
    return (double)(clock_ns() - begin) / 1e9;
}

void watch_improved(const struct watch *watch, uint64_t number, uint64_t chain_begin, uint64_t step,
                    uint32_t value)
{
    const gordian_makespan_options *options = watch->options;
    if (!options->improved)
        return;
    gordian_makespan_improvement found = {.seconds = seconds_since(watch->begin),
                                          .chain_seconds = seconds_since(chain_begin),
                                          .chain = number,
                                          .start = anneal_start(options, number),
                                          .step = step,
                                          .value = value};
    options->improved(options->context, &found);
}

void watch_searched(const struct watch *watch, uint32_t value)
{
    const gordian_makespan_options *options = watch->options;
    if (!options->improved)
        return;
    gordian_makespan_improvement found = {.seconds = seconds_since(watch->begin), .value = value};
    found.chain_seconds = found.seconds;
    options->improved(options->context, &found);
}

void watch_report(struct watch *watch, struct makespan_result *result)
{
    result->lower = atomic_load(&watch->lower);
    result->upper = atomic_load(&watch->upper);
    result->exact = result->lower == result->upper;
    result->evaluations = atomic_load(&watch->evaluations);
    result->states = atomic_load(&watch->states);
    result->stop = (gordian_makespan_stop)atomic_load(&watch->stop);
    if (result->exact)
        result->stop = GORDIAN_MAKESPAN_STOP_DONE;
    if (watch->meter)
        result->most_memory = watch->meter->most;
}

/* The shared state of a run of any engine: its limits, the caller's go_on, and the interval so far.
 * A thread pool (foundation/base/threads/thread_pool.h) works while the caller's thread calls
 * watch_poll. */
#pragma once

#include "engines/makespan/model/engine.h"
#include "foundation/base/meter.h"

#include <stdatomic.h>

struct watch {
    const gordian_makespan_options *options;
    struct meter *meter; /* may be NULL */
    uint64_t begin;      /* of clock_ns, like the deadline: */
    uint64_t deadline;   /* 0: none */
    const char *phase;
    _Atomic uint32_t lower, upper; /* proven bounds; each only moves towards the other */
    _Atomic uint64_t evaluations, states;
    _Atomic int stop; /* gordian_makespan_stop; if not 0, all threads finish */
};

void watch_open(struct watch *watch, const struct makespan_model *model,
                const gordian_makespan_options *options, struct meter *meter);
/* For thread_pool_wait, on the caller's thread: calls go_on and checks the clock. */
void watch_poll(void *watch);

static inline bool watch_stopped(struct watch *watch)
{
    return atomic_load_explicit(&watch->stop, memory_order_relaxed) != GORDIAN_MAKESPAN_STOP_DONE;
}
/* Records why the run stops. The first reason stays. */
void watch_stop(struct watch *watch, gordian_makespan_stop why);

/* Raises the lower bound, or lowers the upper bound. */
void watch_raise(struct watch *watch, uint32_t lower);
void watch_lower(struct watch *watch, uint32_t upper);
/* The same by goal: a schedule of this makespan was found; no schedule is better than this. */
void watch_found(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan);
void watch_bound(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan);
/* The best makespan known, and the best that may be possible. */
uint32_t watch_best(const struct watch *watch, gordian_makespan_goal goal);
uint32_t watch_limit(const struct watch *watch, gordian_makespan_goal goal);
/* Returns whether the lower and upper bounds are equal. */
bool watch_closed(struct watch *watch);

/* Calls the caller's `improved`, if set: chain `number`, which began at `chain_begin`, has this
 * value after `steps` steps. The engine makes one call at a time. */
void watch_improved(const struct watch *watch, uint64_t number, uint64_t chain_begin, uint64_t step,
                    uint32_t value);
/* The same for a schedule that does not come from a chain. */
void watch_searched(const struct watch *watch, uint32_t value);

/* Copies interval, counts and reason into the result. */
void watch_report(struct watch *watch, struct makespan_result *result);

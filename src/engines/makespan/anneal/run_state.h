/* What every engine's run keeps an eye on: its limits, the caller's go_on, and the interval so far.
 * Work is done by a thread pool (foundation/base/threads/thread_pool.h) while the caller's
 * thread looks in here. */
#pragma once

#include "engines/makespan/model/engine.h"
#include "foundation/base/meter.h"

#include <stdatomic.h>

struct watch {
    const gordian_makespan_options *options;
    struct meter *meter; /* may be NULL */
    uint64_t begin;      /* of clock_ns, like this: */
    uint64_t deadline;   /* 0: none */
    const char *phase;
    _Atomic uint32_t lower, upper; /* certain; each only ever moves towards the other */
    _Atomic uint64_t evaluations, states;
    _Atomic int stop; /* gordian_makespan_stop; not 0: everybody comes to an end */
};

void watch_open(struct watch *watch, const struct makespan_model *model,
                const gordian_makespan_options *options, struct meter *meter);
/* For thread_pool_wait, on the caller's thread: calls go_on, looks at the clock. */
void watch_look(void *watch);

static inline bool watch_stopped(struct watch *watch)
{
    return atomic_load_explicit(&watch->stop, memory_order_relaxed) != GORDIAN_MAKESPAN_STOP_DONE;
}
/* The first reason stays. */
void watch_stop(struct watch *watch, gordian_makespan_stop why);

/* Nothing below `lower` / above `upper` is possible any more. */
void watch_raise(struct watch *watch, uint32_t lower);
void watch_lower(struct watch *watch, uint32_t upper);
/* The same by the goal: a schedule of this makespan was found; none is better than this. */
void watch_found(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan);
void watch_bound(struct watch *watch, gordian_makespan_goal goal, uint32_t makespan);
/* The best makespan known, and the best that may be possible. */
uint32_t watch_best(const struct watch *watch, gordian_makespan_goal goal);
uint32_t watch_limit(const struct watch *watch, gordian_makespan_goal goal);
/* Lower and upper have met. */
bool watch_closed(struct watch *watch);

/* Tells the caller's `improved`, if there is one: chain `number`, which began then, has this after
 * so many steps. One call at a time is the engine's business. */
void watch_improved(const struct watch *watch, uint64_t number, uint64_t chain_begin, uint64_t step,
                    uint32_t value);
/* The same for a schedule that no chain has found. */
void watch_searched(const struct watch *watch, uint32_t value);

/* Copies interval, counts and reason into the result. */
void watch_report(struct watch *watch, struct makespan_result *result);

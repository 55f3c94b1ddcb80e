/* Simulated annealing on CPU threads: single chains
 * (foundation/gpu/kernels/makespan/makespan_chain.h), and many of them. */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "engines/makespan/model/evaluate.h"
#include "foundation/base/threads/thread_pool.h"
#include "foundation/gpu/kernels/makespan/makespan_chain.h"

/* Returns whether a makespan of `a` is better than one of `b`, and by how much it is worse. */
static inline bool makespan_better(gordian_makespan_goal goal, uint32_t a, uint32_t b)
{
    return goal == GORDIAN_MAKESPAN_GOAL_WORST ? a > b : a < b;
}
static inline uint32_t makespan_loss(gordian_makespan_goal goal, uint32_t now, uint32_t candidate)
{
    if (!makespan_better(goal, now, candidate))
        return 0;
    return now > candidate ? now - candidate : candidate - now;
}

/* The temperature in the options, as a fixed-point number with 16 fraction bits. */
uint32_t anneal_temperature(const gordian_makespan_options *options);

/* The start of chain `number`: the one in the options, or the four kinds in turn. */
gordian_makespan_start anneal_start(const gordian_makespan_options *options, uint64_t number);

/* Sets how chain `number` begins: its random numbers and its initial order, which is not sorted
 * yet. */
void anneal_begin(const struct makespan_model *model, const gordian_makespan_options *options,
                  uint64_t number, struct chain_random *random, uint8_t *order);

/* One chain on a CPU. */
struct anneal_chain {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    /* owned by the caller: one per thread is enough, for one chain after another */
    struct evaluator *evaluator;
    uint64_t number, step;
    uint32_t heat; /* initial temperature */
    uint32_t now;  /* makespan of the current order */
    uint32_t best;
    uint8_t *best_order; /* owned by the caller, model->work entries each: */
    uint8_t *candidate;
    /* of the published variant: the current order; otherwise the evaluator holds it */
    uint8_t *order;
    struct chain_random random;
};

/* Fills in the other fields; the pointers, options and number are set. */
void anneal_chain_begin(struct anneal_chain *chain);
/* Makes up to `steps` steps, and stops early if the best improved. True: it did. */
bool anneal_chain_run(struct anneal_chain *chain, uint64_t steps);
bool anneal_chain_over(const struct anneal_chain *chain);

/* Runs all of options->chains on the threads of the pool. `order` (model->work entries) gets the
 * best order of all chains, and of the lowest chain among equals: the result does not depend on the
 * number of threads. The values go to the watch. If a chain reaches the other end of the watch's
 * interval, the chains with higher numbers stop. */
gordian_status anneal_chains(const struct makespan_model *model,
                             const gordian_makespan_options *options, struct thread_pool *workers,
                             struct watch *watch, uint8_t *order, gordian_error *error);

/* GORDIAN_STATUS_INPUT: no chains, no evaluations, too many of them, or a temperature below 0 or
 * above 100. */
gordian_status anneal_check_options(const gordian_makespan_options *options, gordian_error *error);

/* Annealing on CPU threads: chains (foundation/gpu/kernels/makespan/makespan_chain.h), and many of
 * them. */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "engines/makespan/model/evaluate.h"
#include "foundation/base/threads/thread_pool.h"
#include "foundation/gpu/kernels/makespan/makespan_chain.h"

/* Is a makespan of `a` better than one of `b`, and by how much is it worse? */
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

/* The temperature asked for, 16 bits after the point. */
uint32_t anneal_temperature(const gordian_makespan_options *options);

/* What chain `number` starts from: as asked for, or the four in turn. */
gordian_makespan_start anneal_start(const gordian_makespan_options *options, uint64_t number);

/* How chain `number` begins: its random numbers, and the order it starts from, not sorted yet. */
void anneal_begin(const struct makespan_model *model, const gordian_makespan_options *options,
                  uint64_t number, struct chain_random *random, uint8_t *order);

/* One chain on a CPU. */
struct anneal_chain {
    const struct makespan_model *model;
    const gordian_makespan_options *options;
    struct evaluator *evaluator; /* the caller's: one a thread will do, one chain after another */
    uint64_t number, step;
    uint32_t heat; /* at the start */
    uint32_t now;  /* makespan of the current order */
    uint32_t best;
    uint8_t *best_order; /* the caller's, model->work entries, like these: */
    uint8_t *candidate;
    uint8_t *order; /* as published: the current order; else the evaluator's is */
    struct chain_random random;
};

/* Fills in the rest; the pointers, options and number are set. */
void anneal_chain_begin(struct anneal_chain *chain);
/* Makes up to `steps` steps; stops early when the best one got better. True: it did. */
bool anneal_chain_run(struct anneal_chain *chain, uint64_t steps);
bool anneal_chain_over(const struct anneal_chain *chain);

/* All of options->chains on the thread pool's threads. `order` (model->work entries) gets the best
 * order of all, of the lowest chain among equals: the same for any number of threads. The watch
 * gets the values. If a chain reaches the other end of the watch's interval, those with higher
 * numbers stop. */
gordian_status anneal_chains(const struct makespan_model *model,
                             const gordian_makespan_options *options, struct thread_pool *workers,
                             struct watch *watch, uint8_t *order, gordian_error *error);

/* GORDIAN_STATUS_INPUT: no chains, no evaluations, too many, a temperature below 0 or above 100. */
gordian_status anneal_check_options(const gordian_makespan_options *options, gordian_error *error);

/*
 * The exact search: through real states, pruned by a table's bounds.
 *
 * A state is how many warps stand at each instruction: warps are alike. It is written as a word of
 * (warps + length) bits: for each instruction a one for every warp there, then a zero. Moving m
 * warps on from an instruction moves its zero by m places, whatever moves elsewhere: a step adds a
 * constant for each. Beside the state stands the time at which it was reached. Words have 64 or 128
 * bits; larger systems have no search.
 *
 * Every cycle runs K instructions, and K is known from the state: so a state's progress, the
 * instructions run so far, says where it stands, and a *sweep* goes through the states in order of
 * their progress, keeping for each the latest time it can be reached at (worst case; the earliest
 * for the best). Only those are kept that may still lead to something better than what is known.
 * What remains when all work is done is the answer; while it runs, the best bound of what is
 * waiting holds for all. A *dive* looks for one schedule of a given makespan, depth first, the most
 * promising step first, remembering states it has failed from.
 *
 * Which warps of a block run matters; for a type with one unit see abstraction.h.
 */
#pragma once

#include "engines/makespan/exact/table.h"
#include "foundation/base/threads/thread_pool.h"

struct candidates; /* candidates.h */

struct search {
    const struct makespan_model *model;
    const struct table *table; /* its goal is the search's */
    struct thread_pool *workers;
    struct watch *watch;
    gordian_allocator memory; /* may be used by several threads at once */
    /* of real states: only those it has are wanted; NULL: all */
    const struct candidates *candidates;
};

/* Bits of a word that hold the state and a time: 64, 128, or 0: too large. */
unsigned search_bits(const struct makespan_model *model);

/* Looks for anything better than what the watch has, and moves the watch's other end as the sweep
 * goes on. *value: the best makespan there is, if it is better than that, else 0.
 * GORDIAN_STATUS_END: more than `most` states (0: no limit), no more memory, or the watch said
 * stop: nothing is known but the watch's interval. */
gordian_status search_sweep(const struct search *search, uint64_t most, uint32_t *value,
                            gordian_error *error);

/* The same through the states of largest.h, of which there are fewer: moves the watch's other end
 * to the best that there can be, and finds no schedule. Its table must be one of whole runs. */
gordian_status search_tighten(const struct search *search, uint64_t most, gordian_error *error);
/* Can it be done? */
bool search_tightens(const struct search *search);

/* Looks for a schedule of `target` cycles or better. *found: `order` has it. GORDIAN_STATUS_END:
 * not found within `most` states (0: no limit), or the watch said stop. */
gordian_status search_dive(const struct search *search, uint32_t target, uint64_t most,
                           uint8_t *order, bool *found, gordian_error *error);

/* For search.c: the same for one size of words each. */
gordian_status search_sweep_64(const struct search *search, uint64_t most, uint32_t *value,
                               gordian_error *error);
gordian_status search_sweep_128(const struct search *search, uint64_t most, uint32_t *value,
                                gordian_error *error);
gordian_status search_sweep_largest_64(const struct search *search, uint64_t most, uint32_t *value,
                                       gordian_error *error);
gordian_status search_sweep_largest_128(const struct search *search, uint64_t most, uint32_t *value,
                                        gordian_error *error);
gordian_status search_dive_64(const struct search *search, uint32_t target, uint64_t most,
                              uint8_t *order, bool *found, gordian_error *error);
gordian_status search_dive_128(const struct search *search, uint32_t target, uint64_t most,
                               uint8_t *order, bool *found, gordian_error *error);

/* Bits of a word below the state: for the time. */
unsigned search_time_bits(const struct makespan_model *model);

/* Is a makespan of `bound` or better (of a state's best continuation) worth having, when only those
 * better than `known` are wanted? */
static inline bool search_worth(gordian_makespan_goal goal, uint32_t bound, uint32_t known)
{
    return goal == GORDIAN_MAKESPAN_GOAL_WORST ? bound > known : bound < known;
}

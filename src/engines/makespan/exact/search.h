/*
 * The exact search: branch and bound through real states, pruned by the bounds of a table.
 *
 * A state is the number of warps at each instruction, because warps are identical. It is encoded as
 * a word of (warps + length) bits: for each instruction a one per warp there, then a zero. If m
 * warps move on from an instruction, its zero moves by m positions, independent of other moves: so
 * a step adds a constant for each. The time at which the state was reached is stored in the same
 * word. Words have 64 or 128 bits; larger systems cannot be searched.
 *
 * Every cycle runs K instructions, and K depends only on the state. So the progress of a state, the
 * number of instructions run so far, orders the states. There are two searches:
 *
 * - A *sweep* is a dynamic program: it visits the states in order of their progress, and keeps for
 *   each the latest time at which it is reached (worst case), or the earliest (best case). It keeps
 *   only states that may still improve on the best result. The result is known when all work is
 *   done; until then the best bound of the waiting states is a bound for all.
 * - A *depth-first search* looks for one schedule of a given makespan. It takes the most promising
 *   step first, and remembers states from which it failed.
 *
 * It matters which warps of a block run; for a type with one unit see abstraction.h.
 */
#pragma once

#include "engines/makespan/exact/table.h"
#include "foundation/base/threads/thread_pool.h"

struct candidates; /* candidates.h */

struct search {
    const struct makespan_model *model;
    const struct table *table; /* has the goal of the search */
    struct thread_pool *workers;
    struct watch *watch;
    gordian_allocator memory; /* must allow use by several threads at once */
    /* only real states that these represent are visited; NULL: all */
    const struct candidates *candidates;
};

/* Returns the bits of a word for the state and a time: 64, 128, or 0: too large. */
unsigned search_bits(const struct makespan_model *model);

/* Looks for a result better than the watch's result, and moves the other end of the watch's
 * interval during the sweep. *value: the best makespan if it is better than the watch's result,
 * else 0. GORDIAN_STATUS_END: more than `most` states (0: no limit), out of memory, or stopped by
 * the watch; only the watch's interval is known then. */
gordian_status search_sweep(const struct search *search, uint64_t most, uint32_t *value,
                            gordian_error *error);

/* Like the sweep above, through the states of largest.h, which are fewer: moves the other end of
 * the watch's interval to the best bound, and finds no schedule. The table must be one of whole
 * runs. */
gordian_status search_tighten(const struct search *search, uint64_t most, gordian_error *error);
/* Returns whether search_tighten is possible. */
bool search_tightens(const struct search *search);

/* Looks for a schedule of `target` cycles or better. *found: it is in `order`. GORDIAN_STATUS_END:
 * not found within `most` states (0: no limit), or stopped by the watch. */
gordian_status search_dfs(const struct search *search, uint32_t target, uint64_t most,
                          uint8_t *order, bool *found, gordian_error *error);

/* For search.c: the same for each word size. */
gordian_status search_sweep_64(const struct search *search, uint64_t most, uint32_t *value,
                               gordian_error *error);
gordian_status search_sweep_128(const struct search *search, uint64_t most, uint32_t *value,
                                gordian_error *error);
gordian_status search_sweep_largest_64(const struct search *search, uint64_t most, uint32_t *value,
                                       gordian_error *error);
gordian_status search_sweep_largest_128(const struct search *search, uint64_t most, uint32_t *value,
                                        gordian_error *error);
gordian_status search_dfs_64(const struct search *search, uint32_t target, uint64_t most,
                             uint8_t *order, bool *found, gordian_error *error);
gordian_status search_dfs_128(const struct search *search, uint32_t target, uint64_t most,
                              uint8_t *order, bool *found, gordian_error *error);

/* Returns the number of low bits of a word that hold the time. */
unsigned search_time_bits(const struct makespan_model *model);

/* Returns whether `bound`, the best makespan that a state can lead to, is better than `known`. */
static inline bool search_worth(gordian_makespan_goal goal, uint32_t bound, uint32_t known)
{
    return goal == GORDIAN_MAKESPAN_GOAL_WORST ? bound > known : bound < known;
}

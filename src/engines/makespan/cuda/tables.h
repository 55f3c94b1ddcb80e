/*
 * An abstract system of warps, as the tables that the sweep (cuda/sweep.h) reads.
 *
 * The string is cut into runs of one type. For each run, a state has the number of warps in it and,
 * in one of four representations, how far they are: its *local state*.
 *
 * - packed: the instructions done by all of them together. With one start per cycle this is
 *   lossless: the warp that leaves is always the most advanced one. In a step in which none leaves,
 *   it is best to advance the most advanced warp that is not at its last instruction, because then
 *   as many warps as possible are ready to leave.
 * - work: the instructions left to all of them together. A step is allowed if it is possible for
 *   any set of warps with this sum.
 * - largest: the same sum, and the largest number of instructions left to one warp.
 * - full: how many warps have 1, 2, 3, ... instructions left. This is lossless.
 *
 * In a coarser representation every real step is still possible. So the longest path is an upper
 * bound of the longest schedule, and the shortest path a lower bound of the shortest. With packed
 * and full runs only, the paths are exactly the schedules.
 */
#pragma once

#include "engines/makespan/model/model.h"
#include "foundation/gpu/kernels/makespan/makespan_sweep.h"

/* For runs that cannot be packed. */
enum sweep_detail {
    SWEEP_WORK,
    SWEEP_LARGEST,
    SWEEP_FULL,
    SWEEP_DETAILS,
};

/* How a run represents the progress of its warps. */
enum local_kind {
    LOCAL_PACKED,
    LOCAL_WORK,
    LOCAL_LARGEST,
    LOCAL_FULL,
};

#define LOCAL_FULL_LENGTH 32u /* the longest run with full local states */

struct local_run {
    enum local_kind kind;
    uint32_t length; /* of the run */
    uint32_t most;   /* instructions per cycle */
};

/* Addresses of struct sweep_run, as host arrays. */
struct run_tables {
    struct local_run local;
    uint32_t *base; /* warps + 2 */
    uint32_t *warps, *first, *arrive;
    uint32_t *work; /* work left, including the work of later runs */
    uint64_t *options;
    uint32_t ids;
    uint64_t option_count;
    uint32_t length, most, comers, type;
    uint32_t after; /* instructions of a warp after this run */
};

struct sweep_tables {
    gordian_allocator memory;
    const struct makespan_model *model; /* owned by the caller */
    bool lossless;                      /* every path has the length of a schedule */
    struct run_tables runs[SWEEP_RUNS];
    uint32_t run_count;
    /* As in struct sweep_system. */
    uint64_t *room, *before, *prefix_room, *prefix_before, *class_room, *class_before;
    uint64_t states;   /* total number */
    uint64_t prefixes; /* below 2^32 */
    uint64_t classes;  /* of prefixes */
    /* Of the last run, as in struct sweep_layer_arguments. */
    uint32_t *last_states, *last_first, *last_count;
};

/* Returns whether the model can be swept at that level of detail, and the number of states; `why`:
 * the reason if not. It only counts, and takes no noticeable time. */
bool sweep_possible(const struct makespan_model *model, enum sweep_detail detail, uint64_t *states,
                    const char **why);

/* GORDIAN_STATUS_UNAVAILABLE: not possible. On failure *out is NULL. */
gordian_status sweep_tables_open(struct sweep_tables **out, const struct makespan_model *model,
                                 enum sweep_detail detail, const gordian_allocator *memory,
                                 gordian_error *error);
void sweep_tables_close(struct sweep_tables *tables); /* accepts NULL */

/* ------------------------------------------------------------------ local states */

struct local_state {
    uint32_t warps;
    uint32_t work;                     /* instructions left to all warps together */
    uint32_t largest;                  /* of LOCAL_LARGEST; 0 without warps */
    uint8_t counts[LOCAL_FULL_LENGTH]; /* of LOCAL_FULL: warps with i + 1 instructions left */
};

/* Returns the number of local states with that many warps; 0: too many to count. */
uint64_t local_count(const struct local_run *run, uint32_t warps);
/* Returns the local state number `rank`, and the rank of a local state. */
struct local_state local_at(const struct local_run *run, uint32_t warps, uint64_t rank);
uint64_t local_rank(const struct local_run *run, const struct local_state *state);
/* Returns the local state after `comers` more warps arrived, with all their instructions left. */
struct local_state local_arrive(const struct local_run *run, const struct local_state *state,
                                uint32_t comers);
/* Calls `emit` for every outcome of exactly k instructions, with the warps that leave and the local
 * state that remains. */
typedef void local_emit(void *context, uint32_t leave, const struct local_state *next);
void local_steps(const struct local_run *run, const struct local_state *state, uint32_t k,
                 local_emit *emit, void *context);

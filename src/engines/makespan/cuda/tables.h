/*
 * An abstract system of warps, as tables: what the sweep (cuda/sweep.h) goes through.
 *
 * The string is cut into runs of one type. A state says for each run how many warps are in it and,
 * in one of four ways, how far they are: its *local state*.
 *
 *   packed   instructions done by all of them. With one start a cycle that is enough and loses
 *            nothing: whoever leaves is the most advanced, and a step that lets nobody leave may as
 *            well advance the most advanced one that is not at its last instruction, because then
 *            as many as possible are ready to leave.
 *   work     instructions left to all of them. What leaves nothing out: a step may do whatever it
 *            could do to some warps with that sum.
 *   largest  the same, and the most that is left to one of them.
 *   full     how many have 1, 2, 3, ... left: nothing is lost.
 *
 * In a coarser way every real step is still possible, so the longest way is an upper bound of the
 * longest schedule and the shortest way a lower bound of the shortest; with packed and full runs
 * only, they are the schedules' own.
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

/* A run's way of telling how far its warps are. */
enum local_kind {
    LOCAL_PACKED,
    LOCAL_WORK,
    LOCAL_LARGEST,
    LOCAL_FULL,
};

#define LOCAL_FULL_LENGTH 32u /* the longest run that is told in full */

struct local_run {
    enum local_kind kind;
    uint32_t length; /* of the run */
    uint32_t most;   /* instructions a cycle */
};

/* Addresses of struct sweep_run as lists here. */
struct run_tables {
    struct local_run local;
    uint32_t *base; /* warps + 2 */
    uint32_t *warps, *first, *arrive;
    uint32_t *work; /* left, that of later runs included */
    uint64_t *options;
    uint32_t ids;
    uint64_t option_count;
    uint32_t length, most, comers, type;
    uint32_t after; /* instructions of a warp after this run */
};

struct sweep_tables {
    gordian_allocator memory;
    const struct makespan_model *model; /* the caller's */
    bool lossless;                      /* the way's length is a schedule's */
    struct run_tables runs[SWEEP_RUNS];
    uint32_t run_count;
    /* As in struct sweep_system. */
    uint64_t *room, *before, *prefix_room, *prefix_before, *class_room, *class_before;
    uint64_t states;   /* in all */
    uint64_t prefixes; /* below 2^32 */
    uint64_t classes;  /* of prefixes */
    /* Of the last run, as in struct sweep_layer_arguments. */
    uint32_t *last_states, *last_first, *last_count;
};

/* Can it be swept in that detail at all, and how many states are there? `why`: what is in the way.
 * Counts only: takes no time. */
bool sweep_possible(const struct makespan_model *model, enum sweep_detail detail, uint64_t *states,
                    const char **why);

/* GORDIAN_STATUS_UNAVAILABLE: not possible. On failure *out is NULL. */
gordian_status sweep_tables_open(struct sweep_tables **out, const struct makespan_model *model,
                                 enum sweep_detail detail, const gordian_allocator *memory,
                                 gordian_error *error);
void sweep_tables_close(struct sweep_tables *tables); /* NULL is fine */

/* ------------------------------------------------------------------ local states */

/* cuda/local.c */

struct local_state {
    uint32_t warps;
    uint32_t work;                     /* instructions left; packed: the same */
    uint32_t largest;                  /* of LOCAL_LARGEST; 0 without warps */
    uint8_t counts[LOCAL_FULL_LENGTH]; /* of LOCAL_FULL: those with i + 1 instructions left */
};

/* How many there are with that many warps; 0: too many to count. */
uint64_t local_count(const struct local_run *run, uint32_t warps);
/* Number `rank` of these, and back. */
struct local_state local_at(const struct local_run *run, uint32_t warps, uint64_t rank);
uint64_t local_rank(const struct local_run *run, const struct local_state *state);
/* After `comers` more warps came, all their instructions before them. */
struct local_state local_arrive(const struct local_run *run, const struct local_state *state,
                                uint32_t comers);
/* Calls `tell` for every outcome of exactly k instructions: the warps that leave, and what
 * remains. */
typedef void local_tell(void *context, uint32_t leave, const struct local_state *next);
void local_steps(const struct local_run *run, const struct local_state *state, uint32_t k,
                 local_tell *tell, void *context);

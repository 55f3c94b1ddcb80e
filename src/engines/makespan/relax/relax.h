/*
 * Warps with two relaxations of the model, which the paper mentions but does not treat.
 *
 * **Several instructions of a warp per cycle** (model->issue, 2: dual issue). A scheduler that has
 * chosen a warp starts up to that many of its next instructions in the same cycle, in order, each
 * on a unit of its own. The schedulers limit the warps of a cycle, and the units its instructions.
 * An instruction of several cycles consists of pieces of one cycle, as before. Two pieces of one
 * instruction never run in the same cycle, but the last piece of one may run together with the
 * first of the next.
 *
 * **Latencies within an interval.** Each time an instruction is run it takes a number of cycles
 * between two bounds, independently for every warp and instruction. The string has the largest
 * number of pieces; those beyond the smallest number are *optional*: a warp may leave out any
 * number of the optional pieces at the end of an instruction.
 *
 * A schedule is work-conserving if in no cycle another piece could have run in addition. Such a
 * piece is the next one of a warp that did not run, if a unit and a scheduler are free; or the next
 * one of a warp that ran fewer than it may, if it begins an instruction and a unit is free. Shorter
 * latencies can make longer schedules, and so can a second instruction per cycle: the plain models
 * at the ends of an interval do not bound the models in between (docs/guide/makespan.md has
 * examples).
 *
 * Strings of warps represent schedules here as well. The entries are placed one by one: the warp's
 * next piece that is not left out goes into the earliest cycle that fits. Later placements only
 * take away units and schedulers, so a piece that did not fit into a cycle does not fit in the end
 * either: the schedule is work-conserving. Conversely, listing a work-conserving schedule cycle by
 * cycle, with a warp's pieces in order, gives a string that builds it again: each piece fits where
 * it was, and does not fit into earlier cycles, because everything there has been placed already.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"

/* A string of warps, and the pieces that are left out. */
struct relax_plan {
    uint8_t *order; /* model->work entries; entries beyond a warp's last piece have no effect */
    uint8_t *skips; /* [warp][piece]: whether it is left out */
};

/* The resulting schedule: pieces in the order of their placement. */
struct relax_schedule {
    uint32_t count; /* at most model->work, the capacity of these arrays: */
    uint8_t *warps;
    uint32_t *pieces; /* in the string, from 0 */
    uint32_t *cycles; /* from 0 */
    uint32_t makespan;
};

/* Allocates that many entries. False: out of memory; the caller still calls
 * relax_schedule_close. */
bool relax_schedule_open(struct relax_schedule *schedule, size_t entries,
                         const gordian_allocator *memory);
void relax_schedule_close(struct relax_schedule *schedule, const gordian_allocator *memory);

/* Returns whether the warp that has run piece `piece` - 1 may skip to the next instruction: the
 * first piece of that instruction (or model->length), or `piece` if it may not. */
uint32_t relax_skip(const struct makespan_model *model, uint32_t piece);

/* ---- building (relax_build.c) */

struct relax_buffers; /* buffers for building, reusable */
gordian_status relax_buffers_open(struct relax_buffers **out, const struct makespan_model *model,
                                  const gordian_allocator *memory, gordian_error *error);
void relax_buffers_close(struct relax_buffers *buffers); /* accepts NULL */
/* Returns the makespan. */
uint32_t relax_build(struct relax_buffers *buffers, const struct relax_plan *plan,
                     struct relax_schedule *schedule);
/* Sorts by (cycle, warp, piece). */
void relax_sort(struct relax_buffers *buffers, struct relax_schedule *schedule);

/* ---- the independent check (relax/schedule_check.c): checks that this is a work-conserving
 * schedule of the model with these pieces and this makespan. GORDIAN_STATUS_INPUT, with the reason,
 * if not. */
gordian_status relax_check(const struct makespan_model *model,
                           const struct relax_schedule *schedule, gordian_error *why);

/* ---- searching */

/* Simulated annealing over plans: `steps` evaluations of each of options->chains chains, one after
 * another. `best` gets the best schedule of all (relax_anneal.c). Progress goes to the watch. */
gordian_status relax_anneal(const struct makespan_model *model,
                            const gordian_makespan_options *options, uint64_t steps,
                            struct watch *watch, const gordian_allocator *memory,
                            struct relax_schedule *best, gordian_error *error);

/* The limits of the enumeration of states. */
struct relax_limits {
    uint64_t states; /* most states kept */
    uint64_t until;  /* deadline of clock_ns; 0: none */
};

/* Computes the exact value by enumerating all reachable states, cycle by cycle (relax_states.c).
 * `schedule` gets a schedule with that value. GORDIAN_STATUS_END: stopped by the watch or a limit;
 * nothing is known then. */
gordian_status relax_states(const struct makespan_model *model, gordian_makespan_goal goal,
                            const struct relax_limits *limits, struct watch *watch,
                            const gordian_allocator *memory, struct relax_schedule *schedule,
                            uint32_t *value, gordian_error *error);

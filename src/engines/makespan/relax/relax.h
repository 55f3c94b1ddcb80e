/*
 * Warps with two relaxations of the model that the paper names and leaves out.
 *
 * **Several instructions of a warp in a cycle** (model->issue, 2: dual issue). A scheduler that has
 * chosen a warp starts up to so many of its next instructions in the same cycle, in order, each on
 * a unit of its own. The schedulers bound the warps of a cycle, the units its instructions. An
 * instruction of several cycles is pieces of one cycle, as ever; two pieces of one instruction
 * never run in the same cycle, but the last piece of one may be joined by the first of the next.
 *
 * **Latencies within an interval.** Each time an instruction is run it takes a number of cycles
 * between two bounds, anew for every warp and instruction, and nobody promises which. The string
 * has the most pieces; those beyond the fewest are *optional*: a warp may leave out the last of an
 * instruction, any number of them that are optional.
 *
 * Work-conserving means what it meant: in no cycle is there a piece that could have run besides
 * those that did: the next of a warp that did not run, with a unit and a scheduler free; or the
 * next of one that ran fewer than it may, that begins an instruction, with a unit free. Shorter
 * latencies can make longer schedules, and so can a second instruction a cycle: neither of the
 * plain models at the ends of an interval bounds what is between (docs/guide/makespan.md has
 * examples).
 *
 * Strings of warps stand for schedules here, too. Take the entries one by one and put the warp's
 * next piece that is not left out into the earliest cycle that fits. What is placed later only ever
 * takes units and schedulers away, so whatever did not fit does not fit in the end: the schedule is
 * work-conserving. And reading a work-conserving schedule cycle by cycle, a warp's pieces in order,
 * gives a string that builds it again: each piece fits where it was, and in the cycles before it
 * does not, as everything there has been placed already.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"

/* A string of warps, and what is left out. */
struct relax_plan {
    uint8_t *order; /* model->work entries; those of a warp beyond its last piece do nothing */
    uint8_t *skips; /* [warp][piece]: is it left out? */
};

/* What comes of it: pieces in the order of their placing. */
struct relax_schedule {
    uint32_t count; /* at most model->work, like the room in these: */
    uint8_t *warps;
    uint32_t *pieces; /* of the string, from 0 */
    uint32_t *cycles; /* from 0 */
    uint32_t makespan;
};

/* Room for that many entries. False: out of memory, and relax_schedule_close is still due. */
bool relax_schedule_open(struct relax_schedule *schedule, size_t entries,
                         const gordian_allocator *memory);
void relax_schedule_close(struct relax_schedule *schedule, const gordian_allocator *memory);

/* May the warp that has run piece `piece` - 1 go on with the next instruction instead of it? The
 * piece that this begins with (maybe model->length), or `piece` if it may not. */
uint32_t relax_skip(const struct makespan_model *model, uint32_t piece);

/* ---- building (relax_build.c) */

struct relax_room; /* to build in, again and again */
gordian_status relax_room_open(struct relax_room **out, const struct makespan_model *model,
                               const gordian_allocator *memory, gordian_error *error);
void relax_room_close(struct relax_room *room); /* NULL is fine */
/* The makespan. */
uint32_t relax_build(struct relax_room *room, const struct relax_plan *plan,
                     struct relax_schedule *schedule);
/* Sorts by (cycle, warp, piece). */
void relax_sort(struct relax_room *room, struct relax_schedule *schedule);

/* ---- the independent check (model/schedule_check.c): is this a work-conserving schedule of the
 * model, of these pieces and this makespan? GORDIAN_STATUS_INPUT, and why, if not. */
gordian_status relax_check(const struct makespan_model *model,
                           const struct relax_schedule *schedule, gordian_error *why);

/* ---- searching */

/* Simulated annealing over plans, `steps` evaluations of each of options->chains chains, one after
 * another; `best` gets the best schedule of all (relax_anneal.c). The watch is told. */
gordian_status relax_anneal(const struct makespan_model *model,
                            const gordian_makespan_options *options, uint64_t steps,
                            struct watch *watch, const gordian_allocator *memory,
                            struct relax_schedule *best, gordian_error *error);

/* How far to go through states. */
struct relax_limits {
    uint64_t states; /* kept at most */
    uint64_t until;  /* of clock_ns; 0: for as long as it takes */
};

/* The exact value by going through all states that can be reached, cycle by cycle (relax_states.c).
 * `schedule` gets one that has it. GORDIAN_STATUS_END: the watch said stop, or a limit was reached;
 * nothing is known then. */
gordian_status relax_states(const struct makespan_model *model, gordian_makespan_goal goal,
                            const struct relax_limits *limits, struct watch *watch,
                            const gordian_allocator *memory, struct relax_schedule *schedule,
                            uint32_t *value, gordian_error *error);

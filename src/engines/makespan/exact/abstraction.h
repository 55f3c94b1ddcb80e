/*
 * The abstraction behind the exact engine's bounds.
 *
 * The string is cut into *blocks*: runs of one type, or parts of one. A *pool* is one block or
 * several. An abstract state says how many warps are in each block and, for each pool, how many
 * instructions its warps have left in their blocks, all together. It stands for every way to spread
 * that work over those warps, each having from 1 to its block's length left. Where warps move on is
 * decided by
 *
 *     starts[b]   warps of block b that run this cycle,
 *     leaves[b]   those among them that finish the block and enter the next;
 *
 * within the capacities and, whatever is chosen, K in all (model/model.h): that depends on the
 * numbers of warps alone. A step of a real schedule is always one of these, so the longest way
 * through the abstract states is no shorter than the longest schedule, and the shortest no longer
 * than the shortest schedule, from every state on (table.h).
 *
 * For a block of a type with one unit, alone in its pool, nothing is lost: only one of its warps
 * runs in a cycle, and if it is always the furthest one that stays in the block, whatever any other
 * choice could do later can be done. So (warps, work left) tells all, and the search
 * (expand_body.h) follows those choices only.
 *
 * States are numbered: those with the same numbers of warps form a *box*, the pools' works within
 * one being independent of each other; boxes follow each other by their numbers of warps, and in a
 * box the last pool's work is the one that runs fastest.
 */
#pragma once

#include "engines/makespan/model/model.h"

/* Systems beyond these have no abstraction: runs, numbers of warps in them, and ways to leave them
 * in a cycle (about). */
enum {
    ABSTRACTION_MAX_BLOCKS = 64,
    ABSTRACTION_MAX_BOXES = 1 << 23,
    ABSTRACTION_MAX_STEPS = 5000,
};

struct abstraction_block {
    uint32_t first, length, type;
    uint32_t pool;
};

struct abstraction {
    const struct makespan_model *model;
    gordian_allocator memory;
    uint32_t block_count, pool_count;
    struct abstraction_block blocks[ABSTRACTION_MAX_BLOCKS];
    uint64_t *before; /* [block][warps from it on][warps in it]: boxes before those with so many */
    uint64_t box_count;
    uint64_t *offsets; /* where each box's states begin; box_count + 1 */
    uint64_t states;   /* in all */
};

/* How the string is cut: finer cuts give better bounds and more states. */
struct abstraction_plan {
    uint32_t block_count, pool_count;
    struct abstraction_block blocks[ABSTRACTION_MAX_BLOCKS];
};

/* A block and a pool for every run. False: more runs than fit. */
bool abstraction_plan_runs(struct abstraction_plan *plan, const struct makespan_model *model);
/* The same, but blocks of a type with several units share a pool: fewer states. */
bool abstraction_plan_types(struct abstraction_plan *plan, const struct makespan_model *model);
/* Halves the longest block of a type with several units, the last one among equals. False: there is
 * none, and nothing is abstract any more. */
bool abstraction_plan_refine(struct abstraction_plan *plan, const struct makespan_model *model);

/* GORDIAN_STATUS_END: more states than `most`, or beyond the limits above. */
gordian_status abstraction_open(struct abstraction **out, const struct makespan_model *model,
                                const struct abstraction_plan *plan, uint64_t most,
                                const gordian_allocator *memory, gordian_error *error);
void abstraction_close(struct abstraction *abstraction); /* NULL is fine */

/* The box of these numbers of warps (block_count of them; the rest is done). */
uint64_t abstraction_box(const struct abstraction *abstraction, const uint32_t *warps);
/* The numbers of warps of a box. */
void abstraction_warps(const struct abstraction *abstraction, uint64_t box, uint32_t *warps);

/* The works in a box: least[p] and, how many from there on, extent[p]. */
void abstraction_extents(const struct abstraction *abstraction, const uint32_t *warps,
                         uint32_t *least, uint32_t *extent);

/* The state's number. */
uint64_t abstraction_state(const struct abstraction *abstraction, const uint32_t *warps,
                           const uint32_t *work);

/* A step that a box's states may take, if the works allow it: */
struct abstraction_step {
    uint16_t starts[ABSTRACTION_MAX_BLOCKS], leaves[ABSTRACTION_MAX_BLOCKS];
};

/* Calls `take` for every choice of starts and leaves that these numbers of warps allow. */
void abstraction_steps(const struct abstraction *abstraction, const uint32_t *warps,
                       void (*take)(void *context, const struct abstraction_step *step),
                       void *context);

/* K of these numbers of warps: what a cycle runs. */
uint32_t abstraction_progress(const struct abstraction *abstraction, const uint32_t *warps);

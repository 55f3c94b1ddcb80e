/*
 * The abstraction behind the bounds of the exact engine.
 *
 * The string is cut into *blocks*: runs of one type, or parts of one. A *pool* is one or more
 * blocks. An abstract state has the number of warps in each block and, for each pool, the number of
 * instructions that its warps have left in their blocks, all together. It represents every
 * distribution of that work over those warps in which each has between 1 and its block's length
 * left. A step is given by
 *
 *     starts[b]   warps of block b that run this cycle,
 *     leaves[b]   those among them that finish the block and enter the next;
 *
 * within the capacities, with K instructions in all (model/model.h): K depends on the numbers of
 * warps alone. Every step of a real schedule is one of these. So from every state on, the longest
 * path through the abstract states is at least as long as the longest schedule, and the shortest
 * path at most as long as the shortest schedule (table.h).
 *
 * For a block of a type with one unit, alone in its pool, the abstraction is lossless. Only one of
 * its warps runs in a cycle. If this is always the most advanced warp that stays in the block, then
 * everything that any other choice allows later is possible as well. So (warps, work left)
 * describes the block completely, and the search (expand_body.h) follows only those choices.
 *
 * States are numbered. States with the same numbers of warps form a *box*, in which the works of
 * the pools are independent of each other. Boxes are ordered by their numbers of warps, and within
 * a box the work of the last pool varies fastest.
 */
#pragma once

#include "engines/makespan/model/model.h"

/* Larger systems have no abstraction. The limits are runs, numbers of warps in them, and (about)
 * choices of leaves in a cycle. */
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
    uint64_t *before; /* [block][warps from it on][warps in it]: number of boxes before */
    uint64_t box_count;
    uint64_t *offsets; /* where the states of each box begin; box_count + 1 */
    uint64_t states;   /* total number */
};

/* How the string is cut: finer cuts give better bounds and more states. */
struct abstraction_plan {
    uint32_t block_count, pool_count;
    struct abstraction_block blocks[ABSTRACTION_MAX_BLOCKS];
};

/* Makes a block and a pool of every run. False: more runs than fit. */
bool abstraction_plan_runs(struct abstraction_plan *plan, const struct makespan_model *model);
/* The same, but blocks of a type with several units share a pool: fewer states. */
bool abstraction_plan_types(struct abstraction_plan *plan, const struct makespan_model *model);
/* Halves the longest block of a type with several units, and the last one among equals. False:
 * there is none, and the states are not abstract any more. */
bool abstraction_plan_refine(struct abstraction_plan *plan, const struct makespan_model *model);

/* GORDIAN_STATUS_END: more states than `most`, or above the limits. */
gordian_status abstraction_open(struct abstraction **out, const struct makespan_model *model,
                                const struct abstraction_plan *plan, uint64_t most,
                                const gordian_allocator *memory, gordian_error *error);
void abstraction_close(struct abstraction *abstraction); /* accepts NULL */

/* Returns the box with these numbers of warps (block_count of them; the other warps are done). */
uint64_t abstraction_box(const struct abstraction *abstraction, const uint32_t *warps);
/* Gets the numbers of warps of a box. */
void abstraction_warps(const struct abstraction *abstraction, uint64_t box, uint32_t *warps);

/* Gets the range of works in a box: the least, and the number of values from there on (extent). */
void abstraction_extents(const struct abstraction *abstraction, const uint32_t *warps,
                         uint32_t *least, uint32_t *extent);

/* Returns the number of a state. */
uint64_t abstraction_state(const struct abstraction *abstraction, const uint32_t *warps,
                           const uint32_t *work);

/* A step that the states of a box may take, if their works allow it: */
struct abstraction_step {
    uint16_t starts[ABSTRACTION_MAX_BLOCKS], leaves[ABSTRACTION_MAX_BLOCKS];
};

/* Calls `take` for every choice of starts and leaves that these numbers of warps allow. */
void abstraction_steps(const struct abstraction *abstraction, const uint32_t *warps,
                       void (*take)(void *context, const struct abstraction_step *step),
                       void *context);

/* Returns K of these numbers of warps: the instructions that run in a cycle. */
uint32_t abstraction_progress(const struct abstraction *abstraction, const uint32_t *warps);

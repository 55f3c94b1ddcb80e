/*
 * The makespan of orders, fast: from scratch, and incrementally.
 *
 * An evaluator holds a current order, sorted by cycle, and tells the makespan of orders that differ
 * from it in one window. Where entries are sorted by cycle, all cycles before that of the entry in
 * front of the window are complete: nothing will ever fit into them again. So evaluation starts at
 * the window with nothing but the progress of the warps and one cycle that is partly filled. And it
 * ends early: as soon as, at a place where the current schedule begins a cycle, nothing placed so
 * far leaves a gap that anybody left could use, the rest of the schedule is what it was, sooner or
 * later by a number of cycles.
 *
 * Both ways count starts in bytes, eight cycles a word: the earliest cycle that fits is a search
 * for a bit. (schedule_build is the plain one.)
 */
#pragma once

#include "engines/makespan/model/schedule.h"

struct evaluator;

gordian_status evaluator_open(struct evaluator **out, const struct makespan_model *model,
                              const gordian_allocator *memory, gordian_error *error);
void evaluator_close(struct evaluator *evaluator); /* NULL is fine */

/* From scratch; `cycles` may be NULL. The current order stays what it is. */
uint32_t evaluator_scratch(struct evaluator *evaluator, const uint8_t *order, uint32_t *cycles);

/* As published: the current order stays as it is, and its cycles (the paper's warp cycle string)
 * are reused as far as a candidate begins with the same entries: placed without looking. `common`:
 * how many those are, 0 for the first order of a chain. What was tried last becomes the current one
 * by evaluator_keep_plain; neither goes together with set, try and keep. */
uint32_t evaluator_try_plain(struct evaluator *evaluator, const uint8_t *order, uint32_t common);
void evaluator_keep_plain(struct evaluator *evaluator);

/* Makes this order the current one, sorted by cycle; entries of the same cycle stay in their order.
 * Its makespan. */
uint32_t evaluator_set(struct evaluator *evaluator, const uint8_t *order);

/* The current order and where its entries went: model->work of each. Valid until set or keep. */
const uint8_t *evaluator_order(const struct evaluator *evaluator);
const uint32_t *evaluator_cycles(const struct evaluator *evaluator);
uint32_t evaluator_makespan(const struct evaluator *evaluator); /* for tests */

/* The makespan of the current order with entries first .. last-1 replaced by `window`, which has
 * the same entries in another order. */
uint32_t evaluator_try(struct evaluator *evaluator, uint32_t first, uint32_t last,
                       const uint8_t *window);
/* What was tried last becomes the current order. */
void evaluator_keep(struct evaluator *evaluator);

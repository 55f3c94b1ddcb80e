/*
 * Fast evaluation of the makespan of orders, from scratch and incrementally.
 *
 * An evaluator holds a current order, sorted by cycle, and computes the makespan of orders that
 * differ from it in one window. Because entries are sorted by cycle, all cycles before the cycle of
 * the entry in front of the window are complete: nothing will ever fit into them again. So the
 * evaluation starts at the window, with only the progress of the warps and one partly filled cycle.
 * It also ends early. Suppose that the placed entries leave no gap that a remaining warp could use,
 * at a place where the current schedule begins a cycle. Then the rest of the schedule is the old
 * one, shifted by a number of cycles.
 *
 * Both methods count starts in bytes, eight cycles per word, and find the earliest cycle that fits
 * with a bit scan. (schedule_build is the simple version.)
 */
#pragma once

#include "engines/makespan/model/schedule.h"

struct evaluator;

gordian_status evaluator_open(struct evaluator **out, const struct makespan_model *model,
                              const gordian_allocator *memory, gordian_error *error);
void evaluator_close(struct evaluator *evaluator); /* accepts NULL */

/* Evaluates from scratch; `cycles` may be NULL. The current order does not change. */
uint32_t evaluator_scratch(struct evaluator *evaluator, const uint8_t *order, uint32_t *cycles);

/* The published method. The current order does not change, and its cycles (the paper's warp cycle
 * string) are reused for the common first entries of a candidate, which are not placed again.
 * `common`: their number, 0 for the first order of a chain. evaluator_keep_plain makes the last
 * candidate the current order. Do not combine these two with set, try and keep. */
uint32_t evaluator_try_plain(struct evaluator *evaluator, const uint8_t *order, uint32_t common);
void evaluator_keep_plain(struct evaluator *evaluator);

/* Makes this order the current one, sorted by cycle; entries of the same cycle stay in their order.
 * Returns its makespan. */
uint32_t evaluator_set(struct evaluator *evaluator, const uint8_t *order);

/* The current order and the cycles of its entries: model->work of each. Valid until set or keep. */
const uint8_t *evaluator_order(const struct evaluator *evaluator);
const uint32_t *evaluator_cycles(const struct evaluator *evaluator);
uint32_t evaluator_makespan(const struct evaluator *evaluator); /* for tests */

/* Returns the makespan of the current order with entries first .. last-1 replaced by `window`,
 * which has the same entries in another order. */
uint32_t evaluator_try(struct evaluator *evaluator, uint32_t first, uint32_t last,
                       const uint8_t *window);
/* Makes the last candidate the current order. */
void evaluator_keep(struct evaluator *evaluator);

/* Strongly connected components of the lock-order graph, in topological order.
 *
 * Locks on a cycle are in one component. Only locks of one component can be part of a deadlock. The
 * topological order is maintained incrementally. A step that leads forward, as almost all do, needs
 * no search. A step that leads backward starts a search from both ends, limited to the positions
 * between them. The components found there are moved, or merged. Merged components are not split
 * when locks are destroyed, which only costs searches.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Callers of these have the guard in lock_order.c. */

bool components_start(void);
void components_clear(void);
/* Returns whether there is capacity for this many more. */
bool components_have_room(uint32_t components, uint32_t steps);
bool components_make_room(uint32_t components, uint32_t steps);
/* Returns a new component, at the end of the order. */
uint32_t component_new(void);
/* Adds a step: a thread that held a lock of the first took a lock of the second. */
void component_step(uint32_t from, uint32_t to);
bool component_same(uint32_t one, uint32_t two);
/* Keeps only the components for which component_keep() is called, with new numbers. Discards all
 * steps, which must be added again. */
bool components_renew(void);
uint32_t component_keep(uint32_t component);
void components_renewed(void);

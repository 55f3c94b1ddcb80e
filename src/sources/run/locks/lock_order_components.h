/* Strongly connected components of the graph of lock orders, in topological order.
 *
 * Locks on a cycle of orders are in one component, by whichever threads; only locks of one
 * component can be part of a deadlock. The topological order is kept while orders come in. One that
 * leads forward, as nearly all do, needs no search. One that leads back is followed from both ends,
 * no further than between them, and the components in between are moved, or merged. Merged
 * components stay so when locks have gone: that costs a search, no more.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Callers of these have the guard in lock_order.c. */

bool components_start(void);
void components_clear(void);
/* Room for so many more; false: there is no memory. */
bool components_have_room(uint32_t components, uint32_t steps);
bool components_make_room(uint32_t components, uint32_t steps);
/* A component of its own, at the end of the order. */
uint32_t component_new(void);
/* A thread that held a lock of the one took a lock of the other. */
void component_step(uint32_t from, uint32_t to);
bool component_same(uint32_t one, uint32_t two);
/* Keeps those components alone that component_keep() names, by new numbers, and forgets all steps,
 * which are to be noted again. */
bool components_renew(void);
uint32_t component_keep(uint32_t component);
void components_renewed(void);

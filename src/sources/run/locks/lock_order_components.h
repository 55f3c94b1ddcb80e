/* Locks in parts.
 *
 * Locks that lie on a circle of orders, whoever made them and in whatever company, are in one part;
 * only among those there may be a deadlock. The parts stand in a line in which every order leads
 * forward, so that an order that does so (nearly all do) needs no search: one that leads back is
 * followed from both ends, no further than between them, and the parts in between are moved, or
 * made one. What has become one stays so, also when locks have gone: that costs a search, no more.
 */
#ifndef GORDIAN_SOURCES_RUN_LOCKS_LOCK_ORDER_COMPONENTS_H
#define GORDIAN_SOURCES_RUN_LOCKS_LOCK_ORDER_COMPONENTS_H

#include <stdbool.h>
#include <stdint.h>

/* Callers of these have the guard in lock_order.c. */

bool parts_start(void);
void parts_clear(void);
/* Room for so many more; false: there is no memory. */
bool parts_have_room(uint32_t parts, uint32_t steps);
bool parts_make_room(uint32_t parts, uint32_t steps);
/* A part of its own, at the end of the line. */
uint32_t part_new(void);
/* Somebody who held a lock of the one took a lock of the other. */
void part_step(uint32_t from, uint32_t to);
bool part_same(uint32_t one, uint32_t two);
/* Keeps those parts alone that part_keep() names, by new numbers, and forgets all steps, which are
 * to be noted again. */
bool parts_renew(void);
uint32_t part_keep(uint32_t part);
void parts_renewed(void);

#endif

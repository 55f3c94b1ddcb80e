/* One server, given by several addresses: two of its databases, a socket and a port, two names. All
 * of them would show the same sessions, so one of them watches the server, and the others are
 * parked: they report nothing and end nothing. If the one that watches loses its connection,
 * another takes over.
 */
#pragma once

#include "sources/watch/graph/source.h"

/* To be called after every turn. */
void duplicates_park(struct source *const *sources, size_t count);
/* The source that watches the server of a parked one; NULL: it is gone at the moment. */
const struct source *duplicates_watcher(struct source *const *sources, size_t count,
                                        const struct source *parked);
/* How many servers are there in all? */
size_t duplicates_distinct(struct source *const *sources, size_t count);

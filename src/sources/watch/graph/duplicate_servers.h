/* Handles several addresses of one server: two of its databases, a socket and a port, two names.
 * All of them would show the same sessions. So one source watches the server and the others are
 * parked: they report nothing and end nothing. If the watching source loses its connection, another
 * takes over. */
#pragma once

#include "sources/watch/graph/source.h"

/* Call this after every iteration of the event loop. */
void duplicates_park(struct source *const *sources, size_t count);
/* Returns the source that watches the server of a parked source. NULL: the server is unreachable at
 * the moment. */
const struct source *duplicates_watcher(struct source *const *sources, size_t count,
                                        const struct source *parked);
/* Returns the number of different servers. */
size_t duplicates_distinct(struct source *const *sources, size_t count);

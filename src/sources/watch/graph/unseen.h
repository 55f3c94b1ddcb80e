/* Lists what could not be observed although it may be part of a deadlock: unreachable servers,
 * sessions whose blocker is not visible, and data that the role may not read. If the list is not
 * empty, the watcher does not report that all is clear. */
#pragma once

#include "sources/watch/graph/links.h"

struct unseen {
    uint32_t source;
    size_t sessions;    /* 0: the entry is about the whole server */
    uint32_t session;   /* the first session; SCAN_NONE: none */
    const char *reason; /* a sentence without its subject; valid as long as the scan */
};

struct unseen_list {
    struct unseen *list;
    size_t count, capacity;
    gordian_allocator memory;
};

void unseen_open(struct unseen_list *unseen, const gordian_allocator *memory);
void unseen_close(struct unseen_list *unseen);
/* Fills the list after a verdict with these links. Counts sessions that were in the previous scan
 * as well. False: out of memory. */
bool unseen_take(struct unseen_list *unseen, struct source *const *sources, size_t count,
                 const struct links *links);

/* What could not be seen, although a deadlock may go through it: servers that cannot be reached,
 * sessions that wait for something whose holder is not visible, what a role may not read. As long
 * as there is any of this, nothing is all clear.
 */
#pragma once

#include "sources/watch/graph/links.h"

struct unseen {
    uint32_t source;
    size_t sessions;    /* 0: all of the server */
    uint32_t session;   /* the first of them; SCAN_NONE */
    const char *reason; /* a sentence without its subject; as long as the look */
};

struct unseen_list {
    struct unseen *list;
    size_t count, room;
    gordian_allocator memory;
};

void unseen_open(struct unseen_list *unseen, const gordian_allocator *memory);
void unseen_close(struct unseen_list *unseen);
/* After a judgement, whose links are these. Sessions count that were there in the look before.
 * False: out of memory. */
bool unseen_take(struct unseen_list *unseen, struct source *const *sources, size_t count,
                 const struct links *links);

/* Memory straight from the kernel: none of it is the program's heap. */
#pragma once

#include <gordian/gordian.h>

/* Zeroed pages, given to the process only when touched; NULL: there are none. */
void *pages_map(size_t size);
void pages_unmap(void *pages, size_t size);
/* `list`: the address of a pointer to *room entries of `size` bytes, room for at least `wanted` of
 * which there is from then on; it may move. False: there is no memory, and it is as before. */
bool pages_grow(void *list, size_t *room, size_t wanted, size_t size);
/* The most that may be taken of addresses at a time: a part of what the program is limited to. */
size_t pages_most(void);
/* Before the watcher is set up, and after: if that failed, the program gets everything back. */
void pages_begin(void);
void pages_settle(bool keep);
/* The last moment at which pages can be had: those of later calls are taken from a reserve. */
void pages_reserve(void);

/* A stretch of memory used from one end to the other and given back as a whole. */
struct arena {
    char *base;
    size_t used, room;
};

#define ARENA_ROOM ((size_t)1 << 30) /* addresses only */

bool arena_open(struct arena *arena);
void arena_close(struct arena *arena);
/* Empty again; what was much is given back. */
void arena_reset(struct arena *arena);
void *arena_take(struct arena *arena, size_t size); /* not zeroed; NULL: full */
/* For libgordian. */
gordian_allocator arena_allocator(struct arena *arena);

/* Memory pool of pages from the kernel, apart from the program's heap. */
#pragma once

#include <gordian/gordian.h>

/* Returns zeroed pages, which the kernel allocates when they are first touched; NULL: none
 * available. */
void *pages_map(size_t size);
void pages_unmap(void *pages, size_t size);
/* Grows an array. `list`: the address of the pointer to *room elements of `size` bytes. There is
 * capacity for at least `wanted` elements afterwards; the array may move. False: out of memory,
 * nothing changed. */
bool pages_grow(void *list, size_t *room, size_t wanted, size_t size);
/* Returns the largest size for one mapping: a part of the program's address space limit. */
size_t pages_most(void);
/* Called before and after the watcher is set up. If that failed, all mappings are undone. */
void pages_begin(void);
void pages_settle(bool keep);
/* Called when new mappings will be impossible: later calls use a reserve. */
void pages_reserve(void);

/* Memory that is allocated from one end to the other, and released as a whole. */
struct arena {
    char *base;
    size_t used, room;
};

#define ARENA_ROOM ((size_t)1 << 30) /* address space only */

bool arena_open(struct arena *arena);
void arena_close(struct arena *arena);
/* Empties the arena, and returns most of a large one to the kernel. */
void arena_reset(struct arena *arena);
void *arena_take(struct arena *arena, size_t size); /* not zeroed; NULL: no capacity left */
/* An allocator for libgordian. */
gordian_allocator arena_allocator(struct arena *arena);

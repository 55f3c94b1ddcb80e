#include "run/arena.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

void *pages_map(size_t size)
{
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

void pages_unmap(void *pages, size_t size)
{
    if (pages)
        syscall(SYS_munmap, pages, size); /* munmap() is wrapped */
}

/* A program may be limited in addresses: less will do, too. */
bool arena_open(struct arena *arena)
{
    for (size_t room = ARENA_ROOM; room >= ARENA_ROOM >> 8; room >>= 2) {
        arena->base = pages_map(room);
        if (arena->base) {
            arena->room = room;
            arena->used = 0;
            return true;
        }
    }
    return false;
}

void arena_close(struct arena *arena)
{
    pages_unmap(arena->base, arena->room);
    *arena = (struct arena){NULL, 0, 0};
}

#define KEEP ((size_t)1 << 20)

void arena_reset(struct arena *arena)
{
    if (arena->used > KEEP)
        madvise(arena->base + KEEP, arena->used - KEEP, MADV_DONTNEED);
    arena->used = 0;
}

void *arena_take(struct arena *arena, size_t size)
{
    size = (size + 15) & ~(size_t)15;
    if (size > arena->room - arena->used)
        return NULL;
    void *taken = arena->base + arena->used;
    arena->used += size;
    return taken;
}

/* Each block has its size in front. The last one grows in place; the others' old copies stay until
 * the arena goes. */
static void *arena_resize(void *context, void *pointer, size_t size)
{
    struct arena *arena = context;
    if (size == 0)
        return NULL;
    size_t *old = pointer ? (size_t *)pointer - 2 : NULL;
    if (old && size <= *old)
        return pointer;
    if (size > arena->room)
        return NULL;
    size_t *block = arena_take(arena, size + 2 * sizeof *block);
    if (!block)
        return NULL;
    *block = size;
    if (old)
        memcpy(block + 2, pointer, *old);
    return block + 2;
}

gordian_allocator arena_allocator(struct arena *arena)
{
    return (gordian_allocator){arena_resize, arena};
}

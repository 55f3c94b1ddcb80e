#include "sources/run/state/arena.h"

#include "sources/run/state/system_call.h"

#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

/* Mappings made while the watcher is set up. */
#define FIRST_MAPPINGS 32
static struct {
    void *pages;
    size_t size;
} first_mappings[FIRST_MAPPINGS];
static int first_count = FIRST_MAPPINGS; /* recording is off */
static size_t most = SIZE_MAX;

void pages_begin(void)
{
    struct rlimit limit;
    first_count = 0;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        most = limit.rlim_cur / 16;
}

void pages_settle(bool keep)
{
    while (!keep && first_count > 0) {
        first_count--;
        pages_unmap(first_mappings[first_count].pages, first_mappings[first_count].size);
    }
    first_count = FIRST_MAPPINGS;
}

size_t pages_most(void)
{
    return most;
}

#define RESERVE ((size_t)1 << 30) /* address space only */

static char *reserve;
static size_t reserve_room;
static _Atomic size_t reserve_used;

void pages_reserve(void)
{
    for (size_t room = RESERVE < most ? RESERVE : most; !reserve && room > 1 << 20; room >>= 2) {
        reserve = pages_map(room);
        reserve_room = room;
    }
}

/* Takes memory from the reserve instead of a new mapping; NULL: it is used up. */
static void *take_reserved(size_t size)
{
    size = (size + 4095) & ~(size_t)4095;
    size_t used = atomic_fetch_add(&reserve_used, size);
    return used + size <= reserve_room ? reserve + used : NULL;
}

void *pages_map(size_t size)
{
    if (unlikely(watch.sandboxed))
        return take_reserved(size);
    void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (pages == MAP_FAILED)
        return NULL;
    if (first_count < FIRST_MAPPINGS) {
        first_mappings[first_count].pages = pages;
        first_mappings[first_count++].size = size;
    }
    return pages;
}

void pages_unmap(void *pages, size_t size)
{
    if (pages && !watch.sandboxed)
        sys_call(SYS_munmap, pages, size); /* munmap() is wrapped */
}

bool pages_grow(void *list, size_t *room, size_t wanted, size_t size)
{
    void *old, *grown;
    size_t more = *room;
    memcpy(&old, list, sizeof old);
    while (more < wanted && more <= SIZE_MAX / 2 / size)
        more *= 2;
    if (more < wanted)
        return false;
    if (more == *room)
        return true;
    if (unlikely(watch.sandboxed)) {
        grown = take_reserved(more * size);
        if (grown)
            memcpy(grown, old, *room * size);
    } else {
        grown = mremap(old, *room * size, more * size, MREMAP_MAYMOVE);
        grown = grown == MAP_FAILED ? NULL : grown;
    }
    if (!grown)
        return false;
    memcpy(list, &grown, sizeof grown);
    *room = more;
    return true;
}

/* Without system calls, a closed arena is kept for reuse. */
static _Atomic(char *) spare;
#define SPARE_ROOM (ARENA_ROOM >> 4)

static bool open_spare(struct arena *arena)
{
    arena->base = atomic_exchange(&spare, NULL);
    if (!arena->base)
        arena->base = take_reserved(SPARE_ROOM);
    arena->room = SPARE_ROOM;
    arena->used = 0;
    return arena->base;
}

/* Tries smaller sizes if a large one is not available. */
bool arena_open(struct arena *arena)
{
    if (watch.sandboxed)
        return open_spare(arena);
    for (size_t room = ARENA_ROOM; room >= ARENA_ROOM >> 8; room >>= 2) {
        bool fits = room <= most || room >> 2 < ARENA_ROOM >> 8;
        arena->base = fits ? pages_map(room) : NULL;
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
    if (watch.sandboxed && arena->room == SPARE_ROOM)
        atomic_store(&spare, arena->base);
    *arena = (struct arena){NULL, 0, 0};
}

#define KEEP ((size_t)1 << 20)

void arena_reset(struct arena *arena)
{
    if (arena->used > KEEP && !watch.sandboxed)
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

/* Each block is preceded by its size. The last block grows in place; copies of other blocks stay
 * until the arena is reset. */
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

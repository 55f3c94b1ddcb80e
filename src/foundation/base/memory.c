#include "foundation/base/memory.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LARGE      ((size_t)1 << 22) /* blocks of this size contain a large page */
#define LARGE_PAGE ((size_t)2 << 20) /* smaller blocks do not use large pages */

/* Number of large pages for this many bytes. A last page that is nearly full counts. */
static size_t large_pages(size_t size)
{
    return (size + LARGE_PAGE / 4) / LARGE_PAGE;
}

/* Aligns large blocks to large pages, so that the kernel can use large pages. */
static void *libc_alloc(size_t size)
{
    void *pointer;
    size_t pages = size < SIZE_MAX - LARGE_PAGE ? large_pages(size) : 0;
    if (pages == 0)
        return malloc(size);
    if (size < pages * LARGE_PAGE)
        size = pages * LARGE_PAGE;
    return posix_memalign(&pointer, LARGE_PAGE, size) == 0 ? pointer : NULL;
}

static void *libc_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return pointer ? realloc(pointer, size) : libc_alloc(size);
}

gordian_allocator memory_allocator(const gordian_allocator *wanted)
{
    return wanted ? *wanted : (gordian_allocator){libc_resize, NULL};
}

bool memory_is_shared(const gordian_allocator *memory)
{
    return memory->resize == libc_resize;
}

void *memory_alloc(const gordian_allocator *from, size_t size)
{
    return from->resize(from->context, NULL, size ? size : 1);
}

void memory_expect_random(const gordian_allocator *from, void *pointer, size_t size)
{
#ifdef MADV_HUGEPAGE
    uintptr_t begin = ((uintptr_t)pointer + LARGE_PAGE - 1) & ~(LARGE_PAGE - 1);
    uintptr_t skipped = begin - (uintptr_t)pointer;
    size_t pages = size > skipped ? large_pages(size - skipped) : 0;
    if (memory_is_shared(from) && pointer && pages > 0)
        madvise((char *)pointer + skipped, pages * LARGE_PAGE, MADV_HUGEPAGE);
#else
    (void)from;
    (void)pointer;
    (void)size;
#endif
}

void *memory_alloc_random(const gordian_allocator *from, size_t size)
{
    void *pointer = memory_alloc(from, size);
    memory_expect_random(from, pointer, size);
    return pointer;
}

void *memory_zeroed(const gordian_allocator *from, size_t size)
{
    void *pointer = memory_alloc(from, size);
    if (pointer)
        memset(pointer, 0, size);
    return pointer;
}

char *memory_copy_text(const gordian_allocator *from, const char *text)
{
    size_t size = text ? strlen(text) + 1 : 0;
    char *copy = text ? memory_alloc(from, size) : NULL;
    if (copy)
        memcpy(copy, text, size);
    return copy;
}

void memory_free(const gordian_allocator *from, void *pointer)
{
    if (pointer)
        from->resize(from->context, pointer, 0);
}

void memory_free_list(const gordian_allocator *from, void *const *pointers, size_t count)
{
    for (size_t i = 0; i < count; i++)
        memory_free(from, pointers[i]);
}

void memory_large(void *pointer, size_t size)
{
#ifdef MADV_HUGEPAGE
    /* Include all pages of the block, so that a mapping stays one mapping and can be moved as a
     * whole. */
    const uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
    uintptr_t first = (uintptr_t)pointer & ~(page - 1);
    uintptr_t last = ((uintptr_t)pointer + size + page - 1) & ~(page - 1);
    if (pointer && size >= LARGE)
        madvise((char *)pointer - ((uintptr_t)pointer - first), last - first, MADV_HUGEPAGE);
#else
    (void)pointer;
    (void)size;
#endif
}

bool memory_grow(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                 size_t size)
{
    if (wanted <= *room)
        return true;
    size_t next = *room + *room / 2 + 8;
    if (next < wanted)
        next = wanted;
    if (next > SIZE_MAX / size)
        return false;
    void *old;
    memcpy(&old, array, sizeof old);
    void *grown = from->resize(from->context, old, next * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *room = next;
    return true;
}

bool memory_grow_zeroed(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                        size_t size)
{
    size_t old = *room;
    if (!memory_grow(from, array, room, wanted, size))
        return false;
    if (*room > old) {
        char *grown;
        memcpy(&grown, array, sizeof grown);
        memset(grown + old * size, 0, (*room - old) * size);
    }
    return true;
}

bool memory_grow32(const gordian_allocator *from, void *array, uint32_t *room, uint32_t wanted,
                   size_t size)
{
    size_t wide = *room;
    if (!memory_grow(from, array, &wide, wanted, size))
        return false;
    *room = wide > UINT32_MAX ? UINT32_MAX : (uint32_t)wide;
    return true;
}

uint32_t memory_doubled(uint32_t room, uint32_t wanted)
{
    const uint32_t least = 8, most = INT32_MAX;
    if (wanted <= room)
        return room;
    uint32_t doubled = room > most / 2 ? most : 2 * room;
    doubled = doubled < least ? least : doubled;
    return wanted > doubled ? wanted : doubled;
}

bool memory_grow_columns(const gordian_allocator *from, const struct memory_column *columns,
                         size_t count, uint32_t *room, uint32_t wanted)
{
    size_t grown = *room;
    if (wanted <= *room)
        return true;
    for (size_t i = 0; i < count; i++) {
        /* The same size and the same rule for all: they end up with the same capacity. */
        grown = *room;
        if (!(columns[i].zeroed ? memory_grow_zeroed : memory_grow)(from, columns[i].array, &grown,
                                                                    wanted, columns[i].size))
            return false;
    }
    *room = grown > UINT32_MAX ? UINT32_MAX : (uint32_t)grown;
    return true;
}

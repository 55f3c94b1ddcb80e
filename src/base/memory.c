#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

static void *libc_resize(void *context, void *pointer, size_t size)
{
    (void)context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return realloc(pointer, size);
}

gordian_allocator memory_allocator(const gordian_allocator *wanted)
{
    return wanted ? *wanted : (gordian_allocator){libc_resize, NULL};
}

void *memory_alloc(const gordian_allocator *from, size_t size)
{
    return from->resize(from->context, NULL, size ? size : 1);
}

void *memory_zeroed(const gordian_allocator *from, size_t size)
{
    void *pointer = memory_alloc(from, size);
    if (pointer)
        memset(pointer, 0, size);
    return pointer;
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

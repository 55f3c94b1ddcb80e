#include "foundation/base/arena.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define CHUNK_SIZE (16u << 10)
#define ALIGNMENT  (sizeof(max_align_t))

struct arena_chunk {
    struct arena_chunk *older;
    max_align_t bytes[];
};

void arena_init(struct arena *arena, const gordian_allocator *memory)
{
    *arena = (struct arena){.memory = *memory};
}

void arena_free(struct arena *arena)
{
    while (arena->chunks) {
        struct arena_chunk *older = arena->chunks->older;
        memory_free(&arena->memory, arena->chunks);
        arena->chunks = older;
    }
    arena->used = arena->room = 0;
}

void *arena_alloc(struct arena *arena, size_t size)
{
    if (size > SIZE_MAX / 4)
        return NULL;
    size = (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (!arena->chunks || arena->room - arena->used < size) {
        size_t room = size > CHUNK_SIZE ? size : CHUNK_SIZE;
        struct arena_chunk *chunk = memory_alloc(&arena->memory, sizeof *chunk + room);
        if (!chunk)
            return NULL;
        chunk->older = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
        arena->room = room;
    }
    void *bytes = (char *)arena->chunks->bytes + arena->used;
    arena->used += size;
    return memset(bytes, 0, size);
}

char *arena_text(struct arena *arena, const char *text, size_t length)
{
    char *copy = arena_alloc(arena, length + 1);
    if (copy && length > 0)
        memcpy(copy, text, length);
    return copy;
}

char *arena_format(struct arena *arena, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *text = length >= 0 ? arena_alloc(arena, (size_t)length + 1) : NULL;
    if (text)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    return text;
}

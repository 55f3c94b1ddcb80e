/* A memory pool (arena): everything allocated from it is freed at once. For trees, values and the
 * texts of a parser. */
#pragma once

#include "foundation/base/memory.h"

#include <stdarg.h>

struct arena_chunk;

struct arena {
    gordian_allocator memory;
    struct arena_chunk *chunks;
    size_t used, room; /* bytes of the newest chunk */
};

void arena_init(struct arena *arena, const gordian_allocator *memory);
void arena_free(struct arena *arena);

/* Returns zeroed memory with the largest alignment; NULL: out of memory. */
void *arena_alloc(struct arena *arena, size_t size);
/* Returns a copy that ends in a NUL. */
char *arena_text(struct arena *arena, const char *text, size_t length);
/* A formatted text; NULL: out of memory. */
char *arena_format(struct arena *arena, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

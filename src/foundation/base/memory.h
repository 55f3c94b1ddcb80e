/* Memory and growable arrays. All memory of the library comes from the caller's allocator through
 * these functions, so that a test can make any allocation fail. */
#pragma once

#include <gordian/gordian.h>

/* Returns the allocator to use: the caller's, or the C library's for NULL. By value: it is two
 * words. */
gordian_allocator memory_allocator(const gordian_allocator *wanted);

/* Is it the C library's allocator? That one is thread-safe; a caller's may not be. */
bool memory_is_shared(const gordian_allocator *memory);

void *memory_alloc(const gordian_allocator *from, size_t size); /* not zeroed */
/* Allocates a large block for random access. It uses large pages where possible, to reduce TLB
 * misses. */
void *memory_alloc_random(const gordian_allocator *from, size_t size);
/* Asks for large pages for a block that was allocated and not used yet. */
void memory_expect_random(const gordian_allocator *from, void *pointer, size_t size);
void *memory_zeroed(const gordian_allocator *from, size_t size);
/* Returns a copy of a text; NULL for NULL, or if out of memory. */
char *memory_copy_text(const gordian_allocator *from, const char *text);
void memory_free(const gordian_allocator *from, void *pointer);
/* Frees each of the pointers: memory_free_all(&memory, first, second, third). */
#define memory_free_all(from, ...)                                                                 \
    memory_free_list((from), (void *[]){__VA_ARGS__},                                              \
                     sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
void memory_free_list(const gordian_allocator *from, void *const *pointers, size_t count);

/* Asks for large pages, which pay off for random access. Call it before the memory is used: pages
 * that exist already do not change. */
void memory_large(void *pointer, size_t size);

/* Grows the growable array at *array (elements of `size` bytes, capacity *room) to hold at least
 * `wanted`. Adds half of the capacity each time, so that appending is amortised O(1). False: out of
 * memory, nothing changed. New elements are not initialised. */
bool memory_grow(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                 size_t size);
/* The same for one more element than `count`: memory_extend(&memory, list, capacity, count). */
#define memory_extend(from, array, room, count)                                                    \
    memory_grow((from), &(array), &(room), (size_t)(count) + 1, sizeof *(array))
/* The same; new elements are zero. */
bool memory_grow_zeroed(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                        size_t size);
/* The same for a 32-bit capacity. New elements are not initialised. */
bool memory_grow32(const gordian_allocator *from, void *array, uint32_t *room, uint32_t wanted,
                   size_t size);

/* Returns the new capacity for `wanted` elements: twice the old one, but at most 2^31 - 1 unless
 * more is wanted. Appending is amortised O(1). */
uint32_t memory_doubled(uint32_t room, uint32_t wanted);

/* One of several arrays that have an element for each of the same things. */
struct memory_column {
    void *array; /* address of the pointer to it */
    size_t size; /* of an element */
    bool zeroed; /* new elements are zero */
};

/* Grows all columns by the same rule. *room changes only after all of them have grown. */
bool memory_grow_columns(const gordian_allocator *from, const struct memory_column *columns,
                         size_t count, uint32_t *room, uint32_t wanted);

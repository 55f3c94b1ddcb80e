/* Memory from the caller's allocator. Everything the library allocates goes
 * through here, so a test can make any allocation fail. */
#pragma once

#include <gordian/gordian.h>

/* The allocator to use: the caller's, or the C library's if NULL. By value: an
 * allocator is two words. */
gordian_allocator memory_allocator(const gordian_allocator *wanted);

/* Is it the C library's? That serves many threads; a caller's need not. */
bool memory_is_shared(const gordian_allocator *memory);

void *memory_alloc(const gordian_allocator *from, size_t size); /* not zeroed */
/* The same for what is large and will be read in no order: in large pages, where there are any, so
 * that finding the page does not cost more than the place. */
void *memory_alloc_random(const gordian_allocator *from, size_t size);
/* Makes such of what has been allocated and not been used. */
void memory_expect_random(const gordian_allocator *from, void *pointer, size_t size);
void *memory_zeroed(const gordian_allocator *from, size_t size);
/* A copy of a text; NULL without memory, and NULL for NULL. */
char *memory_copy_text(const gordian_allocator *from, const char *text);
void memory_free(const gordian_allocator *from, void *pointer);
/* Frees each of the pointers: memory_free_all(&memory, first, second, third). */
#define memory_free_all(from, ...)                                                                 \
    memory_free_list((from), (void *[]){__VA_ARGS__},                                              \
                     sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
void memory_free_list(const gordian_allocator *from, void *const *pointers, size_t count);

/* Asks for large pages, which pay where much memory is looked at here and there. Before it is used:
 * pages that are there stay as they are. */
void memory_large(void *pointer, size_t size);

/* Grows the array at *array (elements of `size` bytes, *room of them) to hold at
 * least `wanted`; half as much again each time, so pushing is amortised O(1).
 * False: out of memory, nothing changed. New elements are not initialised. */
bool memory_grow(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                 size_t size);
/* The same, for one more element than `count`: memory_extend(&memory, list, capacity, count). */
#define memory_extend(from, array, room, count)                                                    \
    memory_grow((from), &(array), &(room), (size_t)(count) + 1, sizeof *(array))
/* The same, and new elements are zero. */
bool memory_grow_zeroed(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                        size_t size);
/* The same for a count of 32 bits; not zeroed. */
bool memory_grow32(const gordian_allocator *from, void *array, uint32_t *room, uint32_t wanted,
                   size_t size);

/* The room to make for `wanted` where there is `room`: twice as much, but at most 2^31 - 1, unless
 * more is wanted. So making it one by one is amortised O(1). */
uint32_t memory_doubled(uint32_t room, uint32_t wanted);

/* An array with an element for each of what several arrays are about. */
struct memory_column {
    void *array; /* of the pointer to it */
    size_t size; /* of an element */
    bool zeroed; /* new elements are zero */
};

/* Columns that grow together, from the same room by the same rule; *room moves only when all have
 * grown. */
bool memory_grow_columns(const gordian_allocator *from, const struct memory_column *columns,
                         size_t count, uint32_t *room, uint32_t wanted);

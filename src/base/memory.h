/* Memory from the caller's allocator. Everything the library allocates goes
 * through here, so a test can make any allocation fail. */
#ifndef GORDIAN_BASE_MEMORY_H
#define GORDIAN_BASE_MEMORY_H

#include <gordian/gordian.h>

/* The allocator to use: the caller's, or the C library's if NULL. By value: an
 * allocator is two words. */
gordian_allocator memory_allocator(const gordian_allocator *wanted);

void *memory_alloc(const gordian_allocator *from, size_t size); /* not zeroed */
void *memory_zeroed(const gordian_allocator *from, size_t size);
void memory_free(const gordian_allocator *from, void *pointer);
/* Frees each of the pointers: memory_free_all(&memory, first, second, third). */
#define memory_free_all(from, ...)                                                                 \
    memory_free_list((from), (void *[]){__VA_ARGS__},                                              \
                     sizeof(void *[]){__VA_ARGS__} / sizeof(void *))
void memory_free_list(const gordian_allocator *from, void *const *pointers, size_t count);

/* Grows the array at *array (elements of `size` bytes, *room of them) to hold at
 * least `wanted`; half as much again each time, so pushing is amortised O(1).
 * False: out of memory, nothing changed. New elements are not initialised. */
bool memory_grow(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                 size_t size);
/* The same, and new elements are zero. */
bool memory_grow_zeroed(const gordian_allocator *from, void *array, size_t *room, size_t wanted,
                        size_t size);
/* The same for a count of 32 bits; not zeroed. */
bool memory_grow32(const gordian_allocator *from, void *array, uint32_t *room, uint32_t wanted,
                   size_t size);

#endif

/* Sorting. What has a comparison without a context and may take memory uses qsort as it is. */
#pragma once

#include <gordian/gordian.h>

#include <string.h>

/* As qsort, with a context. */
void sort_with(void *list, size_t count, size_t size,
               int (*compare)(const void *left, const void *right, void *context), void *context);

void sort_u32(uint32_t *list, size_t count);
/* And keeps each number once; how many there are then. */
size_t sort_unique_u32(uint32_t *list, size_t count);

/* Numbers of `words` words each, the last one the most significant, by their bytes, in place. */
void sort_words(uint64_t *numbers, size_t count, size_t words);

/* Records of 16 bytes, the first 8 of them a number, by it: equals keep their order. Takes memory
 * for as many at `spare`; returns where the sorted ones are, `records` or `spare`. */
void *sort_by_number(void *records, void *spare, size_t count);

/* Wants by resource. */
void sort_wants(gordian_want *wants, size_t count);

typedef bool sort_before(const void *context, const void *left, const void *right);

#define SORT_SIZE_MAX 32

/* A shell sort: no memory, no recursion, for lists that are short or nearly sorted. Inline, so that
 * `size`, at most SORT_SIZE_MAX, and `before` are constants to the compiler. */
static inline __attribute__((always_inline)) void
sort_in_place(void *list, size_t count, size_t size, sort_before *before, const void *context)
{
    char *base = list, moving[SORT_SIZE_MAX] __attribute__((aligned(16)));
    size_t gap = 1;
    while (gap < count / 3)
        gap = 3 * gap + 1;
    for (; gap; gap /= 3) {
        for (size_t i = gap; i < count; i++) {
            size_t to = i;
            memcpy(moving, base + i * size, size);
            for (; to >= gap && before(context, moving, base + (to - gap) * size); to -= gap)
                memcpy(base + to * size, base + (to - gap) * size, size);
            memcpy(base + to * size, moving, size);
        }
    }
}

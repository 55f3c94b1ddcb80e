/* Sorting. Lists whose comparison needs no context, where memory may be allocated, use qsort. */
#pragma once

#include <gordian/gordian.h>

#include <string.h>

/* qsort with a context. */
void sort_with(void *list, size_t count, size_t size,
               int (*compare)(const void *left, const void *right, void *context), void *context);

void sort_u32(uint32_t *list, size_t count);
/* Sorts and removes duplicates; returns the new count. */
size_t sort_unique_u32(uint32_t *list, size_t count);

/* Sorts numbers of `words` words each, the last word being the most significant, in place. */
void sort_words(uint64_t *numbers, size_t count, size_t words);

/* Stable sort of 16-byte records by the number in their first 8 bytes. `spare` has space for the
 * same number of records. Returns the sorted ones: `records` or `spare`. */
void *sort_by_number(void *records, void *spare, size_t count);

/* Sorts by resource. */
void sort_wants(gordian_want *wants, size_t count);

typedef bool sort_before(const void *context, const void *left, const void *right);

#define SORT_SIZE_MAX 32

/* Shell sort: no memory and no recursion, for lists that are short or nearly sorted. Inline, so
 * that `size` (at most SORT_SIZE_MAX) and `before` are constants for the compiler. */
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

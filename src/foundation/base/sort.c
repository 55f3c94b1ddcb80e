#define _GNU_SOURCE /* qsort_r */
#include "foundation/base/sort.h"

#include <stdlib.h>

void sort_with(void *list, size_t count, size_t size,
               int (*compare)(const void *left, const void *right, void *context), void *context)
{
    if (count > 1)
        qsort_r(list, count, size, compare, context);
}

static int compare_u32(const void *left, const void *right)
{
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    return (a > b) - (a < b);
}

void sort_u32(uint32_t *list, size_t count)
{
    if (count > 1)
        qsort(list, count, sizeof *list, compare_u32);
}

size_t sort_unique_u32(uint32_t *list, size_t count)
{
    size_t kept = 0;
    sort_u32(list, count);
    for (size_t i = 0; i < count; i++)
        if (kept == 0 || list[kept - 1] != list[i])
            list[kept++] = list[i];
    return kept;
}

static bool want_before(const void *context, const void *left, const void *right)
{
    const gordian_want *a = left, *b = right;
    (void)context;
    return a->resource < b->resource;
}

void sort_wants(gordian_want *wants, size_t count)
{
    sort_in_place(wants, count, sizeof *wants, want_before, NULL);
}

/* ------------------------------------------------------------------ words */

static inline void swap_numbers(uint64_t *numbers, size_t i, size_t k, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        uint64_t kept = numbers[i * words + w];
        numbers[i * words + w] = numbers[k * words + w];
        numbers[k * words + w] = kept;
    }
}

static inline bool is_above(const uint64_t *left, const uint64_t *right, size_t words)
{
    while (--words > 0 && left[words] == right[words])
        continue;
    return left[words] > right[words];
}

/* Partitions the numbers in place by one byte (0: the least significant of the first word).
 * start[b] is the first number with byte b. */
static void part_by_byte(uint64_t *numbers, size_t count, size_t words, size_t byte, size_t *start)
{
    size_t next[256], word = byte / 8, shift = byte % 8 * 8;
    memset(start, 0, 257 * sizeof *start);
    for (size_t i = 0; i < count; i++)
        start[(numbers[i * words + word] >> shift & 255) + 1]++;
    for (size_t b = 0; b < 256; b++) {
        start[b + 1] += start[b];
        next[b] = start[b];
    }
    for (size_t b = 0; b < 256; b++) {
        while (next[b] < start[b + 1]) {
            size_t mine = numbers[next[b] * words + word] >> shift & 255;
            if (mine == b)
                next[b]++;
            else
                swap_numbers(numbers, next[b], next[mine]++, words);
        }
    }
}

/* Radix sort by the bytes from `byte` down. Only the smaller parts are recursive calls; the loop
 * continues with the largest. The parts halve, so that the stack stays small. */
static void sort_by_byte(uint64_t *numbers, size_t count, size_t words, size_t byte)
{
    size_t start[257];
    for (; count >= 32; byte--) {
        size_t largest = 0;
        part_by_byte(numbers, count, words, byte, start);
        if (byte == 0)
            return;
        for (size_t b = 1; b < 256; b++)
            if (start[b + 1] - start[b] > start[largest + 1] - start[largest])
                largest = b;
        for (size_t b = 0; b < 256; b++)
            if (b != largest)
                sort_by_byte(numbers + start[b] * words, start[b + 1] - start[b], words, byte - 1);
        numbers += start[largest] * words;
        count = start[largest + 1] - start[largest];
    }
    for (size_t i = 1; i < count; i++)
        for (size_t k = i; k > 0 && is_above(numbers + (k - 1) * words, numbers + k * words, words);
             k--)
            swap_numbers(numbers, k - 1, k, words);
}

void sort_words(uint64_t *numbers, size_t count, size_t words)
{
    sort_by_byte(numbers, count, words, 8 * words - 1);
}

/* ------------------------------------------------------------------ records */

struct record {
    uint64_t number, rest;
};

static uint64_t sort_number_of(const char *records, size_t i)
{
    uint64_t number;
    memcpy(&number, records + i * sizeof(struct record), sizeof number);
    return number;
}

/* Radix sort from the lowest byte, skipping bytes that are equal in all records. */
void *sort_by_number(void *records, void *spare, size_t count)
{
    char *from = records, *to = spare;
    uint64_t differ = 0;
    for (size_t i = 1; i < count; i++)
        differ |= sort_number_of(from, i) ^ sort_number_of(from, 0);
    for (unsigned shift = 0; shift < 64; shift += 8) {
        if (!(differ >> shift & 255))
            continue;
        size_t starts[257] = {0};
        for (size_t i = 0; i < count; i++)
            starts[(sort_number_of(from, i) >> shift & 255) + 1]++;
        for (size_t byte = 0; byte < 256; byte++)
            starts[byte + 1] += starts[byte];
        for (size_t i = 0; i < count; i++)
            memcpy(to + starts[sort_number_of(from, i) >> shift & 255]++ * sizeof(struct record),
                   from + i * sizeof(struct record), sizeof(struct record));
        char *sorted = to;
        to = from;
        from = sorted;
    }
    return from;
}

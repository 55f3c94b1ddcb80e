/*
 * The filter for elements of 8, 16 and 64 bytes: into a growable array or, with the same kernel,
 * into
 * preallocated memory.
 *
 * A thread loads words of 8 or 16 bytes. Neighbouring threads load neighbouring words, so adjacent
 * lanes have the parts of an element; the first part has the number. Each warp counts by votes,
 * one
 * thread reserves for the whole tile, then each lane writes its own words.
 */
#include "foundation/gpu/kernels/array/array.h"
#include "lab/bench/kernels/array_records.h"

#define WARPS (ARRAY_TASK_THREADS / WARP_SIZE)
#define LOADS 4u
#define TILE  (ARRAY_TASK_THREADS * LOADS) /* words */

#ifdef __CUDACC__
#define UNROLL _Pragma("unroll")
#else
#define UNROLL
#endif

typedef struct array_records_arguments records;

/* Places of a tile's elements: `count` of them, the first `left` at `at`, the others at `behind`. A
 * page holds at least a tile, so two ranges suffice. */
struct records_place {
    uint32_t count, left;
    char *at, *behind;
    struct garray_cursor cursor;
};

/* Loads a word of 8 or 16 bytes. */
DEVICE uint4 load_word(const char *from, uint32_t bytes)
{
    if (bytes == 16)
        return *(const uint4 *)from;
    uint64_t x = *(const uint64_t *)from;
    uint4 word;
    word.x = (uint32_t)x;
    word.y = (uint32_t)(x >> 32);
    word.z = word.w = 0;
    return word;
}

DEVICE void store_word(char *to, uint4 word, uint32_t bytes)
{
    if (bytes == 16)
        *(uint4 *)to = word;
    else
        *(uint64_t *)to = word.x | (uint64_t)word.y << 32;
}

/* Called by one thread. */
DEVICE void find_place(const records *a, uint32_t total, uint32_t element, bool plain,
                       struct records_place *place)
{
    if (plain) {
        uint64_t first = atomic_add64(GPU_POINTER(uint64_t, a->stored), total);
        place->count = place->left = total;
        place->at = GPU_POINTER(char, a->plain) + first * element;
        return;
    }
    struct garray_range range = garray_reserve(&a->out, total);
    place->count = (uint32_t)range.count;
    if (range.count == 0)
        return;
    struct garray_span span = garray_span_near(&a->out, &place->cursor, range.first, element);
    place->at = (char *)span.at;
    place->left = span.left < range.count ? (uint32_t)span.left : place->count;
    if (place->left < place->count)
        place->behind = (char *)garray_slot(&a->out, range.first + place->left, element);
}

/* Votes for the kept elements, by the lanes of their first parts; returns how many the warp keeps.
 */
DEVICE uint32_t vote_warp(const uint4 *words, uint32_t parts, uint32_t below, uint32_t *votes)
{
    const uint32_t leader = LANE & ~(parts - 1);
    uint32_t count = 0;
    UNROLL
    for (uint32_t i = 0; i < LOADS; i++) {
        uint32_t key = parts > 1 ? warp_shuffle(WARP_ALL, words[i].x, leader) : words[i].x;
        votes[i] = warp_ballot(WARP_ALL, key < below && leader == LANE);
        count += popcount32(votes[i]);
    }
    return count;
}

DEVICE void write_words(const struct records_place *place, const uint4 *words,
                        const uint32_t *votes, uint32_t before, uint32_t element)
{
    const uint32_t bytes = element < 16 ? element : 16, parts = element / bytes;
    const uint32_t leader = LANE & ~(parts - 1), part = (LANE - leader) * bytes;
    UNROLL
    for (uint32_t i = 0; i < LOADS; i++) {
        uint32_t index = before + popcount32(votes[i] & ((1u << leader) - 1));
        before += popcount32(votes[i]);
        if (!(votes[i] >> leader & 1) || index >= place->count)
            continue;
        char *slot = index < place->left
                         ? place->at + (uint64_t)index * element
                         : place->behind + (uint64_t)(index - place->left) * element;
        store_word(slot + part, words[i], bytes);
    }
}

/* Values shared between threads are read between two barriers. */
DEVICE void filter_records(const records *a, uint32_t element, bool plain)
{
    SHARED(uint32_t, counts, WARPS);
    SHARED(struct records_place, place, 1);
    const uint32_t bytes = element < 16 ? element : 16, parts = element / bytes;
    const uint32_t warp = THREAD_INDEX / WARP_SIZE;
    const uint64_t all = a->count * parts;
    if (THREAD_INDEX == 0)
        place[0].cursor.at = 0;
    for (uint64_t first = (uint64_t)BLOCK_INDEX * TILE; first < all;
         first += (uint64_t)GRID_SIZE * TILE) {
        uint4 words[LOADS];
        uint32_t votes[LOADS], before = 0, total = 0;
        UNROLL
        for (uint32_t i = 0; i < LOADS; i++) {
            uint64_t word = first + i * ARRAY_TASK_THREADS + THREAD_INDEX;
            words[i].x = UINT32_MAX; /* past the end: never below a bound */
            if (word < all)
                words[i] = load_word(GPU_POINTER(const char, a->from) + word * bytes, bytes);
        }
        uint32_t count = vote_warp(words, parts, a->below, votes);
        if (LANE == 0)
            counts[warp] = count;
        block_barrier();
        for (uint32_t w = 0; w < WARPS; w++) {
            before += w < warp ? counts[w] : 0;
            total += counts[w];
        }
        if (THREAD_INDEX == 0)
            find_place(a, total, element, plain, &place[0]);
        block_barrier();
        write_words(&place[0], words, votes, before, element);
    }
}

KERNEL_BOUNDED(array_records, struct array_records_arguments, ARRAY_TASK_THREADS, 3)
{
    if (a.element == 8)
        filter_records(&a, 8, false);
    else if (a.element == 16)
        filter_records(&a, 16, false);
    else
        filter_records(&a, 64, false);
}

KERNEL_BOUNDED(array_records_plain, struct array_records_arguments, ARRAY_TASK_THREADS, 3)
{
    if (a.element == 8)
        filter_records(&a, 8, true);
    else if (a.element == 16)
        filter_records(&a, 16, true);
    else
        filter_records(&a, 64, true);
}

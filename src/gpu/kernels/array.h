/*
 * A growable array, in kernels. Any number of threads, blocks and kernels push at once; elements
 * never move; nobody ever waits for a thread that may not run. docs/garray.md tells how; what no
 * kernel of the library needs is part of the interface all the same.
 *
 *     struct squares_arguments { struct garray out; uint32_t count; };
 *
 *     KERNEL(squares, struct squares_arguments)
 *     {
 *         uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
 *         bool wants = i < a.count && i % 3 == 0;
 *         uint64_t *slot = GARRAY_PUSH_BLOCK(uint64_t, &a.out, wants); // one atomic a block
 *         if (slot)
 *             *slot = (uint64_t)i * i;
 *     }
 *
 * Pushing: each gives the place of a new element, NULL if there was no room (counted: the host
 * learns how many did not fit). An element of `type` is one of the array's size.
 *   GARRAY_PUSH(type, array)                     this thread, one atomic
 *   GARRAY_PUSH_WARP(type, array, mask, wants)   each lane of the mask that wants, one atomic
 *   GARRAY_PUSH_BLOCK(type, array, wants)        each thread of the block that wants, one atomic
 *
 * Reserving n places in a row: the range given may be shorter than asked, and then is all there
 * was; the rest is counted as not fitting. No places: none, at no cost.
 *   garray_reserve(array, n)                this thread
 *   garray_reserve_warp(array, mask, n)     each lane its own n
 *   garray_reserve_block(array, n)          each thread its own n
 *   garray_reserve_whole(array, n)          one range for the whole block; the same n everywhere
 * The block's forms are barriers: every thread of the block calls them. In all, less than 2^32
 * places at a time but for garray_reserve. Then, for writing,
 *   GARRAY_SLOT(type, array, i)             the place of element i
 *   garray_span(array, i, bytes)            the same, and how many elements follow it in a row
 *   garray_span_near(array, cursor, i, bytes)   the same for a thread that mostly stays in one page
 *
 * Reading: elements that this thread may see, stored by an earlier kernel or before a barrier.
 *   GARRAY_AT(type, array, i)               a pointer to element i, i < garray_size(array)
 *   GARRAY_AT_FLAT, GARRAY_AT_CHUNKED       the same, where the mode is known: a loop that reads
 *                                           much asks garray_is_flat(array) once, outside
 *   garray_size(array)                      elements stored, or being stored
 *   garray_clear(array)                     by one thread, while nobody else uses it
 *
 * Going on where memory ended: a job (an item of a thread, a tile of a block) that stores n
 * outputs, the same in the same order on each launch, has a mark, a zeroed uint32_t (NULL: none, it
 * is not to be launched again).
 *   garray_resume(array, mark, n), garray_resume_warp(array, mask, mark, n): its own job each,
 *   garray_resume_whole(array, mark, n): the block's job;
 *       reserves what is not stored yet: outputs skip .. skip + count - 1 of the job belong at
 *       first and on. Less than 2^32 - 1 outputs a job.
 *   garray_finished(mark): nothing is left to do; need not be asked
 * The host launches again until nothing is refused (gpu_array_run in array.h).
 */
#ifndef GORDIAN_GPU_KERNELS_ARRAY_H
#define GORDIAN_GPU_KERNELS_ARRAY_H

#include "gpu/kernel.h"
#include "gpu/kernels/array_layout.h"

struct garray_range {
    uint64_t first, count;
};

struct garray_span {
    void *at;
    uint64_t left; /* elements from here to the end of the page */
};

/* The page looked up last; zero before the first. */
struct garray_cursor {
    uint64_t page, at;
};

struct garray_part {
    uint64_t first;
    uint32_t skip, count;
};

/* The functions below, with the element's type for its size. */
#define GARRAY_PUSH(type, array) ((type *)garray_push(array, sizeof(type)))
#define GARRAY_PUSH_WARP(type, array, mask, wants)                                                 \
    ((type *)garray_push_warp(array, mask, wants, sizeof(type)))
#define GARRAY_PUSH_BLOCK(type, array, wants)                                                      \
    ((type *)garray_push_block(array, wants, sizeof(type)))
#define GARRAY_SLOT(type, array, i)       ((type *)garray_slot(array, i, sizeof(type)))
#define GARRAY_AT(type, array, i)         ((const type *)garray_at(array, i, sizeof(type)))
#define GARRAY_AT_FLAT(type, array, i)    ((const type *)garray_at_flat(array, i, sizeof(type)))
#define GARRAY_AT_CHUNKED(type, array, i) ((const type *)garray_at_chunked(array, i, sizeof(type)))

#define GARRAY_CONTROL(array) GPU_POINTER(struct garray_control, (array)->control)

/* ---- installing pages */

/* Chunk number `at` of the pool's order goes to the page whose entry is at `owner`. Whoever comes
 * by does it, as often as it likes: the second time changes nothing. The page is there before
 * anybody can take the next chunk. */
DEVICE uint64_t garray_complete(struct garray_pool *pool, uint64_t at, uint64_t owner)
{
    uint64_t chunk = pool->base + GPU_POINTER(const uint32_t, pool->order)[at] * pool->chunk_bytes;
    atomic_compare_exchange64(GPU_POINTER(uint64_t, owner), 0, chunk);
    fence_device();
    atomic_compare_exchange64(&pool->next, at, at + 1);
    return chunk;
}

/* The address of a page, installed now if it was not there; 0: the pool is empty, for good. All
 * pages before it are there. A page gets one chunk only: who has seen `next` at `at` and after that
 * the entry empty can own chunk `at` only if nobody else has come that far. */
DEVICE_APART uint64_t garray_install(const struct garray *array, uint64_t page)
{
    struct garray_pool *pool = GPU_POINTER(struct garray_pool, array->pool);
    uint64_t *owners = GPU_POINTER(uint64_t, pool->owners);
    uint64_t *entry = GPU_POINTER(uint64_t, array->pages) + page;
    const uint64_t mine = (uint64_t)(uintptr_t)entry;
    for (;;) {
        uint64_t at = load_acquire64(&pool->next);
        uint64_t chunk = load_acquire64(entry);
        if (chunk || at >= pool->chunks)
            return chunk;
        uint64_t owner = atomic_compare_exchange64(&owners[at], 0, mine);
        chunk = garray_complete(pool, at, owner ? owner : mine);
        if (!owner)
            return chunk;
    }
}

/* ---- the limit */

/* Positions with memory, once pages for `end` of them are there, as far as there are chunks; and
 * `further` pages, if they are to be had. The limit goes up page by page, so that of many who need
 * many pages nobody walks through those that others have installed. */
DEVICE uint64_t garray_add_pages(const struct garray *array, uint64_t end, uint32_t further)
{
    uint64_t *limit = &GARRAY_CONTROL(array)->limit;
    uint64_t most = array->most >> array->shift;
    uint64_t wanted = (end + ((UINT64_C(1) << array->shift) - 1)) >> array->shift;
    wanted = wanted < most ? wanted + further : most;
    wanted = wanted < most ? wanted : most;
    uint64_t page = load_acquire64(limit) >> array->shift;
    while (page < wanted && garray_install(array, page)) {
        page++;
        fence_device();
        uint64_t others = atomic_max64(limit, page << array->shift) >> array->shift;
        page = page > others ? page : others;
    }
    return page << array->shift;
}

/* Positions with memory, after a look at what the host has granted; the limit is closed if that
 * does not reach to `end`. */
DEVICE uint64_t garray_ask_host(const struct garray *array, uint64_t end)
{
    uint64_t *limit = &GARRAY_CONTROL(array)->limit;
    if (array->desk) {
        struct garray_desk *desk = GPU_POINTER(struct garray_desk, array->desk);
        store_release_system64(&desk->wanted, end);
        atomic_max64(limit, load_acquire_system64(&desk->granted));
    }
    uint64_t now = load_acquire64(limit);
    if (end > now)
        now = atomic_or64(limit, GARRAY_CLOSED);
    return now & ~GARRAY_CLOSED;
}

/* How many of the positions first .. end - 1 there is room for: taken by the thread that found
 * the limit too low, or that is the one to enter a new page. */
DEVICE_APART uint64_t garray_make_room(const struct garray *array, uint64_t first, uint64_t end)
{
    bool entering = first == 0 || first >> array->shift != end >> array->shift;
    uint64_t limit = array->pages ? garray_add_pages(array, end, entering ? array->ahead : 0)
                                  : garray_ask_host(array, end);
    if (limit >= end)
        return end - first;
    return limit > first ? limit - first : 0;
}

/* ---- reserving */

DEVICE struct garray_range garray_reserve(const struct garray *array, uint64_t n)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    struct garray_range range;
    range.first = range.count = 0;
    if (n == 0)
        return range;
    uint64_t limit = load_relaxed64(&control->limit) & ~GARRAY_CLOSED;
    range.first = atomic_add64(&control->count, n);
    range.count = n;
    uint64_t end = range.first + n;
    if (end > limit || range.first >> array->shift != end >> array->shift)
        range.count = garray_make_room(array, range.first, end);
    return range;
}

/* The `n` from `before` on of a range that was to hold more, perhaps. */
DEVICE struct garray_range garray_part_of(struct garray_range range, uint64_t before, uint64_t n)
{
    uint64_t left = range.count > before ? range.count - before : 0;
    range.first += before;
    range.count = left < n ? left : n;
    return range;
}

/* The sum of n over the lanes of the mask before this one; *total over all of them. */
DEVICE uint32_t garray_lanes_before(uint32_t mask, uint32_t n, uint32_t *total)
{
    uint32_t before = 0, sum = 0;
    if ((mask & (mask + 1)) == 0) { /* lanes 0 and up: all, or those of a block's last warp */
        sum = n;
        for (uint32_t delta = 1; delta < WARP_SIZE; delta *= 2) {
            uint32_t below = warp_shuffle_up(mask, sum, delta);
            if (LANE >= delta)
                sum += below;
        }
        before = sum - n;
        sum = warp_shuffle(mask, sum, popcount32(mask) - 1);
    } else {
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t lane = find_first32(left), its = warp_shuffle(mask, n, lane);
            before += lane < LANE ? its : 0;
            sum += its;
        }
    }
    *total = sum;
    return before;
}

/* The range of the mask's first lane, for all of them. */
DEVICE struct garray_range garray_reserve_once(const struct garray *array, uint32_t mask,
                                               uint32_t total)
{
    struct garray_range range;
    range.first = range.count = 0;
    if (total == 0)
        return range;
    uint32_t leader = find_first32(mask);
    if (LANE == leader)
        range = garray_reserve(array, total);
    range.first = warp_shuffle64(mask, range.first, leader);
    range.count = warp_shuffle64(mask, range.count, leader);
    return range;
}

DEVICE struct garray_range garray_reserve_warp(const struct garray *array, uint32_t mask,
                                               uint32_t n)
{
    uint32_t total, before = garray_lanes_before(mask, n, &total);
    return garray_part_of(garray_reserve_once(array, mask, total), before, n);
}

/* The lanes of this warp that the block has. */
DEVICE uint32_t garray_block_lanes(void)
{
    uint32_t lanes = BLOCK_SIZE - THREAD_INDEX / WARP_SIZE * WARP_SIZE;
    return lanes < WARP_SIZE ? (1u << lanes) - 1 : WARP_ALL;
}

/* What the block's threads tell each other is read between the barrier that follows its
 * writing and the next one, so the next call may write it at once. */
DEVICE struct garray_range garray_reserve_block(const struct garray *array, uint32_t n)
{
    SHARED(uint32_t, warps, WARP_SIZE);
    SHARED(struct garray_range, whole, 1);
    uint32_t total, before = garray_lanes_before(garray_block_lanes(), n, &total);
    uint32_t warp = THREAD_INDEX / WARP_SIZE, all = 0;
    if (LANE == 0)
        warps[warp] = total;
    block_barrier();
    for (uint32_t w = 0; w * WARP_SIZE < BLOCK_SIZE; w++) {
        before += w < warp ? warps[w] : 0;
        all += warps[w];
    }
    if (THREAD_INDEX == 0)
        whole[0] = garray_reserve(array, all);
    block_barrier();
    return garray_part_of(whole[0], before, n);
}

DEVICE struct garray_range garray_reserve_whole(const struct garray *array, uint32_t n)
{
    SHARED(struct garray_range, whole, 1);
    block_barrier();
    if (THREAD_INDEX == 0)
        whole[0] = garray_reserve(array, n);
    block_barrier();
    return whole[0];
}

/* ---- places */

/* A kernel that takes elements for larger or smaller than they are fails in the emulator. */
DEVICE void garray_check_element(const struct garray *array, uint64_t bytes)
{
#ifdef __CUDACC__
    (void)array, (void)bytes;
#else
    if (bytes != array->element)
        trap();
#endif
}

/* A page that a writer reserved may be too new for this thread to see: installing finds it. */
DEVICE uint64_t garray_page(const struct garray *array, uint64_t page)
{
    uint64_t at = load_relaxed64(GPU_POINTER(uint64_t, array->pages) + page);
    return at ? at : garray_install(array, page);
}

DEVICE void *garray_slot(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    if (!array->pages)
        return GPU_POINTER(char, array->base) + i * bytes;
    uint64_t inside = i & ((UINT64_C(1) << array->shift) - 1);
    return GPU_POINTER(char, garray_page(array, i >> array->shift)) + inside * bytes;
}

DEVICE struct garray_span garray_span(const struct garray *array, uint64_t i, uint64_t bytes)
{
    struct garray_span span;
    span.at = garray_slot(array, i, bytes);
    span.left = array->most - i;
    if (array->pages)
        span.left = (UINT64_C(1) << array->shift) - (i & ((UINT64_C(1) << array->shift) - 1));
    return span;
}

DEVICE struct garray_span garray_span_near(const struct garray *array, struct garray_cursor *cursor,
                                           uint64_t i, uint64_t bytes)
{
    uint64_t page = i >> array->shift, inside = i & ((UINT64_C(1) << array->shift) - 1);
    if (!array->pages)
        return garray_span(array, i, bytes);
    garray_check_element(array, bytes);
    if (cursor->at == 0 || cursor->page != page) {
        cursor->at = garray_page(array, page);
        cursor->page = page;
    }
    struct garray_span span;
    span.at = GPU_POINTER(char, cursor->at) + inside * bytes;
    span.left = (UINT64_C(1) << array->shift) - inside;
    return span;
}

DEVICE bool garray_is_flat(const struct garray *array)
{
    return array->pages == 0;
}

DEVICE const void *garray_at_flat(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    return GPU_POINTER(const char, array->base) + i * bytes;
}

DEVICE const void *garray_at_chunked(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    uint64_t inside = i & ((UINT64_C(1) << array->shift) - 1);
    uint64_t page = GPU_POINTER(const uint64_t, array->pages)[i >> array->shift];
    return GPU_POINTER(const char, page) + inside * bytes;
}

DEVICE const void *garray_at(const struct garray *array, uint64_t i, uint64_t bytes)
{
    return garray_is_flat(array) ? garray_at_flat(array, i, bytes)
                                 : garray_at_chunked(array, i, bytes);
}

/* ---- pushing */

DEVICE void *garray_push(const struct garray *array, uint64_t bytes)
{
    struct garray_range range = garray_reserve(array, 1);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

DEVICE void *garray_push_warp(const struct garray *array, uint32_t mask, bool wants, uint64_t bytes)
{
    uint32_t wanting = warp_ballot(mask, wants);
    struct garray_range range = garray_reserve_once(array, mask, popcount32(wanting));
    range = garray_part_of(range, popcount32(wanting & ((1u << LANE) - 1)), wants);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

DEVICE void *garray_push_block(const struct garray *array, bool wants, uint64_t bytes)
{
    struct garray_range range = garray_reserve_block(array, wants);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

/* ---- the whole */

DEVICE uint64_t garray_size(const struct garray *array)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    uint64_t count = load_acquire64(&control->count);
    uint64_t limit = load_acquire64(&control->limit) & ~GARRAY_CLOSED;
    return count < limit ? count : limit;
}

DEVICE void garray_clear(const struct garray *array)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    uint64_t limit = load_acquire64(&control->limit) & ~GARRAY_CLOSED;
    uint64_t count = atomic_exchange64(&control->count, 0);
    if (count > limit)
        atomic_add64(&control->refused, count - limit);
    atomic_and64(&control->limit, ~GARRAY_CLOSED);
}

/* ---- going on */

DEVICE bool garray_finished(const uint32_t *mark)
{
    return mark && *mark == GARRAY_FINISHED;
}

/* Outputs of the job stored already. */
DEVICE uint32_t garray_stored(const uint32_t *mark, uint32_t n)
{
    uint32_t stored = mark ? *mark : 0;
    return stored < n ? stored : n;
}

/* Notes that the outputs from `skip` on have got `range`. */
DEVICE struct garray_part garray_note(uint32_t *mark, uint32_t skip, uint32_t n,
                                      struct garray_range range)
{
    struct garray_part part;
    part.first = range.first;
    part.skip = skip;
    part.count = (uint32_t)range.count;
    if (mark)
        *mark = skip + part.count < n ? skip + part.count : GARRAY_FINISHED;
    return part;
}

DEVICE struct garray_part garray_resume(const struct garray *array, uint32_t *mark, uint32_t n)
{
    uint32_t skip = garray_stored(mark, n);
    return garray_note(mark, skip, n, garray_reserve(array, n - skip));
}

DEVICE struct garray_part garray_resume_warp(const struct garray *array, uint32_t mask,
                                             uint32_t *mark, uint32_t n)
{
    uint32_t skip = garray_stored(mark, n);
    return garray_note(mark, skip, n, garray_reserve_warp(array, mask, n - skip));
}

DEVICE struct garray_part garray_resume_whole(const struct garray *array, uint32_t *mark,
                                              uint32_t n)
{
    SHARED(struct garray_part, whole, 1);
    block_barrier();
    if (THREAD_INDEX == 0)
        whole[0] = garray_resume(array, mark, n);
    block_barrier();
    return whole[0];
}

#endif

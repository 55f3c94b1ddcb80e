/*
 * A growable array for kernels: plain CUDA C for nvcc and for clang (compute capability 7.0 and
 * later). Any number of threads, blocks and kernels push at once. Elements never move. No thread
 * waits for another thread that may not be running. <gordian/array.h> is the host side, with an
 * example. docs/guide/garray.md describes how the array works. All of it is part of the interface.
 *
 *     __global__ void squares(struct garray out, uint32_t count)
 *     {
 *         uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
 *         bool wants = i < count && i % 3 == 0;
 *         uint64_t *slot = GARRAY_PUSH_BLOCK(uint64_t, &out, wants); // one atomic a block
 *         if (slot)
 *             *slot = (uint64_t)i * i;
 *     }
 *
 * Pushing. Each macro returns the place of a new element, or NULL if there was no memory. The host
 * learns how many elements did not fit. `type` must have the element size of the array.
 *   GARRAY_PUSH(type, array)                     this thread, one atomic
 *   GARRAY_PUSH_WARP(type, array, mask, wants)   each lane of the mask that wants, one atomic
 *   GARRAY_PUSH_BLOCK(type, array, wants)        each thread of the block that wants, one atomic
 *
 * Reserving n consecutive places. The returned range may be shorter than requested; the rest is
 * counted as not fitting. Reserving 0 places costs nothing.
 *   garray_reserve(array, n)                this thread
 *   garray_reserve_warp(array, mask, n)     each lane its own n
 *   garray_reserve_block(array, n)          each thread its own n
 *   garray_reserve_whole(array, n)          one range for the whole block; the same n everywhere
 * The block forms are barriers: every thread of the block must call them. Except for
 * garray_reserve, the total must be less than 2^32 places at a time. To write the elements, use
 *   GARRAY_SLOT(type, array, i)             the place of element i
 *   garray_span(array, i, bytes)            the same, and how many elements follow it contiguously
 *   garray_span_near(array, cursor, i, bytes)   the same for a thread that mostly stays in one page
 *
 * Reading elements that an earlier kernel has stored, or that were stored before a barrier.
 *   GARRAY_AT(type, array, i)               a pointer to element i, i < garray_size(array)
 *   GARRAY_AT_FLAT, GARRAY_AT_CHUNKED       the same for a known kind: a loop with many reads calls
 *                                           garray_is_flat(array) once, outside the loop
 *   garray_size(array)                      elements stored, or being stored
 *   garray_clear(array)                     by one thread, while no other thread uses the array
 * Elements that were published within the kernel (a fence, then an atomic that the reader saw) are
 * found with GARRAY_SLOT, and read with volatile loads or atomics.
 *
 * Resuming after memory ran out. A job (an item of a thread, a tile of a block) stores n outputs.
 * Each launch must produce the same outputs in the same order. A job has a mark, a zeroed uint32_t
 * (NULL: no mark; the job is not launched again).
 *   garray_resume(array, mark, n), garray_resume_warp(array, mask, mark, n): one job per thread,
 *   garray_resume_whole(array, mark, n): one job per block;
 *       reserve places for the outputs that are not stored yet: outputs skip .. skip + count - 1 of
 *       the job go to positions `first` and up. Less than 2^32 - 1 outputs per job.
 *   garray_finished(mark): the job is complete; calling it is optional
 * The host launches again until no element is refused (gordian_array_end).
 */
#ifndef GORDIAN_ARRAY_DEVICE_H
#define GORDIAN_ARRAY_DEVICE_H

#include <gordian/array.h>

/* ---- machine primitives, unless the including file defines others (GARRAY_WORDS) */

#ifndef GARRAY_WORDS
#ifndef __CUDACC__
#error "gordian/array_device.h is for CUDA: nvcc, or clang -x cuda"
#endif

#define GARRAY_DEVICE       static __device__ __forceinline__
#define GARRAY_DEVICE_APART static __device__ __noinline__ __attribute__((unused))
#define GARRAY_WARP         32u
#define GARRAY_WARP_ALL     0xffffffffu
/* Within the block, whatever its dimensions. Warps are cut from it in this order. */
#define GARRAY_THREAD                                                                              \
    ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x) /* of GARRAY_THREADS */
#define GARRAY_THREADS                   (blockDim.x * blockDim.y * blockDim.z)
#define GARRAY_LANE                      (GARRAY_THREAD % GARRAY_WARP)
#define GARRAY_SHARED(type, name, count) __shared__ type name[count]

GARRAY_DEVICE void garray_word_block_barrier(void)
{
    __syncthreads();
}

GARRAY_DEVICE uint32_t garray_word_warp_ballot(uint32_t mask, bool x)
{
    return __ballot_sync(mask, x);
}

GARRAY_DEVICE uint32_t garray_word_warp_shuffle(uint32_t mask, uint32_t x, uint32_t lane)
{
    return __shfl_sync(mask, x, (int)lane);
}

GARRAY_DEVICE uint64_t garray_word_warp_shuffle64(uint32_t mask, uint64_t x, uint32_t lane)
{
    return __shfl_sync(mask, (unsigned long long)x, (int)lane);
}

GARRAY_DEVICE uint32_t garray_word_warp_shuffle_up(uint32_t mask, uint32_t x, uint32_t delta)
{
    return __shfl_up_sync(mask, x, delta);
}

/* Relaxed, device scope. Return the old value. */
#define GARRAY_ATOMIC(word, function)                                                              \
    GARRAY_DEVICE uint64_t garray_word_atomic_##word##64(uint64_t * at, uint64_t x)                \
    {                                                                                              \
        return function((unsigned long long *)at, (unsigned long long)x);                          \
    }

GARRAY_ATOMIC(add, atomicAdd)
GARRAY_ATOMIC(or, atomicOr)
GARRAY_ATOMIC(and, atomicAnd)
GARRAY_ATOMIC(max, atomicMax)
GARRAY_ATOMIC(exchange, atomicExch)
#undef GARRAY_ATOMIC

GARRAY_DEVICE uint64_t garray_word_atomic_compare_exchange64(uint64_t *at, uint64_t expected,
                                                             uint64_t wanted)
{
    return atomicCAS((unsigned long long *)at, (unsigned long long)expected,
                     (unsigned long long)wanted);
}

#define GARRAY_LOAD(word, order)                                                                   \
    GARRAY_DEVICE uint64_t garray_word_##word##64(const uint64_t *at)                              \
    {                                                                                              \
        unsigned long long x;                                                                      \
        asm volatile("ld." order ".u64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");                 \
        return x;                                                                                  \
    }

GARRAY_LOAD(load_relaxed, "relaxed.gpu")
GARRAY_LOAD(load_acquire, "acquire.gpu")
GARRAY_LOAD(load_acquire_system, "acquire.sys")
#undef GARRAY_LOAD

GARRAY_DEVICE void garray_word_store_release_system64(uint64_t *at, uint64_t x)
{
    asm volatile("st.release.sys.u64 [%0], %1;" ::"l"(at), "l"((unsigned long long)x) : "memory");
}

GARRAY_DEVICE void garray_word_fence_device(void)
{
    __threadfence();
}

GARRAY_DEVICE uint32_t garray_word_popcount32(uint32_t x)
{
    return (uint32_t)__popc(x);
}

GARRAY_DEVICE uint32_t garray_word_find_first32(uint32_t x)
{
    return (uint32_t)__ffs((int)x) - 1;
}
#endif

/* A device address as a pointer. */
#define GARRAY_POINTER(type, address) ((type *)(uintptr_t)(address))

struct garray_range {
    uint64_t first, count;
};

struct garray_span {
    void *at;
    uint64_t left; /* elements from here to the end of the page */
};

/* The last page that was looked up; zero before the first. */
struct garray_cursor {
    uint64_t page, at;
};

struct garray_part {
    uint64_t first;
    uint32_t skip, count;
};

/* The functions below, with the size of the element type. */
#define GARRAY_PUSH(type, array) ((type *)garray_push(array, sizeof(type)))
#define GARRAY_PUSH_WARP(type, array, mask, wants)                                                 \
    ((type *)garray_push_warp(array, mask, wants, sizeof(type)))
#define GARRAY_PUSH_BLOCK(type, array, wants)                                                      \
    ((type *)garray_push_block(array, wants, sizeof(type)))
#define GARRAY_SLOT(type, array, i)       ((type *)garray_slot(array, i, sizeof(type)))
#define GARRAY_AT(type, array, i)         ((const type *)garray_at(array, i, sizeof(type)))
#define GARRAY_AT_FLAT(type, array, i)    ((const type *)garray_at_flat(array, i, sizeof(type)))
#define GARRAY_AT_CHUNKED(type, array, i) ((const type *)garray_at_chunked(array, i, sizeof(type)))

#define GARRAY_CONTROL(array) GARRAY_POINTER(struct garray_control, (array)->control)

/* ---- installing pages */

/* Assigns chunk number `at` of the order of the pool to the page whose entry is at `owner`. Any
 * thread may do this any number of times; repetitions change nothing. The page is installed before
 * a thread can take the next chunk. */
GARRAY_DEVICE uint64_t garray_complete(struct garray_pool *pool, uint64_t at, uint64_t owner)
{
    uint64_t chunk =
        pool->base + GARRAY_POINTER(const uint32_t, pool->order)[at] * pool->chunk_bytes;
    garray_word_atomic_compare_exchange64(GARRAY_POINTER(uint64_t, owner), 0, chunk);
    garray_word_fence_device();
    garray_word_atomic_compare_exchange64(&pool->next, at, at + 1);
    return chunk;
}

/* Returns the address of a page, which is installed now if it was not there; 0: the pool is empty,
 * and stays empty. All pages before it are installed. A page gets only one chunk: the thread reads
 * `next` (`at`) before it sees the empty entry, so no earlier chunk belongs to this page, and the
 * thread can own chunk `at` only if it has no owner. */
GARRAY_DEVICE_APART uint64_t garray_install(const struct garray *array, uint64_t page)
{
    struct garray_pool *pool = GARRAY_POINTER(struct garray_pool, array->pool);
    uint64_t *owners = GARRAY_POINTER(uint64_t, pool->owners);
    uint64_t *entry = GARRAY_POINTER(uint64_t, array->pages) + page;
    const uint64_t mine = (uint64_t)(uintptr_t)entry;
    for (;;) {
        uint64_t at = garray_word_load_acquire64(&pool->next);
        uint64_t chunk = garray_word_load_acquire64(entry);
        if (chunk || at >= pool->chunks)
            return chunk;
        uint64_t owner = garray_word_atomic_compare_exchange64(&owners[at], 0, mine);
        chunk = garray_complete(pool, at, owner ? owner : mine);
        if (!owner)
            return chunk;
    }
}

/* ---- the limit */

/* Returns the positions with memory after installing pages for `end` of them, as far as there are
 * chunks, and `further` pages if available. The limit grows page by page, so that of many threads
 * that need many pages, none iterates over those that others have installed. */
GARRAY_DEVICE uint64_t garray_add_pages(const struct garray *array, uint64_t end, uint32_t further)
{
    uint64_t *limit = &GARRAY_CONTROL(array)->limit;
    uint64_t most = array->most >> array->shift;
    uint64_t wanted = (end + ((UINT64_C(1) << array->shift) - 1)) >> array->shift;
    wanted = wanted < most ? wanted + further : most;
    wanted = wanted < most ? wanted : most;
    uint64_t page = garray_word_load_acquire64(limit) >> array->shift;
    while (page < wanted && garray_install(array, page)) {
        page++;
        garray_word_fence_device();
        uint64_t others = garray_word_atomic_max64(limit, page << array->shift) >> array->shift;
        page = page > others ? page : others;
    }
    return page << array->shift;
}

/* Returns the positions with memory after reading what the host has mapped. Closes the limit if
 * this does not reach `end`. */
GARRAY_DEVICE uint64_t garray_ask_host(const struct garray *array, uint64_t end)
{
    uint64_t *limit = &GARRAY_CONTROL(array)->limit;
    if (array->desk) {
        struct garray_desk *desk = GARRAY_POINTER(struct garray_desk, array->desk);
        garray_word_store_release_system64(&desk->wanted, end);
        garray_word_atomic_max64(limit, garray_word_load_acquire_system64(&desk->granted));
    }
    uint64_t now = garray_word_load_acquire64(limit);
    if (end > now)
        now = garray_word_atomic_or64(limit, GARRAY_CLOSED);
    return now & ~GARRAY_CLOSED;
}

/* Returns how many of the positions first .. end - 1 have memory. Called by a thread that found the
 * limit too low, or that is the one to enter a new page. */
GARRAY_DEVICE_APART uint64_t garray_make_room(const struct garray *array, uint64_t first,
                                              uint64_t end)
{
    bool entering = first == 0 || first >> array->shift != end >> array->shift;
    uint64_t limit = array->pages ? garray_add_pages(array, end, entering ? array->ahead : 0)
                                  : garray_ask_host(array, end);
    if (limit >= end)
        return end - first;
    return limit > first ? limit - first : 0;
}

/* ---- reserving */

GARRAY_DEVICE struct garray_range garray_reserve(const struct garray *array, uint64_t n)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    struct garray_range range;
    range.first = range.count = 0;
    if (n == 0)
        return range;
    uint64_t limit = garray_word_load_relaxed64(&control->limit) & ~GARRAY_CLOSED;
    range.first = garray_word_atomic_add64(&control->count, n);
    range.count = n;
    uint64_t end = range.first + n;
    if (end > limit || range.first >> array->shift != end >> array->shift)
        range.count = garray_make_room(array, range.first, end);
    return range;
}

/* Returns `n` places from `before` on, of a range that may be shorter than requested. */
GARRAY_DEVICE struct garray_range garray_part_of(struct garray_range range, uint64_t before,
                                                 uint64_t n)
{
    uint64_t left = range.count > before ? range.count - before : 0;
    range.first += before;
    range.count = left < n ? left : n;
    return range;
}

/* Returns the sum of n over the lanes of the mask before this one. *total is the sum over all
 * lanes. */
GARRAY_DEVICE uint32_t garray_lanes_before(uint32_t mask, uint32_t n, uint32_t *total)
{
    uint32_t before = 0, sum = 0;
    if ((mask & (mask + 1)) == 0) { /* lanes 0 and up: all, or those of the last warp of a block */
        sum = n;
        for (uint32_t delta = 1; delta < GARRAY_WARP; delta *= 2) {
            uint32_t below = garray_word_warp_shuffle_up(mask, sum, delta);
            if (GARRAY_LANE >= delta)
                sum += below;
        }
        before = sum - n;
        sum = garray_word_warp_shuffle(mask, sum, garray_word_popcount32(mask) - 1);
    } else {
        for (uint32_t left = mask; left; left &= left - 1) {
            uint32_t lane = garray_word_find_first32(left),
                     its = garray_word_warp_shuffle(mask, n, lane);
            before += lane < GARRAY_LANE ? its : 0;
            sum += its;
        }
    }
    *total = sum;
    return before;
}

/* Reserves a range in the first lane of the mask, and returns it in all lanes. */
GARRAY_DEVICE struct garray_range garray_reserve_once(const struct garray *array, uint32_t mask,
                                                      uint32_t total)
{
    struct garray_range range;
    range.first = range.count = 0;
    if (total == 0)
        return range;
    uint32_t leader = garray_word_find_first32(mask);
    if (GARRAY_LANE == leader)
        range = garray_reserve(array, total);
    range.first = garray_word_warp_shuffle64(mask, range.first, leader);
    range.count = garray_word_warp_shuffle64(mask, range.count, leader);
    return range;
}

GARRAY_DEVICE struct garray_range garray_reserve_warp(const struct garray *array, uint32_t mask,
                                                      uint32_t n)
{
    uint32_t total, before = garray_lanes_before(mask, n, &total);
    return garray_part_of(garray_reserve_once(array, mask, total), before, n);
}

/* The lanes of this warp that the block has. */
GARRAY_DEVICE uint32_t garray_block_lanes(void)
{
    uint32_t lanes = GARRAY_THREADS - GARRAY_THREAD / GARRAY_WARP * GARRAY_WARP;
    return lanes < GARRAY_WARP ? (1u << lanes) - 1 : GARRAY_WARP_ALL;
}

/* Shared data is read between the barrier after its writing and the next barrier, so the next call
 * may overwrite it at once. */
GARRAY_DEVICE struct garray_range garray_reserve_block(const struct garray *array, uint32_t n)
{
    GARRAY_SHARED(uint32_t, warps, GARRAY_WARP);
    GARRAY_SHARED(struct garray_range, whole, 1);
    uint32_t total, before = garray_lanes_before(garray_block_lanes(), n, &total);
    uint32_t warp = GARRAY_THREAD / GARRAY_WARP, all = 0;
    if (GARRAY_LANE == 0)
        warps[warp] = total;
    garray_word_block_barrier();
    for (uint32_t w = 0; w * GARRAY_WARP < GARRAY_THREADS; w++) {
        before += w < warp ? warps[w] : 0;
        all += warps[w];
    }
    if (GARRAY_THREAD == 0)
        whole[0] = garray_reserve(array, all);
    garray_word_block_barrier();
    return garray_part_of(whole[0], before, n);
}

GARRAY_DEVICE struct garray_range garray_reserve_whole(const struct garray *array, uint32_t n)
{
    GARRAY_SHARED(struct garray_range, whole, 1);
    garray_word_block_barrier();
    if (GARRAY_THREAD == 0)
        whole[0] = garray_reserve(array, n);
    garray_word_block_barrier();
    return whole[0];
}

/* ---- places */

/* A kernel that uses a wrong element size fails in the emulator. */
GARRAY_DEVICE void garray_check_element(const struct garray *array, uint64_t bytes)
{
#ifdef __CUDACC__
    (void)array, (void)bytes;
#else
    if (bytes != array->element)
        garray_word_trap();
#endif
}

/* A page that another thread reserved may not be visible to this thread yet: installing finds
 * it. */
GARRAY_DEVICE uint64_t garray_page(const struct garray *array, uint64_t page)
{
    uint64_t at = garray_word_load_relaxed64(GARRAY_POINTER(uint64_t, array->pages) + page);
    return at ? at : garray_install(array, page);
}

GARRAY_DEVICE void *garray_slot(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    if (!array->pages)
        return GARRAY_POINTER(char, array->base) + i * bytes;
    uint64_t inside = i & ((UINT64_C(1) << array->shift) - 1);
    return GARRAY_POINTER(char, garray_page(array, i >> array->shift)) + inside * bytes;
}

GARRAY_DEVICE struct garray_span garray_span(const struct garray *array, uint64_t i, uint64_t bytes)
{
    struct garray_span span;
    span.at = garray_slot(array, i, bytes);
    span.left = array->most - i;
    if (array->pages)
        span.left = (UINT64_C(1) << array->shift) - (i & ((UINT64_C(1) << array->shift) - 1));
    return span;
}

GARRAY_DEVICE struct garray_span garray_span_near(const struct garray *array,
                                                  struct garray_cursor *cursor, uint64_t i,
                                                  uint64_t bytes)
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
    span.at = GARRAY_POINTER(char, cursor->at) + inside * bytes;
    span.left = (UINT64_C(1) << array->shift) - inside;
    return span;
}

GARRAY_DEVICE bool garray_is_flat(const struct garray *array)
{
    return array->pages == 0;
}

GARRAY_DEVICE const void *garray_at_flat(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    return GARRAY_POINTER(const char, array->base) + i * bytes;
}

GARRAY_DEVICE const void *garray_at_chunked(const struct garray *array, uint64_t i, uint64_t bytes)
{
    garray_check_element(array, bytes);
    uint64_t inside = i & ((UINT64_C(1) << array->shift) - 1);
    uint64_t page = GARRAY_POINTER(const uint64_t, array->pages)[i >> array->shift];
    return GARRAY_POINTER(const char, page) + inside * bytes;
}

GARRAY_DEVICE const void *garray_at(const struct garray *array, uint64_t i, uint64_t bytes)
{
    return garray_is_flat(array) ? garray_at_flat(array, i, bytes)
                                 : garray_at_chunked(array, i, bytes);
}

/* ---- pushing */

GARRAY_DEVICE void *garray_push(const struct garray *array, uint64_t bytes)
{
    struct garray_range range = garray_reserve(array, 1);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

GARRAY_DEVICE void *garray_push_warp(const struct garray *array, uint32_t mask, bool wants,
                                     uint64_t bytes)
{
    uint32_t wanting = garray_word_warp_ballot(mask, wants);
    struct garray_range range = garray_reserve_once(array, mask, garray_word_popcount32(wanting));
    range =
        garray_part_of(range, garray_word_popcount32(wanting & ((1u << GARRAY_LANE) - 1)), wants);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

GARRAY_DEVICE void *garray_push_block(const struct garray *array, bool wants, uint64_t bytes)
{
    struct garray_range range = garray_reserve_block(array, wants);
    return range.count ? garray_slot(array, range.first, bytes) : NULL;
}

/* ---- the whole */

GARRAY_DEVICE uint64_t garray_size(const struct garray *array)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    uint64_t count = garray_word_load_acquire64(&control->count);
    uint64_t limit = garray_word_load_acquire64(&control->limit) & ~GARRAY_CLOSED;
    return count < limit ? count : limit;
}

GARRAY_DEVICE void garray_clear(const struct garray *array)
{
    struct garray_control *control = GARRAY_CONTROL(array);
    uint64_t limit = garray_word_load_acquire64(&control->limit) & ~GARRAY_CLOSED;
    uint64_t count = garray_word_atomic_exchange64(&control->count, 0);
    if (count > limit)
        garray_word_atomic_add64(&control->refused, count - limit);
    garray_word_atomic_and64(&control->limit, ~GARRAY_CLOSED);
}

/* ---- resuming */

GARRAY_DEVICE bool garray_finished(const uint32_t *mark)
{
    return mark && *mark == GARRAY_FINISHED;
}

/* Outputs of the job that are already stored. */
GARRAY_DEVICE uint32_t garray_stored(const uint32_t *mark, uint32_t n)
{
    uint32_t stored = mark ? *mark : 0;
    return stored < n ? stored : n;
}

/* Records that the outputs from `skip` on have `range`. */
GARRAY_DEVICE struct garray_part garray_note(uint32_t *mark, uint32_t skip, uint32_t n,
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

GARRAY_DEVICE struct garray_part garray_resume(const struct garray *array, uint32_t *mark,
                                               uint32_t n)
{
    uint32_t skip = garray_stored(mark, n);
    return garray_note(mark, skip, n, garray_reserve(array, n - skip));
}

GARRAY_DEVICE struct garray_part garray_resume_warp(const struct garray *array, uint32_t mask,
                                                    uint32_t *mark, uint32_t n)
{
    uint32_t skip = garray_stored(mark, n);
    return garray_note(mark, skip, n, garray_reserve_warp(array, mask, n - skip));
}

GARRAY_DEVICE struct garray_part garray_resume_whole(const struct garray *array, uint32_t *mark,
                                                     uint32_t n)
{
    GARRAY_SHARED(struct garray_part, whole, 1);
    garray_word_block_barrier();
    if (GARRAY_THREAD == 0)
        whole[0] = garray_resume(array, mark, n);
    garray_word_block_barrier();
    return whole[0];
}

#endif

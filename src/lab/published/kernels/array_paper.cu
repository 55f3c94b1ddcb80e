/*
 * A vector of buckets that double in size, as in the paper: an atomic addition gives the position,
 * and a
 * thread that finds its bucket missing allocates it.
 *
 * First method: each such thread allocates a bucket, offers it by compare-and-swap, and frees it
 * if
 * another thread was first. Thousands of threads soon exhaust the device's heap. Second method:
 * one
 * thread, chosen by compare-and-swap, allocates; the others wait in a loop. With more than one
 * block,
 * the allocating thread may not be scheduled.
 *
 * Difference from the paper: if a bucket cannot be allocated, its elements are counted as lost.
 * The
 * paper would write to address 0. No thread waits forever.
 */
#include "lab/published/kernels/array_paper.h"
#include "lab/published/kernels/array_task.h"

#define NO_MEMORY UINT64_C(1)
#define PATIENCE  (1u << 22) /* how often a thread checks a bucket */

typedef struct array_paper_arguments paper;

#define VECTOR(a) GPU_POINTER(struct array_paper, (a)->vector)

/* Calls the device's malloc; the emulator uses preallocated memory, which is never freed. */
DEVICE uint64_t take_memory(const paper *a, uint64_t bytes)
{
#ifdef __CUDACC__
    return (uint64_t)(uintptr_t)malloc(bytes);
#else
    uint64_t at = atomic_add64(&VECTOR(a)->heap_used, bytes);
    return at + bytes <= a->heap_bytes ? a->heap + at : 0;
#endif
}

DEVICE void give_memory(uint64_t address)
{
#ifdef __CUDACC__
    free(GPU_POINTER(void, address));
#else
    (void)address;
#endif
}

DEVICE uint32_t bucket_of(uint32_t index)
{
    return 26 - leading_zeros32(index + 32);
}

DEVICE uint64_t bucket_bytes(uint32_t bucket)
{
    return (UINT64_C(32) << bucket) * sizeof(uint32_t);
}

DEVICE uint32_t *place_of(uint64_t bucket, uint32_t index)
{
    uint32_t at = index + 32;
    return GPU_POINTER(uint32_t, bucket) + (at ^ 1u << (31 - leading_zeros32(at)));
}

DEVICE uint64_t find_all(const paper *a, uint32_t bucket)
{
    uint64_t *entry = &VECTOR(a)->buckets[bucket];
    if (load_acquire64(entry) == 0) {
        uint64_t mine = take_memory(a, bucket_bytes(bucket));
        if (mine && atomic_compare_exchange64(entry, 0, mine) != 0)
            give_memory(mine);
    }
    return load_acquire64(entry);
}

DEVICE uint64_t find_wait(const paper *a, uint32_t bucket)
{
    uint64_t *entry = &VECTOR(a)->buckets[bucket];
    if (load_acquire64(entry) == 0 &&
        atomic_compare_exchange32(&VECTOR(a)->taken[bucket], 0, 1) == 0) {
        uint64_t mine = take_memory(a, bucket_bytes(bucket));
        store_release64(entry, mine ? mine : NO_MEMORY);
    }
    for (uint32_t look = 0; look < PATIENCE; look++) {
        uint64_t there = load_acquire64(entry);
        if (there)
            return there == NO_MEMORY ? 0 : there;
    }
    return 0;
}

DEVICE void push_all(const paper *a, bool waits)
{
    const uint32_t *from = GPU_POINTER(const uint32_t, a->from);
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a->count; i += step) {
        uint32_t x = from[i];
        if (x >= a->below)
            continue;
        uint32_t index = atomic_add32(&VECTOR(a)->size, 1), bucket = bucket_of(index);
        uint64_t at = waits ? find_wait(a, bucket) : find_all(a, bucket);
        if (at)
            *place_of(at, index) = x;
        else
            atomic_add64(&VECTOR(a)->lost, 1);
    }
}

KERNEL(array_paper_all, struct array_paper_arguments)
{
    push_all(&a, false);
}

KERNEL(array_paper_wait, struct array_paper_arguments)
{
    push_all(&a, true);
}

KERNEL(array_paper_end, struct array_paper_arguments)
{
    struct array_paper *vector = VECTOR(&a);
    struct array_task_answer *answer = GPU_POINTER(struct array_task_answer, a.answer);
    uint64_t count = 0, sum = 0, hash = 0;
    for (uint32_t index = THREAD_INDEX; index < vector->size; index += BLOCK_SIZE) {
        uint64_t bucket = vector->buckets[bucket_of(index)];
        if (bucket <= NO_MEMORY)
            continue;
        uint32_t x = *place_of(bucket, index);
        count++;
        sum += x;
        hash += array_task_hash(0, x);
    }
    atomic_add64(&answer->count, count);
    atomic_add64(&answer->sum, sum);
    atomic_add64(&answer->hash, hash);
    block_barrier();
    if (THREAD_INDEX < ARRAY_PAPER_BUCKETS && vector->buckets[THREAD_INDEX] > NO_MEMORY)
        give_memory(vector->buckets[THREAD_INDEX]);
}

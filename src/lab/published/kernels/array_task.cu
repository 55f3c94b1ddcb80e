/* Input of the filter task, its expected answer, and the lower bound with one atomic per element:
 * see array_task.h. */
#include "foundation/gpu/kernels/array/array.h"
#include "lab/published/kernels/array_task.h"

KERNEL(array_numbers, struct array_numbers_arguments)
{
    uint32_t *to = GPU_POINTER(uint32_t, a.to);
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE, words = a.count * a.words;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < words; i += step)
        to[i] = array_task_word(a.seed, i / a.words, (uint32_t)(i % a.words));
}

DEVICE void add_up(uint64_t *to, uint64_t x)
{
    for (uint32_t delta = WARP_SIZE / 2; delta > 0; delta /= 2)
        x += warp_shuffle_xor64(WARP_ALL, x, delta);
    if (LANE == 0 && x)
        atomic_add64(to, x);
}

KERNEL(array_answer, struct array_answer_arguments)
{
    struct array_task_answer *answer = GPU_POINTER(struct array_task_answer, a.answer);
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    uint64_t count = 0, sum = 0, hash = 0;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        const uint32_t *words = a.plain ? GPU_POINTER(const uint32_t, a.plain) + i * a.words
                                        : (const uint32_t *)garray_at(&a.from, i, a.words * 4);
        uint64_t its = 0;
        for (uint32_t w = 0; w < a.words; w++)
            its = array_task_hash(its, words[w]);
        bool kept = words[0] < a.below;
        count += kept;
        sum += kept ? words[0] : 0;
        hash += kept ? its : 0;
    }
    add_up(&answer->count, count);
    add_up(&answer->sum, sum);
    add_up(&answer->hash, hash);
}

KERNEL(array_atomic, struct array_atomic_arguments)
{
    const uint32_t *from = GPU_POINTER(const uint32_t, a.from);
    uint32_t *to = GPU_POINTER(uint32_t, a.plain);
    const uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = (uint64_t)BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        uint32_t x = from[i];
        if (x < a.below)
            to[atomic_add64(GPU_POINTER(uint64_t, a.stored), 1)] = x;
    }
}

KERNEL(array_pause, struct array_pause_arguments)
{
    const uint64_t start = device_ns();
    while (device_ns() - start < a.nanoseconds)
        nap(100);
}

/* Every word of foundation/gpu/language/kernel.h: see selftest.h. */
#include "foundation/gpu/language/kernel.h"
#include "selftest.h"

KERNEL(selftest_index, struct selftest_plain)
{
    uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
    GPU_POINTER(uint32_t, a.out)[i] = (GRID_SIZE * BLOCK_SIZE - i) * 32 + LANE;
}

/* Each round every thread takes its neighbour's number, all through shared memory. */
KERNEL(selftest_barriers, struct selftest_plain)
{
    SHARED(uint32_t, ring, 1024);
    SHARED2(uint32_t, tile, 4, 5);
    uint32_t me = THREAD_INDEX, mine = me;
    if (me < 4)
        tile[me][me + 1] = me;
    for (uint32_t round = 0; round < a.rounds; round++) {
        ring[me] = mine;
        block_barrier();
        mine = ring[(me + 1) % BLOCK_SIZE];
        block_barrier();
    }
    bool right = block_any(me == BLOCK_SIZE - 1) && !block_any(false);
    right = right && block_count(me % 2 == 0) == (BLOCK_SIZE + 1) / 2;
    for (uint32_t i = 0; i < 4 && i < BLOCK_SIZE; i++)
        right = right && tile[i][i + 1] == i;
    GPU_POINTER(uint32_t, a.out)[BLOCK_INDEX * BLOCK_SIZE + me] = right ? mine : WARP_ALL;
}

KERNEL(selftest_warps, struct selftest_warps_arguments)
{
    uint32_t me = THREAD_INDEX, x = me * me + 7;
    uint64_t wide = (uint64_t)x << 32 | me;
    uint32_t left = BLOCK_SIZE - me / WARP_SIZE * WARP_SIZE;
    uint32_t mask = left < WARP_SIZE ? (1u << left) - 1 : WARP_ALL;
    struct selftest_warp *out =
        GPU_POINTER(struct selftest_warp, a.out) + BLOCK_INDEX * BLOCK_SIZE + me;
    out->any = warp_any(mask, LANE == 0);
    out->all = warp_all(mask, LANE != 0);
    out->ballot = warp_ballot(mask, x % 3 == 0);
    out->match = warp_match(mask, me % 4);
    out->shuffle = warp_shuffle(mask, x, 0);
    out->down = warp_shuffle_down(mask, x, 0);
    out->up = warp_shuffle_up(mask, x, 1);
    out->exchanged = warp_shuffle_xor(mask, x, 0);
    out->shuffle64 = warp_shuffle64(mask, wide, 0);
    out->down64 = warp_shuffle_down64(mask, wide, 0);
    out->up64 = warp_shuffle_up64(mask, wide, 3);
    out->exchanged64 = warp_shuffle_xor64(mask, wide, 0);
    if (left >= WARP_SIZE) {
        out->down = warp_shuffle_down(mask, x, 5);
        out->exchanged = warp_shuffle_xor(mask, x, 9);
        out->down64 = warp_shuffle_down64(mask, wide, 31);
        out->exchanged64 = warp_shuffle_xor64(mask, wide, 16);
    }
    out->add = warp_reduce_add(mask, x);
    out->min = warp_reduce_min(mask, ~x);
    out->max = warp_reduce_max(mask, x);
    out->or_ = warp_reduce_or(mask, x);
    out->and_ = warp_reduce_and(mask, x | 8);
    warp_barrier(mask);
    if (me % 2)
        out->half = warp_reduce_add(mask & 0xaaaaaaaau, me);
    else
        out->half = warp_reduce_add(mask & 0x55555555u, me);
    warp_barrier(mask);
    if (me >= a.returning) {
        out->left = 0;
        return;
    }
    uint32_t staying = a.returning - me / WARP_SIZE * WARP_SIZE;
    mask &= staying < WARP_SIZE ? (1u << staying) - 1 : WARP_ALL;
    out->left = warp_ballot(mask, true);
}

DEVICE bool bits_right(uint32_t x)
{
    uint64_t wide = (uint64_t)x << 20;
    uint32_t ones = 0, low = 0, high = 0;
    for (uint32_t i = 0; i < 32; i++)
        ones += x >> i & 1;
    while (!(x >> low & 1))
        low++;
    while (!(x << high >> 31))
        high++;
    return popcount32(x) == ones && popcount64(wide) == ones && find_first32(x) == low &&
           find_first64(wide) == low + 20 && leading_zeros32(x) == high;
}

KERNEL(selftest_atomics, struct selftest_atomics_arguments)
{
    struct selftest_cells *cells = GPU_POINTER(struct selftest_cells, a.cells);
    uint32_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX, bit = i % 32;
    atomic_add32(&cells->add32, i);
    atomic_add64(&cells->add64, (uint64_t)i << 20);
    atomic_or32(&cells->or32, 1u << bit);
    atomic_or64(&cells->or64, UINT64_C(1) << (bit + 16));
    atomic_and32(&cells->and32, ~(1u << bit));
    atomic_and64(&cells->and64, ~(UINT64_C(1) << (bit + 16)));
    atomic_min32(&cells->min32, i + 3);
    atomic_min64(&cells->min64, (uint64_t)(i + 3) << 32);
    atomic_max32(&cells->max32, i + 5);
    atomic_max64(&cells->max64, (uint64_t)(i + 5) << 32);
    atomic_add32(&cells->swapped32, atomic_exchange32(&cells->exchange32, i));
    atomic_add64(&cells->swapped64, atomic_exchange64(&cells->exchange64, i));
    while (atomic_compare_exchange32(&cells->lock, 0, 1) != 0)
        nap(50);
    fence_device();
    *(volatile uint32_t *)&cells->guarded += 1;
    fence_device();
    atomic_exchange32(&cells->lock, 0);
    bool seen = load_relaxed64(&cells->or64) >> (bit + 16) & 1;
    if (bits_right(i + 1) && device_ns() != 0 && seen)
        atomic_add32(&cells->bits, 1);
}

/* Even warps take, odd warps give; lane 0 of each does it. */
KERNEL(selftest_ordered, struct selftest_ordered_arguments)
{
    uint32_t warp = THREAD_INDEX / WARP_SIZE;
    uint32_t pair = BLOCK_INDEX * (BLOCK_SIZE / WARP_SIZE / 2) + warp / 2;
    struct selftest_box *box = GPU_POINTER(struct selftest_box, a.boxes) + pair;
    uint64_t sum = 0;
    for (uint32_t round = 1; LANE == 0 && round <= a.rounds; round++) {
        if (warp % 2) {
            while (load_acquire64(&box->empty) + 1 != round)
                nap(20);
            box->content = (uint64_t)round * round;
            store_release64(&box->full, round);
        } else {
            while (load_acquire64(&box->full) != round)
                nap(20);
            sum += box->content;
            store_release64(&box->empty, round);
        }
    }
    if (LANE == 0 && warp % 2 == 0)
        GPU_POINTER(uint64_t, a.sums)[pair] = sum;
}

KERNEL(selftest_dynamic, struct selftest_plain)
{
    SHARED_DYNAMIC(uint64_t, words);
    for (uint32_t i = THREAD_INDEX; i < a.rounds; i += BLOCK_SIZE)
        words[i] = i;
    block_barrier();
    uint32_t sum = 0;
    for (uint32_t i = THREAD_INDEX; i < a.rounds; i += BLOCK_SIZE)
        sum += (uint32_t)words[a.rounds - 1 - i];
    GPU_POINTER(uint32_t, a.out)[BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX] = sum;
}

KERNEL(selftest_grid, struct selftest_grid_arguments)
{
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, a.barrier);
    uint32_t *slots = GPU_POINTER(uint32_t, a.slots);
    uint64_t sum = 0;
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (THREAD_INDEX == BLOCK_SIZE - 1)
            slots[BLOCK_INDEX] = BLOCK_INDEX * 10 + round;
        grid_barrier(barrier);
        for (uint32_t i = 0; i < GRID_SIZE; i++)
            sum += slots[i];
        grid_barrier(barrier);
    }
    if (THREAD_INDEX == 0)
        GPU_POINTER(uint64_t, a.sums)[BLOCK_INDEX] = sum;
}

/* Thread 0 speaks with the host, the others learn through shared memory. */
KERNEL(selftest_service, struct selftest_service_arguments)
{
    SHARED(uint64_t, number, 1);
    SHARED(uint32_t, end, 1);
    struct selftest_desk *desk = GPU_POINTER(struct selftest_desk, a.desk);
    uint64_t answered = 0;
    for (;;) {
        if (THREAD_INDEX == 0) {
            uint32_t stop = load_acquire_system32(&desk->stop);
            while (load_acquire_system64(&desk->asked) == answered && !stop) {
                nap(1000);
                stop = load_acquire_system32(&desk->stop);
            }
            number[0] = *(volatile uint64_t *)&desk->question;
            end[0] = load_acquire_system64(&desk->asked) == answered;
        }
        block_barrier();
        if (end[0])
            break;
        uint32_t sum = warp_reduce_add(WARP_ALL, (uint32_t)number[0] + LANE);
        block_barrier();
        answered++;
        if (THREAD_INDEX == 0) {
            *(volatile uint64_t *)&desk->answer = sum;
            fence_system();
            store_release_system64(&desk->answered, answered);
        }
    }
    if (THREAD_INDEX == 0)
        store_release_system32(&desk->stopped, 1);
}

KERNEL(selftest_trap, struct selftest_trap_arguments)
{
    uint32_t *word = GPU_POINTER(uint32_t, a.word);
    bool even = THREAD_INDEX % 2 == 0;
    if (a.way == SELFTEST_TRAP && THREAD_INDEX == BLOCK_SIZE - 1)
        trap();
    if (a.way == SELFTEST_BARRIER) {
        if (even)
            block_barrier();
        else
            warp_barrier(WARP_ALL);
    }
    while (a.way == SELFTEST_SPIN && load_acquire32(word) == 0)
        nap(100);
    if (a.way == SELFTEST_MASK)
        warp_barrier(1);
    if (a.way == SELFTEST_GRID)
        grid_barrier(GPU_POINTER(struct grid_barrier, a.word));
    if (a.way == SELFTEST_LANES && THREAD_INDEX < WARP_SIZE) {
        if (even)
            *word = warp_any(WARP_ALL, true);
        else
            *word = warp_reduce_add(WARP_ALL, 1);
    }
}

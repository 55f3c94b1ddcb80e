/* Every way to push into a growable array, and to read it: see array_selftest.h. */
#include "array_selftest.h"
#include "foundation/gpu/kernels/array/array.h"

typedef struct array_fill_arguments fill;

/* Writes outputs skip .. skip + count - 1 of an item to elements first and on. */
DEVICE void put_outputs(const fill *a, uint32_t item, uint32_t skip, uint64_t first, uint64_t count)
{
    for (uint64_t i = 0; i < count; i++) {
        uint8_t *slot = (uint8_t *)garray_slot(&a->out, first + i, a->out.element);
        for (uint32_t at = 0; at < a->out.element; at++)
            slot[at] = array_selftest_byte(item, skip + (uint32_t)i, at);
    }
}

/* The same for a slot that was pushed. */
DEVICE void put_pushed(const fill *a, uint32_t item, void *pushed)
{
    uint8_t *slot = (uint8_t *)pushed;
    for (uint32_t at = 0; slot && at < a->out.element; at++)
        slot[at] = array_selftest_byte(item, 0, at);
}

DEVICE uint32_t outputs_of(const fill *a, uint32_t item)
{
    return item < a->start + a->items ? array_selftest_outputs(a->way, a->each, item) : 0;
}

/* The lanes of this warp that the block has; every second time only the odd ones, then the
 * even ones, take part at once. */
DEVICE uint32_t lanes_of(uint32_t round)
{
    uint32_t mask = garray_block_lanes();
    if (round % 2)
        mask &= LANE % 2 ? 0xaaaaaaaau : 0x55555555u;
    return mask;
}

DEVICE void push_item(const fill *a, uint32_t item, uint32_t round)
{
    bool wants = outputs_of(a, item) > 0;
    if (a->way == ARRAY_PUSH && wants)
        put_pushed(a, item, garray_push(&a->out, a->out.element));
    if (a->way == ARRAY_PUSH_WARP)
        put_pushed(a, item, garray_push_warp(&a->out, lanes_of(round), wants, a->out.element));
    if (a->way == ARRAY_PUSH_BLOCK)
        put_pushed(a, item, garray_push_block(&a->out, wants, a->out.element));
}

DEVICE void reserve_item(const fill *a, uint32_t item, uint32_t round)
{
    struct garray_range range;
    uint32_t n = outputs_of(a, item);
    if (a->way == ARRAY_RESERVE)
        range = garray_reserve(&a->out, n);
    else if (a->way == ARRAY_RESERVE_WARP)
        range = garray_reserve_warp(&a->out, lanes_of(round), n);
    else
        range = garray_reserve_block(&a->out, n);
    put_outputs(a, item, 0, range.first, range.count);
}

DEVICE void resume_item(const fill *a, uint32_t item, uint32_t round)
{
    struct garray_part part;
    uint32_t *mark = NULL;
    if (item < a->start + a->items)
        mark = GPU_POINTER(uint32_t, a->marks) + (item - a->start);
    if (a->way == ARRAY_RESUME)
        part = garray_resume(&a->out, mark, outputs_of(a, item));
    else
        part = garray_resume_warp(&a->out, lanes_of(round), mark, outputs_of(a, item));
    put_outputs(a, item, part.skip, part.first, part.count);
}

/* The block's items are one job: output number i is of item i / each. */
DEVICE void fill_whole(const fill *a, uint32_t tile)
{
    uint32_t first = tile * BLOCK_SIZE, left = a->items - first;
    uint32_t n = (left < BLOCK_SIZE ? left : BLOCK_SIZE) * a->each;
    uint32_t *mark = a->marks ? GPU_POINTER(uint32_t, a->marks) + tile : NULL;
    struct garray_part part;
    if (a->way == ARRAY_RESUME_WHOLE) {
        if (garray_finished(mark))
            return;
        part = garray_resume_whole(&a->out, mark, n);
    } else {
        struct garray_range range = garray_reserve_whole(&a->out, n);
        part.first = range.first;
        part.count = (uint32_t)range.count;
        part.skip = 0;
    }
    for (uint32_t i = THREAD_INDEX; i < part.count; i += BLOCK_SIZE) {
        uint32_t output = part.skip + i;
        put_outputs(a, a->start + first + output / a->each, output % a->each, part.first + i, 1);
    }
}

KERNEL(array_fill, struct array_fill_arguments)
{
    const fill *all = &a;
    uint32_t tiles = (a.items + BLOCK_SIZE - 1) / BLOCK_SIZE, round = 0;
    for (uint32_t tile = BLOCK_INDEX; tile < tiles; tile += GRID_SIZE, round++) {
        uint32_t item = a.start + tile * BLOCK_SIZE + THREAD_INDEX;
        if (a.way <= ARRAY_PUSH_BLOCK)
            push_item(all, item, round);
        else if (a.way <= ARRAY_RESERVE_BLOCK)
            reserve_item(all, item, round);
        else if (a.way == ARRAY_RESUME || a.way == ARRAY_RESUME_WARP)
            resume_item(all, item, round);
        else
            fill_whole(all, tile);
    }
}

KERNEL(array_fetch, struct array_fetch_arguments)
{
    uint8_t *to = GPU_POINTER(uint8_t, a.to);
    uint64_t step = (uint64_t)GRID_SIZE * BLOCK_SIZE;
    for (uint64_t i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX; i < a.count; i += step) {
        const uint8_t *from = (const uint8_t *)garray_at(&a.from, i, a.from.element);
        for (uint32_t at = 0; at < a.from.element; at++)
            to[i * a.from.element + at] = from[at];
    }
}

KERNEL(array_refill, struct array_refill_arguments)
{
    for (uint32_t round = 0; round < a.rounds; round++) {
        if (round > 0 && THREAD_INDEX == 0)
            garray_clear(&a.out);
        block_barrier();
        struct garray_range range = garray_reserve_block(&a.out, a.each);
        for (uint64_t i = 0; i < range.count; i++)
            *GARRAY_SLOT(uint32_t, &a.out, range.first + i) = THREAD_INDEX;
        block_barrier();
    }
}

KERNEL(array_tree, struct array_tree_arguments)
{
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, a.barrier);
    uint64_t sum = 0, count = 0;
    for (uint32_t turn = 0;; turn = 1 - turn) {
        const struct garray *from = &a.queues[turn], *to = &a.queues[1 - turn];
        uint64_t size = garray_size(from);
        if (size == 0)
            break;
        for (uint64_t base = (uint64_t)BLOCK_INDEX * BLOCK_SIZE; base < size;
             base += (uint64_t)GRID_SIZE * BLOCK_SIZE) {
            uint64_t i = base + THREAD_INDEX;
            uint32_t x = i < size ? *GARRAY_AT(uint32_t, from, i) : a.end;
            count += i < size;
            sum += i < size ? x : 0;
            struct garray_range range = garray_reserve_block(to, x < a.end ? 2 : 0);
            for (uint32_t k = 0; k < range.count; k++)
                *GARRAY_SLOT(uint32_t, to, range.first + k) = 2 * x + 1 + k;
        }
        grid_barrier(barrier);
        if (BLOCK_INDEX == 0 && THREAD_INDEX == 0)
            garray_clear(from);
        grid_barrier(barrier);
    }
    atomic_add64(GPU_POINTER(uint64_t, a.sum), sum);
    atomic_add64(GPU_POINTER(uint64_t, a.count), count);
}

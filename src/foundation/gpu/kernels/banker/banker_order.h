/* The orders: built by sorting, maintained by moving one entry at a time. */
#pragma once

#include "foundation/gpu/kernels/banker/banker.h"
#include "foundation/gpu/kernels/banker/banker_unit.h"

/* Entries sorted in shared memory at a time. Few in the emulator, so that tests see several runs
 * merged. */
#ifdef __CUDACC__
#define TILE 2048u
#else
#define TILE 8u
#endif

/* ------------------------------------------------------------------ sorting */

/* Sorts a tile in shared memory: a bitonic network. */
DEVICE void sort_tile(entry *tile)
{
    for (uint32_t size = 2; size <= TILE; size *= 2)
        for (uint32_t step = size / 2; step > 0; step /= 2) {
            block_barrier();
            for (uint32_t i = THREAD_INDEX; i < TILE / 2; i += BLOCK_SIZE) {
                uint32_t low = i / step * step * 2 + i % step, high = low + step;
                bool falling = (low & size) != 0;
                entry x = tile[low], y = tile[high];
                if (entry_less(y, x) != falling) {
                    tile[low] = y;
                    tile[high] = x;
                }
            }
        }
    block_barrier();
}

/* Writes the column of need in sorted runs of a tile each. */
DEVICE void sort_runs(const struct banker_sort_arguments *a, uint32_t resource, entry *to)
{
    SHARED(entry, tile, TILE);
    const unit *need = GPU_POINTER(const unit, a->need);
    for (uint32_t base = 0; base < a->process_room; base += TILE) {
        uint32_t here = a->process_room - base < TILE ? a->process_room - base : TILE;
        for (uint32_t i = THREAD_INDEX; i < TILE; i += BLOCK_SIZE)
            tile[i] = i < here
                          ? make_entry(need[(uint64_t)(base + i) * a->stride + resource], base + i)
                          : make_entry(~(unit)0, BANKER_NONE);
        sort_tile(tile);
        for (uint32_t i = THREAD_INDEX; i < here; i += BLOCK_SIZE)
            to[base + i] = tile[i];
        block_barrier();
    }
}

/* Returns how many of these sorted entries are less than `key`. */
DEVICE uint32_t rank_of(const entry *sorted, uint32_t count, entry key)
{
    uint32_t low = 0;
    while (count > 0) {
        uint32_t half = count / 2;
        if (entry_less(sorted[low + half], key)) {
            low += half + 1;
            count -= half + 1;
        } else {
            count = half;
        }
    }
    return low;
}

/* Merges pairs of runs: each entry finds its own place. */
DEVICE void merge_runs(const entry *from, entry *to, uint32_t count, uint32_t length)
{
    for (uint32_t i = THREAD_INDEX; i < count; i += BLOCK_SIZE) {
        uint32_t run = i / length, other = (run ^ 1u) * length, place = i;
        entry x = from[i];
        if (other < count) {
            uint32_t others = count - other < length ? count - other : length;
            place = (run & ~1u) * length + i % length + rank_of(from + other, others, x);
        }
        to[place] = x;
    }
    block_barrier();
}

/* One block builds the order of one resource at a time. */
KERNEL_BOUNDED(BANKER_KERNEL(sort), struct banker_sort_arguments, BANKER_SORT_THREADS, 1)
{
    uint32_t passes = 0;
    for (uint64_t length = TILE; length < a.process_room; length *= 2)
        passes++;
    entry *spare = GPU_POINTER(entry, a.spare) + (uint64_t)BLOCK_INDEX * a.process_room;
    for (uint32_t resource = BLOCK_INDEX; resource < a.resources; resource += GRID_SIZE) {
        entry *order = GPU_POINTER(entry, a.order) + (uint64_t)resource * a.process_room;
        /* So that the last pass ends in `order`. */
        entry *from = passes % 2 ? spare : order, *to = passes % 2 ? order : spare;
        sort_runs(&a, resource, from);
        uint32_t length = TILE;
        for (uint32_t pass = 0; pass < passes; pass++, length *= 2) {
            merge_runs(from, to, a.process_room, length);
            entry *swap = from;
            from = to;
            to = swap;
        }
    }
}

/* ------------------------------------------------------------------ changes */

/* As rank_of, by a whole block: reading one entry for each thread reduces the range a thousandfold.
 */
DEVICE uint32_t block_rank_of(const entry *sorted, uint32_t count, entry key)
{
    uint32_t low = 0;
    while (count > 0) {
        uint32_t part = (count + BLOCK_SIZE - 1) / BLOCK_SIZE;
        uint64_t last = (uint64_t)(THREAD_INDEX + 1) * part - 1; /* of this thread's part */
        uint64_t below =
            (uint64_t)block_count(last < count && entry_less(sorted[low + last], key)) * part;
        low += (uint32_t)below;
        count = count - (uint32_t)below < part ? count - (uint32_t)below : part - 1;
    }
    return low;
}

/* Moves the entries from..to-1 up by one place; by a block. */
DEVICE void shift_up(entry *order, uint32_t from, uint32_t to)
{
    for (uint32_t top = to; top > from; top = top - from > BLOCK_SIZE ? top - BLOCK_SIZE : from) {
        bool mine = top - from > THREAD_INDEX;
        entry x = order[mine ? top - 1 - THREAD_INDEX : from];
        block_barrier();
        if (mine)
            order[top - THREAD_INDEX] = x;
        block_barrier();
    }
}

/* Moves the entries from+1..to down by one place; by a block. */
DEVICE void shift_down(entry *order, uint32_t from, uint32_t to)
{
    for (uint32_t base = from; base<to; base = to - base> BLOCK_SIZE ? base + BLOCK_SIZE : to) {
        bool mine = to - base > THREAD_INDEX;
        entry x = order[mine ? base + THREAD_INDEX + 1 : to];
        block_barrier();
        if (mine)
            order[base + THREAD_INDEX] = x;
        block_barrier();
    }
}

DEVICE void move_entry(entry *order, uint32_t count, entry before, entry after)
{
    uint32_t old = block_rank_of(order, count, before), place = block_rank_of(order, count, after);
    if (place > old) {
        place--; /* its own old place is among the lower ones */
        shift_down(order, old, place);
    } else {
        shift_up(order, place, old);
    }
    if (THREAD_INDEX == 0)
        order[place] = after;
    block_barrier();
}

DEVICE void change_cell(const struct banker_arguments *a, const struct banker_change *change,
                        unit old_need)
{
    uint64_t cell = change->process * a->stride + change->resource;
    if (old_need != (unit)change->need)
        move_entry(GPU_POINTER(entry, a->order) + (uint64_t)change->resource * a->process_room,
                   a->process_room, make_entry(old_need, change->process),
                   make_entry((unit)change->need, change->process));
    if (THREAD_INDEX == 0) {
        GPU_POINTER(unit, a->need)[cell] = (unit)change->need;
        GPU_POINTER(unit, a->held)[cell] = (unit)change->held;
    }
}

/* A block takes all changes of a resource. */
DEVICE void change_cells(const struct banker_arguments *a)
{
    SHARED(struct banker_change, change, 1);
    SHARED(unit, old_need, 1);
    const struct banker_change *changes = GPU_POINTER(const struct banker_change, a->changes);
    const uint32_t *groups = GPU_POINTER(const uint32_t, a->groups);
    for (uint32_t g = BLOCK_INDEX; g < a->group_count; g += GRID_SIZE)
        for (uint32_t i = groups[g]; i < groups[g + 1]; i++) {
            if (THREAD_INDEX == 0) {
                change[0] = changes[i];
                if (change[0].process == BANKER_NONE)
                    GPU_POINTER(unit, a->free)[change[0].resource] = (unit)change[0].held;
                else
                    old_need[0] = GPU_POINTER(
                        unit, a->need)[change[0].process * a->stride + change[0].resource];
            }
            block_barrier();
            if (change[0].process != BANKER_NONE)
                change_cell(a, change, old_need[0]);
            block_barrier(); /* it has been used */
        }
}

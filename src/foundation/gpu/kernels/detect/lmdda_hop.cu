/*
 * LMDDA: recomputes RP in three steps.
 *
 *     relation   paths[i][j]: a holder of slot i's resource waits for slot j's; held[i]: its
 * holders closure    paths becomes reachability among slots, and with it held RP of their resources
 *     rows       RP[q] = q's holders, and the held rows of what they wait for
 *
 * For a large system each step is a launch. For a small one all steps are one launch, because they
 * are shorter than a launch takes.
 */
#include "foundation/gpu/kernels/detect/closure_tiles.h"
#include "foundation/gpu/kernels/detect/lmdda_row.h"

DEVICE void add_bit(uint32_t *row, uint32_t bit)
{
    atomic_or32(&row[bit / 32], 1u << bit % 32);
}

/* The number of warps of the whole grid, and the index of this one. */
DEVICE uint32_t all_warps(void)
{
    return GRID_SIZE * (BLOCK_SIZE / WARP_SIZE);
}

DEVICE uint32_t this_warp(void)
{
    return BLOCK_INDEX * (BLOCK_SIZE / WARP_SIZE) + THREAD_INDEX / WARP_SIZE;
}

DEVICE uint32_t row_words(uint32_t bits)
{
    return (bits + 127) / 128 * 4;
}

/* ---- relation */

/* `process` holds the resource of the slot that this row of paths belongs to. */
DEVICE void relate_slots(const struct lmdda_hop_arguments *hop, uint32_t *paths, uint32_t process)
{
    uint32_t wanted = GPU_POINTER(const uint32_t, hop->state.waits)[process];
    if (wanted != LMDDA_NONE)
        add_bit(paths, GPU_POINTER(const uint32_t, hop->state.slots)[wanted]);
}

/* A warp for each slot, a word of holders for each lane. */
DEVICE void find_relation(const struct lmdda_hop_arguments *hop)
{
    const struct lmdda_state *s = &hop->state;
    uint32_t words = row_words(hop->process_count);
    for (uint32_t slot = this_warp(); slot < hop->slot_count; slot += all_warps()) {
        uint32_t resource = GPU_POINTER(const uint32_t, s->resources)[slot];
        const uint32_t *holders = row_of(s->grants, s->stride, resource);
        uint32_t *held = row_of(hop->held, s->stride, slot);
        uint32_t *paths = row_of(hop->paths, hop->slot_stride, slot);
        for (uint32_t i = LANE; i < row_words(hop->slot_count); i += WARP_SIZE)
            paths[i] = 0;
        warp_barrier(WARP_ALL);
        for (uint32_t i = LANE; i < words; i += WARP_SIZE) {
            uint32_t bits = holders[i];
            held[i] = bits;
            for (; bits; bits &= bits - 1)
                relate_slots(hop, paths, i * 32 + find_first32(bits));
        }
    }
}

KERNEL(lmdda_relation, struct lmdda_hop_arguments)
{
    struct lmdda_hop_arguments hop = a;
    find_relation(&hop);
}

/* ---- rows */

/* Adds to the row everything that the holders in the lanes' words wait for. Holders often wait for
 * the same resource, so the previous one is skipped. */
DEVICE void join_waits(const struct lmdda_hop_arguments *hop, uint32_t *to, uint32_t first_word,
                       uint32_t waiting, uint32_t *last)
{
    const uint32_t *slots = GPU_POINTER(const uint32_t, hop->state.slots);
    uint32_t words = row_words(hop->process_count);
    uint32_t lanes = warp_ballot(WARP_ALL, waiting != 0);
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = find_first32(lanes);
        uint32_t bits = warp_shuffle(WARP_ALL, waiting, lane);
        for (; bits; bits &= bits - 1) {
            uint32_t process = (first_word + lane) * 32 + find_first32(bits);
            uint32_t wanted = GPU_POINTER(const uint32_t, hop->state.waits)[process];
            if (wanted != *last)
                join_row(to, row_of(hop->held, hop->state.stride, slots[wanted]), words);
            *last = wanted;
        }
    }
}

DEVICE void make_row(const struct lmdda_hop_arguments *hop, uint32_t row)
{
    const struct lmdda_state *s = &hop->state;
    uint32_t words = row_words(hop->process_count), last = LMDDA_NONE;
    const uint32_t *holders = row_of(s->grants, s->stride, row);
    const uint32_t *runs = GPU_POINTER(const uint32_t, s->runs);
    uint32_t *to = row_of(s->reach, s->stride, row);
    const uint4 *holders4 = (const uint4 *)(const void *)holders;
    uint4 *to4 = (uint4 *)(void *)to;
    for (uint32_t i = LANE; i < words / 4; i += WARP_SIZE)
        to4[i] = holders4[i];
    for (uint32_t i = 0; i < words; i += WARP_SIZE) {
        uint32_t mine = i + LANE;
        uint32_t waiting = mine < words ? holders[mine] & ~runs[mine] : 0;
        join_waits(hop, to, i, waiting, &last);
    }
}

/* A warp for each row; each lane always handles the same words of it. */
DEVICE void make_rows(const struct lmdda_hop_arguments *hop)
{
    for (uint32_t row = this_warp(); row < hop->resource_count; row += all_warps())
        make_row(hop, row);
}

KERNEL(lmdda_rows, struct lmdda_hop_arguments)
{
    struct lmdda_hop_arguments hop = a;
    make_rows(&hop);
}

/* ---- all steps */

KERNEL_BOUNDED(lmdda_small, struct lmdda_hop_arguments, BOOL_TILE_THREADS, 1)
{
    struct lmdda_hop_arguments hop = a;
    struct bit_closure_arguments closure;
    closure.paths = hop.paths;
    closure.held = hop.held;
    closure.barrier = hop.barrier;
    closure.stride = hop.slot_stride;
    closure.held_stride = hop.state.stride;
    closure.size = hop.slot_count;
    closure.columns = hop.process_count;
    closure.tensor = hop.tensor;
    closure.reserved = 0;
    find_relation(&hop);
    grid_barrier(GPU_POINTER(struct grid_barrier, hop.barrier));
    closure_steps(&closure);
    make_rows(&hop);
}

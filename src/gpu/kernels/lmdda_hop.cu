/*
 * LMDDA: RP made anew, in four steps.
 *
 *     relation   paths[i][j]: a holder of slot i's resource waits for slot j's; held[i]: its
 * holders closure    paths becomes reachability among slots held       held |= paths . held: RP of
 * the resources with slots rows       RP[q] = q's holders, and the held rows of what they wait for
 *
 * A large system takes them one after another; a small one all in one launch, where the steps are
 * so short that launching them would take longer.
 */
#include "gpu/kernels/hop_rounds.h"

DEVICE uint32_t *row_of(uint64_t matrix, uint32_t stride, uint32_t row)
{
    return GPU_POINTER(uint32_t, matrix) + (uint64_t)row * stride;
}

DEVICE void add_bit(uint32_t *row, uint32_t bit)
{
    atomic_or32(&row[bit / 32], 1u << bit % 32);
}

/* Warps of the whole grid, and which of them this is. */
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

/* Rows of these matrices that bits are going to be added to. */
DEVICE void clear_rows(uint64_t matrix, uint32_t stride, uint32_t rows, uint32_t words)
{
    for (uint32_t r = this_warp(); matrix && r < rows; r += all_warps())
        for (uint32_t i = LANE; i < words; i += WARP_SIZE)
            row_of(matrix, stride, r)[i] = 0;
}

DEVICE void clear_relation(const struct lmdda_hop_arguments *hop)
{
    uint32_t words = row_words(hop->slot_count);
    clear_rows(hop->paths, hop->slot_stride, hop->slot_count, words);
    clear_rows(hop->paths_transposed, hop->slot_stride, hop->slot_count, words);
    clear_rows(hop->held_transposed, hop->slot_stride, hop->process_count, words);
}

/* `process` holds the resource of `slot`. */
DEVICE void relate(const struct lmdda_hop_arguments *hop, uint32_t slot, uint32_t process)
{
    if (hop->held_transposed)
        add_bit(row_of(hop->held_transposed, hop->slot_stride, process), slot);
    uint32_t wanted = GPU_POINTER(const uint32_t, hop->state.waits)[process];
    if (wanted == LMDDA_NONE)
        return;
    uint32_t next = GPU_POINTER(const uint32_t, hop->state.slots)[wanted];
    add_bit(row_of(hop->paths, hop->slot_stride, slot), next);
    if (hop->paths_transposed)
        add_bit(row_of(hop->paths_transposed, hop->slot_stride, next), slot);
}

/* A warp a slot, a word of holders a lane. */
DEVICE void find_relation(const struct lmdda_hop_arguments *hop)
{
    const struct lmdda_state *s = &hop->state;
    uint32_t words = row_words(hop->process_count);
    for (uint32_t slot = this_warp(); slot < hop->slot_count; slot += all_warps()) {
        uint32_t resource = GPU_POINTER(const uint32_t, s->resources)[slot];
        const uint32_t *holders = row_of(s->grants, s->stride, resource);
        uint32_t *held = row_of(hop->held, s->stride, slot);
        for (uint32_t i = LANE; i < words; i += WARP_SIZE) {
            uint32_t bits = holders[i];
            held[i] = bits;
            for (; bits; bits &= bits - 1)
                relate(hop, slot, i * 32 + find_first32(bits));
        }
    }
}

KERNEL(lmdda_clear, struct lmdda_hop_arguments)
{
    struct lmdda_hop_arguments hop = a;
    clear_relation(&hop);
}

KERNEL(lmdda_relation, struct lmdda_hop_arguments)
{
    struct lmdda_hop_arguments hop = a;
    find_relation(&hop);
}

/* ---- rows */

/* The row of `slot` joins a row of RP; the whole warp. */
DEVICE void join_slot(const struct lmdda_hop_arguments *hop, uint4 *to, uint32_t slot)
{
    const uint4 *from = (const uint4 *)(const void *)row_of(hop->held, hop->state.stride, slot);
    for (uint32_t i = LANE; i < row_words(hop->process_count) / 4; i += WARP_SIZE) {
        uint4 one = to[i], other = from[i];
        one.x |= other.x;
        one.y |= other.y;
        one.z |= other.z;
        one.w |= other.w;
        to[i] = one;
    }
}

/* Everything that the holders in the lanes' words wait for joins the row. Holders often wait for
 * the same: not twice in a row. */
DEVICE void join_waits(const struct lmdda_hop_arguments *hop, uint4 *to, uint32_t first_word,
                       uint32_t waiting, uint32_t *last)
{
    uint32_t lanes = warp_ballot(WARP_ALL, waiting != 0);
    for (; lanes; lanes &= lanes - 1) {
        uint32_t lane = find_first32(lanes);
        uint32_t bits = warp_shuffle(WARP_ALL, waiting, lane);
        for (; bits; bits &= bits - 1) {
            uint32_t process = (first_word + lane) * 32 + find_first32(bits);
            uint32_t wanted = GPU_POINTER(const uint32_t, hop->state.waits)[process];
            if (wanted != *last)
                join_slot(hop, to, GPU_POINTER(const uint32_t, hop->state.slots)[wanted]);
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
        join_waits(hop, to4, i, waiting, &last);
    }
}

/* A warp a row; each lane always works on the same words of it. */
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

/* ---- all of it */

/* held |= paths . held */
DEVICE void extend_held(const struct lmdda_hop_arguments *hop)
{
    struct bool_product_arguments product;
    product.left = hop->paths;
    product.right = hop->held_transposed;
    product.out = hop->held;
    product.changed = 0;
    product.left_stride = product.right_stride = hop->slot_stride;
    product.out_stride = hop->state.stride;
    product.rows = hop->slot_count;
    product.columns = hop->process_count;
    product.inner_words = row_words(hop->slot_count);
    product.tensor = hop->tensor;
    uint32_t across = BOOL_TILES(product.columns), tiles = BOOL_TILES(product.rows) * across;
    for (uint32_t i = BLOCK_INDEX; i < tiles; i += GRID_SIZE)
        bool_tile(&product, i / across * BOOL_TILE, i % across * BOOL_TILE);
}

KERNEL_BOUNDED(lmdda_small, struct lmdda_hop_arguments, BOOL_TILE_THREADS, 1)
{
    struct lmdda_hop_arguments hop = a;
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, hop.barrier);
    clear_relation(&hop);
    if (BLOCK_INDEX == 0 && THREAD_INDEX < LMDDA_ROUNDS)
        GPU_POINTER(uint32_t, hop.changed)[THREAD_INDEX] = 0;
    grid_barrier(barrier);
    find_relation(&hop);
    grid_barrier(barrier);
    struct bit_closure_arguments closure;
    closure.paths = hop.paths;
    closure.transposed = hop.paths_transposed;
    closure.changed = hop.changed;
    closure.barrier = hop.barrier;
    closure.stride = closure.transposed_stride = hop.slot_stride;
    closure.size = hop.slot_count;
    closure.tensor = hop.tensor;
    hop_rounds(&closure);
    extend_held(&hop);
    grid_barrier(barrier);
    make_rows(&hop);
}

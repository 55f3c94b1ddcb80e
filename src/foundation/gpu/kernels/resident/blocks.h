/*
 * Sparse bit matrices in kernels: blocks that are stored only where they are not empty
 * (blocks_layout.h). A warp works on a row: all of its lanes call the functions below with the same
 * arguments, except blocks_test, which each thread calls by itself.
 *
 * Others may read a row while bits join it: a link is there or not yet, and so is a bit. While bits
 * are removed from a row, only the warp that does it may read the row.
 *
 * Pages may run out. Then a join returns false; what there were pages for has joined, and the host
 * is notified. Once there are more pages the same operation is repeated.
 */
#pragma once

#include "foundation/gpu/kernels/resident/blocks_layout.h"
#include "foundation/gpu/language/kernel.h"

#ifdef __CUDACC__
#define BLOCKS_UNROLL _Pragma("unroll")
#else
#define BLOCKS_UNROLL
#endif

#define BLOCKS_AHEAD 4u /* pieces a lane has in flight */

/* ---- addresses */

DEVICE uint32_t *blocks_page(const struct block_store *s, uint32_t page)
{
    return GPU_POINTER(uint32_t, s->pages) + ((uint64_t)page << s->shift);
}

DEVICE uint32_t *blocks_top(const struct block_matrix *m, uint32_t row, uint32_t t)
{
    return GPU_POINTER(uint32_t, m->tops) + (uint64_t)t * m->rows + row;
}

/* Returns the link of `tops` that covers a column, and the index within the directory. */
DEVICE uint32_t blocks_top_of(const struct block_store *s, uint32_t column)
{
    return column >> 2 * s->shift >> 5;
}

DEVICE uint32_t blocks_entry_of(const struct block_store *s, uint32_t column)
{
    return column >> s->shift >> 5 & ((1u << s->shift) - 1);
}

DEVICE bool blocks_test(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                        uint32_t column)
{
    uint32_t directory = *blocks_top(m, row, blocks_top_of(s, column));
    if (!directory)
        return false;
    uint32_t block = blocks_page(s, directory)[blocks_entry_of(s, column)];
    if (!block)
        return false;
    return blocks_page(s, block)[column / 32 & ((1u << s->shift) - 1)] >> column % 32 & 1;
}

/* ---- pages */

#define BLOCKS_POOL(s) GPU_POINTER(struct block_pool, (s)->pool)

/* Returns the lanes of a mask before this one. */
DEVICE uint32_t blocks_lanes_before(uint32_t lanes)
{
    return popcount32(lanes & ((1u << LANE) - 1));
}

DEVICE void blocks_refuse(const struct block_store *s)
{
    atomic_add32(&BLOCKS_POOL(s)->refused, 1);
    store_release_system32(GPU_POINTER(uint32_t, s->alarm), 1);
}

/* Takes a page for each lane that wants one; 0: there was none. */
DEVICE uint32_t blocks_take(const struct block_store *s, bool wants)
{
    struct block_pool *pool = BLOCKS_POOL(s);
    uint32_t lanes = warp_ballot(WARP_ALL, wants), first = 0, page = 0;
    if (!lanes)
        return 0;
    if (LANE == 0)
        first = atomic_add32(&pool->taken, popcount32(lanes));
    first = warp_shuffle(WARP_ALL, first, 0);
    if (!wants)
        return 0;
    uint32_t mine = first + blocks_lanes_before(lanes), listed = pool->listed;
    const uint32_t *list = GPU_POINTER(const uint32_t, pool->lists[pool->turn]);
    if (mine < listed) /* from the end, so that the rest stays where it is */
        return list[listed - 1 - mine];
    if (mine - listed < pool->limit - pool->fresh)
        page = pool->fresh + (mine - listed);
    else
        blocks_refuse(s);
    return page;
}

/* Releases each lane's page, which is zero; 0: it has none. */
DEVICE void blocks_give(const struct block_store *s, uint32_t page)
{
    struct block_pool *pool = BLOCKS_POOL(s);
    uint32_t lanes = warp_ballot(WARP_ALL, page != 0), first = 0;
    if (!lanes)
        return;
    if (LANE == 0)
        first = atomic_add32(&pool->given, popcount32(lanes));
    first = warp_shuffle(WARP_ALL, first, 0);
    uint32_t *list = GPU_POINTER(uint32_t, pool->lists[1 - pool->turn]);
    if (page)
        list[first + blocks_lanes_before(lanes)] = page;
}

/* Begins another period. Called by one thread, while no thread takes or releases pages. */
DEVICE void blocks_settle(const struct block_store *s)
{
    block_pool_settle(BLOCKS_POOL(s));
}

/* ---- rows */

/* The part of a row that a directory covers, in the lanes: lane i has the link to piece i, and
 * knows whether the other side has anything there. */
struct block_piece {
    uint32_t mine;  /* the row's own block */
    uint32_t other; /* the block that joins it or is removed from it, unless it is only the bit: */
    uint32_t entry; /* the piece that one bit more is in, or BLOCKS_NO_BIT */
    uint32_t bit;   /* which of the piece's */
};

/* Finds the other side: the directory `other` (0: none) and one more bit, if it is under t. */
DEVICE struct block_piece blocks_look(const struct block_store *s, uint32_t t, uint32_t other,
                                      uint32_t column)
{
    struct block_piece piece;
    bool under = column != BLOCKS_NO_BIT && blocks_top_of(s, column) == t;
    piece.mine = 0;
    piece.other = other && LANE < 1u << s->shift ? blocks_page(s, other)[LANE] : 0;
    piece.entry = under ? blocks_entry_of(s, column) : BLOCKS_NO_BIT;
    piece.bit = column & ((32u << s->shift) - 1);
    return piece;
}

DEVICE uint4 blocks_load(const struct block_store *s, uint32_t page, uint32_t quarter)
{
    uint4 zero = {0, 0, 0, 0};
    return page ? ((const uint4 *)(const void *)blocks_page(s, page))[quarter] : zero;
}

/* Returns what the other side has in 16 bytes of a piece. */
DEVICE uint4 blocks_other(const struct block_store *s, struct block_piece piece, uint32_t page,
                          uint32_t entry, uint32_t quarter)
{
    uint4 x = blocks_load(s, page, quarter);
    if (entry == piece.entry && piece.bit / 128 == quarter) {
        uint32_t one = 1u << piece.bit % 32, word = piece.bit / 32 % 4;
        x.x |= word == 0 ? one : 0;
        x.y |= word == 1 ? one : 0;
        x.z |= word == 2 ? one : 0;
        x.w |= word == 3 ? one : 0;
    }
    return x;
}

DEVICE bool blocks_is_zero(uint4 x)
{
    return !(x.x | x.y | x.z | x.w);
}

/* Joins the other side's pieces to the row's, or removes them from it, several pieces at a time, 16
 * bytes a lane. Returns the pieces in `which` that have changed (that have become empty). */
DEVICE uint32_t blocks_combine(const struct block_store *s, struct block_piece piece,
                               uint32_t which, bool subtract)
{
    uint32_t width = 1u << s->shift, quarters = width / 4, abreast = WARP_SIZE / quarters;
    uint32_t quarter = LANE % quarters, found = 0, each = BLOCKS_AHEAD * abreast;
    for (uint32_t first = 0; first < width; first += each) {
        if (each < WARP_SIZE && !(which >> first & ((1u << each) - 1)))
            continue;
        uint4 to[BLOCKS_AHEAD], from[BLOCKS_AHEAD];
        uint32_t pages[BLOCKS_AHEAD];
        BLOCKS_UNROLL
        for (uint32_t i = 0; i < BLOCKS_AHEAD; i++) {
            uint32_t entry = first + i * abreast + LANE / quarters;
            uint32_t mine = warp_shuffle(WARP_ALL, piece.mine, entry % WARP_SIZE);
            uint32_t other = warp_shuffle(WARP_ALL, piece.other, entry % WARP_SIZE);
            pages[i] = entry < width && which >> entry % WARP_SIZE & 1 ? mine : 0;
            to[i] = blocks_load(s, pages[i], quarter);
            from[i] = blocks_other(s, piece, pages[i] ? other : 0, entry, quarter);
        }
        BLOCKS_UNROLL
        for (uint32_t i = 0; i < BLOCKS_AHEAD; i++) {
            uint4 x = to[i], y = from[i];
            x.x = subtract ? x.x & ~y.x : x.x | y.x;
            x.y = subtract ? x.y & ~y.y : x.y | y.y;
            x.z = subtract ? x.z & ~y.z : x.z | y.z;
            x.w = subtract ? x.w & ~y.w : x.w | y.w;
            bool differs = x.x != to[i].x || x.y != to[i].y || x.z != to[i].z || x.w != to[i].w;
            if (pages[i] && differs)
                ((uint4 *)(void *)blocks_page(s, pages[i]))[quarter] = x;
            uint32_t telling = warp_ballot(WARP_ALL, subtract ? !blocks_is_zero(x) : differs);
            uint32_t entry = first + i * abreast;
            /* This lane's own piece, if it is among these. */
            if (LANE >= entry && LANE < entry + abreast && LANE < width) {
                uint32_t group = telling >> (LANE - entry) * quarters & ((1u << quarters) - 1);
                found |= (group != 0) != subtract;
            }
        }
    }
    return warp_ballot(WARP_ALL, found && which >> LANE & 1);
}

/* Joins the directory `other` (0: none) and one more bit (BLOCKS_NO_BIT, or not under t: none) to
 * the row's own. Sets *changed if the row has changed. Returns false if pages have run out. */
DEVICE_APART bool blocks_join(const struct block_store *s, const struct block_matrix *m,
                              uint32_t row, uint32_t t, uint32_t other, uint32_t column,
                              bool *changed)
{
    struct block_piece piece = blocks_look(s, t, other, column);
    bool wanted = piece.other || LANE == piece.entry;
    if (!warp_any(WARP_ALL, wanted))
        return true;
    uint32_t *top = blocks_top(m, row, t);
    uint32_t directory = *top;
    warp_barrier(WARP_ALL); /* every lane has read before one changes it */
    if (!directory) {
        directory = warp_shuffle(WARP_ALL, blocks_take(s, LANE == 0), 0);
        if (!directory)
            return false;
        if (LANE == 0)
            *top = directory;
    }
    if (LANE < 1u << s->shift)
        piece.mine = blocks_page(s, directory)[LANE];
    bool missing = wanted && !piece.mine;
    uint32_t page = blocks_take(s, missing);
    if (page) {
        blocks_page(s, directory)[LANE] = page;
        piece.mine = page;
    }
    uint32_t which = warp_ballot(WARP_ALL, wanted && piece.mine);
    *changed |= blocks_combine(s, piece, which, false) != 0;
    bool whole = !warp_any(WARP_ALL, missing && !page);
    warp_barrier(WARP_ALL);
    return whole;
}

/* Removes the same from the row. Pages that become empty are released. */
DEVICE_APART void blocks_subtract(const struct block_store *s, const struct block_matrix *m,
                                  uint32_t row, uint32_t t, uint32_t other, uint32_t column)
{
    uint32_t *top = blocks_top(m, row, t);
    uint32_t directory = *top;
    struct block_piece piece = blocks_look(s, t, other, column);
    warp_barrier(WARP_ALL);
    if (!directory)
        return;
    if (LANE < 1u << s->shift)
        piece.mine = blocks_page(s, directory)[LANE];
    bool met = piece.mine && (piece.other || LANE == piece.entry);
    uint32_t which = warp_ballot(WARP_ALL, met);
    uint32_t empty = which ? blocks_combine(s, piece, which, true) : 0;
    bool gone = empty >> LANE & 1;
    if (gone)
        blocks_page(s, directory)[LANE] = 0;
    blocks_give(s, gone ? piece.mine : 0);
    if (empty && !warp_any(WARP_ALL, piece.mine && !gone)) {
        if (LANE == 0)
            *top = 0;
        blocks_give(s, LANE == 0 ? directory : 0);
    }
    warp_barrier(WARP_ALL);
}

DEVICE bool blocks_set(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                       uint32_t column)
{
    bool changed = false;
    return blocks_join(s, m, row, blocks_top_of(s, column), 0, column, &changed);
}

DEVICE void blocks_clear(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                         uint32_t column)
{
    blocks_subtract(s, m, row, blocks_top_of(s, column), 0, column);
}

/* Joins a whole row of another matrix, or of this one, and one more bit. */
DEVICE bool blocks_join_row(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                            const struct block_matrix *others, uint32_t other, uint32_t column,
                            bool *changed)
{
    uint32_t under = column == BLOCKS_NO_BIT ? BLOCKS_NO_BIT : blocks_top_of(s, column);
    bool whole = true;
    for (uint32_t first = 0; first < m->top_count; first += WARP_SIZE) {
        uint32_t t = first + LANE, top = t < m->top_count ? *blocks_top(others, other, t) : 0;
        uint32_t lanes = warp_ballot(WARP_ALL, t < m->top_count && (top || t == under));
        for (; lanes; lanes &= lanes - 1) {
            uint32_t lane = find_first32(lanes), directory = warp_shuffle(WARP_ALL, top, lane);
            whole &= blocks_join(s, m, row, first + lane, directory, column, changed);
        }
    }
    return whole;
}

/* Returns whether the row has any bit. Each thread calls it by itself. */
DEVICE bool blocks_any(const struct block_matrix *m, uint32_t row)
{
    uint32_t any = 0;
    for (uint32_t t = 0; t < m->top_count; t++)
        any |= *blocks_top(m, row, t);
    return any != 0;
}

/* Releases all pages of a row. */
DEVICE_APART void blocks_empty(const struct block_store *s, const struct block_matrix *m,
                               uint32_t row)
{
    uint32_t width = 1u << s->shift;
    for (uint32_t t = 0; t < m->top_count; t++) {
        uint32_t *top = blocks_top(m, row, t);
        uint32_t directory = *top;
        warp_barrier(WARP_ALL);
        if (!directory)
            continue;
        uint32_t block = LANE < width ? blocks_page(s, directory)[LANE] : 0;
        for (uint32_t lanes = warp_ballot(WARP_ALL, block != 0); lanes; lanes &= lanes - 1) {
            uint32_t page = warp_shuffle(WARP_ALL, block, find_first32(lanes));
            if (LANE < width)
                blocks_page(s, page)[LANE] = 0;
        }
        if (LANE < width)
            blocks_page(s, directory)[LANE] = 0;
        if (LANE == 0)
            *top = 0;
        blocks_give(s, block);
        blocks_give(s, LANE == 0 ? directory : 0);
    }
}

/* A walk along the blocks of a row; all zero before the first step. */
struct block_walk {
    uint32_t index, word; /* this lane's word of the block, and its index in the row */
    uint32_t next, tops, top_lanes, piece, links, lanes; /* the walk's own */
};

/* Moves to the next block. Returns false if there is none. */
DEVICE bool blocks_next(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                        struct block_walk *walk)
{
    uint32_t width = 1u << s->shift, lane = 0;
    while (!walk->lanes) {
        while (!walk->top_lanes) {
            uint32_t t = walk->next + LANE;
            if (walk->next >= m->top_count)
                return false;
            walk->tops = t < m->top_count ? *blocks_top(m, row, t) : 0;
            walk->top_lanes = warp_ballot(WARP_ALL, walk->tops != 0);
            walk->next += WARP_SIZE;
        }
        lane = find_first32(walk->top_lanes);
        walk->top_lanes &= walk->top_lanes - 1;
        uint32_t directory = warp_shuffle(WARP_ALL, walk->tops, lane);
        walk->links = LANE < width ? blocks_page(s, directory)[LANE] : 0;
        walk->lanes = warp_ballot(WARP_ALL, walk->links != 0);
        walk->piece = (walk->next - WARP_SIZE + lane) * width;
    }
    lane = find_first32(walk->lanes);
    walk->lanes &= walk->lanes - 1;
    uint32_t block = warp_shuffle(WARP_ALL, walk->links, lane);
    walk->word = LANE < width ? blocks_page(s, block)[LANE] : 0;
    walk->index = (walk->piece + lane) * width + LANE % width;
    return true;
}

/* Returns word `index` of a row; each lane its own. */
DEVICE uint32_t blocks_word(const struct block_store *s, const struct block_matrix *m, uint32_t row,
                            uint32_t index)
{
    uint32_t column = index * 32, directory = *blocks_top(m, row, blocks_top_of(s, column));
    uint32_t block = directory ? blocks_page(s, directory)[blocks_entry_of(s, column)] : 0;
    return block ? blocks_page(s, block)[index & ((1u << s->shift) - 1)] : 0;
}

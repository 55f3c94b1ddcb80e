/*
 * The transitive closure of a square bit matrix in one cooperative kernel, tile by tile (lmdda.h
 * has its use).
 *
 * Warshall's algorithm with tiles of BOOL_TILE x BOOL_TILE as elements. In step b every tile gains
 * the paths through the slots of tile b, from three tiles: the paths into those slots, the paths
 * among them, and the paths out of them.
 *
 *     tile(i, j) |= tile(i, b) . (1 | tile(b, b)) . tile(b, j)
 *
 * tile(b, b) must be closed by then: it must have all paths among its slots through tiles up to b.
 * So a block that computes a diagonal tile closes it at once, by squaring: all of them before the
 * first step, then each whenever it has gained a path. A step is then two small products and a grid
 * barrier. A matrix of n slots takes n / BOOL_TILE steps, which read three tiles of 2 KB; a
 * squaring of the whole matrix reads two panels of 128 n bits, once for every doubling.
 *
 * Tiles are read while others write them, in the same step. Bits are only ever set, and only where
 * there is a path, so this does no harm.
 *
 * Columns of another matrix may follow on the right (what each slot leads to outside). They take
 * part in every step and gain what the closure would give them.
 */
#pragma once

#include "foundation/gpu/kernels/detect/lmdda.h"
#include "foundation/gpu/kernels/matrix/bool_tile.h"
#include "foundation/gpu/kernels/matrix/warp_transpose.h"

/* ---- tiles in shared memory */

/* A row has four words. Rows 32 apart are 8 banks apart, so the 8 columns of a unit
 * (multiply_by_units) are in different banks. */
#define CLOSURE_ROW_WORDS (BOOL_TILE / 32)
#define CLOSURE_SKEW      8u
#define CLOSURE_WORDS     (BOOL_TILE * CLOSURE_ROW_WORDS + BOOL_TILE / 32 * CLOSURE_SKEW)
#define CLOSURE_CHUNKS    (CLOSURE_WORDS / 4)

DEVICE uint32_t closure_at(uint32_t row, uint32_t word)
{
    return row * CLOSURE_ROW_WORDS + row / 32 * CLOSURE_SKEW + word;
}

/* A lane's share of a tile: word LANE % 4 of two rows. A warp has 16 rows, and only this warp
 * multiplies them from the left. */
struct closure_words {
    uint32_t upper, lower;
};

DEVICE uint32_t closure_row(void)
{
    return THREAD_INDEX / WARP_SIZE * 16 + LANE / 4;
}

DEVICE struct closure_words closure_read(const uint32_t *tile)
{
    struct closure_words words;
    words.upper = tile[closure_at(closure_row(), LANE % 4)];
    words.lower = tile[closure_at(closure_row() + 8, LANE % 4)];
    return words;
}

DEVICE void closure_write(uint32_t *tile, struct closure_words words)
{
    tile[closure_at(closure_row(), LANE % 4)] = words.upper;
    tile[closure_at(closure_row() + 8, LANE % 4)] = words.lower;
}

DEVICE struct closure_words closure_join(struct closure_words one, struct closure_words other)
{
    one.upper |= other.upper;
    one.lower |= other.lower;
    return one;
}

DEVICE bool closure_differs(struct closure_words one, struct closure_words other)
{
    return one.upper != other.upper || one.lower != other.lower;
}

/* Transposes a tile. All warps, 32 x 32 bits at a time. */
DEVICE void closure_transpose(uint32_t *to, const uint32_t *from)
{
    for (uint32_t i = THREAD_INDEX / WARP_SIZE; i < CLOSURE_ROW_WORDS * CLOSURE_ROW_WORDS;
         i += BOOL_TILE_THREADS / WARP_SIZE) {
        uint32_t down = i / CLOSURE_ROW_WORDS, across = i % CLOSURE_ROW_WORDS;
        uint32_t turned = warp_transpose(from[closure_at(down * 32 + LANE, across)]);
        to[closure_at(across * 32 + LANE, down)] = turned;
    }
}

/* ---- products */

/* Returns the bits of the 32 columns of a lane's word that a row meets. */
DEVICE uint32_t closure_meet(uint4 row, const uint32_t *turned)
{
    uint32_t found = 0;
    for (uint32_t bit = 0; bit < 32; bit++) {
        uint32_t at = closure_at(LANE % 4 * 32 + bit, 0);
        uint4 column = *(const uint4 *)(const void *)&turned[at];
        uint32_t meet =
            (row.x & column.x) | (row.y & column.y) | (row.z & column.z) | (row.w & column.w);
        found |= (uint32_t)(meet != 0) << bit;
    }
    return found;
}

DEVICE struct closure_words multiply_by_words(const uint32_t *left, const uint32_t *turned)
{
    const uint4 *upper = (const uint4 *)(const void *)&left[closure_at(closure_row(), 0)];
    const uint4 *lower = (const uint4 *)(const void *)&left[closure_at(closure_row() + 8, 0)];
    struct closure_words found;
    found.upper = closure_meet(*upper, turned);
    found.lower = closure_meet(*lower, turned);
    return found;
}

#if BOOL_TENSOR
/* Multiplies 16 rows by 128 columns: 16 units of 8 columns. The columns are assigned so that the
 * two that a lane gets of each unit are among the 32 of its word: column 2 t + e of unit j is
 * column 32 t + 2 j + e of the tile. */
DEVICE struct closure_words multiply_by_units(const uint32_t *left, const uint32_t *turned)
{
    uint32_t group = LANE / 4, part = LANE % 4;
    struct closure_words mine = closure_read(left), found = {0, 0};
    if (!warp_any(WARP_ALL, (mine.upper | mine.lower) != 0))
        return found;
    BOOL_UNROLL
    for (uint32_t j = 0; j < BOOL_TILE / 8; j++) {
        int counts[4] = {0, 0, 0, 0};
        uint32_t column = group / 2 * 32 + 2 * j + group % 2;
        multiply_unit(counts, mine.upper, mine.lower, 0, 0, turned[closure_at(column, part)], 0);
        found.upper |= (uint32_t)(counts[0] != 0) << (2 * j);
        found.upper |= (uint32_t)(counts[1] != 0) << (2 * j + 1);
        found.lower |= (uint32_t)(counts[2] != 0) << (2 * j);
        found.lower |= (uint32_t)(counts[3] != 0) << (2 * j + 1);
    }
    return found;
}
#endif

/* Returns the lane's share of left . right, with the right factor transposed. */
DEVICE struct closure_words closure_multiply(const uint32_t *left, const uint32_t *turned,
                                             uint32_t tensor)
{
#if BOOL_TENSOR
    if (tensor)
        return multiply_by_units(left, turned);
#endif
    return multiply_by_words(left, turned);
}

/* ---- tiles in device memory */

struct closure_place {
    uint32_t *first; /* word */
    uint32_t stride; /* words from row to row */
    uint32_t rows;   /* rows that exist */
};

DEVICE struct closure_place closure_place(const struct bit_closure_arguments *c, uint32_t down,
                                          uint32_t across)
{
    uint32_t side = BOOL_TILES(c->size), left = c->size - down * BOOL_TILE;
    bool hanging = across >= side;
    struct closure_place place;
    place.stride = hanging ? c->held_stride : c->stride;
    place.first = GPU_POINTER(uint32_t, hanging ? c->held : c->paths) +
                  (uint64_t)down * BOOL_TILE * place.stride +
                  (hanging ? across - side : across) * CLOSURE_ROW_WORDS;
    place.rows = left < BOOL_TILE ? left : BOOL_TILE;
    return place;
}

DEVICE uint32_t *closure_word(struct closure_place place, uint32_t row)
{
    return place.first + (uint64_t)row * place.stride + LANE % 4;
}

DEVICE struct closure_words closure_load(struct closure_place place)
{
    struct closure_words words;
    uint32_t row = closure_row();
    words.upper = row < place.rows ? *closure_word(place, row) : 0;
    words.lower = row + 8 < place.rows ? *closure_word(place, row + 8) : 0;
    return words;
}

/* Stores the words that differ. Rows that do not exist have no bits. */
DEVICE void closure_store(struct closure_place place, struct closure_words words,
                          struct closure_words before)
{
    uint32_t row = closure_row();
    if (words.upper != before.upper)
        *closure_word(place, row) = words.upper;
    if (words.lower != before.lower)
        *closure_word(place, row + 8) = words.lower;
}

/* Starts the copy of one row of a tile to shared memory. */
DEVICE void closure_fetch(uint32_t *tile, struct closure_place place, uint32_t row)
{
    bool there = row < place.rows;
    const uint32_t *from = there ? place.first + (uint64_t)row * place.stride : place.first;
    copy_chunk((uint4 *)(void *)&tile[closure_at(row, 0)], (const uint4 *)(const void *)from,
               there);
}

DEVICE bool closure_row_is_empty(const uint32_t *tile, uint32_t row)
{
    uint4 bits = *(const uint4 *)(const void *)&tile[closure_at(row, 0)];
    return (bits.x | bits.y | bits.z | bits.w) == 0;
}

/* ---- steps */

struct closure_tiles {
    uint32_t *middle, *middle_turned;
    uint32_t *left, *right_turned, *right;
    uint32_t *extended; /* left . (1 | middle) */
};

/* Closes a tile of which each thread has its share: squares it until nothing changes. */
DEVICE struct closure_words close_tile(const struct closure_tiles *t, struct closure_words words,
                                       uint32_t tensor)
{
    for (uint32_t length = 1; length < BOOL_TILE; length *= 2) {
        closure_write(t->left, words);
        block_barrier();
        closure_transpose(t->right_turned, t->left);
        block_barrier();
        struct closure_words next =
            closure_join(words, closure_multiply(t->left, t->right_turned, tensor));
        bool changed = closure_differs(words, next);
        words = next;
        if (!block_any(changed))
            break;
    }
    return words;
}

DEVICE void close_diagonal(const struct bit_closure_arguments *c, const struct closure_tiles *t)
{
    for (uint32_t i = BLOCK_INDEX; i < BOOL_TILES(c->size); i += GRID_SIZE) {
        struct closure_place place = closure_place(c, i, i);
        struct closure_words before = closure_load(place);
        closure_store(place, close_tile(t, before, c->tensor), before);
        block_barrier();
    }
}

/* Loads the factors of a tile: half of the threads the left one, the others the right one, and the
 * middle with the step's first. Returns false if one of them is empty. */
DEVICE bool bring_factors(const struct bit_closure_arguments *c, const struct closure_tiles *t,
                          uint32_t step, uint32_t down, uint32_t across, bool first)
{
    uint32_t row = THREAD_INDEX % BOOL_TILE;
    bool is_left = THREAD_INDEX < BOOL_TILE;
    uint32_t *mine = is_left ? t->left : t->right;
    struct closure_place from =
        is_left ? closure_place(c, down, step) : closure_place(c, step, across);
    closure_fetch(mine, from, row);
    if (first && is_left)
        closure_fetch(t->middle, closure_place(c, step, step), row);
    close_stage();
    wait_all();
    bool bits = !closure_row_is_empty(mine, row);
    bool left = block_any(is_left && bits);
    bool right = block_any(!is_left && bits);
    return left && right;
}

/* Adds to `words` what a tile gains in this step. */
DEVICE struct closure_words learn_words(const struct bit_closure_arguments *c,
                                        const struct closure_tiles *t, bool first,
                                        struct closure_words words)
{
    closure_transpose(t->right_turned, t->right);
    if (first)
        closure_transpose(t->middle_turned, t->middle);
    block_barrier();
    struct closure_words extended = closure_multiply(t->left, t->middle_turned, c->tensor);
    closure_write(t->extended, closure_join(closure_read(t->left), extended));
    warp_barrier(WARP_ALL); /* only this warp uses these rows */
    return closure_join(words, closure_multiply(t->extended, t->right_turned, c->tensor));
}

DEVICE void closure_step(const struct bit_closure_arguments *c, const struct closure_tiles *t,
                         uint32_t step)
{
    uint32_t side = BOOL_TILES(c->size), across = side + BOOL_TILES(c->columns);
    bool first = true, turned = false;
    for (uint32_t i = BLOCK_INDEX; i < side * across; i += GRID_SIZE) {
        uint32_t down = i / across, at = i % across;
        struct closure_place place = closure_place(c, down, at);
        struct closure_words before = closure_load(place), words = before;
        block_barrier(); /* the previous tile no longer needs the shared ones */
        bool some = bring_factors(c, t, step, down, at, first);
        first = false;
        if (!some)
            continue;
        words = learn_words(c, t, !turned, words);
        turned = true;
        if (down == at && block_any(closure_differs(words, before)))
            words = close_tile(t, words, c->tensor);
        closure_store(place, words, before);
    }
}

/* For all blocks of a cooperative launch, with BOOL_TILE_THREADS each. At the end everything is
 * visible to all of them. */
DEVICE void closure_steps(const struct bit_closure_arguments *c)
{
    SHARED2(uint4, tiles, 6, CLOSURE_CHUNKS);
    struct grid_barrier *barrier = GPU_POINTER(struct grid_barrier, c->barrier);
    struct closure_tiles t;
    t.middle = (uint32_t *)(void *)tiles[0];
    t.middle_turned = (uint32_t *)(void *)tiles[1];
    t.left = (uint32_t *)(void *)tiles[2];
    t.right = (uint32_t *)(void *)tiles[3];
    t.right_turned = (uint32_t *)(void *)tiles[4];
    t.extended = (uint32_t *)(void *)tiles[5];
    close_diagonal(c, &t);
    grid_barrier(barrier);
    for (uint32_t step = 0; step < BOOL_TILES(c->size); step++) {
        closure_step(c, &t, step);
        grid_barrier(barrier);
    }
}

/*
 * One tile of a boolean product (bool_product.h), computed by a block of BOOL_TILE_THREADS.
 *
 * Both factors pass through shared memory, 512 bits of the inner size at a time; the next piece is
 * loaded while one is used. There are two ways to combine them: the matrix units (16 x 8 x 256 bits
 * an instruction, and + popcount: a bit of the product is a count that is not zero), or words.
 */
#pragma once

#include "foundation/gpu/kernels/matrix/bool_product.h"
#include "foundation/gpu/language/kernel.h"

#define BOOL_STEP_WORDS  16u                            /* of the inner size */
#define BOOL_STEP_CHUNKS (BOOL_STEP_WORDS / 4)          /* of 16 bytes, a row */
#define BOOL_STAGE       (BOOL_TILE * BOOL_STEP_CHUNKS) /* chunks of a tile's piece */

/* From sm_100 on the instruction is implemented in software and slower than words. On the emulator
 * the lanes exchange what the instruction would. */
#if !defined(__CUDA_ARCH__) || (__CUDA_ARCH__ >= 800 && __CUDA_ARCH__ < 1000)
#define BOOL_TENSOR 1
#else
#define BOOL_TENSOR 0
#endif

/* For loops over registers, which must be unrolled. */
#ifdef __CUDACC__
#define BOOL_UNROLL _Pragma("unroll")
#else
#define BOOL_UNROLL
#endif

/* ---- loading pieces */

DEVICE void copy_chunk(uint4 *to, const uint4 *from, bool there)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    uint32_t shared = (uint32_t)__cvta_generic_to_shared(to);
    uint32_t bytes = there ? 16u : 0u; /* the rest becomes zero */
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared), "l"(from),
                 "r"(bytes)
                 : "memory");
#else
    uint4 zero = {0, 0, 0, 0};
    *to = there ? *from : zero;
#endif
}

DEVICE void close_stage(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

/* Waits until all stages except the last closed one have arrived. */
DEVICE void wait_stage(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
    block_barrier();
}

/* Waits until everything that this thread has requested has arrived. */
DEVICE void wait_all(void)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

/* Loads BOOL_TILE rows from `row` on, the words of step `step`. */
DEVICE void load_piece(uint4 *to, uint64_t matrix, uint32_t stride, uint32_t row, uint32_t rows,
                       uint32_t step, uint32_t inner_words)
{
    const uint32_t *words = GPU_POINTER(const uint32_t, matrix);
    for (uint32_t i = THREAD_INDEX; i < BOOL_STAGE; i += BOOL_TILE_THREADS) {
        uint32_t at_row = row + i / BOOL_STEP_CHUNKS;
        uint32_t at_word = step * BOOL_STEP_WORDS + i % BOOL_STEP_CHUNKS * 4;
        bool there = at_row < rows && at_word < inner_words;
        const uint32_t *from = there ? words + (uint64_t)at_row * stride + at_word : words;
        copy_chunk(&to[i], (const uint4 *)(const void *)from, there);
    }
}

/* ---- storing a word of the product */

/* Returns the address of a word of the product. NULL: it is outside, or nothing in it is set. */
DEVICE uint32_t *place_of(const struct bool_product_arguments *product, uint32_t row, uint32_t word,
                          uint32_t bits)
{
    if (bits == 0 || row >= product->rows || word * 32 >= product->columns)
        return 0;
    return GPU_POINTER(uint32_t, product->out) + (uint64_t)row * product->out_stride + word;
}

DEVICE bool put_bits(uint32_t *out, uint32_t before, uint32_t bits)
{
    if (!out || (before | bits) == before)
        return false;
    *out = before | bits;
    return true;
}

DEVICE bool put_word(const struct bool_product_arguments *product, uint32_t row, uint32_t word,
                     uint32_t bits)
{
    uint32_t *out = place_of(product, row, word, bits);
    return put_bits(out, out ? *out : 0, bits);
}

/* ---- with words */

/* Two threads for each row, each with half of the columns. */
#define BOOL_WORDS_EACH (BOOL_TILE / 32 / (BOOL_TILE_THREADS / BOOL_TILE))

/* Combines the thread's row with its columns of the tile. */
DEVICE void combine_words(const uint4 *left, const uint4 *right, uint32_t *found)
{
    const uint4 *mine = left + THREAD_INDEX % BOOL_TILE * BOOL_STEP_CHUNKS;
    right += THREAD_INDEX / BOOL_TILE * BOOL_WORDS_EACH * 32 * BOOL_STEP_CHUNKS;
    uint4 m0 = mine[0], m1 = mine[1], m2 = mine[2], m3 = mine[3];
    uint32_t any = m0.x | m0.y | m0.z | m0.w | m1.x | m1.y | m1.z | m1.w | m2.x | m2.y | m2.z |
                   m2.w | m3.x | m3.y | m3.z | m3.w;
    if (any == 0)
        return;
    for (uint32_t word = 0; word < BOOL_WORDS_EACH; word++)
        for (uint32_t bit = 0; bit < 32; bit++) {
            const uint4 *other = right + (word * 32 + bit) * BOOL_STEP_CHUNKS;
            uint4 o0 = other[0], o1 = other[1], o2 = other[2], o3 = other[3];
            uint32_t meet = (m0.x & o0.x) | (m0.y & o0.y) | (m0.z & o0.z) | (m0.w & o0.w) |
                            (m1.x & o1.x) | (m1.y & o1.y) | (m1.z & o1.z) | (m1.w & o1.w) |
                            (m2.x & o2.x) | (m2.y & o2.y) | (m2.z & o2.z) | (m2.w & o2.w) |
                            (m3.x & o3.x) | (m3.y & o3.y) | (m3.z & o3.z) | (m3.w & o3.w);
            found[word] |= (uint32_t)(meet != 0) << bit;
        }
}

DEVICE bool tile_by_words(const struct bool_product_arguments *product, uint32_t row,
                          uint32_t column, uint4 *left, uint4 *right)
{
    uint32_t found[BOOL_WORDS_EACH] = {0};
    uint32_t steps = (product->inner_words + BOOL_STEP_WORDS - 1) / BOOL_STEP_WORDS;
    for (uint32_t step = 0; step < steps; step++) {
        load_piece(left, product->left, product->left_stride, row, product->rows, step,
                   product->inner_words);
        load_piece(right, product->right, product->right_stride, column, product->columns, step,
                   product->inner_words);
        close_stage();
        close_stage(); /* an empty stage: wait for the other */
        wait_stage();
        combine_words(left, right, found);
        block_barrier();
    }
    bool changed = false;
    uint32_t first = column / 32 + THREAD_INDEX / BOOL_TILE * BOOL_WORDS_EACH;
    for (uint32_t word = 0; word < BOOL_WORDS_EACH; word++)
        changed |= put_word(product, row + THREAD_INDEX % BOOL_TILE, first + word, found[word]);
    return changed;
}

/* ---- with the matrix units */

#if BOOL_TENSOR

/* Each of the eight warps computes an eighth, 32 x 64, of 2 x 8 units of 16 x 8. */
#define BOOL_UNITS_DOWN   2
#define BOOL_UNITS_ACROSS 8
#define BOOL_ROWS_EACH    (16u * BOOL_UNITS_DOWN)

/* counts += a (16 x 256 bits) . b (256 x 8 bits). Lane 4 g + t has row g (a0, a2) and row g + 8
 * (a1, a3) of a and column g of b, each time words t and t + 4; and of the counts rows g and g + 8,
 * columns 2 t and 2 t + 1. */
DEVICE void multiply_unit(int *counts, uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3,
                          uint32_t b0, uint32_t b1)
{
#ifdef __CUDA_ARCH__
    asm volatile("mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc "
                 "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+r"(counts[0]), "+r"(counts[1]), "+r"(counts[2]), "+r"(counts[3])
                 : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#else
    for (uint32_t t = 0; t < 4; t++) {
        uint32_t of_row = LANE / 4 * 4 + t;
        uint32_t row[4] = {warp_shuffle(WARP_ALL, a0, of_row), warp_shuffle(WARP_ALL, a1, of_row),
                           warp_shuffle(WARP_ALL, a2, of_row), warp_shuffle(WARP_ALL, a3, of_row)};
        for (uint32_t i = 0; i < 2; i++) {
            uint32_t of_column = (LANE % 4 * 2 + i) * 4 + t;
            uint32_t low = warp_shuffle(WARP_ALL, b0, of_column);
            uint32_t high = warp_shuffle(WARP_ALL, b1, of_column);
            counts[i] += (int)(popcount32(row[0] & low) + popcount32(row[2] & high));
            counts[2 + i] += (int)(popcount32(row[1] & low) + popcount32(row[3] & high));
        }
    }
#endif
}

/* The instruction takes words t and t + 4 of a row's 8. Any order of the inner bits that is the
 * same for both factors is correct, so a lane takes 4 adjacent words, for two instructions. */
DEVICE void combine_units(const uint4 *left, const uint4 *right,
                          int counts[BOOL_UNITS_DOWN][BOOL_UNITS_ACROSS][4])
{
    uint32_t group = LANE / 4, part = LANE % 4, warp = THREAD_INDEX / WARP_SIZE;
    const uint4 *rows = left + (warp / 2 * BOOL_ROWS_EACH + group) * BOOL_STEP_CHUNKS + part;
    const uint4 *columns = right + (warp % 2 * 64 + group) * BOOL_STEP_CHUNKS + part;
    uint4 low[BOOL_UNITS_DOWN], high[BOOL_UNITS_DOWN];
    uint32_t any = 0;
    BOOL_UNROLL
    for (int i = 0; i < BOOL_UNITS_DOWN; i++) {
        low[i] = rows[i * 16 * BOOL_STEP_CHUNKS];
        high[i] = rows[(i * 16 + 8) * BOOL_STEP_CHUNKS];
        any |= low[i].x | low[i].y | low[i].z | low[i].w;
        any |= high[i].x | high[i].y | high[i].z | high[i].w;
    }
    if (!warp_any(WARP_ALL, any != 0))
        return; /* most tiles of sparse matrices */
    BOOL_UNROLL
    for (int j = 0; j < BOOL_UNITS_ACROSS; j++) {
        uint4 b = columns[j * 8 * BOOL_STEP_CHUNKS];
        BOOL_UNROLL
        for (int i = 0; i < BOOL_UNITS_DOWN; i++) {
            multiply_unit(counts[i][j], low[i].x, high[i].x, low[i].y, high[i].y, b.x, b.y);
            multiply_unit(counts[i][j], low[i].z, high[i].z, low[i].w, high[i].w, b.z, b.w);
        }
    }
}

/* Assembles 32 bits of one row from four adjacent units: each of the row's four lanes has two of
 * every eight. All four get the word. */
DEVICE uint32_t gather_word(int counts[BOOL_UNITS_ACROSS][4], int first, int half)
{
    uint32_t part = LANE % 4, bits = 0;
    BOOL_UNROLL
    for (int j = 0; j < 4; j++) {
        bits |= (uint32_t)(counts[first + j][2 * half] != 0) << (j * 8 + part * 2);
        bits |= (uint32_t)(counts[first + j][2 * half + 1] != 0) << (j * 8 + part * 2 + 1);
    }
    bits |= warp_shuffle_xor(WARP_ALL, bits, 1);
    return bits | warp_shuffle_xor(WARP_ALL, bits, 2);
}

/* All words are read before any is written: the reads then overlap. */
DEVICE bool put_units(const struct bool_product_arguments *product, uint32_t row, uint32_t column,
                      int counts[BOOL_UNITS_DOWN][BOOL_UNITS_ACROSS][4])
{
    uint32_t warp = THREAD_INDEX / WARP_SIZE, part = LANE % 4;
    uint32_t bits[2 * BOOL_UNITS_DOWN], before[2 * BOOL_UNITS_DOWN];
    uint32_t *out[2 * BOOL_UNITS_DOWN];
    row += warp / 2 * BOOL_ROWS_EACH + LANE / 4;
    column += warp % 2 * 64;
    BOOL_UNROLL
    for (int i = 0; i < 2 * BOOL_UNITS_DOWN; i++) {
        uint32_t first = gather_word(counts[i / 2], 0, i % 2);
        uint32_t second = gather_word(counts[i / 2], 4, i % 2);
        bits[i] = part == 0 ? first : part == 1 ? second : 0;
        out[i] = place_of(product, row + (uint32_t)i * 8, column / 32 + part, bits[i]);
        before[i] = out[i] ? *out[i] : 0;
    }
    bool changed = false;
    BOOL_UNROLL
    for (int i = 0; i < 2 * BOOL_UNITS_DOWN; i++)
        changed |= put_bits(out[i], before[i], bits[i]);
    return changed;
}

DEVICE void load_stage(const struct bool_product_arguments *product, uint32_t row, uint32_t column,
                       uint32_t step, uint32_t steps, uint4 *left, uint4 *right)
{
    if (step < steps) {
        uint32_t stage = step % 2 * BOOL_STAGE;
        load_piece(left + stage, product->left, product->left_stride, row, product->rows, step,
                   product->inner_words);
        load_piece(right + stage, product->right, product->right_stride, column, product->columns,
                   step, product->inner_words);
    }
    close_stage();
}

DEVICE bool tile_by_units(const struct bool_product_arguments *product, uint32_t row,
                          uint32_t column, uint4 *left, uint4 *right)
{
    int counts[BOOL_UNITS_DOWN][BOOL_UNITS_ACROSS][4] = {{{0}}};
    uint32_t steps = (product->inner_words + BOOL_STEP_WORDS - 1) / BOOL_STEP_WORDS;
    load_stage(product, row, column, 0, steps, left, right);
    for (uint32_t step = 0; step < steps; step++) {
        load_stage(product, row, column, step + 1, steps, left, right);
        wait_stage();
        uint32_t stage = step % 2 * BOOL_STAGE;
        combine_units(left + stage, right + stage, counts);
        block_barrier();
    }
    return put_units(product, row, column, counts);
}

#endif

/* Computes the tile with this first row and column (multiples of BOOL_TILE). Returns true if this
 * thread has set a new bit. Every thread of the block calls it together. */
DEVICE bool bool_tile(const struct bool_product_arguments *product, uint32_t row, uint32_t column)
{
    SHARED(uint4, bool_left, 2 * BOOL_STAGE);
    SHARED(uint4, bool_right, 2 * BOOL_STAGE);
#if BOOL_TENSOR
    if (product->tensor)
        return tile_by_units(product, row, column, bool_left, bool_right);
#endif
    return tile_by_words(product, row, column, bool_left, bool_right);
}

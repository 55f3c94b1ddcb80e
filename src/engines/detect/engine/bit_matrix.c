/* Rows of bits: storage, and the loops in which the matrix engine spends its time. They work on
 * whole lines, which GCC and Clang compile to the widest SIMD of the target. */
#include "engines/detect/engine/matrix.h"

#include <string.h>

#define LINE_BYTES (MATRIX_LINE_WORDS * sizeof(uint64_t))

typedef uint64_t line_of_words __attribute__((vector_size(LINE_BYTES), may_alias));

static inline line_of_words *lines_of(uint64_t *row)
{
    return (line_of_words *)(void *)row;
}

static inline const line_of_words *const_lines(const uint64_t *row)
{
    return (const line_of_words *)(const void *)row;
}

bool bit_matrix_open(struct bit_matrix *matrix, const gordian_allocator *memory, uint32_t rows,
                     size_t row_words)
{
    *matrix = (struct bit_matrix){.rows = rows};
    matrix->stride = (row_words + MATRIX_LINE_WORDS - 1) / MATRIX_LINE_WORDS * MATRIX_LINE_WORDS;
    size_t row_bytes = matrix->stride * sizeof(uint64_t);
    if (rows && row_bytes > (SIZE_MAX - LINE_BYTES) / rows)
        return false;
    matrix->block = memory_zeroed(memory, rows * row_bytes + LINE_BYTES);
    if (!matrix->block)
        return false;
    uintptr_t address = (uintptr_t)matrix->block;
    size_t shift = (LINE_BYTES - address % LINE_BYTES) % LINE_BYTES;
    matrix->words = (uint64_t *)(void *)((char *)matrix->block + shift);
    return true;
}

void bit_matrix_close(struct bit_matrix *matrix, const gordian_allocator *memory)
{
    memory_free(memory, matrix->block);
    *matrix = (struct bit_matrix){0};
}

void bit_matrix_copy(struct bit_matrix *to, const struct bit_matrix *from)
{
    for (uint32_t row = 0; row < from->rows; row++)
        row_copy(bit_row(to, row), bit_row(from, row), from->stride);
}

void row_or(uint64_t *restrict to, const uint64_t *restrict from, size_t words)
{
    line_of_words *restrict out = lines_of(to);
    const line_of_words *restrict in = const_lines(from);
    for (size_t i = 0; i < words / MATRIX_LINE_WORDS; i++)
        out[i] |= in[i];
}

void row_subtract(uint64_t *restrict to, const uint64_t *restrict from, size_t words)
{
    line_of_words *restrict out = lines_of(to);
    const line_of_words *restrict in = const_lines(from);
    for (size_t i = 0; i < words / MATRIX_LINE_WORDS; i++)
        out[i] &= ~in[i];
}

void row_copy(uint64_t *restrict to, const uint64_t *restrict from, size_t words)
{
    memcpy(to, from, words * sizeof *to);
}

void row_zero(uint64_t *to, size_t words)
{
    memset(to, 0, words * sizeof *to);
}

static bool any_bit(const line_of_words *line)
{
    uint64_t any = 0;
    for (size_t i = 0; i < MATRIX_LINE_WORDS; i++)
        any |= (*line)[i];
    return any != 0;
}

bool row_is_zero(const uint64_t *row, size_t words)
{
    const line_of_words *in = const_lines(row);
    line_of_words all = {0};
    for (size_t i = 0; i < words / MATRIX_LINE_WORDS; i++)
        all |= in[i];
    return !any_bit(&all);
}

bool row_meets(const uint64_t *one, const uint64_t *other, size_t words)
{
    const line_of_words *a = const_lines(one), *b = const_lines(other);
    line_of_words common = {0};
    for (size_t i = 0; i < words / MATRIX_LINE_WORDS; i++)
        common |= a[i] & b[i];
    return any_bit(&common);
}

bool row_or_changes(uint64_t *restrict to, const uint64_t *restrict from, size_t words)
{
    line_of_words *restrict out = lines_of(to);
    const line_of_words *restrict in = const_lines(from);
    line_of_words fresh = {0};
    for (size_t i = 0; i < words / MATRIX_LINE_WORDS; i++) {
        fresh |= in[i] & ~out[i];
        out[i] |= in[i];
    }
    return any_bit(&fresh);
}

uint32_t row_only_bit(const uint64_t *row, size_t words)
{
    for (size_t i = 0; i < words; i++)
        if (row[i])
            return (uint32_t)(i * 64 + (size_t)__builtin_ctzll(row[i]));
    return NONE;
}

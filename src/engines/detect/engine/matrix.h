/*
 * The matrix engine: deadlock detection on bit matrices, after the papers on OSDDA (single-unit
 * systems) and LMDDA (multi-unit systems).
 *
 *     AG[q][p]    p holds q; LMDDA counts the units
 *     AR[p][q]    p waits for q
 *     RP[q][p]    p can be reached from q along grants (q -> p) and requests (p -> q)
 *     RR[q][q']   OSDDA: q' can be reached from q; RR[q][q] = 1
 *     Sink[q][p]  OSDDA: the path from q ends in p, which runs; an empty row: q is free, or
 *                 its path leads into a cycle
 *     SP[p]       LMDDA: p runs
 *
 * These definitions hold after every event. So an event is judged by one lookup: in OSDDA a
 * deadlock is "Sink[q] is the requester", in LMDDA "the requester is the only running process that
 * q reaches". The work is in updating the matrices: whole rows are combined, many words at a time
 * (SIMD), and rows are laid out for that.
 *
 * Where the papers transpose a matrix to read a column, this engine asks the graph (struct rag) for
 * holders and waiters.
 *
 *     bit_matrix.c   rows of bits: storage and row operations
 *     osdda.c        the single-unit method
 *     lmdda.c        the multi-unit method
 *     matrix.c       the engine: chooses the method by the system's model
 */
#pragma once

#include "engines/detect/engine/engine.h"
#include "foundation/base/bits.h"
#include "foundation/base/memory.h"

/* ------------------------------------------------------------------ rows of words */

/* Rows start on a cache line and are whole cache lines long, so row operations need no special
 * cases at the ends, and every row can be loaded aligned. */
#define MATRIX_LINE_WORDS 8

struct bit_matrix {
    uint64_t *words; /* aligned to a line, inside `block` */
    void *block;     /* the allocator's pointer */
    size_t stride;   /* words from row to row: a multiple of MATRIX_LINE_WORDS */
    uint32_t rows;
};

/* Returns the words of a row of that many bits, in whole lines. */
static inline size_t matrix_words(size_t bits)
{
    return (bits_words(bits) + MATRIX_LINE_WORDS - 1) / MATRIX_LINE_WORDS * MATRIX_LINE_WORDS;
}

/* Opens an all-zero matrix. Returns false if out of memory; *matrix is then empty. */
bool bit_matrix_open(struct bit_matrix *matrix, const gordian_allocator *memory, uint32_t rows,
                     size_t row_words);
void bit_matrix_close(struct bit_matrix *matrix, const gordian_allocator *memory);
/* Copies every row of `from` to the same row of `to`, which is at least as large. */
void bit_matrix_copy(struct bit_matrix *to, const struct bit_matrix *from);

static inline uint64_t *bit_row(const struct bit_matrix *matrix, uint32_t row)
{
    return matrix->words + row * matrix->stride;
}

static inline bool bit_get(const struct bit_matrix *matrix, uint32_t row, uint32_t column)
{
    return bits_test(bit_row(matrix, row), column);
}

static inline void bit_set(struct bit_matrix *matrix, uint32_t row, uint32_t column)
{
    bits_set(bit_row(matrix, row), column);
}

static inline void bit_clear(struct bit_matrix *matrix, uint32_t row, uint32_t column)
{
    bits_clear(bit_row(matrix, row), column);
}

/* Row operations. The two rows must differ; `words` counts whole lines (matrix_words). */
void row_or(uint64_t *restrict to, const uint64_t *restrict from, size_t words);
void row_subtract(uint64_t *restrict to, const uint64_t *restrict from, size_t words);
void row_copy(uint64_t *restrict to, const uint64_t *restrict from, size_t words);
void row_zero(uint64_t *to, size_t words);
bool row_is_zero(const uint64_t *row, size_t words);
/* Returns whether a bit is set in both rows, which may be the same. */
bool row_meets(const uint64_t *one, const uint64_t *other, size_t words);
/* ORs `from` into `to` and returns whether `to` has changed. */
bool row_or_changes(uint64_t *restrict to, const uint64_t *restrict from, size_t words);
/* Returns the one bit that is set in the row, or NONE. */
uint32_t row_only_bit(const uint64_t *row, size_t words);

/* ------------------------------------------------------------------ methods */

#define MATRIX_COUNT 7

struct matrix_engine {
    gordian_allocator memory;
    const struct rag *rag;
    const struct detect_engine *method; /* its hooks; NULL before the first prepare */
    uint32_t process_room, resource_room;
    union {
        struct bit_matrix all[MATRIX_COUNT]; /* the first five by gordian_matrix */
        struct {
            struct bit_matrix ag, ar, sink, rr, rp;
            struct bit_matrix running; /* LMDDA, one row: SP */
            struct bit_matrix hops; /* LMDDA, one row: the resources a row's processes wait for */
        };
    };

    /* OSDDA: the resources that the current event has released, and by whom. Serve takes them;
     * settle clears the rest. */
    uint32_t *released;
    uint32_t released_count, releaser;
    uint32_t *todo; /* capacity: every resource; see osdda_cancel */

    bool stale; /* LMDDA: the current event has removed an edge, so RP has to be recomputed */
};

/* The hooks of the two methods, and the functions that fill new matrices. */
extern const struct detect_engine matrix_osdda, matrix_lmdda;
void matrix_read_osdda(struct matrix_engine *e);
void matrix_read_lmdda(struct matrix_engine *e);

/* Supports every model except the general one. `model` is a problem of the engine table. */
bool matrix_supports(const void *model, const char **why);

/*
 * Storage of matrix elements. The thesis has its methods in two forms. In the initial form an
 * element
 * is a character (OSDDA: or an integer). In the final form a word holds 32 elements. The kernels
 * are
 * otherwise the same, so each method has one body and a file for each form, which selects the form
 * (FORM_BITS, FORM_CHARS, FORM_INTS) and includes the body.
 *
 * In a word the first element is the lowest bit; in the papers it is the highest.
 */
#pragma once

#include "foundation/gpu/language/kernel.h"

#if defined(FORM_BITS)
typedef uint32_t cell;
typedef uint32_t counter; /* an element of AG in a multi-unit system */
#define CELL_OF(element)  ((element) / 32)
#define MASK_OF(element)  ((cell)1 << (element) % 32)
#define CELLS_FOR(count)  (((count) + 31) / 32)
#define FORM_KERNEL(name) published_##name##_bits
#else
#if defined(FORM_CHARS)
typedef uint8_t cell;
typedef uint8_t counter;
#define FORM_KERNEL(name) published_##name##_chars
#else
typedef uint32_t cell;
typedef uint32_t counter;
#define FORM_KERNEL(name) published_##name##_ints
#endif
#define CELL_OF(element) (element)
#define MASK_OF(element) ((cell)1)
#define CELLS_FOR(count) (count)
#endif

DEVICE cell *row_of(uint64_t matrix, uint32_t row, uint32_t across)
{
    return GPU_POINTER(cell, matrix) + (uint64_t)row * across;
}

DEVICE bool has_element(const cell *row, uint32_t element)
{
    /* The papers check whether the masked value is 1; but if set, it equals the mask. */
    return (row[CELL_OF(element)] & MASK_OF(element)) != 0;
}

DEVICE void put_element(cell *row, uint32_t element)
{
    row[CELL_OF(element)] = (cell)(row[CELL_OF(element)] | MASK_OF(element));
}

DEVICE void drop_element(cell *row, uint32_t element)
{
    row[CELL_OF(element)] = (cell)(row[CELL_OF(element)] & ~MASK_OF(element));
}

/* Like put_element, but safe while other threads put other elements. */
DEVICE void put_element_atomic(cell *row, uint32_t element)
{
#if defined(FORM_BITS)
    atomic_or32(&row[CELL_OF(element)], MASK_OF(element));
#else
    put_element(row, element);
#endif
}

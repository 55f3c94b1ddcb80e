/* The transpose of a bit matrix. */
#pragma once

#include <stdint.h>

#define BIT_TRANSPOSE_TILE    256u /* rows and columns that a block transposes at a time */
#define BIT_TRANSPOSE_THREADS 256u

/* Rows start at multiples of 16 bytes, strides are multiples of 4 words. Every word of `out` within
 * the strides is written: rows of `out` up to `columns`, words up to `rows` bits, rounded up to 4
 * words; what has no source becomes zero. */
struct bit_transpose_arguments {
    uint64_t in;                    /* rows x columns */
    uint64_t out;                   /* columns x rows */
    uint32_t in_stride, out_stride; /* in words */
    uint32_t rows, columns;
};

/* Ends of resources, from the matrices: for each row, the one bit that it has in common with
 * `runs`. */
#pragma once

#include <stdint.h>

#define WHAT_IF_NONE    0xffffffffu /* no bit */
#define WHAT_IF_SEVERAL 0xfffffffeu
#define WHAT_IF_THREADS 256u

/* In single-unit systems `matrix` is Sink, and `runs` is 0. In multi-unit systems `matrix` is RP,
 * and `runs` is SP. Each row is processed by one warp. Rows start at multiples of 16 bytes; strides
 * and `words` are multiples of 4. */
struct what_if_arguments {
    uint64_t matrix;
    uint64_t runs;          /* one row, a mask of the bits that count; 0: all count */
    uint64_t ends;          /* by row: the bit, WHAT_IF_NONE or WHAT_IF_SEVERAL */
    uint32_t stride, words; /* 32-bit words */
    uint32_t rows;
    uint32_t reserved;
};

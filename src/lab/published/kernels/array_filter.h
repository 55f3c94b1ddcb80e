/* Keeps the numbers below a bound: an optimized kernel for the growable array, and its benchmark.
 */
#pragma once

#include <gordian/array.h>

#define ARRAY_FILTER_THREADS 256u
#define ARRAY_FILTER_EACH    16u /* elements per thread */
#define ARRAY_FILTER_TILE    (ARRAY_FILTER_THREADS * ARRAY_FILTER_EACH)

/* Any number of blocks of ARRAY_FILTER_THREADS. */
struct array_filter_arguments {
    uint64_t from; /* uint32_t each, 16-byte aligned */
    uint64_t count;
    uint32_t below;
    struct garray out; /* array_filter: of uint32_t */
    uint64_t marks;  /* array_filter: uint32_t for each tile; 0: the kernel is launched only once */
    uint64_t plain;  /* array_filter_plain: uint32_t each, with capacity for all */
    uint64_t stored; /* array_filter_plain: uint64_t, number of elements */
};

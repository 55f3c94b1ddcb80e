/*
 * The cells of the paper's figure (Meneses, "Cuda GPU Dynamically Resizable Array"): the time to
 * keep
 * the numbers below 90 of 10^3 to 10^6 random ones in [0, 99], by each method.
 *
 * The paper's curves are PUBLISHED_ARRAY_CELL_WAIT and _BOUND with one block. _BOUND, _LFVECTOR,
 * _SUBARRAYS and _PAGES, with as many blocks as fit, show what a whole device does.
 */
#pragma once

#include "foundation/gpu/gpu.h"

enum published_array_method {
    PUBLISHED_ARRAY_CELL_ALL,       /* method 1: every thread allocates; one block */
    PUBLISHED_ARRAY_CELL_WAIT,      /* method 2: one allocates, the others wait; one block */
    PUBLISHED_ARRAY_CELL_BOUND,     /* the paper's lower bound: preallocated memory, one atomic per
                                       element */
    PUBLISHED_ARRAY_CELL_LFVECTOR,  /* doubling buckets for any grid, one atomic per element */
    PUBLISHED_ARRAY_CELL_SUBARRAYS, /* the paper's future work: a sub-array per block, index
                                       included */
    PUBLISHED_ARRAY_CELL_PAGES,     /* our growable array, from empty */
    PUBLISHED_ARRAY_CELL_METHODS,
};

struct published_array_cell {
    enum published_array_method method;
    uint64_t count; /* numbers */
    bool one_block; /* as in the paper: one block of 1024 threads, or of 256 if the method works in
                       tiles; the first two methods always use one block */
    uint64_t seed;
    unsigned samples; /* at least 1; the result is the median */

    /* Filled in. */
    double ns;        /* on the device; on the emulator the host's time, which means nothing */
    uint64_t kept;    /* numbers below 90 */
    uint64_t refused; /* elements that did not fit in memory; if any, `ns` is not valid */
};

/* Measures one cell and checks every answer. The device must have published_kernels.
 * GORDIAN_STATUS_INPUT: the answer was wrong, or `samples` is 0. */
gordian_status published_array_measure(struct gpu *gpu, struct published_array_cell *cell,
                                       gordian_error *error);

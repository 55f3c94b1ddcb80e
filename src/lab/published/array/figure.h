/*
 * The cells of the paper's figure (Meneses, "Cuda GPU Dynamically Resizable Array"): the time to
 * keep the numbers below 90 of 10^3 to 10^6 random ones in [0, 99], by every method there is.
 *
 * The paper's curves are PUBLISHED_ARRAY_CELL_WAIT and _BOUND with one block; with as many blocks
 * as fit, _BOUND, _LFVECTOR, _SUBARRAYS and _PAGES show what a whole device does.
 */
#pragma once

#include "foundation/gpu/gpu.h"

enum published_array_method {
    PUBLISHED_ARRAY_CELL_ALL,      /* method 1: every thread allocates; one block */
    PUBLISHED_ARRAY_CELL_WAIT,     /* method 2: one allocates, the others wait; one block */
    PUBLISHED_ARRAY_CELL_BOUND,    /* the paper's lower bound: memory there, an atomic an element */
    PUBLISHED_ARRAY_CELL_LFVECTOR, /* doubling buckets for any grid, an atomic an element */
    PUBLISHED_ARRAY_CELL_SUBARRAYS, /* the paper's next step: one a block, its index included */
    PUBLISHED_ARRAY_CELL_PAGES,     /* ours: growing from empty */
    PUBLISHED_ARRAY_CELL_METHODS,
};

struct published_array_cell {
    enum published_array_method method;
    uint64_t count; /* numbers */
    bool one_block; /* as in the paper, of 1024 threads, or 256 where a method works in tiles; the
                       first two methods have one in any case */
    uint64_t seed;
    unsigned samples; /* at least 1; the median is kept */

    /* Filled in. */
    double ns;        /* on the device; on the emulator the host's, which means nothing */
    uint64_t kept;    /* what is below 90 */
    uint64_t refused; /* elements that the method ran out of memory for: `ns` is no answer then */
};

/* Measures one cell, and checks the answer every time. The device has been given
 * published_kernels. GORDIAN_STATUS_INPUT: the answer was wrong, or `samples` is 0. */
gordian_status published_array_measure(struct gpu *gpu, struct published_array_cell *cell,
                                       gordian_error *error);

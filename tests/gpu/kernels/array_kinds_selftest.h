/* Kernels that push into LFVectors and sub-arrays in ways that only tests need. */
#ifndef GORDIAN_TESTS_GPU_KERNELS_ARRAY_KINDS_SELFTEST_H
#define GORDIAN_TESTS_GPU_KERNELS_ARRAY_KINDS_SELFTEST_H

#include "lab/published/kernels/array_storage.h"

#define LFVECTOR_SHARED_MOST 4u

/* lfvector_shared: numbers 0 .. count - 1, each into the vector number % vectors, whose buckets
 * all come from one heap. Elements begin with the number. Any grid. */
struct lfvector_shared_arguments {
    struct lfvector out[LFVECTOR_SHARED_MOST];
    uint32_t vectors, count;
};

#endif

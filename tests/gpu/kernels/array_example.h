/* The example of docs/guide/garray.md. */
#ifndef GORDIAN_TESTS_GPU_KERNELS_ARRAY_EXAMPLE_H
#define GORDIAN_TESTS_GPU_KERNELS_ARRAY_EXAMPLE_H

#include <gordian/array.h>

struct pair {
    uint32_t number, divisor;
};

struct array_example_arguments {
    struct garray pairs; /* of struct pair */
    uint64_t marks;      /* uint32_t for each number, zeroed */
    uint32_t count;
};

#endif

/* The example of docs/guide/garray.md. */
#ifndef GORDIAN_TESTS_GPU_ARRAY_EXAMPLE_H
#define GORDIAN_TESTS_GPU_ARRAY_EXAMPLE_H

#include "foundation/gpu/array/array.h"
#include "kernels/array_example.h"

/* Every number from 1 to count with each of its divisors, to be freed by the caller. */
gordian_status find_divisors(struct gpu *gpu, uint32_t count, struct pair **pairs, uint64_t *size,
                             gordian_error *error);

#endif

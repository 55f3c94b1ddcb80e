/*
 * Sets of kernels, by name. The library has one. A test or a benchmark has a set of its own and
 * adds it to the device that it opened (gpu_add_kernels).
 *
 * A set consists of a list (kernels/list.h) with a line for every kernel, from which
 * kernel_set.c.in makes the value; the kernel files compiled for the emulator; and, if nvcc is
 * available, their embedded fat binaries. kernels/, published/kernels/, src/lab/bench/kernels/ and
 * tests/gpu/kernels/ have one each.
 */
#pragma once

#include <stddef.h>

struct emulated_kernel; /* language/kernel_emulated.h */

struct gpu_kernel {
    const char *name;
    const char *file;                   /* in the folder of the list */
    const struct emulated_kernel *body; /* the function that the emulator runs */
};

/* A kernel file, compiled by nvcc. */
struct gpu_image {
    const void *data;
    const char *file;
};

struct gpu_kernels {
    const struct gpu_kernel *kernels;
    size_t count;
    const struct gpu_image *images; /* ends with data NULL; without nvcc that is all */
};

extern const struct gpu_kernels gpu_library_kernels; /* kernels/list.h */

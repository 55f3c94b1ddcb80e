/*
 * Sets of kernels, by name. The library has one; a test or a measurement has another, of kernels of
 * its own, and adds it to the device that it opened (gpu_add_kernels).
 *
 * A set is a list (kernels/list.h) with a line for every kernel, of which kernel_set.c.in makes the
 * value; the kernel files compiled for the emulator; and, where there is nvcc, their fat binaries,
 * embedded. kernels/, published/kernels/, src/lab/bench/kernels/ and tests/gpu/kernels/ have one
 * each.
 */
#pragma once

#include <stddef.h>

struct emulated_kernel; /* language/kernel_emulated.h */

struct gpu_kernel {
    const char *name;
    const char *file;                   /* beside the list */
    const struct emulated_kernel *body; /* what the emulator runs */
};

/* A kernel file as nvcc compiled it. */
struct gpu_image {
    const void *data;
    const char *file;
};

struct gpu_kernels {
    const struct gpu_kernel *kernels;
    size_t count;
    const struct gpu_image *images; /* ends with data NULL; no more than that without nvcc */
};

extern const struct gpu_kernels gpu_library_kernels; /* kernels/list.h */

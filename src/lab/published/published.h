/*
 * The methods of the five papers as they were published, to measure ours against on the same
 * machine: their data structures, their kernels, a launch where they have one. Slips that gave
 * wrong answers are put right, and each such place says so; nothing else is made better.
 *
 * Nothing here is in the library: `gordian bench` and `gordian papers` use it. A device must have
 * been given published_kernels (gpu_add_kernels) before a method is opened on it.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels.h"

extern const struct gpu_kernels published_kernels; /* kernels/list.h */

static inline struct gpu_launch published_launch(const char *kernel, unsigned blocks,
                                                 unsigned threads, const void *arguments,
                                                 size_t size)
{
    return (struct gpu_launch){.kernel = kernel,
                               .blocks = blocks,
                               .threads = threads,
                               .arguments = arguments,
                               .arguments_size = size};
}

/*
 * The methods of the five papers, as published, to compare ours with on the same machine: their
 * data
 * structures, their kernels, and a kernel launch wherever they have one. Mistakes that gave wrong
 * answers are corrected, and a comment marks each such place. Nothing else is improved.
 *
 * The library contains none of this: `gordian bench` and `gordian papers` use it. Before a method
 * is
 * opened on a device, the device must get published_kernels (gpu_add_kernels).
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

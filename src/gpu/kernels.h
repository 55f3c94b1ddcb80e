/* The kernels there are, by name: kernels/list.h as an enumeration and a table. */
#ifndef GORDIAN_GPU_KERNELS_H
#define GORDIAN_GPU_KERNELS_H

#include <stddef.h>

enum gpu_kernel {
#define GPU_KERNEL(name, file) GPU_KERNEL_##name,
#include "gpu/kernels/list.h"
#undef GPU_KERNEL
    GPU_KERNEL_COUNT,
};

extern const char *const gpu_kernel_names[GPU_KERNEL_COUNT];
extern const char *const gpu_kernel_files[GPU_KERNEL_COUNT]; /* "osdda.cu" */

/* The kernel of that name; GPU_KERNEL_COUNT: none. */
enum gpu_kernel gpu_kernel_find(const char *name);

#endif

/* The kernels of the published methods (gpu/kernel_set.c.in). */

GPU_KERNEL(published_transpose, "published_transpose.cu")

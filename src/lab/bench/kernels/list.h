/* The kernels used only by `gordian bench array` and its test (foundation/gpu/kernel_set.c.in). */

GPU_KERNEL(array_read, "array_read.cu")
GPU_KERNEL(array_read_lfvector, "array_read.cu")
GPU_KERNEL(array_read_lfvector_random, "array_read.cu")
GPU_KERNEL(array_read_random, "array_read.cu")
GPU_KERNEL(array_read_subarrays, "array_read.cu")
GPU_KERNEL(array_read_subarrays_random, "array_read.cu")
GPU_KERNEL(array_records, "array_records.cu")
GPU_KERNEL(array_records_plain, "array_records.cu")
GPU_KERNEL(array_two_pass_count, "array_two_pass.cu")
GPU_KERNEL(array_two_pass_fill, "array_two_pass.cu")

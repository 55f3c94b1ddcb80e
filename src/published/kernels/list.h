/* The kernels of the published methods (gpu/kernel_set.c.in). */

GPU_KERNEL(published_pba_add, "published_pba.cu")
GPU_KERNEL(published_pba_allocate, "published_pba.cu")
GPU_KERNEL(published_pba_available, "published_pba.cu")
GPU_KERNEL(published_pba_check, "published_pba.cu")
GPU_KERNEL(published_pba_release, "published_pba.cu")
GPU_KERNEL(published_pba_roll_back, "published_pba.cu")
GPU_KERNEL(published_pba_valid, "published_pba.cu")
GPU_KERNEL(published_product, "published_product.cu")
GPU_KERNEL(published_product_survey, "published_product.cu")
GPU_KERNEL(published_transpose, "published_transpose.cu")

/* The runtime's functions on the emulator. Nothing is ever closed: a program's end is theirs. */
#include <cuda_runtime.h>

#include <string.h>

static struct gpu *opened;
static gordian_error last;

static struct gpu *device(void)
{
    if (!opened)
        last.status = gpu_open_emulator(&opened, NULL, &last);
    return opened;
}

static cudaError_t noted(gordian_status status)
{
    return status == GORDIAN_OK ? last.status : status;
}

cudaError_t cudaMalloc(void **out, size_t bytes)
{
    gpu_address address = 0;
    if (!device())
        return last.status;
    gordian_status status = gpu_alloc(opened, &address, bytes, &last);
    *out = (void *)(uintptr_t)address;
    return noted(status);
}

cudaError_t cudaFree(void *memory)
{
    gpu_free(opened, (uintptr_t)memory);
    return noted(GORDIAN_OK);
}

cudaError_t cudaMemset(void *to, int byte, size_t bytes)
{
    memset(to, byte, bytes);
    return noted(GORDIAN_OK);
}

cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind)
{
    return noted(kind == cudaMemcpyHostToDevice
                     ? gpu_write(opened, (uintptr_t)to, from, bytes, &last)
                     : gpu_read(opened, to, (uintptr_t)from, bytes, &last));
}

cudaError_t cudaDeviceSynchronize(void)
{
    return noted(gpu_wait(opened, &last));
}

const char *cudaGetErrorString(cudaError_t error)
{
    return error ? last.message : "no error";
}

void emulated_cuda_launch(struct emulated_cuda_kernel *kernel, unsigned blocks, unsigned threads,
                          const void *arguments, size_t size)
{
    static const struct gpu_image no_images[1];
    struct gpu_kernels set = {&kernel->kernel, 1, no_images};
    gordian_status status = GORDIAN_OK;
    if (!kernel->added)
        status = gpu_add_kernels(opened, &set, &last);
    kernel->added = true;
    if (status == GORDIAN_OK)
        gpu_launch(opened,
                   &(struct gpu_launch){.kernel = kernel->kernel.name,
                                        .blocks = blocks,
                                        .threads = threads,
                                        .arguments = arguments,
                                        .arguments_size = size},
                   &last);
}

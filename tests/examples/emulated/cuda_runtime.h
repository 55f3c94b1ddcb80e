/*
 * As much of CUDA C and of its runtime as the examples of the growable array use, on the emulator:
 * the same sources are compiled as plain C, after emulate.sed has written kernels and their
 * launches as calls of the macros below.
 */
#ifndef GORDIAN_TESTS_EXAMPLES_EMULATED_CUDA_RUNTIME_H
#define GORDIAN_TESTS_EXAMPLES_EMULATED_CUDA_RUNTIME_H

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels.h"
#include "foundation/gpu/kernels/array/array.h"

/* ---- the runtime */

typedef int cudaError_t;

enum { cudaSuccess = 0 };

enum cudaMemcpyKind { cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost };

cudaError_t cudaMalloc(void **out, size_t bytes);
cudaError_t cudaFree(void *memory);
cudaError_t cudaMemset(void *to, int byte, size_t bytes);
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind);
cudaError_t cudaDeviceSynchronize(void);
const char *cudaGetErrorString(cudaError_t error);

/* A kernel at the place where it is launched. */
struct emulated_cuda_kernel {
    struct gpu_kernel kernel;
    bool added;
};

void emulated_cuda_launch(struct emulated_cuda_kernel *kernel, unsigned blocks, unsigned threads,
                          const void *arguments, size_t size);

#define EMULATED_GLOBAL(name, type) KERNEL(name, type)
#define EMULATED_LAUNCH(name, blocks, threads, arguments)                                          \
    do {                                                                                           \
        static struct emulated_cuda_kernel launched = {{#name, __FILE__, &emulated_##name},        \
                                                       false};                                     \
        emulated_cuda_launch(&launched, blocks, threads, &(arguments), sizeof(arguments));         \
    } while (0)

/* ---- the language */

#define __device__ static inline

struct emulated_cuda_index {
    unsigned x;
};

#define threadIdx ((struct emulated_cuda_index){THREAD_INDEX})
#define blockIdx  ((struct emulated_cuda_index){BLOCK_INDEX})
#define blockDim  ((struct emulated_cuda_index){BLOCK_SIZE})
#define gridDim   ((struct emulated_cuda_index){GRID_SIZE})

#define __threadfence() fence_device()

static inline unsigned long long emulated_cuda_add64(unsigned long long *at, unsigned long long x)
{
    return atomic_add64((uint64_t *)at, x);
}

static inline unsigned long long
emulated_cuda_cas64(unsigned long long *at, unsigned long long expected, unsigned long long wanted)
{
    return atomic_compare_exchange64((uint64_t *)at, expected, wanted);
}

#define atomicAdd(at, x) emulated_cuda_add64(at, x)
#define atomicCAS(at, expected, wanted)                                                            \
    _Generic((at), unsigned long long *: emulated_cuda_cas64, uint32_t *: atomic_compare_exchange32)( \
        at, expected, wanted)
#define atomicExch(at, x) atomic_exchange32(at, x)

#endif

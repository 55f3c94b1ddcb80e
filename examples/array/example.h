/* Functions that the examples share. Every call is checked. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <cuda_runtime.h>
#include <gordian/array_device.h>

#include <stdio.h>
#include <stdlib.h>

/* Checks a CUDA call. */
#define MUST_CUDA(call) must_cuda(call, #call)
static inline void must_cuda(cudaError_t result, const char *call)
{
    if (result == cudaSuccess)
        return;
    fprintf(stderr, "%s: %s\n", call, cudaGetErrorString(result));
    exit(1);
}

/* Checks a Gordian call whose last argument is `&error`. */
#define MUST(call)                                                                                 \
    do {                                                                                           \
        gordian_error error;                                                                       \
        if ((call) != GORDIAN_OK) {                                                                \
            fprintf(stderr, "%s: %s\n", #call, error.message);                                     \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Allocates device memory. */
static inline void *device_memory(size_t bytes)
{
    void *memory;
    MUST_CUDA(cudaMalloc(&memory, bytes));
    return memory;
}

static inline void *device_zeroed(size_t bytes)
{
    void *memory = device_memory(bytes);
    MUST_CUDA(cudaMemset(memory, 0, bytes));
    return memory;
}

static inline void *device_copy(const void *from, size_t bytes)
{
    void *memory = device_memory(bytes);
    MUST_CUDA(cudaMemcpy(memory, from, bytes, cudaMemcpyHostToDevice));
    return memory;
}

/* Allocates host memory. */
static inline void *host_memory(size_t bytes)
{
    void *memory = malloc(bytes);
    if (memory)
        return memory;
    fprintf(stderr, "out of memory\n");
    exit(1);
}

/* Returns a pseudo-random number for each i. */
static inline uint64_t scrambled(uint64_t i)
{
    uint64_t x = i * UINT64_C(0x9e3779b97f4a7c15) + 1;
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Returns the numeric argument of the program, or the default. */
static inline uint32_t size_wanted(int argc, char **argv, uint32_t usual)
{
    return argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : usual;
}

#endif

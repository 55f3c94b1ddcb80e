/* The operations of kernel.h in CUDA. */
#pragma once

#define DEVICE             static __device__ __forceinline__
#define DEVICE_APART       static __device__ __noinline__
#define KERNEL(name, type) extern "C" __global__ void name(const __grid_constant__ type a)
#define KERNEL_BOUNDED(name, type, threads, blocks)                                                \
    extern "C" __global__ void __launch_bounds__(threads, blocks)                                  \
        name(const __grid_constant__ type a)

#define THREAD_INDEX threadIdx.x
#define BLOCK_INDEX  blockIdx.x
#define BLOCK_SIZE   blockDim.x
#define GRID_SIZE    gridDim.x
#define LANE         (threadIdx.x % WARP_SIZE)

#define SHARED(type, name, count)          __shared__ type name[count]
#define SHARED2(type, name, rows, columns) __shared__ type name[rows][columns]
#define SHARED_DYNAMIC(type, name)                                                                 \
    extern __shared__ uint4 gordian_shared_dynamic[];                                              \
    type *name = (type *)gordian_shared_dynamic

DEVICE void require_cooperative(void)
{
}

/* ---- barriers and votes */

DEVICE void block_barrier(void)
{
    __syncthreads();
}

DEVICE bool block_any(bool x)
{
    return __syncthreads_or(x) != 0;
}

DEVICE uint32_t block_count(bool x)
{
    return (uint32_t)__syncthreads_count(x);
}

DEVICE void warp_barrier(uint32_t mask)
{
    __syncwarp(mask);
}

DEVICE bool warp_any(uint32_t mask, bool x)
{
    return __any_sync(mask, x) != 0;
}

DEVICE bool warp_all(uint32_t mask, bool x)
{
    return __all_sync(mask, x) != 0;
}

DEVICE uint32_t warp_ballot(uint32_t mask, bool x)
{
    return __ballot_sync(mask, x);
}

DEVICE uint32_t warp_match(uint32_t mask, uint32_t x)
{
    return __match_any_sync(mask, x);
}

/* ---- shuffles */

DEVICE uint32_t warp_shuffle(uint32_t mask, uint32_t x, uint32_t lane)
{
    return __shfl_sync(mask, x, (int)lane);
}

DEVICE uint32_t warp_shuffle_down(uint32_t mask, uint32_t x, uint32_t delta)
{
    return __shfl_down_sync(mask, x, delta);
}

DEVICE uint32_t warp_shuffle_up(uint32_t mask, uint32_t x, uint32_t delta)
{
    return __shfl_up_sync(mask, x, delta);
}

DEVICE uint32_t warp_shuffle_xor(uint32_t mask, uint32_t x, uint32_t bits)
{
    return __shfl_xor_sync(mask, x, (int)bits);
}

DEVICE uint64_t warp_shuffle64(uint32_t mask, uint64_t x, uint32_t lane)
{
    return __shfl_sync(mask, (unsigned long long)x, (int)lane);
}

DEVICE uint64_t warp_shuffle_down64(uint32_t mask, uint64_t x, uint32_t delta)
{
    return __shfl_down_sync(mask, (unsigned long long)x, delta);
}

DEVICE uint64_t warp_shuffle_up64(uint32_t mask, uint64_t x, uint32_t delta)
{
    return __shfl_up_sync(mask, (unsigned long long)x, delta);
}

DEVICE uint64_t warp_shuffle_xor64(uint32_t mask, uint64_t x, uint32_t bits)
{
    return __shfl_xor_sync(mask, (unsigned long long)x, (int)bits);
}

DEVICE uint32_t warp_reduce_add(uint32_t mask, uint32_t x)
{
    return __reduce_add_sync(mask, x);
}

DEVICE uint32_t warp_reduce_min(uint32_t mask, uint32_t x)
{
    return __reduce_min_sync(mask, x);
}

DEVICE uint32_t warp_reduce_max(uint32_t mask, uint32_t x)
{
    return __reduce_max_sync(mask, x);
}

DEVICE uint32_t warp_reduce_or(uint32_t mask, uint32_t x)
{
    return __reduce_or_sync(mask, x);
}

DEVICE uint32_t warp_reduce_and(uint32_t mask, uint32_t x)
{
    return __reduce_and_sync(mask, x);
}

/* ---- atomics */

#define CUDA_ATOMIC(word, function)                                                                \
    DEVICE uint32_t atomic_##word##32(uint32_t * at, uint32_t x)                                   \
    {                                                                                              \
        return function((unsigned int *)at, (unsigned int)x);                                      \
    }                                                                                              \
    DEVICE uint64_t atomic_##word##64(uint64_t * at, uint64_t x)                                   \
    {                                                                                              \
        return function((unsigned long long *)at, (unsigned long long)x);                          \
    }

CUDA_ATOMIC(add, atomicAdd)
CUDA_ATOMIC(or, atomicOr)
CUDA_ATOMIC(and, atomicAnd)
CUDA_ATOMIC(min, atomicMin)
CUDA_ATOMIC(max, atomicMax)
CUDA_ATOMIC(exchange, atomicExch)
#undef CUDA_ATOMIC

DEVICE uint32_t atomic_compare_exchange32(uint32_t *at, uint32_t expected, uint32_t wanted)
{
    return atomicCAS((unsigned int *)at, (unsigned int)expected, (unsigned int)wanted);
}

DEVICE uint64_t atomic_compare_exchange64(uint64_t *at, uint64_t expected, uint64_t wanted)
{
    return atomicCAS((unsigned long long *)at, (unsigned long long)expected,
                     (unsigned long long)wanted);
}

/* ---- ordered loads and stores */

DEVICE uint64_t load_relaxed64(const uint64_t *at)
{
    unsigned long long x;
    asm volatile("ld.relaxed.gpu.u64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
    return x;
}

#define CUDA_ORDERED(suffix, scope)                                                                \
    DEVICE uint32_t load_acquire##suffix##32(const uint32_t *at)                                   \
    {                                                                                              \
        uint32_t x;                                                                                \
        asm volatile("ld.acquire." scope ".u32 %0, [%1];" : "=r"(x) : "l"(at) : "memory");         \
        return x;                                                                                  \
    }                                                                                              \
    DEVICE uint64_t load_acquire##suffix##64(const uint64_t *at)                                   \
    {                                                                                              \
        unsigned long long x;                                                                      \
        asm volatile("ld.acquire." scope ".u64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");         \
        return x;                                                                                  \
    }                                                                                              \
    DEVICE void store_release##suffix##32(uint32_t * at, uint32_t x)                               \
    {                                                                                              \
        asm volatile("st.release." scope ".u32 [%0], %1;" ::"l"(at), "r"(x) : "memory");           \
    }                                                                                              \
    DEVICE void store_release##suffix##64(uint64_t * at, uint64_t x)                               \
    {                                                                                              \
        asm volatile("st.release." scope ".u64 [%0], %1;" ::"l"(at), "l"((unsigned long long)x)    \
                     : "memory");                                                                  \
    }

CUDA_ORDERED(, "gpu")
CUDA_ORDERED(_system, "sys")
#undef CUDA_ORDERED

DEVICE void fence_block(void)
{
    __threadfence_block();
}

DEVICE void fence_device(void)
{
    __threadfence();
}

DEVICE void fence_system(void)
{
    __threadfence_system();
}

/* ---- the rest */

DEVICE void nap(uint32_t nanoseconds)
{
    __nanosleep(nanoseconds);
}

DEVICE void trap(void)
{
    __trap();
}

DEVICE uint64_t device_ns(void)
{
    unsigned long long now;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
    return now;
}

DEVICE uint32_t popcount32(uint32_t x)
{
    return (uint32_t)__popc(x);
}

DEVICE uint32_t popcount64(uint64_t x)
{
    return (uint32_t)__popcll(x);
}

DEVICE uint32_t find_first32(uint32_t x)
{
    return (uint32_t)__ffs((int)x) - 1;
}

DEVICE uint32_t find_first64(uint64_t x)
{
    return (uint32_t)__ffsll((long long)x) - 1;
}

DEVICE uint32_t leading_zeros32(uint32_t x)
{
    return (uint32_t)__clz((int)x);
}

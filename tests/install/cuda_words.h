/* The words of CUDA that gordian/array_device.h uses, declared, so that clang can compile it as
 * CUDA where there is no CUDA, or one that is too new for this clang. */
#define __device__      __attribute__((device))
#define __global__      __attribute__((global))
#define __host__        __attribute__((host))
#define __shared__      __attribute__((shared))
#define __forceinline__ __inline__ __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))

struct three {
    unsigned x, y, z;
};

extern const __device__ three threadIdx, blockIdx, blockDim, gridDim;

__device__ void __syncthreads();
__device__ void __threadfence();
__device__ unsigned __ballot_sync(unsigned mask, int x);
__device__ unsigned __shfl_sync(unsigned mask, unsigned x, int lane);
__device__ unsigned long long __shfl_sync(unsigned mask, unsigned long long x, int lane);
__device__ unsigned __shfl_up_sync(unsigned mask, unsigned x, unsigned delta);
__device__ unsigned long long atomicAdd(unsigned long long *at, unsigned long long x);
__device__ unsigned long long atomicOr(unsigned long long *at, unsigned long long x);
__device__ unsigned long long atomicAnd(unsigned long long *at, unsigned long long x);
__device__ unsigned long long atomicMax(unsigned long long *at, unsigned long long x);
__device__ unsigned long long atomicExch(unsigned long long *at, unsigned long long x);
__device__ unsigned long long atomicCAS(unsigned long long *at, unsigned long long expected,
                                        unsigned long long wanted);
__device__ int __popc(unsigned x);
__device__ int __ffs(int x);

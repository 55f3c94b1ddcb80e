/*
 * The language of kernels: the common subset of CUDA C and of plain C on the kernel emulator.
 *
 * A kernel file includes this header, that of its own argument struct, and nothing else. It is
 * written in plain C that is also C++: no templates, references, overloads, compound literals or
 * implicit conversions from void *. nvcc compiles the operations below to CUDA, a C compiler to
 * calls of the emulator. __CUDACC__ distinguishes them, for tensor-core code with a portable
 * alternative.
 *
 *     KERNEL(add_one, struct add_one_arguments) // the arguments are `a`, constant
 *     {
 *         unsigned i = BLOCK_INDEX * BLOCK_SIZE + THREAD_INDEX;
 *         if (i < a.count)
 *             GPU_POINTER(uint32_t, a.values)[i] += 1;
 *     }
 *
 * Every kernel has a line in the list of its set (kernels/list.h), every file one in meson.build.
 *
 * KERNEL(name, type), KERNEL_BOUNDED(name, type, most threads of a block, least blocks of a
 *   multiprocessor); DEVICE type function(...) for functions (it means static inline),
 *   DEVICE_APART for those seldom called, which are not inlined.
 * THREAD_INDEX BLOCK_INDEX BLOCK_SIZE GRID_SIZE LANE (in the warp) WARP_SIZE (32) WARP_ALL (mask);
 * SHARED(type, name, count)  an array in shared memory, content undefined; a scalar is name[0];
 *   SHARED2(type, name, rows, columns); SHARED_DYNAMIC(type, name): a pointer, 16-byte aligned;
 *   all three are declarations at the top level of a kernel or function, executed by
 *   every thread that uses them;
 * block_barrier(); block_any(x) block_count(x): barriers that also vote;
 * grid_barrier(struct grid_barrier *), zeroed beforehand, cooperative launches only;
 * warp_barrier(mask), warp_any(mask, x) warp_all warp_ballot, warp_shuffle(mask, x, lane)
 *   warp_shuffle_down(mask, x, delta) warp_shuffle_up warp_shuffle_xor (32 bits; ...64: 64 bits),
 *   warp_reduce_add warp_reduce_min warp_reduce_max warp_reduce_or warp_reduce_and (mask, x):
 *   32 bits, unsigned; warp_match(mask, x): the lanes with the same x.
 *   Every lane of `mask` that has not returned makes the same call with the same mask;
 * atomic_add atomic_or atomic_and atomic_min atomic_max atomic_exchange
 *   atomic_compare_exchange(address, expected, wanted), each with 32 or 64 at the end: unsigned,
 *   device scope, relaxed; they return the old value;
 * load_relaxed64(address): the result of the device's atomics, unordered; not in a loop
 *   that waits;
 * load_acquire32/64(address) store_release32/64(address, x): device scope; the same with _system
 *   (load_acquire_system32...): with the host; fence_block() fence_device() fence_system();
 * nap(nanoseconds) in every loop that waits; device_ns(): a clock;
 * trap(): for what must never happen: fails the launch, and with it the device;
 * popcount32/64, find_first32/64 (trailing zeros) leading_zeros32: not of 0;
 * uint4 (x y z w), ulonglong2 (x y): 16 bytes moved in one access.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARP_SIZE 32u
#define WARP_ALL  0xffffffffu

/* Converts a device address in an argument struct (gpu_address, uint64_t) to a pointer. */
#define GPU_POINTER(type, address) ((type *)(uintptr_t)(address))

/* A barrier of all blocks of a cooperative launch. Zero before the first use; afterwards ready for
 * the next. */
struct grid_barrier {
    uint32_t arrived;
    uint32_t phase;
};

#ifdef __CUDACC__
#include "foundation/gpu/language/kernel_cuda.h"
#else
#include "foundation/gpu/language/kernel_emulated.h"
#endif

/* Thread 0 acts for its block: the block barrier makes the block's writes visible to it, and the
 * fence publishes them with its arrival. */
DEVICE void grid_barrier(struct grid_barrier *barrier)
{
    require_cooperative();
    block_barrier();
    if (THREAD_INDEX == 0) {
        uint32_t phase = load_acquire32(&barrier->phase);
        fence_device();
        if (atomic_add32(&barrier->arrived, 1) == GRID_SIZE - 1) {
            atomic_exchange32(&barrier->arrived, 0);
            store_release32(&barrier->phase, phase + 1);
        } else {
            while (load_acquire32(&barrier->phase) == phase)
                continue;
        }
        fence_device();
    }
    block_barrier();
}

/*
 * What a kernel may use: the common subset of CUDA C and of plain C on the emulator.
 *
 * A kernel file includes this, its own argument struct's header, and nothing else, and is written
 * in plain C that is also C++: no templates, references, overloads, compound literals or implicit
 * conversions from void *. Under nvcc the words below are CUDA's; under a C compiler
 * they are the emulator's. __CUDACC__ tells which, for tensor-core paths with a portable twin.
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
 *   all three are declarations at the top level of a kernel or function, met by every
 *   thread that uses them;
 * block_barrier(); block_any(x) block_count(x): barriers that also vote;
 * grid_barrier(struct grid_barrier *), zeroed beforehand, cooperative launches only;
 * warp_barrier(mask), warp_any(mask, x) warp_all warp_ballot, warp_shuffle(mask, x, lane)
 *   warp_shuffle_down(mask, x, delta) warp_shuffle_up warp_shuffle_xor (32 bits; ...64: 64 bits),
 *   warp_reduce_add warp_reduce_min warp_reduce_max warp_reduce_or warp_reduce_and (mask, x):
 *   32 bits, unsigned; warp_match(mask, x): the lanes with the same x.
 *   Every lane of `mask` that has not returned calls the same with the same mask;
 * atomic_add atomic_or atomic_and atomic_min atomic_max atomic_exchange
 *   atomic_compare_exchange(address, expected, wanted), each with 32 or 64 at the end: unsigned,
 *   device scope, relaxed, the old value comes back;
 * load_relaxed64(address): what the device's atomics made of it, in no order; not in a loop
 *   that waits;
 * load_acquire32/64(address) store_release32/64(address, x): device scope; the same with _system
 *   (load_acquire_system32...): with the host; fence_block() fence_device() fence_system();
 * nap(nanoseconds) in every loop that waits; device_ns(): a clock;
 * trap(): this cannot be: fails the launch, and the device with it;
 * popcount32/64, find_first32/64 (trailing zeros) leading_zeros32: not of 0;
 * uint4 (x y z w), ulonglong2 (x y): 16 bytes moved at once.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WARP_SIZE 32u
#define WARP_ALL  0xffffffffu

/* A device address of an argument struct (gpu_address, uint64_t) as a pointer. */
#define GPU_POINTER(type, address) ((type *)(uintptr_t)(address))

/* All blocks of a cooperative launch meet here. Zero before the first use; left ready for the
 * next. */
struct grid_barrier {
    uint32_t arrived;
    uint32_t phase;
};

#ifdef __CUDACC__
#include "foundation/gpu/language/kernel_cuda.h"
#else
#include "foundation/gpu/language/kernel_emulated.h"
#endif

/* Thread 0 speaks for its block: the block barrier before it makes the block's writes its own,
 * the fence publishes them with its arrival. */
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

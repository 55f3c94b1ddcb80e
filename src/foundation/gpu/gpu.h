/*
 * A GPU, real or emulated, behind one small interface.
 *
 * Two kinds of device: an NVIDIA GPU through the CUDA driver, which is loaded at run
 * time (cuda.c), and the emulator, which runs the same kernels as plain C on the CPU
 * (emulator.c); tests and machines without a GPU use that one. Kernels are named in lists
 * (kernels.h) and take one struct of arguments, copied at launch.
 *
 * Several threads may use one device at a time; what they start runs in some order.
 *
 * Errors are statuses: nothing here aborts. GORDIAN_STATUS_UNAVAILABLE: no such device;
 * GORDIAN_STATUS_MEMORY: out of device memory, with what was asked for and what there is in the
 * message; GORDIAN_STATUS_INPUT: a launch that no device could do; GORDIAN_STATUS_IO: the device
 * failed, or a kernel did: remembered, and every later call on it fails the same way (gpu_failed).
 * A kernel's own failure shows at the next call that waits.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

struct gpu;
struct gpu_kernels;

/* What there is to know about a device. */
struct gpu_info {
    char name[128];
    bool emulated;
    unsigned major, minor; /* compute capability */
    unsigned multiprocessors;
    unsigned shared_most; /* bytes of shared memory a block may have */
    uint64_t memory;      /* bytes */
    uint64_t memory_free; /* when asked */
    bool binary_mma;      /* b1 and.popc matrix products in hardware */
};

/* Number of NVIDIA devices; when 0, the reason ("no NVIDIA driver: libcuda.so.1 not found",
 * "built without nvcc", ...) is written to `why`. The environment's GORDIAN_CUDA_LIBRARY names
 * another library to load instead of libcuda.so.1. */
unsigned gpu_count(char *why, size_t size);
/* Kernels are built in, and there is a driver's library: gpu_likely asks. */
bool gpu_driver_likely(void);
/* What device `index` is; GORDIAN_STATUS_UNAVAILABLE, with the reason, if kernels cannot run on it
 * (the name and the capability are filled in if they are known). */
gordian_status gpu_describe(unsigned index, struct gpu_info *info, gordian_error *error);

/* The device that engines work on by default: the first GPU, or the emulator if
 * GORDIAN_EMULATE_GPU=1. Is there one, and if not, why (valid until the thread asks again)? */
bool gpu_available(const char **why);
/* May there be one? Tells in a millisecond, as no driver is started, which takes a quarter of a
 * second: for whoever may be done by then. */
bool gpu_likely(void);
gordian_status gpu_open_default(struct gpu **out, const gordian_allocator *memory,
                                gordian_error *error);
/* The same of GPU `index`. */
gordian_status gpu_open_wanted(struct gpu **out, unsigned index, const gordian_allocator *memory,
                               gordian_error *error);

/* Opens device `index`, or the emulator. On failure *out is NULL. */
gordian_status gpu_open(struct gpu **out, unsigned index, const gordian_allocator *memory,
                        gordian_error *error);
gordian_status gpu_open_emulator(struct gpu **out, const gordian_allocator *memory,
                                 gordian_error *error);
/* Ends everything. A service must have been told to end: this waits for it (the emulator
 * stops it). Memory still allocated on it is not freed: free what you allocated. NULL is fine. */
void gpu_close(struct gpu *gpu);
void gpu_get_info(const struct gpu *gpu, struct gpu_info *info);
bool gpu_failed(const struct gpu *gpu); /* a device error happened: only closing makes sense */

/* ---- memory: device addresses are uint64_t, usable in kernels' argument structs as pointers */

typedef uint64_t gpu_address;

/* Content undefined. No bytes: address 0. While a service runs, what is freed or unmapped, of
 * ranges too, is given back only once it has ended. */
gordian_status gpu_alloc(struct gpu *gpu, gpu_address *out, size_t bytes, gordian_error *error);
void gpu_free(struct gpu *gpu, gpu_address address); /* 0 is fine */
/* Frees each of the addresses: gpu_free_all(gpu, first, second, third). */
#define gpu_free_all(gpu, ...)                                                                     \
    do {                                                                                           \
        const gpu_address freed[] = {__VA_ARGS__};                                                 \
        for (size_t f = 0; f < sizeof freed / sizeof *freed; f++)                                  \
            gpu_free((gpu), freed[f]);                                                             \
    } while (0)
gordian_status gpu_zero(struct gpu *gpu, gpu_address to, size_t bytes, gordian_error *error);
gordian_status gpu_fill32(struct gpu *gpu, gpu_address to, uint32_t value, size_t count,
                          gordian_error *error);
gordian_status gpu_write(struct gpu *gpu, gpu_address to, const void *from, size_t bytes,
                         gordian_error *error);
gordian_status gpu_read(struct gpu *gpu, void *to, gpu_address from, size_t bytes,
                        gordian_error *error);
gordian_status gpu_copy(struct gpu *gpu, gpu_address to, gpu_address from, size_t bytes,
                        gordian_error *error);
/* zero, fill and copy may return before it is done, in the order of the launches; write and
 * read are done when they return. */

/* Pinned host memory that kernels see too: *host here, *device there. Zeroed. */
gordian_status gpu_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                       gordian_error *error);
void gpu_unmap(struct gpu *gpu, void *host);

/* ---- ranges: addresses reserved once, memory mapped in from the front, piece by piece, while
 * kernels run; what is mapped never moves. The thread that grows a range is the only one
 * that uses it at the time. */

struct gpu_range;

/* Addresses for at least `bytes`, no memory yet. On failure *out is NULL. */
gordian_status gpu_range_create(struct gpu_range **out, struct gpu *gpu, uint64_t bytes,
                                gordian_error *error);
/* Unmaps and gives back everything. NULL is fine. */
void gpu_range_destroy(struct gpu_range *range);
gpu_address gpu_range_address(const struct gpu_range *range);
uint64_t gpu_range_reserved(const struct gpu_range *range); /* bytes; for tests */
uint64_t gpu_range_mapped(const struct gpu_range *range);   /* bytes, from the front */
/* Maps at least `bytes` in all; content undefined. GORDIAN_STATUS_MEMORY: as before;
 * GORDIAN_STATUS_INPUT: more than was reserved. */
gordian_status gpu_range_grow(struct gpu_range *range, uint64_t bytes, gordian_error *error);
/* Unmaps the pieces that lie behind the first `bytes`; no kernel uses them. */
void gpu_range_shrink(struct gpu_range *range, uint64_t bytes);

/* ---- kernels */

/* What can be launched besides the library's own kernels (kernels.h), before anybody else uses the
 * device. The set stays the caller's. On failure nothing is added. */
gordian_status gpu_add_kernels(struct gpu *gpu, const struct gpu_kernels *set,
                               gordian_error *error);

struct gpu_launch {
    const char *kernel; /* its name in a list */
    unsigned blocks, threads;
    size_t shared;         /* bytes of dynamic shared memory */
    bool cooperative;      /* all blocks resident at once: grid barriers allowed */
    const void *arguments; /* the kernel's argument struct, copied */
    size_t arguments_size;
    bool service; /* runs beside everything else until told to end; one at a time */
};

/* The launch of a kernel with this struct of arguments; further members may follow:
 * GPU_LAUNCH("kernel", blocks, threads, arguments, .cooperative = true). */
#define GPU_LAUNCH(name, block_count, thread_count, argument, ...)                                 \
    (&(const struct gpu_launch){.kernel = (name),                                                  \
                                .blocks = (block_count),                                           \
                                .threads = (thread_count),                                         \
                                .arguments = &(argument),                                          \
                                .arguments_size = sizeof(argument),                                \
                                ##__VA_ARGS__})

/* Starts a kernel; kernels run in the order of their launches (but for a service). */
gordian_status gpu_launch(struct gpu *gpu, const struct gpu_launch *launch, gordian_error *error);
/* Waits for everything started (but a service), and reports its failure. */
gordian_status gpu_wait(struct gpu *gpu, gordian_error *error);
/* Waits for the service kernel to end (its failure comes back), or asks whether it has; both
 * succeed when there is none. */
gordian_status gpu_wait_service(struct gpu *gpu, gordian_error *error);
bool gpu_service_ended(struct gpu *gpu);
/* The most blocks of this kernel that fit the device at once. */
gordian_status gpu_resident_blocks(struct gpu *gpu, const char *kernel, unsigned threads,
                                   size_t shared, unsigned *blocks, gordian_error *error);
/* Time on the device between the two calls, in microseconds; on the emulator the host's. */
gordian_status gpu_timer_start(struct gpu *gpu, gordian_error *error);
gordian_status gpu_timer_stop(struct gpu *gpu, double *microseconds, gordian_error *error);

/* For tests, on a device as on the emulator: the environment's GORDIAN_GPU_FAIL_AFTER is the number
 * of launches, or of a resident kernel's commands, after which the next one traps. UINT64_MAX:
 * none does. */
uint64_t gpu_fail_after_wanted(void);
/* Launches a kernel that traps, in place of the one that was to run. */
gordian_status gpu_launch_trap(struct gpu *gpu, gordian_error *error);

/* ---- the emulator, for tests: no effect on a real device */

/* For tests: the order in which kernel threads and blocks run: 0, the start, is the order of their
 * numbers; any other seed shuffles it, differently at each launch, so that races show. The
 * environment's GORDIAN_EMULATOR_SEED is the seed of every emulator that is opened. */
void gpu_emulator_seed(struct gpu *gpu, uint64_t seed);
/* For tests: how much memory it pretends to have; at first GORDIAN_EMULATOR_MEMORY bytes, if that
 * is set. */
void gpu_emulator_memory(struct gpu *gpu, uint64_t bytes);

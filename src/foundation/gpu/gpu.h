/*
 * A GPU, real or emulated, behind one small interface.
 *
 * There are two kinds of device: an NVIDIA GPU through the CUDA driver, which is loaded at run time
 * (cuda.c), and the kernel emulator, which runs the same kernels as plain C on the CPU
 * (emulator.c), for tests and machines without a GPU. Kernels are listed by name (kernels.h) and
 * take one struct of arguments, copied at launch.
 *
 * Several threads may use one device at the same time; their work is done in some order.
 *
 * Errors are statuses; nothing here aborts.
 *     GORDIAN_STATUS_UNAVAILABLE   no such device
 *     GORDIAN_STATUS_MEMORY        out of device memory; the message has the needed and the free
 * size GORDIAN_STATUS_INPUT         a launch that no device could do GORDIAN_STATUS_IO the device
 * or a kernel failed. This is remembered: every later call fails the same way (gpu_failed). A
 * failure of a kernel is reported by the next call that waits.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

struct gpu;
struct gpu_kernels;

/* Properties of a device. */
struct gpu_info {
    char name[128];
    bool emulated;
    unsigned major, minor; /* compute capability */
    unsigned multiprocessors;
    unsigned shared_most; /* bytes of shared memory a block may have */
    uint64_t memory;      /* bytes */
    uint64_t memory_free; /* when queried */
    bool binary_mma;      /* b1 and.popc matrix products in hardware */
};

/* Returns the number of NVIDIA devices. If it is 0, writes the reason to `why` ("no NVIDIA driver:
 * libcuda.so.1 not found", "built without nvcc", ...). The environment variable
 * GORDIAN_CUDA_LIBRARY names another library than libcuda.so.1. */
unsigned gpu_count(char *why, size_t size);
/* For gpu_likely: returns whether kernels are built in and the driver's library exists. */
bool gpu_driver_likely(void);
/* Describes device `index`. GORDIAN_STATUS_UNAVAILABLE, with the reason, if kernels cannot run on
 * it; name and capability are filled in if known. */
gordian_status gpu_describe(unsigned index, struct gpu_info *info, gordian_error *error);

/* The default device of the engines: the first GPU, or the emulator if GORDIAN_EMULATE_GPU=1.
 * Returns whether it exists; *why is the reason if not, valid until the thread's next call. */
bool gpu_available(const char **why);
/* Returns in a millisecond whether it may exist, without starting the driver, which takes a quarter
 * of a second. */
bool gpu_likely(void);
gordian_status gpu_open_default(struct gpu **out, const gordian_allocator *memory,
                                gordian_error *error);
/* The same for GPU `index`. */
gordian_status gpu_open_wanted(struct gpu **out, unsigned index, const gordian_allocator *memory,
                               gordian_error *error);

/* Opens device `index`, or the emulator. On failure *out is NULL. */
gordian_status gpu_open(struct gpu **out, unsigned index, const gordian_allocator *memory,
                        gordian_error *error);
gordian_status gpu_open_emulator(struct gpu **out, const gordian_allocator *memory,
                                 gordian_error *error);
/* Closes the device. The service must have been stopped: this waits for it (the emulator stops it).
 * Memory that is still allocated is not freed. NULL is fine. */
void gpu_close(struct gpu *gpu);
void gpu_get_info(const struct gpu *gpu, struct gpu_info *info);
bool gpu_failed(const struct gpu *gpu); /* the device has failed and can only be closed */

/* ---- memory: device addresses are uint64_t, usable in kernels' argument structs as pointers */

typedef uint64_t gpu_address;

/* The content is undefined. 0 bytes: address 0. While a service runs, released memory, also of
 * ranges, is freed only once it has ended. */
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
/* Filling and copying may return early, and are done in the order of the launches. Writing and
 * reading are done when they return. */

/* Maps zeroed, pinned host memory that kernels also see: *host is its address here, *device on the
 * device. */
gordian_status gpu_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                       gordian_error *error);
void gpu_unmap(struct gpu *gpu, void *host);

/* ---- ranges: addresses that are reserved once; memory is mapped from the front, piece by piece,
 * while kernels run. Mapped memory never moves. Only one thread may use a range while it grows it.
 */

struct gpu_range;

/* Reserves addresses for at least `bytes`, without memory. On failure *out is NULL. */
gordian_status gpu_range_create(struct gpu_range **out, struct gpu *gpu, uint64_t bytes,
                                gordian_error *error);
/* Unmaps and releases everything. NULL is fine. */
void gpu_range_destroy(struct gpu_range *range);
gpu_address gpu_range_address(const struct gpu_range *range);
uint64_t gpu_range_reserved(const struct gpu_range *range); /* bytes; for tests */
uint64_t gpu_range_mapped(const struct gpu_range *range);   /* bytes, from the front */
/* Maps at least `bytes` in all; the content is undefined. GORDIAN_STATUS_MEMORY: nothing has
 * changed. GORDIAN_STATUS_INPUT: more than was reserved. */
gordian_status gpu_range_grow(struct gpu_range *range, uint64_t bytes, gordian_error *error);
/* Unmaps the pieces beyond the first `bytes`. No kernel may use them. */
void gpu_range_shrink(struct gpu_range *range, uint64_t bytes);

/* ---- kernels */

/* Adds kernels to the library's own (kernels.h). Call it before another thread uses the device. The
 * caller owns the set. On failure nothing is added. */
gordian_status gpu_add_kernels(struct gpu *gpu, const struct gpu_kernels *set,
                               gordian_error *error);

struct gpu_launch {
    const char *kernel; /* its name in a list */
    unsigned blocks, threads;
    size_t shared;         /* bytes of dynamic shared memory */
    bool cooperative;      /* all blocks resident at once: grid barriers allowed */
    const void *arguments; /* the kernel's argument struct, copied */
    size_t arguments_size;
    bool service; /* runs concurrently with everything else until it is stopped; one at a time */
};

/* A launch of a kernel with this struct of arguments. Further members may follow:
 * GPU_LAUNCH("kernel", blocks, threads, arguments, .cooperative = true). */
#define GPU_LAUNCH(name, block_count, thread_count, argument, ...)                                 \
    (&(const struct gpu_launch){.kernel = (name),                                                  \
                                .blocks = (block_count),                                           \
                                .threads = (thread_count),                                         \
                                .arguments = &(argument),                                          \
                                .arguments_size = sizeof(argument),                                \
                                ##__VA_ARGS__})

/* Starts a kernel. Kernels run in the order of their launches, except a service. */
gordian_status gpu_launch(struct gpu *gpu, const struct gpu_launch *launch, gordian_error *error);
/* Waits for everything that was started, except a service, and reports failures. */
gordian_status gpu_wait(struct gpu *gpu, gordian_error *error);
/* Waits for the service kernel to end and returns its failure; returns whether it has ended. Both
 * succeed if there is none. */
gordian_status gpu_wait_service(struct gpu *gpu, gordian_error *error);
bool gpu_service_ended(struct gpu *gpu);
/* Returns the largest number of blocks of this kernel that fit the device at a time. */
gordian_status gpu_resident_blocks(struct gpu *gpu, const char *kernel, unsigned threads,
                                   size_t shared, unsigned *blocks, gordian_error *error);
/* Measure the time on the device between the two calls, in microseconds; on the emulator the host's
 * time. */
gordian_status gpu_timer_start(struct gpu *gpu, gordian_error *error);
gordian_status gpu_timer_stop(struct gpu *gpu, double *microseconds, gordian_error *error);

/* For tests, also on real devices: the environment variable GORDIAN_GPU_FAIL_AFTER is the number of
 * launches, or of a resident kernel's commands, after which the next one traps. UINT64_MAX: none.
 */
uint64_t gpu_fail_after_wanted(void);
/* Launches a kernel that traps, in place of the intended kernel. */
gordian_status gpu_launch_trap(struct gpu *gpu, gordian_error *error);

/* ---- the emulator, for tests: no effect on a real device */

/* For tests: the order in which kernel threads and blocks run. 0, the default, is the order of
 * their numbers; any other seed shuffles them, differently at each launch, to expose races. The
 * environment variable GORDIAN_EMULATOR_SEED is the seed of every emulator that is opened. */
void gpu_emulator_seed(struct gpu *gpu, uint64_t seed);
/* For tests: sets the emulated memory size. The default is GORDIAN_EMULATOR_MEMORY bytes, if that
 * is set. */
void gpu_emulator_memory(struct gpu *gpu, uint64_t bytes);

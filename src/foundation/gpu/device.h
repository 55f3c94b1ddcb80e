/* Internal header of src/foundation/gpu: the state that both kinds of device have, and the table of
 * operations in which they differ. gpu.c does the common checks (a failed device, an invalid
 * launch) before it calls these. */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels.h"

#include <stdatomic.h>

/* A kernel that can be launched on this device. */
struct gpu_loaded {
    const struct gpu_kernel *kernel;
    struct cuda_function *function; /* of a GPU (driver.h) */
    atomic_uint shared;             /* of a GPU: dynamic shared memory enabled so far */
};

/* Memory to release, which a running service may still use. */
struct gpu_release {
    enum { GPU_MEMORY, GPU_MAPPING, GPU_PIECE, GPU_RANGE } kind;
    uint64_t address; /* of a GPU_MAPPING: the host address */
    uint64_t piece;   /* of a GPU_PIECE or a GPU_RANGE: the device's name for it */
    uint64_t bytes;   /* likewise */
};

enum gpu_direction { GPU_WRITE, GPU_READ, GPU_COPY };

struct gpu_operations {
    void (*close)(struct gpu *gpu);
    uint64_t (*memory_free)(const struct gpu *gpu);
    gordian_status (*alloc)(struct gpu *gpu, gpu_address *out, size_t bytes, gordian_error *error);
    gordian_status (*map)(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                          gordian_error *error);
    void (*release)(struct gpu *gpu, const struct gpu_release *what);
    /* `unit`: 4 bytes, or 1, and then the value is 0. */
    gordian_status (*fill)(struct gpu *gpu, gpu_address to, uint32_t value, size_t unit,
                           size_t count, gordian_error *error);
    /* GPU_WRITE: `from` is a host pointer. GPU_READ: `to` is. */
    gordian_status (*copy)(struct gpu *gpu, uint64_t to, uint64_t from, size_t bytes,
                           enum gpu_direction direction, gordian_error *error);
    /* Reserves addresses for `bytes`, a multiple of the granularity; backs a part of them with
     * memory. *piece names either afterwards. Each is released once, pieces before the addresses
     * they lie in. */
    gordian_status (*reserve)(struct gpu *gpu, gpu_address *out, uint64_t *piece, uint64_t bytes,
                              gordian_error *error);
    gordian_status (*back)(struct gpu *gpu, gpu_address address, uint64_t *piece, uint64_t bytes,
                           gordian_error *error);
    /* Optional: loads the kernels of a set. `loaded` has an element for each. */
    gordian_status (*load)(struct gpu *gpu, const struct gpu_kernels *set,
                           struct gpu_loaded *loaded, gordian_error *error);
    gordian_status (*launch)(struct gpu *gpu, struct gpu_loaded *kernel,
                             const struct gpu_launch *launch, gordian_error *error);
    gordian_status (*wait)(struct gpu *gpu, bool service, gordian_error *error);
    bool (*service_ended)(struct gpu *gpu);
    gordian_status (*resident_blocks)(struct gpu *gpu, struct gpu_loaded *kernel, unsigned threads,
                                      size_t shared, unsigned *blocks, gordian_error *error);
    /* Optional: without `microseconds` starts the timer, else reads it. NULL: the host's clock is
     * used. */
    gordian_status (*timer)(struct gpu *gpu, double *microseconds, gordian_error *error);
};

/* The first member of either kind. */
struct gpu {
    const struct gpu_operations *operations;
    gordian_allocator memory;
    struct gpu_info info;
    struct gpu_loaded *loaded; /* the kernels; freed on closing */
    size_t loaded_count, loaded_room;
    uint64_t granularity; /* of ranges, bytes; a power of two */
    /* The first failure: 0 none, 1 being written, 2 set. */
    atomic_int failed;
    gordian_status failure_status;
    char failure[300];
    uint64_t started_ns;    /* start of the timer, if the host's clock is used */
    uint64_t launches_left; /* for tests: until a kernel traps; UINT64_MAX: never */
};

#define GPU_BLOCK_THREADS_MOST 1024
#define GPU_ARGUMENTS_MOST     4096

void gpu_init(struct gpu *gpu, const struct gpu_operations *operations,
              const gordian_allocator *memory);
/* Remembers the failure if it is the first, and returns it: GORDIAN_STATUS_IO, except for an
 * emulator that ran out of memory. */
gordian_status gpu_fail(struct gpu *gpu, gordian_status status, gordian_error *error,
                        const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Returns the remembered failure. */
gordian_status gpu_fail_again(struct gpu *gpu, gordian_error *error);
gordian_status gpu_fail_memory(gordian_error *error, const char *where, uint64_t needed,
                               uint64_t available);

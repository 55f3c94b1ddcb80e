/* An NVIDIA GPU as a device: shared by cuda.c and cuda_memory.c. */
#pragma once

#include "foundation/gpu/device.h"
#include "foundation/gpu/driver.h"

#include <pthread.h>

struct cuda {
    struct gpu gpu;
    struct cuda_driver driver;
    int device;
    cuda_context context;
    cuda_stream stream, service;
    cuda_event events[2]; /* the timer */
    cuda_module *modules;
    size_t module_count, module_room;
    atomic_bool serving;  /* a service was launched and is not known to have ended */
    pthread_mutex_t lock; /* protects the list below */
    struct gpu_release
        *late; /* frees that were postponed, because they wait for the whole device */
    size_t late_count, late_room;
};

static inline struct cuda *cuda_of(struct gpu *gpu)
{
    return (struct cuda *)gpu;
}

/* Returns the status of a failed driver call. Failures of the device are remembered. */
gordian_status cuda_fail(struct cuda *cuda, int result, const char *doing, gordian_error *error);
/* Make the context current, and no longer current. cuda_leave returns the status of the call's
 * result. */
gordian_status cuda_enter(struct cuda *cuda, gordian_error *error);
gordian_status cuda_leave(struct cuda *cuda, int result, const char *doing, gordian_error *error);

/* Frees what was postponed until the service's end. The context is current. */
void cuda_free_late(struct cuda *cuda);

uint64_t cuda_memory_free(const struct gpu *gpu);
gordian_status cuda_alloc(struct gpu *gpu, gpu_address *out, size_t bytes, gordian_error *error);
void cuda_release(struct gpu *gpu, const struct gpu_release *what);
gordian_status cuda_fill(struct gpu *gpu, gpu_address to, uint32_t value, size_t unit, size_t count,
                         gordian_error *error);
gordian_status cuda_copy(struct gpu *gpu, uint64_t to, uint64_t from, size_t bytes,
                         enum gpu_direction direction, gordian_error *error);
gordian_status cuda_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                        gordian_error *error);

/* Queries the granularity of ranges. The context is current. */
int cuda_ask_granularity(struct cuda *cuda);
gordian_status cuda_reserve(struct gpu *gpu, gpu_address *out, uint64_t *piece, uint64_t bytes,
                            gordian_error *error);
gordian_status cuda_back(struct gpu *gpu, gpu_address address, uint64_t *piece, uint64_t bytes,
                         gordian_error *error);

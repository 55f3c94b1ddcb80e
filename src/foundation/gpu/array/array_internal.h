/* Internal header of array*.c: the structs of arrays and pools. */
#pragma once

#include "foundation/gpu/array/array.h"

#define POOL_ALIGNMENT 256

struct gpu_pool {
    struct gpu *gpu;
    struct gpu_range *range;
    uint64_t chunk_bytes, most, chunks;
    gpu_address control; /* struct garray_pool, followed by order and owners */
    gpu_address order, owners;
};

struct array_watch;

struct gpu_array {
    struct gpu *gpu;
    enum gpu_array_mode mode;
    uint32_t element, shift, ahead;
    uint64_t most;
    gpu_address control;
    uint64_t refused;        /* found by calls that do not report it */
    struct gpu_range *range; /* flat */
    uint64_t capacity;       /* flat: elements with memory */
    gpu_address pages;       /* chunked */
    struct gpu_pool *pool;
    bool own_pool;
    struct array_watch *watch; /* flat; NULL before the first watch */
};

/* The state after settling. */
struct array_state {
    uint64_t size;
    uint64_t limit; /* elements with memory */
};

uint64_t array_elements(const struct gpu_array *array, uint64_t pages);
uint64_t array_pages(const struct gpu_array *array, uint64_t elements);
gordian_status array_settle(struct gpu_array *array, struct array_state *state,
                            gordian_error *error);
/* Writes the array's control block. */
gordian_status array_write_control(struct gpu_array *array, uint64_t size, uint64_t limit,
                                   gordian_error *error);

/* After kernels: settles the array, and grows it if elements were refused. */
gordian_status array_follow_up(struct gpu_array *array, struct gpu_array_count *count,
                               gordian_error *error);

/* Gives `count` >= 1 pages a chunk each: writes the addresses to entries[0] and on.
 * GORDIAN_STATUS_MEMORY: the pool has too few. */
gordian_status pool_take(struct gpu_pool *pool, gpu_address entries, uint64_t count,
                         gordian_error *error);
/* Returns chunks, given by address, to the pool. */
gordian_status pool_give(struct gpu_pool *pool, const uint64_t *chunks, uint64_t count,
                         gordian_error *error);
/* Unmaps the memory beyond the last taken chunk. */
gordian_status pool_trim(struct gpu_pool *pool, gordian_error *error);

/* Stop and restart the watch around operations that need the array exclusively. Both do nothing if
 * there is no watch. */
void watch_pause(struct gpu_array *array);
gordian_status watch_resume(struct gpu_array *array, gordian_error *error);
gpu_address watch_desk(const struct gpu_array *array); /* 0: not watched */
void watch_free(struct gpu_array *array);

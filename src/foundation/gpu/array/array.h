/*
 * A growable array on the device, controlled from the host. Kernels push into it
 * (kernels/array/array.h) while it grows; elements never move. docs/guide/garray.md explains its
 * design and costs. For programs with CUDA code of their own see <gordian/array.h> (public.c).
 *
 *     struct gpu_array *squares;
 *     gpu_array_create(&squares, gpu, &(struct gpu_array_options){.element = 8}, error);
 *     struct squares_arguments arguments = {.out = gpu_array_view(squares), .count = 1000};
 *     ... gpu_launch ...
 *     gpu_array_settle(squares, &count, error);      // count.size stored, count.refused not
 *     gpu_array_read(squares, to, 0, count.size, error);
 *     gpu_array_destroy(squares);
 *
 * Kernels see no difference between the two modes. Flat: one address range, with memory mapped from
 * its front. It is the fastest to read. It grows between kernels, or while they run if a host
 * thread watches it. Chunked: kernels take pages from a memory pool themselves, without the host;
 * several arrays may share a pool.
 *
 * Calls on an array, and on arrays of one pool, must not overlap, and no kernel may use the array
 * during a call. They wait for earlier launches, but not for a service: the caller has to wait for
 * that. Each may fail as in gpu.h and then has no visible effect.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include <gordian/array.h>

struct gpu_array;
struct gpu_pool;

enum gpu_array_mode {
    GPU_ARRAY_FLAT,
    GPU_ARRAY_CHUNKED,
};

struct gpu_array_options {
    enum gpu_array_mode mode;
    uint32_t element; /* bytes, at least 1; a multiple of the alignment of what is put in */
    /* Upper bound of elements; 0: as many as fit the device's memory. Addresses and tables are
     * reserved for them, not memory. */
    uint64_t most;
    uint64_t capacity; /* elements that have memory from the start; not with a shared pool */
    uint64_t page;     /* elements of a page, a power of two; 0: chosen */
    /* Pages that a kernel installs ahead, so that few threads ever find one missing. Other arrays
     * of a shared pool cannot use them. 0: none. */
    uint32_t ahead;
    struct gpu_pool *pool; /* chunked: a shared pool; NULL: its own */
};

/* The state of the array after one or more kernels. */
struct gpu_array_count {
    uint64_t size;    /* elements stored, positions 0 .. size - 1 */
    uint64_t refused; /* elements that did not fit since the last query */
};

/* Opens an array. GORDIAN_STATUS_INPUT: invalid options. On failure *out is NULL. */
gordian_status gpu_array_create(struct gpu_array **out, struct gpu *gpu,
                                const struct gpu_array_options *options, gordian_error *error);
/* Releases everything, including chunks of a shared pool. NULL is fine. */
void gpu_array_destroy(struct gpu_array *array);

/* Returns the array's part of a kernel's arguments. It changes when the array is watched or
 * unwatched. */
struct garray gpu_array_view(const struct gpu_array *array);

/* Reserves memory for at least `capacity` elements in all; with a shared pool, if no other array
 * takes chunks meanwhile. GORDIAN_STATUS_MEMORY: the capacity is unchanged. */
gordian_status gpu_array_reserve(struct gpu_array *array, uint64_t capacity, gordian_error *error);
/* For tests: returns the elements that have memory, in the array or free in the pool. */
gordian_status gpu_array_capacity(struct gpu_array *array, uint64_t *elements,
                                  gordian_error *error);

/* After kernels: reports the elements and prepares the array for more. Every other call does the
 * latter as well; only this one reports what did not fit. */
gordian_status gpu_array_settle(struct gpu_array *array, struct gpu_array_count *count,
                                gordian_error *error);
/* Removes all elements; the memory stays. */
gordian_status gpu_array_clear(struct gpu_array *array, gordian_error *error);
/* Releases memory that holds no element: whole mapped pieces, whole chunks. */
gordian_status gpu_array_shrink(struct gpu_array *array, gordian_error *error);

/* Appends `count` elements. GORDIAN_STATUS_MEMORY: there is no memory for all of them. */
gordian_status gpu_array_append(struct gpu_array *array, const void *from, uint64_t count,
                                gordian_error *error);
/* Copies elements first .. first + count - 1 to the host, or to contiguous device memory.
 * GORDIAN_STATUS_INPUT: there are not that many. */
gordian_status gpu_array_read(struct gpu_array *array, void *to, uint64_t first, uint64_t count,
                              gordian_error *error);
gordian_status gpu_array_flatten(struct gpu_array *array, gpu_address to, uint64_t first,
                                 uint64_t count, gordian_error *error);
/* Finds the address of element `first`, and how many elements are contiguous from there (0: it is
 * beyond the last). */
gordian_status gpu_array_piece(struct gpu_array *array, uint64_t first, gpu_address *at,
                               uint64_t *count, gordian_error *error);

/* Flat arrays: starts a host thread that maps memory while kernels run, so that there is memory for
 * `ahead` elements beyond those stored. Kernels do not wait for it; they stop where it falls
 * behind. It takes one core. GORDIAN_STATUS_INPUT: not flat, or watched already. Until
 * gpu_array_unwatch, only launch and wait; take a new view for the launch. gpu_array_run watches
 * only while its launches run, so other calls are possible when it returns. */
gordian_status gpu_array_watch(struct gpu_array *array, uint64_t ahead, gordian_error *error);
void gpu_array_unwatch(struct gpu_array *array);

/* Launches, repeatedly, until no array refuses an element. The kernel's jobs have marks
 * (kernels/array/array.h). After a launch that ran out, every array grows by half more than it
 * refused, or as far as there is memory. GORDIAN_STATUS_MEMORY: it cannot grow. Stored elements and
 * marks stay: read the elements, clear, and call again for the rest. *launches, if not NULL, is the
 * number of launches. */
gordian_status gpu_array_run(struct gpu_array *const *arrays, unsigned count,
                             const struct gpu_launch *launch, unsigned *launches,
                             gordian_error *error);

/* ---- memory pools */

struct gpu_pool_options {
    uint64_t chunk_bytes; /* a multiple of 256 */
    uint64_t most;        /* most chunks it may have; 0: as many as fit the device's memory */
    uint64_t chunks;      /* initial chunks */
};

gordian_status gpu_pool_create(struct gpu_pool **out, struct gpu *gpu,
                               const struct gpu_pool_options *options, gordian_error *error);
/* Destroy its arrays first. NULL is fine. */
void gpu_pool_destroy(struct gpu_pool *pool);
/* Reserves at least that many chunks in all. */
gordian_status gpu_pool_reserve(struct gpu_pool *pool, uint64_t chunks, gordian_error *error);
/* Returns how many chunks there are, and how many are taken. */
gordian_status gpu_pool_count(struct gpu_pool *pool, uint64_t *chunks, uint64_t *taken,
                              gordian_error *error);

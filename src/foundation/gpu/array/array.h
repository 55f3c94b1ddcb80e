/*
 * A growable array on the device, from the host. Kernels push into it (kernels/array/array.h) while
 * it grows; elements never move. docs/guide/garray.md tells how it works and what it costs. For
 * programs with CUDA of their own the same is in <gordian/array.h> (public.c).
 *
 *     struct gpu_array *squares;
 *     gpu_array_create(&squares, gpu, &(struct gpu_array_options){.element = 8}, error);
 *     struct squares_arguments arguments = {.out = gpu_array_view(squares), .count = 1000};
 *     ... gpu_launch ...
 *     gpu_array_settle(squares, &count, error);      // count.size stored, count.refused not
 *     gpu_array_read(squares, to, 0, count.size, error);
 *     gpu_array_destroy(squares);
 *
 * Two modes, the same to kernels. Flat: one address range that memory is mapped into from its
 * front; the fastest to read; grows between kernels, or meanwhile where the host keeps watch.
 * Chunked: pages taken from a pool by the kernels themselves, no host involved; several
 * arrays may share a pool.
 *
 * Calls on an array, and on arrays of one pool, come one at a time, and while no kernel uses the
 * array: they wait for the launches so far, but not for a service, which the caller waits for.
 * Each may fail as gpu.h says and then has changed nothing that can be seen.
 */
#ifndef GORDIAN_FOUNDATION_GPU_ARRAY_ARRAY_H
#define GORDIAN_FOUNDATION_GPU_ARRAY_ARRAY_H

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
    /* Elements it may ever hold; 0: as many as the device's memory. Addresses and tables are
     * reserved for them, not memory. */
    uint64_t most;
    uint64_t capacity; /* elements there is memory for from the start; not with a shared pool */
    uint64_t page;     /* elements of a page, a power of two; 0: chosen */
    /* Pages that a kernel installs before they are needed, so that few threads ever find one
     * missing; chunks that may be lacking elsewhere if the pool is shared. 0: none. */
    uint32_t ahead;
    struct gpu_pool *pool; /* chunked: shared; NULL: one of its own */
};

/* What a kernel, or several, left. */
struct gpu_array_count {
    uint64_t size;    /* elements stored, positions 0 .. size - 1 */
    uint64_t refused; /* that did not fit, since this was asked last */
};

/* GORDIAN_STATUS_INPUT if the options make no sense. On failure *out is NULL. */
gordian_status gpu_array_create(struct gpu_array **out, struct gpu *gpu,
                                const struct gpu_array_options *options, gordian_error *error);
/* Gives everything back, chunks of a shared pool too. NULL is fine. */
void gpu_array_destroy(struct gpu_array *array);

/* What a kernel's argument struct gets; take it anew after the array was watched or not. */
struct garray gpu_array_view(const struct gpu_array *array);

/* Makes room for at least `capacity` elements in all. With a shared pool: if nobody else takes
 * chunks meanwhile. GORDIAN_STATUS_MEMORY: as much as before. */
gordian_status gpu_array_reserve(struct gpu_array *array, uint64_t capacity, gordian_error *error);
/* Elements there is memory for, taken or free for the taking (for tests). */
gordian_status gpu_array_capacity(struct gpu_array *array, uint64_t *elements,
                                  gordian_error *error);

/* After kernels: what there is, and makes the array ready for more. Every other call does that
 * too; what did not fit is kept for this one. */
gordian_status gpu_array_settle(struct gpu_array *array, struct gpu_array_count *count,
                                gordian_error *error);
/* No elements; the memory stays. */
gordian_status gpu_array_clear(struct gpu_array *array, gordian_error *error);
/* Gives back memory that holds no element: whole mapped pieces, whole chunks. */
gordian_status gpu_array_shrink(struct gpu_array *array, gordian_error *error);

/* Puts `count` elements behind the last one; GORDIAN_STATUS_MEMORY if there is no memory for them
 * all. */
gordian_status gpu_array_append(struct gpu_array *array, const void *from, uint64_t count,
                                gordian_error *error);
/* Elements first .. first + count - 1 to the host, or to device memory in one piece.
 * GORDIAN_STATUS_INPUT: there are not that many. */
gordian_status gpu_array_read(struct gpu_array *array, void *to, uint64_t first, uint64_t count,
                              gordian_error *error);
gordian_status gpu_array_flatten(struct gpu_array *array, gpu_address to, uint64_t first,
                                 uint64_t count, gordian_error *error);
/* Where element `first` is, and how many from it on lie in a row (0: it is behind the last). */
gordian_status gpu_array_piece(struct gpu_array *array, uint64_t first, gpu_address *at,
                               uint64_t *count, gordian_error *error);

/* Flat: from now on a thread of the host's maps memory while kernels run, so that there is room for
 * `ahead` elements more than they have come to; kernels do not wait for it, but end where it
 * falls behind. It keeps one core busy. GORDIAN_STATUS_INPUT: not flat, or watched already. Until
 * unwatched, only launch and wait; take a new view for the launch. gpu_array_run watches while
 * its launches run, and leaves other calls possible when it returns. */
gordian_status gpu_array_watch(struct gpu_array *array, uint64_t ahead, gordian_error *error);
void gpu_array_unwatch(struct gpu_array *array);

/* Launches, and launches again, until nothing is refused by any of the arrays: the kernel's jobs
 * have marks (kernels/array/array.h). After a launch that ran out, every array is grown by what it
 * refused, and a half more, or as far as there is memory. GORDIAN_STATUS_MEMORY: it cannot grow;
 * what was stored stays, and so do the marks: read the elements out, clear, and call again for the
 * rest. *launches, if not NULL: how many it took so far. */
gordian_status gpu_array_run(struct gpu_array *const *arrays, unsigned count,
                             const struct gpu_launch *launch, unsigned *launches,
                             gordian_error *error);

/* ---- pools */

struct gpu_pool_options {
    uint64_t chunk_bytes; /* a multiple of 256 */
    uint64_t most;        /* chunks it may ever have; 0: as many as the device's memory */
    uint64_t chunks;      /* there from the start */
};

gordian_status gpu_pool_create(struct gpu_pool **out, struct gpu *gpu,
                               const struct gpu_pool_options *options, gordian_error *error);
/* Its arrays are destroyed first. NULL is fine. */
void gpu_pool_destroy(struct gpu_pool *pool);
/* At least that many chunks in all. */
gordian_status gpu_pool_reserve(struct gpu_pool *pool, uint64_t chunks, gordian_error *error);
/* How many there are, and how many of them are taken. */
gordian_status gpu_pool_count(struct gpu_pool *pool, uint64_t *chunks, uint64_t *taken,
                              gordian_error *error);

#endif

/*
 * A growable array in a GPU's memory, for programs with CUDA kernels of their own. Any number of
 * blocks and kernels push into it at once while it grows; elements never move; nobody waits.
 * This is the host's side; <gordian/array_device.h> is what kernels use. docs/guide/garray.md tells
 * how it works and what it costs.
 *
 *     __global__ void keep_even(struct garray out, const uint32_t *from, uint32_t count)
 *     {
 *         uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
 *         uint32_t *slot = GARRAY_PUSH_BLOCK(uint32_t, &out, i < count && from[i] % 2 == 0);
 *         if (slot)
 *             *slot = from[i];
 *     }
 *
 *     gordian_gpu *gpu;
 *     gordian_array *even;
 *     gordian_array_options options;
 *     gordian_array_options_init(&options);
 *     options.element = sizeof(uint32_t);
 *     options.capacity = 1 << 20;
 *     gordian_gpu_open(&gpu, 0, NULL, &error);
 *     gordian_array_create(&even, gpu, &options, &error);
 *
 *     struct garray out;
 *     gordian_array_count result;
 *     gordian_array_begin(even, &out, &error);
 *     keep_even<<<blocks, threads, 0, stream>>>(out, from, count);
 *     cudaStreamSynchronize(stream);
 *     gordian_array_end(even, &result, &error); // result.size stored, result.refused not
 *     gordian_array_read(even, to, 0, result.size, &error);
 *
 * The device and the caller's CUDA
 *   Context   The device's primary context, which is the CUDA runtime's: what cudaMalloc gives and
 *             what lies in an array can be used side by side. It is made current around each call
 *             and the caller's is current again afterwards. Do not reset the device
 *             (cudaDeviceReset) before gordian_gpu_close.
 *   Streams   The library has streams of its own, which wait for none of the caller's. Whatever
 *             the array is made ready with is done when gordian_array_begin returns, so
 *             kernels may be launched on any stream at once. Before gordian_array_end the caller
 *             waits for them: the library does not know where they run.
 *   Kernels   get struct garray by value, as an argument or a part of one.
 *   Layout    A program compiled with other headers than the library's is told so by
 *             gordian_array_begin, if what lies on the device has another layout.
 *
 * Conventions as in <gordian/gordian.h>. Different arrays may be used by different threads; calls
 * on one array come one at a time.
 */
#ifndef GORDIAN_ARRAY_H
#define GORDIAN_ARRAY_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ devices */

typedef struct gordian_gpu gordian_gpu;

/* GPU number `device`, as cudaGetDevice counts; the emulator if GORDIAN_EMULATE_GPU=1 is in the
 * environment. `allocator`: of the host's memory, NULL: the C library's. On failure *out is NULL;
 * GORDIAN_STATUS_UNAVAILABLE, with the reason: no driver, no such device, one older than compute
 * capability 8.0, a library built without nvcc. */
GORDIAN_API gordian_status gordian_gpu_open(gordian_gpu **out, unsigned device,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
/* Its arrays are destroyed first. NULL is fine. */
GORDIAN_API void gordian_gpu_close(gordian_gpu *gpu);

/* ------------------------------------------------------------------ arrays */

typedef enum gordian_array_kind {
    /* Pages that kernels install themselves, out of memory set aside for the array; when that is
     * used up the rest is refused, and gordian_array_end makes more. */
    GORDIAN_ARRAY_KIND_PAGES = 0,
    /* One address range: the fastest to read. Memory is mapped into it between kernels, or, with
     * `watch`, by a thread of the library's while they run. */
    GORDIAN_ARRAY_KIND_FLAT,
} gordian_array_kind;

typedef struct gordian_array_options {
    uint32_t element;        /* bytes, at least 1; a multiple of the alignment of what is put in */
    gordian_array_kind kind; /* pages */
    /* Elements it may ever hold; 0, the default: as many as the device's memory. Addresses and
     * tables are reserved for them, not memory. */
    uint64_t most;
    uint64_t capacity; /* elements there is memory for from the start: 0 */
    uint64_t page;     /* elements of a page, a power of two; 0, the default: chosen */
    uint32_t ahead;    /* pages that a kernel installs before they are needed: 4 */
    /* Flat: elements that there is to be memory for beyond what kernels have come to, mapped by a
     * thread that keeps a core busy between begin and end. 0, the default: no such thread. */
    uint64_t watch;
} gordian_array_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_array_options_init(gordian_array_options *options);

typedef struct gordian_array gordian_array;

/* GORDIAN_STATUS_INPUT if the options make no sense. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_array_create(gordian_array **out, gordian_gpu *gpu,
                                                const gordian_array_options *options,
                                                gordian_error *error);
/* Gives everything back; no kernel uses it. NULL is fine. */
GORDIAN_API void gordian_array_destroy(gordian_array *array);

/* ------------------------------------------------------------------ kernels */

/* What kernels left. */
typedef struct gordian_array_count {
    uint64_t size;    /* elements stored, at 0 .. size - 1, without a hole */
    uint64_t refused; /* that did not fit, since gordian_array_begin */
} gordian_array_count;

struct garray;

/* Before kernels: fills in what they get. Until gordian_array_end no other call on the array. */
#define gordian_array_begin(array, view, error)                                                    \
    gordian_array_begin_layout(array, GORDIAN_ARRAY_LAYOUT, view, error)
GORDIAN_API gordian_status gordian_array_begin_layout(gordian_array *array, uint32_t layout,
                                                      struct garray *view, gordian_error *error);
/* After the kernels have ended: what there is. Where something was refused, there is now memory for
 * it and for half as much again, or for as much of it as is to be had: launch again those whose
 * jobs have marks (array_device.h), and nothing comes twice; or clear, and launch all.
 * GORDIAN_STATUS_MEMORY: there is no memory left at all; *count is filled in then, too. */
GORDIAN_API gordian_status gordian_array_end(gordian_array *array, gordian_array_count *count,
                                             gordian_error *error);

/* ------------------------------------------------------------------ between kernels */

/* How many elements are stored. */
GORDIAN_API gordian_status gordian_array_size(gordian_array *array, uint64_t *size,
                                              gordian_error *error);
/* Memory for at least so many elements in all. GORDIAN_STATUS_MEMORY: as much as before. */
GORDIAN_API gordian_status gordian_array_reserve(gordian_array *array, uint64_t capacity,
                                                 gordian_error *error);
/* No elements; the memory stays. */
GORDIAN_API gordian_status gordian_array_clear(gordian_array *array, gordian_error *error);
/* Gives back memory that holds no element. */
GORDIAN_API gordian_status gordian_array_shrink(gordian_array *array, gordian_error *error);
/* Puts elements of the host's behind the last one. */
GORDIAN_API gordian_status gordian_array_append(gordian_array *array, const void *from,
                                                uint64_t count, gordian_error *error);
/* Elements first .. first + count - 1 to the host; or, flat, to device memory: done when it
 * returns. GORDIAN_STATUS_INPUT: there are not that many. */
GORDIAN_API gordian_status gordian_array_read(gordian_array *array, void *to, uint64_t first,
                                              uint64_t count, gordian_error *error);
GORDIAN_API gordian_status gordian_array_flatten(gordian_array *array, void *device_to,
                                                 uint64_t first, uint64_t count,
                                                 gordian_error *error);

/* Elements that lie one behind the other in device memory. */
typedef struct gordian_array_piece {
    void *at;              /* on the device: element `first` */
    uint64_t first, count; /* 0, 0 before the first */
} gordian_array_piece;

/* The piece behind this one; GORDIAN_STATUS_END, the piece unchanged, when there is none. All
 * pieces are all elements in order; they stay where they are until the array shrinks or is
 * destroyed. */
GORDIAN_API gordian_status gordian_array_next(gordian_array *array, gordian_array_piece *piece,
                                              gordian_error *error);

/* ------------------------------------------------------------------ what lies on the device */

/*
 * What the host and array_device.h share; nothing for others to look into.
 *
 * Positions are given out by one counter that only grows: what it was before an addition is the
 * first position of whoever added. Positions below `limit` have memory; the others are refused.
 * So the elements stored are min(count, limit), without a hole, and max(count - limit, 0) did not
 * fit: exact, however many kernels push.
 *
 * Flat: one address range. The limit grows only as the host maps memory, and the first thread
 * that finds it too low closes it: from then on nobody gets more, until the host has settled.
 *
 * Pages, of a power of two of elements, each a chunk of a pool that several arrays may share.
 * Pages are installed in order by whoever needs one, so the limit is the number of those there
 * times their size. A chunk belongs to a page from the moment that its owner, the address of that
 * page's entry, is written; whoever comes by completes what others have begun. Chunks are not given
 * back while kernels run: a pool found empty stays empty, so all who find it so agree on where the
 * array ends.
 */
#define GORDIAN_ARRAY_LAYOUT 1

#define GARRAY_CLOSED   (UINT64_C(1) << 63) /* in the limit: it grows no more */
#define GARRAY_FINISHED UINT32_MAX          /* the mark of a job whose outputs are all stored */

/* In device memory. The counter has a cache line of its own. */
struct garray_control {
    uint64_t count; /* positions given out */
    uint64_t unused[15];
    uint64_t limit;   /* positions with memory, and GARRAY_CLOSED */
    uint64_t refused; /* before the last clearing on the device */
};

/* In mapped host memory: flat arrays that the host grows while a kernel runs. */
struct garray_desk {
    uint64_t granted; /* by the host: positions with memory */
    uint64_t unused[15];
    uint64_t wanted; /* by the device: how far it had come */
};

/* In device memory. Constant while kernels run, but for `next` and the owners. */
struct garray_pool {
    uint64_t next; /* chunks taken so far are order[0] .. order[next - 1] */
    uint64_t unused[15];
    uint64_t chunks; /* that there are */
    uint64_t chunk_bytes;
    uint64_t base;   /* chunk 0 */
    uint64_t order;  /* uint32_t each: chunks in the order in which they are taken */
    uint64_t owners; /* uint64_t each, in that order: the address of the page's entry; 0: free */
};

/* The array, by value in a kernel's arguments. */
struct garray {
    uint64_t control; /* struct garray_control */
    uint64_t base;    /* flat: element 0; pages: 0 */
    uint64_t pages;   /* pages: uint64_t each, the page's address, 0: none yet */
    uint64_t pool;    /* pages: struct garray_pool */
    uint64_t desk;    /* flat: struct garray_desk, 0: the host does not grow it meanwhile */
    uint64_t most;    /* elements it can ever hold */
    uint32_t shift;   /* a page has 1 << shift elements; flat: whoever enters one sees the desk */
    uint32_t element; /* bytes */
    uint32_t ahead;   /* whoever enters a page installs that many further ones */
    uint32_t unused;
};

#ifdef __cplusplus
}
#endif

#endif

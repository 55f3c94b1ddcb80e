/*
 * A growable array in GPU memory, for programs with their own CUDA kernels. Any number of blocks
 * and kernels push into it at once while it grows. Elements never move, and no thread waits. This
 * is the host side. <gordian/array_device.h> is for kernels. docs/guide/garray.md describes how the
 * array works and its costs.
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
 * The device and the CUDA of the caller
 *   Context   The primary context of the device, which the CUDA runtime also uses. Memory from
 *             cudaMalloc and elements of an array can be used together. Each call makes it current
 *             and restores the context of the caller. Do not reset the device (cudaDeviceReset)
 *             before gordian_gpu_close.
 *   Streams   The library has its own streams, which wait for no stream of the caller. When
 *             gordian_array_begin returns, its work is complete, so kernels may be launched on any
 *             stream at once. The library does not know where they run: wait for them before
 *             gordian_array_end.
 *   Kernels   Receive struct garray by value, as an argument or as a part of one.
 *   Layout    gordian_array_begin returns an error if the program was compiled with headers whose
 *             device layout differs from that of the library.
 *
 * The conventions are those of <gordian/gordian.h>. Different threads may use different arrays.
 * Only one call at a time may use an array.
 */
#ifndef GORDIAN_ARRAY_H
#define GORDIAN_ARRAY_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ devices */

typedef struct gordian_gpu gordian_gpu;

/* Opens GPU number `device`, counted like cudaGetDevice, or the emulator if GORDIAN_EMULATE_GPU=1
 * is in the environment. `allocator` is for host memory; NULL: that of the C library. On failure
 * *out is NULL. GORDIAN_STATUS_UNAVAILABLE, with the reason: no driver, no such device, a device
 * below compute capability 8.0, or a library built without nvcc. */
GORDIAN_API gordian_status gordian_gpu_open(gordian_gpu **out, unsigned device,
                                            const gordian_allocator *allocator,
                                            gordian_error *error);
/* All arrays of the GPU must be destroyed first. NULL is allowed. */
GORDIAN_API void gordian_gpu_close(gordian_gpu *gpu);

/* ------------------------------------------------------------------ arrays */

typedef enum gordian_array_kind {
    /* Pages that kernels install themselves from memory set aside for the array. When this memory
     * is used up, further elements are refused, and gordian_array_end allocates more. */
    GORDIAN_ARRAY_KIND_PAGES = 0,
    /* One address range, which is the fastest to read. Memory is mapped into it between kernels,
     * or, with `watch`, by a library thread while they run. */
    GORDIAN_ARRAY_KIND_FLAT,
} gordian_array_kind;

typedef struct gordian_array_options {
    uint32_t element;        /* bytes, at least 1; a multiple of the alignment of the elements */
    gordian_array_kind kind; /* default: pages */
    /* Maximum number of elements; 0, the default: as many as fit into device memory. Only addresses
     * and tables are reserved for them, not memory. */
    uint64_t most;
    uint64_t capacity; /* elements with memory from the start: 0 */
    uint64_t page;     /* elements of a page, a power of two; 0, the default: chosen */
    uint32_t ahead;    /* pages that a kernel installs before they are needed: 4 */
    /* Flat arrays: how many elements ahead of the kernels have memory. A thread that keeps a core
     * busy between begin and end maps it. 0, the default: no such thread. */
    uint64_t watch;
} gordian_array_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_array_options_init(gordian_array_options *options);

typedef struct gordian_array gordian_array;

/* GORDIAN_STATUS_INPUT if the options are invalid. On failure *out is NULL. */
GORDIAN_API gordian_status gordian_array_create(gordian_array **out, gordian_gpu *gpu,
                                                const gordian_array_options *options,
                                                gordian_error *error);
/* Frees the array. No kernel may be using it. NULL is allowed. */
GORDIAN_API void gordian_array_destroy(gordian_array *array);

/* ------------------------------------------------------------------ kernels */

/* The result of the kernels. */
typedef struct gordian_array_count {
    uint64_t size;    /* elements stored, at 0 .. size - 1, without a hole */
    uint64_t refused; /* elements that did not fit, since gordian_array_begin */
} gordian_array_count;

struct garray;

/* Call before kernels: fills in their view. Until gordian_array_end no other call on the array is
 * allowed. */
#define gordian_array_begin(array, view, error)                                                    \
    gordian_array_begin_layout(array, GORDIAN_ARRAY_LAYOUT, view, error)
GORDIAN_API gordian_status gordian_array_begin_layout(gordian_array *array, uint32_t layout,
                                                      struct garray *view, gordian_error *error);
/* Call after the kernels have ended: returns the counts. If elements were refused, there is now
 * memory for 1.5 times their number, or for as many of them as possible. Launch kernels again whose
 * jobs have marks (array_device.h), and no output is stored twice. Or clear the array and launch
 * all kernels. GORDIAN_STATUS_MEMORY: there is no memory left; *count is filled in nevertheless. */
GORDIAN_API gordian_status gordian_array_end(gordian_array *array, gordian_array_count *count,
                                             gordian_error *error);

/* ------------------------------------------------------------------ between kernels */

/* Returns the number of stored elements. */
GORDIAN_API gordian_status gordian_array_size(gordian_array *array, uint64_t *size,
                                              gordian_error *error);
/* Allocates memory for at least this many elements in total. GORDIAN_STATUS_MEMORY: unchanged. */
GORDIAN_API gordian_status gordian_array_reserve(gordian_array *array, uint64_t capacity,
                                                 gordian_error *error);
/* Removes all elements and keeps the memory. */
GORDIAN_API gordian_status gordian_array_clear(gordian_array *array, gordian_error *error);
/* Frees memory that holds no element. */
GORDIAN_API gordian_status gordian_array_shrink(gordian_array *array, gordian_error *error);
/* Appends elements from the host. */
GORDIAN_API gordian_status gordian_array_append(gordian_array *array, const void *from,
                                                uint64_t count, gordian_error *error);
/* Copy elements first .. first + count - 1 to the host, or (flatten) to device memory. The copy is
 * complete on return. GORDIAN_STATUS_INPUT: there are not that many. */
GORDIAN_API gordian_status gordian_array_read(gordian_array *array, void *to, uint64_t first,
                                              uint64_t count, gordian_error *error);
GORDIAN_API gordian_status gordian_array_flatten(gordian_array *array, void *device_to,
                                                 uint64_t first, uint64_t count,
                                                 gordian_error *error);

/* Elements that are contiguous in device memory. */
typedef struct gordian_array_piece {
    void *at;              /* on the device: element `first` */
    uint64_t first, count; /* 0, 0 before the first piece */
} gordian_array_piece;

/* Advances to the next piece. GORDIAN_STATUS_END if there is none; the piece is then unchanged. The
 * pieces together are all elements in order. They are valid until the array shrinks or is
 * destroyed. */
GORDIAN_API gordian_status gordian_array_next(gordian_array *array, gordian_array_piece *piece,
                                              gordian_error *error);

/* ------------------------------------------------------------------ device layout */

/*
 * Structures that the host and array_device.h share. They are not for other use.
 *
 * A single counter assigns positions and only grows. Its value before an addition is the first
 * position that is assigned. Positions below `limit` have memory; the others are refused. The
 * stored elements are therefore min(count, limit), without a hole, and max(count - limit, 0) did
 * not fit. Both are exact, however many kernels push.
 *
 * Flat: one address range. The limit grows only when the host maps memory. The first thread that
 * finds it too low closes it. It then stays unchanged until the host has settled the array.
 *
 * Pages have a power of two of elements. Each is a chunk of a pool that several arrays may share.
 * Threads install pages in order as they need them, so the limit is the number of installed pages
 * times their size. A chunk belongs to a page as soon as its owner, the address of the entry of
 * that page, is written. Other threads complete what a thread has begun. Chunks do not return to
 * the pool while kernels run. A pool that was found empty therefore stays empty, and all threads
 * agree on where the array ends.
 */
#define GORDIAN_ARRAY_LAYOUT 1

#define GARRAY_CLOSED   (UINT64_C(1) << 63) /* in the limit: it no longer grows */
#define GARRAY_FINISHED UINT32_MAX          /* the mark of a job whose outputs are all stored */

/* In device memory. The counter has a separate cache line. */
struct garray_control {
    uint64_t count; /* positions assigned */
    uint64_t unused[15];
    uint64_t limit;   /* positions with memory, and GARRAY_CLOSED */
    uint64_t refused; /* before the last garray_clear */
};

/* In mapped host memory, for flat arrays that the host grows while a kernel runs. */
struct garray_desk {
    uint64_t granted; /* by the host: positions with memory */
    uint64_t unused[15];
    uint64_t wanted; /* by the device: its highest position */
};

/* In device memory. Constant while kernels run, except for `next` and the owners. */
struct garray_pool {
    uint64_t next; /* the chunks taken so far are order[0] .. order[next - 1] */
    uint64_t unused[15];
    uint64_t chunks; /* number of chunks */
    uint64_t chunk_bytes;
    uint64_t base;   /* chunk 0 */
    uint64_t order;  /* uint32_t each: the chunks in the order in which they are taken */
    uint64_t owners; /* uint64_t each, in this order: address of the page entry; 0: free */
};

/* The array, passed by value to a kernel. */
struct garray {
    uint64_t control; /* struct garray_control */
    uint64_t base;    /* flat: element 0; pages: 0 */
    uint64_t pages;   /* pages: uint64_t each, the address of the page, 0: not installed */
    uint64_t pool;    /* pages: struct garray_pool */
    uint64_t desk;    /* flat: struct garray_desk, 0: the host does not grow the array now */
    uint64_t most;    /* maximum number of elements */
    uint32_t shift;   /* a page has 1 << shift elements; flat: read the desk on each new page */
    uint32_t element; /* bytes */
    uint32_t ahead;   /* number of further pages that a thread installs when it enters a page */
    uint32_t unused;
};

#ifdef __cplusplus
}
#endif

#endif

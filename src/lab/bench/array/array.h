/* Shared by the files of `gordian bench array`. */
#pragma once

#include "foundation/gpu/array/array.h"
#include "lab/bench/harness/harness.h"
#include "lab/published/array/array.h"
#include "lab/published/array/task.h"

extern const struct gpu_kernels bench_kernels; /* kernels/list.h */

struct array_bench {
    struct bench *bench;
    struct gpu *gpu;
    struct gpu_info info;
    bool bars;     /* absolute targets are set for this device */
    double copied; /* bytes per second that a copy on the device reads and writes */
};

struct bench_effort array_effort(const struct array_bench *array, double seconds);
/* Does this run measure the row? The emulator measures only `tiny` rows, and --quick only some. */
bool array_takes(const struct array_bench *array, bool tiny, bool quick);
/* Fills in the times, and a note with the throughput for `bytes`; 0: no note. */
void array_fill(const struct array_bench *array, struct bench_row *row,
                const struct bench_side *side, uint64_t bytes);
/* Fills in a baseline. `cost`: the ratio is our time over the baseline's, at most `bar` on a
 * device. */
void array_cost(const struct array_bench *array, struct bench_row *row, const char *baseline,
                const struct bench_side *side, double bar);

/* ---- input of the filters (world.c) */

struct array_world {
    const struct array_bench *array;
    struct array_task task;
    gpu_address plain;  /* capacity for what is kept */
    gpu_address stored; /* uint64_t: number of elements in `plain` */
    gpu_address marks;
    uint64_t marks_bytes;
    struct gpu_pool *pool;
    struct gpu_array *chunked, *flat;
};

/* Creates the numbers and the expected result, but no arrays. Close it even if this fails. */
gordian_status array_world_open(struct array_world *world, const struct array_bench *array,
                                uint64_t count, uint32_t element);
void array_world_close(struct array_world *world);
/* Opens a chunked array in place of any other, with a pool of chunks for all that is kept. Opens a
 * flat one with memory for it from the start, or (grows) without memory. */
gordian_status array_world_chunked(struct array_world *world, uint64_t chunk_bytes, uint32_t ahead);
gordian_status array_world_flat(struct array_world *world, bool grows);
/* The default chunk size. */
uint64_t array_chunk_bytes(const struct array_bench *array, uint32_t element);
#define ARRAY_AHEAD 4

/* Bytes that a filter must move: it reads all and writes what it keeps. */
uint64_t array_world_bytes(const struct array_world *world);

/* ---- methods to filter (filter.c) */

enum array_method {
    ARRAY_METHOD_CHUNKED, /* grows from empty during the kernel */
    ARRAY_METHOD_MARKS,   /* the same, but can continue after memory ran out */
    ARRAY_METHOD_FLAT,    /* memory mapped beforehand */
    ARRAY_METHOD_WATCHED, /* flat, mapped by the host while the kernel runs; host time */
    ARRAY_METHOD_PLAIN,   /* the same kernel into preallocated memory: one atomic per block */
    ARRAY_METHOD_ATOMIC,  /* one atomic per element: the paper's lower bound */
};

/* Context of a bench_side. */
struct array_side {
    struct array_world *world;
    enum array_method way;
    unsigned blocks; /* 0: as many as fit */
    bool host;       /* host time, from the launch until the host knows the number of elements */
    unsigned launches;
};
/* Filters once and checks the result. */
gordian_status array_filter_run(void *side, double *ns, gordian_error *error);

/* ---- reading every element (read.c) */

/* Context of a bench_side: a kernel that adds what it reads to task.answer. */
struct array_reading {
    const struct array_world *world;
    const char *kernel;
    const void *arguments;
    size_t arguments_size;
    uint64_t sum; /* of the last run */
};
/* Measures it against plain memory with the same content in the same order; bar 0: no target. */
gordian_status array_read_row(struct array_reading *ours, const char *mode, bool at_random,
                              double bar);

/* ---- rows: each function adds its own */
gordian_status array_filter_rows(const struct array_bench *array);
gordian_status array_paper_rows(const struct array_bench *array, struct array_world *world);
gordian_status array_kinds_rows(struct array_world *world);
gordian_status array_kinds_read_rows(struct array_world *world);
gordian_status array_alternative_rows(struct array_world *world);
gordian_status array_shape_rows(const struct array_bench *array);
gordian_status array_read_rows(const struct array_bench *array);

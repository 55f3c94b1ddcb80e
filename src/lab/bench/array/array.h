/* `gordian bench array`: what its files share. */
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
    bool bars;     /* absolute times are known for this device */
    double copied; /* bytes a second that a copy on the device reads and writes */
};

struct bench_effort array_effort(const struct array_bench *array, double seconds);
/* Does this run measure it: in the emulator only `tiny` rows, with --quick only some? */
bool array_takes(const struct array_bench *array, bool tiny, bool quick);
/* Fills the times in, and a note of how fast `bytes` were moved. 0: no note. */
void array_fill(const struct array_bench *array, struct bench_row *row,
                const struct bench_side *side, uint64_t bytes);
/* Fills a baseline in; `cost`: the ratio tells how many times as long ours takes, and must be at
 * most `bar` on a device. */
void array_cost(const struct array_bench *array, struct bench_row *row, const char *baseline,
                const struct bench_side *side, double bar);

/* ---- something to filter (world.c) */

struct array_world {
    const struct array_bench *array;
    struct array_task task;
    gpu_address plain;  /* room for what is kept */
    gpu_address stored; /* uint64_t: how much of it */
    gpu_address marks;
    uint64_t marks_bytes;
    struct gpu_pool *pool;
    struct gpu_array *chunked, *flat;
};

/* Numbers, and what is to be kept of them; no arrays yet. On failure it is to be closed too. */
gordian_status array_world_open(struct array_world *world, const struct array_bench *array,
                                uint64_t count, uint32_t element);
void array_world_close(struct array_world *world);
/* A chunked array, the only one from now on, with a pool of chunks for all that is kept; a flat one
 * with memory for it from the start, or (grows) with none. */
gordian_status array_world_chunked(struct array_world *world, uint64_t chunk_bytes, uint32_t ahead);
gordian_status array_world_flat(struct array_world *world, bool grows);
/* The chunks used unless there is a reason not to. */
uint64_t array_chunk_bytes(const struct array_bench *array, uint32_t element);
#define ARRAY_AHEAD 4

/* Bytes that filtering has to move: all read, what is kept written. */
uint64_t array_world_bytes(const struct array_world *world);

/* ---- ways to filter (filter.c) */

enum array_way {
    ARRAY_WAY_CHUNKED, /* growing from empty during the kernel */
    ARRAY_WAY_MARKS,   /* the same, able to go on where memory ends */
    ARRAY_WAY_FLAT,    /* memory mapped beforehand */
    ARRAY_WAY_WATCHED, /* flat, mapped by the host while the kernel runs; the host's time */
    ARRAY_WAY_PLAIN,   /* the same kernel into memory that is there: one atomic a block */
    ARRAY_WAY_ATOMIC,  /* one an element: the paper's lower bound */
};

/* A bench_side's context. */
struct array_side {
    struct array_world *world;
    enum array_way way;
    unsigned blocks; /* 0: as many as fit */
    bool host;       /* the host's time, from the launch until it knows how many there are */
    unsigned launches;
};
/* Filters once and checks what came of it. */
gordian_status array_filter_run(void *side, double *ns, gordian_error *error);

/* ---- reading every element (read.c) */

/* A bench_side's context: a kernel that adds what it reads to task.answer. */
struct array_reading {
    const struct array_world *world;
    const char *kernel;
    const void *arguments;
    size_t arguments_size;
    uint64_t sum; /* of the last run */
};
/* Measures it beside plain memory, which has the same content in the same order; bar 0: none. */
gordian_status array_read_row(struct array_reading *ours, const char *mode, bool at_random,
                              double bar);

/* ---- rows: each adds its own */
gordian_status array_filter_rows(const struct array_bench *array);
gordian_status array_paper_rows(const struct array_bench *array, struct array_world *world);
gordian_status array_kinds_rows(struct array_world *world);
gordian_status array_kinds_read_rows(struct array_world *world);
gordian_status array_instead_rows(struct array_world *world);
gordian_status array_shape_rows(const struct array_bench *array);
gordian_status array_read_rows(const struct array_bench *array);

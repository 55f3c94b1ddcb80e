/* Shared by cuda/banker.c (memory and updates) and cuda/query.c (questions). */
#pragma once

#include "engines/avoid/cuda/banker.h"
#include "foundation/gpu/kernels/banker/banker.h"

/* In device memory, with capacity for these ids. */
struct banker_parts {
    uint32_t process_room, resource_room;
    bool wide;
    uint64_t stride; /* units from row to row */
    gpu_address need, held, order, spare;
    gpu_address free, work, taken, own, pointer; /* by resource */
    gpu_address counts, round, list;             /* by process */
    gpu_address control, columns;
};

/* Mapped memory: a question with its changes, and its answer. One allocation. */
struct banker_mapped {
    void *here;
    gpu_address there;
    size_t change_room, want_room;
    struct banker_change *changes;
    uint32_t *groups;
    struct banker_want *wants;
    struct banker_request *requests;
    uint32_t *answers;
    struct banker_result *result;
};

#define BANKER_REQUEST_ROOM 8192u

/* On the host, with the same capacity. */
struct banker_lists {
    uint64_t *touched; /* resource << 32 | process; capacity: the changes that fit */
    uint32_t *rounds;  /* by process */
    uint32_t *starts;  /* by round, and one more */
    uint64_t *most;    /* by resource; zero between calls */
    void *rows;        /* being sent to the device */
    size_t rows_size;
};

/* In device memory, for blocks that judge a request each. */
struct banker_block_memory {
    unsigned blocks;
    gpu_address own_rows, start_rows, count_rows, queue_rows, columns;
};

struct banker {
    struct gpu *gpu;
    struct gpu_info info;
    gordian_allocator memory;
    const struct ledger *ledger;

    struct banker_parts parts;
    struct banker_mapped desk;
    struct banker_lists lists;
    struct banker_block_memory team;

    bool stale;      /* the device copy is stale: upload everything */
    bool needs_wide; /* a total no longer fits 32 bits */
    size_t touched_count;
    uint32_t group_count; /* number of groups of the changes in mapped memory */

    struct banker_tuning tuning;
    struct banker_effort effort;
    bool timed;
    uint64_t fail_at; /* launches until one fails, for tests; 0: none */

    /* The last shape that was asked about, and how many blocks of it fit the device. */
    unsigned shape_threads, shape_blocks;
    size_t shape_shared;
    bool shape_wide;
};

static inline uint64_t banker_unit(bool wide)
{
    return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Brings capacity, matrices and changes up to date with the ledger. The changes are sent with the
 * next launch. */
gordian_status banker_catch_up(struct banker *banker, gordian_error *error);
/* Reserves memory for that many blocks that judge requests. */
gordian_status banker_reserve_team(struct banker *banker, unsigned blocks, gordian_error *error);

/* Launches a kernel and waits for it. */
gordian_status banker_run(struct banker *banker, const struct gpu_launch *launch,
                          gordian_error *error);

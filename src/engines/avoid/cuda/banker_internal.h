/* Inside cuda/banker.c (room, and what is up there) and cuda/ask.c (questions). */
#pragma once

#include "engines/avoid/cuda/banker.h"
#include "foundation/gpu/kernels/banker/banker.h"

/* In device memory, with room for these ids. */
struct banker_parts {
    uint32_t process_room, resource_room;
    bool wide;
    uint64_t stride; /* units from row to row */
    gpu_address need, held, order, spare;
    gpu_address free, work, taken, own, pointer; /* by resource */
    gpu_address counts, round, list;             /* by process */
    gpu_address control, columns;
};

/* In mapped memory: what goes with a question, and its answer. One piece. */
struct banker_desk {
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

/* On the host, as long as the parts are. */
struct banker_lists {
    uint64_t *touched; /* resource << 32 | process; as many as the desk has room for changes */
    uint32_t *rounds;  /* by process */
    uint32_t *starts;  /* by round, and one more */
    uint64_t *most;    /* by resource; zero between calls */
    void *rows;        /* on their way to the device */
    size_t rows_size;
};

/* In device memory, for blocks that each judge a request. */
struct banker_team {
    unsigned blocks;
    gpu_address own_rows, start_rows, count_rows, queue_rows, columns;
};

struct banker {
    struct gpu *gpu;
    struct gpu_info info;
    gordian_allocator memory;
    const struct ledger *ledger;

    struct banker_parts parts;
    struct banker_desk desk;
    struct banker_lists lists;
    struct banker_team team;

    bool stale;      /* what is there is not what was: all is to be sent */
    bool needs_wide; /* a total no longer fits 32 bits */
    size_t touched_count;
    uint32_t group_count; /* of the changes on the desk */

    struct banker_tuning tuning;
    struct banker_effort effort;
    bool timed;
    uint64_t fail_at; /* launches until one fails on purpose; 0: none */

    /* The last shape asked about: so many blocks of it fit the device. */
    unsigned shape_threads, shape_blocks;
    size_t shape_shared;
    bool shape_wide;
};

static inline uint64_t banker_unit(bool wide)
{
    return wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* Brings room, matrices and changes to where the ledger is; the changes go with the next launch. */
gordian_status banker_catch_up(struct banker *banker, gordian_error *error);
/* Room for so many blocks that judge requests. */
gordian_status banker_reserve_team(struct banker *banker, unsigned blocks, gordian_error *error);

/* Launches, and waits for it. */
gordian_status banker_run(struct banker *banker, const struct gpu_launch *launch,
                          gordian_error *error);

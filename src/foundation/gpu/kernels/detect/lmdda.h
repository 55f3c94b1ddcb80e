/*
 * LMDDA on the device (engines/detect/engine/lmdda.c explains the method,
 * engines/detect/cuda/lmdda.c controls it).
 *
 * Matrices are rows of 32-bit words, least significant bit first, with strides that are multiples
 * of LMDDA_LINE words; or they are in blocks (blocks.h). Resources with waiters have a *slot*,
 * numbered densely from 0: paths continue only through those, so reachability is computed among
 * slots, and RP follows from it.
 */
#pragma once

#include "foundation/gpu/kernels/resident/blocks_layout.h"

#include <stdint.h>

#define LMDDA_LINE    32u         /* words: 128 bytes */
#define LMDDA_NONE    0xffffffffu /* waits for nothing, has no slot */
#define LMDDA_THREADS 128u

/* The state, as device addresses. */
struct lmdda_state {
    uint64_t grants;    /* resources x processes: the holders; in blocks: the tops */
    uint64_t reach;     /* resources x processes: RP; likewise */
    uint64_t runs;      /* one row of processes: SP */
    uint64_t waits;     /* by process: the resource waited for, or LMDDA_NONE */
    uint64_t slots;     /* by resource: its slot, or LMDDA_NONE */
    uint64_t resources; /* by slot: its resource */
    uint32_t stride;    /* of grants, reach and runs, in words; of blocks: rows */
    uint32_t top_count; /* in blocks only, and so is `store` */
    struct block_store store;
};

/* ---- changes, and the question of a block */

enum lmdda_change {
    LMDDA_GRANT,   /* second (a process) holds first (a resource) */
    LMDDA_UNGRANT, /* it no longer does */
    LMDDA_WAIT,    /* first (a process) waits for second */
    LMDDA_RUN,     /* first (a process) runs */
    LMDDA_SLOT,    /* first (a resource) has the slot second, or LMDDA_NONE */
};

struct lmdda_update {
    uint32_t change;
    uint32_t first, second;
};

enum lmdda_answer {
    LMDDA_LEADS_ON = 1, /* the resource leads to a running process */
    LMDDA_LEADS_BACK,   /* to none other than the requester */
    LMDDA_LEADS_NOWHERE,
};

/* One block: makes the changes in order, then recomputes the listed rows of RP. These belong to
 * resources without waiters, so no other row depends on them. With a question, `process` then
 * begins to wait for `wanted`, and the answer is where that leads. */
struct lmdda_event_arguments {
    struct lmdda_state state;
    uint64_t updates; /* struct lmdda_update, in memory shared with the host */
    uint64_t rows;    /* resources, likewise */
    uint64_t answer;  /* one word in such memory; 0: no question */
    uint32_t update_count, row_count;
    uint32_t process, wanted;
    uint32_t slot;  /* the slot of `wanted` */
    uint32_t words; /* of a row */
};

/* Joins row `wanted` of RP to every row that leads to `process`. */
struct lmdda_join_arguments {
    struct lmdda_state state;
    uint32_t process, wanted;
    uint32_t rows, words;
};

/* ---- recomputing RP */

struct lmdda_hop_arguments {
    struct lmdda_state state;
    uint64_t paths;       /* slots x slots: one leads to the other */
    uint64_t held;        /* slots x processes: the holders of the slot's resource, then RP's row */
    uint64_t barrier;     /* small only: struct grid_barrier */
    uint32_t slot_stride; /* of paths, in words */
    uint32_t slot_count;
    uint32_t process_count, resource_count;
    uint32_t tensor;
    uint32_t reserved;
};

/* The same in blocks, in one cooperative launch (kernel lmdda_blocks_reach). */
struct lmdda_reach_arguments {
    struct lmdda_state state;
    uint64_t walks[2]; /* tops of two empty matrices like RP, left empty */
    uint64_t barrier;  /* struct grid_barrier */
    uint64_t changed;  /* uint32_t[3] */
    uint32_t rows;
    uint32_t reserved;
};

/* In blocks: the end of every row (what_if.h), and words of one row. */
struct lmdda_ends_arguments {
    struct lmdda_state state;
    uint64_t ends;
    uint32_t rows;
    uint32_t reserved;
};

struct lmdda_read_arguments {
    struct lmdda_state state;
    uint64_t to;
    uint32_t row, first, count; /* words */
    uint32_t reserved;
};

/* The transitive closure of a square bit matrix: paths of any length; one cooperative launch. It
 * includes `held` |= paths . held. Bits beyond `size` and `columns`, up to the next 128, are zero.
 */
struct bit_closure_arguments {
    uint64_t paths;               /* size x size */
    uint64_t held;                /* size x columns; 0 where there are none */
    uint64_t barrier;             /* struct grid_barrier */
    uint32_t stride, held_stride; /* in words */
    uint32_t size, columns;
    uint32_t tensor;
    uint32_t reserved;
};

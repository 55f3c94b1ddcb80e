/*
 * OSDDA on the device (engines/detect/engine/matrix.h defines the matrices): arguments and commands
 * of the service kernel osdda_service.
 *
 * Every row of AG, AR and Sink has at most one bit, so they are stored as vectors. The rows of RR
 * and RP of a resource are adjacent, each of whole lines of 128 bytes. What changes one changes the
 * other, so most of the work treats both as one row.
 */
#pragma once

#include "foundation/gpu/kernels/resident/blocks_layout.h"
#include "foundation/gpu/kernels/resident/service_ring.h"

#define OSDDA_NONE        UINT32_MAX
#define OSDDA_LINE        128u /* bytes */
#define OSDDA_MAX_THREADS 512u

/* The vectors, in both kinds of storage. */
struct osdda_vectors {
    struct service_arguments service;
    uint64_t holder;    /* uint32_t, by resource: the bit of its row of AG */
    uint64_t wait;      /* uint32_t, by process: the bit of its row of AR */
    uint64_t sink_of;   /* uint32_t, by resource: the bit of its row of Sink */
    uint64_t next[2];   /* uint32_t, by resource: for OSDDA_REBUILD */
    uint32_t resources; /* capacity in rows */
    uint32_t doublings; /* the least k with 2^k >= resources */
};

struct osdda_arguments {
    struct osdda_vectors vectors;
    uint64_t rows;   /* of bits, by resource: its row of RR, then its row of RP */
    uint64_t stride; /* distance between rows, in chunks of 16 bytes */
    uint64_t rp;     /* where in a row RP starts, in chunks */
};

/*
 * The same with rows in blocks (kernel osdda_blocks_service). Only what lies beyond a row's first
 * step is stored: that RR[q] has q, and RP[q] has q's holder, is known without it. So a resource
 * that is free, or whose holder runs, has nothing stored.
 */
struct osdda_blocks_arguments {
    struct osdda_vectors vectors;
    struct block_store store;
    struct block_matrix rr, rp;
    uint64_t step; /* uint32_t[4]: the last step begun, in case it has to be repeated */
    uint64_t row;  /* uint32_t: where OSDDA_READ writes */
};

/* Operands a, b, c of each. ALONE: the process holds nothing, so no path leads to it. */
enum osdda_operation {
    OSDDA_STOP = SERVICE_STOP,
    OSDDA_GRANT,        /* process, resource, which was free */
    OSDDA_RELEASE,      /* -, resource, which has no waiters */
    OSDDA_BLOCK,        /* process, resource; answered: the sink of the resource */
    OSDDA_BLOCK_ALONE,  /* the same */
    OSDDA_HAND_OVER,    /* from, resource, to: `to` waited for it */
    OSDDA_CANCEL,       /* process, resource it waits for */
    OSDDA_CANCEL_ALONE, /* the same */
    OSDDA_REBUILD,      /* process: all rows that lead to it, which runs; OSDDA_NONE: all rows */
    OSDDA_PING,         /* answered when everything before it is done */
    OSDDA_READ,         /* row, words, 0 for RR, 1 for RP: makes it readable; in blocks only */
};

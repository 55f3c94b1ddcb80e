/* Snapshots of any model: arguments of the kernels in reduce.cu, which explains them. */
#pragma once

#include <stdint.h>

#define REDUCE_THREADS 256u
#define REDUCE_NONE    UINT32_C(0xffffffff)
#define REDUCE_SHORT   32u   /* edges of a node that its thread handles alone */
#define REDUCE_CHUNK   1024u /* of longer ones: edges that a warp takes at a time */
#define REDUCE_BLOCK   8192u /* waiters of a resource that one block sorts */

#define REDUCE_BARRIER_BYTES 64u /* size of a struct grid_barrier or more */

/* The snapshot's own records (the same as in engines/detect/check/snapshot.h). */
struct reduce_units {
    uint64_t total, held, first;
};
struct reduce_edge {
    uint64_t units;
    uint32_t process, resource;
};

/* Edges of one node, to be handled by a warp. */
struct reduce_chunk {
    uint32_t begin, end;
};

/* Counts that the blocks share. */
struct reduce_counts {
    uint32_t ready;          /* processes that can finish, so far */
    uint32_t touched;        /* resources with released units, in all rounds */
    uint32_t process_chunks; /* so far */
    uint32_t resource_chunks;
    uint32_t long_lists; /* to be sorted by more than one thread */
};

/* For all kernels; each uses what it needs. Arrays are of uint32_t unless stated otherwise. */
struct reduce_arguments {
    /* the snapshot */
    uint64_t wait;       /* by process */
    uint64_t wait_units; /* uint64_t, by process; 0: one each */
    uint64_t holder;     /* by resource */
    uint64_t units;      /* struct reduce_units, by resource; 0: one each */
    uint64_t holds;      /* struct reduce_edge */
    uint64_t waits;      /* struct reduce_edge */
    uint32_t processes, resources;
    uint32_t hold_count, wait_count;

    /* the graph: from a process to what it holds, from a resource to its waiters */
    uint64_t hold_start;  /* by process, and one more: where its edges start */
    uint64_t hold_cursor; /* by process: the place of the next one */
    uint64_t hold_target; /* by edge: a resource */
    uint64_t hold_amount; /* uint64_t, by edge; 0: one each */
    uint64_t wait_start;  /* by resource, and one more */
    uint64_t wait_cursor; /* by resource: the place of the next one; later the first unmet wish */
    uint64_t wait_target; /* by edge: a process */
    uint64_t wait_amount; /* uint64_t, by edge, ascending for each resource; 0: one each */
    uint64_t long_lists;  /* resources with more waiters than a thread sorts */

    /* the reduction */
    uint64_t free;    /* uint64_t, by resource */
    uint64_t missing; /* by process: wishes not met */
    uint64_t lead;    /* by process: the process that can meet its only wish; NONE: it can run */
    uint64_t flags;   /* uint8_t, by process */
    uint64_t ready;   /* processes that can finish, each once */
    uint64_t touched; /* resources with released units in this round */
    uint64_t touched_round;   /* by resource: the round it was last put there; zero beforehand */
    uint64_t process_chunks;  /* struct reduce_chunk */
    uint64_t resource_chunks; /* struct reduce_chunk */
    uint64_t counts;          /* struct reduce_counts */
    uint64_t barrier;         /* struct grid_barrier */
};

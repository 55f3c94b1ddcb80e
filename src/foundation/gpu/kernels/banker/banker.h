/*
 * The banker's algorithm on the device: definitions that the host and the kernels of banker32.cu
 * and banker64.cu share (banker_body.h explains the method).
 *
 * Units are 32 bits wide in one set of kernels and 64 in the other; the totals decide which set is
 * used. Matrices have a row for each process; rows are `stride` units apart. In addition every
 * resource has an *order*: all processes, sorted by ascending need. It includes unused ids, which
 * need nothing.
 */
#pragma once

#include <stdint.h>

#define BANKER_NONE         UINT32_MAX
#define BANKER_THREADS      544u   /* most threads of a block: 1024 resources, and a warp */
#define BANKER_SORT_THREADS 1024u  /* the same, for a block that sorts */
#define BANKER_SMALL        65534u /* up to this many resources a count of them fits 16 bits */
#define BANKER_SPAN         2u     /* resources of a thread in a search */
#define BANKER_COLUMN_BYTES 48u    /* size of a resource's part of struct columns, the wider kind */

/* A search keeps the next entries of each order in shared memory if they fit: the most and the
 * least are given here, with 16 bytes between; and two of what a process holds. In bytes, for each
 * thread: */
#define BANKER_WINDOW_MOST  16u
#define BANKER_WINDOW_LEAST 8u
#define BANKER_NEAR_BYTES(window, unit)                                                            \
    (BANKER_SPAN * ((window)*2 * (unit) + 16) + BANKER_SPAN * (unit))

#define BANKER_ROOM_STEP 8u /* the capacity in processes is a multiple of this: lines of orders */
/* Entries after the last order, so that reading ahead is harmless. */
#define BANKER_PAD (2 * BANKER_WINDOW_MOST)

/* A cell that has changed since the last launch, with its present value. The list is sorted by
 * resource. */
struct banker_change {
    uint32_t resource;
    uint32_t process; /* BANKER_NONE: the free units of the resource, in `held` */
    uint64_t need, held;
};

/* An assumption: the process in question needs `need` of the resource, and `taken` of what was free
 * are not (the process has them). */
struct banker_want {
    uint32_t resource, unused;
    uint64_t need, taken;
};

struct banker_request {
    uint32_t process;
    uint32_t first, count; /* its wants */
    uint32_t unused;
};

/* In device memory; the barrier zero before the first launch. */
struct banker_control {
    uint32_t barrier[2]; /* a struct grid_barrier */
    uint32_t finished;   /* processes that can finish: the first ones of the list */
    uint32_t given;      /* how many of them have released what they hold: the first ones */
    uint32_t round;
    uint32_t searches; /* made by one block alone */
    uint32_t over;     /* the last search found the end */
};

/* In mapped host memory. */
struct banker_result {
    uint32_t finished; /* how many can finish */
    uint32_t fits;     /* the process in question can finish */
    uint32_t rounds, searches;
};

struct banker_sort_arguments {
    uint64_t need;   /* units, by process and resource */
    uint64_t order;  /* entries, by resource and rank: the result */
    uint64_t spare;  /* entries: `process_room` for every block */
    uint64_t stride; /* of need */
    uint32_t process_room, resources;
};

struct banker_arguments {
    uint64_t need, held;   /* units, by process and resource */
    uint64_t order;        /* entries, by resource and rank */
    uint64_t free;         /* units, by resource */
    uint64_t stride;       /* of need and held */
    uint32_t process_room; /* rows, and entries of an order */
    uint32_t processes;    /* ids in use are below this */
    uint32_t resources;

    uint32_t process;                   /* in question; BANKER_NONE: none */
    uint32_t want_count, request_count; /* 0 requests: the question is about `process` */
    uint32_t group_count;               /* resources with changes */
    uint32_t stop;                      /* stop at the process in question */
    uint32_t small_counts;              /* counts are in shared memory, 16 bits each */
    uint32_t window;      /* counts are in shared memory, 32 bits each, and the length of windows */
    uint32_t small_bytes; /* bytes of the counts in shared memory */
    uint32_t pass_cells;  /* cells that the grid visits while a search frees one process */
    uint32_t search_below; /* a round that frees fewer is followed by a search */
    uint32_t search_most;  /* a search that frees more at once is followed by a round */

    uint64_t changes; /* struct banker_change; the starts of the groups, and the end */
    uint64_t groups;  /* uint32_t */
    uint64_t wants;   /* struct banker_want: the first `want_count` are common to all */
    uint64_t requests;
    uint64_t answers; /* uint32_t, by request: it fits */
    uint64_t control, result;

    uint64_t work, taken, own; /* units, by resource; own: the need of the process in question */
    uint64_t
        pointer; /* uint32_t, by resource: the entries of its order that need no more than work */
    uint64_t counts, round,
        list; /* uint32_t, by process; the list: processes that can finish, as found */

    /* For every block that searches: */
    uint64_t columns;                /* struct column, by resource beyond the first ones */
    uint64_t own_rows, start_rows;   /* units: `stride` for each; requests only */
    uint64_t count_rows, queue_rows; /* uint32_t: `process_room` for each; requests only */
};

/* Arguments of the kernels of GPU-OSDDA and GPU-LMDDA: published_osdda_body.h and
 * published_lmdda_body.h. */
#pragma once

#include <stdint.h>

#define PUBLISHED_MOST_THREADS 1024u      /* per block; threads take several cells of longer rows */
#define PUBLISHED_NOBODY       UINT32_MAX /* value of `heir`: GORDIAN_NONE */

/* Matrices are row-major; rows and columns are padded to multiples of 32 with zeros. A row consists
 * of cells (published_form.h): 32 elements in one bit each, or one element. */
struct published_event {
    uint32_t process, resource;
    uint32_t heir; /* on release: the process that gets the unit, the papers' p_t */
};

struct published_osdda_arguments {
    struct published_event event;
    uint32_t across_processes, across_resources; /* cells of a row */
    uint64_t ag, sink, rp;                       /* resource x process */
    uint64_t sink_before;                        /* a copy of `sink` */
    uint64_t rr;                                 /* resource x resource */
    uint64_t ar;                                 /* process x resource */
    uint64_t flag;                               /* uint32_t: the deadlock */
};

/* Arguments of the row reduction: does the row have an element? */
struct published_reduction_arguments {
    uint64_t row;
    uint64_t flag; /* uint32_t */
    uint32_t count;
};

struct published_lmdda_arguments {
    struct published_event event;
    uint32_t processes, padded_processes;
    uint32_t across_processes, across_resources; /* cells of a row */
    uint64_t ag;                                 /* resource x process: counts, one a cell */
    uint64_t rp, rp_after;                       /* resource x process */
    uint64_t ar;                                 /* process x resource */
    uint64_t ar_turned, rp_turned;               /* transposes */
    uint64_t sp;                                 /* one row: the processes that wait for nothing */
    uint64_t masks;                              /* process x process: row p has only p */
    uint64_t deadlock, waiting, reach;           /* uint32_t: flags */
};

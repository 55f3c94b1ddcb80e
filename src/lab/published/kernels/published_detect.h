/* The arguments of the kernels of GPU-OSDDA and GPU-LMDDA: published_osdda_body.h and
 * published_lmdda_body.h. */
#pragma once

#include <stdint.h>

#define PUBLISHED_MOST_THREADS 1024u      /* of a block; rows that are longer are taken in turns */
#define PUBLISHED_NOBODY       UINT32_MAX /* of `heir`: GORDIAN_NONE */

/* Matrices are row-major, their rows and columns padded to multiples of 32 with zeros. What a row
 * is stored in is a cell (published_form.h): 32 elements in one bit each, or one element. */
struct published_event {
    uint32_t process, resource;
    uint32_t heir; /* of a release: who gets the unit, the papers' p_t */
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

/* Is anything in the row? */
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
    uint64_t sp;                                 /* a row of processes: who waits for nothing */
    uint64_t masks;                              /* process x process: row p has p alone */
    uint64_t deadlock, waiting, reach;           /* uint32_t: flags */
};

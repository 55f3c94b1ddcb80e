/*
 * GPU-OSDDA and GPU-LMDDA as published (the thesis's chapters 3 and 4, the article), in the bit-
 * packed
 * and in the initial form. Each step is a launch, and the host reads flags back between launches.
 * To
 * read one column, they transpose all of AG or AR.
 *
 * As in the papers, the caller says of each event whether the request was granted or blocked, and
 * which process gets a released unit. An event is for one unit. Events are not checked: an
 * impossible
 * event is undefined.
 *
 * As in the papers, the state never contains a deadlock. A request that would close one is
 * reported
 * and not entered, and the state stays unchanged; the caller decides about the requester.
 * Cancelled
 * waits and ending processes are not supported.
 *
 *     detect.c    storage, transposes, reading
 *     osdda.c     algorithm 4: the launches for an event of a single-unit system
 *     lmdda.c     algorithm 12: the launches for an event of a multi-unit system
 */
#pragma once

#include "lab/published/published.h"

enum published_method {
    PUBLISHED_METHOD_OSDDA_BITS,  /* table 3.3, and the article */
    PUBLISHED_METHOD_OSDDA_CHARS, /* table 3.2: the thesis had both, and does not say which one it
                                     shows */
    PUBLISHED_METHOD_OSDDA_INTS,
    PUBLISHED_METHOD_LMDDA_BITS,  /* table 4.4 */
    PUBLISHED_METHOD_LMDDA_CHARS, /* table 4.3 */
};
#define PUBLISHED_METHODS 5

/* "osdda-bits", "lmdda-chars", ...; NULL for PUBLISHED_METHODS and above. */
const char *published_method_name(enum published_method method);
bool published_is_multi_unit(enum published_method method);

struct published_detect;

/* Opens a state in which nothing is held. `units`: the most that a resource has: one for OSDDA, at
 * most 255 if an element is a character. The device must have published_kernels and outlive the
 * state. On failure *out is NULL. */
gordian_status published_detect_open(struct published_detect **out, struct gpu *gpu,
                                     enum published_method method, uint32_t processes,
                                     uint32_t resources, uint64_t units, gordian_error *error);
void published_detect_close(struct published_detect *detect); /* NULL is fine */

/* These return before all of their work on the device is done; they wait only for an answer
 * (gpu_wait). */
gordian_status published_detect_grant(struct published_detect *detect, uint32_t process,
                                      uint32_t resource, gordian_error *error);
/* GORDIAN_OUTCOME_BLOCKED or GORDIAN_OUTCOME_DEADLOCK. */
gordian_status published_detect_block(struct published_detect *detect, uint32_t process,
                                      uint32_t resource, gordian_outcome *outcome,
                                      gordian_error *error);
/* `heir`: the waiter that gets the unit; GORDIAN_NONE: no process waits. GORDIAN_STATUS_INPUT: the
 * state on the device contradicts it. */
gordian_status published_detect_release(struct published_detect *detect, uint32_t process,
                                        uint32_t resource, uint32_t heir, gordian_error *error);

/* Matrices that can be read. */
enum published_matrix {
    PUBLISHED_MATRIX_AG,   /* resource x process: units */
    PUBLISHED_MATRIX_AR,   /* process x resource */
    PUBLISHED_MATRIX_SINK, /* resource x process; OSDDA */
    PUBLISHED_MATRIX_RR,   /* resource x resource; OSDDA */
    PUBLISHED_MATRIX_RP,   /* resource x process */
    PUBLISHED_MATRIX_SP,   /* a row of processes, as of the last block event; LMDDA */
};

/* For tests: copies all elements, row by row, into values. GORDIAN_STATUS_UNAVAILABLE: the method
 * does not have this matrix. */
gordian_status published_detect_read(struct published_detect *detect, enum published_matrix which,
                                     uint32_t *values, gordian_error *error);

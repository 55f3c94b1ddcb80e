/*
 * GPU-OSDDA and GPU-LMDDA as published (the thesis's chapters 3 and 4, the article), in the
 * bit-packed form and in the initial one: a launch a step, flags read back by the host between
 * them, all of AG or AR transposed to look at one column of it.
 *
 * The event comes with what the papers' events come with: the caller knows who holds what and says
 * granted or blocked, and at a release who gets the unit. One unit at a time. Nothing is checked:
 * an event that cannot be has no meaning.
 *
 * As the papers do, these know no system with a deadlock in it: the request that would close one
 * is answered so and not entered, everything is as before it, and what becomes of the
 * requester is the caller's affair. Nor do they know waits that are given up, or processes that
 * end.
 *
 *     detect.c    storage, transposes, reading
 *     osdda.c     algorithm 4: the launches for an event of a single-unit system
 *     lmdda.c     algorithm 12: likewise, multi-unit
 */
#pragma once

#include "lab/published/published.h"

enum published_method {
    PUBLISHED_METHOD_OSDDA_BITS,  /* table 3.3, and the article */
    PUBLISHED_METHOD_OSDDA_CHARS, /* table 3.2: the thesis had both, and does not say which it shows
                                   */
    PUBLISHED_METHOD_OSDDA_INTS,
    PUBLISHED_METHOD_LMDDA_BITS,  /* table 4.4 */
    PUBLISHED_METHOD_LMDDA_CHARS, /* table 4.3 */
};
#define PUBLISHED_METHODS 5

/* "osdda-bits", "lmdda-chars", ...; for PUBLISHED_METHODS and above NULL. */
const char *published_method_name(enum published_method method);
bool published_is_multi_unit(enum published_method method);

struct published_detect;

/* Nothing held. `units`: the most that a resource has; more than one only with LMDDA, more than 255
 * not where an element is a character. The device, with published_kernels added, outlives it. On
 * failure *out is NULL. */
gordian_status published_detect_open(struct published_detect **out, struct gpu *gpu,
                                     enum published_method method, uint32_t processes,
                                     uint32_t resources, uint64_t units, gordian_error *error);
void published_detect_close(struct published_detect *detect); /* NULL is fine */

/* All of it may still run when these return, but for what an answer needs (gpu_wait). */
gordian_status published_detect_grant(struct published_detect *detect, uint32_t process,
                                      uint32_t resource, gordian_error *error);
/* GORDIAN_OUTCOME_BLOCKED or GORDIAN_OUTCOME_DEADLOCK. */
gordian_status published_detect_block(struct published_detect *detect, uint32_t process,
                                      uint32_t resource, gordian_outcome *outcome,
                                      gordian_error *error);
/* `heir`: who waits for it and gets it; GORDIAN_NONE: nobody waits. GORDIAN_STATUS_INPUT: the
 * device knows otherwise. */
gordian_status published_detect_release(struct published_detect *detect, uint32_t process,
                                        uint32_t resource, uint32_t heir, gordian_error *error);

/* What can be read. */
enum published_matrix {
    PUBLISHED_MATRIX_AG,   /* resource x process: units */
    PUBLISHED_MATRIX_AR,   /* process x resource */
    PUBLISHED_MATRIX_SINK, /* resource x process; OSDDA */
    PUBLISHED_MATRIX_RR,   /* resource x resource; OSDDA */
    PUBLISHED_MATRIX_RP,   /* resource x process */
    PUBLISHED_MATRIX_SP,   /* one row of processes, as the last block event found it; LMDDA */
};

/* For tests: all elements, row by row, into values. GORDIAN_STATUS_UNAVAILABLE: not of this method.
 */
gordian_status published_detect_read(struct published_detect *detect, enum published_matrix which,
                                     uint32_t *values, gordian_error *error);

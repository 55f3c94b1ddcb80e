/*
 * The ring buffer that the host and a resident service kernel share (service.h has the protocol).
 *
 * The upper half of every 64-bit word is its command's number, so each word shows by itself whether
 * it has arrived: commands need no flag, four words are fetched across the bus at a time, and the
 * order of the stores does not matter.
 */
#pragma once

#include <stdint.h>

#define SERVICE_SLOTS 4096u       /* a power of two */
#define SERVICE_WORDS 4u          /* of a command: operation, and three operands */
#define SERVICE_STOP  0u          /* the operation that every service kernel has: end */
#define SERVICE_TRAP  0xffffffffu /* for tests: fail */

/* In mapped host memory. */
struct service_ring {
    uint64_t commands[SERVICE_SLOTS][SERVICE_WORDS]; /* written by the host */
    uint64_t answers[SERVICE_SLOTS];                 /* written by the kernel */
    uint64_t taken;                                  /* commands the kernel has read, in all */
    uint64_t left; /* 1: it has ended by itself, and `taken` is exact */
    uint64_t padding[14];
};

/* In device memory, zero at the start: the leading block's messages to the others. */
struct service_grid {
    uint64_t broadcast[SERVICE_WORDS]; /* with the number of the step */
    uint64_t padding[12];
    uint32_t arrived; /* blocks that have finished a step, in all */
    uint32_t padding_too[31];
    uint32_t barrier[2]; /* a struct grid_barrier, for steps that need one inside */
    uint32_t padding_three[30];
};

/* The first part of the arguments of a service kernel. */
struct service_arguments {
    uint64_t ring;  /* struct service_ring, as the device sees it */
    uint64_t grid;  /* struct service_grid */
    uint64_t taken; /* commands taken by earlier kernels on this ring */
};

/* A word of the ring; a macro, because the host and the device share it. */
#define SERVICE_WORD(tag, value) ((uint64_t)(tag) << 32 | (value))

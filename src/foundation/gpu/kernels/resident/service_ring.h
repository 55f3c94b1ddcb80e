/*
 * What the host and a resident service kernel share: the ring (service.h tells the protocol).
 *
 * Every 64-bit word carries its command's number in its upper half, so a word tells by itself
 * whether it has arrived: commands need no flag beside them, four words are fetched across
 * the bus in one go, and no order among the stores matters.
 */
#pragma once

#include <stdint.h>

#define SERVICE_SLOTS 4096u       /* a power of two */
#define SERVICE_WORDS 4u          /* of a command: operation, and three operands */
#define SERVICE_STOP  0u          /* the operation every service kernel knows: end */
#define SERVICE_TRAP  0xffffffffu /* and this, for tests: fail */

/* In mapped host memory. */
struct service_ring {
    uint64_t commands[SERVICE_SLOTS][SERVICE_WORDS]; /* written by the host */
    uint64_t answers[SERVICE_SLOTS];                 /* written by the kernel */
    uint64_t taken;                                  /* commands the kernel has read, in all */
    uint64_t left;                                   /* 1: it ends by itself, with `taken` exact */
    uint64_t padding[14];
};

/* In device memory, zero at the start: how the leading block moves the others. */
struct service_grid {
    uint64_t broadcast[SERVICE_WORDS]; /* tagged with the number of the step */
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

/* A word of the ring. (A macro: the host and the device share it.) */
#define SERVICE_WORD(tag, value) ((uint64_t)(tag) << 32 | (value))

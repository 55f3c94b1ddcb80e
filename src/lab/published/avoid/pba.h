/*
 * GPU-PBA: the banker's algorithm of the thesis's chapter 5, as published.
 *
 * The matrices are in device memory, of 32-bit numbers as in the thesis. A request launches a
 * kernel
 * for each phase (algorithm 22). The safety algorithm launches a kernel for each round and copies
 * its
 * answers back. The host then launches a kernel for each process that can finish (algorithm 23).
 *
 * Corrected: the search ends with the first round in which no process can finish (algorithm 23
 * goes
 * on). See also kernels/published_pba.cu.
 */
#pragma once

#include "lab/published/published.h"

/* Initial state; the caller owns the arrays. Matrices have a row for each process. Each claim is at
 * least what the process holds. The sum of available and held units of a resource fits 32 bits. */
struct pba_state {
    uint32_t processes, resources; /* at least one each */
    uint32_t *maximum, *allocation;
    uint32_t *available;
};

enum pba_answer {
    PBA_GRANTED,
    PBA_TOO_MUCH, /* exceeds the remaining claim of the process */
    PBA_MISSING,  /* exceeds the available units */
    PBA_UNSAFE,   /* a process might never finish */
};

/* Cost of the last request. */
struct pba_effort {
    uint32_t rounds; /* of the search */
    uint64_t launches;
};

struct pba;

/* On failure *out is NULL. GORDIAN_STATUS_MEMORY: the matrices do not fit the device. */
gordian_status pba_open(struct pba **out, struct gpu *gpu, const struct pba_state *state,
                        const gordian_allocator *memory, gordian_error *error);
void pba_close(struct pba *pba); /* NULL is fine */
/* The process requests units[j] of each resource j. */
gordian_status pba_request(struct pba *pba, uint32_t process, const uint32_t *units,
                           enum pba_answer *answer, gordian_error *error);
/* Releases units that the process holds. */
gordian_status pba_release(struct pba *pba, uint32_t process, const uint32_t *units,
                           gordian_error *error);
struct pba_effort pba_effort(const struct pba *pba);
/* For tests: copies the current matrices into the state's arrays; `need` gets the remaining claims.
 */
gordian_status pba_read(struct pba *pba, struct pba_state *state, uint32_t *need,
                        gordian_error *error);

/* ---- CPU-PBA (cpu.c): the thesis's serial version, its baseline. */

struct pba_cpu;

gordian_status pba_cpu_open(struct pba_cpu **out, const struct pba_state *state,
                            const gordian_allocator *memory, gordian_error *error);
void pba_cpu_close(struct pba_cpu *pba); /* NULL is fine */
enum pba_answer pba_cpu_request(struct pba_cpu *pba, uint32_t process, const uint32_t *units);
void pba_cpu_release(struct pba_cpu *pba, uint32_t process, const uint32_t *units);

/* ---- the thesis's worst case (worst.c)
 *
 * Each round lets one process finish, the last one checked; the requesting process is the last of
 * all. `gordian bench avoid` makes the engines judge the same state (src/lab/bench/avoid/state.c).
 * The two processes outside the chain defeat engines that remember an order.
 *
 * The request is one unit of resource 0 for process PBA_WORST_PROCESS; it is safe, after
 * processes - 2 rounds. */
#define PBA_WORST_PROCESS 2u

/* At least four processes and two resources. Free the arrays with pba_state_free. */
gordian_status pba_worst(struct pba_state *state, uint32_t processes, uint32_t resources,
                         const gordian_allocator *memory, gordian_error *error);
void pba_state_free(struct pba_state *state, const gordian_allocator *memory);
/* Allocates a state of that size, all zero. */
gordian_status pba_state_new(struct pba_state *state, uint32_t processes, uint32_t resources,
                             const gordian_allocator *memory, gordian_error *error);

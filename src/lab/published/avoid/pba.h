/*
 * GPU-PBA: the banker's algorithm of the thesis's chapter 5, as published.
 *
 * The matrices are in the device's memory, of 32-bit numbers as there. A request is a kernel for
 * every phase (algorithm 22); looking for an order in which all can finish is a kernel a round, its
 * answers copied back, the host going through them and starting a kernel for every process that can
 * finish (algorithm 23).
 *
 * Put right: the search ends with the first round in which nobody can finish (23 goes on), and see
 * kernels/published_pba.cu.
 */
#pragma once

#include "lab/published/published.h"

/* Numbers to start from, the caller's; matrices have a row a process. Every claim is at least what
 * is held, and no sum of what is available and what is held exceeds 32 bits. */
struct pba_state {
    uint32_t processes, resources; /* at least one each */
    uint32_t *maximum, *allocation;
    uint32_t *available;
};

enum pba_answer {
    PBA_GRANTED,
    PBA_TOO_MUCH, /* more than the process may still ask for */
    PBA_MISSING,  /* more than there is */
    PBA_UNSAFE,   /* somebody might never finish */
};

/* What the last request took. */
struct pba_effort {
    uint32_t rounds; /* of the search */
    uint64_t launches;
};

struct pba;

/* On failure *out is NULL. GORDIAN_STATUS_MEMORY: the matrices do not fit the device. */
gordian_status pba_open(struct pba **out, struct gpu *gpu, const struct pba_state *state,
                        const gordian_allocator *memory, gordian_error *error);
void pba_close(struct pba *pba); /* NULL is fine */
/* A process asks for units[j] of every resource j. */
gordian_status pba_request(struct pba *pba, uint32_t process, const uint32_t *units,
                           enum pba_answer *answer, gordian_error *error);
/* Gives them back; it holds them. */
gordian_status pba_release(struct pba *pba, uint32_t process, const uint32_t *units,
                           gordian_error *error);
struct pba_effort pba_effort(const struct pba *pba);
/* For tests: what the matrices hold now, into the state's arrays; `need`: the same for what may be
 * asked. */
gordian_status pba_read(struct pba *pba, struct pba_state *state, uint32_t *need,
                        gordian_error *error);

/* ---- CPU-PBA (cpu.c): the thesis's serial version, against which it measures. */

struct pba_cpu;

gordian_status pba_cpu_open(struct pba_cpu **out, const struct pba_state *state,
                            const gordian_allocator *memory, gordian_error *error);
void pba_cpu_close(struct pba_cpu *pba); /* NULL is fine */
enum pba_answer pba_cpu_request(struct pba_cpu *pba, uint32_t process, const uint32_t *units);
void pba_cpu_release(struct pba_cpu *pba, uint32_t process, const uint32_t *units);

/* ---- the thesis's worst case (worst.c)
 *
 * A round lets one process finish, the last one looked at, and the process that asks is the last
 * of all. `gordian bench avoid` asks the engines about the same state
 * (src/lab/bench/avoid/state.c): the two beside the chain are there for engines that remember an
 * order.
 *
 * The request is one unit of resource 0 for process PBA_WORST_PROCESS; it is safe, after
 * processes - 2 rounds. */
#define PBA_WORST_PROCESS 2u

/* At least four processes and two resources. The arrays are the caller's to free: pba_state_free.
 */
gordian_status pba_worst(struct pba_state *state, uint32_t processes, uint32_t resources,
                         const gordian_allocator *memory, gordian_error *error);
void pba_state_free(struct pba_state *state, const gordian_allocator *memory);
/* Room for a state of that size, all zero. */
gordian_status pba_state_new(struct pba_state *state, uint32_t processes, uint32_t resources,
                             const gordian_allocator *memory, gordian_error *error);

/*
 * A long chain on any engine, and what is timed on it: p_i holds q_i and waits for q_i+1. The GPU's
 * benches and its tests on a real device both use it.
 *
 * Times are in nanoseconds. "Settled": the engine is done with everything, its bookkeeping too; on
 * the CPU it always is. Answers other than a chain must give fail with GORDIAN_STATUS_INPUT, and so
 * does a device that has failed and left the work to `sparse`.
 */
#pragma once

#include <gordian/gordian.h>

struct long_chain {
    gordian_system *system;
    uint32_t length;
    uint64_t first_units; /* of q_0, all held by p_0; more than one make the system multi-unit */
    const uint32_t *ids;  /* of p_i and q_i; NULL: i */
};

/* Processes and resources, nothing held. On failure there is nothing to close. */
gordian_status long_chain_open(struct long_chain *chain, const char *engine, uint32_t length,
                               uint64_t first_units, gordian_error *error);
/* The same in a system of `size` processes and resources. The ids stay the caller's, and it builds
 * the chain and takes it apart again, but for the rounds of random releases. */
gordian_status long_chain_open_within(struct long_chain *chain, const char *engine, uint32_t length,
                                      uint64_t first_units, const uint32_t *ids, uint32_t size,
                                      gordian_error *error);
void long_chain_close(struct long_chain *chain);
gordian_status long_chain_settle(struct long_chain *chain, gordian_error *error);

/* A command to the device that needs no work, and word that it is done: the way there and back.
 * Nothing may be held. */
gordian_status long_chain_round_trip(void *chain, double *ns, gordian_error *error);

/* The papers' list of 2M events, all but the one that closes it: settled at the end. `answers`, if
 * not NULL: length - 1 times, of each blocked event to its answer. The far end recedes (their
 * order, where every block changes all rows before it), or comes first (every block changes one).
 */
gordian_status long_chain_build(struct long_chain *chain, bool far_end_first, double *answers,
                                double *ns, gordian_error *error);
/* The last of the 2M events: a deadlock. */
gordian_status long_chain_close_ring(struct long_chain *chain, gordian_error *error);

/* The wait of one of the processes is given up: until settled. */
gordian_status long_chain_cancel(struct long_chain *chain, uint32_t process, double *ns,
                                 gordian_error *error);
/* The wait of one of the processes but the last is given up and begins again: until its answer, and
 * until settled. */
gordian_status long_chain_block(struct long_chain *chain, uint32_t process, double *answer,
                                double *settled, gordian_error *error);
/* The block event that changes most: half of the resources gain half of the chain. */
static inline uint32_t long_chain_worst(const struct long_chain *chain)
{
    return chain->length / 2 - 1;
}

/* Releases q_i, which p_i-1 is waiting for, by whoever is at the end of the chain. From the far end
 * (length - 1) downwards to 1, each once; not settled. */
gordian_status long_chain_release(struct long_chain *chain, uint32_t resource, double *ns,
                                  gordian_error *error);
/* All of them, and q_0: the average of a release, settled at the end. Nobody holds anything then.
 */
gordian_status long_chain_release_all(struct long_chain *chain, double *ns, gordian_error *error);
/* Requests and releases drawn at random, rounds of as many as the chain is long: the average of a
 * release, settled at the end of a round. */
gordian_status long_chain_release_random(struct long_chain *chain, uint64_t seed, unsigned rounds,
                                         double *ns, gordian_error *error);

/*
 * A long chain on any engine, and timed operations on it: p_i holds q_i and waits for q_i+1. The
 * GPU's
 * benches and its tests on a real device both use it.
 *
 * Times are in nanoseconds. "Settled" means that the engine has finished everything, including its
 * bookkeeping; a CPU engine is always settled. Answers that a chain cannot have fail with
 * GORDIAN_STATUS_INPUT. So does a device that failed and left the work to `sparse`.
 */
#pragma once

#include <gordian/gordian.h>

struct long_chain {
    gordian_system *system;
    uint32_t length;
    uint64_t
        first_units; /* units of q_0, all held by p_0; more than one make the system multi-unit */
    const uint32_t *ids; /* of p_i and q_i; NULL: i */
};

/* Opens processes and resources, nothing held. On failure there is nothing to close. */
gordian_status long_chain_open(struct long_chain *chain, const char *engine, uint32_t length,
                               uint64_t first_units, gordian_error *error);
/* Like long_chain_open, but in a system of `size` processes and resources. The caller keeps
 * ownership of the ids. Such a chain can be built and taken apart again, but has no rounds of
 * random releases. */
gordian_status long_chain_open_within(struct long_chain *chain, const char *engine, uint32_t length,
                                      uint64_t first_units, const uint32_t *ids, uint32_t size,
                                      gordian_error *error);
void long_chain_close(struct long_chain *chain);
gordian_status long_chain_settle(struct long_chain *chain, gordian_error *error);

/* A command to the device without work, and its completion: the round trip. Nothing may be held. */
gordian_status long_chain_round_trip(void *chain, double *ns, gordian_error *error);

/* Applies the papers' list of 2M events except the last, which closes the ring, and waits until it
 * is settled. `answers`, unless NULL, receives length - 1 durations: the time from each blocked
 * event to its answer. The chain grows at its far end (their order: every block changes all rows
 * before it), or at its front (every block changes one). */
gordian_status long_chain_build(struct long_chain *chain, bool far_end_first, double *answers,
                                double *ns, gordian_error *error);
/* The last of the 2M events, a deadlock. */
gordian_status long_chain_close_ring(struct long_chain *chain, gordian_error *error);

/* Cancels the wait of one of the processes; timed until settled. */
gordian_status long_chain_cancel(struct long_chain *chain, uint32_t process, double *ns,
                                 gordian_error *error);
/* Cancels the wait of a process other than the last and requests again; timed until its answer, and
 * until settled. */
gordian_status long_chain_block(struct long_chain *chain, uint32_t process, double *answer,
                                double *settled, gordian_error *error);
/* The block event that changes most: half of the resources gain half of the chain. */
static inline uint32_t long_chain_worst(const struct long_chain *chain)
{
    return chain->length / 2 - 1;
}

/* The process at the end of the chain releases q_i, which p_i-1 waits for. Call it for length - 1
 * down to 1, once each; not settled. */
gordian_status long_chain_release(struct long_chain *chain, uint32_t resource, double *ns,
                                  gordian_error *error);
/* Releases all of them, and q_0: the average time of a release, settled at the end. Nothing is held
 * afterwards. */
gordian_status long_chain_release_all(struct long_chain *chain, double *ns, gordian_error *error);
/* Draws requests and releases at random, in rounds of the chain's length: the average time of a
 * release, settled at the end of a round. */
gordian_status long_chain_release_random(struct long_chain *chain, uint64_t seed, unsigned rounds,
                                         double *ns, gordian_error *error);

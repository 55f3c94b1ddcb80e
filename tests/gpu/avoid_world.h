/* A ledger that lives: processes and resources come and go, units are lent and returned, claims
 * and totals change, at random. Two engines follow it, the oracle and the one under test; every
 * question is put to both. */
#ifndef GORDIAN_TESTS_GPU_AVOID_WORLD_H
#define GORDIAN_TESTS_GPU_AVOID_WORLD_H

#include "engines/avoid/engine/engine.h"
#include "foundation/base/random.h"

struct world_shape {
    uint32_t processes, resources; /* at most */
    uint64_t units;                /* of a resource: at most */
    unsigned claimed;              /* percent of the resources a process claims */
    unsigned tight;                /* percent of the steps that only ask, and borrow */
};

struct world {
    struct world_shape shape;
    struct random random;
    gordian_allocator memory;
    struct ledger ledger;
    const struct avoid_engine *engines[2]; /* the oracle, the one under test */
    void *states[2];

    gordian_want *wants;        /* of the change at hand: room for every resource */
    uint32_t *sequence;         /* room for every process */
    uint64_t *work;             /* by resource */
    unsigned long safe, unsafe; /* answers so far */
    unsigned long wrong;        /* of those, how many were not the oracle's */

    /* Called for every change asked about, with the oracle's answer, before the engine under test
     * is asked; may be NULL. */
    void (*watch)(struct world *world, const struct ledger_change *change, bool safe);
};

/* False: no memory (or the engine under test could not be opened). */
bool world_open(struct world *world, const struct avoid_engine *tested, struct world_shape shape,
                uint64_t seed, const gordian_allocator *memory);
void world_close(struct world *world);
/* One random event; false: somebody ran out of memory, nothing has changed. */
bool world_step(struct world *world);
/* A loan that somebody might ask for now: false if there is none. Wants are world->wants + at. */
bool world_loan(struct world *world, struct ledger_change *change, size_t at);

/* Puts both engines to the question, compares, and lets the change take place if it is safe (and
 * `apply`). */
bool world_ask(struct world *world, const struct ledger_change *change, bool apply);

/* Building a particular state; each false if there is no memory. */
bool world_add_resource(struct world *world, uint64_t units);
bool world_add_process(struct world *world, const gordian_want *claims, size_t count);

/* Is this an order in which everybody can finish? Looked at afresh, from the ledger alone. */
bool world_order_is_good(struct world *world, const uint32_t *processes);

#endif

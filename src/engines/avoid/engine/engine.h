/*
 * Engines for deadlock avoidance: they decide whether a change is safe. One table, one interface.
 *
 * A state is *safe* if all processes can finish in some order: each in turn gets everything it may
 * still request from what is free and what the ones before it have released. The ledger of a bank
 * is safe at all times: an empty one is, and nothing changes before the engine has found it safe.
 *
 * The bank (bank.c) validates a call, asks the engine where safety is at stake, changes the ledger
 * and calls the engine's hooks. An engine keeps its own state in addition to the ledger.
 *
 * Hooks run after the ledger has changed (`leaves`: before) and cannot fail: an engine reserves its
 * memory in `prepare`. `safe` cannot fail either: an engine whose device fails goes on without it,
 * with the same answers. Hooks may be NULL.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"
#include "foundation/base/engine.h"

struct avoid_engine {
    struct engine about; /* each accepts every problem */

    /* The ledger outlives the engine, which only reads it. It may already have processes and
     * resources (when an engine replaces another). */
    gordian_status (*open)(void **engine, const struct ledger *ledger, gordian_error *error);
    void (*close)(void *engine);

    /* Called before processes or resources with ids from these limits on are created, and before a
     * process gets claims; `claims` is their new total. Reserves all memory that hooks and `safe`
     * may need. On failure nothing has changed. The message has the size if the engine knows that
     * there is not enough memory. */
    gordian_status (*prepare)(void *engine, uint32_t process_limit, uint32_t resource_limit,
                              uint64_t claims, gordian_error *error);

    /* `process` was added, with its claims; it holds nothing. */
    void (*joined)(void *engine, uint32_t process);
    /* `process` is about to be removed. Its row still has its claims, and what it holds and
     * releases. */
    void (*leaves)(void *engine, uint32_t process);
    /* `process` has released these units. */
    void (*returned)(void *engine, uint32_t process, const gordian_want *wants, size_t count);
    /* `resource` was added or removed (no process claims it), or has more units. */
    void (*resized)(void *engine, uint32_t resource);
    /* The change that the preceding call of `safe` found safe has taken place. */
    void (*took)(void *engine, const struct ledger_change *change);

    /* Returns whether the state would stay safe with this change. Changes nothing. */
    bool (*safe)(void *engine, const struct ledger_change *change);

    /* Optional: like `safe`, for many independent changes. safe[i] is the answer for changes[i].
     * Without this hook the caller checks them one by one. */
    gordian_status (*safe_each)(void *engine, const struct ledger_change *changes, size_t count,
                                bool *safe, gordian_error *error);

    /* Provides an order in which all processes can finish now: as many ids as there are processes.
     */
    void (*sequence)(void *engine, uint32_t *processes);

    /* Optional: a message for the user, such as that a device has failed and which engine goes on.
     * NULL: none. */
    const char *(*note)(const void *engine);
};

extern const struct avoid_engine avoid_holt;  /* the default */
extern const struct avoid_engine avoid_dense; /* the published algorithm: the oracle */

/* The family of struct avoid_engine. */
extern const struct engine_family avoid_family;

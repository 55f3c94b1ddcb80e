/*
 * Engines that tell whether a change is safe: one table, one interface.
 *
 * A state is *safe* if all processes can finish in some order: each in turn gets all it may still
 * ask for from what is free and what those before it have given back. The ledger of a bank is safe
 * at all times: an empty one is, and nothing is changed before the engine has found it safe.
 *
 * The bank (bank.c) checks a call, asks the engine where safety is at stake, changes the ledger and
 * tells the engine. An engine keeps whatever it wants beside the ledger.
 *
 * Hooks run after the ledger has changed (`leaves`: before) and cannot fail: an engine makes its
 * room in `prepare`. Nor can `safe` fail: an engine whose device breaks goes on without it, with
 * the same answers. Hooks may be NULL.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"
#include "foundation/base/engine.h"

struct avoid_engine {
    struct engine about; /* each takes every problem */

    /* The ledger outlives the engine, which only reads it. It may already have processes and
     * resources in it (an engine that takes over from another). */
    gordian_status (*open)(void **engine, const struct ledger *ledger, gordian_error *error);
    void (*close)(void *engine);

    /* Before processes or resources with ids from these limits on come into being, and before a
     * process gets claims when there will be `claims` in all: makes room for everything that hooks
     * and `safe` may need. On failure nothing has changed. Says how much it would take where it
     * knows that it cannot be had. */
    gordian_status (*prepare)(void *engine, uint32_t process_limit, uint32_t resource_limit,
                              uint64_t claims, gordian_error *error);

    /* `process` has come, with its claims; it holds nothing. */
    void (*joined)(void *engine, uint32_t process);
    /* `process` is about to go; its row still has its claims and what it holds and gives back. */
    void (*leaves)(void *engine, uint32_t process);
    /* `process` has given these units back. */
    void (*returned)(void *engine, uint32_t process, const gordian_want *wants, size_t count);
    /* `resource` is new or gone (nobody claims it), or has more units. */
    void (*resized)(void *engine, uint32_t resource);
    /* The change that `safe` was asked about in the call before this one, and found safe, has
     * taken place. */
    void (*took)(void *engine, const struct ledger_change *change);

    /* Would the state stay safe with this change? Nothing changes. */
    bool (*safe)(void *engine, const struct ledger_change *change);

    /* Optional: the same for many changes, each alone; safe[i] for changes[i]. Without it they are
     * asked one by one. */
    gordian_status (*safe_each)(void *engine, const struct ledger_change *changes, size_t count,
                                bool *safe, gordian_error *error);

    /* An order in which everybody can finish now: as many ids as there are processes. */
    void (*sequence)(void *engine, uint32_t *processes);

    /* Optional: something the user should know, such as that a device has failed and who goes on;
     * NULL: nothing. */
    const char *(*note)(const void *engine);
};

extern const struct avoid_engine avoid_holt;  /* the default */
extern const struct avoid_engine avoid_dense; /* the published algorithm: the oracle */

/* Of struct avoid_engine. */
extern const struct engine_family avoid_family;

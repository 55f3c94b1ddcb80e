/*
 * Engines for deadlock detection: one table of hooks, one interface.
 *
 * The system (system.c) checks an event, changes the wait-for graph, and calls the engine's hooks
 * with the change. An engine keeps its own state in addition to the graph and answers one question:
 * what does this block mean?
 *
 * Hooks run after the graph has changed (cancel: before) and cannot fail: an engine reserves its
 * memory in `prepare`, which runs before anything changes. A NULL hook is not called. The order
 * within one event is
 *     request   grant* | block
 *     release   release, serve*, settle
 *     cancel    cancel, settle
 *     exit      cancel?, release*, serve*, settle
 *     await     (cancel, settle)?, (grant | lend)*, block
 *     act       release*, serve*, (release | lend)*, settle
 */
#pragma once

#include "engines/rag/rag.h"
#include "foundation/base/engine.h"

struct detect_engine {
    struct engine about; /* the problem to support is a model: const gordian_model * */

    /* The graph outlives the engine, which reads it. Only `sparse` also writes the fields of its
     * records that engines/rag/rag.h reserves for the engine. */
    gordian_status (*open)(void **engine, const struct detect_engine *table, struct rag *rag,
                           gordian_error *error);
    void (*close)(void *engine);

    /* Called when the model is raised, and before processes or resources beyond the given limits
     * are created. Reserves memory, and rebuilds the engine's state from the graph if `model` is
     * new. On failure nothing has changed. */
    gordian_status (*prepare)(void *engine, gordian_model model, uint32_t process_limit,
                              uint32_t resource_limit, gordian_error *error);

    /* Optional: the table whose hooks below apply to systems of this model, so that each method has
     * only the hooks it needs. NULL: this table. */
    const struct detect_engine *(*refine)(gordian_model model);

    /* `process` was granted units of a free resource by its own request (or holds them). */
    void (*grant)(void *engine, uint32_t process, uint32_t resource, uint64_t units);
    /* `process` has joined the queues: GORDIAN_OUTCOME_BLOCKED, _DEADLOCK or _DOOMED. */
    gordian_outcome (*block)(void *engine, uint32_t process);
    /* `process` has released units; no waiter has been served yet. */
    void (*release)(void *engine, uint32_t process, uint32_t resource, uint64_t units);
    /* The pending request `wants` of `process` has been served: the process holds them now. `from`
     * is the process that released them. */
    void (*serve)(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                  size_t count);
    /* A wait has been served of a process whose record has .path set (by the engine). */
    void (*awake)(void *engine, uint32_t process);
    /* `process` is about to end its pending request, which is still in the graph. If this ends a
     * deadlock, the graph's `opened` becomes the process that closed it. */
    void (*cancel)(void *engine, uint32_t process);
    /* `process`, which waits, has got units of a resource without waiters, or, if negative, has
     * lost them. Only in general systems, for awaits (acts.c). */
    void (*lend)(void *engine, uint32_t process, uint32_t resource, int64_t units);
    /* The event has ended. */
    void (*settle)(void *engine);

    /* Sets the bit of every process that can never run again (`set`: zeroed, one bit
     * for every process id). */
    gordian_status (*deadlocked)(void *engine, uint64_t *set, gordian_error *error);

    /* Optional: returns whether this waiting process is one of them, without visiting all
     * processes.
     */
    bool (*is_dead)(void *engine, uint32_t process);

    /* Optional, for single-unit systems, without visiting all processes: returns the process that
     * closed the deadlock that this waiting process is part of or waits behind. NONE: there is
     * none. */
    uint32_t (*closed_by)(void *engine, uint32_t process);

    /* Optional: a message for the user, such as that a device has failed and which engine goes on.
     * NULL: none. */
    const char *(*note)(const void *engine);

    /* Optional: a row of a matrix. *words is NULL for a row of counts, which the graph has. The row
     * is in range. The words last until the next call. */
    gordian_status (*matrix_row)(const void *engine, gordian_matrix matrix, uint32_t row,
                                 const uint64_t **words, gordian_error *error);

    /* Optional, for models below the general one: sets ends[q], for every resource id, to the one
     * running process that q leads to; NONE: it leads to none; DETECT_SEVERAL: to several. Without
     * this hook the graph is searched (what_if.c). */
    gordian_status (*what_if_all)(void *engine, uint32_t *ends, gordian_error *error);
};

#define DETECT_SEVERAL (NONE - 1)

extern const struct detect_engine detect_sparse; /* the default */
extern const struct detect_engine detect_matrix; /* OSDDA and LMDDA on bit matrices */
extern const struct detect_engine detect_reduce; /* plain graph reduction: the oracle */

/* The family of struct detect_engine. */
extern const struct engine_family detect_family;

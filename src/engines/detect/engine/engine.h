/*
 * Engines that find deadlocks: one table, one interface.
 *
 * The system (system.c) checks an event, changes the graph, and tells the engine
 * what has changed. An engine keeps whatever it wants beside the graph and
 * answers one question: what does this block mean?
 *
 * Hooks run after the graph has changed (cancel: before) and cannot fail: an engine
 * makes its room in `prepare`, which runs before anything changes. A NULL hook is
 * not called. Within one event the order is
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
    struct engine about; /* a problem is a model: const gordian_model * */

    /* The graph outlives the engine, which reads it; only `sparse` also writes the fields of its
     * records that engines/rag/rag.h sets apart for it. */
    gordian_status (*open)(void **engine, const struct detect_engine *table, struct rag *rag,
                           gordian_error *error);
    void (*close)(void *engine);

    /* Called whenever the model grows, and before processes or resources beyond the given limits
     * come into being: makes room, and rebuilds itself from the graph if
     * `model` is new. On failure nothing has changed. */
    gordian_status (*prepare)(void *engine, gordian_model model, uint32_t process_limit,
                              uint32_t resource_limit, gordian_error *error);

    /* Optional: the table whose hooks below are to be used for systems of this model, so that
     * each method has only the hooks it needs. NULL: this table itself. */
    const struct detect_engine *(*refine)(gordian_model model);

    /* `process` was granted units of a free resource by its own request (or holds them). */
    void (*grant)(void *engine, uint32_t process, uint32_t resource, uint64_t units);
    /* `process` has joined the queues: GORDIAN_OUTCOME_BLOCKED, _DEADLOCK or _DOOMED. */
    gordian_outcome (*block)(void *engine, uint32_t process);
    /* `process` has given units back; nobody has been served yet. */
    void (*release)(void *engine, uint32_t process, uint32_t resource, uint64_t units);
    /* The pending request `wants` of `process` has been served: it holds them now. `from`: the
     * process that released. */
    void (*serve)(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                  size_t count);
    /* A wait of a process whose record has .path set has been served (the engine set it). */
    void (*awake)(void *engine, uint32_t process);
    /* `process` is about to give its pending request up (still in the graph). Where one process
     * closed the deadlock that this ends, it becomes the graph's `opened`. */
    void (*cancel)(void *engine, uint32_t process);
    /* `process`, which waits, has got units of a resource that nobody waits for, or, below 0, has
     * lost them. Only in general systems: acts that are awaited of it (acts.c). */
    void (*lend)(void *engine, uint32_t process, uint32_t resource, int64_t units);
    /* The event is over. */
    void (*settle)(void *engine);

    /* Sets the bit of every process that can never run again (`set`: zeroed, one bit
     * for every process id). */
    gordian_status (*deadlocked)(void *engine, uint64_t *set, gordian_error *error);

    /* Optional: is this one, which waits, among them? Without looking at everybody. */
    bool (*is_dead)(void *engine, uint32_t process);

    /* Optional, of single-unit systems, without looking at everybody: who closed the deadlock that
     * this one, which waits, is part of or waits behind (NONE: there is none). */
    uint32_t (*closed_by)(void *engine, uint32_t process);

    /* Optional: something the user should know, such as that a device has failed and who goes on;
     * NULL: nothing. */
    const char *(*note)(const void *engine);

    /* Optional: a row of a matrix; *words NULL: of counts, which the graph has. The row is in
     * range, and the words last until the next call. */
    gordian_status (*matrix_row)(const void *engine, gordian_matrix matrix, uint32_t row,
                                 const uint64_t **words, gordian_error *error);

    /* Optional, for models below the general one: ends[q], for every resource id, becomes the one
     * running process that q leads to; NONE: it leads to none; DETECT_SEVERAL: to more. Without
     * it the graph is asked (what_if.c). */
    gordian_status (*what_if_all)(void *engine, uint32_t *ends, gordian_error *error);
};

#define DETECT_SEVERAL (NONE - 1)

extern const struct detect_engine detect_sparse; /* the default */
extern const struct detect_engine detect_matrix; /* OSDDA and LMDDA on bit matrices */
extern const struct detect_engine detect_reduce; /* plain reduction: the oracle */

/* Of struct detect_engine. */
extern const struct engine_family detect_family;

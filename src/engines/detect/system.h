/* Deadlock detection, event by event. Read this first.
 *
 * A system consists of the wait-for graph (engines/rag/rag.h), an engine (engine/engine.h), and the
 * lists that it returns to the caller. An event is checked and changes the graph (events.c). The
 * engine is called with the change and judges what a block means; explain.c makes the witness.
 *
 *     engine/sparse.h    the default engine; matrix.h: the textbook's, on bits; cuda/: on a GPU
 *     shared.h    many threads, one system
 *     check/      a whole snapshot at once, instead of events
 *     engine/what_if_ends.h    what would happen; ahead.h: what lies ahead of a process;
 *                 serialize.h: a system as bytes
 *
 * It uses base, gpu and rag, and no other family.
 */
#pragma once

#include "engines/detect/engine/engine.h"

/* A place in the queue of a resource, while several queues are merged. */
struct queue_cursor {
    uint64_t arrival;
    uint32_t ref;
    uint32_t resource;
};

struct shared;

/* A unit of an await that its holder has lost. */
struct await_drop {
    uint32_t holder, waiter, resource;
    bool acted; /* false: the await has ended */
};

struct gordian_system {
    struct rag graph;
    struct shared *shared; /* for many threads (shared.h); NULL: one at a time */
    const struct detect_engine *engine;
    const struct detect_engine *hooks; /* the engine's, refined for the graph's model */
    void *state;                       /* the engine's */

    gordian_want *wants; /* a request being sorted, or one being served */
    size_t want_room;
    struct queue_cursor *cursors;
    size_t cursor_room;

    uint32_t *processes; /* the last list of processes returned to the caller */
    size_t process_room;
    gordian_edge *edges; /* the last list of edges returned to the caller */
    size_t edge_room;
    uint64_t *marks; /* bit sets over processes and resources */
    size_t mark_room;

    size_t await_count; /* resources that are awaits (acts.c) */
    uint32_t *awaiters; /* by resource of an await: the process that awaits it, or that awaited it
                           before it was served */
    size_t awaiter_room;
    uint32_t *others; /* the other processes of an await; also used for awaits that have ended */
    size_t other_room;
    gordian_want *asked; /* the other processes of gordian_await, as the wants of an event */
    size_t asked_room;

    bool keeps_drops;         /* set by the owner: fill `drops` */
    struct await_drop *drops; /* units of awaits that the last event removed, in order */
    size_t drop_count, drop_room;
    bool drops_lost; /* some drops are missing: out of memory */
};

static inline const struct rag *system_graph(const gordian_system *system)
{
    return &system->graph;
}

/* Raises the model before a request that needs it. The engine may refuse. */
gordian_status system_grow_model(gordian_system *system, gordian_model model, gordian_error *error);

/* Feeds one event to the graph: what gordian_feed does unless the system is shared. */
gordian_status system_feed(gordian_system *system, const gordian_event *event,
                           gordian_result *result, gordian_error *error);

/* Feeds events until the caller has to act: up to and including the first after which a process is
 * stuck, or before the first that is refused or fails. Returns how many. */
size_t system_feed_run(gordian_system *system, const gordian_event *events, size_t count,
                       gordian_result *results);

/* Around everything that reads or changes what threads share. Recursive. Does nothing in a system
 * that is not shared. */
void shared_enter(struct shared *shared);
void shared_leave(struct shared *shared);

static inline void system_enter(const gordian_system *system)
{
    if (system->shared)
        shared_enter(system->shared);
}

static inline void system_leave(const gordian_system *system)
{
    if (system->shared)
        shared_leave(system->shared);
}

static inline void system_leave_scope(const gordian_system *const *system)
{
    system_leave(*system);
}

/* Enters until the end of the block, on whatever path it is left. */
#define SYSTEM_SCOPE(system)                                                                       \
    const gordian_system *const entered_system                                                     \
        __attribute__((cleanup(system_leave_scope), unused)) = (system_enter(system), (system))

/* Calls a hook of the engine if there is one: RUN_HOOK(system, grant, process, resource, 1). */
#define RUN_HOOK(system, hook, ...)                                                                \
    do {                                                                                           \
        if ((system)->hooks->hook)                                                                 \
            (system)->hooks->hook((system)->state, ##__VA_ARGS__);                                 \
    } while (0)

static inline gordian_status refuse_event(gordian_result *result, gordian_refusal refusal)
{
    result->outcome = GORDIAN_OUTCOME_REFUSED;
    result->refusal = (uint8_t)refusal;
    return GORDIAN_OK;
}

/* Takes events on the fast path (fast_path.c), up to the first that needs the slow path, or, on
 * request, up to and including the first after which a process is stuck. Returns how many. */
size_t plain_feed(gordian_system *system, const gordian_event *events, size_t count,
                  gordian_result *results, bool until_stuck);

/* Returns whether the process waits and will never be served. */
static inline bool result_is_stuck(const gordian_result *result)
{
    return result->outcome == GORDIAN_OUTCOME_DEADLOCK || result->outcome == GORDIAN_OUTCOME_DOOMED;
}

/* gordian_snapshot_take of what the graph knows: of a shared system, everything that deadlocks
 * depend on. */
gordian_status system_snapshot(gordian_snapshot **out, const gordian_system *system,
                               gordian_error *error);

/* events.c, for acts.c: ends the pending request of a process; serves the waiters of the resources
 * in system->cursors[0..count), in order of arrival. */
void system_give_up(gordian_system *system, uint32_t process);
void system_serve_queues(gordian_system *system, size_t count, uint32_t from);

/* system.c, for acts.c: adds a resource that is to be an await. On failure nothing has changed. */
gordian_status system_add_await(gordian_system *system, uint64_t units, uint32_t *id,
                                gordian_error *error);

/* acts.c. The event is an await or an act. */
gordian_status system_take_await(gordian_system *system, const gordian_event *event,
                                 gordian_result *result, gordian_error *error);
gordian_status system_take_act(gordian_system *system, const gordian_event *event,
                               gordian_result *result, gordian_error *error);
/* Before a process ends its request: lists its awaits in system->others. Returns false if out of
 * memory. */
bool system_list_awaits(gordian_system *system, uint32_t process, size_t *count);
/* Reserves memory for one more await, whatever its id; makes this resource an await. */
bool system_reserve_await(gordian_system *system);
void system_begin_await(gordian_system *system, uint32_t process, uint32_t resource);
/* A process is about to release a unit of `resource`, which may be an await. */
void system_note_act(gordian_system *system, uint32_t process, uint32_t resource);
/* Ends the listed awaits. */
void system_end_awaits(gordian_system *system, size_t count);
/* Ends the awaits of the served processes, from `first` on. */
void system_end_served(gordian_system *system, size_t first);

/* ---- cycles of a single-unit system, for engines that know which process closed each. That
 * process stays the same until one on the cycle ends its wait. */

/* Returns the process that closed the deadlock that this one is part of or waits behind. NONE:
 * there is none, or the engine or the model does not know it. */
uint32_t system_closed_by(const gordian_system *system, uint32_t process);
/* The same for the deadlock that the last event has ended (a cancel or an exit). */
uint32_t system_opened(const gordian_system *system);
/* Returns the process that this one waits for. It waits for one unit of one resource. */
uint32_t system_next_ahead(const gordian_system *system, uint32_t process);
/* gordian_explain of a process that closed a cycle, up to `limit` edges; of another process, all of
 * it. */
gordian_status system_explain_some(gordian_system *system, uint32_t process, size_t limit,
                                   gordian_witness *witness, gordian_error *error);

/* Provides a zeroed bit set over all processes, then sets the bits of the processes that can never
 * run again. */
gordian_status system_dead(gordian_system *system, uint64_t **set, gordian_error *error);

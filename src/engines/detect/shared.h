/*
 * Shared systems: many threads use one system.
 *
 * Words. Each resource of one unit has a word: FREE, the process that holds it, or GRAPH. Granting
 * a free resource, or releasing one without waiters, is one compare-and-swap of its word. This
 * *fast path* takes no lock and changes neither graph nor engine. An edge from or to a running
 * process cannot close a cycle, so they need not know of it.
 *
 * The graph. Everything else happens in the graph, under the one lock, by the events that every
 * system has (events.c). GRAPH in a word means that the graph has this resource; only the owner of
 * the lock may change that. *Lifting* a resource sets its word to GRAPH and puts the hold that the
 * word recorded into the graph. While the lock is free:
 *
 *   - a resource whose word is not GRAPH has no holder and no queue in the graph;
 *   - everything that a waiting process holds is in the graph;
 *   - resources of several units are always in the graph.
 *
 * So the graph has everything that the judgement of a block depends on: a process that waits lifts
 * what it wants and what it holds. A resource leaves the graph when it is released and no process
 * waits for it.
 *
 * Lists. A process notes what it takes on the fast path in a list of its own. Only the thread that
 * runs the process changes it. A note is good as long as the word names the process. Between good
 * notes there may be stale ones, and the same resource may be noted twice. A release removes stale
 * notes from the end; a full list drops the others; a wait empties the list, because everything is
 * in the graph then.
 *
 * Order. All events have one total order. It agrees with the order in which each thread makes its
 * events. Taking a word is an acquire operation. It reads the value of a release operation, by the
 * thread that released the resource or by the thread that dropped it under the lock. Lifting is
 * both an acquire and a release. So "happens before" follows all changes of words except one step:
 * from a taking T to the lifting C that reads it. Suppose there were a cycle of such steps and of
 * "happens before". The lock orders the liftings in it; let C be the first and T the taking that it
 * reads. The cycle reaches T from some lifting that is not before C, so C happens before T and
 * cannot have read it. So there is no cycle, and any order that agrees with both relations is
 * correct: an event under the lock takes place while all words that it depends on are GRAPH, which
 * the fast path never changes.
 *
 * With a recorder the events are numbered. A word is BUSY while the fast path takes its number; the
 * slow path takes its number before it releases anything.
 *
 * State. Each process also has a word: it runs or waits. gordian_await_grant sleeps on it.
 */
#pragma once

#include "engines/detect/system.h"

#include <pthread.h>
#include <stdatomic.h>

/* Values of a resource's word that are no process: all above RAG_ID_MAX. */
#define SHARED_FREE  NONE
#define SHARED_GRAPH (NONE - 1)
#define SHARED_BUSY  (NONE - 2)

/* State of a process: it runs (in one of three states, by how its last wait ended), waits, or does
 * not exist. */
enum shared_state {
    SHARED_STATE_RUNS,
    SHARED_STATE_CANCELLED,
    SHARED_STATE_VICTIM,
    SHARED_STATE_WAITS,
    SHARED_STATE_SLEEPS, /* waits, and its thread sleeps: it has to be woken */
    SHARED_STATE_NOBODY,
};

#define SHARED_LINE  64 /* bytes that one core has to itself */
#define SHARED_FIRST 10 /* entries that fit in the record */

struct shared_process {
    _Atomic uint32_t state;
    uint32_t count, room;
    uint32_t *list; /* `first`, or a larger array */
    uint32_t first[SHARED_FIRST];
};

/* Tables never move, because other threads read them without a lock. They consist of pieces, each
 * an eighth of the table's size when that is a power of two, so that little memory is unused. */
#define SHARED_EIGHTH 3
#define SHARED_LEAST  6 /* the first eight pieces have 64 entries together */
#define SHARED_PIECES ((32 - SHARED_LEAST) << SHARED_EIGHTH)

struct shared_pieces {
    _Atomic(void *) at[SHARED_PIECES]; /* the allocator's pointer stands in front of each */
};

struct shared {
    struct shared_pieces processes, resources;
    gordian_recorder recorder;
    char apart[SHARED_LINE]; /* separates the members that are written often from the read-only ones
                                above */
    pthread_mutex_t lock;    /* recursive */
    _Atomic uint64_t order;  /* records so far */
};

static inline void *shared_entry(struct shared_pieces *pieces, uint32_t id, size_t size)
{
    if (__builtin_expect(id > RAG_ID_MAX, 0))
        return NULL;
    uint32_t number = id + (1u << SHARED_LEAST);
    uint32_t shift = 31 - SHARED_EIGHTH - (uint32_t)__builtin_clz(number);
    uint32_t place = ((shift + SHARED_EIGHTH - SHARED_LEAST - 1) << SHARED_EIGHTH) +
                     (number >> shift); /* its highest bit accounts for the -1 */
    char *piece = atomic_load_explicit(&pieces->at[place], memory_order_acquire);
    return piece ? piece + size * (number & ((UINT32_C(1) << shift) - 1)) : NULL;
}

/* Returns NULL if there never was a process of this id. */
static inline struct shared_process *shared_process_at(struct shared *shared, uint32_t id)
{
    return shared_entry(&shared->processes, id, SHARED_LINE);
}

static inline _Atomic uint32_t *shared_word_at(struct shared *shared, uint32_t id)
{
    return shared_entry(&shared->resources, id, sizeof(_Atomic uint32_t));
}

/* ---- shared_table.c: what comes and goes. Under the lock unless stated otherwise. */

gordian_status shared_open(gordian_system *system, const gordian_options *options,
                           gordian_error *error);
void shared_close(gordian_system *system); /* one that was never opened is fine */
/* Reserves memory for ids below these. Returns false if out of memory; then only capacity has
 * changed. */
bool shared_reserve(struct shared *shared, const gordian_allocator *memory, uint32_t processes,
                    uint32_t resources);
bool shared_grow_list(struct shared_process *process, const gordian_allocator *memory);
/* Keeps the good notes of a full list, each once. A thread calls it for its own process, without
 * the lock. */
void shared_tidy_list(struct shared *shared, uint32_t process);
/* Reports to the recorder that a process has come or gone. */
void shared_note_process(gordian_system *system, uint32_t id, bool gone);
void shared_note_resource(gordian_system *system, uint32_t id, uint64_t units, bool gone);

/* ---- shared.c: events */

/* As gordian_feed_batch. Each event takes place by itself: events of other threads may come in
 * between. Takes the lock where needed. */
gordian_status shared_feed(gordian_system *system, const gordian_event *events, size_t count,
                           gordian_result *results, size_t *taken, gordian_error *error);
/* The fast path alone, for one unit and without a recorder. Returns false if nothing has changed.
 */
bool shared_take(struct shared *shared, uint32_t process, uint32_t resource);
bool shared_give(struct shared *shared, uint32_t process, uint32_t resource);
/* Each moves something to the graph: a resource; everything in the list of a process; everything.
 */
void shared_lift(gordian_system *system, uint32_t resource);
void shared_lift_list(gordian_system *system, uint32_t process);
void shared_lift_held(gordian_system *system, uint32_t process); /* by searching all resources */
void shared_lift_all(gordian_system *system);
/* Returns whether the resource is held by the fast path. False for a system that is not shared. */
bool shared_is_held(const gordian_system *system, uint32_t resource);
/* Removes from the graph the resources that no process holds or waits for. */
void shared_drop_all(gordian_system *system);

/*
 * Many threads, one system.
 *
 * Words. Each resource of one unit has a word: FREE, the process that holds it, or GRAPH. A grant
 * of what is free and a release of what nobody waits for are one compare-and-swap of that word: the
 * *short way*, which takes no lock and leaves graph and engine alone. An edge from or to a process
 * that runs cannot close a cycle, so neither need to know of it.
 *
 * The graph. Everything else happens under the one lock, in the graph, by the events as any system
 * has them (events.c). A word that says GRAPH means: the graph knows about this resource; only
 * whoever has the lock may change that. To *lift* a resource is to make its word say GRAPH and to
 * put the hold it told of into the graph. What holds whenever the lock is free:
 *
 *   - a resource whose word is not GRAPH has no holder and no queue in the graph;
 *   - a process that waits has everything it holds in the graph;
 *   - resources of several units are always in the graph.
 *
 * So the graph has all that the judgement of a block depends on: whoever waits lifts what it wants
 * and what it holds. A resource leaves the graph when it is given back and nobody waits for it.
 *
 * Lists. What a process takes the short way it notes in a list of its own, changed only by the
 * thread that runs the process. A note is good as long as the word names the process; others lie
 * in between, and the same resource may stand there twice. What is at the end and no good goes with
 * a release, the rest when the list is full; waiting empties it, as all is in the graph then.
 *
 * Order. All events have one, in which each thread's stand as it made them. Taking a word is an
 * acquire that reads what a release has written (by whoever gave it back, or dropped it under the
 * lock); lifting is both. So "happens before" goes along with all changes of words, but for one
 * step: from a taking T to the lifting C that reads it. Suppose there were a circle of such steps
 * and of "happens before". The liftings in it are ordered among themselves, by the lock; let C be
 * the first, T the taking it reads. The circle comes to T from some lifting that is not before C,
 * so C happens before T and cannot have read it. Hence there is no circle, and any order that goes
 * along with both will do: an event under the lock takes place while all the words it depends on
 * say GRAPH, which no short way changes.
 *
 * With a recorder the events are numbered: a word is BUSY while the short way takes its number,
 * and the long way takes one before it lets go of anything.
 *
 * State. Each process has a word, too: it runs, or waits. gordian_await_grant sleeps on it.
 */
#pragma once

#include "engines/detect/system.h"

#include <pthread.h>
#include <stdatomic.h>

/* Words of resources that name no process: all above RAG_ID_MAX. */
#define SHARED_FREE  NONE
#define SHARED_GRAPH (NONE - 1)
#define SHARED_BUSY  (NONE - 2)

/* A process: runs (the first three say how its last wait ended), waits, or is not there. */
enum shared_state {
    SHARED_STATE_RUNS,
    SHARED_STATE_CANCELLED,
    SHARED_STATE_VICTIM,
    SHARED_STATE_WAITS,
    SHARED_STATE_SLEEPS, /* waits, and somebody has to be woken */
    SHARED_STATE_NOBODY,
};

#define SHARED_LINE  64 /* bytes that one core has to itself */
#define SHARED_FIRST 10 /* that fit in the record */

struct shared_process {
    _Atomic uint32_t state;
    uint32_t count, room;
    uint32_t *list; /* `first`, or more room */
    uint32_t first[SHARED_FIRST];
};

/* Tables never move, as others read them without a lock: they are made of pieces, each of an eighth
 * of what a table has when it is a power of two, so that little room is for nobody. */
#define SHARED_EIGHTH 3
#define SHARED_LEAST  6 /* the first eight pieces have 64 entries together */
#define SHARED_PIECES ((32 - SHARED_LEAST) << SHARED_EIGHTH)

struct shared_pieces {
    _Atomic(void *) at[SHARED_PIECES]; /* what the allocator gave stands in front of each */
};

struct shared {
    struct shared_pieces processes, resources;
    gordian_recorder recorder;
    char apart[SHARED_LINE]; /* what follows is written often, what is above never */
    pthread_mutex_t lock;    /* one that a thread may take again */
    _Atomic uint64_t order;  /* records so far */
};

static inline void *shared_entry(struct shared_pieces *pieces, uint32_t id, size_t size)
{
    if (__builtin_expect(id > RAG_ID_MAX, 0))
        return NULL;
    uint32_t number = id + (1u << SHARED_LEAST);
    uint32_t shift = 31 - SHARED_EIGHTH - (uint32_t)__builtin_clz(number);
    uint32_t place = ((shift + SHARED_EIGHTH - SHARED_LEAST - 1) << SHARED_EIGHTH) +
                     (number >> shift); /* whose highest bit is the -1 */
    char *piece = atomic_load_explicit(&pieces->at[place], memory_order_acquire);
    return piece ? piece + size * (number & ((UINT32_C(1) << shift) - 1)) : NULL;
}

/* NULL: there never was one of this id. */
static inline struct shared_process *shared_process_at(struct shared *shared, uint32_t id)
{
    return shared_entry(&shared->processes, id, SHARED_LINE);
}

static inline _Atomic uint32_t *shared_word_at(struct shared *shared, uint32_t id)
{
    return shared_entry(&shared->resources, id, sizeof(_Atomic uint32_t));
}

/* ---- shared_table.c: what comes and goes. Under the lock unless said. */

gordian_status shared_open(gordian_system *system, const gordian_options *options,
                           gordian_error *error);
void shared_close(gordian_system *system); /* one that was never opened is fine */
/* Room for ids below these. False: out of memory, nothing changed but room. */
bool shared_reserve(struct shared *shared, const gordian_allocator *memory, uint32_t processes,
                    uint32_t resources);
bool shared_grow_list(struct shared_process *process, const gordian_allocator *memory);
/* Keeps the good notes of a full list, each once. Of one's own process, without the lock. */
void shared_tidy_list(struct shared *shared, uint32_t process);
/* One has come, or gone: to be told the recorder. */
void shared_note_process(gordian_system *system, uint32_t id, bool gone);
void shared_note_resource(gordian_system *system, uint32_t id, uint64_t units, bool gone);

/* ---- shared.c: events */

/* As gordian_feed_batch, each event by itself: others' may come in between. Takes the lock itself
 * where it has to. */
gordian_status shared_feed(gordian_system *system, const gordian_event *events, size_t count,
                           gordian_result *results, size_t *taken, gordian_error *error);
/* The short way alone, for one unit and without a recorder. False: nothing has changed. */
bool shared_take(struct shared *shared, uint32_t process, uint32_t resource);
bool shared_give(struct shared *shared, uint32_t process, uint32_t resource);
/* Into the graph: a resource; all a process holds that its list has; all there is. */
void shared_lift(gordian_system *system, uint32_t resource);
void shared_lift_list(gordian_system *system, uint32_t process);
void shared_lift_held(gordian_system *system, uint32_t process); /* by looking at all resources */
void shared_lift_all(gordian_system *system);
/* Is it held the short way? Not of a system that is not shared. */
bool shared_is_held(const gordian_system *system, uint32_t resource);
/* Out of the graph, those that nobody holds or waits for. */
void shared_drop_all(gordian_system *system);

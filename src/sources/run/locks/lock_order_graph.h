/* The lock-order graph, which finds lock order inversions.
 *
 * An *order* means: a thread took one lock while it held others. The orders d0, d1, ..., dn can
 * deadlock if the lock that each one takes is held in the next one, and the last one's in the first
 * one, if different threads did them, and if no two of them were done under a common lock (a gate
 * lock). Steps around a ring are excepted. So the locks held at that time decide. A path through
 * the graph is not enough; but without a path (lock_order_components.h) there is no inversion.
 *
 * The graph grows while there is memory. Orders of destroyed locks stay until the capacity is used
 * up. Then they are removed, if they are at least half of all orders.
 */
#pragma once

#include "sources/run/state/watch.h"

#define ORDER_THREADS 4 /* different threads that are stored for an order */

/* A lock. Memory that may contain another lock gets a new node. */
struct node {
    uintptr_t lock;
    uint32_t generation;    /* changes when the lock is destroyed */
    uint32_t next;          /* in the list of its page, or of free nodes */
    uint32_t taken;         /* list of orders that take it, index + 1 */
    uint32_t held;          /* list of uses that hold it, index + 1 */
    uint32_t component;     /* lock_order_components.h */
    uint32_t alone, shared; /* orders on the search path that hold it exclusively, or for reading */
    uint8_t kind;
    uint8_t queues;  /* a rwlock whose readers wait behind waiting writers */
    uint8_t written; /* some thread takes it for writing */
    uint8_t live;
};

/* A place in the program where a lock was taken. */
struct spot {
    uint32_t chain; /* with the same hash, index + 1 */
    uint32_t frames;
    uintptr_t frame[INCIDENT_FRAMES];
};

/* A lock held in an order. */
struct use {
    uint32_t node, generation;
    uint32_t order;
    uint32_t next; /* use of the same node, index + 1 */
    uint32_t spot;
    uint8_t mode;
};

struct order {
    uint64_t key; /* equal for equal sets of held and taken locks */
    uint64_t serial[ORDER_THREADS];
    uint32_t tid[ORDER_THREADS];
    char name[16]; /* of the first thread */
    uint32_t threads;
    uint32_t node, generation;
    uint32_t next;  /* with the same taken lock, index + 1 */
    uint32_t chain; /* with the same hash of the key, index + 1 */
    uint32_t first_use, uses;
    uint32_t spot;
    uint8_t mode;
};

/* A possible deadlock: orders[i] by its thread number who[i], which holds in use[i] the lock that
 * the order before it takes. */
struct order_cycle {
    uint32_t count;
    uint32_t *orders, *use, *who;
};

/* All elements, by index. */
struct graph {
    struct node *nodes;
    struct order *orders;
    struct use *uses;
    struct spot *spots;
    uint32_t node_count, order_count, use_count, spot_count;
};
extern struct graph graph;

/* Callers hold the guard in lock_order.c. */

bool graph_start(void);
/* Empties the graph. */
void graph_clear(void);
/* Adds an order; *index: its index. 0: already known for this thread. 1: new, or new for this
 * thread. -1: out of memory. `held` has `place` entries before the taken one. */
int graph_learn(const struct thread *t, const struct held *held, uint32_t place, uint32_t *index);
/* Searches for a deadlock that contains order `index`, by the last thread stored for it. */
bool graph_search(uint32_t index, struct order_cycle *cycle);
/* Removes the locks in [low, low + size); true if there were any. */
bool graph_forget(uintptr_t low, size_t size);
/* Return quickly, without the guard, whether there may be locks. */
bool graph_may_have(uintptr_t low, size_t size);
bool graph_any(void);
/* Returns the lowest address of a lock in [low, high); UINTPTR_MAX: none. */
uintptr_t graph_lowest(uintptr_t low, uintptr_t high);

/* Return whether its locks still exist. For the other files of the graph. */
bool use_is_live(const struct use *use);
bool order_is_whole(const struct order *order);
bool search_start(void);

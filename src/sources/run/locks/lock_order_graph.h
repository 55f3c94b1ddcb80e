/* The graph of lock orders.
 *
 * An *order* says: some thread, holding these locks, took that one. Orders d0, d1, ..., dn can
 * deadlock if each one's taken lock is among the next one's held ones and the last one's among the
 * first one's, if different threads did them, and if no two of them were done under a common lock,
 * which would keep them apart; and if they are not the steps of a walk round a ring. So it is
 * judged by what was held at the time; that a path leads through the graph is not enough; but where
 * none does (lock_order_components.h) there is nothing to judge.
 *
 * It grows as long as there is memory. Orders of locks that have gone are left in it until there is
 * no room, and then, if they are the half of it, swept out. */
#pragma once

#include "sources/run/state/watch.h"

#define ORDER_THREADS 4 /* different threads remembered for an order */

/* A lock; a new one whenever the memory may have become something else. */
struct node {
    uintptr_t lock;
    uint32_t generation;    /* changes when the lock goes */
    uint32_t next;          /* in its page's list; or free */
    uint32_t taken;         /* orders that take it, index + 1 */
    uint32_t held;          /* uses that hold it, index + 1 */
    uint32_t component;     /* lock_order_components.h */
    uint32_t alone, shared; /* orders on the path of a search that hold it so */
    uint8_t kind;
    uint8_t queues;  /* an rwlock whose readers wait behind waiting writers */
    uint8_t written; /* somebody takes it for writing */
    uint8_t live;
};

/* Where in the program a lock was taken. */
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
    uint64_t key; /* the same for the same locks held and taken */
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

/* A way for a deadlock to form: orders[i] by the thread number who[i] of it, holding at use[i] what
 * the order before it takes. */
struct order_cycle {
    uint32_t count;
    uint32_t *orders, *use, *who;
};

/* All of them, by index. */
struct graph {
    struct node *nodes;
    struct order *orders;
    struct use *uses;
    struct spot *spots;
    uint32_t node_count, order_count, use_count, spot_count;
};
extern struct graph graph;

/* Callers of these have the guard in lock_order.c. */

bool graph_start(void);
/* As at the start. */
void graph_clear(void);
/* Notes an order; *index: where. 0: known, and by this thread too. 1: new, or by a new thread.
 * -1: no more room. `held` has `place` entries below the one that was taken. */
int graph_learn(const struct thread *t, const struct held *held, uint32_t place, uint32_t *index);
/* Is there a deadlock that order `index`, done by the last thread noted for it, may be part of? */
bool graph_search(uint32_t index, struct order_cycle *cycle);
/* Locks in [low, low + size) are gone; true if there were any. */
bool graph_forget(uintptr_t low, size_t size);
/* Quick, without the guard: may there be any? */
bool graph_may_have(uintptr_t low, size_t size);
bool graph_any(void);
/* The lowest address of a lock in [low, high); UINTPTR_MAX: there is none. */
uintptr_t graph_lowest(uintptr_t low, uintptr_t high);

/* Is what it is about still there? For the other files of the graph. */
bool use_is_live(const struct use *use);
bool order_is_whole(const struct order *order);
bool search_start(void);

/*
 * The safety algorithm of the banker's algorithm, after Holt: which processes can finish?
 *
 * `work` is what is free and what finished processes have released. A process finishes when its
 * whole need fits the work. Holt keeps the claimants of every resource in order of need, and for
 * every process a count of the resources it is short of. This search keeps neither. Work only grows
 * during a search, so what was enough once stays enough: a process walks along its row up to the
 * first resource it is short of, waits there, and continues when there is enough of it. So every
 * claim is visited once, as in Holt's algorithm. The advantages are: no order has to be maintained
 * when a process borrows, joins or changes its claims; memory is read sequentially; and most stuck
 * processes are recognized at once, because each begins with the resource that it was short of last
 * time. The waiters of a resource form a heap, smallest need first. A search costs O(claims + waits
 * x log processes), where waits counts how often a process came to wait at another resource:
 * usually a few times the number of processes, and never more than the claims.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"

struct search_node {
    /* The claim that the process waits for; after a search, the last claim that it waited for. The
     * next search checks this claim first, without reading the row. */
    uint64_t need;
    uint32_t resource; /* NONE: unknown */
    uint32_t hint;     /* its index in the row */
    uint32_t child;    /* in the heap: the first child, and the next sibling */
    uint32_t next;
    uint32_t start; /* index in its row where it began; it continues around the end of the row */
    uint32_t seen;  /* number of claims satisfied from the hint on; SEARCH_DONE: it has finished */
};

#define SEARCH_DONE  UINT32_MAX
#define SEARCH_NEVER UINT64_MAX

struct search {
    gordian_allocator memory;
    const struct ledger *ledger;
    uint32_t process_room, resource_room;

    /* By resource. */
    uint64_t *work;
    uint64_t *wake_at; /* the smallest need of its waiters; SEARCH_NEVER: there are none */
    uint32_t *heaps;   /* the waiters, smallest need on top */
    struct ledger_claim *wanted; /* the row of the process of the change: what it is short of */
    uint32_t wanted_count;
    uint32_t goal; /* that process, or NONE */

    struct search_node *nodes; /* by process */
    uint32_t *ready;           /* a stack of processes that have enough of what they waited for */
    uint32_t ready_count;
    uint32_t *done; /* finished processes, in order */
    uint32_t done_count;
};

void search_init(struct search *search, const struct ledger *ledger);
void search_free(struct search *search);
/* A search remembers what processes were short of. If the ledger changes between searches, call
 * this for a process whose needs have changed, or whose id now means another process. */
void search_forget(struct search *search, uint32_t process);
/* The same for all processes. */
void search_forget_all(struct search *search);
/* Reserves memory for these many ids. Returns false if out of memory. */
bool search_reserve(struct search *search, uint32_t process_limit, uint32_t resource_limit);

/* Returns whether the process of the change could finish after the change. If the change has no
 * process, or is NULL, returns whether all processes could finish. Tries processes in the given
 * order (ids; NONE is skipped; a NULL order: by id), and stops once the process of the change can
 * finish; `done` then ends with it. Processes that hold nothing are left out, because they help no
 * other. On false, `done` has all other processes that could finish, and `work` is what they would
 * leave. */
bool search_run(struct search *search, const struct ledger_change *change, const uint32_t *order,
                uint32_t count);
/* After a search that returned false: also visits the processes that were left out. */
void search_rest(struct search *search);

/* After that: returns whether this process is stuck. */
static inline bool search_is_stuck(const struct search *search, uint32_t process)
{
    return search->nodes[process].seen != SEARCH_DONE;
}

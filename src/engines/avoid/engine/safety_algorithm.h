/*
 * Who can finish? The search behind safety, after Holt.
 *
 * `work` is what is free and what those who have finished gave back. A process finishes when its
 * whole need fits the work. Holt keeps for every resource its claimants in order of need, and for
 * every process a count of the resources it is still short of. Here neither is kept. Work only ever
 * grows during a search, so what has once been enough stays enough: a process looks along its row
 * up to the first resource it is short of, waits there, and goes on from there when there is enough
 * of it. So every claim is looked at once, as with Holt; but there are no orders to be kept when
 * somebody borrows, joins or changes his claims, memory is read in its order, and most of those who
 * are stuck are seen to be at the first look, as each begins with what it was last short of. Those
 * who wait for more of a resource are in a heap, smallest need first. A search costs O(claims +
 * waits x log processes), where waits counts how often somebody came to wait at another resource: a
 * few times the number of processes, as a rule, and never more than the claims.
 */
#pragma once

#include "engines/avoid/engine/ledger.h"

struct search_node {
    /* What the process waits for; after a search, what it last waited for: the next search looks
     * there first, without looking at the row. */
    uint64_t need;
    uint32_t resource; /* NONE: not known */
    uint32_t hint;     /* its place in the row */
    uint32_t child;    /* in the heap: the first one below, and the next beside */
    uint32_t next;
    uint32_t start; /* in its row, where it began to look, round the end of the row if need be */
    uint32_t seen;  /* so many claims from there on are enough; SEARCH_DONE: it has finished */
};

#define SEARCH_DONE  UINT32_MAX
#define SEARCH_NEVER UINT64_MAX

struct search {
    gordian_allocator memory;
    const struct ledger *ledger;
    uint32_t process_room, resource_room;

    /* By resource. */
    uint64_t *work;
    uint64_t
        *wake_at;    /* the smallest need of those who wait for more of it; SEARCH_NEVER: nobody */
    uint32_t *heaps; /* those who wait, smallest need on top */
    struct ledger_claim *wanted; /* the row of the process of the change: what it is short of */
    uint32_t wanted_count;
    uint32_t goal; /* that process, or NONE */

    struct search_node *nodes; /* by process */
    uint32_t *ready;           /* a stack of those who have enough of what they waited for */
    uint32_t ready_count;
    uint32_t *done; /* those who have finished, in order */
    uint32_t done_count;
};

void search_init(struct search *search, const struct ledger *ledger);
void search_free(struct search *search);
/* A search remembers what processes were short of. Whoever keeps one while the ledger changes says
 * so when what a process needs has changed, or its id means another one. */
void search_forget(struct search *search, uint32_t process);
/* Or that much may have changed. */
void search_forget_all(struct search *search);
/* Room for these many ids; false: out of memory. */
bool search_reserve(struct search *search, uint32_t process_limit, uint32_t resource_limit);

/* Would the process of the change, or everybody if there is none, be able to finish after the
 * change (NULL: as things are)? Tries processes in the given order (ids, NONE is passed over; a
 * NULL order: by id), and stops as soon as the process of the change can finish; `done` then ends
 * with it. Who holds nothing is left out, as it is of no use to anybody. If there is no way,
 * everybody else who could finish is in `done`, and `work` is what they would leave. */
bool search_run(struct search *search, const struct ledger_change *change, const uint32_t *order,
                uint32_t count);
/* After a search that found no way: looks at those left out as well. */
void search_rest(struct search *search);

/* After that: is this one stuck? */
static inline bool search_is_stuck(const struct search *search, uint32_t process)
{
    return search->nodes[process].seen != SEARCH_DONE;
}

/*
 * The default engine: keeps an order in which everybody can finish, and searches for another only
 * where that one does not serve any more.
 *
 * Who holds nothing can always finish last: nobody waits for anything of his, and when all others
 * have finished all units are there, of which no claim wants more than the total. So only the
 * *borrowers*, those who hold something, have to be put in order. Let S be the order kept of
 * them, free the units free now, and for a borrower i let work_i be free and all that those before
 * i in S hold: S is good if need_i <= work_i for every i, in every resource. In what follows a
 * process p borrows w; afterwards free' = free - w, held_p' = held_p + w and need_p' = need_p - w.
 *
 *  1. Joining, returning and leaving keep S good. Who joins is no borrower. If p returns units,
 *     everybody before p finds as many more, p itself needs and finds as many more, and everybody
 *     after p finds the same. If p returns all or leaves, it is taken out of S: those before p find
 *     what it held in free, those after p find it there instead of with p.
 *
 *  2. If p can finish after borrowing, once those in a set T have, the loan is safe, and
 *     T (in the order they finish), p, and the rest in the order of S is a good order. For when T
 *     and p have finished the work is
 *         free - w + held(T) + held_p + w = free + held(T) + held_p,
 *     as if nothing had been borrowed; so each i of the rest finds at least free and what those
 *     before it in S hold, which is work_i. And if p cannot finish, the loan is not safe. So the
 *     only question is whether p can finish. The same for new claims of p: they change what p needs
 *     and nothing that others find.
 *
 *  3. Of 2 with T empty: need_p <= free is enough. p goes to the front.
 *
 *  4. S itself stays good if everybody before p can spare w: work_i - need_i >= w. p finds w less
 *     and needs w less, those after p find the same as before. Only resources in w have to be
 *     looked at, and only their claimants. A p that was no borrower goes to the end of S,
 *     after everybody; there all units are.
 *     If p changes its claims, S stays good if p still finds enough where it stands.
 *
 *  5. Otherwise a search (safety_algorithm.h) that tries the borrowers in the order of S tells.
 *
 *  6. If units are taken out of the bank, all borrowers have to be able to spare them, or a whole
 *     new order is searched for.
 */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "engines/avoid/engine/safety_algorithm.h"

/* What `safe` has found, to be done should the change take place. */
enum holt_plan {
    HOLT_KEEP,        /* the order; p goes to its end if it is not in it */
    HOLT_TO_FRONT,    /* p */
    HOLT_AS_SEARCHED, /* those in search.done, in that order, go to the front */
};

struct holt {
    gordian_allocator memory;
    const struct ledger *ledger;
    struct search search;
    enum holt_plan plan;

    /* The order: order[head] to order[tail - 1], with gaps (NONE) where somebody has left or moved
     * to the front. There are 4 places a process; see `compact`. */
    uint32_t *order;
    uint32_t *place; /* by process; NONE: it is no borrower */
    uint32_t head, tail, borrowers;
    uint32_t process_room;

    uint64_t *marks; /* a bit a place: all clear between questions */
    uint32_t *at;    /* by place: where its process is in a column; only where a mark is */
};

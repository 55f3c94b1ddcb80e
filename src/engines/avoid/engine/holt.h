/*
 * `holt`: the default engine for the banker's algorithm. It keeps an order in which all processes
 * can finish, and searches for another only if that one no longer serves.
 *
 * A process that holds nothing can always finish last: no process waits for anything of it, and
 * when all others have finished, all units are free, and no claim exceeds the total. So only the
 * *borrowers*, which hold something, have to be ordered. Let S be the present order of them, free
 * the free units, and for a borrower i let work_i be free plus all that those before i in S hold: S
 * is good if need_i <= work_i for every i, in every resource. Below, a process p borrows w; then
 * free' = free - w, held_p' = held_p + w and need_p' = need_p - w.
 *
 *  1. Joining, releasing and leaving keep S good. A process that joins is no borrower. If p
 * releases units, every process before p finds that many more, p itself needs and finds that many
 * more, and every process after p finds the same. If p releases everything or leaves, it is removed
 *     from S: those before p find what it held in free, those after p find it there instead of with
 *     p.
 *
 *  2. If p can finish after borrowing, once those in a set T have finished, the loan is safe. T (in
 *     the order they finish), p, and the rest in the order of S is a good order, because when T and
 *     p have finished the work is
 *         free - w + held(T) + held_p + w = free + held(T) + held_p,
 *     as if nothing had been borrowed. So each i of the rest finds at least free and what those
 *     before it in S hold, which is work_i. If p cannot finish, the loan is not safe. So the only
 *     question is whether p can finish. The same holds for new claims of p: they change what p
 *     needs and nothing that others find.
 *
 *  3. Case 2 with T empty: need_p <= free is sufficient. p goes to the front.
 *
 *  4. S stays good if all processes before p can spare w: work_i - need_i >= w. p finds w less and
 *     needs w less; those after p find the same as before. Only resources in w have to be checked,
 *     and only their claimants. A p that was no borrower goes to the end of S, after all others,
 *     where all units are free. If p changes its claims, S stays good if p still finds enough in
 * its place.
 *
 *  5. Otherwise the safety algorithm (safety_algorithm.h) decides, trying the borrowers in the
 * order of S.
 *
 *  6. If units are taken out of the bank, all borrowers have to be able to spare them; otherwise a
 *     whole new order is searched for.
 */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "engines/avoid/engine/safety_algorithm.h"

/* The change of the order that `safe` has planned for the case that the change takes place. */
enum holt_plan {
    HOLT_KEEP,        /* keep the order; append p if the order does not contain it */
    HOLT_TO_FRONT,    /* move p to the front */
    HOLT_AS_SEARCHED, /* move the processes in search.done to the front, in the order of search.done
                       */
};

struct holt {
    gordian_allocator memory;
    const struct ledger *ledger;
    struct search search;
    enum holt_plan plan;

    /* The order: order[head] to order[tail - 1], with gaps (NONE) where a process has left or moved
     * to the front. It has 4 places for each process; see `compact_order`. */
    uint32_t *order;
    uint32_t *place; /* by process; NONE: it is no borrower */
    uint32_t head, tail, borrowers;
    uint32_t process_room;

    uint64_t *marks; /* a bit for each place: all clear between questions */
    uint32_t *at;    /* by place: index of its process in a column; only where a mark is */
};

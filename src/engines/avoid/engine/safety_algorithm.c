/* The safety algorithm of the banker's algorithm (safety_algorithm.h). */
#include "engines/avoid/engine/safety_algorithm.h"

#include <string.h>

void search_init(struct search *search, const struct ledger *ledger)
{
    *search = (struct search){.memory = ledger->memory, .ledger = ledger, .goal = NONE};
}

void search_free(struct search *search)
{
    memory_free_all(&search->memory, search->work, search->wake_at, search->heaps, search->wanted,
                    search->nodes, search->ready, search->done);
}

bool search_reserve(struct search *search, uint32_t process_limit, uint32_t resource_limit)
{
    const struct memory_column of_resources[] = {{&search->work, sizeof *search->work},
                                                 {&search->wake_at, sizeof *search->wake_at},
                                                 {&search->heaps, sizeof *search->heaps},
                                                 {&search->wanted, sizeof *search->wanted}};
    const struct memory_column of_processes[] = {{&search->nodes, sizeof *search->nodes},
                                                 {&search->ready, sizeof *search->ready},
                                                 {&search->done, sizeof *search->done}};
    uint32_t before = search->process_room;
    if (!memory_grow_columns(&search->memory, of_resources, 4, &search->resource_room,
                             resource_limit) ||
        !memory_grow_columns(&search->memory, of_processes, 3, &search->process_room,
                             process_limit))
        return false;
    for (uint32_t i = before; i < search->process_room; i++)
        search->nodes[i].resource = NONE;
    return true;
}

void search_forget(struct search *search, uint32_t process)
{
    search->nodes[process].resource = NONE;
}

void search_forget_all(struct search *search)
{
    for (uint32_t i = 0; i < search->process_room; i++)
        search->nodes[i].resource = NONE;
}

/* ---- heaps of waiting processes: pairing heaps, linked through the nodes */

static uint32_t heap_meld(struct search_node *nodes, uint32_t a, uint32_t b)
{
    if (nodes[b].need < nodes[a].need) {
        uint32_t swap = a;
        a = b;
        b = swap;
    }
    nodes[b].next = nodes[a].child;
    nodes[a].child = b;
    return a;
}

/* Melds a list of heaps into one: first in pairs, then the pairs. */
static uint32_t meld_all(struct search_node *nodes, uint32_t list)
{
    uint32_t pairs = NONE;
    while (list != NONE) {
        uint32_t first = list, second = nodes[list].next;
        list = second == NONE ? NONE : nodes[second].next;
        if (second != NONE)
            first = heap_meld(nodes, first, second);
        nodes[first].next = pairs;
        pairs = first;
    }
    uint32_t heap = NONE;
    while (pairs != NONE) {
        uint32_t next = nodes[pairs].next;
        heap = heap == NONE ? pairs : heap_meld(nodes, heap, pairs);
        pairs = next;
    }
    return heap;
}

/* Makes a process wait for what its node says. */
static void wait_in_heap(struct search *search, uint32_t process)
{
    struct search_node *node = &search->nodes[process];
    uint32_t *heap = &search->heaps[node->resource];
    node->child = node->next = NONE;
    *heap = *heap == NONE ? process : heap_meld(search->nodes, *heap, process);
    search->wake_at[node->resource] = search->nodes[*heap].need;
}

/*
 * Makes all waiters ready that have enough of the resource now. They are the upper part of the
 * heap: the search descends only below nodes that have enough, because no node below one without
 * enough can have enough.
 *
 * No process needs as much as SEARCH_NEVER and waits: a need is never above the total, so all units
 * would have to be free, and then it does not wait.
 */
static void wake_waiters(struct search *search, uint32_t resource)
{
    struct search_node *nodes = search->nodes;
    uint32_t *heap = &search->heaps[resource], from = search->ready_count, rest = NONE;
    uint64_t work = search->work[resource];
    if (*heap == NONE || nodes[*heap].need > work)
        return;
    search->ready[search->ready_count++] = *heap;
    for (uint32_t k = from; k < search->ready_count; k++)
        for (uint32_t child = nodes[search->ready[k]].child; child != NONE;) {
            uint32_t next = nodes[child].next;
            if (nodes[child].need <= work) {
                search->ready[search->ready_count++] = child;
            } else {
                nodes[child].next = rest;
                rest = child;
            }
            child = next;
        }
    *heap = meld_all(nodes, rest);
    search->wake_at[resource] = *heap == NONE ? SEARCH_NEVER : nodes[*heap].need;
}

/* ---- processes */

/* Units that are compared together, as vectors: compilers do not find this by themselves. */
typedef uint64_t pair __attribute__((vector_size(16)));
#define STRIDE 16
_Static_assert(STRIDE <= LEDGER_GAPLESS_MIN, "a gapless row has at least a stride");

static pair load_pair(const uint64_t *from)
{
    pair units;
    memcpy(&units, from, sizeof units);
    return units;
}

/* Returns the first need of a gapless row in [from, end) that does not fit. */
static uint32_t first_short_unit(const uint64_t *need, const uint64_t *work, uint32_t from,
                                 uint32_t end)
{
    uint32_t k = from;
    for (; k + STRIDE <= end; k += STRIDE) {
        pair short_of = {0, 0};
        for (uint32_t i = k; i < k + STRIDE; i += 2)
            short_of |= (pair)(load_pair(need + i) > load_pair(work + i));
        if (short_of[0] | short_of[1])
            break;
    }
    while (k < end && need[k] <= work[k])
        k++;
    return k;
}

/* The part of a process's claims that a search needs. */
struct view {
    const struct ledger_claim *claims;
    uint32_t count;
    const struct ledger_row *gapless; /* NULL: not gapless */
};

static uint32_t first_short(const struct search *search, const struct view *view, uint32_t from,
                            uint32_t end)
{
    const uint64_t *work = search->work;
    if (view->gapless)
        return first_short_unit(view->gapless->units, work + view->gapless->first, from, end);
    uint32_t k = from;
    while (k < end && view->claims[k].need <= work[view->claims[k].resource])
        k++;
    return k;
}

/* Continues along the row of a process and returns whether all of it fits. If not, the process
 * waits.
 */
static bool fits_from_here(struct search *search, uint32_t process)
{
    struct search_node *node = &search->nodes[process];
    const struct ledger_row *row = &search->ledger->rows[process];
    struct view view = {row->claims, row->count, row->gapless ? row : NULL};
    if (process == search->goal)
        view = (struct view){search->wanted, search->wanted_count, NULL};
    uint32_t before_end = view.count - node->start; /* claims before it continues at the front */
    uint32_t k = view.count;
    if (node->seen < before_end)
        k = first_short(search, &view, node->start + node->seen, view.count);
    if (k < view.count) {
        node->seen = k - node->start;
    } else {
        uint32_t from = node->seen < before_end ? 0 : node->seen - before_end;
        k = first_short(search, &view, from, node->start);
        if (k == node->start)
            return true;
        node->seen = before_end + k;
    }
    node->hint = k;
    node->resource = view.gapless ? view.gapless->first + k : view.claims[k].resource;
    node->need = view.gapless ? view.gapless->units[k] : view.claims[k].need;
    wait_in_heap(search, process);
    return false;
}

/* Visits a process for the first time in this search. */
static bool visit_first(struct search *search, uint32_t process)
{
    struct search_node *node = &search->nodes[process];
    bool known = node->resource != NONE && process != search->goal;
    node->start = known ? node->hint : 0;
    node->seen = 0;
    if (known && node->need > search->work[node->resource]) {
        wait_in_heap(search, process);
        return false;
    }
    return fits_from_here(search, process);
}

/* Adds to the work, a stride at a time. Returns whether a waiter has enough now. */
static bool add_stride(uint64_t *restrict work, const uint64_t *restrict held,
                       const uint64_t *restrict wake_at)
{
    pair enough = {0, 0};
    for (uint32_t i = 0; i < STRIDE; i += 2) {
        pair sum = load_pair(work + i) + load_pair(held + i);
        memcpy(work + i, &sum, sizeof sum);
        enough |= (pair)(sum >= load_pair(wake_at + i));
    }
    return enough[0] | enough[1];
}

static void wake_if_enough(struct search *search, uint32_t resource)
{
    if (search->work[resource] >= search->wake_at[resource])
        wake_waiters(search, resource);
}

static void finish_and_wake(struct search *search, uint32_t process)
{
    const struct ledger_row *row = &search->ledger->rows[process];
    search->nodes[process].seen = SEARCH_DONE;
    search->done[search->done_count++] = process;
    if (process != search->goal) {
        /* Add what a row holds to the work, and wake the waiters that have enough then. */
        uint64_t *work = search->work;
        const uint64_t *wake_at = search->wake_at,
                       *held = row->gapless ? row->units + row->count : NULL;
        uint32_t first = row->first, strides = row->gapless ? row->count / STRIDE * STRIDE : 0;
        uint32_t k = 0;
        for (; k < strides; k += STRIDE)
            if (add_stride(work + first + k, held + k, wake_at + first + k))
                for (uint32_t i = 0; i < STRIDE; i++)
                    wake_if_enough(search, first + k + i);
        for (; k < row->count; k++) {
            uint32_t resource = row->claims[k].resource;
            work[resource] += row->claims[k].held;
            wake_if_enough(search, resource);
        }
    }
}

/* If the process can finish, finishes it and then every process that can finish after it. Returns
 * true once the goal has finished. */
static bool try_process(struct search *search, uint32_t process)
{
    if (!visit_first(search, process))
        return false;
    finish_and_wake(search, process);
    while (search->ready_count > 0) {
        uint32_t next = search->ready[--search->ready_count];
        if (!fits_from_here(search, next))
            continue;
        finish_and_wake(search, next);
        if (next == search->goal)
            return true;
    }
    return process == search->goal;
}

/* ---- the change */

static void want_more(struct search *search, uint32_t resource, uint64_t need)
{
    if (need > search->work[resource])
        search->wanted[search->wanted_count++] =
            (struct ledger_claim){.need = need, .resource = resource};
}

/* Lists what the borrower is short of. */
static void apply_lend(struct search *search, const struct ledger_change *change)
{
    const struct ledger_row *row = &search->ledger->rows[change->process];
    for (size_t i = 0; i < change->count; i++)
        search->work[change->wants[i].resource] -= change->wants[i].units;
    for (uint32_t k = 0, i = 0; k < row->count; k++) {
        uint32_t resource = row->claims[k].resource;
        uint64_t need = row->claims[k].need;
        if (i < change->count && change->wants[i].resource == resource)
            need -= change->wants[i++].units;
        want_more(search, resource, need);
    }
}

static void apply_claims(struct search *search, const struct ledger_change *change)
{
    const struct ledger_row *row = &search->ledger->rows[change->process];
    for (uint32_t k = 0, i = 0; i < change->count; i++) {
        uint32_t resource = change->wants[i].resource;
        while (k < row->count && row->claims[k].resource < resource)
            k++;
        bool has = k < row->count && row->claims[k].resource == resource;
        want_more(search, resource, change->wants[i].units - (has ? row->claims[k].held : 0));
    }
}

static void begin_search(struct search *search, const struct ledger_change *change)
{
    const struct ledger *ledger = search->ledger;
    if (ledger->resource_limit > 0) {
        memcpy(search->work, ledger->free, ledger->resource_limit * sizeof *search->work);
        /* SEARCH_NEVER and NONE */
        memset(search->wake_at, 0xff, ledger->resource_limit * sizeof *search->wake_at);
        memset(search->heaps, 0xff, ledger->resource_limit * sizeof *search->heaps);
    }
    search->ready_count = search->done_count = search->wanted_count = 0;
    if (search->goal != NONE) /* what it was short of was not in its row */
        search_forget(search, search->goal);
    search->goal = change ? change->process : NONE;
    if (!change)
        return;
    switch (change->kind) {
    case CHANGE_LEND:
        apply_lend(search, change);
        break;
    case CHANGE_CLAIMS:
        apply_claims(search, change);
        break;
    case CHANGE_TAKE:
        search->work[change->wants[0].resource] -= change->wants[0].units;
        break;
    }
}

bool search_run(struct search *search, const struct ledger_change *change, const uint32_t *order,
                uint32_t count)
{
    const struct ledger *ledger = search->ledger;
    uint32_t borrowers = 0;
    begin_search(search, change);
    if (search->goal != NONE && try_process(search, search->goal))
        return true;
    if (!order)
        count = ledger->process_limit;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t process = order ? order[k] : k;
        if (process == search->goal || !ledger_is_process(ledger, process) ||
            ledger->rows[process].holding == 0)
            continue;
        borrowers++;
        if (try_process(search, process))
            return true;
    }
    return search->goal == NONE && search->done_count == borrowers;
}

void search_rest(struct search *search)
{
    const struct ledger *ledger = search->ledger;
    for (uint32_t i = 0; i < ledger->process_limit; i++)
        if (ledger_is_process(ledger, i) && ledger->rows[i].holding == 0 && i != search->goal &&
            visit_first(search, i))
            finish_and_wake(search, i);
}

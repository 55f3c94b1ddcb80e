/* The `holt` engine: keeps a safe order. Numbered cases refer to holt.h. */
#include "engines/avoid/engine/holt.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

/* ---- the order */

/* Closes the gaps and leaves half of the places free in front, so all processes can move there
 * twice, and a quarter at the end. Called when one end is reached, or when there are more gaps than
 * borrowers: constant time for each process that was added or moved since. */
static void compact_order(struct holt *holt)
{
    uint32_t count = 0, start = 2 * holt->process_room;
    for (uint32_t k = holt->head; k < holt->tail; k++)
        if (holt->order[k] != NONE)
            holt->order[holt->head + count++] = holt->order[k];
    if (count > 0)
        memmove(holt->order + start, holt->order + holt->head, count * sizeof *holt->order);
    holt->head = start;
    holt->tail = start + count;
    for (uint32_t k = holt->head; k < holt->tail; k++)
        holt->place[holt->order[k]] = k;
}

static void leave_order(void *engine, uint32_t process)
{
    struct holt *holt = engine;
    if (holt->place[process] == NONE)
        return;
    holt->order[holt->place[process]] = NONE;
    holt->place[process] = NONE;
    holt->borrowers--;
}

static void append_order(struct holt *holt, uint32_t process)
{
    if (holt->tail == (4 * holt->process_room))
        compact_order(holt);
    holt->place[process] = holt->tail;
    holt->order[holt->tail++] = process;
    holt->borrowers++;
}

/* Moves these processes, in this order, in front of all others. */
static void move_to_front(struct holt *holt, const uint32_t *processes, uint32_t count)
{
    if (holt->head < count)
        compact_order(holt);
    for (uint32_t k = count; k-- > 0;) {
        leave_order(holt, processes[k]);
        holt->order[--holt->head] = processes[k];
        holt->place[processes[k]] = holt->head;
        holt->borrowers++;
    }
    if (holt->tail - holt->head > 2 * holt->borrowers + 64)
        compact_order(holt);
}

/* ---- memory */

#define PROCESSES_MAX (UINT32_MAX / 4) /* a place is 32 bits */

static void free_order(struct holt *holt)
{
    memory_free_all(&holt->memory, holt->order, holt->place, holt->marks, holt->at);
}

/* Makes an empty order for that many processes. */
static bool alloc_order(struct holt *holt, uint32_t room)
{
    size_t count = (size_t)room * 4;
    holt->process_room = room;
    holt->head = holt->tail = 2 * room;
    holt->borrowers = 0;
    holt->order = memory_alloc(&holt->memory, count * sizeof *holt->order);
    holt->place = memory_alloc(&holt->memory, room * sizeof *holt->place);
    holt->marks = memory_zeroed(&holt->memory, bits_words(count) * sizeof *holt->marks);
    holt->at = memory_alloc(&holt->memory, count * sizeof *holt->at);
    if (!holt->order || !holt->place || !holt->marks || !holt->at)
        return false;
    memset(holt->place, 0xff, room * sizeof *holt->place); /* NONE */
    return true;
}

static gordian_status holt_prepare(void *engine, uint32_t process_limit, uint32_t resource_limit,
                                   uint64_t claims, gordian_error *error)
{
    struct holt *holt = engine;
    (void)claims;
    if (!search_reserve(&holt->search, process_limit, resource_limit))
        return fail_memory(error);
    if (process_limit <= holt->process_room)
        return GORDIAN_OK;
    uint32_t room = holt->search.process_room; /* the capacity has grown beyond the limit */
    if (room > PROCESSES_MAX)
        return fail(error, GORDIAN_STATUS_MEMORY,
                    "out of memory: the holt engine supports %u processes", PROCESSES_MAX);
    struct holt grown = *holt;
    if (!alloc_order(&grown, room)) {
        free_order(&grown);
        return fail_memory(error);
    }
    for (uint32_t k = holt->head; k < holt->tail; k++)
        if (holt->order[k] != NONE)
            append_order(&grown, holt->order[k]);
    free_order(holt);
    *holt = grown;
    return GORDIAN_OK;
}

static void holt_close(void *engine)
{
    struct holt *holt = engine;
    search_free(&holt->search);
    free_order(holt);
    memory_free(&holt->memory, holt);
}

static gordian_status holt_open(void **engine, const struct ledger *ledger, gordian_error *error)
{
    struct holt *holt = memory_zeroed(&ledger->memory, sizeof *holt);
    if (!holt)
        return fail_memory(error);
    holt->memory = ledger->memory;
    holt->ledger = ledger;
    search_init(&holt->search, ledger);
    gordian_status status =
        holt_prepare(holt, ledger->process_limit, ledger->resource_limit, 0, error);
    if (status != GORDIAN_OK) {
        holt_close(holt);
        return status;
    }
    /* Take over a ledger in use. Only this search has no order to start from. */
    search_run(&holt->search, NULL, NULL, 0);
    for (uint32_t k = 0; k < holt->search.done_count; k++)
        append_order(holt, holt->search.done[k]);
    *engine = holt;
    return GORDIAN_OK;
}

/* ---- questions */

/* Case 3: returns whether what p needs after the change fits what is free. */
static bool needs_fit_free(const struct ledger *ledger, const struct ledger_change *change)
{
    const struct ledger_row *row = &ledger->rows[change->process];
    if (change->kind == CHANGE_LEND) {
        for (uint32_t k = 0; k < row->count; k++)
            if (row->claims[k].need > ledger->free[row->claims[k].resource])
                return false;
        return true;
    }
    for (size_t i = 0; i < change->count; i++) {
        const struct ledger_claim *old =
            ledger_find(ledger, change->process, change->wants[i].resource);
        uint64_t need = change->wants[i].units - (old ? old->held : 0);
        if (need > ledger->free[change->wants[i].resource])
            return false;
    }
    return true;
}

/* Returns whether the borrowers before the place `end` can spare this. Clears the marks again. */
static bool can_spare(struct holt *holt, const gordian_want *want, uint32_t end)
{
    const struct ledger_column *column = &holt->ledger->columns[want->resource];
    uint64_t work = holt->ledger->free[want->resource] - want->units;
    bool enough = true;
    /* Mark the places before `end` of the borrowers that claim the resource. */
    for (uint32_t k = 0; k < column->count; k++) {
        uint32_t place = holt->place[column->claimants[k].process];
        if (place < end) { /* false for NONE */
            bits_set(holt->marks, place);
            holt->at[place] = k;
        }
    }
    for (size_t w = holt->head / 64; w < bits_words(end); w++) {
        uint64_t word = holt->marks[w];
        holt->marks[w] = 0;
        for (; word && enough; word &= word - 1) {
            const struct ledger_claimant *claimant =
                &column->claimants[holt->at[w * 64 + (uint32_t)__builtin_ctzll(word)]];
            enough = claimant->need <= work;
            work += claimant->held;
        }
    }
    return enough;
}

/* Cases 4 and 6: returns whether all borrowers before p, or all if units are taken out, can spare
 * it.
 */
static bool all_can_spare(struct holt *holt, const struct ledger_change *change)
{
    uint32_t place = change->process == NONE ? NONE : holt->place[change->process];
    uint32_t end = place == NONE ? holt->tail : place;
    for (size_t i = 0; i < change->count; i++)
        if (!can_spare(holt, &change->wants[i], end))
            return false;
    return true;
}

/* Case 4: returns whether p, in its place, finds what it needs with its new claims. */
static bool finds_enough(const struct holt *holt, const struct ledger_change *change)
{
    const struct ledger *ledger = holt->ledger;
    uint32_t end = holt->place[change->process];
    if (end == NONE) /* no borrower: it can always finish last */
        return true;
    for (size_t i = 0; i < change->count; i++) {
        uint32_t resource = change->wants[i].resource;
        const struct ledger_claim *old = ledger_find(ledger, change->process, resource);
        const struct ledger_column *column = &ledger->columns[resource];
        if (old && change->wants[i].units <= old->need + old->held)
            continue; /* not more than before, when it found enough */
        uint64_t need = change->wants[i].units - (old ? old->held : 0);
        uint64_t work = ledger->free[resource];
        for (uint32_t k = 0; k < column->count && work < need; k++)
            if (holt->place[column->claimants[k].process] < end)
                work += column->claimants[k].held;
        if (work < need)
            return false;
    }
    return true;
}

static bool holt_safe(void *engine, const struct ledger_change *change)
{
    struct holt *holt = engine;
    holt->plan = HOLT_KEEP;
    if (change->kind == CHANGE_CLAIMS && finds_enough(holt, change))
        return true;
    holt->plan = HOLT_TO_FRONT;
    if (change->kind != CHANGE_TAKE && needs_fit_free(holt->ledger, change))
        return true;
    holt->plan = HOLT_KEEP;
    if (change->kind != CHANGE_CLAIMS && all_can_spare(holt, change))
        return true;
    holt->plan = HOLT_AS_SEARCHED;
    return search_run(&holt->search, change, holt->order + holt->head, holt->tail - holt->head);
}

/* ---- hooks */

static void holt_took(void *engine, const struct ledger_change *change)
{
    struct holt *holt = engine;
    uint32_t process = change->process;
    if (holt->plan == HOLT_TO_FRONT)
        move_to_front(holt, &process, 1);
    else if (holt->plan == HOLT_AS_SEARCHED)
        move_to_front(holt, holt->search.done, holt->search.done_count);
    else if (change->kind == CHANGE_LEND && holt->place[process] == NONE)
        append_order(holt, process);
    if (process != NONE)
        search_forget(&holt->search, process);
}

static void holt_returned(void *engine, uint32_t process, const gordian_want *wants, size_t count)
{
    struct holt *holt = engine;
    (void)wants, (void)count;
    if (holt->ledger->rows[process].holding == 0)
        leave_order(holt, process);
    search_forget(&holt->search, process);
}

static void holt_joined(void *engine, uint32_t process)
{
    struct holt *holt = engine;
    search_forget(&holt->search, process);
}

static void holt_sequence(void *engine, uint32_t *processes)
{
    struct holt *holt = engine;
    for (uint32_t k = holt->head; k < holt->tail; k++)
        if (holt->order[k] != NONE)
            *processes++ = holt->order[k];
    for (uint32_t i = 0; i < holt->ledger->process_limit; i++)
        if (ledger_is_process(holt->ledger, i) && holt->place[i] == NONE)
            *processes++ = i;
}

const struct avoid_engine avoid_holt = {
    .about =
        {
            .name = "holt",
            .summary = "keeps a safe order, and searches for another when it no longer holds",
        },
    .open = holt_open,
    .close = holt_close,
    .prepare = holt_prepare,
    .joined = holt_joined,
    .leaves = leave_order,
    .returned = holt_returned,
    .took = holt_took,
    .safe = holt_safe,
    .sequence = holt_sequence,
};

/* Queries, and the texts for verdicts and reasons. */
#include "engines/avoid/bank.h"

#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

const char *gordian_bank_engine_name(const gordian_bank *bank)
{
    return bank->engine->about.name; /* never changes: no lock */
}

const char *gordian_bank_engine_note(gordian_bank *bank, char *buffer, size_t size)
{
    BANK_SCOPE(bank);
    const char *note = bank->engine->note ? bank->engine->note(bank->state) : NULL;
    snprintf(buffer, size, "%s", note ? note : "");
    return buffer;
}

size_t gordian_bank_sequence(gordian_bank *bank, uint32_t *processes, size_t room)
{
    BANK_SCOPE(bank);
    size_t count = bank->ledger.process_count;
    if (room >= count) {
        bank->engine->sequence(bank->state, processes);
    } else if (room > 0) { /* the engine writes all of them: use memory of that size */
        bank->engine->sequence(bank->state, bank->search.done);
        memcpy(processes, bank->search.done, room * sizeof *processes);
    }
    return count;
}

/* Taking units out is safe up to some number and not beyond: the fewer are taken, the more is left
 * for all processes. So a binary search finds the number. */
gordian_status gordian_bank_slack(gordian_bank *bank, uint32_t resource, uint64_t *units,
                                  gordian_error *error)
{
    const struct ledger *ledger = &bank->ledger;
    BANK_SCOPE(bank);
    if (!ledger_is_resource(ledger, resource))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %u", resource);
    uint64_t spare = ledger->total[resource] - ledger_largest_claim(ledger, resource);
    uint64_t low = 0;
    uint64_t high = spare < ledger->free[resource] ? spare : ledger->free[resource];
    for (uint64_t guess = high; low < high; guess = low + (high - low) / 2 + 1) {
        gordian_want want = {.units = guess, .resource = resource};
        struct ledger_change change = {CHANGE_TAKE, NONE, &want, 1};
        if (bank->engine->safe(bank->state, &change))
            low = guess;
        else
            high = guess - 1;
    }
    *units = low;
    return GORDIAN_OK;
}

/* ---- names and numbers */

uint32_t gordian_bank_find_process(gordian_bank *bank, const char *name, size_t length)
{
    BANK_SCOPE(bank);
    return names_find(&bank->ledger.process_names, name, length);
}

uint32_t gordian_bank_find_resource(gordian_bank *bank, const char *name, size_t length)
{
    BANK_SCOPE(bank);
    return names_find(&bank->ledger.resource_names, name, length);
}

static const char *copy_name(const struct names *names, uint32_t id, char *buffer)
{
    snprintf(buffer, GORDIAN_NAME_MAX + 1, "%s", names_text(names, id));
    return buffer;
}

const char *gordian_bank_process_name(gordian_bank *bank, uint32_t process, char *buffer)
{
    BANK_SCOPE(bank);
    return ledger_is_process(&bank->ledger, process)
               ? copy_name(&bank->ledger.process_names, process, buffer)
               : NULL;
}

const char *gordian_bank_resource_name(gordian_bank *bank, uint32_t resource, char *buffer)
{
    BANK_SCOPE(bank);
    return ledger_is_resource(&bank->ledger, resource)
               ? copy_name(&bank->ledger.resource_names, resource, buffer)
               : NULL;
}

uint32_t gordian_bank_process_limit(gordian_bank *bank)
{
    BANK_SCOPE(bank);
    return bank->ledger.process_limit;
}

uint32_t gordian_bank_resource_limit(gordian_bank *bank)
{
    BANK_SCOPE(bank);
    return bank->ledger.resource_limit;
}

uint64_t gordian_bank_units(gordian_bank *bank, uint32_t resource)
{
    BANK_SCOPE(bank);
    return ledger_is_resource(&bank->ledger, resource) ? bank->ledger.total[resource] : 0;
}

uint64_t gordian_bank_free_units(gordian_bank *bank, uint32_t resource)
{
    BANK_SCOPE(bank);
    return ledger_is_resource(&bank->ledger, resource) ? bank->ledger.free[resource] : 0;
}

/* Returns the claim of a process on a resource: all zero if there is none. */
static struct ledger_claim claim_of(gordian_bank *bank, uint32_t process, uint32_t resource)
{
    BANK_SCOPE(bank);
    const struct ledger_claim *found = ledger_is_process(&bank->ledger, process)
                                           ? ledger_find(&bank->ledger, process, resource)
                                           : NULL;
    return found ? *found : (struct ledger_claim){0};
}

uint64_t gordian_bank_claim(gordian_bank *bank, uint32_t process, uint32_t resource)
{
    struct ledger_claim claim = claim_of(bank, process, resource);
    return claim.need + claim.held;
}

uint64_t gordian_bank_held(gordian_bank *bank, uint32_t process, uint32_t resource)
{
    return claim_of(bank, process, resource).held;
}

bool gordian_bank_is_waiting(gordian_bank *bank, uint32_t process)
{
    BANK_SCOPE(bank);
    return ledger_is_process(&bank->ledger, process) && bank->processes[process].waits;
}

/* ---- edges */

/* Edges being listed. They are only counted when the capacity is used up. */
struct edge_list {
    gordian_edge *edges;
    size_t room, count;
};

static void list_edge(struct edge_list *list, uint64_t units, uint32_t process, uint32_t resource,
                      bool waits)
{
    if (units > 0 && list->count++ < list->room)
        list->edges[list->count - 1] = (gordian_edge){units, process, resource, waits};
}

/* Lists what a waiting process has requested, of one resource or (NONE) of all. */
static void list_wants(const gordian_bank *bank, struct edge_list *list, uint32_t process,
                       uint32_t resource)
{
    const struct bank_process *record = &bank->processes[process];
    for (size_t i = 0; record->waits && i < record->count; i++)
        if (resource == NONE || record->wants[i].resource == resource)
            list_edge(list, record->wants[i].units, process, record->wants[i].resource, true);
}

size_t gordian_bank_holdings(gordian_bank *bank, uint32_t process, gordian_edge *edges, size_t room)
{
    struct edge_list list = {edges, room, 0};
    BANK_SCOPE(bank);
    if (ledger_is_process(&bank->ledger, process)) {
        const struct ledger_row *row = &bank->ledger.rows[process];
        for (uint32_t i = 0; i < row->count; i++)
            list_edge(&list, row->claims[i].held, process, row->claims[i].resource, false);
    }
    return list.count;
}

size_t gordian_bank_pending(gordian_bank *bank, uint32_t process, gordian_edge *edges, size_t room)
{
    struct edge_list list = {edges, room, 0};
    BANK_SCOPE(bank);
    if (ledger_is_process(&bank->ledger, process))
        list_wants(bank, &list, process, NONE);
    return list.count;
}

size_t gordian_bank_holders(gordian_bank *bank, uint32_t resource, gordian_edge *edges, size_t room)
{
    struct edge_list list = {edges, room, 0};
    BANK_SCOPE(bank);
    if (ledger_is_resource(&bank->ledger, resource)) {
        const struct ledger_column *column = &bank->ledger.columns[resource];
        for (uint32_t i = 0; i < column->count; i++)
            list_edge(&list, column->claimants[i].held, column->claimants[i].process, resource,
                      false);
    }
    return list.count;
}

size_t gordian_bank_waiters(gordian_bank *bank, uint32_t resource, gordian_edge *edges, size_t room)
{
    struct edge_list list = {edges, room, 0};
    BANK_SCOPE(bank);
    if (ledger_is_resource(&bank->ledger, resource))
        for (uint32_t p = bank->head; p != NONE; p = bank->processes[p].next)
            list_wants(bank, &list, p, resource);
    return list.count;
}

/* ---- texts */

const char *gordian_verdict_text(gordian_verdict verdict)
{
    static const char *const texts[] = {
        [GORDIAN_VERDICT_GRANTED] = "granted",         [GORDIAN_VERDICT_UNSAFE] = "unsafe",
        [GORDIAN_VERDICT_UNAVAILABLE] = "unavailable", [GORDIAN_VERDICT_RELEASED] = "released",
        [GORDIAN_VERDICT_CANCELLED] = "cancelled",     [GORDIAN_VERDICT_EXITED] = "exited",
        [GORDIAN_VERDICT_CHANGED] = "changed",         [GORDIAN_VERDICT_REFUSED] = "error",
    };
    size_t index = (size_t)verdict;
    return index < sizeof texts / sizeof *texts && texts[index] ? texts[index] : "unknown";
}

const char *gordian_reason_text(gordian_reason reason)
{
    static const char *const texts[] = {
        [GORDIAN_REASON_NONE] = "",
        [GORDIAN_REASON_UNKNOWN_PROCESS] = "there is no such process",
        [GORDIAN_REASON_UNKNOWN_RESOURCE] = "there is no such resource",
        [GORDIAN_REASON_NO_UNITS] = "requests nothing",
        [GORDIAN_REASON_OVER_CLAIM] = "more than its remaining claim",
        [GORDIAN_REASON_NEVER_FITS] = "a claim above the total can never be met",
        [GORDIAN_REASON_BELOW_HELD] = "conflicts with what it holds",
        [GORDIAN_REASON_IS_WAITING] = "it waits",
        [GORDIAN_REASON_NOT_WAITING] = "it waits for nothing",
        [GORDIAN_REASON_ON_TRIAL] = "its last grant is still on trial",
        [GORDIAN_REASON_NO_TRIAL] = "it has nothing on trial",
        [GORDIAN_REASON_TOO_MANY] = "too many units",
        [GORDIAN_REASON_OUT_OF_TURN] = "reserved for a request that has waited longer",
    };
    size_t index = (size_t)reason;
    return index < sizeof texts / sizeof *texts ? texts[index] : "unknown";
}

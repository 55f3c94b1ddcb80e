/*
 * Those who wait, and who may be served past whom.
 *
 * The rule. Requests wait in order of arrival. After everything that may help one of them (units
 * come back, a claim or the queue gets smaller, a total larger) the queue is gone through once in
 * that order, and whoever can be served is: its request fits what is free, and the engine finds it
 * safe. One pass is enough: lending to one never helps another. So a request may be served past the
 * *head*, the one that has waited longest, from behind it in the queue or the moment it is made.
 * The bank counts how often. When the head has been passed `patience` times it is *due*: until it
 * is served itself, only processes that hold something are served past it; whoever holds nothing
 * waits, whatever is free.
 *
 * It would be wrong to stop the others as well: the head may be waiting for just what one of them
 * holds, and that one for just a little more, which would be a deadlock made by fairness.
 *
 * Nobody waits for ever, provided that every process that is not made to wait takes its next step
 * in finite time, and after finitely many steps has given everything back (what the banker's
 * algorithm supposes anyhow). Let a be the head and due, H the processes other than a that hold
 * something. Nobody comes into H: to hold something takes a loan, which whoever holds nothing does
 * not get. Take a safe order and strike out everybody but H and a: it is still a safe one, as those
 * struck out hold nothing that others could find. Let i be its first: need_i <= free, so whatever
 * i asks for is lent at once. If i is a, its request is served in the next pass, the latest.
 * Otherwise i is in H and does not wait. So as long as a waits, somebody in H runs; each step of
 * one in H either is done, of which there are finitely many in all until H is empty, or begins a
 * wait, which at most all but one of H can do without a step being done. So H becomes empty, or a
 * is served before. If H is empty, all that a does not hold is free, a claim never exceeds a total,
 * and a is served. Hence every head is served, or goes; and whoever waits has finitely many before
 * it, so it becomes the head.
 */
#include "engines/avoid/bank.h"

bool queue_reserve(gordian_bank *bank, uint32_t process)
{
    struct bank_process *record = &bank->processes[process];
    const gordian_allocator *memory = &bank->ledger.memory;
    /* Serving everybody must not fail for lack of room to say so. */
    return memory_grow(memory, &bank->served, &bank->served_room, (size_t)bank->waiting + 1,
                       sizeof *bank->served) &&
           memory_grow(memory, &record->wants, &record->room, bank->want_count,
                       sizeof *record->wants);
}

void queue_join(gordian_bank *bank, uint32_t process)
{
    struct bank_process *record = &bank->processes[process];
    for (size_t i = 0; i < bank->want_count; i++)
        record->wants[i] = bank->wants[i];
    record->count = bank->want_count;
    record->waits = true;
    record->next = NONE;
    record->prev = bank->tail;
    if (bank->tail == NONE) {
        bank->head = process;
        bank->passed = 0;
    } else {
        bank->processes[bank->tail].next = process;
    }
    bank->tail = process;
    bank->waiting++;
}

void queue_drop(gordian_bank *bank, uint32_t process, gordian_verdict verdict)
{
    struct bank_process *record = &bank->processes[process];
    if (record->prev == NONE) {
        bank->head = record->next;
        bank->passed = 0;
    } else {
        bank->processes[record->prev].next = record->next;
    }
    if (record->next == NONE)
        bank->tail = record->prev;
    else
        bank->processes[record->next].prev = record->prev;
    record->waits = false;
    bank->waiting--;
    if (record->sleeper) {
        record->sleeper->verdict = verdict;
        pthread_cond_signal(&record->sleeper->wake);
        record->sleeper = NULL;
    }
}

bool queue_refuses(const gordian_bank *bank, const struct ledger_change *change,
                   gordian_reason *reason)
{
    const struct ledger *ledger = &bank->ledger;
    *reason = GORDIAN_REASON_NONE;
    for (size_t i = 0; i < change->count; i++)
        if (change->wants[i].units > ledger->free[change->wants[i].resource])
            return true;
    /* Must it let the head of the queue go first? */
    if (bank->head == NONE || change->process == bank->head || bank->passed < bank->patience ||
        ledger->rows[change->process].holding != 0)
        return false;
    *reason = GORDIAN_REASON_OUT_OF_TURN;
    return true;
}

gordian_verdict queue_judge(gordian_bank *bank, const struct ledger_change *change,
                            gordian_reason *reason)
{
    if (queue_refuses(bank, change, reason))
        return GORDIAN_VERDICT_UNAVAILABLE;
    return bank->engine->safe(bank->state, change) ? GORDIAN_VERDICT_GRANTED
                                                   : GORDIAN_VERDICT_UNSAFE;
}

void queue_lend(gordian_bank *bank, const struct ledger_change *change)
{
    if (bank->head != NONE && change->process != bank->head && bank->passed < bank->patience)
        bank->passed++;
    ledger_lend(&bank->ledger, change->process, change->wants, change->count);
    BANK_HOOK(bank, took, change);
}

void queue_serve(gordian_bank *bank)
{
    for (uint32_t process = bank->head; process != NONE;) {
        struct bank_process *record = &bank->processes[process];
        uint32_t next = record->next;
        gordian_reason reason;
        struct ledger_change change = {CHANGE_LEND, process, record->wants, record->count};
        if (queue_judge(bank, &change, &reason) == GORDIAN_VERDICT_GRANTED) {
            queue_lend(bank, &change);
            queue_drop(bank, process, GORDIAN_VERDICT_GRANTED);
            bank->served[bank->served_count++] = process;
        }
        process = next;
    }
}

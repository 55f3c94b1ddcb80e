/*
 * The queue of waiting requests: the order of service, and a bound on overtaking.
 *
 * The rule. Requests wait in order of arrival. After every event that may help one of them (units
 * are released, a claim or the queue shrinks, a total grows) the queue is traversed once in that
 * order. A request is served if it fits the free units and the engine finds it safe. One pass is
 * enough, because lending to one process never helps another. So a request may be served past the
 * *head*, which has waited longest, either from behind it in the queue or immediately on arrival.
 * The bank counts how often this happens. When the head has been passed `patience` times it is
 * *due*: until it is served, only processes that hold something are served past it. A process that
 * holds nothing waits, whatever is free.
 *
 * Stopping the other processes as well would be wrong: the head may be waiting for what one of them
 * holds, and that one for a little more. Fairness would then cause a deadlock.
 *
 * No request waits forever. This assumes, like the banker's algorithm itself, that every process
 * that does not wait takes its next step in finite time, and has released everything after finitely
 * many steps. Let a be the head and due, H the processes other than a that hold something. No
 * process joins H: to hold something it needs a loan, and processes that hold nothing do not get
 * one. Take a safe order and remove all processes except H and a: it is still safe, because the
 * removed ones hold nothing that others could need. Let i be its first: need_i <= free, so whatever
 * i requests is lent at once. If i is a, its request is served in the next pass at the latest.
 * Otherwise i is in H and does not wait. So while a waits, a process in H runs. Each step of a
 * process in H either completes or begins a wait. Only finitely many steps complete until H is
 * empty. Before a step completes, at most all but one process of H can begin a wait. So H becomes
 * empty, unless a is served earlier. If H is empty, everything that a does not hold is free; a
 * claim never exceeds a total, so a is served. Hence every head is served or leaves, and every
 * waiting request has finitely many before it, so it becomes the head.
 */
#include "engines/avoid/bank.h"

bool queue_reserve(gordian_bank *bank, uint32_t process)
{
    struct bank_process *record = &bank->processes[process];
    const gordian_allocator *memory = &bank->ledger.memory;
    /* Serving must not fail for lack of memory to list those served. */
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
    /* Find out whether it must wait until the head has been served. */
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

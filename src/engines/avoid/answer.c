/* The lists of an answer. They belong to the answer: calls with other answers never touch them. */
#include "engines/avoid/bank.h"

struct gordian_answer_store {
    gordian_allocator memory;
    uint32_t *served, *sequence, *stuck;
    size_t served_room, sequence_room, stuck_room;
    gordian_lack *lacks;
    size_t lack_room;
};

void gordian_answer_init(gordian_answer *answer, gordian_detail detail)
{
    *answer = (gordian_answer){.detail = detail};
}

void gordian_answer_free(gordian_answer *answer)
{
    if (!answer || !answer->store)
        return;
    struct gordian_answer_store *store = answer->store;
    gordian_allocator memory = store->memory;
    memory_free_all(&memory, store->served, store->sequence, store->stuck, store->lacks, store);
    *answer = (gordian_answer){.detail = answer->detail};
}

void answer_begin(gordian_bank *bank, gordian_answer *answer)
{
    bank->served_count = 0;
    if (answer)
        *answer = (gordian_answer){.detail = answer->detail, .store = answer->store};
}

void answer_decline(gordian_answer *answer, struct objection objection)
{
    if (!answer)
        return;
    answer->verdict = GORDIAN_VERDICT_REFUSED;
    answer->reason = objection.reason;
    answer->at = objection.at;
}

/* Returns the answer's lists, or NULL if out of memory. */
static struct gordian_answer_store *store_of(gordian_bank *bank, gordian_answer *answer)
{
    if (!answer->store)
        answer->store = memory_zeroed(&bank->ledger.memory, sizeof *answer->store);
    if (answer->store && !answer->store->memory.resize)
        answer->store->memory = bank->ledger.memory;
    if (!answer->store)
        answer->incomplete = true;
    return answer->store;
}

static bool room_for(gordian_answer *answer, void *list, size_t *room, size_t count, size_t size)
{
    bool grown = memory_grow(&answer->store->memory, list, room, count, size);
    answer->incomplete = answer->incomplete || !grown;
    return grown;
}

void answer_served(gordian_bank *bank, gordian_answer *answer)
{
    if (!answer || bank->served_count == 0)
        return;
    struct gordian_answer_store *store = store_of(bank, answer);
    if (!store || !room_for(answer, &store->served, &store->served_room, bank->served_count,
                            sizeof *store->served))
        return;
    for (size_t i = 0; i < bank->served_count; i++)
        store->served[i] = bank->served[i];
    answer->served = store->served;
    answer->served_count = bank->served_count;
}

static void give_sequence(gordian_bank *bank, gordian_answer *answer)
{
    struct gordian_answer_store *store = answer->store;
    uint32_t count = bank->ledger.process_count;
    if (!room_for(answer, &store->sequence, &store->sequence_room, count, sizeof *store->sequence))
        return;
    bank->engine->sequence(bank->state, store->sequence);
    answer->sequence = store->sequence;
    answer->sequence_count = count;
}

/* Adds what a process lacks. Without memory the list ends there. */
static void list_lack(gordian_answer *answer, uint32_t process, uint32_t resource, uint64_t units)
{
    struct gordian_answer_store *store = answer->store;
    if (!room_for(answer, &store->lacks, &store->lack_room, answer->lack_count + 1,
                  sizeof *store->lacks))
        return;
    store->lacks[answer->lack_count++] =
        (gordian_lack){.units = units, .process = process, .resource = resource};
    answer->lacks = store->lacks;
}

/* Lists what a stuck process lacks after all others have finished. For the process of the change
 * the search has listed what it lacks at first. */
static void give_lacks(gordian_bank *bank, gordian_answer *answer, uint32_t process)
{
    const struct search *search = &bank->search;
    const struct ledger_row *row = &bank->ledger.rows[process];
    bool asks = process == search->goal;
    const struct ledger_claim *claims = asks ? search->wanted : row->claims;
    uint32_t count = asks ? search->wanted_count : row->count;
    for (uint32_t k = 0; k < count; k++)
        if (claims[k].need > search->work[claims[k].resource])
            list_lack(answer, process, claims[k].resource,
                      claims[k].need - search->work[claims[k].resource]);
}

static void give_stuck(gordian_bank *bank, gordian_answer *answer,
                       const struct ledger_change *change)
{
    struct gordian_answer_store *store = answer->store;
    const struct ledger *ledger = &bank->ledger;
    struct search *search = &bank->search;
    search_forget_all(search); /* it is not informed of changes */
    search_run(search, change, NULL, 0);
    search_rest(search);
    size_t count = ledger->process_count - search->done_count;
    if (!room_for(answer, &store->stuck, &store->stuck_room, count, sizeof *store->stuck))
        return;
    answer->stuck = store->stuck;
    for (uint32_t i = 0; i < ledger->process_limit; i++)
        if (ledger_is_process(ledger, i) && search_is_stuck(search, i)) {
            store->stuck[answer->stuck_count++] = i;
            give_lacks(bank, answer, i);
        }
}

void answer_give(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                 gordian_reason reason, const struct ledger_change *change)
{
    if (!answer)
        return;
    answer->verdict = verdict;
    answer->reason = reason;
    bool has_lists = verdict == GORDIAN_VERDICT_GRANTED || verdict == GORDIAN_VERDICT_UNAVAILABLE ||
                     verdict == GORDIAN_VERDICT_UNSAFE;
    if (!has_lists || answer->detail != GORDIAN_DETAIL_REASONS || !store_of(bank, answer))
        return;
    if (verdict == GORDIAN_VERDICT_GRANTED)
        give_sequence(bank, answer);
    else if (change && verdict == GORDIAN_VERDICT_UNAVAILABLE) {
        /* List what is not available now. */
        for (size_t i = 0; i < change->count; i++) {
            uint64_t available = bank->ledger.free[change->wants[i].resource];
            if (change->wants[i].units > available)
                list_lack(answer, change->process, change->wants[i].resource,
                          change->wants[i].units - available);
        }
    } else if (change && verdict == GORDIAN_VERDICT_UNSAFE)
        give_stuck(bank, answer, change);
}

void serve_and_answer(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                      const struct ledger_change *change)
{
    queue_serve(bank);
    answer_give(bank, answer, verdict, GORDIAN_REASON_NONE, change);
    answer_served(bank, answer);
}

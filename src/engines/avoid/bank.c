/* Banks: opening and closing, resources, processes and their claims (deadlock avoidance by the
 * banker's algorithm). */
#include "engines/avoid/bank.h"

#include "foundation/base/error.h"

#include <string.h>

void gordian_bank_options_init(gordian_bank_options *options)
{
    *options = (gordian_bank_options){.engine = "auto", .patience = 16};
}

/* ---- opening and closing */

static void free_bank(gordian_bank *bank)
{
    gordian_allocator memory = bank->ledger.memory;
    if (bank->state)
        bank->engine->close(bank->state);
    for (size_t i = 0; i < bank->process_room; i++)
        memory_free(&memory, bank->processes[i].wants);
    memory_free_all(&memory, bank->processes, bank->served, bank->wants, bank->sums);
    search_free(&bank->search);
    ledger_free(&bank->ledger);
    memory_free(&memory, bank);
}

gordian_status gordian_bank_open(gordian_bank **out, const gordian_bank_options *options,
                                 gordian_error *error)
{
    gordian_bank_options defaults;
    if (!options) {
        gordian_bank_options_init(&defaults);
        options = &defaults;
    }
    *out = NULL;
    const struct engine *chosen;
    TRY(engine_choose(&avoid_family, options->engine, NULL, &chosen, error));
    const struct avoid_engine *engine = (const struct avoid_engine *)chosen;
    gordian_allocator memory = memory_allocator(options->allocator);
    gordian_bank *bank = memory_zeroed(&memory, sizeof *bank);
    if (!bank)
        return fail_memory(error);
    ledger_init(&bank->ledger, &memory);
    search_init(&bank->search, &bank->ledger);
    bank->engine = engine;
    bank->queue = options->queue;
    bank->patience = options->patience;
    bank->head = bank->tail = NONE;
    gordian_status status = engine->open(&bank->state, &bank->ledger, error);
    if (status == GORDIAN_OK && pthread_mutex_init(&bank->lock, NULL) != 0)
        status = fail_memory(error);
    if (status != GORDIAN_OK) {
        free_bank(bank);
        return status;
    }
    *out = bank;
    return GORDIAN_OK;
}

void gordian_bank_close(gordian_bank *bank)
{
    if (!bank)
        return;
    pthread_mutex_destroy(&bank->lock);
    free_bank(bank);
}

/* ---- memory */

/* Reserves memory for ids below these limits, in the bank, the ledger and the engine. */
static gordian_status reserve_bank_ids(gordian_bank *bank, uint32_t processes, uint32_t resources,
                                       uint64_t claims, gordian_error *error)
{
    const gordian_allocator *memory = &bank->ledger.memory;
    if (processes > LEDGER_ID_MAX || resources > LEDGER_ID_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "at most %u processes and resources each",
                    LEDGER_ID_MAX);
    if (!ledger_reserve(&bank->ledger, processes, resources) ||
        !memory_grow_zeroed(memory, &bank->processes, &bank->process_room, processes,
                            sizeof *bank->processes) ||
        !memory_grow_zeroed(memory, &bank->sums, &bank->sum_room, resources, sizeof *bank->sums) ||
        !search_reserve(&bank->search, processes, resources))
        return fail_memory(error);
    if (!bank->engine->prepare)
        return GORDIAN_OK;
    return bank->engine->prepare(bank->state, processes, resources, claims, error);
}

gordian_status gordian_bank_reserve(gordian_bank *bank, uint32_t processes, uint32_t resources,
                                    gordian_error *error)
{
    BANK_SCOPE(bank);
    return reserve_bank_ids(bank, processes, resources, bank->ledger.claim_count, error);
}

static uint32_t limit_above(uint32_t limit, uint32_t id)
{
    return id < limit ? limit : id + 1;
}

/* ---- resources */

gordian_status gordian_bank_add_resource(gordian_bank *bank, const char *name, uint64_t units,
                                         uint32_t *id, gordian_error *error)
{
    struct ledger *ledger = &bank->ledger;
    size_t length = name ? strlen(name) : 0;
    BANK_SCOPE(bank);
    TRY(names_check(&ledger->resource_names, name, "resource", error));
    if (!ledger_reserve_resource(ledger, length))
        return fail_memory(error);
    TRY(reserve_bank_ids(bank, ledger->process_limit,
                         limit_above(ledger->resource_limit, ledger_next_resource(ledger)),
                         ledger->claim_count, error));
    uint32_t fresh = ledger_add_resource(ledger, name, length, units);
    BANK_HOOK(bank, resized, fresh);
    if (id)
        *id = fresh;
    return GORDIAN_OK;
}

gordian_status gordian_bank_remove_resource(gordian_bank *bank, uint32_t resource,
                                            gordian_error *error)
{
    struct ledger *ledger = &bank->ledger;
    BANK_SCOPE(bank);
    if (!ledger_is_resource(ledger, resource))
        return fail(error, GORDIAN_STATUS_INPUT, "there is no resource %u", resource);
    if (ledger->columns[resource].count > 0)
        return fail(error, GORDIAN_STATUS_INPUT, "resource '%s' is claimed",
                    names_text(&ledger->resource_names, resource));
    ledger_remove_resource(ledger, resource);
    BANK_HOOK(bank, resized, resource);
    return GORDIAN_OK;
}

gordian_status gordian_bank_set_units(gordian_bank *bank, uint32_t resource, uint64_t units,
                                      gordian_answer *answer, gordian_error *error)
{
    (void)error;
    struct ledger *ledger = &bank->ledger;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    if (!ledger_is_resource(ledger, resource)) {
        answer_decline(answer, (struct objection){GORDIAN_REASON_UNKNOWN_RESOURCE, 0});
        return GORDIAN_OK;
    }
    if (units >= ledger->total[resource]) {
        ledger_set_total(ledger, resource, units);
        BANK_HOOK(bank, resized, resource);
        serve_and_answer(bank, answer, GORDIAN_VERDICT_CHANGED, NULL);
        return GORDIAN_OK;
    }
    /* The units are taken out of the bank, as if they were lent forever. */
    const gordian_want taken = {.units = ledger->total[resource] - units, .resource = resource};
    const struct ledger_change change = {CHANGE_TAKE, NONE, &taken, 1};
    if (units < ledger_largest_claim(ledger, resource)) {
        answer_decline(answer, (struct objection){GORDIAN_REASON_NEVER_FITS, 0});
    } else if (taken.units > ledger->free[resource]) {
        answer_give(bank, answer, GORDIAN_VERDICT_UNAVAILABLE, GORDIAN_REASON_NONE, &change);
    } else if (!bank->engine->safe(bank->state, &change)) {
        answer_give(bank, answer, GORDIAN_VERDICT_UNSAFE, GORDIAN_REASON_NONE, &change);
    } else {
        ledger_set_total(ledger, resource, units);
        BANK_HOOK(bank, took, &change);
        answer_give(bank, answer, GORDIAN_VERDICT_CHANGED, GORDIAN_REASON_NONE, &change);
    }
    return GORDIAN_OK;
}

/* ---- processes */

gordian_status gordian_bank_add_process(gordian_bank *bank, const char *name,
                                        const gordian_want *claims, size_t count, uint32_t *id,
                                        gordian_answer *answer, gordian_error *error)
{
    struct ledger *ledger = &bank->ledger;
    struct objection objection = {GORDIAN_REASON_NONE, 0};
    uint32_t fresh = NONE;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(names_check(&ledger->process_names, name, "process", error));
    TRY(bank_take_wants(bank, NONE, claims, count, WANTS_TOTAL, &objection, error));
    if (objection.reason != GORDIAN_REASON_NONE) {
        answer_decline(answer, objection);
    } else {
        size_t length = name ? strlen(name) : 0;
        fresh = ledger_next_process(ledger);
        if (!ledger_reserve_process(ledger, length) ||
            !ledger_reserve_claims(ledger, fresh, bank->wants, bank->want_count))
            return fail_memory(error);
        TRY(reserve_bank_ids(bank, limit_above(ledger->process_limit, fresh),
                             ledger->resource_limit, ledger->claim_count + bank->want_count,
                             error));
        ledger_add_process(ledger, name, length);
        ledger_set_claims(ledger, fresh, bank->wants, bank->want_count);
        BANK_HOOK(bank, joined, fresh);
        answer_give(bank, answer, GORDIAN_VERDICT_CHANGED, GORDIAN_REASON_NONE, NULL);
    }
    if (id)
        *id = fresh;
    return GORDIAN_OK;
}

gordian_status gordian_bank_set_claims(gordian_bank *bank, uint32_t process,
                                       const gordian_want *claims, size_t count,
                                       gordian_answer *answer, gordian_error *error)
{
    struct objection objection;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(bank_take_wants_of(bank, process, claims, count, WANTS_TOTAL, &objection, error));
    if (objection.reason == GORDIAN_REASON_NONE)
        objection = bank_below_held(bank, process, claims, count);
    if (objection.reason == GORDIAN_REASON_NONE) {
        /* Give the process the claims in bank->wants. */
        struct ledger *ledger = &bank->ledger;
        struct ledger_change change = bank_change(bank, CHANGE_CLAIMS, process);
        if (!ledger_reserve_claims(ledger, process, change.wants, change.count))
            return fail_memory(error);
        TRY(reserve_bank_ids(bank, ledger->process_limit, ledger->resource_limit,
                             ledger->claim_count + change.count, error));
        if (!bank->engine->safe(bank->state, &change)) {
            answer_give(bank, answer, GORDIAN_VERDICT_UNSAFE, GORDIAN_REASON_NONE, &change);
            return GORDIAN_OK;
        }
        ledger_set_claims(ledger, process, change.wants, change.count);
        BANK_HOOK(bank, took, &change);
        /* Some of the claims may have become smaller. */
        serve_and_answer(bank, answer, GORDIAN_VERDICT_CHANGED, &change);
        return GORDIAN_OK;
    }
    answer_decline(answer, objection);
    return GORDIAN_OK;
}

gordian_status gordian_bank_exit(gordian_bank *bank, uint32_t process, gordian_answer *answer,
                                 gordian_error *error)
{
    (void)error;
    BANK_SCOPE(bank);
    struct bank_process *record = bank_begin_answer(bank, process, answer);
    if (record) {
        if (record->waits)
            queue_drop(bank, process, GORDIAN_VERDICT_CANCELLED);
        record->on_trial = false;
        BANK_HOOK(bank, leaves, process);
        ledger_remove_process(&bank->ledger, process);
        memory_free(&bank->ledger.memory, record->wants);
        *record = (struct bank_process){0};
        serve_and_answer(bank, answer, GORDIAN_VERDICT_EXITED, NULL);
    }
    return GORDIAN_OK;
}

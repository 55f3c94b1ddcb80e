/* Requests and releases. */
#include "engines/avoid/bank.h"

#include "foundation/base/clock.h"
#include "foundation/base/error.h"

#include <assert.h>
#include <errno.h>

/* The decision about a request. */
struct decision {
    struct objection objection;
    gordian_verdict verdict; /* GORDIAN_VERDICT_GRANTED: it has been lent */
    gordian_reason reason;
    struct ledger_change change;
};

/* Validates a request, reserves memory for it to wait or be on trial if it `may_stay`, decides it,
 * and lends what can be lent. */
static gordian_status decide_request(gordian_bank *bank, uint32_t process,
                                     const gordian_want *wants, size_t count, bool may_stay,
                                     struct decision *decision, gordian_error *error)
{
    gordian_status status =
        bank_take_wants_of(bank, process, wants, count, WANTS_NEED, &decision->objection, error);
    decision->verdict = GORDIAN_VERDICT_REFUSED;
    if (status != GORDIAN_OK || decision->objection.reason != GORDIAN_REASON_NONE)
        return status;
    if (may_stay && !queue_reserve(bank, process))
        return fail_memory(error);
    decision->change = bank_change(bank, CHANGE_LEND, process);
    decision->verdict = queue_judge(bank, &decision->change, &decision->reason);
    if (decision->verdict == GORDIAN_VERDICT_GRANTED)
        queue_lend(bank, &decision->change);
    return GORDIAN_OK;
}

static void answer_decision(gordian_bank *bank, gordian_answer *answer,
                            const struct decision *decision)
{
    if (decision->verdict == GORDIAN_VERDICT_REFUSED)
        answer_decline(answer, decision->objection);
    else
        answer_give(bank, answer, decision->verdict, decision->reason, &decision->change);
}

static bool is_denied(const struct decision *decision)
{
    return decision->verdict == GORDIAN_VERDICT_UNSAFE ||
           decision->verdict == GORDIAN_VERDICT_UNAVAILABLE;
}

gordian_status gordian_bank_request(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                    size_t count, gordian_answer *answer, gordian_error *error)
{
    struct decision decision;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(decide_request(bank, process, wants, count, bank->queue, &decision, error));
    answer_decision(bank, answer, &decision);
    if (bank->queue && is_denied(&decision)) {
        queue_join(bank, process);
        if (answer)
            answer->waits = true;
    }
    return GORDIAN_OK;
}

gordian_status gordian_bank_try(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                size_t count, gordian_answer *answer, gordian_error *error)
{
    struct decision decision;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(decide_request(bank, process, wants, count, true, &decision, error));
    answer_decision(bank, answer, &decision);
    if (decision.verdict == GORDIAN_VERDICT_GRANTED) {
        struct bank_process *record = &bank->processes[process];
        record->on_trial = true;
        record->count = bank->want_count;
        for (size_t i = 0; i < bank->want_count; i++)
            record->wants[i] = bank->wants[i];
    }
    return GORDIAN_OK;
}

gordian_status gordian_bank_commit(gordian_bank *bank, uint32_t process, gordian_answer *answer,
                                   gordian_error *error)
{
    (void)error;
    BANK_SCOPE(bank);
    struct bank_process *record = bank_begin_answer(bank, process, answer);
    if (record && !record->on_trial) {
        answer_decline(answer, (struct objection){GORDIAN_REASON_NO_TRIAL, 0});
    } else if (record) {
        record->on_trial = false;
        answer_give(bank, answer, GORDIAN_VERDICT_GRANTED, GORDIAN_REASON_NONE, NULL);
    }
    return GORDIAN_OK;
}

/* ---- releases */

static void return_to_bank(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                           size_t count)
{
    ledger_return(&bank->ledger, process, wants, count);
    BANK_HOOK(bank, returned, process, wants, count);
}

gordian_status gordian_bank_release(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                    size_t count, gordian_answer *answer, gordian_error *error)
{
    struct objection objection;
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(bank_take_wants_of(bank, process, wants, count, WANTS_HELD, &objection, error));
    if (objection.reason != GORDIAN_REASON_NONE) {
        answer_decline(answer, objection);
    } else {
        return_to_bank(bank, process, bank->wants, bank->want_count);
        serve_and_answer(bank, answer, GORDIAN_VERDICT_RELEASED, NULL);
    }
    return GORDIAN_OK;
}

gordian_status gordian_bank_cancel(gordian_bank *bank, uint32_t process, gordian_answer *answer,
                                   gordian_error *error)
{
    (void)error;
    BANK_SCOPE(bank);
    struct bank_process *record = bank_begin_answer(bank, process, answer);
    if (record && !record->waits && !record->on_trial) {
        answer_decline(answer, (struct objection){GORDIAN_REASON_NOT_WAITING, 0});
    } else if (record) {
        if (record->waits)
            queue_drop(bank, process, GORDIAN_VERDICT_CANCELLED);
        else
            return_to_bank(bank, process, record->wants, record->count);
        record->on_trial = false;
        serve_and_answer(bank, answer, GORDIAN_VERDICT_CANCELLED, NULL);
    }
    return GORDIAN_OK;
}

/* ---- sleeping */

static bool sleeper_init(struct sleeper *sleeper)
{
    pthread_condattr_t attributes;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool good = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&sleeper->wake, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    sleeper->verdict = 0;
    return good;
}

/* Waits in the queue and answers how the wait ended. */
static gordian_status wait_in_queue(gordian_bank *bank, uint32_t process, uint64_t start,
                                    uint64_t timeout_ns, gordian_answer *answer,
                                    gordian_error *error)
{
    struct sleeper sleeper;
    int cancelling;
    if (!sleeper_init(&sleeper))
        return fail_memory(error);
    /* No other thread may find this sleeper after its thread has ended. */
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancelling);
    queue_join(bank, process);
    bank->processes[process].sleeper = &sleeper;
    /* Sleep until there is a verdict; 0: timeout. The lock is released meanwhile. */
    uint64_t end = timeout_ns > UINT64_MAX - start ? UINT64_MAX : start + timeout_ns;
    struct timespec deadline = {.tv_sec = (time_t)(end / 1000000000),
                                .tv_nsec = (long)(end % 1000000000)};
    int code = 0;
    while (!sleeper.verdict && code != ETIMEDOUT)
        code = end == UINT64_MAX ? pthread_cond_wait(&sleeper.wake, &bank->lock)
                                 : pthread_cond_timedwait(&sleeper.wake, &bank->lock, &deadline);
    gordian_verdict verdict = sleeper.verdict;
    answer_begin(bank, answer); /* other threads have used the bank in between */
    if (verdict) {
        answer_give(bank, answer, verdict, GORDIAN_REASON_NONE, NULL);
    } else {
        struct bank_process *record = &bank->processes[process];
        struct ledger_change change = {CHANGE_LEND, process, record->wants, record->count};
        gordian_reason reason;
        record->sleeper = NULL;
        verdict = queue_judge(bank, &change, &reason);
        assert(verdict != GORDIAN_VERDICT_GRANTED); /* else it would have been served already */
        answer_give(bank, answer, verdict, reason, &change);
        queue_drop(bank, process, verdict);
        queue_serve(bank); /* it may have been the head */
        answer_served(bank, answer);
    }
    pthread_setcancelstate(cancelling, NULL);
    pthread_cond_destroy(&sleeper.wake);
    return GORDIAN_OK;
}

gordian_status gordian_bank_acquire(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                    size_t count, uint64_t timeout_ns, gordian_answer *answer,
                                    gordian_error *error)
{
    struct decision decision;
    if (!bank->queue)
        return fail(error, GORDIAN_STATUS_INPUT, "acquiring needs a bank with a queue");
    uint64_t start = timeout_ns == UINT64_MAX ? 0 : clock_ns();
    BANK_SCOPE(bank);
    answer_begin(bank, answer);
    TRY(decide_request(bank, process, wants, count, true, &decision, error));
    if (timeout_ns > 0 && is_denied(&decision))
        return wait_in_queue(bank, process, start, timeout_ns, answer, error);
    answer_decision(bank, answer, &decision);
    return GORDIAN_OK;
}

/* ---- what-if queries */

/* Requests that are decided together. */
struct bundle {
    struct ledger_change *changes; /* changes that the engine has to decide */
    size_t *whose;                 /* their indices among the requests */
    bool *safe;
    gordian_want *wants; /* of all of them */
    size_t change_count, want_count;
};

static bool bundle_alloc(const gordian_bank *bank, struct bundle *bundle,
                         const gordian_bank_request_item *requests, size_t count)
{
    const gordian_allocator *memory = &bank->ledger.memory;
    size_t wants = 0;
    for (size_t i = 0; i < count; i++)
        if (__builtin_add_overflow(wants, requests[i].count, &wants))
            return false;
    if (wants > SIZE_MAX / sizeof *bundle->wants || count > SIZE_MAX / sizeof *bundle->changes)
        return false;
    bundle->changes = memory_alloc(memory, count * sizeof *bundle->changes);
    bundle->whose = memory_alloc(memory, count * sizeof *bundle->whose);
    bundle->safe = memory_alloc(memory, count * sizeof *bundle->safe);
    bundle->wants = memory_alloc(memory, wants * sizeof *bundle->wants);
    return bundle->changes && bundle->whose && bundle->safe && bundle->wants;
}

/* Adds request number `whose`, whose wants are in bank->wants. */
static void bundle_add(const gordian_bank *bank, struct bundle *bundle, size_t whose,
                       uint32_t process)
{
    gordian_want *wants = bundle->wants + bundle->want_count;
    for (size_t k = 0; k < bank->want_count; k++)
        wants[k] = bank->wants[k];
    bundle->want_count += bank->want_count;
    bundle->whose[bundle->change_count] = whose;
    bundle->changes[bundle->change_count++] =
        (struct ledger_change){CHANGE_LEND, process, wants, bank->want_count};
}

/* Decides one after another. With a bundle, leaves to it what the engine has to decide. */
static gordian_status judge_each(gordian_bank *bank, const gordian_bank_request_item *requests,
                                 size_t count, gordian_verdict *verdicts, struct bundle *bundle,
                                 gordian_error *error)
{
    for (size_t i = 0; i < count; i++) {
        struct objection objection;
        gordian_reason reason;
        TRY(bank_take_wants_of(bank, requests[i].process, requests[i].wants, requests[i].count,
                               WANTS_NEED, &objection, error));
        struct ledger_change change = bank_change(bank, CHANGE_LEND, requests[i].process);
        if (objection.reason != GORDIAN_REASON_NONE)
            verdicts[i] = GORDIAN_VERDICT_REFUSED;
        else if (!bundle)
            verdicts[i] = queue_judge(bank, &change, &reason);
        else if (queue_refuses(bank, &change, &reason))
            verdicts[i] = GORDIAN_VERDICT_UNAVAILABLE;
        else
            bundle_add(bank, bundle, i, requests[i].process);
    }
    return GORDIAN_OK;
}

static gordian_status judge_together(gordian_bank *bank, const gordian_bank_request_item *requests,
                                     size_t count, gordian_verdict *verdicts, gordian_error *error)
{
    struct bundle bundle = {0};
    gordian_status status = bundle_alloc(bank, &bundle, requests, count)
                                ? judge_each(bank, requests, count, verdicts, &bundle, error)
                                : fail_memory(error);
    if (status == GORDIAN_OK && bundle.change_count > 0)
        status = bank->engine->safe_each(bank->state, bundle.changes, bundle.change_count,
                                         bundle.safe, error);
    for (size_t k = 0; status == GORDIAN_OK && k < bundle.change_count; k++)
        verdicts[bundle.whose[k]] =
            bundle.safe[k] ? GORDIAN_VERDICT_GRANTED : GORDIAN_VERDICT_UNSAFE;
    memory_free_all(&bank->ledger.memory, bundle.changes, bundle.whose, bundle.safe, bundle.wants);
    return status;
}

gordian_status gordian_bank_what_if(gordian_bank *bank, const gordian_bank_request_item *requests,
                                    size_t count, gordian_verdict *verdicts, gordian_error *error)
{
    BANK_SCOPE(bank);
    return bank->engine->safe_each && count > 1
               ? judge_together(bank, requests, count, verdicts, error)
               : judge_each(bank, requests, count, verdicts, NULL, error);
}

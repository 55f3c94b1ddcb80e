/*
 * A bank: a ledger, an engine beside it, and the queue of requests that wait, behind one lock.
 *
 * Locking. Every public function takes the lock, does all it has to do and lets go of it; nothing
 * is called back while it is held but the engine and the caller's allocator. Whoever sleeps in
 * gordian_bank_acquire does so on a condition of his own, and is woken by whoever serves, cancels
 * or ends his process. An answer is filled under the lock.
 *
 * A call first checks (wants.c), makes all the room it may need, decides, and only then changes
 * anything: bank.c has what comes and goes, loan.c requests and returns, queue.c those who wait,
 * answer.c the lists of an answer, question.c everything that only asks.
 */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "engines/avoid/engine/safety_algorithm.h"

#include <pthread.h>

/* Somebody who sleeps in gordian_bank_acquire. */
struct sleeper {
    pthread_cond_t wake;
    gordian_verdict verdict; /* 0: sleep on */
};

/* What the bank knows of a process beside the ledger. */
struct bank_process {
    gordian_want *wants; /* its waiting request, or its grant on trial; as in a change */
    size_t count, room;
    bool waits, on_trial;
    uint32_t next, prev; /* in the queue */
    struct sleeper *sleeper;
};

struct gordian_bank {
    pthread_mutex_t lock;
    struct ledger ledger;
    const struct avoid_engine *engine;
    void *state; /* the engine's */

    struct bank_process *processes; /* by id */
    size_t process_room;

    bool queue;
    uint32_t patience;
    uint32_t head, tail; /* of the queue */
    uint32_t waiting;
    uint32_t passed;  /* how often the head has been passed by others */
    uint32_t *served; /* by the current call, in order */
    size_t served_count, served_room;

    gordian_want *wants; /* of the current call, put in order */
    size_t want_count, want_room;
    uint64_t *sums; /* by resource: all zero between calls */
    size_t sum_room;

    struct search search; /* for the reasons of an answer */
};

/* ---- checking (wants.c) */

/* What the wants of a call are measured by. */
enum wants_limit {
    WANTS_NEED,  /* a request: what the process may still ask for */
    WANTS_HELD,  /* a return: what it holds */
    WANTS_TOTAL, /* claims: what there is of each resource; zero units are no claim */
};

/* Why a call is declined, and which of its wants is to blame. */
struct objection {
    gordian_reason reason;
    uint32_t at;
};

/* Puts the wants of a call in order and adds up: bank->wants. GORDIAN_STATUS_MEMORY, or an
 * objection. */
gordian_status bank_take_wants(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                               size_t count, enum wants_limit limit, struct objection *objection,
                               gordian_error *error);
/* The same for a process that must exist, not wait, and have nothing on trial. */
gordian_status bank_take_wants_of(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                  size_t count, enum wants_limit limit, struct objection *objection,
                                  gordian_error *error);
/* Is any of the new claims in bank->wants below what the process holds? `wants`: as they came. */
struct objection bank_below_held(const gordian_bank *bank, uint32_t process,
                                 const gordian_want *wants, size_t count);

/* ---- the queue (queue.c) */

/* Room for one more to wait with the wants of this call, or to have them on trial. */
bool queue_reserve(gordian_bank *bank, uint32_t process);
void queue_join(gordian_bank *bank, uint32_t process); /* with bank->wants */
/* Takes one out; whoever sleeps for it is told the verdict. */
void queue_drop(gordian_bank *bank, uint32_t process, gordian_verdict verdict);
/* Serves whoever can be served. */
void queue_serve(gordian_bank *bank);
/* GORDIAN_VERDICT_UNAVAILABLE without asking the engine? The reason: none, or
 * GORDIAN_REASON_OUT_OF_TURN. */
bool queue_refuses(const gordian_bank *bank, const struct ledger_change *change,
                   gordian_reason *reason);
/* GORDIAN_VERDICT_GRANTED: it can be lent (and the engine has been asked last about it). */
gordian_verdict queue_judge(gordian_bank *bank, const struct ledger_change *change,
                            gordian_reason *reason);
/* Lends what has just been judged. */
void queue_lend(gordian_bank *bank, const struct ledger_change *change);

/* ---- answers (answer.c): each takes NULL */

void answer_begin(gordian_bank *bank, gordian_answer *answer); /* under the lock */
void answer_decline(gordian_answer *answer, struct objection objection);
/* Sets verdict and reason, and gives the reasons for it: for GORDIAN_VERDICT_GRANTED the order in
 * which everybody can finish now, for GORDIAN_VERDICT_UNSAFE and GORDIAN_VERDICT_UNAVAILABLE what
 * this change would lack. */
void answer_give(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                 gordian_reason reason, const struct ledger_change *change);
void answer_served(gordian_bank *bank, gordian_answer *answer); /* who was, by this call */
/* Serves the queue, after something that may help it, then answers. */
void serve_and_answer(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                      const struct ledger_change *change);

/* ---- */

static inline struct ledger_change bank_change(const gordian_bank *bank,
                                               enum ledger_change_kind kind, uint32_t process)
{
    return (struct ledger_change){kind, process, bank->wants, bank->want_count};
}

/* Takes the lock, also of a bank that is only asked something. */
static inline void bank_lock(gordian_bank *bank)
{
    pthread_mutex_lock(&bank->lock);
}

static inline void bank_unlock(gordian_bank *bank)
{
    pthread_mutex_unlock(&bank->lock);
}

/* Runs a hook of the engine, if it has that one. */
#define BANK_HOOK(bank, hook, ...)                                                                 \
    do {                                                                                           \
        if ((bank)->engine->hook)                                                                  \
            (bank)->engine->hook((bank)->state, ##__VA_ARGS__);                                    \
    } while (0)

static inline void bank_unlock_scope(gordian_bank *const *bank)
{
    bank_unlock(*bank);
}

/* Takes the lock until the end of the block, on whatever path that is left. */
#define BANK_SCOPE(bank)                                                                           \
    gordian_bank *const locked_bank __attribute__((cleanup(bank_unlock_scope), unused)) =          \
        (bank_lock(bank), (bank))

/* Under the lock: begins an answer about a process: its record, or NULL if there is none, which
 * the answer says then. */
static inline struct bank_process *bank_begin_answer(gordian_bank *bank, uint32_t process,
                                                     gordian_answer *answer)
{
    answer_begin(bank, answer);
    if (ledger_is_process(&bank->ledger, process))
        return &bank->processes[process];
    answer_decline(answer, (struct objection){GORDIAN_REASON_UNKNOWN_PROCESS, 0});
    return NULL;
}

/*
 * A bank: a ledger, an engine, and the queue of waiting requests, behind one lock.
 *
 * Locking. Every public function takes the lock, does all its work and releases the lock. While it
 * is held only the engine and the caller's allocator are called. A thread that sleeps in
 * gordian_bank_acquire has a condition of its own; the thread that serves or cancels its request or
 * ends its process wakes it. An answer is filled under the lock.
 *
 * A call first validates its arguments (wants.c), reserves all memory it may need, decides, and
 * only then changes anything. bank.c has resources, processes and claims, loan.c requests and
 * releases, queue.c the waiting requests, answer.c the lists of an answer, query.c all queries.
 */
#pragma once

#include "engines/avoid/engine/engine.h"
#include "engines/avoid/engine/safety_algorithm.h"

#include <pthread.h>

/* A thread that sleeps in gordian_bank_acquire. */
struct sleeper {
    pthread_cond_t wake;
    gordian_verdict verdict; /* 0: sleep on */
};

/* Data of a process that the bank stores in addition to the ledger. */
struct bank_process {
    gordian_want *wants; /* its waiting request, or its grant on trial; sorted, as in a change */
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
    uint32_t passed;  /* how many requests have been served past the head */
    uint32_t *served; /* by the current call, in order */
    size_t served_count, served_room;

    gordian_want *wants; /* of the current call, sorted */
    size_t want_count, want_room;
    uint64_t *sums; /* by resource: all zero between calls */
    size_t sum_room;

    struct search search; /* for the reasons of an answer */
};

/* ---- validation (wants.c) */

/* The limit of the wants of a call. */
enum wants_limit {
    WANTS_NEED,  /* a request: what the process may still ask for */
    WANTS_HELD,  /* a return: what it holds */
    WANTS_TOTAL, /* claims: the total of each resource; zero units are no claim */
};

/* Why a call is refused, and which of its wants is at fault. */
struct objection {
    gordian_reason reason;
    uint32_t at;
};

/* Sorts and merges the wants of a call into bank->wants. Returns GORDIAN_STATUS_MEMORY, or an
 * objection. */
gordian_status bank_take_wants(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                               size_t count, enum wants_limit limit, struct objection *objection,
                               gordian_error *error);
/* Like bank_take_wants, for a process that must exist, must not wait, and must have no grant on
 * trial. */
gordian_status bank_take_wants_of(gordian_bank *bank, uint32_t process, const gordian_want *wants,
                                  size_t count, enum wants_limit limit, struct objection *objection,
                                  gordian_error *error);
/* Returns whether a new claim in bank->wants is below what the process holds. `wants`: the unsorted
 * claims. */
struct objection bank_below_held(const gordian_bank *bank, uint32_t process,
                                 const gordian_want *wants, size_t count);

/* ---- the queue (queue.c) */

/* Reserves memory for one more process to wait with the wants of this call, or to have them on
 * trial. */
bool queue_reserve(gordian_bank *bank, uint32_t process);
void queue_join(gordian_bank *bank, uint32_t process); /* with bank->wants */
/* Removes a request. The thread that sleeps for it gets the verdict. */
void queue_drop(gordian_bank *bank, uint32_t process, gordian_verdict verdict);
/* Serves all requests that can be served. */
void queue_serve(gordian_bank *bank);
/* Returns whether the verdict is GORDIAN_VERDICT_UNAVAILABLE without asking the engine. The reason
 * is none, or GORDIAN_REASON_OUT_OF_TURN. */
bool queue_refuses(const gordian_bank *bank, const struct ledger_change *change,
                   gordian_reason *reason);
/* GORDIAN_VERDICT_GRANTED: it can be lent, and the engine's last question was about it. */
gordian_verdict queue_judge(gordian_bank *bank, const struct ledger_change *change,
                            gordian_reason *reason);
/* Lends what has just been decided. */
void queue_lend(gordian_bank *bank, const struct ledger_change *change);

/* ---- answers (answer.c): each accepts NULL */

void answer_begin(gordian_bank *bank, gordian_answer *answer); /* under the lock */
void answer_decline(gordian_answer *answer, struct objection objection);
/* Sets verdict and reason, and their details: for GORDIAN_VERDICT_GRANTED an order in which all
 * processes can finish now, for GORDIAN_VERDICT_UNSAFE and GORDIAN_VERDICT_UNAVAILABLE what this
 * change would lack. */
void answer_give(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                 gordian_reason reason, const struct ledger_change *change);
void answer_served(gordian_bank *bank,
                   gordian_answer *answer); /* lists the processes that this call served */
/* After something that may help a waiting request: serves the queue, then answers. */
void serve_and_answer(gordian_bank *bank, gordian_answer *answer, gordian_verdict verdict,
                      const struct ledger_change *change);

/* ---- */

static inline struct ledger_change bank_change(const gordian_bank *bank,
                                               enum ledger_change_kind kind, uint32_t process)
{
    return (struct ledger_change){kind, process, bank->wants, bank->want_count};
}

/* Takes the lock, also for a query of a const bank. */
static inline void bank_lock(gordian_bank *bank)
{
    pthread_mutex_lock(&bank->lock);
}

static inline void bank_unlock(gordian_bank *bank)
{
    pthread_mutex_unlock(&bank->lock);
}

/* Calls a hook of the engine if there is one. */
#define BANK_HOOK(bank, hook, ...)                                                                 \
    do {                                                                                           \
        if ((bank)->engine->hook)                                                                  \
            (bank)->engine->hook((bank)->state, ##__VA_ARGS__);                                    \
    } while (0)

static inline void bank_unlock_scope(gordian_bank *const *bank)
{
    bank_unlock(*bank);
}

/* Takes the lock until the end of the block, on whatever path it is left. */
#define BANK_SCOPE(bank)                                                                           \
    gordian_bank *const locked_bank __attribute__((cleanup(bank_unlock_scope), unused)) =          \
        (bank_lock(bank), (bank))

/* Under the lock: begins an answer about a process. Returns its record, or NULL if there is none;
 * the answer then says so. */
static inline struct bank_process *bank_begin_answer(gordian_bank *bank, uint32_t process,
                                                     gordian_answer *answer)
{
    answer_begin(bank, answer);
    if (ledger_is_process(&bank->ledger, process))
        return &bank->processes[process];
    answer_decline(answer, (struct objection){GORDIAN_REASON_UNKNOWN_PROCESS, 0});
    return NULL;
}

/*
 * A lock manager, as in a database: transactions lock rows and keep them until they commit. They
 * may lock rows in any order. When transactions deadlock, the manager aborts one of them, which
 * starts again. Any number of threads may use the manager. Locking a free row takes only the lock
 * of the row. A transaction that has to wait sleeps in gordian_await_grant.
 *
 *     cc -pthread lock_manager.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/gordian.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define ROWS      6
#define TELLERS   8
#define TRANSFERS 400 /* of each teller */

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "lock_manager: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

/* ------------------------------------------------------------------ the manager */

struct manager {
    gordian_system *system;
    uint32_t rows[ROWS];
};

enum locked {
    LOCKED,  /* the transaction holds the row until it commits */
    ABORTED, /* the transaction was the victim of a deadlock and holds nothing */
    TOO_LATE /* the timeout expired: the transaction still holds its other rows */
};

static void manager_open(struct manager *manager)
{
    gordian_options options;
    gordian_error error;
    gordian_options_init(&options);
    options.shared = true; /* any number of threads at once */
    must(gordian_open(&manager->system, &options, &error), &error);
    for (int i = 0; i < ROWS; i++) {
        char name[16];
        snprintf(name, sizeof name, "row%d", i);
        must(gordian_add_resource(manager->system, name, 1, &manager->rows[i], &error), &error);
    }
}

/* A transaction is a process. Only one thread at a time may use it. */
static uint32_t manager_begin(struct manager *manager, const char *name)
{
    gordian_error error;
    uint32_t transaction;
    must(gordian_add_process(manager->system, name, &transaction, &error), &error);
    return transaction;
}

/* Releases all rows to the transactions that wait for them. */
static void manager_commit(struct manager *manager, uint32_t transaction)
{
    gordian_error error;
    must(gordian_exit(manager->system, transaction, NULL, &error), &error);
}

static void manager_end(struct manager *manager, uint32_t transaction)
{
    gordian_error error;
    must(gordian_remove_process(manager->system, transaction, &error), &error);
}

/* Aborts transactions until there is no deadlock. gordian_await_grant notifies the victims. */
static void break_deadlocks(struct manager *manager)
{
    gordian_victim victim;
    gordian_error error;
    gordian_status status;
    do
        status = gordian_recover_one(manager->system, GORDIAN_POLICY_FEWEST_HELD, &victim, &error);
    while (status == GORDIAN_OK);
    if (status != GORDIAN_STATUS_END)
        must(status, &error);
}

static enum locked manager_lock(struct manager *manager, uint32_t transaction, int row,
                                uint64_t timeout_ns)
{
    gordian_outcome outcome;
    gordian_error error;
    must(gordian_request(manager->system, transaction, manager->rows[row], 1, &outcome, &error),
         &error);
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        return LOCKED;
    if (outcome == GORDIAN_OUTCOME_DEADLOCK)
        break_deadlocks(manager); /* the victim may be this transaction */
    gordian_status status = gordian_await_grant(manager->system, transaction, timeout_ns, &error);
    if (status == GORDIAN_STATUS_END) { /* the timeout expired; a grant may still win the race */
        must(gordian_cancel(manager->system, transaction, &outcome, &error), &error);
        status = outcome == GORDIAN_OUTCOME_CANCELLED
                     ? GORDIAN_STATUS_CANCELLED
                     : gordian_await_grant(manager->system, transaction, 0, &error);
    }
    if (status == GORDIAN_STATUS_CANCELLED)
        return TOO_LATE;
    if (status == GORDIAN_STATUS_VICTIM)
        return ABORTED;
    must(status, &error);
    return LOCKED;
}

/* ------------------------------------------------------------------ demonstration */

static const char *word_for(enum locked locked)
{
    return locked == LOCKED ? "locked" : locked == ABORTED ? "aborted" : "too late";
}

struct other {
    struct manager *manager;
    uint32_t transaction;
    enum locked locked;
};

static void *lock_first_row(void *context)
{
    struct other *other = context;
    other->locked = manager_lock(other->manager, other->transaction, 0, UINT64_MAX);
    return NULL;
}

/* Two transactions lock two rows in opposite orders. The victim is the one that holds fewer rows,
 * or the later one if both hold the same number. */
static void show_a_deadlock(struct manager *manager)
{
    pthread_t thread;
    struct other bob = {.manager = manager};
    uint32_t ann = manager_begin(manager, "ann");
    bob.transaction = manager_begin(manager, "bob");
    printf("ann, row 0: %s\n", word_for(manager_lock(manager, ann, 0, UINT64_MAX)));
    printf("bob, row 1: %s\n", word_for(manager_lock(manager, bob.transaction, 1, UINT64_MAX)));
    printf("bob, row 0, for a millisecond: %s\n",
           word_for(manager_lock(manager, bob.transaction, 0, 1000000)));
    if (pthread_create(&thread, NULL, lock_first_row, &bob) != 0)
        exit(EXIT_FAILURE);
    while (!gordian_is_waiting(manager->system, bob.transaction))
        sched_yield(); /* so that ann always closes the cycle */
    printf("ann, row 1, while bob waits for row 0: %s\n",
           word_for(manager_lock(manager, ann, 1, UINT64_MAX)));
    pthread_join(thread, NULL);
    printf("bob, row 0: %s\n", word_for(bob.locked));
    manager_commit(manager, ann);
    manager_end(manager, ann);
    manager_end(manager, bob.transaction);
}

/* ------------------------------------------------------------------ work */

struct teller {
    pthread_t thread;
    struct manager *manager;
    long *balances; /* of the rows; each is protected by the lock of its row */
    unsigned seed;
    long aborted;
};

static int any_row(struct teller *teller)
{
    teller->seed = teller->seed * 1664525u + 1013904223u;
    return (int)((teller->seed >> 16) % ROWS);
}

/* Returns false if the transaction has to start again. */
static int transfer(struct teller *teller, uint32_t me, int from, int to)
{
    if (manager_lock(teller->manager, me, from, UINT64_MAX) != LOCKED)
        return 0;
    sched_yield(); /* lets other threads interfere */
    if (manager_lock(teller->manager, me, to, UINT64_MAX) != LOCKED)
        return 0;
    teller->balances[from]--;
    teller->balances[to]++;
    manager_commit(teller->manager, me);
    return 1;
}

static void *work(void *context)
{
    struct teller *teller = context;
    uint32_t me = manager_begin(teller->manager, NULL);
    for (int i = 0; i < TRANSFERS; i++) {
        int from = any_row(teller), to = (from + 1 + any_row(teller) % (ROWS - 1)) % ROWS;
        while (!transfer(teller, me, from, to))
            teller->aborted++;
    }
    manager_end(teller->manager, me);
    return NULL;
}

int main(void)
{
    struct manager manager;
    struct teller tellers[TELLERS];
    long balances[ROWS], sum = 0;
    manager_open(&manager);
    show_a_deadlock(&manager);

    for (int i = 0; i < ROWS; i++)
        balances[i] = 100;
    for (int i = 0; i < TELLERS; i++) {
        tellers[i] =
            (struct teller){.manager = &manager, .balances = balances, .seed = (unsigned)i * 7919u};
        if (pthread_create(&tellers[i].thread, NULL, work, &tellers[i]) != 0)
            return EXIT_FAILURE;
    }
    for (int i = 0; i < TELLERS; i++)
        pthread_join(tellers[i].thread, NULL);
    for (int i = 0; i < ROWS; i++)
        sum += balances[i];
    printf("\n%d tellers, %d transfers each, all done; %ld in all, as before\n", TELLERS, TRANSFERS,
           sum);
    gordian_close(manager.system);
    return EXIT_SUCCESS;
}

/* What must be reported as actual. */
#include "matrix.h"

#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;

/* Takes one, waits for the others, takes the next. */
struct step {
    pthread_mutex_t *first, *second;
};

static void *take(void *argument)
{
    struct step *step = argument;
    pthread_mutex_lock(step->first);
    settle();
    pthread_mutex_lock(step->second);
    return NULL;
}

static void abbcca(void)
{
    static struct step steps[] = {{&a, &b}, {&b, &c}, {&c, &a}};
    pthread_t threads[3];
    for (int i = 0; i < 3; i++)
        threads[i] = go(take, &steps[i]);
    for (int i = 0; i < 3; i++)
        finish(threads[i]);
}

#define RING 500

static void ring(void)
{
    static pthread_mutex_t locks[RING];
    static struct step steps[RING];
    pthread_t threads[RING];
    for (int i = 0; i < RING; i++) {
        pthread_mutex_init(&locks[i], NULL);
        steps[i] = (struct step){&locks[i], &locks[(i + 1) % RING]};
    }
    for (int i = 0; i < RING; i++)
        threads[i] = go(take, &steps[i]);
    for (int i = 0; i < RING; i++)
        finish(threads[i]);
}

/* Ten thousand locks held, then the wrong one. */
static void many(void)
{
    enum { MANY = 10000 };
    pthread_mutex_t *locks = calloc(MANY, sizeof *locks);
    for (int i = 0; i < MANY; i++)
        pthread_mutex_lock(&locks[i]);
    for (int i = 0; i < MANY; i += 2) /* first in, first out */
        pthread_mutex_unlock(&locks[i]);
    pthread_mutex_lock(&locks[MANY - 1]);
}

/* ------------------------------------------------------------------ read and write */

static pthread_rwlock_t x = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t y = PTHREAD_RWLOCK_INITIALIZER;

static void *read_x_write_y(void *unused)
{
    pthread_rwlock_rdlock(&x);
    settle();
    pthread_rwlock_wrlock(&y);
    return unused;
}

static void *read_y_write_x(void *unused)
{
    pthread_rwlock_rdlock(&y);
    settle();
    pthread_rwlock_wrlock(&x);
    return unused;
}

static void read_write(void)
{
    at_once(read_x_write_y, read_y_write_x);
}

static void *read_x_lock_a(void *unused)
{
    pthread_rwlock_rdlock(&x);
    settle();
    pthread_mutex_lock(&a);
    return unused;
}

static void *lock_a_write_x(void *unused)
{
    pthread_mutex_lock(&a);
    settle();
    settle();
    pthread_rwlock_wrlock(&x);
    return unused;
}

/* Two readers in front of a writer; one of them wants what the writer has. */
static void writer_behind_readers(void)
{
    pthread_t one = go(read_x_lock_a, NULL), two = go(read_x_lock_a, NULL);
    pthread_t three = go(lock_a_write_x, NULL);
    finish(one);
    finish(two);
    finish(three);
}

static pthread_rwlock_t queued;

static void *writer_waits(void *unused)
{
    pthread_rwlock_wrlock(&queued);
    return unused;
}

/* A writer waits between two reads of one thread, and readers must not overtake. */
static void reader_behind_writer(void)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&queued, &attributes);
    pthread_rwlock_rdlock(&queued);
    pthread_t writer = go(writer_waits, NULL);
    settle();
    pthread_rwlock_rdlock(&queued);
    pthread_rwlock_unlock(&queued);
    pthread_rwlock_unlock(&queued);
    finish(writer);
}

/* ------------------------------------------------------------------ the same lock twice */

static void twice(int type, int protocol, int robust)
{
    static pthread_mutex_t lock;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutex_init(&lock, &attributes);
    pthread_mutex_lock(&lock);
    pthread_mutex_lock(&lock);
}

static void twice_adaptive(void)
{
    twice(PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_STALLED);
}

static void twice_inherit(void)
{
    twice(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_INHERIT, PTHREAD_MUTEX_STALLED);
}

static void twice_robust(void)
{
    twice(PTHREAD_MUTEX_NORMAL, PTHREAD_PRIO_NONE, PTHREAD_MUTEX_ROBUST);
}

static void twice_spin(void)
{
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    pthread_spin_lock(&spin);
    pthread_spin_lock(&spin);
}

static void twice_semaphore(void)
{
    sem_t semaphore;
    sem_init(&semaphore, 0, 1);
    sem_wait(&semaphore);
    sem_wait(&semaphore);
}

/* ------------------------------------------------------------------ several units */

static sem_t pool, other_pool;

static void *take_units(void *argument)
{
    sem_t *first = argument ? &pool : &other_pool, *second = argument ? &other_pool : &pool;
    sem_wait(first);
    settle();
    sem_wait(second);
    return NULL;
}

/* Two of each, four threads: every unit is held by one who waits. */
static void knot(void)
{
    pthread_t threads[4];
    sem_init(&pool, 0, 2);
    sem_init(&other_pool, 0, 2);
    for (intptr_t i = 0; i < 4; i++)
        threads[i] = go(take_units, (void *)(i % 2));
    for (int i = 0; i < 4; i++)
        finish(threads[i]);
}

/* While these two fell asleep the first thread ran, and might have posted. */
static void knot_then_join(void)
{
    sem_init(&pool, 0, 1);
    sem_init(&other_pool, 0, 1);
    pthread_t one = go(take_units, (void *)1), two = go(take_units, NULL);
    settle(); /* with them, */
    settle(); /* and then without them */
    finish(one);
    finish(two);
}

/* ------------------------------------------------------------------ joins, barriers, conditions */

static pthread_t round_robin[3];

static void *join_next(void *argument)
{
    settle();
    pthread_join(round_robin[((intptr_t)argument + 1) % 3], NULL);
    return NULL;
}

static void join_cycle(void)
{
    for (intptr_t i = 0; i < 3; i++)
        round_robin[i] = go(join_next, (void *)i);
    for (;;)
        pause();
}

static pthread_barrier_t barrier;

static void *arrive(void *unused)
{
    pthread_barrier_wait(&barrier);
    return unused;
}

static void barrier_short(void)
{
    pthread_barrier_init(&barrier, NULL, 3);
    at_once(arrive, arrive);
}

static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *wait_for_signal(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_cond_wait(&condition, &a);
    pthread_mutex_unlock(&a);
    return unused;
}

static void nobody_signals(void)
{
    at_once(wait_for_signal, wait_for_signal);
}

static void *leave_without_a_word(void *unused)
{
    settle();
    return unused;
}

/* Nobody blocks at the moment it becomes hopeless: somebody ends. */
static void last_one_leaves(void)
{
    pthread_t waiter = go(wait_for_signal, NULL);
    pthread_detach(go(leave_without_a_word, NULL));
    finish(waiter);
}

/* The mutex a condition wait takes back is part of it: the signaller keeps it and wants the
 * waiter's other lock, while others run. */
static void *waiter_retakes(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_mutex_lock(&a);
    pthread_cond_wait(&condition, &a);
    return unused;
}

static void *signaller_keeps(void *unused)
{
    settle();
    pthread_mutex_lock(&a);
    pthread_cond_signal(&condition);
    pthread_mutex_lock(&b);
    return unused;
}

static void condition_retakes(void)
{
    go(waiter_retakes, NULL);
    go(signaller_keeps, NULL);
    for (;;)
        pause();
}

const struct matrix_case matrix_deadlocks[] = {
    {"abbcca", "deadlock", abbcca},
    {"ring-500", "deadlock", ring},
    {"ten-thousand-held", "deadlock", many},
    {"read-write", "deadlock", read_write},
    {"writer-behind-readers", "deadlock", writer_behind_readers},
    {"reader-behind-writer", "deadlock", reader_behind_writer},
    {"twice-adaptive", "deadlock", twice_adaptive},
    {"twice-inherit", "deadlock", twice_inherit},
    {"twice-robust", "deadlock", twice_robust},
    {"twice-spin", "deadlock", twice_spin},
    {"twice-semaphore", "deadlock", twice_semaphore},
    {"semaphore-knot", "deadlock", knot},
    {"semaphore-knot-then-join", "deadlock", knot_then_join},
    {"join-cycle", "deadlock", join_cycle},
    {"barrier-short", "deadlock", barrier_short},
    {"nobody-signals", "deadlock", nobody_signals},
    {"last-one-leaves", "deadlock", last_one_leaves},
    {"condition-retakes", "deadlock", condition_retakes},
    {NULL, NULL, NULL},
};

/* ------------------------------------------------------------------ owners that are gone */

static void *end_holding(void *argument)
{
    pthread_mutex_lock(argument);
    return NULL;
}

static void *wait_for_a(void *unused)
{
    pthread_mutex_lock(&a);
    return unused;
}

static void *hold_and_end_later(void *unused)
{
    pthread_mutex_lock(&a);
    settle();
    settle();
    return unused;
}

/* Somebody waits already when the owner ends. */
static void gone_while_waited_for(void)
{
    pthread_t owner = go(hold_and_end_later, NULL);
    settle();
    pthread_t waiter = go(wait_for_a, NULL);
    finish(owner);
    finish(waiter);
}

static void *cancelled(void *unused)
{
    pthread_mutex_lock(&a);
    for (;;)
        pause();
    return unused;
}

static void gone_by_cancellation(void)
{
    pthread_t owner = go(cancelled, NULL);
    settle();
    pthread_cancel(owner);
    finish(owner);
    pthread_mutex_lock(&a);
}

static void *end_reading(void *unused)
{
    pthread_rwlock_rdlock(&x);
    return unused;
}

static void gone_reader(void)
{
    finish(go(end_reading, NULL));
    pthread_rwlock_wrlock(&x);
}

static pthread_spinlock_t spin;

static void *end_spinning(void *unused)
{
    pthread_spin_lock(&spin);
    return unused;
}

static void gone_spin(void)
{
    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    finish(go(end_spinning, NULL));
    pthread_spin_lock(&spin);
}

/* Another thread of the parent held it when the process forked. */
static void gone_by_fork(void)
{
    go(cancelled, NULL);
    settle();
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_lock(&a);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : 99);
}

static void gone_owner(void)
{
    finish(go(end_holding, &a));
    pthread_mutex_lock(&a);
}

const struct matrix_case matrix_gone[] = {
    {"gone-owner", "gone", gone_owner},
    {"gone-while-waited-for", "gone", gone_while_waited_for},
    {"gone-by-cancellation", "gone", gone_by_cancellation},
    {"gone-reader", "gone", gone_reader},
    {"gone-spin", "gone", gone_spin},
    {"gone-by-fork", "gone", gone_by_fork},
    {NULL, NULL, NULL},
};

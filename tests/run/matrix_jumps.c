/* Jumps by longjmp() and siglongjmp(). Those of signal handlers end waits; others do not. And
 * unlocks by signal handlers, which end waits, too. */
#include "matrix.h"

#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static sem_t taken;

static void block_usr1(void)
{
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
}

static void *signal_settled(void *thread)
{
    block_usr1();
    settle();
    pthread_kill(*(pthread_t *)thread, SIGUSR1);
    return NULL;
}

/* ------------------------------------------------------------------ out of a wait */

static sigjmp_buf back;
static volatile sig_atomic_t may_jump;

static void jump_back(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(back, 1);
}

static void *lock_crosswise(void *unused)
{
    block_usr1();
    pthread_mutex_lock(&b);
    sem_post(&taken);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_mutex_unlock(&b);
    return unused;
}

static __attribute__((noinline)) void lock_until_jump(void)
{
    if (sigsetjmp(back, 1) == 0) {
        may_jump = 1;
        pthread_mutex_lock(&b);
    }
    may_jump = 0;
    pthread_mutex_unlock(&a);
}

/* Waits in a cycle until SIGUSR1 comes, from a thread of its own or from outside. `lock_b` is left
 * without a. */
static void wait_in_cycle(void (*lock_b)(void), bool from_outside)
{
    pthread_t waiter = pthread_self(), sender = 0;
    pthread_mutex_lock(&a);
    pthread_t other = go(lock_crosswise, NULL);
    while (sem_wait(&taken) != 0)
        ;
    if (!from_outside)
        sender = go(signal_settled, &waiter);
    lock_b();
    finish(other);
    if (!from_outside)
        finish(sender);
}

/* The handler was seen to end such waits before it is judged. */
static void act_in_cycle(void (*act)(int), void (*lock_b)(void))
{
    sem_init(&taken, 0, 0);
    signal(SIGUSR1, act);
    for (int i = 0; i < 3; i++)
        wait_in_cycle(lock_b, false);
    wait_in_cycle(lock_b, true);
}

static void jumps_from_cycle(void)
{
    act_in_cycle(jump_back, lock_until_jump);
}

/* ------------------------------------------------------------------ unlocks in a wait */

static volatile sig_atomic_t may_unlock;

static void unlock_a(int number)
{
    (void)number;
    if (may_unlock)
        pthread_mutex_unlock(&a);
    may_unlock = 0;
}

static void lock_until_unlock(void)
{
    may_unlock = 1;
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
}

static void unlocks_in_cycle(void)
{
    act_in_cycle(unlock_a, lock_until_unlock);
}

/* ------------------------------------------------------------------ elsewhere */

static void jump_within(int number)
{
    jmp_buf here;
    (void)number;
    if (setjmp(here) == 0)
        longjmp(here, 1);
}

/* Holds b while a handler interrupts the thread that waits for it. */
static void *hold_b(void *waiter)
{
    block_usr1();
    pthread_mutex_lock(&b);
    sem_post(&taken);
    signal_settled(waiter);
    pthread_mutex_unlock(&b);
    return NULL;
}

static void jump_in_handler(void)
{
    pthread_t waiter = pthread_self();
    sem_init(&taken, 0, 0);
    signal(SIGUSR1, jump_within);
    pthread_t holder = go(hold_b, &waiter);
    while (sem_wait(&taken) != 0)
        ;
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    finish(holder);
}

static void jump_for_error(void)
{
    static jmp_buf after;
    if (setjmp(after) == 0) {
        nest(&a, &b);
        longjmp(after, 1);
    }
}

static void leave_program(int number)
{
    (void)number;
    _exit(0);
}

static void *nest_ab(void *unused)
{
    jump_for_error();
    pthread_mutex_lock(&a);
    settle();
    pthread_mutex_lock(&b);
    return unused;
}

static void *nest_ba(void *unused)
{
    pthread_mutex_lock(&b);
    settle();
    pthread_mutex_lock(&a);
    return unused;
}

/* A jump for an error, and one within a handler, leave no wait: the deadlock stays proved. */
static void jumps_elsewhere(void)
{
    jump_for_error();
    jump_in_handler();
    signal(SIGUSR1, leave_program);
    at_once(nest_ab, nest_ba);
}

const struct matrix_case matrix_jumps[] = {
    {"likely-jumps-from-cycle", "likely", jumps_from_cycle},
    {"likely-unlocks-in-cycle", "likely", unlocks_in_cycle},
    {"jumps-elsewhere", "goes-on", jumps_elsewhere},
    {NULL, NULL, NULL},
};

/* Hangs of POSIX threads, see hung.h. */
#define _GNU_SOURCE
#include "hung.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a, b;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER, other = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t meeting;
static pthread_t first, second, main_thread;

static void must(int result)
{
    if (result != 0) {
        fprintf(stderr, "hung: %s\n", strerror(result));
        exit(3);
    }
}

static void start(pthread_t *thread, void *(*run)(void *))
{
    must(pthread_create(thread, NULL, run, NULL));
}

static void meet(void)
{
    pthread_barrier_wait(&meeting);
}

/* Runs two threads, and joins the first. */
static void run_two(void *(*one)(void *), void *(*two)(void *))
{
    must(pthread_barrier_init(&meeting, NULL, 2));
    start(&first, one);
    start(&second, two);
    pthread_join(first, NULL);
}

/* The calling thread, which is about to work for nothing, leaves the processor to whoever looks at
 * it, and to the other tests. */
static void give_way(void)
{
    errno = 0;
    if (nice(15) == -1 && errno != 0)
        must(errno);
}

/* One that can act. */
static void *work_on(void *unused)
{
    give_way();
    for (volatile unsigned long turn = 0;; turn++)
        if (turn % 65536 == 0)
            usleep(100);
    return unused;
}

/* ------------------------------------------------------------------ two mutexes */

static void *take_ab(void *unused)
{
    pthread_mutex_lock(&a);
    meet();
    pthread_mutex_lock(&b);
    return unused;
}

static void *take_ba(void *unused)
{
    pthread_mutex_lock(&b);
    meet();
    pthread_mutex_lock(&a);
    return unused;
}

static void mutexes_of(int type, int robust, int protocol, int shared)
{
    pthread_mutexattr_t kind;
    pthread_mutexattr_init(&kind);
    must(pthread_mutexattr_settype(&kind, type));
    must(pthread_mutexattr_setrobust(&kind, robust));
    must(pthread_mutexattr_setprotocol(&kind, protocol));
    must(pthread_mutexattr_setpshared(&kind, shared));
    must(pthread_mutex_init(&a, &kind));
    must(pthread_mutex_init(&b, &kind));
}

static void hang_normal(void)
{
    run_two(take_ab, take_ba);
}

/* The process goes on without its first thread. */
static void hang_mainless(void)
{
    must(pthread_barrier_init(&meeting, NULL, 2));
    start(&first, take_ab);
    start(&second, take_ba);
    pthread_exit(NULL);
}

static void hang_recursive(void)
{
    mutexes_of(PTHREAD_MUTEX_RECURSIVE, 0, 0, 0);
    run_two(take_ab, take_ba);
}

static void hang_errorcheck(void)
{
    mutexes_of(PTHREAD_MUTEX_ERRORCHECK, 0, 0, 0);
    run_two(take_ab, take_ba);
}

static void hang_adaptive(void)
{
    mutexes_of(PTHREAD_MUTEX_ADAPTIVE_NP, 0, 0, 0);
    run_two(take_ab, take_ba);
}

static void hang_robust(void)
{
    mutexes_of(PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, 0, 0);
    run_two(take_ab, take_ba);
}

static void hang_shared(void)
{
    mutexes_of(PTHREAD_MUTEX_NORMAL, 0, 0, PTHREAD_PROCESS_SHARED);
    run_two(take_ab, take_ba);
}

/* The kernel finds a cycle of these itself: so one of them waits for an owner that joins it. */
static void *take_a(void *unused)
{
    pthread_mutex_lock(&a);
    return unused;
}

static void hang_inherit(void)
{
    mutexes_of(PTHREAD_MUTEX_NORMAL, 0, PTHREAD_PRIO_INHERIT, 0);
    pthread_mutex_lock(&a);
    start(&first, take_a);
    pthread_join(first, NULL);
}

static void hang_self(void)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&a);
}

static void *take_and_end(void *unused)
{
    pthread_mutex_lock(&a);
    return unused;
}

static void hang_gone(void)
{
    start(&first, take_and_end);
    pthread_join(first, NULL);
    pthread_mutex_lock(&a);
}

/* Held by a thread of the parent when the process forked. */
static void hang_fork(void)
{
    pthread_mutex_lock(&a);
    start(&first, take_a); /* so that locks are locks */
    pid_t child = fork();
    if (child == 0) {
        printf("child %d\n", (int)getpid());
        fflush(stdout);
        pthread_mutex_lock(&a);
    }
    waitpid(child, NULL, 0);
}

/* ------------------------------------------------------------------ joins */

static void *join_main(void *unused)
{
    pthread_join(main_thread, NULL);
    return unused;
}

static void hang_join(void)
{
    main_thread = pthread_self();
    start(&first, join_main);
    pthread_join(first, NULL);
}

static void hang_join_locked(void)
{
    pthread_mutex_lock(&a);
    start(&first, take_a);
    pthread_join(first, NULL);
}

/* ------------------------------------------------------------------ rwlocks */

static void *write_ab(void *unused)
{
    pthread_rwlock_wrlock(&table);
    meet();
    pthread_rwlock_wrlock(&other);
    return unused;
}

static void *read_ba(void *unused)
{
    pthread_rwlock_wrlock(&other);
    meet();
    pthread_rwlock_rdlock(&table);
    return unused;
}

static void hang_rwlocks(void)
{
    run_two(write_ab, read_ba);
}

static void hang_upgrade(void)
{
    pthread_rwlock_rdlock(&table);
    pthread_rwlock_wrlock(&table);
}

/* A reader and a writer, each with what the other needs: readers are not named by the lock. */
struct account {
    pthread_rwlock_t lock;
    long balance;
};

static struct account *shared_account;

static __attribute__((noinline)) void read_locked(struct account *account)
{
    pthread_rwlock_rdlock(&account->lock);
    meet();
    pthread_mutex_lock(&a);
    account->balance++;
    pthread_rwlock_unlock(&account->lock);
}

static void *read_then_lock(void *unused)
{
    read_locked(shared_account);
    return unused;
}

static void *lock_then_write(void *unused)
{
    pthread_mutex_lock(&a);
    meet();
    pthread_rwlock_wrlock(&shared_account->lock);
    return unused;
}

static void hang_reader(void)
{
    shared_account = calloc(1, sizeof *shared_account);
    run_two(read_then_lock, lock_then_write);
}

/* The same while others sleep in calls that may end: no argument but the stack is left. */
static void hang_reader_open(void)
{
    shared_account = calloc(1, sizeof *shared_account);
    must(pthread_barrier_init(&meeting, NULL, 2));
    start(&first, read_then_lock);
    start(&second, lock_then_write);
    for (;;)
        pause();
}

/* ------------------------------------------------------------------ inside libraries */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static volatile int initialised;

static void initialise(void)
{
    pthread_once(&once, initialise);
    initialised++;
}

static void hang_once(void)
{
    pthread_once(&once, initialise);
}

static void hang_once_open(void)
{
    start(&second, work_on);
    pthread_once(&once, initialise);
}

static void *print_locked(void *unused)
{
    pthread_mutex_lock(&a);
    meet();
    puts("never");
    return unused;
}

static void *lock_printing(void *unused)
{
    flockfile(stdout);
    meet();
    pthread_mutex_lock(&a);
    return unused;
}

static void hang_stream(void)
{
    run_two(print_locked, lock_printing);
}

static pthread_spinlock_t *spins;

static __attribute__((noinline)) void spin_both(pthread_spinlock_t *one, pthread_spinlock_t *two)
{
    pthread_spin_lock(one);
    give_way();
    meet();
    pthread_spin_lock(two);
    pthread_spin_unlock(two);
    pthread_spin_unlock(one);
}

static void *spin_ab(void *unused)
{
    spin_both(&spins[0], &spins[1]);
    return unused;
}

static void *spin_ba(void *unused)
{
    spin_both(&spins[1], &spins[0]);
    return unused;
}

static void hang_spin(void)
{
    spins = calloc(2, sizeof *spins);
    pthread_spin_init(&spins[0], 0);
    pthread_spin_init(&spins[1], 0);
    run_two(spin_ab, spin_ba);
}

/* ------------------------------------------------------------------ without owners */

static sem_t left, right;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void *take_left(void *unused)
{
    sem_wait(&left);
    meet();
    sem_wait(&right);
    return unused;
}

static void *take_right(void *unused)
{
    sem_wait(&right);
    meet();
    sem_wait(&left);
    return unused;
}

static void hang_semaphores(void)
{
    sem_init(&left, 0, 1);
    sem_init(&right, 0, 1);
    run_two(take_left, take_right);
}

static void *wait_holding(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_mutex_lock(&b);
    meet();
    pthread_cond_wait(&condition, &b);
    return unused;
}

static void *signal_locked(void *unused)
{
    meet();
    pthread_mutex_lock(&a);
    pthread_cond_signal(&condition);
    return unused;
}

static void hang_condition(void)
{
    run_two(wait_holding, signal_locked);
}

static pthread_barrier_t gate;

static void *come_locked(void *unused)
{
    pthread_mutex_lock(&a);
    meet();
    pthread_barrier_wait(&gate);
    return unused;
}

static void *lock_then_come(void *unused)
{
    meet();
    pthread_mutex_lock(&a);
    pthread_barrier_wait(&gate);
    return unused;
}

static void hang_barrier(void)
{
    pthread_barrier_init(&gate, NULL, 2);
    run_two(come_locked, lock_then_come);
}

/* ------------------------------------------------------------------ sound ones */

static void ready(void)
{
    puts("ready");
    fflush(stdout);
}

/* A deadlock of two, and a third that works: still a deadlock. */
static void hang_busy(void)
{
    pthread_t worker;
    start(&worker, work_on);
    run_two(take_ab, take_ba);
}

/* Waits for anybody, and somebody is there. */
static void *wait_condition(void *unused)
{
    pthread_mutex_lock(&b);
    pthread_cond_wait(&condition, &b);
    return unused;
}

static void rest_worker(void)
{
    start(&first, wait_condition);
    start(&second, work_on);
    ready();
    pthread_join(first, NULL);
}

static void post_left(int number)
{
    (void)number;
    sem_post(&left);
}

/* Idle until a signal comes. */
static void rest_handler(void)
{
    sem_init(&left, 0, 0);
    signal(SIGTERM, post_left);
    start(&first, wait_condition);
    ready();
    while (sem_wait(&left) != 0 && errno == EINTR)
        ;
    exit(0);
}

/* Every wait ends by itself. */
static void *take_timed(void *unused)
{
    struct timespec limit = {time(NULL) + 3600, 0};
    pthread_mutex_timedlock(&a, &limit);
    return unused;
}

static void rest_timed(void)
{
    pthread_mutex_lock(&a);
    start(&first, take_timed);
    ready();
    pthread_join(first, NULL);
}

/* Contended, never stuck. */
static void *contend(void *unused)
{
    give_way();
    for (;;) {
        pthread_mutex_lock(&a);
        pthread_mutex_lock(&b);
        pthread_mutex_unlock(&b);
        pthread_mutex_unlock(&a);
        pthread_rwlock_wrlock(&table);
        pthread_rwlock_unlock(&table);
    }
    return unused;
}

static void rest_contended(void)
{
    for (int i = 0; i < 16; i++)
        start(&first, contend);
    ready();
    pthread_join(first, NULL);
}

/* Another process has the other end, and may write. */
static void rest_pipe(void)
{
    int ends[2];
    char byte;
    must(pipe(ends));
    pid_t parent = getpid();
    if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) /* it may have ended before it was asked to tell */
            pause();
        _exit(0);
    }
    close(ends[1]);
    ready();
    exit(read(ends[0], &byte, 1) < 0);
}

static const struct hung list[] = {
    {"mutex-normal", "proved", "proved", "deadlock", 2, hang_normal},
    {"mutex-recursive", "proved", "proved", "deadlock", 2, hang_recursive},
    {"mutex-errorcheck", "proved", "proved", "deadlock", 2, hang_errorcheck},
    {"mutex-adaptive", "proved", "proved", "deadlock", 2, hang_adaptive},
    {"mutex-robust", "proved", "proved", "deadlock", 2, hang_robust},
    {"mutex-inherit", "proved", "proved", "deadlock", 2, hang_inherit},
    {"mutex-shared", "proved", "proved", "deadlock", 2, hang_shared},
    {"mutex-busy", "proved", "proved", "deadlock", 2, hang_busy},
    {"mutex-mainless", "proved", "proved", "deadlock", 2, hang_mainless},
    {"mutex-self", "proved", "proved", "deadlock", 1, hang_self},
    {"mutex-gone", "proved", "proved", "owner-gone", 1, hang_gone},
    {"mutex-fork", "proved", "proved", "owner-gone", 1, hang_fork},
    {"join", "proved", "proved", "deadlock", 2, hang_join},
    {"join-locked", "proved", "proved", "deadlock", 2, hang_join_locked},
    {"rwlock-writers", "proved", "proved", "deadlock", 2, hang_rwlocks},
    {"rwlock-upgrade", "proved", "proved", "deadlock", 1, hang_upgrade},
    {"rwlock-reader", "proved", "proved", "deadlock", 2, hang_reader},
    {"rwlock-reader-open", "likely", "likely", "deadlock", 2, hang_reader_open},
    {"once", "proved", "proved", "deadlock", 1, hang_once},
    {"once-open", "likely", "likely", "deadlock", 1, hang_once_open},
    {"stream", "proved", "proved", "deadlock", 2, hang_stream},
    {"spin", "likely", "likely", "deadlock", 2, hang_spin},
    {"semaphores", "proved", "likely", "never-signalled", 3, hang_semaphores},
    {"condition", "proved", "proved", "deadlock", 3, hang_condition},
    {"barrier", "proved", "proved", "deadlock", 3, hang_barrier},
    {"sound-worker", "nothing", "nothing", "none", 0, rest_worker},
    {"sound-handler", "nothing", "unasked", "none", 0, rest_handler},
    {"sound-timed", "nothing", "nothing", "none", 0, rest_timed},
    {"sound-contended", "nothing", "nothing", "none", 0, rest_contended},
    {"sound-pipe", "nothing", "nothing", "none", 0, rest_pipe},
    {0},
};

int main(int argc, char **argv)
{
    return hung_main(list, argc, argv);
}

/* Calls that a thread leaves before they return: cancelled asynchronously, cancelled at a
 * cancellation point, or by a jump out of a signal handler. Watched and natively, the rest of the
 * program goes on and ends with 0.
 *
 *     left NAME ROUNDS
 */
#include "settle.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <time.h>

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("line %d: not so: %s\n", __LINE__, #what);                                      \
            fflush(stdout);                                                                        \
            _exit(4);                                                                              \
        }                                                                                          \
    } while (0)

/* Made anew each round: what an asynchronous cancellation leaves of a lock is of no use. */
static struct locks {
    pthread_mutex_t mutex, outer;
    pthread_rwlock_t rwlock, inner;
    pthread_spinlock_t spin;
    pthread_barrier_t barrier;
    pthread_cond_t condition;
    sem_t semaphore;
} locks;

static sem_t ready; /* the other thread is about to do what it is left in */

static void make_locks(int type)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    MUST(pthread_mutex_init(&locks.mutex, &attributes) == 0);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&locks.outer, NULL);
    pthread_rwlock_init(&locks.rwlock, NULL);
    pthread_rwlock_init(&locks.inner, NULL);
    pthread_spin_init(&locks.spin, 0);
    pthread_barrier_init(&locks.barrier, NULL, 2);
    pthread_cond_init(&locks.condition, NULL);
    sem_init(&locks.semaphore, 0, 0);
}

static void wait_ready(void)
{
    while (sem_wait(&ready) != 0)
        ;
}

static bool spins; /* the other thread never sleeps */

/* Sometimes before the other one blocks, sometimes after. */
static void wait_a_little(unsigned long round)
{
    if (round % 3 == 0 && !spins)
        wait_until_all_sleep();
    else
        for (volatile unsigned long i = 0; i < round * 977 % 60000; i++)
            ;
}

/* A few locks and orders, many frames below the caller: more than the call that was left had. */
static __attribute__((noinline)) void work_below(void)
{
    char room[4096];
    __asm__ volatile("" ::"r"(room) : "memory");
    MUST(pthread_mutex_lock(&locks.outer) == 0);
    MUST(pthread_rwlock_rdlock(&locks.inner) == 0);
    MUST(pthread_rwlock_unlock(&locks.inner) == 0);
    MUST(pthread_mutex_unlock(&locks.outer) == 0);
    MUST(pthread_rwlock_wrlock(&locks.inner) == 0);
    MUST(pthread_rwlock_unlock(&locks.inner) == 0);
}

/* ------------------------------------------------------------------ cancelled */

static void release_inner(void *unused)
{
    (void)unused;
    MUST(pthread_rwlock_unlock(&locks.inner) == 0);
}

/* Waits for something that never comes, holding a read lock that a handler releases. */
static void *wait_cancelled(void *argument)
{
    void (*wait_for)(void) = *(void (**)(void))argument;
    MUST(pthread_rwlock_rdlock(&locks.inner) == 0);
    pthread_cleanup_push(release_inner, NULL);
    sem_post(&ready);
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    wait_for();
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    pthread_cleanup_pop(1);
    return NULL;
}

/* A third thread that waits for that lock, in every other round. */
static void *write_inner(void *unused)
{
    MUST(pthread_rwlock_wrlock(&locks.inner) == 0);
    MUST(pthread_rwlock_unlock(&locks.inner) == 0);
    return unused;
}

static void cancel_in(void (*wait_for)(void), unsigned long round)
{
    pthread_t thread, writer;
    void *value = NULL;
    MUST(pthread_create(&thread, NULL, wait_cancelled, (void *)&wait_for) == 0);
    wait_ready();
    wait_a_little(round);
    if (round % 2)
        MUST(pthread_create(&writer, NULL, write_inner, NULL) == 0);
    MUST(pthread_cancel(thread) == 0);
    MUST(pthread_join(thread, &value) == 0);
    MUST(value == PTHREAD_CANCELED);
    if (round % 2)
        MUST(pthread_join(writer, NULL) == 0);
    work_below();
}

static void wait_forever(void)
{
    for (;;)
        pause();
}

static void relock(void)
{
    pthread_mutex_lock(&locks.mutex);
    pthread_mutex_lock(&locks.mutex);
    wait_forever();
}

static void relock_checked(void)
{
    pthread_mutex_lock(&locks.mutex);
    for (int i = 0; i < 1000; i++)
        MUST(pthread_mutex_lock(&locks.mutex) == EDEADLK);
    wait_forever();
}

static void lock_taken(void)
{
    pthread_mutex_lock(&locks.mutex);
    wait_forever();
}

static void lock_until(void)
{
    struct timespec far;
    clock_gettime(CLOCK_REALTIME, &far);
    far.tv_sec += 1000;
    pthread_mutex_timedlock(&locks.mutex, &far);
    wait_forever();
}

static void read_taken(void)
{
    pthread_rwlock_rdlock(&locks.rwlock);
    wait_forever();
}

static void write_taken(void)
{
    pthread_rwlock_wrlock(&locks.rwlock);
    wait_forever();
}

static void spin_taken(void)
{
    pthread_spin_lock(&locks.spin);
    wait_forever();
}

static void take_unit(void)
{
    while (sem_wait(&locks.semaphore) != 0)
        ;
    wait_forever();
}

static void reach_barrier(void)
{
    pthread_barrier_wait(&locks.barrier);
    wait_forever();
}

static void unlock_mutex(void *unused)
{
    (void)unused;
    MUST(pthread_mutex_unlock(&locks.mutex) == 0);
}

/* Not asynchronously: libc's own wait would not survive it. */
static void wait_condition(void)
{
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, NULL);
    pthread_mutex_lock(&locks.mutex);
    pthread_cleanup_push(unlock_mutex, NULL);
    for (;;)
        pthread_cond_wait(&locks.condition, &locks.mutex);
    pthread_cleanup_pop(1);
}

static void *sleep_cancelled(void *unused)
{
    wait_forever();
    return unused;
}

static pthread_t sleeper;

static void join_sleeper(void)
{
    pthread_join(sleeper, NULL);
}

static void cancel_join(unsigned long round)
{
    MUST(pthread_create(&sleeper, NULL, sleep_cancelled, NULL) == 0);
    cancel_in(join_sleeper, round);
    MUST(pthread_cancel(sleeper) == 0);
    MUST(pthread_join(sleeper, NULL) == 0);
}

/* The main thread has what the other one waits for. */
static void cancel_taken(void (*wait_for)(void), unsigned long round)
{
    MUST(pthread_mutex_lock(&locks.mutex) == 0);
    MUST(pthread_rwlock_wrlock(&locks.rwlock) == 0);
    MUST(pthread_spin_lock(&locks.spin) == 0);
    cancel_in(wait_for, round);
    MUST(pthread_spin_unlock(&locks.spin) == 0);
    MUST(pthread_rwlock_unlock(&locks.rwlock) == 0);
    MUST(pthread_mutex_unlock(&locks.mutex) == 0);
}

/* ------------------------------------------------------------------ cancelled anywhere */

/* Locks of its own, made, used and destroyed until the thread is cancelled in the middle of it. */
static void use_own(struct locks *own)
{
    pthread_mutex_init(&own->mutex, NULL);
    pthread_mutex_init(&own->outer, NULL);
    pthread_rwlock_init(&own->rwlock, NULL);
    sem_init(&own->semaphore, 0, 1);
    pthread_cond_init(&own->condition, NULL);
    pthread_mutex_lock(&own->outer);
    pthread_rwlock_rdlock(&own->rwlock);
    pthread_mutex_lock(&own->mutex);
    while (sem_wait(&own->semaphore) != 0)
        ;
    pthread_cond_signal(&own->condition);
    pthread_mutex_unlock(&own->outer); /* not in the order they were taken in */
    pthread_rwlock_unlock(&own->rwlock);
    sem_post(&own->semaphore);
    pthread_mutex_unlock(&own->mutex);
    pthread_cond_destroy(&own->condition);
    sem_destroy(&own->semaphore);
    pthread_rwlock_destroy(&own->rwlock);
    pthread_mutex_destroy(&own->outer);
    pthread_mutex_destroy(&own->mutex);
}

static atomic_int begun;

static void *use_cancelled(void *own)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    atomic_fetch_add(&begun, 1);
    for (;;)
        use_own(own);
    return NULL;
}

enum { USERS = 3 };

static void cancel_anywhere(unsigned long round)
{
    static struct locks own[USERS + 1];
    pthread_t users[USERS];
    atomic_store(&begun, 0);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_create(&users[i], NULL, use_cancelled, &own[i]) == 0);
    while (atomic_load(&begun) < USERS)
        use_own(&own[USERS]);
    wait_a_little(round * 3 + 1);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_cancel(users[i]) == 0);
    use_own(&own[USERS]);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_join(users[i], NULL) == 0);
    use_own(&own[USERS]);
}

/* ------------------------------------------------------------------ jumps */

static __thread sigjmp_buf back;
static __thread volatile sig_atomic_t may_jump;

static void jump_back(int number)
{
    (void)number;
    if (may_jump)
        siglongjmp(back, 1);
}

static atomic_bool over;

/* Leaves waits by jumps until it is over, and works in between. */
static void *jump_out(void *argument)
{
    void (*wait_for)(void) = *(void (**)(void))argument;
    volatile bool first = true;
    while (!atomic_load(&over)) {
        MUST(pthread_rwlock_rdlock(&locks.inner) == 0);
        if (sigsetjmp(back, 1) == 0) {
            may_jump = 1;
            if (first)
                sem_post(&ready);
            first = false;
            wait_for();
        }
        may_jump = 0;
        MUST(pthread_rwlock_unlock(&locks.inner) == 0);
        work_below();
    }
    return NULL;
}

static struct timespec soon(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 300000;
    time.tv_sec += time.tv_nsec / 1000000000;
    time.tv_nsec %= 1000000000;
    return time;
}

/* Has the thread leave its wait, and so release what it holds. */
static void drive_out(pthread_t thread)
{
    struct timespec until;
    do {
        MUST(pthread_kill(thread, SIGUSR1) == 0);
        until = soon();
    } while (pthread_rwlock_timedwrlock(&locks.inner, &until) != 0);
    MUST(pthread_rwlock_unlock(&locks.inner) == 0);
}

static void jump_from(void (*wait_for)(void), unsigned long round)
{
    pthread_t thread;
    struct timespec until;
    signal(SIGUSR1, jump_back);
    atomic_store(&over, false);
    MUST(pthread_create(&thread, NULL, jump_out, (void *)&wait_for) == 0);
    wait_ready();
    for (int i = 0; i < 10; i++) {
        wait_a_little(round * 7 + (unsigned long)i);
        drive_out(thread);
    }
    atomic_store(&over, true);
    int result;
    do {
        pthread_kill(thread, SIGUSR1);
        until = soon();
        result = pthread_timedjoin_np(thread, NULL, &until);
    } while (result == ETIMEDOUT);
    MUST(result == 0);
    signal(SIGUSR1, SIG_DFL);
}

static void jump_taken(void (*wait_for)(void), unsigned long round)
{
    MUST(pthread_mutex_lock(&locks.mutex) == 0);
    MUST(pthread_spin_lock(&locks.spin) == 0);
    jump_from(wait_for, round);
    MUST(pthread_spin_unlock(&locks.spin) == 0);
    MUST(pthread_mutex_unlock(&locks.mutex) == 0);
}

/* Uses locks of its own, and starts anew wherever the jump came. */
static void *jump_anywhere(void *own)
{
    sigsetjmp(back, 1);
    may_jump = 1;
    atomic_fetch_add(&begun, 1);
    while (!atomic_load(&over))
        use_own(own);
    may_jump = 0;
    return NULL;
}

/* The old way to set a handler, which the library must see, too. */
extern sighandler_t catch_signal(int number, sighandler_t handler) __asm__("sigset");

static void jumps_anywhere(unsigned long round)
{
    static struct locks own[USERS + 1];
    pthread_t users[USERS];
    catch_signal(SIGUSR1, jump_back);
    atomic_store(&over, false);
    atomic_store(&begun, 0);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_create(&users[i], NULL, jump_anywhere, &own[i]) == 0);
    for (int jump = 0; jump < 50; jump++) {
        wait_a_little((round + (unsigned long)jump) * 3 + 1);
        MUST(pthread_kill(users[jump % USERS], SIGUSR1) == 0);
        use_own(&own[USERS]);
    }
    atomic_store(&over, true);
    for (int i = 0; i < USERS; i++)
        MUST(pthread_join(users[i], NULL) == 0);
    use_own(&own[USERS]);
}

/* ------------------------------------------------------------------ all of them */

static const struct left_case {
    const char *name;
    void (*run)(void (*wait_for)(void), unsigned long round);
    void (*wait_for)(void);
    int type;
    void (*alone)(unsigned long round);
} cases[] = {
    {"relock", cancel_in, relock, PTHREAD_MUTEX_NORMAL, NULL},
    {"relock-checked", cancel_in, relock_checked, PTHREAD_MUTEX_ERRORCHECK, NULL},
    {"mutex", cancel_taken, lock_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"mutex-until", cancel_taken, lock_until, PTHREAD_MUTEX_NORMAL, NULL},
    {"read", cancel_taken, read_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"write", cancel_taken, write_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"spin", cancel_taken, spin_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"semaphore", cancel_in, take_unit, PTHREAD_MUTEX_NORMAL, NULL},
    {"barrier", cancel_in, reach_barrier, PTHREAD_MUTEX_NORMAL, NULL},
    {"condition", cancel_in, wait_condition, PTHREAD_MUTEX_NORMAL, NULL},
    {"join", NULL, NULL, PTHREAD_MUTEX_NORMAL, cancel_join},
    {"anywhere", NULL, NULL, PTHREAD_MUTEX_NORMAL, cancel_anywhere},
    {"jump-anywhere", NULL, NULL, PTHREAD_MUTEX_NORMAL, jumps_anywhere},
    {"jump-mutex", jump_taken, lock_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"jump-spin", jump_taken, spin_taken, PTHREAD_MUTEX_NORMAL, NULL},
    {"jump-semaphore", jump_from, take_unit, PTHREAD_MUTEX_NORMAL, NULL},
};

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, arguments[1]) != 0)
            continue;
        spins = cases[i].wait_for == spin_taken;
        sem_init(&ready, 0, 0);
        for (unsigned long round = 0; round < strtoul(arguments[2], NULL, 10); round++) {
            make_locks(cases[i].type);
            if (cases[i].alone)
                cases[i].alone(round);
            else
                cases[i].run(cases[i].wait_for, round);
        }
        return 0;
    }
    return 2;
}

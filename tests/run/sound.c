/* Random sound programs: whatever they do with locks, nothing may be said and nothing may change.
 *
 *     sound SEED STEPS
 *
 * Threads and processes take locks of every kind in one order, so that no deadlock can be, and do
 * all that is allowed and unusual: they fork with locks held, end holding robust mutexes, wait for
 * what a signal handler posts, hand mutexes over. Ends with 0, or hangs if the locks fail. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LOCKS = 14, THREADS = 4, MOST_CHILDREN = 12 };

enum kind { PLAIN, RECURSIVE, ROBUST, INHERIT, ROBUST_INHERIT, RWLOCK, SPIN, SEMAPHORE, KINDS };

/* The first half of them is private to the process, the second half shared by all. */
struct lock {
    enum kind kind;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    sem_t semaphore;
};

static struct lock private_locks[LOCKS / 2];
static struct lock *shared_locks;
static unsigned first_seed;
static unsigned long steps;
static bool is_child;

static sem_t tick, ask;
static pthread_mutex_t baton = PTHREAD_MUTEX_INITIALIZER;
static atomic_uint children, done;

#define MUST(what)                                                                                 \
    do {                                                                                           \
        if (!(what)) {                                                                             \
            printf("seed %u, line %d: not so: %s\n", first_seed, __LINE__, #what);                 \
            fflush(stdout);                                                                        \
            _exit(4);                                                                              \
        }                                                                                          \
    } while (0)

static unsigned below(unsigned *seed, unsigned bound)
{
    return (unsigned)rand_r(seed) % bound;
}

static struct lock *lock_at(unsigned index)
{
    return index < LOCKS / 2 ? &private_locks[index] : &shared_locks[index - LOCKS / 2];
}

static bool is_robust(const struct lock *lock)
{
    return lock->kind == ROBUST || lock->kind == ROBUST_INHERIT;
}

static void make_lock(struct lock *lock, enum kind kind, int shared)
{
    pthread_mutexattr_t mutex;
    pthread_rwlockattr_t rwlock;
    lock->kind = kind;
    pthread_mutexattr_init(&mutex);
    pthread_mutexattr_setpshared(&mutex, shared);
    if (kind == RECURSIVE)
        pthread_mutexattr_settype(&mutex, PTHREAD_MUTEX_RECURSIVE);
    if (is_robust(lock))
        pthread_mutexattr_setrobust(&mutex, PTHREAD_MUTEX_ROBUST);
    if (kind == INHERIT || kind == ROBUST_INHERIT)
        pthread_mutexattr_setprotocol(&mutex, PTHREAD_PRIO_INHERIT);
    MUST(pthread_mutex_init(&lock->mutex, &mutex) == 0);
    pthread_rwlockattr_init(&rwlock);
    pthread_rwlockattr_setpshared(&rwlock, shared);
    MUST(pthread_rwlock_init(&lock->rwlock, &rwlock) == 0);
    MUST(pthread_spin_init(&lock->spin, shared) == 0);
    MUST(sem_init(&lock->semaphore, shared == PTHREAD_PROCESS_SHARED, 2) == 0);
}

static void make_private(unsigned seed)
{
    for (unsigned i = 0; i < LOCKS / 2; i++)
        make_lock(&private_locks[i], (enum kind)below(&seed, KINDS), PTHREAD_PROCESS_PRIVATE);
}

static void take(struct lock *lock, bool reading)
{
    int result = 0;
    switch (lock->kind) {
    case RWLOCK:
        result =
            reading ? pthread_rwlock_rdlock(&lock->rwlock) : pthread_rwlock_wrlock(&lock->rwlock);
        break;
    case SPIN:
        result = pthread_spin_lock(&lock->spin);
        break;
    case SEMAPHORE:
        while ((result = sem_wait(&lock->semaphore)) != 0 && errno == EINTR)
            ;
        break;
    default:
        result = pthread_mutex_lock(&lock->mutex);
    }
    if (result == EOWNERDEAD && is_robust(lock))
        result = pthread_mutex_consistent(&lock->mutex);
    MUST(result == 0);
}

static void give(struct lock *lock)
{
    switch (lock->kind) {
    case RWLOCK:
        MUST(pthread_rwlock_unlock(&lock->rwlock) == 0);
        break;
    case SPIN:
        MUST(pthread_spin_unlock(&lock->spin) == 0);
        break;
    case SEMAPHORE:
        MUST(sem_post(&lock->semaphore) == 0);
        break;
    default:
        MUST(pthread_mutex_unlock(&lock->mutex) == 0);
    }
}

/* ------------------------------------------------------------------ what is unusual */

static void post_tick(int number)
{
    int saved = errno, value = 0;
    (void)number;
    if (sem_getvalue(&tick, &value) == 0 && value < THREADS)
        sem_post(&tick);
    errno = saved;
}

/* Unlocks for others what they have locked. */
static void *hand_over(void *unused)
{
    for (;;) {
        while (sem_wait(&ask) != 0)
            ;
        if (atomic_load(&done) == THREADS)
            return unused;
        MUST(pthread_mutex_unlock(&baton) == 0);
    }
}

static void take_baton(void)
{
    static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&one_at_a_time);
    pthread_mutex_lock(&baton);
    sem_post(&ask);
    pthread_mutex_lock(&baton);
    pthread_mutex_unlock(&baton);
    pthread_mutex_unlock(&one_at_a_time);
}

static void work_through(unsigned *seed, unsigned long count);

/* A child of a process with threads: what was private is of no use to it, so it makes it anew. What
 * is shared and held by its parent's threads it waits for as anybody else does. */
static void be_child(unsigned seed)
{
    is_child = true;
    signal(SIGALRM, SIG_IGN);
    make_private(seed);
    work_through(&seed, steps / 4);
    for (unsigned i = 0; i < LOCKS && below(&seed, 2); i++)
        if (is_robust(lock_at(i)))
            take(lock_at(i), false); /* and end with it */
    _exit(0);
}

static void do_fork(unsigned *seed)
{
    if (is_child || atomic_fetch_add(&children, 1) >= MOST_CHILDREN)
        return;
    unsigned of_child = (unsigned)rand_r(seed);
    pid_t child = fork();
    MUST(child >= 0);
    if (child == 0)
        be_child(of_child);
}

static void dawdle(unsigned *seed, bool spins)
{
    unsigned what = below(seed, 12);
    if (what == 0)
        sched_yield();
    else if (what == 1 && !spins)
        usleep(below(seed, 300));
    else if (what == 2 && !spins && !is_child)
        while (sem_wait(&tick) != 0)
            ;
    else if (what == 3 && !spins && below(seed, 20) == 0)
        do_fork(seed);
}

/* Some of the locks, in order, and back in any order. True: it ends with what it holds. */
static bool work_once(unsigned *seed)
{
    bool held[LOCKS] = {false}, spins = false;
    for (unsigned i = 0; i < LOCKS; i++) {
        if (below(seed, 4) || (lock_at(i)->kind == SPIN && below(seed, 3)))
            continue;
        take(lock_at(i), below(seed, 2));
        held[i] = true;
        spins = spins || lock_at(i)->kind == SPIN;
        dawdle(seed, spins);
    }
    bool dies = !is_child && below(seed, 100) == 0;
    for (unsigned i = 0, at = below(seed, LOCKS); i < LOCKS; i++, at = (at + 5) % LOCKS)
        if (held[at] && !(dies && is_robust(lock_at(at))))
            give(lock_at(at));
    return dies;
}

static void work_through(unsigned *seed, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++)
        work_once(seed);
}

struct part {
    unsigned seed;
    unsigned long left;
};

/* A thread that dies is followed by another one. */
static void *work(void *argument)
{
    struct part *part = argument;
    while (part->left) {
        part->left--;
        bool dies = work_once(&part->seed);
        if (below(&part->seed, 50) == 0 && !dies)
            take_baton();
        if (dies) {
            pthread_t next;
            MUST(pthread_create(&next, NULL, work, part) == 0);
            pthread_detach(next);
            return NULL;
        }
    }
    free(part);
    if (atomic_fetch_add(&done, 1) == THREADS - 1)
        sem_post(&ask);
    return NULL;
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    first_seed = (unsigned)strtoul(arguments[1], NULL, 10);
    steps = strtoul(arguments[2], NULL, 10);
    unsigned seed = first_seed;
    shared_locks = mmap(NULL, LOCKS / 2 * sizeof *shared_locks, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    MUST(shared_locks != MAP_FAILED);
    make_private((unsigned)rand_r(&seed));
    for (unsigned i = 0; i < LOCKS / 2; i++)
        make_lock(&shared_locks[i], (enum kind)below(&seed, KINDS), PTHREAD_PROCESS_SHARED);
    sem_init(&tick, 0, 0);
    sem_init(&ask, 0, 0);
    signal(SIGALRM, post_tick);
    struct itimerval often = {{0, 1000}, {0, 1000}};
    setitimer(ITIMER_REAL, &often, NULL);
    for (int i = 0; i < THREADS; i++) {
        struct part *part = malloc(sizeof *part);
        pthread_t thread;
        MUST(part);
        *part = (struct part){(unsigned)rand_r(&seed), steps};
        MUST(pthread_create(&thread, NULL, work, part) == 0);
        pthread_detach(thread);
    }
    hand_over(NULL);
    int status;
    while (wait(&status) > 0 || errno == EINTR)
        MUST(status == 0);
    return 0;
}

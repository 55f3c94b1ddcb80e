/* Random threads and locks, judged by the library and by the plainest model there is.
 *
 *     random SEED STEPS
 *
 * Run under the preloaded library with GORDIAN_ON_DEADLOCK=break. A controller tells workers, one
 * at a time, what to lock and unlock, and keeps who holds what and who waits. When a lock cannot be
 * had, the model follows every wait to its holders: if nobody who runs is reached (for a writer:
 * for one of the readers), the call must answer EDEADLK; otherwise it must block. The controller
 * itself uses no lock, so that it always counts as running and never as stuck. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { WORKERS = 7, LOCKS = 9 };

enum kind { MUTEX, RECURSIVE, RWLOCK, SPIN, KINDS };

enum order { IDLE, TAKE, TAKE_READ, GIVE, QUIT };

struct lock {
    enum kind kind;
    pthread_mutex_t mutex;
    pthread_rwlock_t rwlock;
    pthread_spinlock_t spin;
    int holds[WORKERS]; /* the model: how often each holds it; negative: for reading */
};

struct worker {
    pthread_t thread;
    _Atomic int order; /* set by the controller, back to IDLE by the worker when it is done */
    _Atomic int answer;
    _Atomic int tid;
    int lock;     /* what the order is about; the model: what it waits for */
    bool waits;   /* the model: it has an order that has not ended */
    bool reading; /* the order is to take it for reading */
};

static struct lock locks[LOCKS];
static struct worker workers[WORKERS];
static unsigned seed;

static unsigned below(unsigned bound)
{
    return (unsigned)rand_r(&seed) % bound;
}

static int take(struct lock *lock, bool reading)
{
    switch (lock->kind) {
    case MUTEX:
    case RECURSIVE:
        return pthread_mutex_lock(&lock->mutex);
    case RWLOCK:
        return reading ? pthread_rwlock_rdlock(&lock->rwlock)
                       : pthread_rwlock_wrlock(&lock->rwlock);
    default:
        return pthread_spin_lock(&lock->spin);
    }
}

static int give(struct lock *lock)
{
    switch (lock->kind) {
    case MUTEX:
    case RECURSIVE:
        return pthread_mutex_unlock(&lock->mutex);
    case RWLOCK:
        return pthread_rwlock_unlock(&lock->rwlock);
    default:
        return pthread_spin_unlock(&lock->spin);
    }
}

static void *work(void *argument)
{
    struct worker *worker = argument;
    atomic_store(&worker->tid, (int)syscall(SYS_gettid));
    for (;;) {
        int order = atomic_load(&worker->order);
        if (order == QUIT)
            return NULL;
        if (order == IDLE) {
            usleep(20);
            continue;
        }
        struct lock *lock = &locks[worker->lock];
        atomic_store(&worker->answer, order == GIVE ? give(lock) : take(lock, order == TAKE_READ));
        atomic_store(&worker->order, IDLE);
    }
}

/* ------------------------------------------------------------------ the model */

static bool held_by_other(const struct lock *lock, int self, bool reading)
{
    for (int i = 0; i < WORKERS; i++)
        if (lock->holds[i] && (lock->holds[i] > 0 || !reading) &&
            (i != self || lock->kind != RECURSIVE))
            return true;
    return false;
}

/* Whoever can act frees, in time, what he holds: take those away until nothing changes. */
static bool is_dead(int asked)
{
    bool alive[WORKERS];
    for (int i = 0; i < WORKERS; i++)
        alive[i] = !workers[i].waits;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 0; i < WORKERS; i++) {
            if (alive[i])
                continue;
            const struct lock *lock = &locks[workers[i].lock];
            bool blocked = false;
            for (int k = 0; k < WORKERS; k++)
                blocked = blocked || (!alive[k] && lock->holds[k] &&
                                      (lock->holds[k] > 0 || !workers[i].reading));
            if (!blocked)
                alive[i] = changed = true;
        }
    }
    return !alive[asked];
}

/* ------------------------------------------------------------------ the controller */

static void fail(int worker, const char *what)
{
    printf("worker %d, lock %d: %s\n", worker, workers[worker].lock, what);
    fflush(stdout);
    _exit(1);
}

/* Looks, 50 microseconds apart, after which something hangs, however slow the machine is. */
#define PATIENCE 6000000

static bool ends(struct worker *worker)
{
    for (int i = 0; i < PATIENCE; i++) {
        if (atomic_load(&worker->order) == IDLE)
            return true;
        usleep(50);
    }
    return false;
}

static void took(int index)
{
    struct worker *worker = &workers[index];
    struct lock *lock = &locks[worker->lock];
    if (atomic_load(&worker->answer) != 0)
        fail(index, "could not be taken");
    if (held_by_other(lock, index, worker->reading) && lock->holds[index] == 0)
        fail(index, "taken while others have it");
    lock->holds[index] += worker->reading ? -1 : 1;
    worker->waits = false;
}

static bool can_go(int index)
{
    return workers[index].waits &&
           !held_by_other(&locks[workers[index].lock], index, workers[index].reading);
}

/* Those whose wait may have ended go on, one after the other: which of several that wait for one
 * lock comes first is up to the libc. */
static void see_who_goes_on(void)
{
    for (int polls = 0; polls < PATIENCE; polls++) {
        int free = -1;
        for (int i = 0; i < WORKERS; i++) {
            if (workers[i].waits && atomic_load(&workers[i].order) == IDLE)
                took(i);
            if (can_go(i))
                free = i;
        }
        if (free < 0)
            return;
        usleep(50);
        if (polls == PATIENCE - 1)
            fail(free, "free, but nobody goes on");
    }
}

static void give_one(int index)
{
    struct worker *worker = &workers[index];
    struct lock *lock = &locks[worker->lock];
    lock->holds[index] += lock->holds[index] < 0 ? 1 : -1;
    atomic_store(&worker->order, GIVE);
    if (!ends(worker) || atomic_load(&worker->answer) != 0)
        fail(index, "cannot be given back");
    see_who_goes_on();
}

static bool sleeps(const struct worker *worker)
{
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/syscall", atomic_load(&worker->tid));
    FILE *file = fopen(path, "r");
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    if (file)
        fclose(file);
    text[length] = '\0';
    return strtol(text, NULL, 10) == SYS_futex;
}

/* How long it has been on a processor. */
static uint64_t worked_ns(const struct worker *worker)
{
    clockid_t clock;
    struct timespec time = {0};
    if (pthread_getcpuclockid(worker->thread, &clock) == 0)
        clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* Until it sleeps in the kernel, or, if it spins, has worked for long enough to have begun. */
static void let_it_block(struct worker *worker, uint64_t worked_before)
{
    bool spins = locks[worker->lock].kind == SPIN;
    for (int i = 0; i < PATIENCE && atomic_load(&worker->order) != IDLE; i++) {
        if (spins ? worked_ns(worker) >= worked_before + 5000000 : sleeps(worker))
            return;
        usleep(50);
    }
}

static unsigned long deadlocks, blocks;

static void take_one(int index)
{
    struct worker *worker = &workers[index];
    struct lock *lock = &locks[worker->lock];
    bool free = !held_by_other(lock, index, worker->reading);
    if (!free && lock->kind == RWLOCK && lock->holds[index] > 0)
        return; /* libc answers that one itself */
    if (!free && lock->holds[index] && lock->kind != RECURSIVE)
        return; /* while others run they may be meant to give it back: not proved */
    worker->waits = true;
    bool dead = !free && is_dead(index);
    uint64_t worked_before = worked_ns(worker);
    atomic_store(&worker->order, worker->reading ? TAKE_READ : TAKE);
    if (free) {
        if (!ends(worker))
            fail(index, "is free, but cannot be taken");
        took(index);
    } else if (dead) {
        if (!ends(worker))
            fail(index, "a deadlock that was not found");
        if (atomic_load(&worker->answer) != EDEADLK)
            fail(index, "a deadlock, but not EDEADLK");
        worker->waits = false;
        deadlocks++;
    } else {
        let_it_block(worker, worked_before);
        if (atomic_load(&worker->order) == IDLE)
            fail(index, atomic_load(&worker->answer) == EDEADLK ? "EDEADLK without a deadlock"
                                                                : "should wait");
        blocks++;
    }
}

static void step(void)
{
    int index = (int)below(WORKERS);
    struct worker *worker = &workers[index];
    if (worker->waits)
        return;
    int lock = (int)below(LOCKS);
    worker->lock = lock;
    worker->reading = false;
    if (locks[lock].holds[index] && below(4)) {
        give_one(index);
    } else {
        worker->reading = locks[lock].kind == RWLOCK && below(2);
        if (locks[lock].kind == RWLOCK && worker->reading && locks[lock].holds[index] > 0)
            return;
        take_one(index);
    }
}

/* Everybody gives everything back; then they end. */
static void unwind(void)
{
    for (int round = 0; round < 1000; round++)
        for (int i = 0; i < WORKERS; i++)
            for (int k = 0; k < LOCKS && !workers[i].waits; k++)
                while (locks[k].holds[i] && !workers[i].waits) {
                    workers[i].lock = k;
                    workers[i].reading = false;
                    give_one(i);
                }
    for (int i = 0; i < WORKERS; i++) {
        if (workers[i].waits)
            fail(i, "waits for ever");
        atomic_store(&workers[i].order, QUIT);
        pthread_join(workers[i].thread, NULL);
    }
}

static void set_up(void)
{
    pthread_mutexattr_t recursive;
    pthread_mutexattr_init(&recursive);
    pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
    for (int k = 0; k < LOCKS; k++) {
        locks[k].kind = (enum kind)(k % KINDS);
        pthread_mutex_init(&locks[k].mutex, locks[k].kind == RECURSIVE ? &recursive : NULL);
        pthread_rwlock_init(&locks[k].rwlock, NULL);
        pthread_spin_init(&locks[k].spin, PTHREAD_PROCESS_PRIVATE);
    }
    for (int i = 0; i < WORKERS; i++)
        pthread_create(&workers[i].thread, NULL, work, &workers[i]);
}

int main(int count, char **arguments)
{
    if (count != 3)
        return 2;
    seed = (unsigned)strtoul(arguments[1], NULL, 10);
    unsigned long steps = strtoul(arguments[2], NULL, 10);
    set_up();
    for (unsigned long i = 0; i < steps; i++)
        step();
    unwind();
    printf("%lu deadlocks, %lu other blocks\n", deadlocks, blocks);
    return 0;
}

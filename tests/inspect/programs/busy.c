/* A sound program that does everything at once: locks contended by hundreds of threads, in every
 * order that is allowed, and threads that sleep as those of servers do. No deadlock is possible.
 *
 *     busy THREADS FILE
 *
 * Each thread that works counts in FILE, in a word of its own: what goes on there shows whether all
 * of them still do. The first word counts the calls that were interrupted, which nobody here is
 * prepared for. A thread that is to sleep has UINT64_MAX. */
#define _GNU_SOURCE
#include "hang.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <time.h>

static uint64_t *counts;

struct worker {
    int number; /* of its sort */
    uint64_t *count;
};

static void tick(const struct worker *self)
{
    __atomic_add_fetch(self->count, 1, __ATOMIC_RELAXED);
}

static void note_interruption(int result)
{
    if (result < 0 && errno == EINTR)
        __atomic_add_fetch(&counts[0], 1, __ATOMIC_RELAXED);
}

static void rest(long nanoseconds)
{
    struct timespec time = {0, nanoseconds};
    note_interruption(nanosleep(&time, NULL));
}

/* ------------------------------------------------------------------ orders */

#define POOL 8
static pthread_mutex_t pool[POOL], gate = PTHREAD_MUTEX_INITIALIZER;

static void both(pthread_mutex_t *outer, pthread_mutex_t *inner)
{
    pthread_mutex_lock(outer);
    pthread_mutex_lock(inner);
    rest(20000);
    pthread_mutex_unlock(inner);
    pthread_mutex_unlock(outer);
}

static void in_order(struct worker *self)
{
    unsigned seed = (unsigned)self->number;
    for (;; tick(self)) {
        int one = rand_r(&seed) % POOL, two = rand_r(&seed) % POOL;
        if (one != two)
            both(&pool[one < two ? one : two], &pool[one < two ? two : one]);
        rest(20000);
    }
}

/* In any order, but for one at a time. */
static void behind_gate(struct worker *self)
{
    static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
    for (;; tick(self)) {
        pthread_mutex_lock(&gate);
        both(self->number & 1 ? &a : &b, self->number & 1 ? &b : &a);
        pthread_mutex_unlock(&gate);
        rest(500000);
    }
}

/* In any order, and gives back if it would have to wait. */
static void by_trying(struct worker *self)
{
    static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER, b = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_t *outer = self->number & 1 ? &a : &b, *inner = self->number & 1 ? &b : &a;
    for (;; tick(self)) {
        pthread_mutex_lock(outer);
        if (pthread_mutex_trylock(inner) == 0)
            pthread_mutex_unlock(inner);
        pthread_mutex_unlock(outer);
        rest(500000);
    }
}

/* Two who want each other's lock in turn: now the one waits for the other, now the other for the
 * one. Who takes half of the picture from here and half from there sees a circle. */
static pthread_mutex_t mine[2] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};
static pthread_barrier_t turn;

static void in_turn(struct worker *self)
{
    int own = self->number & 1;
    for (int round = 0;; round++, tick(self)) {
        pthread_barrier_wait(&turn);
        pthread_mutex_lock(&mine[own]);
        if ((round & 1) == own) {
            pthread_mutex_lock(&mine[!own]);
            pthread_mutex_unlock(&mine[!own]);
        } else {
            rest(10000);
        }
        pthread_mutex_unlock(&mine[own]);
    }
}

/* ------------------------------------------------------------------ other locks */

static void read_and_write(struct worker *self)
{
    static pthread_rwlock_t locks[2] = {PTHREAD_RWLOCK_INITIALIZER, PTHREAD_RWLOCK_INITIALIZER};
    for (int round = self->number;; round++, tick(self)) {
        if (round % 5)
            pthread_rwlock_rdlock(&locks[0]);
        else
            pthread_rwlock_wrlock(&locks[0]);
        pthread_rwlock_wrlock(&locks[1]);
        rest(20000);
        pthread_rwlock_unlock(&locks[1]);
        pthread_rwlock_unlock(&locks[0]);
        rest(500000);
    }
}

/* A queue of one. */
static void give_and_take(struct worker *self)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
    static int full;
    for (;; tick(self)) {
        pthread_mutex_lock(&lock);
        while (full != (self->number & 1))
            pthread_cond_wait(&changed, &lock);
        rest(20000);
        full = !full;
        pthread_cond_broadcast(&changed);
        pthread_mutex_unlock(&lock);
    }
}

static sem_t balls[2];

static void ping_pong(struct worker *self)
{
    for (;; tick(self)) {
        note_interruption(sem_wait(&balls[self->number & 1]));
        rest(20000);
        sem_post(&balls[!(self->number & 1)]);
    }
}

/* Where others have taken all the threads that there may be, it is tried until some are free. */
static pthread_t go_at_last(void *(*run)(void *), void *argument)
{
    pthread_t thread;
    while (pthread_create(&thread, NULL, run, argument) != 0)
        rest(1000000);
    return thread;
}

static void *end_soon(void *unused)
{
    return unused;
}

static void start_and_join(struct worker *self)
{
    pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
    for (;; tick(self)) {
        pthread_mutex_lock(&own);
        pthread_join(go_at_last(end_soon, NULL), NULL);
        pthread_mutex_unlock(&own);
        rest(500000);
    }
}

static pthread_mutex_t special[2];

static void take_special(struct worker *self)
{
    for (;; tick(self)) {
        both(&special[0], &special[1]);
        rest(500000);
    }
}

/* ------------------------------------------------------------------ those who sleep */

static void sleep_timed(struct worker *self)
{
    int never = epoll_create1(EPOLL_CLOEXEC), ends[2];
    struct epoll_event event;
    if (pipe(ends) != 0)
        abort();
    struct pollfd nothing = {.fd = ends[0], .events = POLLIN};
    for (;; tick(self)) {
        note_interruption(epoll_wait(never, &event, 1, 3));
        note_interruption(poll(&nothing, 1, 3));
        rest(3000000);
    }
}

static void sleep_for_ever(struct worker *self)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static pthread_cond_t never = PTHREAD_COND_INITIALIZER;
    *self->count = UINT64_MAX;
    pthread_mutex_lock(&lock);
    for (;;)
        pthread_cond_wait(&never, &lock);
}

static void read_for_ever(struct worker *self)
{
    int ends[2];
    char byte;
    *self->count = UINT64_MAX;
    if (pipe(ends) != 0)
        abort();
    for (;;)
        note_interruption((int)read(ends[0], &byte, 1));
}

static void run_for_ever(struct worker *self)
{
    for (;; tick(self))
        rest(100000);
}

/* ------------------------------------------------------------------ all of them */

static const struct sort {
    void (*run)(struct worker *self);
    int only; /* so many, or 0: any number */
} sorts[] = {
    {in_order, 0},       {behind_gate, 0},   {by_trying, 0},      {in_turn, 2},
    {read_and_write, 0}, {give_and_take, 2}, {ping_pong, 2},      {start_and_join, 4},
    {take_special, 0},   {sleep_timed, 0},   {sleep_for_ever, 0}, {read_for_ever, 4},
    {run_for_ever, 2},
};
#define SORTS (sizeof sorts / sizeof *sorts)

struct start {
    const struct sort *sort;
    struct worker worker;
};

static void *start_worker(void *argument)
{
    struct start *start = argument;
    start->sort->run(&start->worker);
    return NULL;
}

static void make_locks(void)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    for (int i = 0; i < POOL; i++)
        pthread_mutex_init(&pool[i], &attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&special[0], &attributes);
    pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_NONE);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&special[1], &attributes);
    pthread_barrier_init(&turn, NULL, 2);
    sem_init(&balls[0], 0, 1);
    sem_init(&balls[1], 0, 0);
}

int main(int count, char **arguments)
{
    int threads = count > 2 ? atoi(arguments[1]) : 0, numbers[SORTS] = {0};
    size_t size = (size_t)(threads + 1) * sizeof *counts;
    int file = threads > 0 ? open(arguments[2], O_RDWR | O_CREAT | O_CLOEXEC, 0600) : -1;
    if (file < 0 || ftruncate(file, (off_t)size) != 0)
        return 2;
    counts = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    struct start *starts = calloc((size_t)threads, sizeof *starts);
    if (counts == MAP_FAILED || !starts)
        return 2;
    make_locks();
    for (int i = 0, sort = 0; i < threads; sort = (sort + 1) % (int)SORTS) {
        if (sorts[sort].only && numbers[sort] == sorts[sort].only)
            continue;
        starts[i] = (struct start){&sorts[sort], {numbers[sort]++, &counts[i + 1]}};
        go_at_last(start_worker, &starts[i]);
        i++;
    }
    ready(threads + 1, 1);
    for (;;)
        pause();
}

/* What must not be reported: nothing is wrong with any of these. */
#include "matrix.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t gate = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t x = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t y = PTHREAD_RWLOCK_INITIALIZER;

static struct timespec soon(void)
{
    struct timespec time;
    clock_gettime(CLOCK_REALTIME, &time);
    time.tv_nsec += 50000000;
    if (time.tv_nsec >= 1000000000) {
        time.tv_nsec -= 1000000000;
        time.tv_sec++;
    }
    return time;
}

/* ------------------------------------------------------------------ waits with an end */

static void *timed(void *argument)
{
    pthread_mutex_t *first = argument ? &a : &b, *second = argument ? &b : &a;
    pthread_mutex_lock(first);
    settle();
    struct timespec until = soon();
    if (pthread_mutex_timedlock(second, &until) == 0)
        pthread_mutex_unlock(second);
    pthread_mutex_unlock(first);
    return NULL;
}

static void timed_abba(void)
{
    pthread_t one = go(timed, (void *)1), two = go(timed, NULL);
    finish(one);
    finish(two);
}

/* One of the two waits without end, but the other does not. */
static void *untimed(void *unused)
{
    pthread_mutex_lock(&b);
    settle();
    nest(&a, &gate);
    pthread_mutex_unlock(&b);
    return unused;
}

static void half_timed(void)
{
    pthread_t one = go(timed, (void *)1), two = go(untimed, NULL);
    finish(one);
    finish(two);
}

static void *try_until(void *argument)
{
    pthread_mutex_t *first = argument ? &a : &b, *second = argument ? &b : &a;
    for (int i = 0; i < 2000; i++) {
        pthread_mutex_lock(first);
        if (pthread_mutex_trylock(second) == 0)
            pthread_mutex_unlock(second);
        pthread_mutex_unlock(first);
    }
    return NULL;
}

static void try_abba(void)
{
    pthread_t one = go(try_until, (void *)1), two = go(try_until, NULL);
    finish(one);
    finish(two);
}

/* ------------------------------------------------------------------ orders that are fine */

static void same_thread(void)
{
    nest(&a, &b);
    nest(&b, &a);
}

static void *gated_ab(void *unused)
{
    pthread_mutex_lock(&gate);
    nest(&a, &b);
    pthread_mutex_unlock(&gate);
    return unused;
}

static void *gated_ba(void *unused)
{
    pthread_mutex_lock(&gate);
    nest(&b, &a);
    pthread_mutex_unlock(&gate);
    return unused;
}

static void gated(void)
{
    in_turn(gated_ab, gated_ba);
}

static void *nest_ba(void *unused)
{
    nest(&b, &a);
    return unused;
}

/* Whoever starts up alone cannot be in anybody's way. */
static void before_threads(void)
{
    nest(&a, &b);
    finish(go(nest_ba, NULL));
}

/* Nor can who is alone again. */
static void after_joins(void)
{
    finish(go(nest_ba, NULL));
    nest(&a, &b);
    finish(go(nest_ba, NULL));
    void *value;
    pthread_t thread = go(nest_ba, NULL);
    while (pthread_tryjoin_np(thread, &value) != 0)
        usleep(100);
    nest(&a, &b);
}

static void *nest_ab(void *unused)
{
    nest(&a, &b);
    return unused;
}

/* The threads of the parent are not in the child, and what it did alone is in nobody's way. */
static void forked_order(void)
{
    finish(go(nest_ab, NULL));
    pid_t child = fork();
    if (child == 0) {
        nest(&b, &a);
        finish(go(nest_ab, NULL));
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
        puts("fork: the child failed");
}

static sem_t gate_semaphore;

static void *semaphore_gated_ab(void *unused)
{
    sem_wait(&gate_semaphore);
    nest(&a, &b);
    sem_post(&gate_semaphore);
    return unused;
}

static void *semaphore_gated_ba(void *unused)
{
    sem_wait(&gate_semaphore);
    nest(&b, &a);
    sem_post(&gate_semaphore);
    return unused;
}

static void semaphore_gated(void)
{
    sem_init(&gate_semaphore, 0, 1);
    in_turn(semaphore_gated_ab, semaphore_gated_ba);
}

#define DEEP 100

static pthread_mutex_t deep[DEEP];

/* The gate is far away from the two that it keeps apart. */
static void *deep_gated(void *unused)
{
    pthread_mutex_lock(&gate);
    for (int i = 0; i < DEEP; i++)
        pthread_mutex_lock(&deep[i]);
    nest(&a, &b);
    for (int i = 0; i < DEEP; i++)
        pthread_mutex_unlock(&deep[i]);
    pthread_mutex_unlock(&gate);
    return unused;
}

static void deeply_gated(void)
{
    in_turn(deep_gated, gated_ba);
}

#define BUFFERS 8
#define WRITERS 12

static pthread_mutex_t buffers[BUFFERS], cursor = PTHREAD_MUTEX_INITIALIZER;
static size_t at_buffer;

/* Buffers of a log in a ring: whoever fills one takes the next one, too, and gives back the full
 * one. Only who has the last one gets there, which no lock tells. */
static void *write_log(void *argument)
{
    for (size_t step = 0; step < 3; step++) {
        size_t from = at_buffer % BUFFERS;
        if (argument) /* this one does so under another lock */
            pthread_mutex_lock(argument);
        pthread_mutex_lock(&buffers[from]);
        pthread_mutex_lock(&buffers[(from + 1) % BUFFERS]);
        at_buffer++;
        pthread_mutex_unlock(&buffers[from]);
        pthread_mutex_unlock(&buffers[(from + 1) % BUFFERS]);
        if (argument)
            pthread_mutex_unlock(argument);
    }
    return NULL;
}

static void ring_of_buffers(void)
{
    for (size_t i = 0; i < WRITERS; i++)
        finish(go(write_log, i % 5 == 4 ? &cursor : NULL));
}

static void *read_xy(void *unused)
{
    nest_read(&x, &y, pthread_rwlock_rdlock);
    return unused;
}

static void *read_yx(void *unused)
{
    nest_read(&y, &x, pthread_rwlock_rdlock);
    return unused;
}

static void read_read(void)
{
    in_turn(read_xy, read_yx);
}

/* A path through the graph that no set of locks held at one time stands for: a is not held when b
 * is taken on the way to c. */
static void *one_after_the_other(void *unused)
{
    nest(&a, &b);
    nest(&b, &gate);
    return unused;
}

static void *not_a_cycle(void *unused)
{
    nest(&a, &gate);
    return unused;
}

static void a_path_only(void)
{
    in_turn(one_after_the_other, not_a_cycle);
}

#define LIST 100

/* Locks are taken hand over hand: each before the one behind is let go. */
static void *walk_list(void *argument)
{
    pthread_mutex_t *locks = argument;
    for (int round = 0; round < 50; round++) {
        pthread_mutex_lock(&locks[0]);
        for (int i = 1; i < LIST; i++) {
            pthread_mutex_lock(&locks[i]);
            pthread_mutex_unlock(&locks[i - 1]);
        }
        pthread_mutex_unlock(&locks[LIST - 1]);
    }
    return NULL;
}

static void hand_over_hand(void)
{
    static pthread_mutex_t locks[LIST];
    for (int i = 0; i < LIST; i++)
        pthread_mutex_init(&locks[i], NULL);
    pthread_t one = go(walk_list, locks), two = go(walk_list, locks);
    finish(one);
    finish(two);
}

/* ------------------------------------------------------------------ addresses that come back */

struct pair {
    pthread_mutex_t one, two;
};

static void *forwards(void *pair)
{
    nest(&((struct pair *)pair)->one, &((struct pair *)pair)->two);
    return NULL;
}

static void *backwards(void *pair)
{
    nest(&((struct pair *)pair)->two, &((struct pair *)pair)->one);
    return NULL;
}

static void destroyed(void)
{
    static struct pair pair;
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&pair.one, NULL);
        pthread_mutex_init(&pair.two, NULL);
        finish(go(i ? backwards : forwards, &pair));
        pthread_mutex_destroy(&pair.one);
        pthread_mutex_destroy(&pair.two);
    }
}

/* Never destroyed, only freed, as C++'s mutexes are: and the memory comes back. */
static void freed(void)
{
    struct pair *pair = calloc(1, sizeof *pair), *again = NULL;
    finish(go(forwards, pair));
    uintptr_t before = (uintptr_t)pair;
    free(pair);
    for (int i = 0; i < 1000 && (uintptr_t)again != before; i++)
        again = malloc(sizeof *again);
    if ((uintptr_t)again != before)
        puts("another address: nothing was tested");
    memset(again, 0, sizeof *again);
    finish(go(backwards, again));
}

static void unmapped(void)
{
    void *place = NULL;
    for (int i = 0; i < 2; i++) {
        struct pair *pair =
            mmap(place, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        place = pair;
        finish(go(i ? backwards : forwards, pair));
        munmap(pair, 4096);
    }
}

static __attribute__((noinline)) void with_a_frame(void *(*run)(void *))
{
    struct pair pair;
    memset(&pair, 0, sizeof pair);
    finish(go(run, &pair));
}

static void frame_gone(void)
{
    with_a_frame(forwards);
    pthread_mutex_lock(&gate); /* from further up: the frames below are gone */
    pthread_mutex_unlock(&gate);
    with_a_frame(backwards);
}

static void *own_stack(void *run)
{
    struct pair pair;
    memset(&pair, 0, sizeof pair);
    finish(go((void *(*)(void *))(uintptr_t)run, &pair));
    return NULL;
}

static void thread_stack_gone(void)
{
    finish(go(own_stack, (void *)(uintptr_t)forwards));
    finish(go(own_stack, (void *)(uintptr_t)backwards));
}

/* ------------------------------------------------------------------ kinds that answer */

static void typed(pthread_mutex_t *lock, int type, int robust)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutex_init(lock, &attributes);
}

static void errorcheck(void)
{
    pthread_mutex_t lock;
    typed(&lock, PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED);
    pthread_mutex_lock(&lock);
    if (pthread_mutex_lock(&lock) != EDEADLK)
        puts("errorcheck: not EDEADLK");
    pthread_mutex_unlock(&lock);
    if (pthread_mutex_unlock(&lock) != EPERM)
        puts("errorcheck: not EPERM");
}

static void recursive(void)
{
    pthread_mutex_t lock;
    typed(&lock, PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED);
    for (int i = 0; i < 100; i++)
        pthread_mutex_lock(&lock);
    nest(&a, &b);
    for (int i = 0; i < 100; i++)
        pthread_mutex_unlock(&lock);
    if (pthread_mutex_unlock(&lock) != EPERM)
        puts("recursive: not EPERM");
}

static pthread_mutex_t robust_lock;

static void *end_holding(void *unused)
{
    pthread_mutex_lock(&robust_lock);
    return unused;
}

static void robust(void)
{
    typed(&robust_lock, PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST);
    finish(go(end_holding, NULL));
    if (pthread_mutex_lock(&robust_lock) != EOWNERDEAD)
        puts("robust: not EOWNERDEAD");
    pthread_mutex_consistent(&robust_lock);
    pthread_mutex_unlock(&robust_lock);
    pthread_mutex_lock(&robust_lock);
    pthread_mutex_unlock(&robust_lock);
}

static void rwlock_refuses(void)
{
    pthread_rwlock_wrlock(&x);
    if (pthread_rwlock_wrlock(&x) != EDEADLK || pthread_rwlock_rdlock(&x) != EDEADLK)
        puts("rwlock: not EDEADLK");
    pthread_rwlock_unlock(&x);
}

/* ------------------------------------------------------------------ semaphores as signals */

static sem_t empty, filled;

static void *produce(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        sem_wait(&empty);
        sem_post(&filled);
    }
    return unused;
}

static void *consume(void *unused)
{
    for (int i = 0; i < 5000; i++) {
        sem_wait(&filled);
        sem_post(&empty);
    }
    return unused;
}

static void producer_consumer(void)
{
    sem_init(&empty, 0, 4);
    sem_init(&filled, 0, 0);
    at_once(produce, consume);
}

static sem_t alarmed;

static void post_alarmed(int number)
{
    (void)number;
    sem_post(&alarmed);
}

static void *wait_alarmed(void *unused)
{
    while (sem_wait(&alarmed) != 0)
        ;
    return unused;
}

/* Everybody waits, and a handler ends it. */
static void handler_posts(void)
{
    struct itimerval timer = {{0, 0}, {0, 100000}};
    sem_init(&alarmed, 0, 0);
    signal(SIGALRM, post_alarmed);
    setitimer(ITIMER_REAL, &timer, NULL);
    finish(go(wait_alarmed, NULL));
}

static pthread_cond_t idle = PTHREAD_COND_INITIALIZER;
static volatile sig_atomic_t stop;

/* Against the book, but seen: a handler that signals a condition. */
static void signal_idle(int number)
{
    (void)number;
    stop = 1;
    pthread_cond_broadcast(&idle);
}

static void *be_idle(void *unused)
{
    pthread_mutex_lock(&a);
    while (!stop)
        pthread_cond_wait(&idle, &a);
    pthread_mutex_unlock(&a);
    return unused;
}

static void handler_signals(void)
{
    struct itimerval timer = {{0, 100000}, {0, 100000}}; /* again, should it come too early */
    signal(SIGALRM, signal_idle);
    setitimer(ITIMER_REAL, &timer, NULL);
    at_once(be_idle, be_idle);
}

/* ------------------------------------------------------------------ conditions, barriers, joins */

static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

static void *ping_pong(void *argument)
{
    int mine = argument != NULL;
    pthread_mutex_lock(&a);
    for (int i = 0; i < 3000; i++) {
        while (turn != mine)
            pthread_cond_wait(&turn_changed, &a);
        turn = !mine;
        pthread_cond_signal(&turn_changed);
    }
    pthread_mutex_unlock(&a);
    return NULL;
}

static void ping_pong_both(void)
{
    pthread_t one = go(ping_pong, NULL), two = go(ping_pong, (void *)1);
    finish(one);
    finish(two);
}

static void *time_out(void *unused)
{
    struct timespec until = soon();
    pthread_mutex_lock(&a);
    if (pthread_cond_timedwait(&idle, &a, &until) != ETIMEDOUT)
        puts("condition: not ETIMEDOUT");
    pthread_mutex_unlock(&a);
    return unused;
}

static void condition_times_out(void)
{
    finish(go(time_out, NULL));
}

static void unlock_it(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *wait_cancelled(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_cleanup_push(unlock_it, &a);
    for (;;)
        pthread_cond_wait(&idle, &a);
    pthread_cleanup_pop(0);
    return unused;
}

static void condition_cancelled(void)
{
    pthread_t waiter = go(wait_cancelled, NULL);
    settle();
    pthread_cancel(waiter);
    finish(waiter);
    nest(&a, &b);
}

static pthread_barrier_t barrier;

static void *rounds(void *unused)
{
    for (int i = 0; i < 500; i++)
        pthread_barrier_wait(&barrier);
    return unused;
}

static void barrier_rounds(void)
{
    pthread_barrier_init(&barrier, NULL, 2);
    at_once(rounds, rounds);
}

/* ------------------------------------------------------------------ fork */

/* What the forking thread holds, the child holds. */
static void fork_holding(void)
{
    pthread_mutex_lock(&a);
    pid_t child = fork();
    if (child == 0) {
        pthread_mutex_unlock(&a);
        nest(&a, &b);
        at_once(read_xy, read_xy);
        _exit(0);
    }
    pthread_mutex_unlock(&a);
    int status = 0;
    waitpid(child, &status, 0);
    if (status != 0)
        puts("fork: the child failed");
}

/* ------------------------------------------------------------------ at random, in order */

#define LOCKS 12

static pthread_mutex_t some[LOCKS];
static pthread_rwlock_t some_rw[LOCKS];

static void *at_random(void *argument)
{
    unsigned seed = (unsigned)(uintptr_t)argument;
    for (int i = 0; i < 3000; i++) {
        unsigned chosen = (unsigned)rand_r(&seed) & ((1u << LOCKS) - 1);
        chosen &= (unsigned)rand_r(&seed);
        for (int k = 0; k < LOCKS; k++) {
            if (!(chosen & (1u << k)))
                continue;
            if (k % 3 == 0)
                pthread_rwlock_rdlock(&some_rw[k]);
            else if (k % 3 == 1)
                pthread_rwlock_wrlock(&some_rw[k]);
            else
                pthread_mutex_lock(&some[k]);
        }
        for (int k = 0; k < LOCKS; k++) {
            if (!(chosen & (1u << k)))
                continue;
            if (k % 3 == 2)
                pthread_mutex_unlock(&some[k]);
            else
                pthread_rwlock_unlock(&some_rw[k]);
        }
    }
    return NULL;
}

static void random_in_order(void)
{
    pthread_t threads[6];
    for (int k = 0; k < LOCKS; k++) {
        pthread_mutex_init(&some[k], NULL);
        pthread_rwlock_init(&some_rw[k], NULL);
    }
    for (uintptr_t i = 0; i < 6; i++)
        threads[i] = go(at_random, (void *)(i + 1));
    for (int i = 0; i < 6; i++)
        finish(threads[i]);
}

/* In thousands of orders, but for one thread at a time. */
static pthread_mutex_t some[12];

static void *shuffle_gated(void *argument)
{
    unsigned seed = argument ? 1 : 2;
    for (int round = 0; round < 3000; round++) {
        unsigned taken = 0;
        pthread_mutex_lock(&gate);
        for (unsigned i = 0; i < 6; i++) {
            unsigned next = (unsigned)rand_r(&seed) % 12;
            if (!(taken >> next & 1))
                pthread_mutex_lock(&some[next]);
            taken |= 1u << next;
        }
        for (unsigned i = 0; i < 12; i++)
            if (taken >> i & 1)
                pthread_mutex_unlock(&some[i]);
        pthread_mutex_unlock(&gate);
    }
    return argument;
}

static void gated_many(void)
{
    for (unsigned i = 0; i < 12; i++)
        pthread_mutex_init(&some[i], NULL);
    at_once(shuffle_gated, shuffle_gated);
}

const struct matrix_case matrix_quiet[] = {
    {"quiet-timed-abba", "quiet", timed_abba},
    {"quiet-half-timed", "quiet", half_timed},
    {"quiet-try-abba", "quiet", try_abba},
    {"quiet-same-thread", "quiet", same_thread},
    {"quiet-gated", "quiet", gated},
    {"quiet-before-threads", "quiet", before_threads},
    {"order-after-joins", "quiet", after_joins},
    {"quiet-forked-order", "quiet", forked_order},
    {"quiet-semaphore-gated", "quiet", semaphore_gated},
    {"quiet-gated-many", "quiet", gated_many},
    {"quiet-deeply-gated", "quiet", deeply_gated},
    {"quiet-ring-of-buffers", "quiet", ring_of_buffers},
    {"quiet-read-read", "quiet", read_read},
    {"quiet-a-path-only", "quiet", a_path_only},
    {"quiet-hand-over-hand", "quiet", hand_over_hand},
    {"quiet-destroyed", "quiet", destroyed},
    {"quiet-freed", "quiet", freed},
    {"quiet-unmapped", "quiet", unmapped},
    {"quiet-frame-gone", "quiet", frame_gone},
    {"quiet-thread-stack-gone", "quiet", thread_stack_gone},
    {"quiet-errorcheck", "quiet", errorcheck},
    {"quiet-recursive", "quiet", recursive},
    {"quiet-robust", "quiet", robust},
    {"quiet-rwlock-refuses", "quiet", rwlock_refuses},
    {"quiet-producer-consumer", "quiet", producer_consumer},
    {"quiet-handler-posts", "quiet", handler_posts},
    {"quiet-handler-signals", "quiet", handler_signals},
    {"quiet-ping-pong", "quiet", ping_pong_both},
    {"quiet-condition-times-out", "quiet", condition_times_out},
    {"quiet-condition-cancelled", "quiet", condition_cancelled},
    {"quiet-barrier-rounds", "quiet", barrier_rounds},
    {"quiet-fork-holding", "quiet", fork_holding},
    {"quiet-random-in-order", "quiet", random_in_order},
    {NULL, NULL, NULL},
};

/* Lock orders that can deadlock and did not this time. */
#include "matrix.h"

#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_mutex_t a = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t b = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t c = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t x = PTHREAD_RWLOCK_INITIALIZER;
static pthread_rwlock_t y = PTHREAD_RWLOCK_INITIALIZER;

static void *a_then_b(void *unused)
{
    nest(&a, &b);
    return unused;
}

static void *b_then_a(void *unused)
{
    nest(&b, &a);
    return unused;
}

static void *b_then_c(void *unused)
{
    nest(&b, &c);
    return unused;
}

static void *c_then_a(void *unused)
{
    nest(&c, &a);
    return unused;
}

static void abba(void)
{
    in_turn(a_then_b, b_then_a);
}

static void abbcca(void)
{
    in_turn(a_then_b, b_then_c);
    finish(go(c_then_a, NULL));
}

/* Two threads that did the same, one of whom did the opposite too. */
static void *both_ways(void *unused)
{
    nest(&a, &b);
    nest(&b, &a);
    return unused;
}

static void one_both_ways(void)
{
    in_turn(both_ways, a_then_b);
}

#define RING 50

static pthread_mutex_t ring_locks[RING];

static void *ring_step(void *argument)
{
    size_t i = (size_t)argument;
    nest(&ring_locks[i], &ring_locks[(i + 1) % RING]);
    return NULL;
}

static void ring(void)
{
    for (size_t i = 0; i < RING; i++)
        finish(go(ring_step, (void *)i));
}

static void *read_x_write_y(void *unused)
{
    nest_read(&x, &y, pthread_rwlock_wrlock);
    return unused;
}

static void *read_y_write_x(void *unused)
{
    nest_read(&y, &x, pthread_rwlock_wrlock);
    return unused;
}

static void read_write(void)
{
    in_turn(read_x_write_y, read_y_write_x);
}

static void *write_x_lock_a(void *unused)
{
    pthread_rwlock_wrlock(&x);
    pthread_mutex_lock(&a);
    pthread_mutex_unlock(&a);
    pthread_rwlock_unlock(&x);
    return unused;
}

static void *lock_a_read_x(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_rwlock_rdlock(&x);
    pthread_rwlock_unlock(&x);
    pthread_mutex_unlock(&a);
    return unused;
}

static void mixed(void)
{
    in_turn(write_x_lock_a, lock_a_read_x);
}

/* A lock taken by trying is held all the same. */
static void *try_a_then_b(void *unused)
{
    if (pthread_mutex_trylock(&a) != 0)
        exit(3);
    pthread_mutex_lock(&b);
    pthread_mutex_unlock(&b);
    pthread_mutex_unlock(&a);
    return unused;
}

static void tried_is_held(void)
{
    in_turn(try_a_then_b, b_then_a);
}

/* A common lock around one of the two only keeps nothing apart. */
static void *gated_a_then_b(void *unused)
{
    pthread_mutex_lock(&c);
    nest(&a, &b);
    pthread_mutex_unlock(&c);
    return unused;
}

static void half_gated(void)
{
    in_turn(gated_a_then_b, b_then_a);
}

/* A lock held for reading by both keeps nothing apart either. */
static void *read_gated_a_then_b(void *unused)
{
    pthread_rwlock_rdlock(&x);
    nest(&a, &b);
    pthread_rwlock_unlock(&x);
    return unused;
}

static void *read_gated_b_then_a(void *unused)
{
    pthread_rwlock_rdlock(&x);
    nest(&b, &a);
    pthread_rwlock_unlock(&x);
    return unused;
}

static void read_gated(void)
{
    in_turn(read_gated_a_then_b, read_gated_b_then_a);
}

static pthread_rwlock_t q, r;

static void queueing(pthread_rwlock_t *lock)
{
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(lock, &attributes);
}

static void *read_q_read_r(void *unused)
{
    pthread_rwlock_rdlock(&q);
    pthread_rwlock_rdlock(&r);
    pthread_rwlock_unlock(&r);
    pthread_rwlock_unlock(&q);
    return unused;
}

static void *read_r_read_q(void *unused)
{
    pthread_rwlock_rdlock(&r);
    pthread_rwlock_rdlock(&q);
    pthread_rwlock_unlock(&q);
    pthread_rwlock_unlock(&r);
    return unused;
}

static void *write_both(void *unused)
{
    pthread_mutex_lock(&a);
    pthread_rwlock_wrlock(&q);
    pthread_rwlock_unlock(&q);
    pthread_rwlock_wrlock(&r);
    pthread_rwlock_unlock(&r);
    pthread_mutex_unlock(&a);
    return unused;
}

/* Readers in opposite orders, and writers that can queue between them. */
static void queued_readers(void)
{
    queueing(&q);
    queueing(&r);
    finish(go(write_both, NULL));
    in_turn(read_q_read_r, read_r_read_q);
}

/* Once before there are others, which does not count, and once again while there is one. */
static pthread_barrier_t twice;

static void *b_then_a_and_stay(void *unused)
{
    nest(&b, &a);
    pthread_barrier_wait(&twice);
    pthread_barrier_wait(&twice);
    return unused;
}

static void after_threads(void)
{
    pthread_barrier_init(&twice, NULL, 2);
    nest(&a, &b);
    pthread_t thread = go(b_then_a_and_stay, NULL);
    pthread_barrier_wait(&twice);
    nest(&a, &b);
    pthread_barrier_wait(&twice);
    finish(thread);
}

/* A thread that has ended, but was not joined, might have been slower. */
static atomic_bool detached_done;

static void *b_then_a_detached(void *unused)
{
    nest(&b, &a);
    atomic_store(&detached_done, true);
    return unused;
}

static void after_detached(void)
{
    pthread_t thread = go(b_then_a_detached, NULL);
    pthread_detach(thread);
    while (!atomic_load(&detached_done))
        usleep(100);
    nest(&a, &b);
}

/* A semaphore that others post keeps nothing apart. */
static sem_t posted;

static void *posted_a_then_b(void *unused)
{
    sem_wait(&posted);
    nest(&a, &b);
    return unused;
}

static void *posted_b_then_a(void *unused)
{
    sem_wait(&posted);
    nest(&b, &a);
    return unused;
}

static void posted_gate(void)
{
    sem_init(&posted, 0, 1);
    sem_post(&posted);
    in_turn(posted_a_then_b, posted_b_then_a);
}

/* Each has its place, and keeps it. */
#define PLATES 5

static void *eat(void *argument)
{
    for (int i = 0; i < 3; i++)
        nest(&ring_locks[(size_t)argument], &ring_locks[((size_t)argument + 1) % PLATES]);
    return NULL;
}

static void philosophers(void)
{
    for (size_t i = 0; i < PLATES; i++)
        finish(go(eat, (void *)i));
}

/* What was tried, given back, and then taken. */
static void *a_then_b_tried(void *unused)
{
    pthread_mutex_lock(&a);
    for (int i = 0; i < 2; i++) {
        if (i ? pthread_mutex_lock(&b) : pthread_mutex_trylock(&b))
            abort();
        pthread_mutex_unlock(&b);
    }
    pthread_mutex_unlock(&a);
    return unused;
}

static void tried_first(void)
{
    in_turn(a_then_b_tried, b_then_a);
}

/* More orders than fit at first: some of these twenty locks, always upwards. */
#define MANY 20

static pthread_mutex_t many[MANY];

static void *take_some(void *argument)
{
    unsigned seed = argument ? 1 : 2;
    for (int round = 0; round < 8000; round++) {
        unsigned some = (unsigned)rand_r(&seed);
        for (unsigned i = 0; i < MANY; i++)
            if (some >> i & 1)
                pthread_mutex_lock(&many[i]);
        for (unsigned i = 0; i < MANY; i++)
            if (some >> i & 1)
                pthread_mutex_unlock(&many[i]);
    }
    return argument;
}

/* And locks that come and go. */
static void *take_short_lived(void *unused)
{
    for (int round = 0; round < 100000; round++) {
        pthread_mutex_t *one = malloc(sizeof *one), *two = malloc(sizeof *two);
        if (!one || !two || pthread_mutex_init(one, NULL) || pthread_mutex_init(two, NULL))
            abort();
        nest(one, two);
        pthread_mutex_destroy(one);
        pthread_mutex_destroy(two);
        free(one);
        free(two);
    }
    return unused;
}

static void after_many(void)
{
    for (unsigned i = 0; i < MANY; i++)
        pthread_mutex_init(&many[i], NULL);
    in_turn(take_some, take_short_lived);
    finish(go(take_some, many));
    in_turn(a_then_b, b_then_a);
}

const struct matrix_case matrix_potentials[] = {
    {"order-abba", "potential", abba},
    {"order-abbcca", "potential", abbcca},
    {"order-one-both-ways", "potential", one_both_ways},
    {"order-ring", "potential", ring},
    {"order-read-write", "potential", read_write},
    {"order-mixed", "potential", mixed},
    {"order-tried-is-held", "potential", tried_is_held},
    {"order-half-gated", "potential", half_gated},
    {"order-read-gated", "potential", read_gated},
    {"order-queued-readers", "potential", queued_readers},
    {"order-after-threads", "potential", after_threads},
    {"order-after-detached", "potential", after_detached},
    {"order-posted-gate", "potential", posted_gate},
    {"order-philosophers", "potential", philosophers},
    {"order-tried-first", "potential", tried_first},
    {"order-after-many", "potential", after_many},
    {NULL, NULL, NULL},
};

/*
 * The same random load from eight threads, twice: on a plain pool, which gives out whatever is
 * there, and on a bank. The pool must get stuck, everybody waiting for somebody else, within
 * seconds (if it does not, the load proves nothing); the bank never, however long it runs.
 *
 * "Everybody waits" is looked at exactly: under the lock that waits are kept under.
 *
 * Then once more with everything that can end a wait: time limits, and somebody who cancels others'
 * requests. Nothing may be lost by that.
 *
 * GORDIAN_TEST_SCALE: how long the bank is under load, in percent of 6 seconds.
 */
#include "engines/avoid/bank.h"
#include "foundation/base/clock.h"
#include "foundation/base/random.h"
#include "test.h"

#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <time.h>

#define THREADS   8
#define RESOURCES 3
#define UNITS     5
#define CLAIM     3   /* of each resource, each thread */
#define PATIENCE  600 /* seconds after which what must happen will not, however slow the machine */

static const uint64_t second = 1000000000;

/* ------------------------------------------------------------------ a plain pool */

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t free[RESOURCES];
    unsigned long gives;
    unsigned waiting; /* threads that have looked since the last of them, and their request does not
                         fit */
    bool closed;
};

static bool fits(const struct pool *pool, const gordian_want *wants, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (wants[i].units > pool->free[wants[i].resource])
            return false;
    return true;
}

/* False: the pool was closed meanwhile. */
static bool pool_take(struct pool *pool, const gordian_want *wants, size_t count)
{
    unsigned long seen = ULONG_MAX;
    pthread_mutex_lock(&pool->lock);
    while (!pool->closed && !fits(pool, wants, count)) {
        pool->waiting += seen != pool->gives;
        seen = pool->gives;
        pthread_cond_wait(&pool->changed, &pool->lock);
    }
    for (size_t i = 0; i < count && !pool->closed; i++)
        pool->free[wants[i].resource] -= wants[i].units;
    bool open = !pool->closed;
    pthread_mutex_unlock(&pool->lock);
    return open;
}

static void pool_give(struct pool *pool, const gordian_want *wants, size_t count)
{
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; i < count; i++)
        pool->free[wants[i].resource] += wants[i].units;
    pool->gives++;
    pool->waiting = 0;
    pthread_cond_broadcast(&pool->changed);
    pthread_mutex_unlock(&pool->lock);
}

/* ------------------------------------------------------------------ the load */

struct worker {
    pthread_t thread;
    struct pool *pool; /* or */
    gordian_bank *bank;
    uint32_t process;
    struct random random;
    atomic_bool *stop;
    atomic_ulong rounds; /* finished: all claimed, all given back */
    bool impatient;      /* has time limits, and may be cancelled */
    unsigned long given_up;
    const char *problem;
};

static bool take(struct worker *worker, const gordian_want *wants, size_t count)
{
    gordian_answer answer;
    if (worker->pool)
        return pool_take(worker->pool, wants, count);
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    uint64_t limit = worker->impatient ? random_below(&worker->random, 300000) : UINT64_MAX;
    gordian_status status =
        gordian_bank_acquire(worker->bank, worker->process, wants, count, limit, &answer, NULL);
    bool lent = status == GORDIAN_OK && answer.verdict == GORDIAN_VERDICT_GRANTED;
    bool ended =
        status == GORDIAN_OK && worker->impatient &&
        (answer.verdict == GORDIAN_VERDICT_CANCELLED || answer.verdict == GORDIAN_VERDICT_UNSAFE ||
         answer.verdict == GORDIAN_VERDICT_UNAVAILABLE);
    if (!lent && !ended)
        worker->problem = "an acquire ended as it must not";
    worker->given_up += ended;
    gordian_answer_free(&answer);
    return lent;
}

static void give(struct worker *worker, const gordian_want *wants, size_t count)
{
    gordian_answer answer;
    if (worker->pool) {
        pool_give(worker->pool, wants, count);
        return;
    }
    gordian_answer_init(&answer, GORDIAN_DETAIL_VERDICT);
    if (gordian_bank_release(worker->bank, worker->process, wants, count, &answer, NULL) !=
            GORDIAN_OK ||
        answer.verdict != GORDIAN_VERDICT_RELEASED)
        worker->problem = "a release failed";
    gordian_answer_free(&answer);
}

/* Borrows up to the whole claim, a few units at a time, in any order; then gives all back. */
static bool round_of(struct worker *worker)
{
    uint64_t held[RESOURCES] = {0};
    gordian_want wants[RESOURCES];
    unsigned steps = 2 + (unsigned)random_below(&worker->random, 4);
    for (unsigned k = 0; k < steps; k++) {
        size_t count = 0;
        for (uint32_t j = 0; j < RESOURCES; j++) {
            uint64_t units = random_below(&worker->random, CLAIM - held[j] + 1);
            if (units > 0 && random_chance(&worker->random, 60))
                wants[count++] = (gordian_want){units, j};
        }
        if (count > 0 && !take(worker, wants, count)) {
            if (worker->impatient && !worker->problem)
                break; /* gives back what it has */
            return false;
        }
        for (size_t i = 0; i < count; i++)
            held[wants[i].resource] += wants[i].units;
        if (random_chance(&worker->random, 20))
            sched_yield();
    }
    size_t count = 0;
    for (uint32_t j = 0; j < RESOURCES; j++)
        if (held[j] > 0)
            wants[count++] = (gordian_want){held[j], j};
    if (count > 0)
        give(worker, wants, count);
    return true;
}

static void *work(void *context)
{
    struct worker *worker = context;
    while (!atomic_load(worker->stop) && round_of(worker))
        atomic_fetch_add(&worker->rounds, 1);
    return NULL;
}

static void start(struct worker *workers, struct pool *pool, gordian_bank *bank, atomic_bool *stop,
                  bool impatient)
{
    for (uint32_t i = 0; i < THREADS; i++) {
        workers[i] = (struct worker){
            .pool = pool, .bank = bank, .process = i, .stop = stop, .impatient = impatient};
        random_seed(&workers[i].random, 1000 + i);
        REQUIRE(pthread_create(&workers[i].thread, NULL, work, &workers[i]) == 0);
    }
}

static void pause_a_little(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* ------------------------------------------------------------------ both */

static void test_pool_gets_stuck(void)
{
    struct pool pool = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct worker workers[THREADS];
    atomic_bool stop = false;
    bool stuck = false;
    for (int j = 0; j < RESOURCES; j++)
        pool.free[j] = UNITS;
    uint64_t begin = clock_ns();
    start(workers, &pool, NULL, &stop, false);
    while (!stuck && clock_ns() - begin < PATIENCE * second) {
        pause_a_little();
        pthread_mutex_lock(&pool.lock);
        stuck = pool.waiting == THREADS; /* and nobody is there to change that */
        pthread_mutex_unlock(&pool.lock);
    }
    double seconds = (double)(clock_ns() - begin) / (double)second;
    unsigned long rounds = 0;
    for (int i = 0; i < THREADS; i++)
        rounds += atomic_load(&workers[i].rounds);
    CHECK(stuck);
    printf("the pool is stuck after %.3f s and %lu rounds\n", seconds, rounds);

    atomic_store(&stop, true);
    pthread_mutex_lock(&pool.lock);
    pool.closed = true;
    pthread_cond_broadcast(&pool.changed);
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < THREADS; i++)
        pthread_join(workers[i].thread, NULL);
}

static gordian_bank *open_bank(const char *engine)
{
    gordian_bank_options options;
    gordian_bank *bank;
    gordian_want claims[RESOURCES];
    gordian_bank_options_init(&options);
    options.engine = engine;
    options.queue = true;
    REQUIRE(gordian_bank_open(&bank, &options, NULL) == GORDIAN_OK);
    for (uint32_t j = 0; j < RESOURCES; j++) {
        uint32_t id;
        REQUIRE(gordian_bank_add_resource(bank, NULL, UNITS, &id, NULL) == GORDIAN_OK && id == j);
        claims[j] = (gordian_want){CLAIM, j};
    }
    for (uint32_t i = 0; i < THREADS; i++) {
        uint32_t id;
        REQUIRE(gordian_bank_add_process(bank, NULL, claims, RESOURCES, &id, NULL, NULL) ==
                    GORDIAN_OK &&
                id == i);
    }
    return bank;
}

/* At any time, nobody has asked twice and no more units are held than exist. */
static void look_at_edges(gordian_bank *bank, uint32_t resource)
{
    gordian_edge edges[THREADS];
    uint64_t held = 0;
    CHECK(gordian_bank_waiters(bank, resource, edges, THREADS) <= THREADS);
    size_t count = gordian_bank_holders(bank, resource, edges, THREADS);
    for (size_t i = 0; i < count; i++)
        held += edges[i].units;
    CHECK(held <= UNITS);
}

/* Has every thread ended a round since it had done so many? Then that is what it has done now. */
static bool all_got_on(struct worker *workers, unsigned long *rounds)
{
    for (int i = 0; i < THREADS; i++)
        if (atomic_load(&workers[i].rounds) <= rounds[i])
            return false;
    for (int i = 0; i < THREADS; i++)
        rounds[i] = atomic_load(&workers[i].rounds);
    return true;
}

/* Looks until the time is up, everybody has got on and somebody has waited: nobody starves. */
static void watch(gordian_bank *bank, struct worker *workers, uint64_t duration)
{
    uint64_t begin = clock_ns(), last = begin;
    unsigned long rounds[THREADS] = {0}, looks = 0, turns = 0;
    while ((clock_ns() - begin < duration || turns == 0 || looks == 0) && test_failed == 0) {
        pause_a_little();
        pthread_mutex_lock(&bank->lock);
        unsigned waiting = bank->waiting;
        pthread_mutex_unlock(&bank->lock);
        CHECK_MSG(waiting < THREADS, "everybody waits");
        for (uint32_t j = 0; j < RESOURCES; j++)
            look_at_edges(bank, j);
        looks += waiting > 0;
        if (all_got_on(workers, rounds)) {
            turns++;
            last = clock_ns();
        }
        CHECK_MSG(clock_ns() - last < PATIENCE * second, "somebody does not get on");
    }
}

static void test_bank_goes_on(const char *engine, uint64_t duration)
{
    gordian_bank *bank = open_bank(engine);
    struct worker workers[THREADS];
    atomic_bool stop = false;
    unsigned long rounds = 0, fewest = ULONG_MAX;
    start(workers, NULL, bank, &stop, false);
    watch(bank, workers, duration);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_MSG(!workers[i].problem, "%s", workers[i].problem);
        unsigned long done = atomic_load(&workers[i].rounds);
        rounds += done;
        fewest = done < fewest ? done : fewest;
    }
    for (uint32_t j = 0; j < RESOURCES; j++)
        CHECK(gordian_bank_free_units(bank, j) == UNITS);
    printf("the bank (%s) is not: %lu rounds in %.1f s, at least %lu by each thread\n", engine,
           rounds, (double)duration / (double)second, fewest);
    gordian_bank_close(bank);
}

/* Cancels whoever waits, again and again, or ends processes' waits by changing totals. */
static void disturb(gordian_bank *bank, uint64_t duration, unsigned long *cancelled)
{
    struct random random;
    gordian_answer answer;
    random_seed(&random, 77);
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    for (uint64_t begin = clock_ns(); clock_ns() - begin < duration || *cancelled == 0;) {
        uint32_t resource = (uint32_t)random_below(&random, RESOURCES);
        gordian_bank_cancel(bank, (uint32_t)random_below(&random, THREADS), &answer, NULL);
        *cancelled += answer.verdict == GORDIAN_VERDICT_CANCELLED;
        gordian_bank_set_units(bank, resource, UNITS + random_below(&random, 3), &answer, NULL);
        CHECK(answer.verdict != GORDIAN_VERDICT_REFUSED);
        nanosleep(&(struct timespec){.tv_nsec = 50000}, NULL);
    }
    gordian_answer_free(&answer);
}

static void test_disturbed(uint64_t duration)
{
    gordian_bank *bank = open_bank("holt");
    struct worker workers[THREADS];
    atomic_bool stop = false;
    unsigned long cancelled = 0, given_up = 0;
    start(workers, NULL, bank, &stop, true);
    disturb(bank, duration, &cancelled);
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(workers[i].thread, NULL);
        CHECK_MSG(!workers[i].problem, "%s", workers[i].problem);
        given_up += workers[i].given_up;
    }
    CHECK(cancelled > 0 && given_up >= cancelled && bank->waiting == 0 && bank->head == NONE);
    for (uint32_t j = 0; j < RESOURCES; j++)
        CHECK(gordian_bank_free_units(bank, j) == gordian_bank_units(bank, j));
    printf("%lu requests cancelled, %lu out of time\n", cancelled, given_up - cancelled);
    gordian_bank_close(bank);
}

int main(void)
{
    uint64_t percent = test_scale();
    test_pool_gets_stuck();
    test_bank_goes_on("holt", 6 * second * percent / 100 * 5 / 6);
    test_bank_goes_on("dense", 6 * second * percent / 100 / 6);
    test_disturbed(second / 5 + second * percent / 100 / 4);
    return test_done();
}

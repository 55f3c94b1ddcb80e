/*
 * A connection pool that cannot deadlock. Every worker needs two connections for a transaction
 * and takes them one after the other. With three connections and more than two workers, a plain
 * pool deadlocks as soon as three workers hold one connection each. This pool asks a bank first.
 * The bank grants only requests after which all workers can still finish.
 *
 *     cc -pthread pool.c $(pkg-config --cflags --libs gordian)
 */
#include <gordian/gordian.h>

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CONNECTIONS  3
#define NEEDED       2 /* by each worker, at the same time */
#define WORKERS      8
#define TRANSACTIONS 500

/* ------------------------------------------------------------------ the pool */

struct pool {
    gordian_bank *bank; /* decides which worker may take a connection, and when */
    uint32_t resource;
    pthread_mutex_t lock; /* protects the list of connections */
    int free[CONNECTIONS];
    int free_count;
};

/* For this example only: a real program would return the status. */
static void must(gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK) {
        fprintf(stderr, "pool: %s\n", error->message);
        exit(EXIT_FAILURE);
    }
}

static void pool_open(struct pool *pool)
{
    gordian_error error;
    gordian_bank_options options;
    gordian_bank_options_init(&options);
    options.queue = true; /* gordian_bank_acquire can then sleep, without starvation */
    must(gordian_bank_open(&pool->bank, &options, &error), &error);
    must(gordian_bank_add_resource(pool->bank, "connection", CONNECTIONS, &pool->resource, &error),
         &error);
    pthread_mutex_init(&pool->lock, NULL);
    for (pool->free_count = 0; pool->free_count < CONNECTIONS; pool->free_count++)
        pool->free[pool->free_count] = pool->free_count;
}

static void pool_close(struct pool *pool)
{
    gordian_bank_close(pool->bank);
    pthread_mutex_destroy(&pool->lock);
}

/* A worker declares how many connections it will ever hold at once. */
static uint32_t pool_join(struct pool *pool, const char *name)
{
    gordian_error error;
    gordian_want claim = {.units = NEEDED, .resource = pool->resource};
    uint32_t worker;
    must(gordian_bank_add_process(pool->bank, name, &claim, 1, &worker, NULL, &error), &error);
    return worker;
}

static void pool_leave(struct pool *pool, uint32_t worker)
{
    gordian_error error;
    must(gordian_bank_exit(pool->bank, worker, NULL, &error), &error);
}

/* Sleeps until the worker may have one more connection. */
static int pool_take(struct pool *pool, uint32_t worker)
{
    gordian_error error;
    gordian_want one = {.units = 1, .resource = pool->resource};
    must(gordian_bank_acquire(pool->bank, worker, &one, 1, UINT64_MAX, NULL, &error), &error);
    pthread_mutex_lock(&pool->lock);
    int connection = pool->free_count > 0 ? pool->free[--pool->free_count] : -1;
    pthread_mutex_unlock(&pool->lock);
    return connection; /* never -1: the bank grants no more than exist */
}

static void pool_give_back(struct pool *pool, uint32_t worker, int connection)
{
    gordian_error error;
    gordian_want one = {.units = 1, .resource = pool->resource};
    pthread_mutex_lock(&pool->lock);
    pool->free[pool->free_count++] = connection;
    pthread_mutex_unlock(&pool->lock);
    must(gordian_bank_release(pool->bank, worker, &one, 1, NULL, &error), &error);
}

/* ------------------------------------------------------------------ demonstration of the danger */

/* Three workers each request a first connection. Prints the answer of the bank to each. */
static void show_the_danger(struct pool *pool)
{
    static const char *const names[] = {"Ann", "Bob", "Cal"};
    uint32_t workers[3];
    gordian_error error;
    gordian_answer answer;
    gordian_want one = {.units = 1, .resource = pool->resource};
    gordian_answer_init(&answer, GORDIAN_DETAIL_REASONS);
    for (int i = 0; i < 3; i++) {
        workers[i] = pool_join(pool, names[i]);
        /* In two steps, so that no worker has to wait in this demonstration. */
        must(gordian_bank_try(pool->bank, workers[i], &one, 1, &answer, &error), &error);
        printf("%s takes a connection: %s\n", names[i], gordian_verdict_text(answer.verdict));
        if (answer.verdict == GORDIAN_VERDICT_GRANTED)
            must(gordian_bank_commit(pool->bank, workers[i], NULL, &error), &error);
    }
    for (size_t i = 0; i < answer.lack_count; i++) {
        char name[GORDIAN_NAME_MAX + 1];
        printf("    %s might wait for %llu more for ever\n",
               gordian_bank_process_name(pool->bank, answer.lacks[i].process, name),
               (unsigned long long)answer.lacks[i].units);
    }
    for (int i = 0; i < 3; i++)
        pool_leave(pool, workers[i]);
    gordian_answer_free(&answer);
}

/* ------------------------------------------------------------------ work */

struct worker {
    pthread_t thread;
    struct pool *pool;
    int done;
    int wrong; /* connections that were missing, or that another worker also had */
};

static void *work(void *context)
{
    struct worker *worker = context;
    struct pool *pool = worker->pool;
    uint32_t me = pool_join(pool, NULL);
    for (int i = 0; i < TRANSACTIONS; i++) {
        int from = pool_take(pool, me);
        sched_yield(); /* lets other workers take theirs */
        int to = pool_take(pool, me);
        worker->wrong += from < 0 || to < 0 || from == to;
        worker->done++;
        pool_give_back(pool, me, to);
        pool_give_back(pool, me, from);
    }
    pool_leave(pool, me);
    return NULL;
}

int main(void)
{
    struct pool pool;
    struct worker workers[WORKERS];
    int done = 0, wrong = 0;
    pool_open(&pool);
    printf("%d connections; each worker needs %d, one after the other\n\n", CONNECTIONS, NEEDED);
    show_the_danger(&pool);

    for (int i = 0; i < WORKERS; i++) {
        workers[i] = (struct worker){.pool = &pool};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            fprintf(stderr, "pool: cannot start a thread\n");
            return EXIT_FAILURE;
        }
    }
    for (int i = 0; i < WORKERS; i++) {
        pthread_join(workers[i].thread, NULL);
        done += workers[i].done;
        wrong += workers[i].wrong;
    }
    printf("\n%d workers at once: %d of %d transactions done, %d wrong\n", WORKERS, done,
           WORKERS * TRANSACTIONS, wrong);
    printf("connections back in the pool: %d\n", pool.free_count);
    pool_close(&pool);
    return EXIT_SUCCESS;
}

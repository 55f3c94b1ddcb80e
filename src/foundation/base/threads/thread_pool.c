#include "foundation/base/threads/thread_pool.h"

#include "foundation/base/error.h"
#include "foundation/base/machine.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/park.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#define MEET_SPINS 4000u /* polls before a thread that waits for the others sleeps */

struct member {
    struct thread_pool *pool;
    unsigned number;
    pthread_t thread;
};

struct thread_pool {
    gordian_allocator memory;
    pthread_mutex_t lock;
    pthread_cond_t begin, end;
    struct member *members;
    unsigned size;
    unsigned busy;       /* members that have not finished the current task */
    unsigned long round; /* number of tasks so far */
    bool over;
    void (*work)(void *context, unsigned member);
    void *context;
    _Atomic unsigned here; /* at the barrier */
    _Atomic uint32_t meetings;
    unsigned spins; /* 0 if members share cores */
};

static void *member_lives(void *argument)
{
    struct member *me = argument;
    struct thread_pool *pool = me->pool;
    unsigned long round = 0;
    pthread_mutex_lock(&pool->lock);
    for (;;) {
        while (pool->round == round && !pool->over)
            pthread_cond_wait(&pool->begin, &pool->lock);
        if (pool->over)
            break;
        round = pool->round;
        pthread_mutex_unlock(&pool->lock);
        pool->work(pool->context, me->number);
        pthread_mutex_lock(&pool->lock);
        if (--pool->busy == 0)
            pthread_cond_signal(&pool->end);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

gordian_status thread_pool_open(struct thread_pool **out, unsigned wanted,
                                const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    if (wanted == 0) {
        struct machine machine;
        machine_describe(&machine);
        wanted = machine.cores ? machine.cores : 1;
    }
    struct thread_pool *pool = memory_zeroed(memory, sizeof *pool);
    struct member *members = memory_alloc(memory, wanted * sizeof *members);
    if (!pool || !members) {
        memory_free_all(memory, pool, members);
        return fail_memory(error);
    }
    pool->memory = *memory;
    pool->members = members;
    pool->spins = sysconf(_SC_NPROCESSORS_ONLN) >= (long)wanted ? MEET_SPINS : 0;
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->begin, NULL);
    pthread_cond_init(&pool->end, &attributes);
    pthread_condattr_destroy(&attributes);
    while (pool->size < wanted) {
        struct member *member = &members[pool->size];
        *member = (struct member){.pool = pool, .number = pool->size};
        if (pthread_create(&member->thread, NULL, member_lives, member) != 0)
            break;
        pool->size++;
    }
    if (pool->size == 0) {
        thread_pool_close(pool);
        return fail(error, GORDIAN_STATUS_MEMORY, "no thread could be started");
    }
    *out = pool;
    return GORDIAN_OK;
}

void thread_pool_close(struct thread_pool *pool)
{
    if (!pool)
        return;
    gordian_allocator memory = pool->memory;
    pthread_mutex_lock(&pool->lock);
    pool->over = true;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned i = 0; i < pool->size; i++)
        pthread_join(pool->members[i].thread, NULL);
    pthread_cond_destroy(&pool->begin);
    pthread_cond_destroy(&pool->end);
    pthread_mutex_destroy(&pool->lock);
    memory_free_all(&memory, pool->members, pool);
}

void thread_pool_do(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                    void *context)
{
    if (!pool) {
        work(context, 0);
        return;
    }
    thread_pool_start(pool, work, context);
    thread_pool_wait(pool, NULL, NULL);
}

void thread_group_open(struct thread_group *group, unsigned threads,
                       const gordian_allocator *memory)
{
    *group = (struct thread_group){.members = 1};
    if (threads > 1 && thread_pool_open(&group->pool, threads, memory, NULL) == GORDIAN_OK)
        group->members = thread_pool_size(group->pool);
}

void thread_group_close(struct thread_group *group)
{
    thread_pool_close(group->pool);
}

void thread_group_do(struct thread_group *group, void (*work)(void *context, unsigned member),
                     void *context)
{
    group->next = 0;
    thread_pool_do(group->pool, work, context);
}

void thread_pool_run(unsigned members, void (*work)(void *context, unsigned member), void *context)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct thread_group group;
    thread_group_open(&group, members, &memory);
    thread_group_do(&group, work, context);
    thread_group_close(&group);
}

unsigned thread_pool_size(const struct thread_pool *pool)
{
    return pool->size;
}

void thread_pool_start(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                       void *context)
{
    pthread_mutex_lock(&pool->lock);
    pool->work = work;
    pool->context = context;
    pool->busy = pool->size;
    pool->round++;
    pthread_cond_broadcast(&pool->begin);
    pthread_mutex_unlock(&pool->lock);
}

void thread_pool_wait(struct thread_pool *pool, void (*watch)(void *context), void *context)
{
    pthread_mutex_lock(&pool->lock);
    while (pool->busy > 0) {
        struct timespec until;
        clock_gettime(CLOCK_MONOTONIC, &until);
        until.tv_nsec += 50000000;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        int failure = pthread_cond_timedwait(&pool->end, &pool->lock, &until);
        if (failure == ETIMEDOUT && watch && pool->busy > 0) {
            pthread_mutex_unlock(&pool->lock);
            watch(context);
            pthread_mutex_lock(&pool->lock);
        }
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Spins first: most barriers take less time than sleeping and waking up. */
static void await_end(struct thread_pool *pool, uint32_t meeting)
{
    for (unsigned i = 0; i < pool->spins; i++) {
        if (atomic_load_explicit(&pool->meetings, memory_order_acquire) != meeting)
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    while (atomic_load_explicit(&pool->meetings, memory_order_acquire) == meeting)
        park_wait(&pool->meetings, meeting, UINT64_MAX);
}

void thread_pool_meet_to(struct thread_pool *pool, void (*work)(void *context), void *context)
{
    uint32_t meeting = atomic_load_explicit(&pool->meetings, memory_order_acquire);
    if (atomic_fetch_add_explicit(&pool->here, 1, memory_order_acq_rel) + 1 < pool->size) {
        await_end(pool, meeting);
        return;
    }
    atomic_store_explicit(&pool->here, 0, memory_order_relaxed);
    if (work)
        work(context);
    atomic_store_explicit(&pool->meetings, meeting + 1, memory_order_release);
    park_wake(&pool->meetings);
}

void thread_pool_meet(struct thread_pool *pool)
{
    thread_pool_meet_to(pool, NULL, NULL);
}

/* Threads that work together, one piece of work at a time, while the caller watches: it is the
 * caller's thread that reports progress and can stop them. */
#pragma once

#include <gordian/gordian.h>

#include <pthread.h>
#include <stdint.h>

struct thread_pool;

/* Starts at most `wanted` threads (0: one for every core); at least one, or GORDIAN_STATUS_MEMORY.
 */
gordian_status thread_pool_open(struct thread_pool **out, unsigned wanted,
                                const gordian_allocator *memory, gordian_error *error);
void thread_pool_close(struct thread_pool *pool); /* NULL is fine */
unsigned thread_pool_size(const struct thread_pool *pool);

/* All members call work(context, member) and the call returns at once: thread_pool_wait. */
void thread_pool_start(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                       void *context);
/* Waits until all are done; calls `watch`, if not NULL, about every 50 ms meanwhile. */
void thread_pool_wait(struct thread_pool *pool, void (*watch)(void *context), void *context);

/* Within work: waits until all members are here. */
void thread_pool_meet(struct thread_pool *pool);
/* The same, and the last who comes does this before anybody goes on. */
void thread_pool_meet_to(struct thread_pool *pool, void (*work)(void *context), void *context);

/* The two together. NULL: the caller does it, as the only member. */
void thread_pool_do(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                    void *context);

/* One piece of work in which nobody meets and any one can do all: by a pool for it, or, if that is
 * to have one member or cannot be, by the caller. */
void thread_pool_run(unsigned members, void (*work)(void *context, unsigned member), void *context);

/* A pool, or the caller alone where threads cannot be had, for one step of work after another. What
 * a step is about is handed out piece by piece, or divided in order. */
struct thread_group {
    struct thread_pool *pool; /* NULL: one member, the caller */
    unsigned members;
    uint64_t next; /* what is handed out next */
};

/* At most so many members. */
void thread_group_open(struct thread_group *group, unsigned threads,
                       const gordian_allocator *memory);
void thread_group_close(struct thread_group *group);
/* All members do it; it is done when this returns. */
void thread_group_do(struct thread_group *group, void (*work)(void *context, unsigned member),
                     void *context);

/* The next `count` of `limit` things go to the member that asks: from begin to end; false: there
 * are none. */
static inline bool thread_group_take(struct thread_group *group, uint64_t limit, uint64_t count,
                                     uint64_t *begin, uint64_t *end)
{
    *begin = __atomic_fetch_add(&group->next, count, __ATOMIC_RELAXED);
    *end = limit - *begin < count ? limit : *begin + count;
    return *begin < limit;
}

/* A member's share of `count` things, in their order. */
static inline void thread_group_range(const struct thread_group *group, unsigned member,
                                      uint64_t count, uint64_t *begin, uint64_t *end)
{
    *begin = count * member / group->members;
    *end = count * (member + 1) / group->members;
}

/* Thread pool: its threads do one task at a time together, while the caller's thread reports
 * progress and can stop them. */
#pragma once

#include <gordian/gordian.h>

#include <pthread.h>
#include <stdint.h>

struct thread_pool;

/* Starts at most `wanted` threads (0: one per core), at least one; otherwise GORDIAN_STATUS_MEMORY.
 */
gordian_status thread_pool_open(struct thread_pool **out, unsigned wanted,
                                const gordian_allocator *memory, gordian_error *error);
void thread_pool_close(struct thread_pool *pool); /* NULL is allowed */
unsigned thread_pool_size(const struct thread_pool *pool);

/* Starts work(context, member) on all members and returns at once; see thread_pool_wait. */
void thread_pool_start(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                       void *context);
/* Waits until all members are done. Meanwhile calls `watch`, if not NULL, about every 50 ms. */
void thread_pool_wait(struct thread_pool *pool, void (*watch)(void *context), void *context);

/* Barrier, within work: waits for all members. */
void thread_pool_meet(struct thread_pool *pool);
/* The same; the last member to arrive calls `work` before the others continue. */
void thread_pool_meet_to(struct thread_pool *pool, void (*work)(void *context), void *context);

/* thread_pool_start and thread_pool_wait. NULL: the caller does the work as the only member. */
void thread_pool_do(struct thread_pool *pool, void (*work)(void *context, unsigned member),
                    void *context);

/* Runs work that has no barriers, and that one member could do alone: in a new pool, or, for one
 * member or without threads, in the caller. */
void thread_pool_run(unsigned members, void (*work)(void *context, unsigned member), void *context);

/* A pool, or the caller alone if there are no threads, for a sequence of tasks. The items of a task
 * are handed out in pieces, or divided in order. */
struct thread_group {
    struct thread_pool *pool; /* NULL: one member, the caller */
    unsigned members;
    uint64_t next; /* next item to hand out */
};

/* Opens a group of at most `threads` members. */
void thread_group_open(struct thread_group *group, unsigned threads,
                       const gordian_allocator *memory);
void thread_group_close(struct thread_group *group);
/* Runs the task on all members and waits for them. */
void thread_group_do(struct thread_group *group, void (*work)(void *context, unsigned member),
                     void *context);

/* Hands the next `count` of `limit` items to the calling member: begin to end. False: none left. */
static inline bool thread_group_take(struct thread_group *group, uint64_t limit, uint64_t count,
                                     uint64_t *begin, uint64_t *end)
{
    *begin = __atomic_fetch_add(&group->next, count, __ATOMIC_RELAXED);
    *end = limit - *begin < count ? limit : *begin + count;
    return *begin < limit;
}

/* A member's share of `count` items, in order. */
static inline void thread_group_range(const struct thread_group *group, unsigned member,
                                      uint64_t count, uint64_t *begin, uint64_t *end)
{
    *begin = count * member / group->members;
    *end = count * (member + 1) / group->members;
}

/* Threads that work together, one piece of work at a time, while the caller watches: it is the
 * caller's thread that reports progress and can stop them. */
#ifndef GORDIAN_FOUNDATION_BASE_THREADS_THREAD_POOL_H
#define GORDIAN_FOUNDATION_BASE_THREADS_THREAD_POOL_H

#include <gordian/gordian.h>

#include <pthread.h>

struct team;

/* Starts at most `wanted` threads (0: one for every core); at least one, or GORDIAN_STATUS_MEMORY.
 */
gordian_status team_open(struct team **out, unsigned wanted, const gordian_allocator *memory,
                         gordian_error *error);
void team_close(struct team *team); /* NULL is fine */
unsigned team_size(const struct team *team);

/* All members call work(context, member) and the call returns at once: team_wait. */
void team_start(struct team *team, void (*work)(void *context, unsigned member), void *context);
/* Waits until all are done; calls `watch`, if not NULL, about every 50 ms meanwhile. */
void team_wait(struct team *team, void (*watch)(void *context), void *context);

/* Within work: waits until all members are here. */
void team_meet(struct team *team);
/* The same, and the last who comes does this before anybody goes on. */
void team_meet_to(struct team *team, void (*work)(void *context), void *context);

/* The two together. NULL: the caller does it, as the only member. */
void team_do(struct team *team, void (*work)(void *context, unsigned member), void *context);

/* One piece of work in which nobody meets and any one can do all: by a team for it, or, if that is
 * to have one member or cannot be, by the caller. */
void team_run(unsigned members, void (*work)(void *context, unsigned member), void *context);

#endif

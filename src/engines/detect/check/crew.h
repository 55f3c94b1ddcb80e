/* The threads that judge a snapshot: they do one step after the other together, and what a step is
 * about is handed out piece by piece, or divided in order. */
#ifndef GORDIAN_ENGINES_DETECT_CHECK_CREW_H
#define GORDIAN_ENGINES_DETECT_CHECK_CREW_H

#include "foundation/base/threads/thread_pool.h"

#include <stdint.h>

struct check_crew {
    struct team *team; /* NULL: one member, the caller */
    unsigned members;
    uint64_t turn; /* what is handed out next */
};

/* At most so many; fewer, down to the caller alone, where threads cannot be had. */
static inline void crew_open(struct check_crew *crew, unsigned threads,
                             const gordian_allocator *memory)
{
    *crew = (struct check_crew){.members = 1};
    if (threads > 1 && team_open(&crew->team, threads, memory, NULL) == GORDIAN_OK)
        crew->members = team_size(crew->team);
}

static inline void crew_close(struct check_crew *crew)
{
    team_close(crew->team);
}

/* All members do it; it is done when this returns. */
static inline void crew_do(struct check_crew *crew, void (*work)(void *context, unsigned member),
                           void *context)
{
    crew->turn = 0;
    team_do(crew->team, work, context);
}

/* The next `count` of `limit` things go to who asks: from begin to end; false: there are none. */
static inline bool crew_take(struct check_crew *crew, uint64_t limit, uint64_t count,
                             uint64_t *begin, uint64_t *end)
{
    *begin = __atomic_fetch_add(&crew->turn, count, __ATOMIC_RELAXED);
    *end = limit - *begin < count ? limit : *begin + count;
    return *begin < limit;
}

/* A member's part of `count` things, in their order. */
static inline void crew_range(const struct check_crew *crew, unsigned member, uint64_t count,
                              uint64_t *begin, uint64_t *end)
{
    *begin = count * member / crew->members;
    *end = count * (member + 1) / crew->members;
}

#endif

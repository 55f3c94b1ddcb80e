/* Ends deadlocks, where that was asked for: cancels the victim's statement, looks again, and ends
 * its session if what the others wait for is still held (a session's advisory lock, a transaction
 * that its client does not roll back). Never a prepared transaction, never one that is not the same
 * session any more, one at a time for each deadlock.
 */
#ifndef GORDIAN_WATCH_ACT_H
#define GORDIAN_WATCH_ACT_H

#include "watch/advice.h"

enum act_event {
    ACT_NOTHING,
    ACT_ORDERED, /* the server was asked */
    ACT_REFUSED, /* it did not do it; `source->trouble` may say why */
    ACT_FREED,   /* what was waited for is free, or waited for by nobody */
    ACT_STAYED,  /* done, and nothing has changed: given up */
};

struct act {
    uint32_t source;
    int64_t pid;
    char started[48];
    enum remedy remedy;
    bool ordered; /* waits for the server's answer */
    bool over;
    uint64_t key;         /* of the edge that is to go */
    uint64_t done, looks; /* when it was done, and how many looks there had been */
};

struct acts {
    struct act *list;
    size_t count, room;
    enum remedy first; /* what is tried first */
    uint64_t grace_ns; /* how long what is done has to show */
    gordian_allocator memory;
};

void acts_open(struct acts *acts, const gordian_allocator *memory);
void acts_close(struct acts *acts);
/* Is somebody being ended for this deadlock already, or in vain? Otherwise begins; false: out of
 * memory. `begun`: it was. */
bool acts_begin(struct acts *acts, const struct deadlock *deadlock, const struct advice *advice,
                struct source *const *sources, bool *begun);
/* What has become of one; to be called for each after every look. */
enum act_event act_step(struct acts *acts, struct act *act, struct source *const *sources,
                        uint64_t now);
/* Is there one that is not over? */
bool acts_pending(const struct acts *acts);

#endif

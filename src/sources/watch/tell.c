#include "sources/watch/tell.h"

#include <stdio.h>
#include <string.h>

void tell_name(const struct telling *telling, struct member member, char *text, size_t size)
{
    const struct session *session = member_session(telling->sources, member);
    const char *label = telling->sources[member.source]->label;
    if (session->pid > 0)
        snprintf(text, size, "%s/%lld", label, (long long)session->pid);
    else
        snprintf(text, size, "%s/'%s'", label, session->gid ? session->gid : "?");
}

void tell_resource(const struct telling *telling, const struct arrow_between *arrow, char *text,
                   size_t size)
{
    const struct look *look = &telling->sources[arrow->from.source]->look;
    if (arrow->link != LOOK_NONE) {
        snprintf(text, size, "%s", telling->links->list[arrow->link].client);
        return;
    }
    const struct wait *wait = &look->waits[look->edges[arrow->edge].wait];
    snprintf(text, size, "%s", *wait->row ? wait->row : wait->object);
}

const char *tell_holding(const struct telling *telling, const struct arrow_between *arrow)
{
    if (arrow->link == LOOK_NONE)
        return arrow->soft ? "queued for by" : "held by";
    const struct link *link = &telling->links->list[arrow->link];
    return link->caller ? "runs as" : link->any ? "its thread" : "busy in";
}

void tell_title(const struct deadlock *deadlock, char *text, size_t size)
{
    size_t sessions = deadlock->cycle_count;
    if (deadlock->threads) {
        snprintf(text, size,
                 "%zu threads and %zu sessions wait for each other, which no server can see",
                 deadlock->threads, sessions - deadlock->threads);
        return;
    }
    if (deadlock->server_count > 1)
        snprintf(text, size,
                 "%zu sessions of %zu servers wait for each other, which no server can see",
                 sessions, deadlock->server_count);
    else
        snprintf(text, size, "%zu sessions wait for each other", sessions);
}

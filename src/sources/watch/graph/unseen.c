/* Collects what could not be observed. */
#include "sources/watch/graph/unseen.h"

#include <string.h>

#define CALLS                                                                                      \
    "blocks others and waits for an answer from another server (postgres_fdw, dblink), but the "   \
    "session there is not visible: watch the other server as well, and let "                       \
    "postgres_fdw.application_name end in %c, or run the watcher as root on this server's machine"

void unseen_open(struct unseen_list *unseen, const gordian_allocator *memory)
{
    *unseen = (struct unseen_list){.memory = *memory};
}

void unseen_close(struct unseen_list *unseen)
{
    memory_free(&unseen->memory, unseen->list);
    *unseen = (struct unseen_list){.memory = unseen->memory};
}

/* Adds an entry, or counts another session in an existing entry. */
static bool add_unseen(struct unseen_list *unseen, uint32_t source, uint32_t session,
                       const char *reason)
{
    for (size_t i = 0; i < unseen->count && session != SCAN_NONE; i++)
        if (unseen->list[i].source == source && unseen->list[i].sessions &&
            strcmp(unseen->list[i].reason, reason) == 0) {
            unseen->list[i].sessions++;
            return true;
        }
    if (!memory_extend(&unseen->memory, unseen->list, unseen->capacity, unseen->count))
        return false;
    unseen->list[unseen->count++] = (struct unseen){source, session != SCAN_NONE, session, reason};
    return true;
}

static const char *reason_of(const struct scan *scan, uint32_t source, uint32_t number,
                             const struct links *links)
{
    const struct session *session = &scan->sessions[number];
    bool blocks = false;
    if (session->since >= scan->asked)
        return NULL; /* may have ended already */
    if (session->unseen)
        return session->unseen;
    for (size_t i = 0; i < scan->edge_count; i++)
        blocks |= scan->edges[i].holder == number;
    for (size_t i = 0; i < links->count; i++)
        if (links->list[i].from.source == source && links->list[i].from.session == number)
            return NULL;
    return session->calls && session->wait == SCAN_NONE && blocks ? CALLS : NULL;
}

static bool take_source(struct unseen_list *unseen, const struct source *source, uint32_t number,
                        const struct links *links)
{
    const struct scan *scan = &source->scan;
    if (source->parked)
        return true; /* another address of a watched server */
    if (!scan->whole)
        return add_unseen(unseen, number, SCAN_NONE,
                          *source->trouble ? source->trouble : "the server has not answered yet");
    if (!source->inspector && !source->facts.sees_activity && scan->wait_count &&
        !add_unseen(unseen, number, SCAN_NONE, source->facts.lacks))
        return false;
    for (uint32_t i = 0; i < scan->session_count; i++) {
        const char *reason = reason_of(scan, number, i, links);
        if (reason && !add_unseen(unseen, number, i, reason))
            return false;
    }
    return true;
}

bool unseen_take(struct unseen_list *unseen, struct source *const *sources, size_t count,
                 const struct links *links)
{
    unseen->count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!take_source(unseen, sources[i], i, links))
            return false;
    return true;
}

#include "sources/watch/graph/links.h"

#include "foundation/base/error.h"
#include "sources/watch/graph/inspected_process.h"
#include "sources/watch/graph/local_clients.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void links_open(struct links *links, const gordian_allocator *memory)
{
    *links = (struct links){.memory = *memory, .sleepers = {.memory = *memory}};
    arena_init(&links->arena, memory);
}

void links_close(struct links *links)
{
    if (links->has_pattern)
        regfree(&links->pattern);
    locals_close(links->locals);
    sleepers_close(&links->sleepers);
    arena_free(&links->arena);
    memory_free_all(&links->memory, links->list, links->seats);
    *links = (struct links){.memory = links->memory};
}

gordian_status links_set(struct links *links, const char *pattern, gordian_error *error)
{
    char why[128];
    int failure = regcomp(&links->pattern, pattern, REG_EXTENDED);
    if (failure) {
        regerror(failure, &links->pattern, why, sizeof why);
        return fail(error, GORDIAN_STATUS_INPUT, "--link: '%.60s' is no regular expression: %s",
                    pattern, why);
    }
    if (links->pattern.re_nsub == 0) {
        regfree(&links->pattern);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--link: '%.60s' has no group: sessions are one client if the first group "
                    "matches the same",
                    pattern);
    }
    links->has_pattern = true;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ links */

static bool push_link(struct links *links, const struct link *link)
{
    if (!link->client || !memory_extend(&links->memory, links->list, links->room, links->count))
        return false;
    links->list[links->count++] = *link;
    return true;
}

static bool add_link(struct links *links, struct member from, struct member to, bool caller,
                     const char *client, uint64_t since)
{
    const struct link link = {
        .from = from, .to = to, .caller = caller, .client = client, .since = since};
    return push_link(links, &link);
}

static const struct session *session_of(struct source *const *sources, struct member member)
{
    return &sources[member.source]->scan.sessions[member.session];
}

static const char *client_name(struct links *links, const char *format, const char *name)
{
    char text[200];
    int length = snprintf(text, sizeof text, format, name);
    return arena_text(&links->arena, text, length < (int)sizeof text ? (size_t)length : 199);
}

/* ------------------------------------------------------------------ groups */

/* A session with what makes it one client with others. */
struct seat {
    struct member member;
    const char *client; /* the same text: the same client */
    bool process;       /* by its process: see local_clients.h */
};

static bool add_seat(struct links *links, struct member member, const char *client, bool process)
{
    if (!client ||
        !memory_extend(&links->memory, links->seats, links->seat_room, links->seat_count))
        return false;
    links->seats[links->seat_count++] = (struct seat){member, client, process};
    return true;
}

static int compare_seats(const void *left, const void *right)
{
    const struct seat *one = left, *other = right;
    return strcmp(one->client, other->client);
}

/* The one that waits for a lock, if it is one only; NULL: none, or the client does several things
 * at a time. */
static const struct seat *busy_seat(const struct seat *seats, size_t count,
                                    struct source *const *sources)
{
    const struct seat *busy = NULL;
    size_t idle = 0;
    for (size_t i = 0; i < count; i++) {
        const struct session *session = session_of(sources, seats[i].member);
        idle += session->idle;
        if (session->wait == SCAN_NONE)
            continue;
        if (busy)
            return NULL;
        busy = &seats[i];
    }
    return idle ? busy : NULL;
}

/* Since when a client of this machine sleeps until this session answers; 0: it does not. */
static uint64_t asleep_since(struct links *links, struct source *const *sources,
                             struct member member, enum sleeper_kind kind)
{
    return sleeper_since(&links->sleepers, links->locals, kind, session_of(sources, member),
                         &sources[member.source]->facts);
}

/* Those of one client: the idle ones wait for it, and it waits in the busy one. */
static bool link_group(struct links *links, const struct seat *seats, size_t count,
                       struct source *const *sources)
{
    const struct seat *busy = busy_seat(seats, count, sources);
    uint64_t since = 0;
    if (busy && busy->process) {
        since = asleep_since(links, sources, busy->member, SLEEPER_CLIENT);
        if (!since)
            return true;
    }
    for (size_t i = 0; i < count && busy; i++) {
        if (&seats[i] == busy || !session_of(sources, seats[i].member)->idle)
            continue;
        if (!add_link(links, seats[i].member, busy->member, false, seats[i].client, since))
            return false;
    }
    return true;
}

static bool link_seats(struct links *links, struct source *const *sources)
{
    for (size_t i = 0, end; i < links->seat_count; i = end) {
        end = i + 1;
        while (end < links->seat_count && !compare_seats(&links->seats[i], &links->seats[end]))
            end++;
        if (!link_group(links, links->seats + i, end - i, sources))
            return false;
    }
    return true;
}

/* --link */
static bool seat_by_name(struct links *links, struct member member, const struct session *session)
{
    regmatch_t groups[2];
    if (!links->has_pattern || regexec(&links->pattern, session->application, 2, groups, 0) != 0 ||
        groups[1].rm_so < 0)
        return true;
    char name[128];
    snprintf(name, sizeof name, "%.*s", (int)(groups[1].rm_eo - groups[1].rm_so),
             session->application + groups[1].rm_so);
    return add_seat(links, member, client_name(links, "client %s", name), false);
}

/* A process of this machine, by its address and port. */
static bool seat_by_process(struct links *links, struct source *const *sources,
                            struct member member)
{
    char name[64];
    uint64_t inode;
    if (!session_of(sources, member)->port)
        return true;
    uint32_t pid = locals_process(links->locals, session_of(sources, member),
                                  &sources[member.source]->facts, &inode);
    if (!pid)
        return true;
    snprintf(name, sizeof name, "process %u", pid);
    return add_seat(links, member, client_name(links, "%s", name), true);
}

/* ------------------------------------------------------------------ postgres_fdw, dblink */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Does the application_name of a remote session say that this one has called it? */
static bool is_caller(const struct source *source, const struct session *session,
                      const char *application)
{
    char place[128];
    size_t length = strlen(session->id);
    if (length && strchr(session->id, '.') && ends_with(application, session->id)) {
        size_t before = strlen(application) - length;
        return before == 0 || !isalnum((unsigned char)application[before - 1]);
    }
    if (!source->facts.name[0])
        return false;
    for (const char *mark = ":/- "; *mark; mark++) {
        snprintf(place, sizeof place, "%s%c%lld", source->facts.name, *mark,
                 (long long)session->pid);
        if (ends_with(application, place))
            return true;
    }
    return false;
}

/* The caller waits for its remote session, or that one for its caller. */
static bool link_call(struct links *links, struct source *const *sources, struct member caller,
                      struct member remote)
{
    const struct session *one = session_of(sources, caller), *other = session_of(sources, remote);
    bool busy = one->wait != SCAN_NONE, remote_busy = other->wait != SCAN_NONE;
    bool here = caller.source == remote.source;
    if (one->active && !busy && remote_busy)
        return add_link(links, caller, remote, true,
                        here ? "its query in another session" : "its query on the other server", 0);
    if (busy && other->idle)
        return add_link(links, remote, caller, false, "the session that has called it", 0);
    return true;
}

/* The server may be the same: a foreign server can be the one that it is on. */
static bool find_callers(struct links *links, struct source *const *sources, size_t count,
                         struct member remote)
{
    const char *application = session_of(sources, remote)->application;
    size_t length = strlen(application);
    if (!length || !isalnum((unsigned char)application[length - 1]))
        return true;
    for (uint32_t i = 0; i < count; i++) {
        const struct scan *scan = &sources[i]->scan;
        for (uint32_t k = 0; k < scan->session_count; k++)
            if (scan->sessions[k].pid > 0 && (i != remote.source || k != remote.session) &&
                is_caller(sources[i], &scan->sessions[k], application) &&
                !link_call(links, sources, (struct member){i, k}, remote))
                return false;
    }
    return true;
}

/* dblink, and postgres_fdw without a name: the client of the remote session is a process of this
 * machine that is itself a session of a server here. */
static bool link_backend(struct links *links, struct source *const *sources, struct member caller,
                         struct member remote)
{
    const struct session *one = session_of(sources, caller), *other = session_of(sources, remote);
    bool busy = one->wait != SCAN_NONE, remote_busy = other->wait != SCAN_NONE;
    if (one->active && !busy && remote_busy) {
        uint64_t since = asleep_since(links, sources, remote, SLEEPER_BACKEND);
        return !since ||
               add_link(links, caller, remote, true, "its query in another session", since);
    }
    if (busy && other->idle) {
        uint64_t since = asleep_since(links, sources, remote, SLEEPER_OWNER);
        return !since ||
               add_link(links, remote, caller, false, "the session that has called it", since);
    }
    return true;
}

static bool find_backend(struct links *links, struct source *const *sources, size_t count,
                         struct member remote)
{
    uint64_t inode;
    size_t before = links->count;
    uint32_t pid = locals_process(links->locals, session_of(sources, remote),
                                  &sources[remote.source]->facts, &inode);
    for (uint32_t i = 0; i < count && pid && links->count == before; i++) {
        const struct source *source = sources[i];
        if (source->dialect != &dialect_postgres || !source->facts.near)
            continue;
        uint32_t number = scan_find(&source->scan, pid, NULL);
        if (number != SCAN_NONE && local_started(pid, source->scan.sessions[number].id) &&
            !link_backend(links, sources, (struct member){i, number}, remote))
            return false;
    }
    return true;
}

/* By name, if it has one; otherwise by the process. */
static bool find_remote(struct links *links, struct source *const *sources, size_t count,
                        struct member remote)
{
    size_t before = links->count;
    return find_callers(links, sources, count, remote) &&
           (links->count > before || find_backend(links, sources, count, remote));
}

/* ------------------------------------------------------------------ inspected processes */

/* A thread waits for the session at the other end of its socket. */
static bool link_thread(struct links *links, struct source *const *sources, struct member member,
                        struct member thread)
{
    const struct session *session = session_of(sources, member),
                         *waiter = session_of(sources, thread);
    bool same =
        waiter->port
            ? waiter->port == session->port && strcmp(waiter->address, session->address) == 0 &&
                  local_leads_to(waiter->address, waiter->peer_port, &sources[member.source]->facts)
            : waiter->peer && !session->port && waiter->peer == session->pid;
    return !same || add_link(links, thread, member, true, "its query", 0);
}

/* A session that is idle waits for its client: any thread could go on with it. One that waits for
 * an answer itself, or for the end of another thread, is hardly the one. */
static bool link_owner(struct links *links, struct source *const *sources, struct member member,
                       struct member thread)
{
    const struct session *owner = session_of(sources, thread);
    const struct link link = {
        .from = member,
        .to = thread,
        .any = true,
        .unlikely = owner->joins || owner->port || owner->peer,
        .client = client_name(links, "client %s", sources[thread.source]->label),
    };
    return push_link(links, &link);
}

static bool link_inspected(struct links *links, struct source *const *sources, size_t count,
                           struct member member)
{
    const struct session *session = session_of(sources, member);
    for (uint32_t i = 0; i < count; i++) {
        const struct source *source = sources[i];
        bool owned = source->inspector && session->idle &&
                     inspector_owns(source->inspector, session, &sources[member.source]->facts);
        for (uint32_t k = 0; source->inspector && k < source->scan.session_count; k++) {
            struct member thread = {i, k};
            if (!link_thread(links, sources, member, thread) ||
                (owned && !link_owner(links, sources, member, thread)))
                return false;
        }
    }
    return true;
}

/* ------------------------------------------------------------------ all of them */

static bool seat_session(struct links *links, struct source *const *sources, size_t count,
                         struct member member)
{
    const struct session *session = session_of(sources, member);
    return session->pid <= 0 || session->thread ||
           (seat_by_name(links, member, session) && seat_by_process(links, sources, member) &&
            find_remote(links, sources, count, member) &&
            link_inspected(links, sources, count, member));
}

/* Does anybody wait? Otherwise nothing is linked. One server is enough: a client may have several
 * connections to it, and wait for itself. */
static bool anybody_waits(struct source *const *sources, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (sources[i]->scan.edge_count > 0)
            return true;
    return false;
}

static bool seat_all(struct links *links, struct source *const *sources, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < sources[i]->scan.session_count; k++)
            if (!seat_session(links, sources, count, (struct member){i, k}))
                return false;
    return true;
}

/* Clients of this machine are looked at twice: before and after the other processes are. */
gordian_status links_find(struct links *links, struct source *const *sources, size_t count,
                          gordian_error *error)
{
    bool done = true;
    sleepers_begin(&links->sleepers);
    for (unsigned pass = 0; pass < 2 && done; pass++) {
        links->count = links->seat_count = 0;
        arena_free(&links->arena);
        if (!anybody_waits(sources, count))
            break;
        if (pass == 0)
            locals_read(&links->locals, sources, count);
        else
            sleepers_recount(&links->sleepers, links->locals);
        done = seat_all(links, sources, count);
        if (done && links->seat_count)
            qsort(links->seats, links->seat_count, sizeof *links->seats, compare_seats);
        done = done && link_seats(links, sources);
        if (!sleepers_pending(&links->sleepers))
            break;
    }
    sleepers_end(&links->sleepers);
    return done ? GORDIAN_OK : fail_memory(error);
}

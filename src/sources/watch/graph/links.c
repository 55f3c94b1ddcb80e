/* Finds sessions of several servers that belong to one client: cross-server deadlocks. */
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
    memory_free_all(&links->memory, links->list, links->client_sessions);
    *links = (struct links){.memory = links->memory};
}

gordian_status links_set(struct links *links, const char *pattern, gordian_error *error)
{
    char why[128];
    int failure = regcomp(&links->pattern, pattern, REG_EXTENDED);
    if (failure) {
        regerror(failure, &links->pattern, why, sizeof why);
        return fail(error, GORDIAN_STATUS_INPUT, "--link: '%.60s' is not a regular expression: %s",
                    pattern, why);
    }
    if (links->pattern.re_nsub == 0) {
        regfree(&links->pattern);
        return fail(error, GORDIAN_STATUS_INPUT,
                    "--link: '%.60s' has no group: sessions belong to one client if the first "
                    "group matches the same text",
                    pattern);
    }
    links->has_pattern = true;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ links */

static void push_link(struct links *links, const struct link *link)
{
    if (link->client && memory_extend(&links->memory, links->list, links->capacity, links->count))
        links->list[links->count++] = *link;
    else
        links->failed = true;
}

static void add_link(struct links *links, struct member from, struct member to, bool caller,
                     const char *client, uint64_t since)
{
    const struct link link = {
        .from = from, .to = to, .caller = caller, .client = client, .since = since};
    push_link(links, &link);
}

static const char *client_name(struct links *links, const char *format, const char *name)
{
    char text[200];
    int length = snprintf(text, sizeof text, format, name);
    return arena_text(&links->arena, text, length < (int)sizeof text ? (size_t)length : 199);
}

/* ------------------------------------------------------------------ clients */

/* A session with its client. */
struct client_session {
    struct member member;
    const char *client; /* sessions of the same client have the same text */
    bool process;       /* found by its process: see local_clients.h */
};

static void add_client_session(struct links *links, struct member member, const char *client,
                               bool process)
{
    if (client && memory_extend(&links->memory, links->client_sessions, links->client_session_room,
                                links->client_session_count))
        links->client_sessions[links->client_session_count++] =
            (struct client_session){member, client, process};
    else
        links->failed = true;
}

static int compare_clients(const void *left, const void *right)
{
    const struct client_session *one = left, *other = right;
    return strcmp(one->client, other->client);
}

/* Returns the only session of a client that waits for a lock. NULL: there is none, or several,
 * because the client has threads. */
static const struct client_session *find_busy_session(const struct client_session *client_sessions,
                                                      size_t count, struct source *const *sources)
{
    const struct client_session *busy = NULL;
    size_t idle = 0;
    for (size_t i = 0; i < count; i++) {
        const struct session *session = member_session(sources, client_sessions[i].member);
        idle += session->idle;
        if (session->wait == SCAN_NONE)
            continue;
        if (busy)
            return NULL;
        busy = &client_sessions[i];
    }
    return idle ? busy : NULL;
}

/* Returns the time since which a local client has slept until this session answers; 0: it does
 * not. */
static uint64_t asleep_since(struct links *links, struct source *const *sources,
                             struct member member, enum sleeper_kind kind)
{
    return sleeper_since(&links->sleepers, links->locals, kind, member_session(sources, member),
                         &sources[member.source]->facts);
}

/* Links the sessions of one client: the idle ones wait for the client, which waits in the busy
 * one. */
static void link_group(struct links *links, const struct client_session *client_sessions,
                       size_t count, struct source *const *sources)
{
    const struct client_session *busy = find_busy_session(client_sessions, count, sources);
    uint64_t since =
        busy && busy->process ? asleep_since(links, sources, busy->member, SLEEPER_CLIENT) : 0;
    if (!busy || (busy->process && !since))
        return;
    for (size_t i = 0; i < count; i++)
        if (&client_sessions[i] != busy && member_session(sources, client_sessions[i].member)->idle)
            add_link(links, client_sessions[i].member, busy->member, false,
                     client_sessions[i].client, since);
}

/* Identifies the client by --link. */
static void identify_by_name(struct links *links, struct member member,
                             const struct session *session)
{
    regmatch_t groups[2];
    char name[128];
    if (!links->has_pattern || regexec(&links->pattern, session->application, 2, groups, 0) != 0 ||
        groups[1].rm_so < 0)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(groups[1].rm_eo - groups[1].rm_so),
             session->application + groups[1].rm_so);
    add_client_session(links, member, client_name(links, "client %s", name), false);
}

/* Identifies the client as a process of this machine, by address and port. */
static void identify_by_process(struct links *links, struct source *const *sources,
                                struct member member)
{
    char name[64];
    uint64_t inode;
    const struct session *session = member_session(sources, member);
    uint32_t pid = session->port ? locals_process(links->locals, session,
                                                  &sources[member.source]->facts, &inode)
                                 : 0;
    if (!pid)
        return;
    snprintf(name, sizeof name, "process %u", pid);
    add_client_session(links, member, client_name(links, "%s", name), true);
}

/* ------------------------------------------------------------------ postgres_fdw, dblink */

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

/* Does the application_name of a remote session name this session as its caller? */
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

/* Adds a link between a caller and its remote session: the one that is not busy waits for the
 * other. `by_process`: the caller was found by its process, which must sleep meanwhile. */
static void link_call(struct links *links, struct source *const *sources, struct member caller,
                      struct member remote, bool by_process)
{
    const struct session *one = member_session(sources, caller);
    const struct session *other = member_session(sources, remote);
    bool waits = one->active && one->wait == SCAN_NONE && other->wait != SCAN_NONE;
    bool is_awaited = one->wait != SCAN_NONE && other->idle;
    uint64_t since = 0;
    if (!waits && !is_awaited)
        return;
    if (by_process) {
        since = asleep_since(links, sources, remote, waits ? SLEEPER_BACKEND : SLEEPER_OWNER);
        if (!since)
            return;
    }
    if (waits)
        add_link(links, caller, remote, true,
                 by_process || caller.source == remote.source ? "its query in another session"
                                                              : "its query on the other server",
                 since);
    else
        add_link(links, remote, caller, false, "the session that called it", since);
}

/* Finds the callers of a remote session by its application_name. A foreign server may be the same
 * server. */
static void find_callers(struct links *links, struct source *const *sources, size_t count,
                         struct member remote)
{
    const char *application = member_session(sources, remote)->application;
    size_t length = strlen(application);
    if (!length || !isalnum((unsigned char)application[length - 1]))
        return;
    for (uint32_t i = 0; i < count; i++) {
        const struct scan *scan = &sources[i]->scan;
        for (uint32_t k = 0; k < scan->session_count; k++)
            if (scan->sessions[k].pid > 0 && (i != remote.source || k != remote.session) &&
                is_caller(sources[i], &scan->sessions[k], application))
                link_call(links, sources, (struct member){i, k}, remote, false);
    }
}

/* Finds the caller of a remote session by its process, for dblink and for postgres_fdw without a
 * name: the client of the remote session is a process of this machine that is itself a session. */
static void find_backend(struct links *links, struct source *const *sources, size_t count,
                         struct member remote)
{
    uint64_t inode;
    size_t before = links->count;
    uint32_t pid = locals_process(links->locals, member_session(sources, remote),
                                  &sources[remote.source]->facts, &inode);
    for (uint32_t i = 0; i < count && pid && links->count == before; i++) {
        const struct source *source = sources[i];
        if (source->dialect != &dialect_postgres || !source->facts.near)
            continue;
        uint32_t number = scan_find(&source->scan, pid, NULL);
        if (number != SCAN_NONE && local_started(pid, source->scan.sessions[number].id))
            link_call(links, sources, (struct member){i, number}, remote, true);
    }
}

/* ------------------------------------------------------------------ inspected processes */

/* Links a thread to the session at the other end of its socket. */
static void link_thread(struct links *links, struct source *const *sources, struct member member,
                        struct member thread)
{
    const struct session *session = member_session(sources, member),
                         *waiter = member_session(sources, thread);
    bool same =
        waiter->port
            ? waiter->port == session->port && strcmp(waiter->address, session->address) == 0 &&
                  local_leads_to(waiter->address, waiter->peer_port, &sources[member.source]->facts)
            : waiter->peer && !session->port && waiter->peer == session->pid;
    if (same)
        add_link(links, thread, member, true, "its query", 0);
}

/* Links an idle session to a thread of its client, which may continue the session. A thread that
 * waits for an answer itself, or for the end of another thread, is unlikely to. */
static void link_owner(struct links *links, struct source *const *sources, struct member member,
                       struct member thread)
{
    const struct session *owner = member_session(sources, thread);
    const struct link link = {
        .from = member,
        .to = thread,
        .any = true,
        .unlikely = owner->joins || owner->port || owner->peer,
        .client = client_name(links, "client %s", sources[thread.source]->label),
    };
    push_link(links, &link);
}

static void link_inspected(struct links *links, struct source *const *sources, size_t count,
                           struct member member)
{
    const struct session *session = member_session(sources, member);
    for (uint32_t i = 0; i < count; i++) {
        const struct source *source = sources[i];
        bool owned = source->inspector && session->idle &&
                     inspector_owns(source->inspector, session, &sources[member.source]->facts);
        for (uint32_t k = 0; source->inspector && k < source->scan.session_count; k++) {
            struct member thread = {i, k};
            link_thread(links, sources, member, thread);
            if (owned)
                link_owner(links, sources, member, thread);
        }
    }
}

/* ------------------------------------------------------------------ finding all links */

static void link_session(struct links *links, struct source *const *sources, size_t count,
                         struct member member)
{
    const struct session *session = member_session(sources, member);
    if (session->pid <= 0 || session->thread)
        return;
    identify_by_name(links, member, session);
    identify_by_process(links, sources, member);
    size_t before = links->count;
    find_callers(links, sources, count, member);
    if (links->count == before) /* by name if possible, otherwise by process */
        find_backend(links, sources, count, member);
    link_inspected(links, sources, count, member);
}

static void link_all(struct links *links, struct source *const *sources, size_t count)
{
    for (uint32_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < sources[i]->scan.session_count; k++)
            link_session(links, sources, count, (struct member){i, k});
    if (links->failed || !links->client_session_count)
        return;
    qsort(links->client_sessions, links->client_session_count, sizeof *links->client_sessions,
          compare_clients);
    for (size_t i = 0, end; i < links->client_session_count; i = end) {
        end = i + 1;
        while (end < links->client_session_count &&
               !compare_clients(&links->client_sessions[i], &links->client_sessions[end]))
            end++;
        link_group(links, links->client_sessions + i, end - i, sources);
    }
}

/* Nothing is linked while no session waits. One server is enough: a client may have several
 * connections to it and wait for itself. Local clients are checked twice, before and after the
 * other processes. */
gordian_status links_find(struct links *links, struct source *const *sources, size_t count,
                          gordian_error *error)
{
    bool anybody_waits = false;
    for (size_t i = 0; i < count; i++)
        anybody_waits |= sources[i]->scan.edge_count > 0;
    links->failed = false;
    links->count = links->client_session_count = 0;
    arena_free(&links->arena);
    sleepers_begin(&links->sleepers);
    if (anybody_waits) {
        locals_read(&links->locals, sources, count);
        link_all(links, sources, count);
    }
    if (anybody_waits && sleepers_pending(&links->sleepers)) {
        links->count = links->client_session_count = 0;
        arena_free(&links->arena);
        sleepers_recount(&links->sleepers, links->locals);
        link_all(links, sources, count);
    }
    sleepers_end(&links->sleepers);
    return links->failed ? fail_memory(error) : GORDIAN_OK;
}

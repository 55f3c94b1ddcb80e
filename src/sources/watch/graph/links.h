/* Links sessions of several servers that belong to one client. A client without threads does one
 * thing at a time: while it waits in one session, it does nothing in the others.
 *
 *    postgres_fdw    the remote session's application_name names the caller: `%c`, or `%C` and `%p`
 *    a local session the remote session's client is a process of this machine that is a PostgreSQL
 *                    session itself (postgres_fdw, dblink), and sleeps until it answers
 *    --link REGEX    the first group in the application_names is the same
 *    a local client  the addresses and ports of both belong to one process of this machine, which
 *                    sleeps until one of them answers (sleeping_clients.h)
 *
 * A link is an edge from a session that is idle, or waits for a remote session, to the session in
 * which its client waits. If two sessions of a client wait for locks at the same time, the client
 * has threads, and there is no link. */
#pragma once

#include "sources/watch/graph/sleeping_clients.h"
#include "sources/watch/graph/source.h"

#include <regex.h>

/* A session: index of its source, index in the scan. */
struct member {
    uint32_t source, session;
};

static inline const struct session *member_session(struct source *const *sources,
                                                   struct member member)
{
    return &sources[member.source]->scan.sessions[member.session];
}

struct locals;
struct client_session;

struct link {
    struct member from, to;
    bool any;           /* `to` is one of several sessions, any of which is enough: see
                           inspected_process.h */
    bool unlikely;      /* and probably not that one */
    bool caller;        /* `from` is the client itself and waits for the session it called */
    uint64_t since;     /* when this was first seen; 0: it always holds */
    const char *client; /* the common client: "client orders-17"; lives as long as the links */
};

struct links {
    regex_t pattern;
    bool has_pattern;
    struct link *list;
    size_t count, capacity;
    struct client_session *client_sessions; /* links.c: sessions and their clients */
    size_t client_session_count, client_session_room;
    struct locals *locals; /* see local_clients.h; NULL until it is needed */
    struct sleepers sleepers;
    bool failed; /* memory ran out */
    struct arena arena;
    gordian_allocator memory;
};

void links_open(struct links *links, const gordian_allocator *memory);
void links_close(struct links *links);
/* Sets --link. Returns GORDIAN_STATUS_INPUT if the pattern is not an extended regular expression,
 * or has no group. */
gordian_status links_set(struct links *links, const char *pattern, gordian_error *error);

/* Finds the links between sessions of the latest scans. */
gordian_status links_find(struct links *links, struct source *const *sources, size_t count,
                          gordian_error *error);

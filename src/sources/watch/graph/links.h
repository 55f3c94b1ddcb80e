/* Sessions of several servers that are one client, which does one thing at a time: while it waits
 * in one of them, it does nothing in the others.
 *
 *     postgres_fdw    the remote session's application_name has who called: `%c`, or `%C` and `%p`
 *     a local session the remote session's client is a process of this machine that is a session of
 *                     PostgreSQL itself (postgres_fdw, dblink), and sleeps until it answers
 *     --link REGEX    the application_name's first group is the same
 *     a local client  address and port of both belong to one process of this machine, which sleeps
 *                     until one of them answers (sleeping_clients.h)
 *
 * A link is an edge from a session that does nothing, or waits for a remote one, to the session in
 * which its client waits. If two sessions of a client wait for locks at the same time, it has
 * threads, and nothing can be said about it.
 */
#pragma once

#include "sources/watch/graph/sleeping_clients.h"
#include "sources/watch/graph/source.h"

#include <regex.h>

/* A session of a server: place in `sources`, place in its look. */
struct member {
    uint32_t source, session;
};

static inline const struct session *member_session(struct source *const *sources,
                                                   struct member member)
{
    return &sources[member.source]->scan.sessions[member.session];
}

struct locals;
struct seat;

struct link {
    struct member from, to;
    bool any;       /* `to` is one of several, of which one is enough: see inspected_process.h */
    bool unlikely;  /* and hardly the one */
    bool caller;    /* `from` is the client itself, and waits for what it has called */
    uint64_t since; /* when it was first seen to be so; 0: it always is */
    const char
        *client; /* what the two have in common: "client orders-17"; lives as long as the links */
};

struct links {
    regex_t pattern;
    bool has_pattern;
    struct link *list;
    size_t count, room;
    struct seat *seats; /* links.c: sessions and their clients */
    size_t seat_count, seat_room;
    struct locals *locals; /* local.h: NULL until it is needed */
    struct sleepers sleepers;
    bool failed; /* out of memory, while they are found */
    struct arena arena;
    gordian_allocator memory;
};

void links_open(struct links *links, const gordian_allocator *memory);
void links_close(struct links *links);
/* --link. GORDIAN_STATUS_INPUT: it is no extended regular expression, or has no group. */
gordian_status links_set(struct links *links, const char *pattern, gordian_error *error);

/* Finds the links among the latest looks. */
gordian_status links_find(struct links *links, struct source *const *sources, size_t count,
                          gordian_error *error);

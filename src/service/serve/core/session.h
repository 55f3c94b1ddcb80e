/* Sessions: what outlives a connection. A session has a number its client knows (16 random bytes),
 * counts its client's events so that none is applied twice, and owns processes; when it is lost
 * they are dropped or kept.
 *
 * A session is connected, or its lease runs. Slots are reused; everything here is part of the
 * journaled state except what comes last. */
#pragma once

#include "service/wire/wire.h"

struct client;

#define SESSION_NAME_MAX 63

/* The processes of a session in one system: a list through served_process. */
struct session_share {
    uint32_t system; /* slot */
    uint32_t head;
};

struct session {
    bool in_use;
    bool keep;                     /* when it is lost: WIRE_KEEP */
    uint8_t id[WIRE_SESSION_SIZE]; /* known to the client */
    uint64_t last;                 /* number of the last event applied */
    uint32_t lease_ms;             /* 0: ends with its connection */
    uint64_t opened;               /* ms since 1970 */
    uint64_t processes;            /* it owns, in all systems */
    char name[SESSION_NAME_MAX + 1];
    struct session_share *shares;
    uint32_t share_count, share_room;
    uint32_t next; /* of a slot not in use: the next free one */
    bool ending;   /* lost: its processes are being dropped */

    /* For quotas: what it has added that is still there, and a number no other session has. */
    uint32_t resources, systems;
    uint32_t serial;
    uint32_t holder; /* of the token it was opened with; GORDIAN_NONE: none */

    struct client *client; /* NULL: it is not connected */
    uint64_t last_cycle;   /* the last incident on whose cycle a process of its was met */
    uint64_t concerned;    /* the last notice of a deadlock that a process of its is in */
    uint64_t record;       /* that `last` is kept by, since the start */
    uint64_t deadline;     /* not connected, or silent: ends then, by the clock of
                              leases */
};

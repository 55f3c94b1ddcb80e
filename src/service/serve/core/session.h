/*
 * Sessions: the state of a client that outlives its connection. A session has an id known to its
 * client (16 random bytes), counts the client's events so that none is applied twice, and owns
 * processes. When a session is lost, they are dropped or kept.
 *
 * A session is connected, or its lease runs. Slots are reused. All members are journaled, except
 * the last ones.
 */
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
    bool keep;                     /* its processes stay when it is lost: WIRE_KEEP */
    uint8_t id[WIRE_SESSION_SIZE]; /* known to the client */
    uint64_t last;                 /* number of the last applied event */
    uint32_t lease_ms;             /* 0: it ends with its connection */
    uint64_t opened;               /* ms since 1970 */
    uint64_t processes;            /* number of processes that the session owns, in all systems */
    char name[SESSION_NAME_MAX + 1];
    struct session_share *shares;
    uint32_t share_count, share_room;
    uint32_t next; /* the next free slot, if this one is free */
    bool ending;   /* lost: its processes are being dropped */

    /* For quotas: existing objects that it added, and a unique serial number. */
    uint32_t resources, systems;
    uint32_t serial;
    uint32_t holder; /* its token; GORDIAN_NONE: none */

    struct client *client; /* NULL: not connected */
    uint64_t last_cycle;   /* the last cycle that a process of it was found on */
    uint64_t concerned;    /* the last notification of an incident with a process of it */
    uint64_t record;       /* the record with event `last`, since the start */
    uint64_t deadline;     /* when its lease expires, by the clock of leases */
};

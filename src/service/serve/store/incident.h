/* An incident as the store keeps it: a deadlock, from the request that closes it to its end. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_FILE   "gordian.db" /* name in the folder */
#define HISTORY_SCHEMA 2            /* user_version of the file */

/* Texts may be NULL if unknown. Only `system` and `id` are required. */
struct incident {
    uint64_t id;        /* from 1; unique in the service, stable across replays */
    const char *system; /* name */
    uint64_t at;        /* when it formed: ms since 1970 */
    uint64_t ended;     /* ms since 1970; 0: open */
    const char *how; /* how it ended: "recovered", "cancelled", "exited", "lost", "closed", ... */
    const char *requester; /* the process whose request closed the cycle */
    const char *victim;    /* the process that was ended to resolve it */
    const char *processes; /* JSON array: names of all its processes */
    const char *witness;   /* JSON array, as in `gordian detect --json` */
    const char *replay;    /* JSON object with "graph" and "events"; large */
    const char *labels;    /* JSON array of its labels KEY:VALUE; only when read */
    bool damaged;          /* only when read: its checksum does not match */
};

/* An operator action is stored like an incident whose id is this bit plus the number of its record.
 * `requester` is the operator, `how` the action, `victim` the process, `processes` the reason. It
 * is not an incident, and is stored in a separate table. */
#define INCIDENT_ACTION (UINT64_C(1) << 63)

/* The labels of an incident are stored the same way, with the id of the incident; `processes` is
 * the array. */
#define INCIDENT_LABELS (UINT64_C(1) << 62)

/* A pending notification (--on-deadlock) for the begin of an incident, or for its end (`ended` is
 * 1), or that it was delivered (`at` is 1). The next service sends what a service that ended had
 * not sent. (Both bits are set, so that an older standby takes it for an action, which is harmless,
 * and not for an incident.) */
#define INCIDENT_NOTICE (INCIDENT_ACTION | INCIDENT_LABELS)

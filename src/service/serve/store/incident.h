/*
 * An incident, as the store keeps it: a deadlock from the request that closes it to its end.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define HISTORY_FILE   "gordian.db" /* in the folder */
#define HISTORY_SCHEMA 2            /* user_version of the file */

/* Texts may be NULL where nothing is known. All but `system` and `id` may be left out. */
struct incident {
    uint64_t id;           /* from 1; unique in the service, the same after a replay */
    const char *system;    /* name */
    uint64_t at;           /* it formed: ms since 1970 */
    uint64_t ended;        /* ms since 1970; 0: it stands */
    const char *how;       /* it ended: "recovered", "cancelled", "exited", "lost", "closed", ... */
    const char *requester; /* whose request closed it */
    const char *victim;    /* who was ended to resolve it */
    const char *processes; /* JSON: array of names, everybody in it */
    const char *witness;   /* JSON: array, as in `gordian detect --json` */
    const char *replay;    /* JSON: object with "graph" and "events"; large */
    const char *labels;    /* JSON: array of the labels in it, KEY:VALUE; of one that was read */
    bool damaged;          /* of one that was read: its checksum says that it was something else */
};

/* What somebody did by hand is kept like an incident, with this in its id and beside it the number
 * of its record: `requester` is who, `how` what, `victim` whom, `processes` why. It is no incident,
 * and in a table of its own. */
#define INCIDENT_ACTION (UINT64_C(1) << 63)

/* So are the labels of those in an incident, beside its id: `processes` is the array. */
#define INCIDENT_LABELS (UINT64_C(1) << 62)

/* And that its beginning, or its end (`ended` is 1), is to be told to who wants to know
 * (--on-deadlock), or has been (`at` is 1): what was not told when a service ended, the next one
 * tells. (Both bits: a server of an older version, that stands by, takes it for an action, which
 * does no harm, and not for an incident.) */
#define INCIDENT_NOTICE (INCIDENT_ACTION | INCIDENT_LABELS)

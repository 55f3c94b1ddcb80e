/*
 * Reads the history of incidents: for the page, `gordian incidents` and SQL users.
 *
 * An incident is a deadlock: it begins with the request that closes it, and ends when none of its
 * processes is deadlocked any more, through recovery, a cancel, an exit or a lost session. The
 * service writes incidents through the store. Everything here only reads, with or without a running
 * service. The views `incidents` and `open_incidents` of the file are a stable interface.
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "service/serve/store/incident.h"

#include <gordian/gordian.h>

struct incidents_filter {
    const char *system;    /* NULL: any */
    const char *process;   /* a process in it; NULL: any */
    const char *label;     /* KEY:VALUE of a process or resource in it; NULL: any */
    const char *systems;   /* comma-separated patterns with * and ?; NULL: any */
    uint64_t since, until; /* formed in [since, until), ms; until 0: no end */
    uint64_t stood;        /* only those open at this time, ms; 0: any */
    bool open;             /* only open ones */
    bool ended;            /* only ended ones */
    uint64_t from, before; /* ids >= from and < before; 0: no bound */
    uint32_t limit;        /* 0: no limit */
    bool oldest_first;     /* default: newest first */
    bool with_replay;      /* default: .replay is NULL */
    bool actions;          /* of questions: operator actions instead */
};

struct incidents_db;

/* Opens the database in a service's folder for reading. GORDIAN_STATUS_INPUT: missing or of another
 * version. On failure *out is NULL. */
gordian_status incidents_open(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error);
/* The same inside the service that owns the folder. */
gordian_status incidents_join(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error);
/* The same through an SQLite connection of another owner. */
struct sqlite3;
gordian_status incidents_share(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error);
/* The same through a connection that is closed with it, also on failure. */
gordian_status incidents_adopt(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error);
void incidents_close(struct incidents_db *db);

/* Calls `each` for every matching incident. If `each` returns a status other than GORDIAN_OK, the
 * query ends and returns that status (GORDIAN_STATUS_END: it ends successfully). The texts are
 * valid during the call only. */
gordian_status incidents_query(struct incidents_db *db, const struct incidents_filter *filter,
                               gordian_status (*each)(void *context, const struct incident *),
                               void *context, gordian_error *error);
/* Reads one incident with its replay. `systems`: as in a filter. GORDIAN_STATUS_END: not found. */
gordian_status incidents_get(struct incidents_db *db, uint64_t id, const char *systems,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error);

#define INCIDENTS_WINDOW 4096 /* incidents examined for one page */
#define INCIDENTS_SHARED 256  /* the same in memory, where the event loop reads */

/* Writes up to filter->limit incidents as members of an open object: "incidents", an array, and
 * "next", the `before` of the next page or null. To bound the time, a page examines a limited
 * number of incidents (except open ones, which have an index). So a page may be short or empty
 * although there is a next one. */
gordian_status incidents_page(struct incidents_db *db, const struct incidents_filter *filter,
                              struct json *json, gordian_error *error);

/* Reads operator actions. JSON members: "id", "at", "system", "what", "process", "who", "why". */
gordian_status actions_query(struct incidents_db *db, const struct incidents_filter *filter,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error);
void action_json(struct json *json, const struct incident *action);
/* Writes a page of them: "actions" and "next". */
gordian_status actions_page(struct incidents_db *db, const struct incidents_filter *filter,
                            struct json *json, gordian_error *error);

/* Reads pending notifications, oldest first; `ended`: for the end of the incident. */
gordian_status notices_query(struct incidents_db *db,
                             gordian_status (*each)(void *context, uint64_t id, bool ended),
                             void *context, gordian_error *error);

/* Checks that the file is intact. *count: incidents; *applied: the last journal frame applied. */
gordian_status incidents_verify(struct incidents_db *db, uint64_t *count, uint64_t *applied,
                                gordian_error *error);

/* Writes the members of an incident into an open object: "id", "system", "at", "ended" (null while
 * open), "how", "requester", "processes", "witness", "victim", and if present "labels" and
 * "replay". */
void incident_json(struct json *json, const struct incident *incident);

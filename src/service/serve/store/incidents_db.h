/*
 * The history of incidents, for whoever asks: the page, `gordian incidents`, SQL.
 *
 * An incident is a deadlock: it begins with the request that closes it and ends when nobody in it
 * is deadlocked any more, by recovery, a cancel, an exit or a lost session. The service writes them
 * through the store; everything here only reads, and works while the service runs and without it.
 * Plain SQL: the views `incidents` and `open_incidents` of the file are a stable interface.
 */
#pragma once

#include "foundation/base/json/json_write.h"
#include "service/serve/store/incident.h"

#include <gordian/gordian.h>

struct incidents_filter {
    const char *system;    /* NULL: any */
    const char *process;   /* among those in it; NULL: any */
    const char *label;     /* KEY:VALUE of somebody or something in it; NULL: any */
    const char *systems;   /* patterns with commas, * and ? in them; NULL: any */
    uint64_t since, until; /* formed in [since, until), ms; until 0: no end */
    uint64_t stood;        /* only those that stood at this time, ms; 0: any */
    bool open;             /* only those that stand */
    bool ended;            /* only those that have ended */
    uint64_t from, before; /* ids from this on, and below that; 0: any */
    uint32_t limit;        /* 0: all */
    bool oldest_first;     /* otherwise the newest come first */
    bool with_replay;      /* otherwise .replay is NULL */
    bool actions;          /* of questions: what was done by hand, instead */
};

struct incidents_db;

/* Opens the file in a service's folder for reading. GORDIAN_STATUS_INPUT: there is none, or it is
 * not of this version. On failure *out is NULL. */
gordian_status incidents_open(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error);
/* The same for the service whose folder it is. */
gordian_status incidents_join(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error);
/* The same over a connection of SQLite that somebody else owns. */
struct sqlite3;
gordian_status incidents_share(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error);
/* The same over one that is to be closed with it; on failure, too. */
gordian_status incidents_adopt(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error);
void incidents_close(struct incidents_db *db);

/* Every incident that passes, to `each`; anything but GORDIAN_OK from it ends the query and is
 * returned (GORDIAN_STATUS_END: as if it were the last one). The texts are valid during the call
 * only. */
gordian_status incidents_query(struct incidents_db *db, const struct incidents_filter *filter,
                               gordian_status (*each)(void *context, const struct incident *),
                               void *context, gordian_error *error);
/* One, with its replay. `systems`: as of a filter. GORDIAN_STATUS_END: there is none of that id. */
gordian_status incidents_get(struct incidents_db *db, uint64_t id, const char *systems,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error);

#define INCIDENTS_WINDOW 4096 /* looked at for one page */
#define INCIDENTS_SHARED 256  /* the same in memory, where the loop itself looks */

/* At most filter->limit of them as members of an object that is open: "incidents", an array, and
 * "next", the `before` of the next page, or null if there is none. Nobody is
 * to be held up: but for those that stand, which an index finds, only so many are looked at, and a
 * page may have less than it could, or nothing, although there is a next one. */
gordian_status incidents_page(struct incidents_db *db, const struct incidents_filter *filter,
                              struct json *json, gordian_error *error);

/* What was done by hand, the newest first; its JSON members: "id", "at", "system", "what",
 * "process", "who", "why". */
gordian_status actions_query(struct incidents_db *db, const struct incidents_filter *filter,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error);
void action_json(struct json *json, const struct incident *action);
/* A page of them: "actions" and "next". */
gordian_status actions_page(struct incidents_db *db, const struct incidents_filter *filter,
                            struct json *json, gordian_error *error);

/* What is to be told yet, in its order: incidents, and whether it is their end. */
gordian_status notices_query(struct incidents_db *db,
                             gordian_status (*each)(void *context, uint64_t id, bool ended),
                             void *context, gordian_error *error);

/* Is the file whole? How many incidents it has, and up to which frame of the journal. */
gordian_status incidents_verify(struct incidents_db *db, uint64_t *count, uint64_t *applied,
                                gordian_error *error);

/* The members of the JSON object of an incident, into an object that is open: "id", "system", "at",
 * "ended" (null while it stands), "how", "requester", "processes", "witness", "victim",
 * "labels" and "replay" if it has any. */
void incident_json(struct json *json, const struct incident *incident);

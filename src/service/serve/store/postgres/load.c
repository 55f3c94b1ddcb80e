/* Loads the state at the start: the newest good snapshot, the journal behind it, incidents. */
#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>

static gordian_status load_failed(const struct pg *pg, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "PostgreSQL, reading the journal: %.200s", pg->why);
}

/* Sends heartbeats while a leader reads. */
static bool send_heartbeat(struct store *store)
{
    struct pg *pg = store->pg;
    if (store->role != STORE_LEADER || clock_ms() < pg->heartbeat_at)
        return true;
    uint64_t sent = boot_ns() / 1000000;
    PGresult *done = pg_ask_numbers(
        pg, "UPDATE leader SET beat = clock_timestamp() WHERE epoch = $1 RETURNING 1", 1,
        &pg->epoch);
    if (done && PQntuples(done) == 1)
        pg_renewed(store, sent);
    PQclear(done);
    pg->heartbeat_at = clock_ms() + pg->lease_ms / 4;
    return done != NULL;
}

/* ---- the snapshot */

/* Reads all parts of a snapshot in order. False: pg->why; otherwise *good is whether it is
 * complete. */
static bool read_snapshot_parts(struct store *store, uint64_t last, uint64_t size, uint64_t crc,
                                bool *good)
{
    struct bytes *image = &store->recovery.image;
    image->used = 0;
    for (uint64_t part = 0; image->used < size; part++) {
        PGresult *found = pg_ask_numbers(
            store->pg, "SELECT bytes FROM snapshot_part WHERE last = $1 AND part = $2", 2,
            (const uint64_t[]){last, part});
        if (!found || !send_heartbeat(store)) {
            PQclear(found);
            return false;
        }
        bool there = PQntuples(found) == 1;
        if (there)
            bytes_put(image, PQgetvalue(found, 0, 0), (size_t)PQgetlength(found, 0, 0));
        PQclear(found);
        if (!there || image->failed)
            break;
    }
    *good = image->used == size && crc32c(0, image->data, image->used) == crc;
    return true;
}

/* Reads the newest good snapshot no later than `at`. *listed: the newest of all; 0: none. */
static gordian_status try_snapshots(struct store *store, uint64_t at, uint64_t *listed, bool *good,
                                    gordian_error *error)
{
    struct pg *pg = store->pg;
    char number[PG_NUMBER];
    const char *value = pg_number(number, at);
    PGresult *found = pg_ask(pg,
                             "SELECT last, size, crc FROM snapshot WHERE at <= $1::bigint"
                             " ORDER BY last DESC LIMIT 2",
                             1, &value);
    int count = found ? PQntuples(found) : 0;
    gordian_status status = found ? GORDIAN_OK : load_failed(pg, error);
    *listed = count ? pg_u64(found, 0, 0) : 0;
    for (int row = 0; row < count && status == GORDIAN_OK && !*good; row++) {
        if (!read_snapshot_parts(store, pg_u64(found, row, 0), pg_u64(found, row, 1),
                                 pg_u64(found, row, 2), good))
            status = load_failed(pg, error);
        if (*good) {
            store->newest = pg_u64(found, row, 0);
            store->older = row + 1 < count ? pg_u64(found, row + 1, 0) : 0;
        }
    }
    PQclear(found);
    return status;
}

/* The leader may write two newer snapshots meanwhile and delete these: they are damaged only if
 * nothing newer has appeared. */
static gordian_status read_snapshot(struct store *store, uint64_t at, gordian_error *error)
{
    uint64_t listed = UINT64_MAX, before;
    bool good = false;
    gordian_status status;
    do {
        before = listed;
        status = try_snapshots(store, at, &listed, &good, error);
    } while (status == GORDIAN_OK && !good && listed && listed != before);
    if (status == GORDIAN_OK && listed && !good)
        status = fail(error, GORDIAN_STATUS_INPUT,
                      "no snapshot in the database is intact: restore a backup of it");
    return status;
}

/* ---- the journal */

/* Finds the last row whose records are all in the snapshot. */
static bool find_snapshot_start(struct pg *pg, uint64_t snapshot)
{
    PGresult *found =
        pg_ask_numbers(pg,
                       "SELECT coalesce((SELECT max(batch) FROM journal WHERE last <= $1),"
                       " (SELECT min(batch) - 1 FROM journal), (SELECT batch FROM leader))::text",
                       1, &snapshot);
    if (!found)
        return false;
    pg->batch = pg_u64(found, 0, 0);
    PQclear(found);
    return true;
}

static gordian_status read_journal(struct store *store, const struct store_loader *loader,
                                   void *context, gordian_error *error)
{
    struct pg *pg = store->pg;
    gordian_status status = GORDIAN_OK;
    bool more = true, stopped; /* no limit: it loads everything */
    if (!find_snapshot_start(pg, store->newest))
        return load_failed(pg, error);
    while (more && status == GORDIAN_OK) {
        PGresult *rows = pg_ask_numbers(pg, rows_select, 1, &pg->batch);
        if (!rows || !send_heartbeat(store)) {
            PQclear(rows);
            return load_failed(pg, error);
        }
        more = PQntuples(rows) > 0;
        struct rows_cursor cursor = {.rows = rows, .after = store->newest};
        status = rows_take(store, &cursor, &pg->batch, loader, context, &stopped, error);
        PQclear(rows);
    }
    return status == GORDIAN_STATUS_END
               ? fail(error, GORDIAN_STATUS_INPUT, "row %llu of the journal is missing",
                      (unsigned long long)pg->batch + 1)
               : status;
}

/* Is everything there that the leader's row says was committed? */
static gordian_status check_end(const struct store *store, gordian_error *error)
{
    struct pg *pg = store->pg;
    PGresult *found = pg_ask(pg, "SELECT batch, last FROM leader", 0, NULL);
    if (!found)
        return load_failed(pg, error);
    uint64_t batch = pg_u64(found, 0, 0), last = pg_u64(found, 0, 1);
    PQclear(found);
    if (batch == pg->batch && last == store->last)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT,
                "records are missing: the journal ends with row %llu, record %llu, but row %llu, "
                "record %llu, was committed: restore a backup of the database",
                (unsigned long long)pg->batch, (unsigned long long)store->last,
                (unsigned long long)batch, (unsigned long long)last);
}

/* ---- incidents */

static const char *value_of_row(const PGresult *rows, int row, int column)
{
    return PQgetisnull(rows, row, column) ? NULL : PQgetvalue(rows, row, column);
}

/* `mark`: bits added to their ids. */
static bool load_incidents(struct store *store, const PGresult *rows, uint64_t mark)
{
    struct batch batch = {0};
    bool good = true;
    bytes_init(&batch.incidents, &store->pg->memory);
    for (int row = 0; row < PQntuples(rows) && good; row++) {
        const struct incident incident = {
            .id = pg_u64(rows, row, 0) | mark,
            .system = value_of_row(rows, row, 1),
            .at = pg_u64(rows, row, 2),
            .ended = pg_u64(rows, row, 3),
            .how = value_of_row(rows, row, 4),
            .requester = value_of_row(rows, row, 5),
            .victim = value_of_row(rows, row, 6),
            .processes = value_of_row(rows, row, 7),
            .witness = value_of_row(rows, row, 8),
            .replay = value_of_row(rows, row, 9),
        };
        good = history_put(&batch, &incident);
    }
    good = good && history_write(&store->history, &batch, 1) == SQLITE_OK;
    bytes_free(&batch.incidents);
    return good;
}

/* Operator actions and labels, in the columns of an incident. */
#define ACTIONS                                                                                    \
    "SELECT id, system, at, 0, what, who, process, why, NULL, NULL FROM action"                    \
    " WHERE id > $1::bigint"
#define LABELS                                                                                     \
    "SELECT id, '', 0, 0, NULL, NULL, NULL, labels, NULL, NULL FROM incident_label"                \
    " WHERE id > $1::bigint"
#define SOME " ORDER BY id LIMIT 500"

struct incident_source {
    const char *select;
    uint64_t mark; /* bits added to their ids */
};

/* For queries of this server: the newest incidents, and all open ones; and all pending
 * notifications. */
static const struct incident_source newest[] = {
    {"SELECT id, system, at, ended, how, requester, victim, processes, witness,"
     " CASE WHEN id > m - 1000 THEN replay END"
     " FROM incident, (SELECT coalesce(max(id), 0) AS m FROM incident) AS newest"
     " WHERE id > $1::bigint AND (id > m - 10000 OR ended IS NULL)" SOME,
     0},
    {ACTIONS " AND id IN (SELECT id FROM action ORDER BY id DESC LIMIT 10000)" SOME,
     INCIDENT_ACTION},
    {LABELS " AND id > (SELECT coalesce(max(id), 0) - 10000 FROM incident)" SOME, INCIDENT_LABELS},
    {"SELECT id, '', 0, ended, NULL, NULL, NULL, NULL, NULL, NULL FROM notice"
     " WHERE $1::bigint = 0 ORDER BY number",
     INCIDENT_NOTICE},
};

static gordian_status read_incidents(struct store *store, const char *select, uint64_t mark,
                                     gordian_error *error)
{
    char number[PG_NUMBER];
    uint64_t last = 0;
    for (;;) {
        const char *value = pg_number(number, last);
        PGresult *rows = pg_ask(store->pg, select, 1, &value);
        if (!rows || !send_heartbeat(store)) {
            PQclear(rows);
            return load_failed(store->pg, error);
        }
        int count = PQntuples(rows);
        bool good = load_incidents(store, rows, mark);
        last = count ? pg_u64(rows, count - 1, 0) : 0;
        PQclear(rows);
        if (!good)
            return fail_memory(error);
        if (count == 0)
            return GORDIAN_OK;
    }
}

static gordian_status read_all_parts(struct store *store, const struct store_loader *loader,
                                     void *context, gordian_error *error)
{
    struct bytes *image = &store->recovery.image;
    gordian_status status = read_snapshot(store, INT64_MAX, error);
    store->last = store->newest;
    store->snapshot_size = image->used;
    if (status == GORDIAN_OK && store->newest)
        status = sections_load(image, 0, loader, context, error);
    bytes_free(image);
    for (size_t i = 0; i < sizeof newest / sizeof *newest; i++)
        THEN(status, read_incidents(store, newest[i].select, newest[i].mark, error));
    THEN(status, read_journal(store, loader, context, error));
    THEN(status, check_end(store, error));
    atomic_store(&store->committed, store->last);
    return status;
}

/* A standby reads in one transaction, because the leader may delete old data meanwhile. */
gordian_status pg_load(struct store *store, const struct store_loader *loader, void *context,
                       gordian_error *error)
{
    struct pg *pg = store->pg;
    bool follows = store->role != STORE_LEADER;
    bytes_init(&store->recovery.image, &pg->memory);
    if (follows && !pg_do(pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        return load_failed(pg, error);
    gordian_status status = read_all_parts(store, loader, context, error);
    if (status == GORDIAN_OK)
        store_believe_clock(store);
    if (follows && !pg_do(pg, "COMMIT") && status == GORDIAN_OK)
        status = load_failed(pg, error);
    return status;
}

/* ---- reading incidents only */

#define INCIDENTS(replay)                                                                          \
    "SELECT id, system, at, ended, how, requester, victim, processes, witness, " replay            \
    " FROM incident WHERE id > $1::bigint" SOME

gordian_status pg_read_incidents(struct store *store, bool replays, gordian_error *error)
{
    if (!pg_do(store->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        return load_failed(store->pg, error);
    TRY(read_incidents(store, replays ? INCIDENTS("replay") : INCIDENTS("NULL"), 0, error));
    TRY(read_incidents(store, ACTIONS SOME, INCIDENT_ACTION, error));
    return read_incidents(store, LABELS SOME, INCIDENT_LABELS, error);
}

/* ---- point-in-time queries */

static const char begins_select[] = "SELECT CASE WHEN (SELECT min(first) FROM journal) = 1 THEN 0"
                                    " ELSE coalesce((SELECT min(at) FROM snapshot), 0) END,"
                                    " coalesce((SELECT min(first) FROM journal), 1)";

gordian_status pg_past_begins(struct pg *pg, uint64_t *at, bool *whole, gordian_error *error)
{
    PGresult *found = pg_ask(pg, begins_select, 0, NULL);
    if (!found)
        return load_failed(pg, error);
    *at = pg_u64(found, 0, 0);
    *whole = pg_u64(found, 0, 1) == 1;
    PQclear(found);
    return GORDIAN_OK;
}

gordian_status pg_load_past(struct store *store, uint64_t at, uint64_t after,
                            const struct store_loader *loader, void *context, gordian_error *error)
{
    struct bytes *image = &store->recovery.image;
    uint64_t begins;
    bool whole = true;
    bytes_init(image, &store->pg->memory);
    if (!pg_do(store->pg, "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"))
        return load_failed(store->pg, error);
    gordian_status status = after ? GORDIAN_OK : read_snapshot(store, at, error);
    if (status == GORDIAN_OK && !after && !store->newest)
        status = pg_past_begins(store->pg, &begins, &whole, error);
    if (status == GORDIAN_OK && !whole)
        status = GORDIAN_STATUS_END;
    if (status == GORDIAN_OK && store->newest)
        status = sections_load(image, 0, loader, context, error);
    bytes_free(image);
    if (after)
        store->newest = after;
    store->last = store->newest;
    THEN(status, read_journal(store, loader, context, error));
    return status;
}

/* The standby: reads the journal as it grows, and becomes leader (leader election). */
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>

/* ---- rows for the event loop */

static bool queue_rows(struct store *store, PGresult *rows)
{
    struct pg *pg = store->pg;
    struct followed *portion = memory_zeroed(&pg->memory, sizeof *portion);
    if (!portion) {
        PQclear(rows);
        return pg_failed(pg, "out of memory");
    }
    portion->cursor.rows = rows;
    store_lock(store);
    *pg->followed_end = portion;
    pg->followed_end = &portion->next;
    pg->followed_count++;
    store_unlock(store);
    store_ring(store);
    return true;
}

static struct followed *first_portion(struct store *store)
{
    store_lock(store);
    struct followed *portion = store->pg->followed;
    store_unlock(store);
    return portion;
}

static void drop_first(struct store *store)
{
    struct pg *pg = store->pg;
    store_lock(store);
    struct followed *portion = pg->followed;
    pg->followed = portion->next;
    pg->followed_count--;
    if (!pg->followed)
        pg->followed_end = &pg->followed;
    store_unlock(store);
    PQclear(portion->cursor.rows);
    memory_free(&pg->memory, portion);
}

gordian_status pg_follow(struct store *store, const struct store_loader *loader, void *context,
                         bool *more, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    struct followed *portion;
    while (status == GORDIAN_OK && !*more && (portion = first_portion(store))) {
        struct rows_cursor *cursor = &portion->cursor;
        status = rows_take(store, cursor, &store->followed, loader, context, more, error);
        atomic_store(&store->committed, store->last);
        if (status != GORDIAN_OK || cursor->row == PQntuples(cursor->rows))
            drop_first(store);
    }
    *more = *more && first_portion(store);
    if (*more)
        store_ring(store);
    return status;
}

/* Required rows are gone: the server must load everything again. */
static void lose_journal(struct store *store)
{
    store_lock(store);
    store->role = STORE_LOST;
    snprintf(store->lost, sizeof store->lost, "part of the journal is no longer available");
    store_unlock(store);
    store_ring(store);
}

/* Reads new rows and passes them to the event loop. False: pg->why. */
static bool read_rows_on(struct store *store, uint64_t until)
{
    struct pg *pg = store->pg;
    while (pg->batch < until) {
        PGresult *rows = pg_ask_numbers(pg, rows_select, 1, &pg->batch);
        if (!rows)
            return false;
        int count = PQntuples(rows);
        if (count == 0) { /* deleted after a snapshot: this server was disconnected for long */
            PQclear(rows);
            lose_journal(store);
            return true;
        }
        pg->batch += (uint64_t)count; /* without gaps; the event loop checks that */
        if (!queue_rows(store, rows))
            return false;
    }
    return true;
}

/* ---- leader election */

/* Holds the lock: increments the epoch, so that earlier leaders can no longer write. */
static bool raise_epoch(struct store *store, uint64_t *until)
{
    struct pg *pg = store->pg;
    char lease[PG_NUMBER];
    const char *values[] = {pg->address, pg_number(lease, pg->lease_ms)};
    uint64_t sent = boot_ns() / 1000000;
    PGresult *raised = pg_ask(pg,
                              "UPDATE leader SET epoch = epoch + 1, address = $1, lease_ms = $2,"
                              " backend = pg_backend_pid(), beat = clock_timestamp()"
                              " RETURNING epoch, batch, backend",
                              2, values);
    if (!raised)
        return false;
    pg->epoch = pg_u64(raised, 0, 0);
    *until = pg_u64(raised, 0, 1);
    pg->backend = (int)pg_u64(raised, 0, 2);
    pg->heartbeat_at = clock_ms() + pg->lease_ms / 4;
    pg_renewed(store, sent);
    PQclear(raised);
    return true;
}

/* Reads which snapshots other servers have written since, so that they are not overwritten. */
static bool read_snapshot_numbers(struct store *store)
{
    PGresult *found =
        pg_ask(store->pg, "SELECT last FROM snapshot ORDER BY last DESC LIMIT 2", 0, NULL);
    if (!found)
        return false;
    store_lock(store);
    store->newest = PQntuples(found) > 0 ? pg_u64(found, 0, 0) : 0;
    store->older = PQntuples(found) > 1 ? pg_u64(found, 1, 0) : 0;
    store_unlock(store);
    PQclear(found);
    return true;
}

static void pg_become_leader(struct store *store)
{
    store_lock(store);
    store->role = STORE_LEADER;
    snprintf(store->leader, sizeof store->leader, "%s", store->pg->address);
    store->trimming = true;
    store_unlock(store);
    store_ring(store);
}

bool pg_try_leadership(struct store *store)
{
    struct pg *pg = store->pg;
    const uint64_t keys[] = {PG_LOCK, pg->lock};
    uint64_t until;
    PGresult *tried =
        pg_ask_numbers(pg, "SELECT pg_try_advisory_lock($1, $2::text::oid::int)::text", 2, keys);
    bool locked = tried && PQgetvalue(tried, 0, 0)[0] == 't';
    PQclear(tried);
    if (!locked || !raise_epoch(store, &until))
        return false;
    store->role = STORE_LEADER;
    snprintf(store->leader, sizeof store->leader, "%s", pg->address);
    return true;
}

/* ---- one step */

/* Ends the connection of a leader after lease expiry, if it still holds the lock (its process was
 * stopped, its machine hangs). The condition is in the statement, because another server may lead
 * by now. A connection that holds the lock but has not become leader gets a second lease. */
static const char end_leader[] =
    "SELECT pg_terminate_backend(pid) FROM pg_locks, leader WHERE locktype = 'advisory' AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid = $1::text::oid AND objid = $2::text::oid AND objsubid = 2"
    " AND clock_timestamp() > beat +"
    " (CASE WHEN pid = backend THEN 1 ELSE 2 END) * lease_ms * interval '1 ms'";

static const char look[] =
    "SELECT epoch, batch, address, beat + lease_ms * interval '1 ms' < clock_timestamp(),"
    " CASE WHEN $3::text = '1' THEN pg_try_advisory_lock($1::text::int, $2::text::oid::int)"
    " ELSE false END"
    " FROM leader";

void pg_show_leader(struct store *store, const char *address)
{
    store_lock(store);
    bool changed = strcmp(store->leader, address) != 0 || store->failed;
    snprintf(store->leader, sizeof store->leader, "%s", address);
    store->failed = false;
    store_unlock(store);
    if (changed)
        store_ring(store);
    if (*address) /* another server has gone first: stop waiting */
        store->pg->yield_until = 0;
}

static bool follow_once(struct store *store)
{
    struct pg *pg = store->pg;
    char numbers[2][PG_NUMBER];
    const char *values[] = {pg_number(numbers[0], PG_LOCK), pg_number(numbers[1], pg->lock),
                            clock_ms() >= pg->yield_until ? "1" : "0"};
    PGresult *seen = pg_ask(pg, look, 3, values);
    if (!seen || PQntuples(seen) != 1) {
        PQclear(seen);
        return false;
    }
    uint64_t until = pg_u64(seen, 0, 1);
    bool locked = PQgetvalue(seen, 0, 4)[0] == 't', stale = PQgetvalue(seen, 0, 3)[0] == 't';
    if (!locked)
        pg_show_leader(store, PQgetvalue(seen, 0, 2));
    PQclear(seen);
    if (locked && !(raise_epoch(store, &until) && read_snapshot_numbers(store)))
        return false;
    if (!read_rows_on(store, until))
        return false;
    if (store->role == STORE_LOST) {
        pg_disconnect(pg); /* this also releases the lock, if it was acquired */
    } else if (locked) {
        pg_become_leader(store);
    } else if (stale && clock_ms() >= pg->yield_until) {
        const uint64_t keys[] = {PG_LOCK, pg->lock};
        PGresult *ended = pg_ask_numbers(pg, end_leader, 2, keys);
        PQclear(ended);
        return ended != NULL;
    }
    return true;
}

/* Discards notifications: they only say that there is something to read. True: there was one. */
static bool drop_notifications(struct pg *pg)
{
    PGnotify *notify;
    bool any = false;
    if (!pg->conn || !PQconsumeInput(pg->conn))
        return true;
    for (; (notify = PQnotifies(pg->conn)); any = true)
        PQfreemem(notify);
    return any;
}

static void note_standby_trouble(struct store *store)
{
    struct pg *pg = store->pg;
    pg_disconnect(pg);
    pg_note_failure(store);
    pg->pause_ms = pg->pause_ms ? pg->pause_ms * 2 : 50;
    pg->pause_ms = pg->pause_ms > 1000 ? 1000 : pg->pause_ms;
    pg_wait(pg, false, (int)pg->pause_ms);
}

void pg_standby_step(struct store *store)
{
    struct pg *pg = store->pg;
    if (!(pg->conn || (pg_connect(pg) && pg_listen(pg))) || !follow_once(store)) {
        note_standby_trouble(store);
        return;
    }
    pg->pause_ms = 0;
    if (store->role != STORE_STANDBY) /* only this thread changes it */
        return;
    /* notifications received with answers are in libpq's buffer, where poll cannot see them */
    if (drop_notifications(pg))
        return;
    pg_wait(pg, false, PG_POLL_MS);
    drop_notifications(pg);
}

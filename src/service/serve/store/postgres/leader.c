/* The leader: commits, several in flight; heartbeats, snapshots, and deleting old data. */
#include "foundation/base/clock.h"
#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/postgres/postgres.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- statements */

static const struct {
    const char *name, *sql;
} statements[] = {
    {"append", "WITH mine AS (UPDATE leader SET batch = $2::bigint, last = $4::bigint,"
               " beat = clock_timestamp() WHERE epoch = $1::bigint AND batch = $2::bigint - 1"
               " RETURNING 1) INSERT INTO journal SELECT $2::bigint, $3::bigint, $4::bigint,"
               " $1::bigint, $5::bigint, $6::bytea FROM mine"
               " RETURNING pg_notify($7::text, '')"},
    {"incident", incident_put},
    {"action", action_put},
    {"labels", incident_labels_put},
    {"notice", notice_put},
    {"sent", notice_sent},
    {"beat", "UPDATE leader SET beat = clock_timestamp() WHERE epoch = $1::bigint RETURNING 1"},
    /* A damaged snapshot that is written again does not count meanwhile. */
    {"part", "WITH again AS (DELETE FROM snapshot WHERE last = $2::bigint AND"
             " EXISTS (SELECT FROM leader WHERE epoch = $1::bigint)) INSERT INTO snapshot_part"
             " SELECT $2::bigint, $3::bigint, $4::bytea FROM leader WHERE epoch = $1::bigint"
             " ON CONFLICT (last, part) DO UPDATE SET bytes = excluded.bytes RETURNING 1"},
    {"snapshot", "INSERT INTO snapshot SELECT $2::bigint, $3::bigint, $4::bigint, $5::bigint FROM"
                 " leader WHERE epoch = $1::bigint ON CONFLICT (last) DO NOTHING RETURNING 1"},
    {"trim0", "DELETE FROM snapshot WHERE last < $1::bigint AND last <> $2::bigint"},
    {"trim1", "DELETE FROM snapshot_part WHERE last < $1::bigint AND last <> $2::bigint"},
    {"trim2", "DELETE FROM journal WHERE batch IN (SELECT batch FROM journal WHERE"
              " last <= $2::bigint AND $1::bigint > 0 ORDER BY batch LIMIT 1000)"},
    /* the same with point-in-time queries: keep the newest snapshot before $1 and later ones */
    {"keep0", "DELETE FROM snapshot WHERE last < (SELECT coalesce(max(last), 0) FROM snapshot"
              " WHERE at <= $1::bigint AND last <= $2::bigint)"},
    {"keep1", "DELETE FROM snapshot_part WHERE last < (SELECT coalesce(max(last), 0) FROM snapshot"
              " WHERE at <= $1::bigint AND last <= $2::bigint)"},
    {"keep2", "DELETE FROM journal WHERE batch IN (SELECT batch FROM journal WHERE"
              " last <= (SELECT coalesce(max(last), 0) FROM snapshot WHERE at <= $1::bigint"
              " AND last <= $2::bigint) ORDER BY batch LIMIT 1000)"},
    {"trim3", "DELETE FROM incident WHERE $2::bigint IS NOT NULL AND id IN (SELECT id FROM incident"
              " WHERE ended < $1::bigint LIMIT 256)"},
    {"trim4", "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended IS NOT NULL"
              " AND id <= (SELECT max(id) FROM incident) - $1::bigint LIMIT $2::bigint)"},
    {"trim5", "UPDATE incident SET replay = NULL WHERE id IN (SELECT id FROM incident WHERE replay"
              " IS NOT NULL AND id <= (SELECT max(id) FROM incident) - $1::bigint LIMIT"
              " $2::bigint)"},
    {"trim6", "DELETE FROM action WHERE $2::bigint IS NOT NULL AND id IN (SELECT id FROM action"
              " WHERE at < $1::bigint LIMIT 256)"},
};

#define TRIM_STEPS 7

static bool prepare_statements(struct pg *pg)
{
    char sql[300];
    /* First notify the standbys, so that they can name the leader to clients. */
    snprintf(sql, sizeof sql, "NOTIFY %s; UNLISTEN %s; LISTEN %s_hand_over", pg->channel,
             pg->channel, pg->channel);
    if (!pg_do(pg, sql))
        return false;
    for (size_t i = 0; i < sizeof statements / sizeof *statements; i++) {
        PGresult *done = PQprepare(pg->conn, statements[i].name, statements[i].sql, 0, NULL);
        bool good = PQresultStatus(done) == PGRES_COMMAND_OK;
        PQclear(done);
        if (!good)
            return pg_failed(pg, PQerrorMessage(pg->conn));
    }
    return true;
}

/* Acknowledged means committed by the database: `none` does not wait, `full` waits for its disk and
 * for a synchronous standby of the database, if it has one. */
static bool set_durability(const struct store *store)
{
    struct pg *pg = store->pg;
    if (store->options.durability == STORE_NONE)
        return pg_do(pg, "SET synchronous_commit = off");
    if (store->options.durability == STORE_FULL)
        return pg_do(pg, "SELECT set_config('synchronous_commit', 'on', false)"
                         " WHERE current_setting('synchronous_commit') IN ('off', 'local')");
    return true;
}

static bool begin_pipeline(struct store *store)
{
    struct pg *pg = store->pg;
    if (!pg->prepared && !(prepare_statements(pg) && set_durability(store)))
        return false;
    pg->prepared = true;
    return (PQsetnonblocking(pg->conn, 1) == 0 && PQenterPipelineMode(pg->conn)) ||
           pg_failed(pg, PQerrorMessage(pg->conn));
}

static bool end_pipeline(struct pg *pg)
{
    if (PQpipelineStatus(pg->conn) == PQ_PIPELINE_OFF)
        return true;
    return (PQexitPipelineMode(pg->conn) && PQsetnonblocking(pg->conn, 0) == 0) ||
           pg_failed(pg, PQerrorMessage(pg->conn));
}

/* ---- sending */

static struct operation *add_operation(struct pg *pg, enum operation_kind kind)
{
    struct operation *operation =
        &pg->operations[(pg->operation_first + pg->operation_count++) % PG_OPERATIONS];
    bool renews = kind == OPERATION_APPEND || kind == OPERATION_HEARTBEAT;
    *operation = (struct operation){
        .kind = kind, .start = clock_ns(), .lease_start = renews ? boot_ns() / 1000000 : 0};
    return operation;
}

void pg_renewed(struct store *store, uint64_t sent)
{
    atomic_store_explicit(&store->leads_until, sent + store->pg->lease_ms, memory_order_release);
}

static bool end_pipeline_transaction(struct pg *pg)
{
    return PQpipelineSync(pg->conn) || pg_failed(pg, PQerrorMessage(pg->conn));
}

/* Sends a prepared statement with numbers, then bytes unless NULL, then a text unless NULL. */
static bool send_statement(struct pg *pg, const char *name, int count, const uint64_t *numbers,
                           const void *bytes, size_t size, const char *text)
{
    char texts[6][PG_NUMBER];
    const char *values[8];
    int lengths[8] = {0}, formats[8] = {0};
    for (int i = 0; i < count; i++)
        values[i] = pg_number(texts[i], numbers[i]);
    lengths[count] = (int)size;
    formats[count] = bytes != NULL;
    if (bytes)
        values[count++] = bytes;
    if (text)
        values[count++] = text;
    return PQsendQueryPrepared(pg->conn, name, count, values, lengths, formats, 0) ||
           pg_failed(pg, PQerrorMessage(pg->conn));
}

static bool send_numbers(struct pg *pg, const char *name, int count, const uint64_t *numbers)
{
    return send_statement(pg, name, count, numbers, NULL, 0, NULL) && end_pipeline_transaction(pg);
}

/* Under the mutex: returns the first batch that is not in flight, and how many go into the next
 * commit. */
static struct batch *next_commit_group(const struct store *store, size_t *count)
{
    struct batch *first = store->queue;
    size_t bytes = 0;
    for (size_t i = 0; i < store->pg->sent && first; i++)
        first = first->next;
    *count = 0;
    for (const struct batch *batch = first; batch && bytes < PG_GROUP_MAX; batch = batch->next) {
        bytes += batch_bytes(batch);
        ++*count;
    }
    return first;
}

/* *did: something was sent. */
static bool send_append(struct store *store, bool *did)
{
    struct pg *pg = store->pg;
    size_t count;
    store_lock(store);
    const struct batch *batch = next_commit_group(store, &count), *end = batch;
    for (size_t i = 1; i < count; i++)
        end = end->next;
    store_unlock(store);
    if (count == 0)
        return true;
    *did = true;
    uint64_t last = end->first + end->count - 1;
    if (!row_put(&pg->row, batch, count))
        return pg_failed(pg, "out of memory");
    uint64_t crc = crc32c(0, pg->row.data, pg->row.used);
    const uint64_t numbers[] = {pg->epoch, pg->batch + 1, batch->first, last, crc};
    if (!send_statement(pg, "append", 5, numbers, pg->row.data, pg->row.used, pg->channel) ||
        !incidents_send(pg, batch, count, pg->batch + 1) || !end_pipeline_transaction(pg))
        return false;
    struct operation *operation = add_operation(pg, OPERATION_APPEND);
    operation->batch = ++pg->batch;
    operation->count = count;
    pg->sent += count;
    pg->appending++;
    pg->heartbeat_at = clock_ms() + pg->lease_ms / 4;
    return true;
}

/* A server with a hanging event loop must lose the leadership, although this thread still runs. */
static bool loop_is_alive(const struct store *store)
{
    return clock_ms() < atomic_load_explicit(&store->loop_alive_at, memory_order_relaxed) +
                            PG_LOOP_MS + store->pg->lease_ms / 2;
}

/* ---- snapshots */

static bool send_part(struct pg *pg, struct snapshot_job *job)
{
    size_t left = job->body.used - job->written, size = left < PG_PART ? left : PG_PART;
    const uint64_t numbers[] = {pg->epoch, job->number, job->written / PG_PART};
    const uint8_t *bytes = job->body.data + job->written;
    job->written += size;
    add_operation(pg, OPERATION_PART);
    return send_statement(pg, "part", 3, numbers, bytes, size, NULL) &&
           end_pipeline_transaction(pg);
}

/* A snapshot must not count before the records it contains are committed. */
static bool step_snapshot(struct store *store)
{
    struct pg *pg = store->pg;
    store_lock(store);
    struct snapshot_job *job = store->job;
    store_unlock(store);
    if (!job || pg->part_under_way)
        return true;
    bool last = job->written == job->body.used;
    if (last && atomic_load(&store->committed) < job->number)
        return true;
    pg->part_under_way = true;
    if (!last)
        return send_part(pg, job);
    const uint64_t numbers[] = {pg->epoch, job->number, job->at, job->body.used,
                                crc32c(0, job->body.data, job->body.used)};
    add_operation(pg, OPERATION_SNAPSHOT);
    return send_numbers(pg, "snapshot", 5, numbers);
}

static void end_snapshot_job(struct store *store, bool written)
{
    char why[sizeof store->pg->why + 20];
    snprintf(why, sizeof why, "PostgreSQL: %s", store->pg->why);
    store_lock(store);
    if (store->job)
        store_end_job(store, written, why);
    store->pg->part_under_way = false;
    store_unlock(store);
    store_ring(store);
}

/* ---- deleting old data */

/* Returns the moment this long ago; 0: never. */
static uint64_t time_before(const struct store *store, uint64_t keep_ms)
{
    uint64_t now = store_now(store);
    return keep_ms && now > keep_ms ? now - keep_ms : 0;
}

static bool step_trim(struct store *store)
{
    struct pg *pg = store->pg;
    char name[] = "trim0";
    store_lock(store);
    uint64_t ended_before = time_before(store, store->keep_ms);
    const uint64_t numbers[TRIM_STEPS][2] = {
        {store->newest, store->older},
        {store->newest, store->older},
        {store->newest, store->older},
        {ended_before, 0},
        {HISTORY_INCIDENTS, 256},
        {HISTORY_REPLAYS, 64},
        {ended_before, 0},
    };
    uint64_t keep = store->options.keep_history_ms;
    const uint64_t past[2] = {time_before(store, keep), store->older};
    bool keeps = keep && pg->trim_step < 3;
    bool due = store->trimming || clock_ms() >= store->trim_at;
    if (due && pg->trim_step == 0 && !pg->trim_under_way) {
        store->trimming = false;
        store->trim_at = clock_ms() + STORE_TRIM_MS;
    }
    store_unlock(store);
    if (pg->trim_under_way || (!due && pg->trim_step == 0))
        return true;
    pg->trim_under_way = true;
    if (keeps)
        memcpy(name, "keep", 4);
    name[4] = (char)('0' + pg->trim_step);
    add_operation(pg, OPERATION_TRIM);
    return send_numbers(pg, name, 2, keeps ? past : numbers[pg->trim_step]);
}

static void take_trim(struct store *store, const struct operation *operation)
{
    struct pg *pg = store->pg;
    bool more = operation->rows >= (pg->trim_step == 2 ? 1000 : 64) && pg->trim_step >= 2;
    store_lock(store);
    if (pg->trim_step == 3 || pg->trim_step == 4)
        store->figures.incidents_dropped += operation->rows;
    store_unlock(store);
    pg->trim_under_way = false;
    if (!more)
        pg->trim_step = (pg->trim_step + 1) % TRIM_STEPS;
}

/* ---- answers */

/* Records that `count` batches are committed. */
static void count_append(struct store *store, const struct operation *operation)
{
    struct pg *pg = store->pg;
    store_lock(store);
    store_note_commit(store, store->queue, operation->count, clock_ns() - operation->start);
    store_drop_group(store, operation->count);
    store_unlock(store);
    pg->sent -= operation->count;
}

/* A success clears a failure. Without events there are heartbeats. */
static void note_health(struct store *store)
{
    store_lock(store);
    bool changed = store->failed;
    store->failed = false;
    store_unlock(store);
    if (changed)
        store_ring(store);
}

static void end_operation(struct store *store)
{
    struct pg *pg = store->pg;
    struct operation operation = pg->operations[pg->operation_first];
    pg->operation_first = (pg->operation_first + 1) % PG_OPERATIONS;
    pg->operation_count--;
    if (operation.counts && operation.lease_start)
        pg_renewed(store, operation.lease_start);
    switch (operation.kind) {
    case OPERATION_APPEND:
        pg->appending--;
        if (operation.counts)
            count_append(store, &operation);
        break;
    case OPERATION_PART:
        pg->part_under_way = false;
        if (!operation.counts)
            end_snapshot_job(store, false);
        break;
    case OPERATION_SNAPSHOT:
        end_snapshot_job(store, operation.counts);
        break;
    case OPERATION_TRIM:
        take_trim(store, &operation);
        return;
    case OPERATION_HEARTBEAT:
        break;
    }
    if (!operation.counts && !pg->failing)
        pg_failed(pg, "a write had no effect, without an error");
    pg->failing |= !operation.counts;
    if (operation.counts)
        note_health(store);
}

static void take_commit_result(struct store *store, const PGresult *result)
{
    struct pg *pg = store->pg;
    struct operation *operation = &pg->operations[pg->operation_first];
    switch (PQresultStatus(result)) {
    case PGRES_TUPLES_OK:
        operation->counts = PQntuples(result) == 1;
        break;
    case PGRES_COMMAND_OK:
        operation->rows = strtoull(PQcmdTuples((PGresult *)result), NULL, 10);
        break;
    case PGRES_PIPELINE_SYNC:
        end_operation(store);
        break;
    default:
        operation->counts = false;
        pg->failing = true;
        if (PQresultStatus(result) == PGRES_FATAL_ERROR)
            pg_failed(pg, PQresultErrorMessage(result));
    }
}

/* Has another process asked for the leadership? */
static void take_notifications(struct store *store)
{
    PGnotify *notify;
    while ((notify = PQnotifies(store->pg->conn))) {
        bool asked = strstr(notify->relname, "_hand_over") != NULL;
        PQfreemem(notify);
        if (!asked)
            continue;
        store_lock(store);
        store->handing_over = true;
        store_unlock(store);
        store_ring(store);
    }
}

static bool take_commit_answers(struct store *store)
{
    struct pg *pg = store->pg;
    uint64_t before = atomic_load(&store->committed);
    if (!PQconsumeInput(pg->conn))
        return pg_failed(pg, PQerrorMessage(pg->conn));
    while (pg->operation_count > 0 && !PQisBusy(pg->conn)) {
        PGresult *result = PQgetResult(pg->conn);
        if (result)
            take_commit_result(store, result);
        PQclear(result);
    }
    if (atomic_load(&store->committed) != before)
        store_ring(store);
    take_notifications(store);
    return PQstatus(pg->conn) == CONNECTION_OK || pg_failed(pg, PQerrorMessage(pg->conn));
}

/* ---- after a failure */

/* The caller holds the mutex. */
static void pg_lose_leadership(struct store *store, const char *why)
{
    store->role = STORE_LOST;
    snprintf(store->lost, sizeof store->lost, "%s", why);
    store->leader[0] = '\0';
    store_ring(store);
}

/* Rows up to `batch` are committed: counts the rows of this leader; the others are sent again. */
static void settle_operations(struct store *store, uint64_t batch)
{
    struct pg *pg = store->pg;
    bool all_sent = false; /* of a snapshot */
    for (; pg->operation_count > 0; pg->operation_count--) {
        const struct operation *operation = &pg->operations[pg->operation_first];
        all_sent |= operation->kind == OPERATION_SNAPSHOT;
        if (operation->kind == OPERATION_APPEND && operation->batch <= batch)
            count_append(store, operation);
        pg->operation_first = (pg->operation_first + 1) % PG_OPERATIONS;
    }
    if (pg->part_under_way) { /* was it committed, although the answer was lost? */
        static const char select[] = "SELECT 1 FROM snapshot WHERE last = $1";
        PGresult *found = all_sent ? pg_ask_numbers(pg, select, 1, &store->job->number) : NULL;
        end_snapshot_job(store, found && PQntuples(found) == 1);
        PQclear(found);
    }
    pg->sent = 0;
    pg->appending = 0;
    pg->trim_step = 0;
    pg->trim_under_way = false;
    pg->batch = batch;
    pg->failing = false;
    pg->heartbeat_at = 0; /* send a heartbeat; its answer shows that the database works */
}

/* If the epoch in the table is not ours, another server leads. */
static bool still_leads(struct store *store, const PGresult *row, int column)
{
    if (PQntuples(row) == 1 && pg_u64(row, 0, column) == store->pg->epoch)
        return true;
    store_lock(store);
    pg_lose_leadership(store, "another server leads now");
    store_unlock(store);
    return false;
}

/* All answers have arrived, and one was an error: finds out what is committed. */
static bool check_after_failure(struct store *store)
{
    struct pg *pg = store->pg;
    pg_note_failure(store);
    if (!end_pipeline(pg))
        return false;
    PGresult *found = pg_ask(pg, "SELECT epoch, batch FROM leader", 0, NULL);
    if (!found)
        return false;
    if (still_leads(store, found, 0))
        settle_operations(store, pg_u64(found, 0, 1));
    PQclear(found);
    return true;
}

static const char end_old_connection[] =
    "SELECT pg_terminate_backend(pid) FROM pg_locks, leader WHERE locktype = 'advisory' AND granted"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
    " AND classid = $1::text::oid AND objid = $2::text::oid AND objsubid = 2"
    " AND pid = backend AND epoch = $3::text::bigint";

/* The connection, and with it the lock, is lost. Continues as leader unless another server has the
 * lock. Increments the epoch, so that commits still in flight on the old connection fail. */
static bool lead_again(struct store *store)
{
    struct pg *pg = store->pg;
    const uint64_t keys[] = {PG_LOCK, pg->lock, pg->epoch};
    PGresult *tried = pg_ask_numbers(
        pg, "SELECT pg_try_advisory_lock($1::text::int, $2::text::oid::int)::text", 2, keys);
    bool locked = tried && PQgetvalue(tried, 0, 0)[0] == 't';
    PQclear(tried);
    if (!tried)
        return false;
    uint64_t sent = boot_ns() / 1000000;
    if (!locked) {
        PGresult *ended = pg_ask_numbers(pg, end_old_connection, 3, keys);
        PGresult *found = ended ? pg_ask(pg, "SELECT epoch FROM leader", 0, NULL) : NULL;
        PQclear(ended);
        if (found)
            still_leads(store, found, 0);
        PQclear(found);
        return pg_failed(pg, "another connection has the lock");
    }
    PGresult *raised =
        pg_ask_numbers(pg,
                       "UPDATE leader SET epoch = epoch + 1, backend = pg_backend_pid(),"
                       " beat = clock_timestamp() WHERE epoch = $1::text::bigint"
                       " RETURNING (epoch - 1)::text, batch::text, backend::text",
                       1, &pg->epoch);
    if (!raised)
        return false;
    if (still_leads(store, raised, 0)) {
        pg_renewed(store, sent);
        pg->epoch++;
        pg->backend = (int)pg_u64(raised, 0, 2);
        settle_operations(store, pg_u64(raised, 0, 1));
    }
    PQclear(raised);
    return true;
}

/* ---- one step */

bool pg_lead_done(const struct store *store)
{
    return !store->queue && !store->job && store->pg->operation_count == 0;
}

void pg_release(struct pg *pg)
{
    char sql[500];
    if (!pg->conn || pg->epoch == 0 || !end_pipeline(pg))
        return;
    snprintf(sql, sizeof sql,
             "UPDATE leader SET address = '' WHERE epoch = %llu;"
             "SELECT pg_advisory_unlock_all(); NOTIFY %s",
             (unsigned long long)pg->epoch, pg->channel);
    pg_do(pg, sql);
}

/* Sends everything that can be sent now. */
static bool send_batches(struct store *store)
{
    struct pg *pg = store->pg;
    bool good = true, did = true;
    while (good && did && pg->appending < pg->commits) {
        did = false;
        good = send_append(store, &did);
    }
    if (good && pg->operation_count == 0 && clock_ms() >= pg->heartbeat_at &&
        loop_is_alive(store)) {
        pg->heartbeat_at = clock_ms() + pg->lease_ms / 4;
        add_operation(pg, OPERATION_HEARTBEAT);
        good = send_numbers(pg, "beat", 1, &pg->epoch);
    }
    if (good && pg->operation_count < PG_OPERATIONS / 2)
        good = step_snapshot(store);
    if (good && pg->operation_count < PG_OPERATIONS / 2)
        good = step_trim(store);
    return good;
}

/* Returns true when the leadership was handed over. */
static bool hand_over_lead(struct store *store)
{
    store_lock(store);
    bool now = store->handing_over && !store->queue && store->pg->operation_count == 0;
    store_unlock(store);
    if (!now)
        return false;
    pg_release(store->pg);
    store_lock(store);
    pg_lose_leadership(store, STORE_HANDED_OVER);
    store_unlock(store);
    return true;
}

static bool lead_once(struct store *store)
{
    struct pg *pg = store->pg;
    if (!pg->conn && !loop_is_alive(store))
        return pg_failed(pg, "the event loop hangs");
    if (!pg->conn && !(pg_connect(pg) && lead_again(store)))
        return false;
    if (store->role != STORE_LEADER)
        return true;
    if (PQpipelineStatus(pg->conn) == PQ_PIPELINE_OFF && !begin_pipeline(store))
        return false;
    if (!pg->failing && !send_batches(store))
        return false;
    int left = PQflush(pg->conn);
    if (left < 0)
        return pg_failed(pg, PQerrorMessage(pg->conn));
    uint64_t now = clock_ms();
    int due = pg->heartbeat_at > now ? (int)(pg->heartbeat_at - now)
              : loop_is_alive(store) ? 0
                                     : PG_POLL_MS;
    pg_wait(pg, left > 0, pg->operation_count > 0 ? 1000 : due);
    if (!take_commit_answers(store))
        return false;
    if (pg->failing && pg->operation_count == 0) {
        if (!check_after_failure(store))
            return false;
        if (store->role == STORE_LEADER)
            pg_wait(pg, false, (int)store->options.retry_ms);
    }
    return true;
}

void pg_leader_step(struct store *store)
{
    struct pg *pg = store->pg;
    if (lead_once(store)) {
        pg->pause_ms = 0;
        if (store->role == STORE_LEADER)
            hand_over_lead(store);
        return;
    }
    pg_note_failure(store);
    pg_disconnect(pg);
    if (store->role == STORE_LOST)
        return;
    pg->pause_ms = pg->pause_ms ? pg->pause_ms * 2 : 20;
    pg->pause_ms = pg->pause_ms > 500 ? 500 : pg->pause_ms;
    pg_wait(pg, false, (int)pg->pause_ms);
}

/* Queries for PostgreSQL 10 and later, and the evaluation of the answers. Tested with version
 * 15. */
#include "sources/watch/servers/lock_queues.h"
#include "sources/watch/servers/remedy.h"

#include <stdio.h>
#include <string.h>

/* ------------------------------------------------------------------ hello */

/* SQL for the time in milliseconds after which a session checks for a deadlock: the longest value
 * of this session and of the settings of roles and databases. Values that a session has set for
 * itself are not visible. */
#define DEADLOCK_TIMEOUT                                                                           \
    "SELECT max(ms) FROM (SELECT setting::numeric AS ms FROM pg_settings WHERE name = "            \
    "'deadlock_timeout' UNION ALL SELECT extract(epoch FROM (m[1] || coalesce(m[2], "              \
    "'ms'))::interval)::numeric * 1000 FROM (SELECT regexp_match(item, "                           \
    "'^deadlock_timeout=([0-9.]+) *(us|ms|s|min|h|d)?$') AS m FROM pg_db_role_setting, "           \
    "unnest(setconfig) AS item) AS given WHERE m IS NOT NULL) AS known"

/* Limits how long the watcher waits for locks. Behind a pooler, the next transaction of the
 * server connection belongs to another client. So the settings are local to the transaction of
 * one query. */
static void write_settings(unsigned version, struct output *sql)
{
    if (version >= 110000)
        output_text(sql, "SET LOCAL jit = off; ");
    output_text(sql, "SET LOCAL lock_timeout = 1000; SET LOCAL statement_timeout = 30000; ");
}

/* Names our session for people who look at it, unless a pooler shares it. Behind a pooler the
 * session has another number than the connection. */
static void write_hello(unsigned version, int64_t pid, struct output *sql)
{
    write_settings(version, sql);
    output_format(sql,
                  "SELECT set_config('application_name', 'gordian watch', false) WHERE "
                  "pg_backend_pid() = %lld AND current_setting('application_name') = ''; ",
                  (long long)pid);
    output_text(sql,
                "SELECT current_setting('cluster_name'), current_user, "
                "pg_has_role(current_user, 'pg_read_all_stats', 'usage') OR r.rolsuper, "
                "pg_has_role(current_user, 'pg_signal_backend', 'usage') OR r.rolsuper, "
                "r.rolsuper, coalesce(inet_client_addr() <<= '127.0.0.0/8' OR "
                "inet_client_addr() = '::1' OR inet_client_addr() = inet_server_addr(), true), "
                "current_setting('port'), pg_is_in_recovery(), "
                "extract(epoch FROM pg_postmaster_start_time()), "
                "has_function_privilege('pg_control_system()', 'execute'), (" DEADLOCK_TIMEOUT
                ") FROM pg_roles r WHERE r.rolname = current_user");
}

static void greet_postgres(const struct connection *answer, struct server_facts *facts)
{
    struct row row = {.answer = answer};
    facts->resolves_soft_waits = facts->names_programs = facts->detects = true;
    if (answer->rows == 0)
        return;
    snprintf(facts->name, sizeof facts->name, "%s", next_word(&row));
    snprintf(facts->user, sizeof facts->user, "%s", next_word(&row));
    facts->sees_activity = next_flag(&row);
    facts->lacks[0] = '\0';
    if (!facts->sees_activity)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "the role %s cannot see the sessions of other users: GRANT pg_read_all_stats "
                 "TO %s",
                 facts->user, facts->user);
    facts->signals = next_flag(&row);
    facts->superuser = next_flag(&row);
    facts->near = next_flag(&row);
    facts->port = (uint32_t)next_integer(&row, 0);
    facts->standby = next_flag(&row);
    const char *started = next_value(&row);
    snprintf(facts->identity, sizeof facts->identity, "PostgreSQL, port %u, started %s",
             facts->port, started ? started : "?");
    facts->identifies = next_flag(&row);
    double detects_ms = next_number(&row);
    facts->detects_ns = detects_ms >= 0 ? (uint64_t)(detects_ms * 1e6) : UINT64_C(1000000000);
}

/* This is a separate query, because it fails for a role without permission. A standby has the same
 * number as its primary; the start time of the server distinguishes them. */
static void write_identify(struct output *sql)
{
    output_text(sql, "SELECT system_identifier FROM pg_control_system()");
}

static void identified_postgres(const struct connection *answer, struct server_facts *facts)
{
    struct row row = {.answer = answer};
    if (answer->rows > 0)
        snprintf(facts->system, sizeof facts->system, "%s", next_word(&row));
}

/* Wait events of replay on a standby that waits for sessions to release something. */
#define REPLAY_WAITS "'RecoveryConflictSnapshot', 'RecoveryConflictTablespace', 'BufferPin'"

/* The view pg_stat_activity joins and formats columns that are not needed here. Its underlying
 * functions take a third of its time. A role that cannot see other sessions can still see their
 * locks. */
static void write_gate(const struct server_facts *facts, struct output *sql)
{
    output_text(sql, facts->sees_activity
                         ? "SELECT 1 FROM pg_stat_get_backend_idset() AS backend WHERE "
                           "pg_stat_get_backend_wait_event_type(backend) = 'Lock' "
                         : "SELECT 1 FROM pg_locks WHERE NOT granted ");
    if (facts->sees_activity && facts->standby)
        output_text(sql, "OR pg_stat_get_backend_wait_event(backend) IN (" REPLAY_WAITS ") ");
    output_text(sql, "LIMIT 1");
}

/* ------------------------------------------------------------------ locks */

/* Writes expressions for the awaited object and row. */
static void write_names(struct output *sql)
{
    output_text(
        sql,
        "CASE WHEN l.granted THEN NULL "
        "WHEN l.locktype = 'advisory' AND l.objsubid = 1 THEN 'advisory lock ' || "
        "((l.classid::bigint << 32) | l.objid::bigint) "
        "WHEN l.locktype = 'advisory' THEN format('advisory lock (%s,%s)', "
        "l.classid::bigint::bit(32)::int, l.objid::bigint::bit(32)::int) "
        "WHEN l.locktype = 'relation' THEN 'table ' || CASE WHEN l.database IN (0, d.oid) "
        "THEN l.relation::regclass::text ELSE format('%s of database %s', l.relation, "
        "l.database) "
        "END WHEN l.locktype = 'tuple' THEN 'row of ' || CASE WHEN l.database IN (0, d.oid) "
        "THEN l.relation::regclass::text ELSE format('%s of database %s', l.relation, "
        "l.database) "
        "END WHEN l.locktype = 'transactionid' THEN 'transaction ' || l.transactionid "
        "WHEN l.locktype = 'virtualxid' THEN 'transaction ' || l.virtualxid "
        "ELSE format('%s %s/%s', l.locktype, l.classid, l.objid) END, "
        "CASE WHEN l.granted THEN NULL "
        "WHEN l.locktype = 'tuple' THEN format('%s(%s,%s)', CASE WHEN l.database = d.oid "
        "THEN l.relation::regclass::text ELSE l.relation::text END, l.page, l.tuple) "
        "WHEN l.locktype = 'transactionid' AND t.pid IS NOT NULL THEN format('%s(%s,%s)', "
        "CASE WHEN t.database = d.oid THEN t.relation::regclass::text ELSE t.relation::text END, "
        "t.page, t.tuple) END, ");
}

/* Writes SQL for all locks with waiters: first granted rows, grouped by session; then waiting rows
 * in the order in which the waits began. See lock_queues.h. */
static void write_locks(const struct server_facts *facts, struct output *sql)
{
    const char *kept = facts->version >= 120000 ? "MATERIALIZED" : "";
    const char *leader = facts->version >= 130000 ? "leader_pid" : "NULL::int AS leader_pid";
    const char *began = facts->version >= 140000 ? "l.waitstart" : "a.query_start";
    output_format(
        sql,
        "WITH a AS %s (SELECT pid, %s, backend_type, query_start FROM pg_stat_activity), "
        "l AS %s (SELECT *, ROW(locktype, database, relation, page, tuple, virtualxid, "
        "transactionid, classid, objid, objsubid)::text AS tag FROM pg_locks "
        "WHERE mode <> 'SIReadLock'), "
        "w AS %s (SELECT DISTINCT tag FROM l WHERE NOT granted "
        "AND locktype NOT IN ('extend', 'page', 'spectoken')), "
        /* a transaction's lock on its own id identifies a prepared transaction, which has no pid */
        "x AS (SELECT l.virtualtransaction, p.gid FROM l JOIN pg_prepared_xacts p "
        "ON l.transactionid = p.transaction WHERE l.pid IS NULL AND l.granted), "
        "t AS (SELECT DISTINCT ON (pid) pid, database, relation, page, tuple FROM l "
        "WHERE locktype = 'tuple' AND granted ORDER BY pid), "
        "d AS (SELECT oid FROM pg_database WHERE datname = current_database()) "
        "SELECT coalesce(a.leader_pid, l.pid, 0) AS leader, l.granted, l.mode, l.tag, x.gid, ",
        kept, leader, kept, kept);
    write_names(sql);
    output_format(sql,
                  "CASE WHEN NOT l.granted THEN %s END AS began, "
                  "CASE WHEN NOT l.granted THEN extract(epoch FROM clock_timestamp() - %s) END "
                  "FROM l JOIN w USING (tag) CROSS JOIN d LEFT JOIN a USING (pid) "
                  "LEFT JOIN t ON t.pid = l.pid LEFT JOIN x "
                  "ON l.pid IS NULL AND x.virtualtransaction = l.virtualtransaction "
                  "WHERE l.granted OR (a.pid IS NOT NULL AND "
                  "a.backend_type IS DISTINCT FROM 'autovacuum worker') "
                  "ORDER BY l.granted DESC, began NULLS LAST, leader, x.gid",
                  began, began);
}

/* The texts of a wait belong to the answer. They are copied when the session is known. */
static void take_lock(struct queues *queues, struct row *row)
{
    struct queue_wait wait = {.leader = next_integer(row, 0)};
    bool granted = next_flag(row);
    wait.mode = next_word(row);
    const char *tag = next_word(row), *gid = next_value(row);
    if (granted) {
        queues_hold(queues, tag, wait.leader, gid, wait.mode);
        return;
    }
    wait.object = next_word(row);
    wait.row = next_word(row);
    wait.began = next_word(row);
    wait.age_s = next_number(row);
    queues_wait(queues, tag, &wait);
}

/* ------------------------------------------------------------------ sessions */

/* Writes SQL for all sessions with a transaction, because they may be linked to sessions elsewhere,
 * and for all sessions of the locks. */
static void write_sessions(const struct server_facts *facts, const struct scan *scan,
                           struct output *sql)
{
    output_text(
        sql, "SELECT a.pid, a.backend_start, a.usename, a.application_name, a.datname, "
             "host(a.client_addr), a.client_port, a.state, left(a.query, 400), a.state_change, "
             "extract(epoch FROM statement_timestamp() - a.xact_start), "
             "extract(epoch FROM statement_timestamp() - a.state_change), r.rolsuper, "
             "coalesce(l.locks, 0), "
             "to_hex(trunc(extract(epoch FROM a.backend_start))::bigint) || '.' || to_hex(a.pid), "
             "a.xact_start, a.query_start, CASE WHEN a.pid = ANY('{");
    int64_t checked[QUEUES_CHECKS]; /* sessions whose queue position is checked */
    size_t count = queues_check(scan->queues, checked);
    for (size_t i = 0; i < count; i++)
        output_format(sql, "%s%lld", i ? "," : "", (long long)checked[i]);
    output_format(
        sql,
        "}'::int[]) THEN pg_blocking_pids(a.pid) END, "
        "CASE WHEN a.backend_type = 'startup' THEN a.wait_event "
        "WHEN a.state <> 'active' THEN NULL "
        "WHEN a.wait_event_type = 'Extension' THEN 'Extension' "
        "WHEN a.wait_event IS NULL AND a.query ILIKE '%%dblink%%' THEN 'Extension' END "
        "FROM pg_stat_activity a LEFT JOIN pg_roles r ON r.oid = a.usesysid "
        "LEFT JOIN (SELECT pid, count(*) AS locks FROM pg_locks WHERE granted GROUP BY pid) l "
        "ON l.pid = a.pid AND a.wait_event_type = 'Lock' "
        "WHERE a.pid <> pg_backend_pid() AND %s AND (a.xact_start IS NOT NULL OR "
        "(a.backend_type = 'startup' AND a.wait_event IN (" REPLAY_WAITS ")) OR a.pid = ANY('{",
        facts->version >= 130000 ? "a.leader_pid IS NULL" : "true");
    for (size_t i = 0, written = 0; i < scan->session_count; i++)
        if (scan->sessions[i].pid > 0)
            output_format(sql, "%s%lld", written++ ? "," : "", (long long)scan->sessions[i].pid);
    output_text(sql, "}'::int[]))");
}

/* Notes a wait outside the lock manager: for an answer from elsewhere, or, in replay on a standby,
 * for sessions to release something. If replay waits for a lock, that wait is handled like any
 * other. */
static void take_outside(struct session *session, const char *event)
{
    if (!event)
        return;
    session->calls = strcmp(event, "Extension") == 0;
    if (session->calls)
        return;
    session->spared = true;
    if (session->wait != SCAN_NONE)
        return;
    session->state = "replay";
    session->unseen =
        strcmp(event, "BufferPin") == 0
            ? "replays changes from the primary and waits for a session that uses a page, which is "
              "not visible: look for old queries in pg_stat_activity"
            : "replays changes from the primary and waits for sessions that may still need rows "
              "that were removed there: look for the oldest backend_xmin in pg_stat_activity, or "
              "lower max_standby_streaming_delay";
}

static void read_session(struct row *row, const struct server_facts *facts)
{
    struct scan *scan = row->scan;
    uint32_t number = scan_session(scan, next_integer(row, -1), NULL);
    if (number == SCAN_NONE)
        return;
    struct session *session = &scan->sessions[number];
    session->started = next_text(row);
    session->user = next_text(row);
    session->application = next_text(row);
    session->database = next_text(row);
    session->address = next_text(row);
    int64_t port = next_integer(row, 0);
    session->port = port > 0 && port < 65536 ? (uint32_t)port : 0;
    session->state = next_text(row);
    session->active = strcmp(session->state, "active") == 0;
    session->idle = strncmp(session->state, "idle", 4) == 0;
    session->query = next_text(row);
    session->changed = next_text(row);
    session->transaction_s = next_number(row);
    session->state_s = next_number(row);
    session->spared = next_flag(row) && !facts->superuser;
    session->work = (uint64_t)next_number(row);
    session->id = next_text(row);
    session->transaction = next_text(row);
    session->statement = next_text(row);
    const char *ahead = next_value(row);
    take_outside(session, next_value(row));
    if (ahead)
        queues_ahead(scan->queues, session->pid, ahead);
}

/* ------------------------------------------------------------------ parts */

enum { PART_LOCKS, PART_SESSIONS, PARTS };

static void write_part(unsigned part, const struct server_facts *facts, const struct scan *scan,
                       struct output *sql)
{
    write_settings(facts->version, sql);
    if (part == PART_LOCKS)
        write_locks(facts, sql);
    else
        write_sessions(facts, scan, sql);
}

static void read_part(unsigned part, const struct server_facts *facts,
                      const struct connection *answer, struct scan *scan)
{
    if (part == PART_LOCKS)
        scan->queues = queues_open(scan, answer->rows);
    for (size_t i = 0; i < answer->rows && !scan->failed; i++) {
        struct row row = {answer, scan, i, 0};
        if (part == PART_LOCKS)
            take_lock(scan->queues, &row);
        else
            read_session(&row, facts);
    }
    if (!scan->failed)
        (part == PART_LOCKS ? queues_settle : queues_edges)(scan->queues);
}

static const char *hint_postgres(const char *why)
{
    if (strstr(why, "must be a superuser to terminate") || strstr(why, "superuser process"))
        return "only a superuser may end a superuser's session";
    if (strstr(why, "must be a member of the role") || strstr(why, "pg_signal_backend"))
        return "the role lacks pg_signal_backend: GRANT pg_signal_backend TO it";
    return NULL;
}

const struct dialect dialect_postgres = {
    .kind = "PostgreSQL",
    .parts = PARTS,
    .hello = write_hello,
    .greet = greet_postgres,
    .identify = write_identify,
    .identified = identified_postgres,
    .gate = write_gate,
    .part = write_part,
    .read = read_part,
    .advise = remedy_postgres_advise,
    .remedy = remedy_postgres_write,
    .outcome = remedy_postgres_outcome,
    .refusal = remedy_postgres_refusal,
    .hint = hint_postgres,
};

/* PostgreSQL 10 and later: what to ask, and what the answers mean. Measured on 15. */
#include "watch/dialect.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the beginning */

/* Columns of the answer. */
enum {
    HELLO_NAME,
    HELLO_USER,
    HELLO_SEES,
    HELLO_SIGNALS,
    HELLO_SUPER,
    HELLO_NEAR,
    HELLO_PORT,
};

/* The watcher never waits long for a lock of its own. Behind a pooler the next transaction of this
 * server connection is another client's: the settings are those of one question, which is one
 * transaction, and end with it. */
static void write_settings(unsigned version, struct output *sql)
{
    if (version >= 110000)
        output_text(sql, "SET LOCAL jit = off; ");
    output_text(sql, "SET LOCAL lock_timeout = 1000; SET LOCAL statement_timeout = 30000; ");
}

/* The session is named, for those who look at it, if it is ours alone. Behind a pooler its number
 * is not the one that the connection has. */
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
                "current_setting('port') FROM pg_roles r WHERE r.rolname = current_user");
}

static bool is_true(const char *value)
{
    return value && value[0] == 't';
}

static void greet_postgres(const struct answer *answer, struct server_facts *facts)
{
    facts->mends_soft_waits = facts->names_programs = true;
    if (answer_rows(answer) == 0)
        return;
    const char *name = answer_value(answer, 0, HELLO_NAME);
    const char *user = answer_value(answer, 0, HELLO_USER);
    snprintf(facts->name, sizeof facts->name, "%s", name ? name : "");
    snprintf(facts->user, sizeof facts->user, "%s", user ? user : "");
    facts->sees_activity = is_true(answer_value(answer, 0, HELLO_SEES));
    facts->lacks[0] = '\0';
    if (!facts->sees_activity)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "the role %s does not see what other users' sessions do: GRANT pg_read_all_stats "
                 "TO %s",
                 facts->user, facts->user);
    facts->signals = is_true(answer_value(answer, 0, HELLO_SIGNALS));
    facts->superuser = is_true(answer_value(answer, 0, HELLO_SUPER));
    facts->near = is_true(answer_value(answer, 0, HELLO_NEAR));
    const char *port = answer_value(answer, 0, HELLO_PORT);
    facts->port = port ? (uint32_t)strtoul(port, NULL, 10) : 0;
}

/* The view pg_stat_activity joins and formats what nobody asks for here: these functions under it
 * take a third of its time. Without the right to see other sessions, their locks can still be
 * seen. */
static void write_gate(const struct server_facts *facts, struct output *sql)
{
    output_text(sql, facts->sees_activity
                         ? "SELECT 1 FROM pg_stat_get_backend_idset() AS backend WHERE "
                           "pg_stat_get_backend_wait_event_type(backend) = 'Lock' LIMIT 1"
                         : "SELECT 1 FROM pg_locks WHERE NOT granted LIMIT 1");
}

/* ------------------------------------------------------------------ the waits */

enum {
    EDGE_WAITER,
    EDGE_BLOCKERS,
    EDGE_HELD,
    EDGE_GIDS,
    EDGE_MODE,
    EDGE_OBJECT,
    EDGE_ROW,
    EDGE_BEGAN,
    EDGE_AGE,
};

/* One row for each that waits, with the array of those in its way: a row for each pair would be
 * quadratic for a row that everybody wants. */
static void write_edges(const struct server_facts *facts, struct output *sql)
{
    const char *kept = facts->version >= 120000 ? "MATERIALIZED" : "";
    const char *leader = facts->version >= 130000 ? "leader_pid" : "NULL::int AS leader_pid";
    const char *began = facts->version >= 140000 ? "w.waitstart" : "w.query_start";
    output_format(
        sql,
        "WITH a AS %s (SELECT pid, %s, backend_type, query_start FROM pg_stat_activity), "
        "l AS %s (SELECT *, ROW(locktype, database, relation, page, tuple, virtualxid, "
        "transactionid, classid, objid, objsubid)::text AS tag FROM pg_locks "
        "WHERE mode <> 'SIReadLock'), "
        "w AS %s (SELECT l.*, coalesce(a.leader_pid, l.pid) AS waiter, a.query_start, "
        "pg_blocking_pids(l.pid) AS blockers FROM l JOIN a USING (pid) WHERE NOT l.granted "
        "AND l.locktype NOT IN ('extend', 'page', 'spectoken') "
        "AND a.backend_type IS DISTINCT FROM 'autovacuum worker'), "
        /* The lock on its own number says which prepared transaction a holder without a pid is. */
        "x AS (SELECT l.virtualtransaction, p.gid FROM l JOIN pg_prepared_xacts p "
        "ON l.transactionid = p.transaction WHERE l.pid IS NULL AND l.granted), "
        "h AS (SELECT l.tag, array_agg(coalesce(a.leader_pid, l.pid, 0) || ':' || l.mode) AS held, "
        "string_agg(l.mode || ':' || encode(convert_to(x.gid, 'UTF8'), 'hex'), ',') AS gids FROM l "
        "LEFT JOIN a USING (pid) LEFT JOIN x "
        "ON l.pid IS NULL AND x.virtualtransaction = l.virtualtransaction "
        "WHERE l.granted AND l.tag IN (SELECT tag FROM w) GROUP BY l.tag), "
        "t AS (SELECT DISTINCT ON (pid) pid, database, relation, page, tuple FROM l "
        "WHERE locktype = 'tuple' AND granted ORDER BY pid), "
        "d AS (SELECT oid FROM pg_database WHERE datname = current_database()) ",
        kept, leader, kept, kept);
    output_format(
        sql,
        "SELECT w.waiter, w.blockers, h.held, h.gids, w.mode, CASE "
        "WHEN w.locktype = 'advisory' AND w.objsubid = 1 THEN 'advisory lock ' || "
        "((w.classid::bigint << 32) | w.objid::bigint) "
        "WHEN w.locktype = 'advisory' THEN format('advisory lock (%%s,%%s)', "
        "w.classid::bigint::bit(32)::int, w.objid::bigint::bit(32)::int) "
        "WHEN w.locktype = 'relation' THEN 'table ' || CASE WHEN w.database IN (0, d.oid) "
        "THEN w.relation::regclass::text ELSE format('%%s of database %%s', w.relation, "
        "w.database) "
        "END WHEN w.locktype = 'tuple' THEN 'row of ' || CASE WHEN w.database IN (0, d.oid) "
        "THEN w.relation::regclass::text ELSE format('%%s of database %%s', w.relation, "
        "w.database) "
        "END WHEN w.locktype = 'transactionid' THEN 'transaction ' || w.transactionid "
        "WHEN w.locktype = 'virtualxid' THEN 'transaction ' || w.virtualxid "
        "ELSE format('%%s %%s/%%s', w.locktype, w.classid, w.objid) END, "
        "CASE WHEN w.locktype = 'tuple' THEN format('%%s(%%s,%%s)', CASE WHEN w.database = d.oid "
        "THEN w.relation::regclass::text ELSE w.relation::text END, w.page, w.tuple) "
        "WHEN w.locktype = 'transactionid' AND t.pid IS NOT NULL THEN format('%%s(%%s,%%s)', "
        "CASE WHEN t.database = d.oid THEN t.relation::regclass::text ELSE t.relation::text END, "
        "t.page, t.tuple) END, "
        "%s, extract(epoch FROM clock_timestamp() - %s) "
        "FROM w CROSS JOIN d LEFT JOIN h ON h.tag = w.tag LEFT JOIN t ON t.pid = w.pid "
        "ORDER BY %s NULLS LAST",
        began, began, began);
}

/* Which modes keep each other out: bit m of a mode's word. */
enum { MODES = 8 };
static const char *const modes[MODES] = {
    "AccessShareLock", "RowShareLock",          "RowExclusiveLock", "ShareUpdateExclusiveLock",
    "ShareLock",       "ShareRowExclusiveLock", "ExclusiveLock",    "AccessExclusiveLock",
};
static const unsigned char conflicts[MODES] = {
    1 << 7, 0xC0, 0xF0, 0xF8, 0xEC, 0xFC, 0xFE, 0xFF,
};

static int mode_number(const char *mode)
{
    for (int i = 0; i < MODES; i++)
        if (strncmp(modes[i], mode, strlen(modes[i])) == 0)
            return i;
    return -1;
}

static bool modes_conflict(const char *wanted, const char *held)
{
    int one = mode_number(wanted), other = mode_number(held);
    return one >= 0 && other >= 0 && conflicts[one] >> other & 1;
}

/* In "{12:ShareLock,7:ExclusiveLock}": does this one hold what is in the way of `wanted`? The mode
 * that it holds; NULL: none. */
static const char *held_mode(const char *held, int64_t pid, const char *wanted)
{
    for (const char *at = held ? held : ""; *at;) {
        char *end;
        at += strspn(at, "{},\"");
        int64_t holder = strtoll(at, &end, 10);
        if (*end != ':')
            break;
        int number = mode_number(end + 1);
        if (holder == pid && number >= 0 && modes_conflict(wanted, modes[number]))
            return modes[number];
        at = end + strcspn(end, ",}");
    }
    return NULL;
}

/* Those ahead of it in the queue: each of them waits for those before it, so the last who does is
 * enough. Is `earlier` in the way of `later`, by the waits that were read before? */
static bool is_behind(const struct look *look, uint32_t later, uint32_t earlier)
{
    uint32_t wait = look->sessions[later].wait;
    size_t i = wait == LOOK_NONE ? look->edge_count : look->waits[wait].first_edge;
    for (; i < look->edge_count && look->edges[i].wait == wait; i++)
        if (look->edges[i].holder == earlier)
            return true;
    return false;
}

static bool add_soft(struct look *look, uint32_t wait, uint32_t holder, uint32_t *last)
{
    if (*last != LOOK_NONE && is_behind(look, holder, *last)) {
        /* The edge to the one before is the last of the list: this one stands for both. */
        struct edge *edge = &look->edges[look->edge_count - 1];
        if (edge->wait == wait && edge->soft && edge->holder == *last)
            look->edge_count--;
    }
    *last = holder;
    const char *mode = look->sessions[holder].wait == LOOK_NONE
                           ? ""
                           : look->waits[look->sessions[holder].wait].mode;
    return look_edge(look, wait, holder, true, mode);
}

/* "7472616e73": text, two digits a byte. */
static void decode_hex(char *text, size_t size, const char *digits, size_t length)
{
    size_t used = 0;
    for (size_t i = 0; i + 1 < length && used + 1 < size; i += 2) {
        char byte[3] = {digits[i], digits[i + 1], '\0'};
        text[used++] = (char)strtoul(byte, NULL, 16);
    }
    text[used] = '\0';
}

static bool add_prepared(struct look *look, uint32_t wait, const char *gid, const char *mode)
{
    uint32_t holder = look_session(look, 0, gid);
    if (holder == LOOK_NONE)
        return false;
    look->sessions[holder].state = "prepared transaction";
    return look_edge(look, wait, holder, false, mode);
}

/* The prepared transactions among the holders, "ShareLock:7472616e73,...": those whose modes are in
 * the way. A name has 200 bytes at most. */
static bool add_all_prepared(struct look *look, uint32_t wait, const char *list)
{
    char gid[256];
    bool any = false;
    for (const char *at = list ? list : ""; *at;) {
        size_t length = strcspn(at, ","), colon = strcspn(at, ":");
        int number = mode_number(at);
        if (colon < length && number >= 0 &&
            modes_conflict(look->waits[wait].mode, modes[number])) {
            decode_hex(gid, sizeof gid, at + colon + 1, length - colon - 1);
            if (!add_prepared(look, wait, gid, modes[number]))
                return false;
            any = true;
        }
        at += length + (at[length] == ',');
    }
    return any || add_prepared(look, wait, "?", "");
}

/* All in the way of one wait: "{12,7}". */
static bool add_blockers(struct look *look, const struct answer *answer, size_t row, uint32_t wait)
{
    const char *held = answer_value(answer, row, EDGE_HELD);
    const char *list = answer_value(answer, row, EDGE_BLOCKERS);
    uint32_t last = LOOK_NONE;
    for (const char *at = list ? list : ""; *at;) {
        char *end;
        at += strspn(at, "{},");
        int64_t pid = strtoll(at, &end, 10);
        if (end == at)
            break;
        at = end;
        const char *mode = held_mode(held, pid, look->waits[wait].mode);
        bool added;
        if (pid == 0) {
            added = add_all_prepared(look, wait, answer_value(answer, row, EDGE_GIDS));
        } else {
            uint32_t holder = look_session(look, pid, NULL);
            if (holder == LOOK_NONE)
                return false;
            added = mode ? look_edge(look, wait, holder, false, mode)
                         : add_soft(look, wait, holder, &last);
        }
        if (!added)
            return false;
    }
    return true;
}

static double number_of(const char *value)
{
    return value ? strtod(value, NULL) : -1;
}

/* Workers of one query wait for several things: each edge is that of its own wait. */
static void tell_apart(struct look *look, size_t first, const struct answer *answer, size_t row)
{
    static const unsigned columns[] = {EDGE_MODE, EDGE_OBJECT, EDGE_BEGAN};
    uint64_t own = 0;
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        const char *value = answer_value(answer, row, columns[i]);
        own = hash_stir(own, hash_bytes(value ? value : "", value ? strlen(value) : 0));
    }
    for (size_t i = first; i < look->edge_count; i++)
        look->edges[i].own = own;
}

static bool read_edges(const struct answer *answer, struct look *look)
{
    for (size_t row = 0; row < answer_rows(answer); row++) {
        const char *pid = answer_value(answer, row, EDGE_WAITER);
        uint32_t session = look_session(look, pid ? strtoll(pid, NULL, 10) : -1, NULL);
        if (session == LOOK_NONE)
            return false;
        uint32_t number = look->sessions[session].wait;
        if (number == LOOK_NONE) { /* workers of one query: the one that waits longest */
            struct wait *wait = look_wait(look, session);
            if (!wait)
                return false;
            number = (uint32_t)(wait - look->waits);
            wait->mode = look_text(look, answer_value(answer, row, EDGE_MODE));
            wait->object = look_text(look, answer_value(answer, row, EDGE_OBJECT));
            wait->row = look_text(look, answer_value(answer, row, EDGE_ROW));
            wait->began = look_text(look, answer_value(answer, row, EDGE_BEGAN));
            wait->age_s = number_of(answer_value(answer, row, EDGE_AGE));
            if (!wait->mode || !wait->object || !wait->row || !wait->began)
                return false;
        }
        size_t first = look->edge_count;
        if (!add_blockers(look, answer, row, number))
            return false;
        tell_apart(look, first, answer, row);
    }
    return true;
}

/* ------------------------------------------------------------------ the sessions */

enum {
    SESSION_PID,
    SESSION_STARTED,
    SESSION_USER,
    SESSION_APPLICATION,
    SESSION_DATABASE,
    SESSION_ADDRESS,
    SESSION_PORT,
    SESSION_STATE,
    SESSION_QUERY,
    SESSION_CHANGED,
    SESSION_TRANSACTION,
    SESSION_STATE_AGE,
    SESSION_SUPER,
    SESSION_WORK,
    SESSION_ID,
};

/* All with a transaction, since they may be linked to others elsewhere, and all who were named. */
static void write_sessions(const struct server_facts *facts, const struct look *look,
                           struct output *sql)
{
    output_format(
        sql,
        "SELECT a.pid, a.backend_start, a.usename, a.application_name, a.datname, "
        "host(a.client_addr), a.client_port, a.state, left(a.query, 400), a.state_change, "
        "extract(epoch FROM statement_timestamp() - a.xact_start), "
        "extract(epoch FROM statement_timestamp() - a.state_change), r.rolsuper, "
        "CASE WHEN a.wait_event_type = 'Lock' THEN (SELECT count(*) FROM pg_locks l "
        "WHERE l.pid = a.pid AND l.granted) ELSE 0 END, "
        "to_hex(trunc(extract(epoch FROM a.backend_start))::bigint) || '.' || to_hex(a.pid) "
        "FROM pg_stat_activity a LEFT JOIN pg_roles r ON r.oid = a.usesysid "
        "WHERE a.pid <> pg_backend_pid() AND %s AND (a.xact_start IS NOT NULL OR a.pid = ANY('{",
        facts->version >= 130000 ? "a.leader_pid IS NULL" : "true");
    for (size_t i = 0, written = 0; i < look->session_count; i++)
        if (look->sessions[i].pid > 0)
            output_format(sql, "%s%lld", written++ ? "," : "", (long long)look->sessions[i].pid);
    output_text(sql, "}'::int[]))");
}

static void take_port(struct session *session, const char *port)
{
    long number = port ? strtol(port, NULL, 10) : 0;
    session->port = number > 0 && number < 65536 ? (uint32_t)number : 0;
}

static bool read_session(const struct answer *answer, size_t row, struct look *look,
                         const struct server_facts *facts)
{
    const char *pid = answer_value(answer, row, SESSION_PID);
    uint32_t number = look_session(look, pid ? strtoll(pid, NULL, 10) : -1, NULL);
    if (number == LOOK_NONE)
        return false;
    struct session *session = &look->sessions[number];
    const struct {
        const char **text;
        unsigned column;
    } texts[] = {
        {&session->started, SESSION_STARTED},
        {&session->user, SESSION_USER},
        {&session->application, SESSION_APPLICATION},
        {&session->database, SESSION_DATABASE},
        {&session->address, SESSION_ADDRESS},
        {&session->state, SESSION_STATE},
        {&session->query, SESSION_QUERY},
        {&session->changed, SESSION_CHANGED},
        {&session->id, SESSION_ID},
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i].text = look_text(look, answer_value(answer, row, texts[i].column))))
            return false;
    take_port(session, answer_value(answer, row, SESSION_PORT));
    session->transaction_s = number_of(answer_value(answer, row, SESSION_TRANSACTION));
    session->state_s = number_of(answer_value(answer, row, SESSION_STATE_AGE));
    session->work = (uint64_t)number_of(answer_value(answer, row, SESSION_WORK));
    session->active = strcmp(session->state, "active") == 0;
    session->idle = strncmp(session->state, "idle", 4) == 0;
    session->spared = !facts->superuser && is_true(answer_value(answer, row, SESSION_SUPER));
    return true;
}

/* ------------------------------------------------------------------ parts and remedies */

enum { PART_EDGES, PART_SESSIONS, PARTS };

static void write_part(unsigned part, const struct server_facts *facts, const struct look *look,
                       struct output *sql)
{
    write_settings(facts->version, sql);
    if (part == PART_EDGES)
        write_edges(facts, sql);
    else
        write_sessions(facts, look, sql);
}

static bool read_part(unsigned part, const struct server_facts *facts, const struct answer *answer,
                      struct look *look)
{
    if (part == PART_EDGES)
        return read_edges(answer, look);
    for (size_t row = 0; row < answer_rows(answer); row++)
        if (!read_session(answer, row, look, facts))
            return false;
    return true;
}

static void write_remedy(enum remedy remedy, const struct session *session, struct output *sql)
{
    output_format(sql, "SELECT pg_%s_backend(%lld)",
                  remedy == REMEDY_CANCEL ? "cancel" : "terminate", (long long)session->pid);
}

static bool obeyed_remedy(const struct answer *answer)
{
    return answer_rows(answer) > 0 && is_true(answer_value(answer, 0, 0));
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
    .gate = write_gate,
    .part = write_part,
    .read = read_part,
    .remedy = write_remedy,
    .obeyed = obeyed_remedy,
    .hint = hint_postgres,
};

/* Scans InnoDB of MariaDB 10.2 and later, and of MySQL 8: row locks, gap locks (a gap lock has the
 * mode "X,GAP") and table locks. Tested with MariaDB 10.11. The queries for MySQL 8 follow its
 * manual and were not run.
 *
 * InnoDB never lets a waiter overtake another one, so all edges are hard. metadata_locks.c has the
 * metadata locks, which do not belong to InnoDB. */
#include "sources/watch/servers/metadata_locks.h"
#include "sources/watch/servers/remedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* InnoDB returns the same snapshot to queries within 100 ms. */
#define PAUSE_NS UINT64_C(110000000)

/* ------------------------------------------------------------------ hello */

/* The time that a server with innodb_deadlock_detect needs: MariaDB checks before each wait, MySQL
 * once a second. */
#define DETECTS_NS UINT64_C(1000000000)

/* `number`: an SQL expression for the server's identity. */
static void write_hello(const char *number, struct output *sql)
{
    output_text(sql, "SELECT CURRENT_USER(), @@performance_schema AND "
                     "EXISTS(SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = "
                     "'performance_schema' AND TABLE_NAME = 'session_connect_attrs'), "
                     "EXISTS(SELECT 1 FROM information_schema.USER_PRIVILEGES "
                     "WHERE PRIVILEGE_TYPE = 'PROCESS'), "
                     "EXISTS(SELECT 1 FROM information_schema.USER_PRIVILEGES "
                     "WHERE PRIVILEGE_TYPE IN ('SUPER', 'CONNECTION ADMIN', 'CONNECTION_ADMIN')), "
                     "SUBSTRING_INDEX(USER(), '@', -1) IN ('localhost', '127.0.0.1', '::1'), "
                     "@@port, " METADATA_SHOWN ", @@global.innodb_deadlock_detect, ");
    output_format(sql, "CONCAT_WS('/', %s, @@hostname, @@port, @@server_id, @@socket, @@datadir)",
                  number);
}

static void write_maria_hello(unsigned version, int64_t pid, struct output *sql)
{
    (void)pid, (void)version;
    write_hello("(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE "
                "VARIABLE_NAME = 'SERVER_UID')",
                sql);
}

static void write_mysql_hello(unsigned version, int64_t pid, struct output *sql)
{
    (void)pid, (void)version;
    write_hello("@@server_uuid", sql);
}

static void greet_innodb(const struct connection *answer, struct server_facts *facts)
{
    struct row row = {.answer = answer};
    if (answer->rows == 0)
        return;
    snprintf(facts->user, sizeof facts->user, "%s", next_word(&row));
    facts->names_programs = next_flag(&row);
    facts->sees_activity = next_flag(&row);
    facts->signals = facts->superuser = next_flag(&row);
    facts->near = next_flag(&row);
    facts->port = (uint32_t)next_integer(&row, 0);
    facts->sees_definitions = next_flag(&row);
    facts->detects = next_flag(&row);
    facts->detects_ns = DETECTS_NS;
    snprintf(facts->identity, sizeof facts->identity, "%s", next_word(&row));
    facts->lacks[0] = '\0';
    if (!facts->sees_definitions)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "holders of metadata locks (definitions of tables, GET_LOCK, FLUSH TABLES WITH "
                 "READ LOCK) are not visible: set performance_schema=ON and enable its instrument "
                 "wait/lock/metadata/sql/mdl in the server's configuration, and GRANT SELECT ON "
                 "performance_schema.* TO %s",
                 facts->user);
    if (!facts->sees_activity)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "the user %s cannot see transactions: GRANT PROCESS ON *.* TO %s", facts->user,
                 facts->user);
}

static void write_gate(const struct server_facts *facts, struct output *sql)
{
    (void)facts;
    output_text(sql, "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' ");
    output_text(sql, "UNION ALL SELECT 1 FROM information_schema.PROCESSLIST "
                     "WHERE " METADATA_BLOCKED " LIMIT 1");
}

/* ------------------------------------------------------------------ sessions */

/* The number of a statement identifies it. MySQL has no such number, so the query uses the
 * transaction's counters instead. */
static void write_sessions(const struct server_facts *facts, bool has_numbers, struct output *sql)
{
    const char *changed = has_numbers ? "p.QUERY_ID"
                                      : "CONCAT(t.trx_rows_locked, '/', t.trx_rows_modified, '/', "
                                        "t.trx_weight, '/', p.COMMAND)";
    const char *program = facts->names_programs
                              ? "(SELECT MAX(c.ATTR_VALUE) FROM "
                                "performance_schema.session_connect_attrs c WHERE "
                                "c.PROCESSLIST_ID = t.trx_mysql_thread_id "
                                "AND c.ATTR_NAME = 'program_name')"
                              : "NULL";
    output_format(sql,
                  "SELECT t.trx_mysql_thread_id, t.trx_id, t.trx_started, p.USER, p.HOST, p.DB, "
                  "p.COMMAND, LEFT(COALESCE(t.trx_query, p.INFO), 400), %s, "
                  "TIMESTAMPDIFF(MICROSECOND, t.trx_started, NOW(6)) / 1e6, p.TIME, "
                  "t.trx_rows_modified + t.trx_rows_locked, t.trx_wait_started, "
                  "TIMESTAMPDIFF(MICROSECOND, t.trx_wait_started, NOW(6)) / 1e6, %s "
                  "FROM information_schema.INNODB_TRX t LEFT JOIN information_schema.PROCESSLIST p "
                  "ON p.ID = t.trx_mysql_thread_id WHERE t.trx_mysql_thread_id <> CONNECTION_ID()",
                  changed, program);
}

void innodb_take_host(struct scan *scan, struct session *session, const char *host)
{
    char text[128];
    snprintf(text, sizeof text, "%s", host);
    char *colon = strrchr(text, ':');
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
    if (port > 0 && port < 65536) {
        *colon = '\0';
        session->port = (uint32_t)port;
        session->address = scan_text(scan, strcmp(text, "localhost") == 0 ? "127.0.0.1" : text);
    }
}

/* The next part adds the lock of the wait, if there is a wait. */
static void read_session(struct row *row)
{
    struct scan *scan = row->scan;
    int64_t thread = next_integer(row, 0);
    const char *id = next_value(row);
    uint32_t number = scan_session(scan, thread, thread ? NULL : id);
    if (number == SCAN_NONE)
        return;
    struct session *session = &scan->sessions[number];
    session->id = scan_text(scan, id);
    session->started = session->transaction = next_text(row);
    session->user = next_text(row);
    innodb_take_host(scan, session, next_word(row));
    session->database = next_text(row);
    const char *command = next_value(row);
    session->idle = command && strcmp(command, "Sleep") == 0;
    session->active = command && !session->idle;
    session->state = !thread         ? "prepared transaction"
                     : session->idle ? "idle in transaction"
                                     : "active";
    session->query = next_text(row);
    session->changed = session->statement = next_text(row);
    session->transaction_s = next_number(row);
    session->state_s = next_number(row);
    session->work = (uint64_t)next_number(row);
    const char *began = next_value(row);
    double age_s = next_number(row);
    const char *program = next_text(row);
    session->application = *program ? program : session->user;
    struct wait *wait = began ? scan_wait(scan, number) : NULL;
    if (!wait)
        return;
    wait->began = scan_text(scan, began);
    wait->age_s = age_s;
}

/* ------------------------------------------------------------------ waits */

/* One row for each waiter, with all its blockers. */
static const char maria_waits[] =
    "SELECT g.waiter, g.blockers, l.lock_mode, l.lock_type, l.lock_table, "
    "l.lock_index, l.lock_data, g.wanted FROM (SELECT requesting_trx_id AS waiter, "
    "MAX(requested_lock_id) AS wanted, GROUP_CONCAT(DISTINCT blocking_trx_id) AS "
    "blockers FROM information_schema.INNODB_LOCK_WAITS GROUP BY "
    "requesting_trx_id) g LEFT JOIN information_schema.INNODB_LOCKS l "
    "ON l.lock_id = g.wanted";

static const char mysql_waits[] =
    "SELECT /*+ SET_VAR(group_concat_max_len=1000000) */ "
    "w.REQUESTING_ENGINE_TRANSACTION_ID, "
    "GROUP_CONCAT(DISTINCT w.BLOCKING_ENGINE_TRANSACTION_ID), l.LOCK_MODE, "
    "l.LOCK_TYPE, CONCAT('`', l.OBJECT_SCHEMA, '`.`', l.OBJECT_NAME, '`'), "
    "l.INDEX_NAME, l.LOCK_DATA, l.ENGINE_LOCK_ID FROM performance_schema.data_lock_waits w "
    "JOIN performance_schema.data_locks l "
    "ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID "
    "GROUP BY 1, 3, 4, 5, 6, 7, 8";

static uint32_t find_transaction(const struct scan *scan, const char *id, size_t length)
{
    for (uint32_t i = 0; i < scan->session_count; i++)
        if (strlen(scan->sessions[i].id) == length && memcmp(scan->sessions[i].id, id, length) == 0)
            return i;
    return SCAN_NONE;
}

/* The list has the form "421, 430". A transaction without a session has ended meanwhile. */
static void add_blockers(struct scan *scan, uint32_t wait, const char *list)
{
    while (*list) {
        size_t length = strcspn(list, ",");
        uint32_t holder = find_transaction(scan, list, length);
        if (holder != SCAN_NONE)
            scan_edge(scan, wait, holder, false, "");
        list += length + strspn(list + length, ", ");
    }
}

static void read_wait(struct row *row)
{
    struct scan *scan = row->scan;
    char text[512];
    const char *id = next_word(row);
    uint32_t session = *id ? find_transaction(scan, id, strlen(id)) : SCAN_NONE;
    uint32_t number = session == SCAN_NONE ? SCAN_NONE : scan->sessions[session].wait;
    if (number == SCAN_NONE)
        return; /* it did not wait when the sessions were read; the next scan will show it */
    struct wait *wait = &scan->waits[number];
    size_t first = scan->edge_count;
    add_blockers(scan, number, next_word(row));
    wait->mode = next_text(row);
    const char *type = next_word(row), *table = next_value(row);
    snprintf(text, sizeof text, "%s %.200s", strcmp(type, "TABLE") == 0 ? "table" : "row of",
             table ? table : "?");
    wait->object = scan_text(scan, text);
    const char *index = next_value(row), *data = next_word(row);
    snprintf(text, sizeof text, "%.100s: %.300s", index ? index : "", data);
    wait->row = scan_text(scan, index ? text : "");
    scan_identify(scan, first, next_text(row), wait->began);
}

/* ------------------------------------------------------------------ parts and remedies */

enum { PART_SESSIONS, PART_WAITS, PART_METADATA, PART_BLOCKED, PARTS };

static void write_part(unsigned part, const struct server_facts *facts, bool is_maria,
                       struct output *sql)
{
    if (part == PART_SESSIONS)
        write_sessions(facts, is_maria, sql);
    else if (part == PART_WAITS)
        output_text(sql, is_maria ? maria_waits : mysql_waits);
    else if (part == PART_BLOCKED)
        metadata_write_blocked(is_maria, sql);
    else if (facts->sees_definitions)
        metadata_write(is_maria, sql);
    else
        output_text(sql, "SELECT 1 WHERE FALSE"); /* every part needs an answer */
}

static void write_maria_part(unsigned part, const struct server_facts *facts,
                             const struct scan *scan, struct output *sql)
{
    (void)scan;
    write_part(part, facts, true, sql);
}

static void write_mysql_part(unsigned part, const struct server_facts *facts,
                             const struct scan *scan, struct output *sql)
{
    (void)scan;
    write_part(part, facts, false, sql);
}

static void read_part(unsigned part, const struct server_facts *facts,
                      const struct connection *answer, struct scan *scan)
{
    if (part == PART_METADATA)
        metadata_read(answer, scan);
    for (size_t i = 0; i < answer->rows && part != PART_METADATA; i++) {
        struct row row = {answer, scan, i, 0};
        if (part == PART_SESSIONS)
            read_session(&row);
        else if (part == PART_WAITS)
            read_wait(&row);
        else
            metadata_read_blocked(facts, &row);
    }
}

static const char *hint_innodb(const char *why)
{
    if (strstr(why, "PROCESS privilege"))
        return "GRANT PROCESS ON *.* TO this user";
    if (strstr(why, "not owner of thread"))
        return "GRANT CONNECTION ADMIN ON *.* TO this user (MySQL: CONNECTION_ADMIN)";
    return NULL;
}

const struct dialect dialect_mariadb = {
    .kind = "MariaDB",
    .parts = PARTS,
    .pause_ns = PAUSE_NS,
    .hello = write_maria_hello,
    .greet = greet_innodb,
    .gate = write_gate,
    .part = write_maria_part,
    .read = read_part,
    .advise = remedy_mariadb_advise,
    .remedy = remedy_mariadb_write,
    .outcome = remedy_innodb_outcome,
    .refusal = remedy_innodb_refusal,
    .hint = hint_innodb,
};

const struct dialect dialect_mysql = {
    .kind = "MySQL",
    .parts = PARTS,
    .pause_ns = PAUSE_NS,
    .hello = write_mysql_hello,
    .greet = greet_innodb,
    .gate = write_gate,
    .part = write_mysql_part,
    .read = read_part,
    .advise = remedy_mysql_advise,
    .remedy = remedy_mysql_write,
    .outcome = remedy_innodb_outcome,
    .refusal = remedy_innodb_refusal,
    .hint = hint_innodb,
};

/* InnoDB of MariaDB 10.2 and later, and of MySQL 8. Measured on MariaDB 10.11; what is for MySQL 8
 * is after the manual's form, not run on MySQL.
 *
 * A transaction that waits for another's lock does so however the queue is ordered: InnoDB lets
 * nobody pass. So all its edges are hard. Metadata locks, which are not InnoDB's: metadata_locks.c.
 */
#include "sources/watch/servers/metadata_locks.h"
#include "sources/watch/servers/remedy.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* InnoDB shows the same picture again to whoever asks within 100 ms of the last one. */
#define PAUSE_NS UINT64_C(110000000)

/* ------------------------------------------------------------------ the beginning */

enum {
    HELLO_USER,
    HELLO_PROGRAMS,
    HELLO_PROCESS,
    HELLO_ADMIN,
    HELLO_NEAR,
    HELLO_PORT,
    HELLO_METADATA,
    HELLO_DETECTS,
    HELLO_IDENTITY,
};

/* How long a server with innodb_deadlock_detect may take: MariaDB looks before it waits, MySQL once
 * a second. */
#define DETECTS_NS UINT64_C(1000000000)

/* `number`: SQL for what the server is known by. */
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
    (void)pid;
    (void)version;
    write_hello("(SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_VARIABLES WHERE "
                "VARIABLE_NAME = 'SERVER_UID')",
                sql);
}

static void write_mysql_hello(unsigned version, int64_t pid, struct output *sql)
{
    (void)pid;
    (void)version;
    write_hello("@@server_uuid", sql);
}

static bool is_one(const char *value)
{
    return value && strcmp(value, "1") == 0;
}

static void greet_innodb(const struct answer *answer, struct server_facts *facts)
{
    if (answer_rows(answer) == 0)
        return;
    const char *user = answer_value(answer, 0, HELLO_USER);
    snprintf(facts->user, sizeof facts->user, "%s", user ? user : "");
    facts->names_programs = is_one(answer_value(answer, 0, HELLO_PROGRAMS));
    facts->sees_activity = is_one(answer_value(answer, 0, HELLO_PROCESS));
    facts->signals = facts->superuser = is_one(answer_value(answer, 0, HELLO_ADMIN));
    facts->near = is_one(answer_value(answer, 0, HELLO_NEAR));
    const char *port = answer_value(answer, 0, HELLO_PORT);
    facts->port = port ? (uint32_t)strtoul(port, NULL, 10) : 0;
    facts->sees_definitions = is_one(answer_value(answer, 0, HELLO_METADATA));
    facts->detects = is_one(answer_value(answer, 0, HELLO_DETECTS));
    facts->detects_ns = DETECTS_NS;
    const char *identity = answer_value(answer, 0, HELLO_IDENTITY);
    snprintf(facts->identity, sizeof facts->identity, "%s", identity ? identity : "");
    facts->lacks[0] = '\0';
    if (!facts->sees_definitions)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "holders of metadata locks (definitions of tables, GET_LOCK, FLUSH TABLES WITH "
                 "READ LOCK) are not seen: that takes performance_schema=ON and its instrument "
                 "wait/lock/metadata/sql/mdl in the server's configuration, and GRANT SELECT ON "
                 "performance_schema.* TO %s",
                 facts->user);
    if (!facts->sees_activity)
        snprintf(facts->lacks, sizeof facts->lacks,
                 "the user %s does not see transactions: GRANT PROCESS ON *.* TO %s", facts->user,
                 facts->user);
}

static void write_gate(const struct server_facts *facts, struct output *sql)
{
    (void)facts;
    output_text(sql, "SELECT 1 FROM information_schema.INNODB_TRX WHERE trx_state = 'LOCK WAIT' ");
    output_text(sql, "UNION ALL SELECT 1 FROM information_schema.PROCESSLIST "
                     "WHERE " METADATA_BLOCKED " LIMIT 1");
}

/* ------------------------------------------------------------------ the sessions */

enum {
    SESSION_PID,
    SESSION_TRANSACTION,
    SESSION_STARTED,
    SESSION_USER,
    SESSION_HOST,
    SESSION_DATABASE,
    SESSION_COMMAND,
    SESSION_QUERY,
    SESSION_CHANGED,
    SESSION_TRANSACTION_AGE,
    SESSION_STATE_AGE,
    SESSION_WORK,
    SESSION_BEGAN,
    SESSION_WAIT_AGE,
    SESSION_PROGRAM,
};

/* A statement's number says that it is still the same; MySQL has none, and must do with what the
 * transaction has done so far. */
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

static double number_of(const char *value)
{
    return value ? strtod(value, NULL) : -1;
}

bool innodb_take_host(struct scan *scan, struct session *session, const char *host)
{
    char text[128];
    snprintf(text, sizeof text, "%s", host ? host : "");
    char *colon = strrchr(text, ':');
    unsigned long port = colon ? strtoul(colon + 1, NULL, 10) : 0;
    if (port > 0 && port < 65536) {
        *colon = '\0';
        session->port = (uint32_t)port;
        session->address = scan_text(scan, strcmp(text, "localhost") == 0 ? "127.0.0.1" : text);
    }
    return session->address != NULL;
}

static bool take_state(struct scan *scan, struct session *session, const struct answer *answer,
                       size_t row)
{
    const char *command = answer_value(answer, row, SESSION_COMMAND);
    session->idle = command && strcmp(command, "Sleep") == 0;
    session->active = command && !session->idle;
    session->state = !session->pid   ? "prepared transaction"
                     : session->idle ? "idle in transaction"
                                     : "active";
    session->application = scan_text(scan, answer_value(answer, row, SESSION_PROGRAM));
    if (session->application && !*session->application)
        session->application = session->user;
    return session->application != NULL;
}

/* Its wait, whose lock comes with the next part. */
static bool take_wait(struct scan *scan, uint32_t number, const struct answer *answer, size_t row)
{
    const char *began = answer_value(answer, row, SESSION_BEGAN);
    if (!began)
        return true;
    struct wait *wait = scan_wait(scan, number);
    if (!wait)
        return false;
    wait->began = scan_text(scan, began);
    wait->age_s = number_of(answer_value(answer, row, SESSION_WAIT_AGE));
    return wait->began != NULL;
}

static bool read_session(const struct answer *answer, size_t row, struct scan *scan)
{
    const char *pid = answer_value(answer, row, SESSION_PID);
    const char *id = answer_value(answer, row, SESSION_TRANSACTION);
    int64_t thread = pid ? strtoll(pid, NULL, 10) : 0;
    uint32_t number = scan_session(scan, thread, thread ? NULL : id);
    if (number == SCAN_NONE)
        return false;
    struct session *session = &scan->sessions[number];
    const struct {
        const char **text;
        unsigned column;
    } texts[] = {
        {&session->id, SESSION_TRANSACTION}, {&session->started, SESSION_STARTED},
        {&session->user, SESSION_USER},      {&session->database, SESSION_DATABASE},
        {&session->query, SESSION_QUERY},    {&session->changed, SESSION_CHANGED},
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!(*texts[i].text = scan_text(scan, answer_value(answer, row, texts[i].column))))
            return false;
    session->transaction = session->started;
    session->statement = session->changed;
    session->transaction_s = number_of(answer_value(answer, row, SESSION_TRANSACTION_AGE));
    session->state_s = number_of(answer_value(answer, row, SESSION_STATE_AGE));
    session->work = (uint64_t)number_of(answer_value(answer, row, SESSION_WORK));
    return innodb_take_host(scan, session, answer_value(answer, row, SESSION_HOST)) &&
           take_state(scan, session, answer, row) && take_wait(scan, number, answer, row);
}

/* ------------------------------------------------------------------ the waits */

enum {
    WAIT_REQUESTER,
    WAIT_BLOCKERS,
    WAIT_MODE,
    WAIT_TYPE,
    WAIT_TABLE,
    WAIT_INDEX,
    WAIT_DATA,
    WAIT_LOCK,
};

/* One row for each that waits, with all in its way. */
static void write_maria_waits(struct output *sql)
{
    output_text(sql,
                "SELECT g.waiter, g.blockers, l.lock_mode, l.lock_type, l.lock_table, "
                "l.lock_index, l.lock_data, g.wanted FROM (SELECT requesting_trx_id AS waiter, "
                "MAX(requested_lock_id) AS wanted, GROUP_CONCAT(DISTINCT blocking_trx_id) AS "
                "blockers FROM information_schema.INNODB_LOCK_WAITS GROUP BY "
                "requesting_trx_id) g LEFT JOIN information_schema.INNODB_LOCKS l "
                "ON l.lock_id = g.wanted");
}

static void write_mysql_waits(struct output *sql)
{
    output_text(
        sql,
        "SELECT /*+ SET_VAR(group_concat_max_len=1000000) */ "
        "w.REQUESTING_ENGINE_TRANSACTION_ID, "
        "GROUP_CONCAT(DISTINCT w.BLOCKING_ENGINE_TRANSACTION_ID), l.LOCK_MODE, "
        "l.LOCK_TYPE, CONCAT('`', l.OBJECT_SCHEMA, '`.`', l.OBJECT_NAME, '`'), "
        "l.INDEX_NAME, l.LOCK_DATA, l.ENGINE_LOCK_ID FROM performance_schema.data_lock_waits w "
        "JOIN performance_schema.data_locks l "
        "ON l.ENGINE_LOCK_ID = w.REQUESTING_ENGINE_LOCK_ID "
        "GROUP BY 1, 3, 4, 5, 6, 7, 8");
}

static uint32_t find_transaction(const struct scan *scan, const char *id, size_t length)
{
    for (uint32_t i = 0; i < scan->session_count; i++)
        if (strlen(scan->sessions[i].id) == length && memcmp(scan->sessions[i].id, id, length) == 0)
            return i;
    return SCAN_NONE;
}

/* "421, 430": one that is not among the sessions any more has ended meanwhile. */
static bool add_blockers(struct scan *scan, uint32_t wait, const char *list)
{
    while (list && *list) {
        size_t length = strcspn(list, ",");
        uint32_t holder = find_transaction(scan, list, length);
        if (holder != SCAN_NONE && !scan_edge(scan, wait, holder, false, ""))
            return false;
        list += length + strspn(list + length, ", ");
    }
    return true;
}

static bool name_lock(struct scan *scan, struct wait *wait, const struct answer *answer, size_t row)
{
    const char *type = answer_value(answer, row, WAIT_TYPE);
    const char *table = answer_value(answer, row, WAIT_TABLE);
    const char *index = answer_value(answer, row, WAIT_INDEX);
    const char *data = answer_value(answer, row, WAIT_DATA);
    char text[512];
    snprintf(text, sizeof text, "%s %.200s",
             type && strcmp(type, "TABLE") == 0 ? "table" : "row of", table ? table : "?");
    wait->object = scan_text(scan, text);
    snprintf(text, sizeof text, "%.100s: %.300s", index ? index : "", data ? data : "");
    wait->row = scan_text(scan, index ? text : "");
    wait->mode = scan_text(scan, answer_value(answer, row, WAIT_MODE));
    return wait->object && wait->row && wait->mode;
}

static bool read_wait(const struct answer *answer, size_t row, struct scan *scan)
{
    const char *id = answer_value(answer, row, WAIT_REQUESTER);
    uint32_t session = id ? find_transaction(scan, id, strlen(id)) : SCAN_NONE;
    uint32_t number = session == SCAN_NONE ? SCAN_NONE : scan->sessions[session].wait;
    if (number == SCAN_NONE)
        return true; /* it did not wait a moment ago: the next look will know */
    const struct wait *wait = &scan->waits[number];
    const char *lock = scan_text(scan, answer_value(answer, row, WAIT_LOCK));
    size_t first = scan->edge_count;
    if (!lock || !name_lock(scan, &scan->waits[number], answer, row) ||
        !add_blockers(scan, number, answer_value(answer, row, WAIT_BLOCKERS)))
        return false;
    scan_identify(scan, first, lock, wait->began);
    return true;
}

/* ------------------------------------------------------------------ parts and remedies */

enum { PART_SESSIONS, PART_WAITS, PART_METADATA, PART_BLOCKED, PARTS };

/* A part has an answer in any case. */
static void write_metadata(const struct server_facts *facts, bool has_numbers, struct output *sql)
{
    if (facts->sees_definitions)
        metadata_write(has_numbers, sql);
    else
        output_text(sql, "SELECT 1 WHERE FALSE");
}

static void write_maria_part(unsigned part, const struct server_facts *facts,
                             const struct scan *scan, struct output *sql)
{
    (void)scan;
    if (part == PART_SESSIONS)
        write_sessions(facts, true, sql);
    else if (part == PART_WAITS)
        write_maria_waits(sql);
    else if (part == PART_METADATA)
        write_metadata(facts, true, sql);
    else
        metadata_write_blocked(true, sql);
}

static void write_mysql_part(unsigned part, const struct server_facts *facts,
                             const struct scan *scan, struct output *sql)
{
    (void)scan;
    if (part == PART_SESSIONS)
        write_sessions(facts, false, sql);
    else if (part == PART_WAITS)
        write_mysql_waits(sql);
    else if (part == PART_METADATA)
        write_metadata(facts, false, sql);
    else
        metadata_write_blocked(false, sql);
}

static bool read_part(unsigned part, const struct server_facts *facts, const struct answer *answer,
                      struct scan *scan)
{
    if (part == PART_METADATA)
        return metadata_read(answer, scan);
    if (part == PART_BLOCKED)
        return metadata_read_blocked(facts, answer, scan);
    for (size_t row = 0; row < answer_rows(answer); row++)
        if (!(part == PART_WAITS ? read_wait : read_session)(answer, row, scan))
            return false;
    return true;
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

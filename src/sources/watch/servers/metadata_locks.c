/* Reads each metadata lock of MariaDB and MySQL, and finds its blockers by lock modes. */
#include "sources/watch/servers/metadata_locks.h"

#include <stdio.h>
#include <string.h>

void metadata_write(bool has_numbers, struct output *sql)
{
    output_format(
        sql,
        "SELECT p.ID, m.LOCK_STATUS, m.LOCK_TYPE, m.OBJECT_TYPE, COALESCE(m.OBJECT_SCHEMA, ''), "
        "COALESCE(m.OBJECT_NAME, ''), p.USER, p.HOST, "
        "p.DB, p.COMMAND, LEFT(p.INFO, 400), %s, p.TIME FROM performance_schema.metadata_locks m "
        "JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID "
        "JOIN information_schema.PROCESSLIST p ON p.ID = t.PROCESSLIST_ID "
        "WHERE (m.OBJECT_TYPE, COALESCE(m.OBJECT_SCHEMA, ''), COALESCE(m.OBJECT_NAME, '')) IN "
        "(SELECT w.OBJECT_TYPE, COALESCE(w.OBJECT_SCHEMA, ''), COALESCE(w.OBJECT_NAME, '') FROM "
        "performance_schema.metadata_locks w WHERE w.LOCK_STATUS = 'PENDING') "
        "AND p.ID <> CONNECTION_ID()",
        has_numbers ? "p.QUERY_ID" : "CONCAT(p.TIME, p.COMMAND)");
}

/* ------------------------------------------------------------------ lock modes */

/* Indexes into the table below. */
enum {
    INTENTION = 10,
    BACKUP_START,
    BACKUP_FLUSH,
    BACKUP_WAIT_FLUSH,
    BACKUP_WAIT_DDL,
    BACKUP_WAIT_COMMIT,
    BACKUP_FTWRL1,
    BACKUP_FTWRL2,
    BACKUP_DML,
    BACKUP_TRANS_DML,
    BACKUP_SYS_DML,
    BACKUP_DDL,
    BACKUP_BLOCK_DDL,
    BACKUP_ALTER_COPY,
    BACKUP_COMMIT,
};
#define BIT(mode)  (1U << (mode))
#define FTWRL_BITS (BIT(BACKUP_FTWRL1) | BIT(BACKUP_FTWRL2))
/* The modes that conflict with FLUSH TABLES WITH READ LOCK. It first takes the first mode and then
 * the second, which also blocks commits. The instrument keeps showing the first mode. */
#define FTWRL_KEEPS                                                                                \
    (BIT(BACKUP_DML) | BIT(BACKUP_TRANS_DML) | BIT(BACKUP_SYS_DML) | BIT(BACKUP_DDL) |             \
     BIT(BACKUP_ALTER_COPY))
#define STAGE_BITS                                                                                 \
    (BIT(BACKUP_FLUSH) | BIT(BACKUP_WAIT_FLUSH) | BIT(BACKUP_WAIT_DDL) | BIT(BACKUP_WAIT_COMMIT))

/* Which modes conflict: bit m of a mode's word, from the servers' own tables. */
static const struct {
    const char *name;
    unsigned conflicts;
} modes[] = {
    {"SHARED", 1 << 9 | 1 << INTENTION},
    {"SHARED_HIGH_PRIO", 1 << 9},
    {"SHARED_READ", 3 << 8},
    {"SHARED_WRITE", 15 << 6},
    {"SHARED_WRITE_LOW_PRIO", 15 << 6},
    {"SHARED_UPGRADABLE", 1 << 5 | 7 << 7},
    {"SHARED_READ_ONLY", 3 << 3 | 3 << 8},
    {"SHARED_NO_WRITE", 7 << 3 | 7 << 7},
    {"SHARED_NO_READ_WRITE", 0xff << 2},
    {"EXCLUSIVE", 0x3ff | 1 << INTENTION},
    {"INTENTION_EXCLUSIVE", 1 << 0 | 1 << 9},
    {"BACKUP_START", BIT(BACKUP_START) | STAGE_BITS | BIT(BACKUP_BLOCK_DDL)},
    {"BACKUP_FLUSH", BIT(BACKUP_START)},
    {"BACKUP_WAIT_FLUSH", BIT(BACKUP_START) | BIT(BACKUP_DML)},
    {"BACKUP_WAIT_DDL", BIT(BACKUP_START) | BIT(BACKUP_DML) | BIT(BACKUP_DDL)},
    {"BACKUP_WAIT_COMMIT", BIT(BACKUP_START) | BIT(BACKUP_DML) | BIT(BACKUP_SYS_DML) |
                               BIT(BACKUP_DDL) | BIT(BACKUP_COMMIT)},
    {"BACKUP_FTWRL1", FTWRL_KEEPS},
    {"BACKUP_FTWRL2", FTWRL_KEEPS | BIT(BACKUP_COMMIT)},
    {"BACKUP_DML", STAGE_BITS | FTWRL_BITS},
    {"BACKUP_TRANS_DML", FTWRL_BITS},
    {"BACKUP_SYS_DML", BIT(BACKUP_WAIT_COMMIT) | FTWRL_BITS},
    {"BACKUP_DDL",
     BIT(BACKUP_WAIT_DDL) | BIT(BACKUP_WAIT_COMMIT) | FTWRL_BITS | BIT(BACKUP_BLOCK_DDL)},
    {"BACKUP_BLOCK_DDL", BIT(BACKUP_START) | STAGE_BITS | BIT(BACKUP_BLOCK_DDL) | BIT(BACKUP_DDL)},
    {"BACKUP_ALTER_COPY", FTWRL_BITS},
    {"BACKUP_COMMIT", BIT(BACKUP_WAIT_COMMIT) | FTWRL_BITS},
};
enum { MODES = sizeof modes / sizeof *modes };

/* ------------------------------------------------------------------ waits */

struct lock {
    uint32_t session; /* SCAN_NONE: no session holds it */
    bool pending;
    int mode;                         /* -1: not known */
    const char *type, *schema, *name; /* of the object */
    const char *changed;              /* number of the session's query */
    double age_s;                     /* age of the session's state */
};

/* Reads a lock and, if the session is new to the scan, its session. Sessions with an InnoDB
 * transaction are known already. */
static void take_lock(struct row *row, struct lock *lock)
{
    struct scan *scan = row->scan;
    lock->session = scan_session(scan, next_integer(row, -1), NULL);
    if (lock->session == SCAN_NONE)
        return;
    lock->pending = strcmp(next_word(row), "PENDING") == 0;
    const char *mode = next_word(row);
    lock->mode = MODES - 1;
    while (lock->mode >= 0 && strcmp(modes[lock->mode].name, mode) != 0)
        lock->mode--;
    lock->type = next_word(row);
    lock->schema = next_word(row);
    lock->name = next_word(row);
    struct session *session = &scan->sessions[lock->session];
    bool is_new = !*session->state;
    const char *user = next_word(row), *host = next_word(row), *database = next_word(row);
    const char *command = next_word(row), *query = next_word(row);
    lock->changed = next_text(row);
    lock->age_s = next_number(row);
    if (!is_new)
        return;
    session->idle = strcmp(command, "Sleep") == 0;
    session->active = *command && !session->idle;
    session->state = session->idle ? "idle in transaction" : "active";
    session->user = session->application = scan_text(scan, user);
    session->database = scan_text(scan, database);
    session->query = scan_text(scan, query);
    session->changed = session->statement = lock->changed;
    innodb_take_host(scan, session, host);
}

/* Adds the wait. The number of the query identifies it: a query waits for one lock at a time, and
 * the lock is part of the key. */
static void begin_wait(struct scan *scan, const struct lock *lock)
{
    char text[300];
    struct wait *wait = scan_wait(scan, lock->session);
    if (!wait)
        return;
    if (strcmp(lock->type, "TABLE") == 0)
        snprintf(text, sizeof text, "definition of `%.100s`.`%.100s`", lock->schema, lock->name);
    else if (strcmp(lock->type, "USER LEVEL LOCK") == 0)
        snprintf(text, sizeof text, "user lock '%.200s'", lock->name);
    else if (strcmp(lock->type, "BACKUP") == 0)
        snprintf(text, sizeof text, "backup lock");
    else
        snprintf(text, sizeof text, "%.60s `%.100s`.`%.100s`", lock->type, lock->schema,
                 lock->name);
    wait->object = scan_text(scan, text);
    wait->mode = lock->mode < 0 ? "" : modes[lock->mode].name;
    wait->began = lock->changed;
    wait->age_s = lock->age_s;
}

static bool is_in_way(const struct lock *lock, const struct lock *other)
{
    return other->session != lock->session && lock->mode >= 0 && other->mode >= 0 &&
           modes[lock->mode].conflicts >> other->mode & 1 && strcmp(lock->type, other->type) == 0 &&
           strcmp(lock->schema, other->schema) == 0 && strcmp(lock->name, other->name) == 0;
}

/* Adds edges to the holders. If there are no holders, another waiter comes first. That waiter is
 * known for certain only if there is just one. */
static void add_holders(struct scan *scan, uint32_t wait, const struct lock *locks, size_t count,
                        const struct lock *lock)
{
    const struct lock *ahead = NULL;
    size_t holders = 0, others = 0;
    for (size_t i = 0; i < count; i++) {
        if (!is_in_way(lock, &locks[i]))
            continue;
        if (locks[i].pending) {
            ahead = &locks[i];
            others++;
        } else {
            scan_edge(scan, wait, locks[i].session, false, modes[locks[i].mode].name);
            holders++;
        }
    }
    if (!holders && others == 1)
        scan_edge(scan, wait, ahead->session, true, modes[ahead->mode].name);
}

void metadata_read(const struct connection *answer, struct scan *scan)
{
    size_t count = answer->rows;
    struct lock *locks = scan_alloc(scan, (count + 1) * sizeof *locks);
    for (size_t i = 0; i < count && !scan->failed; i++) {
        struct row row = {answer, scan, i, 0};
        take_lock(&row, &locks[i]);
    }
    for (size_t i = 0; i < count && !scan->failed; i++) {
        const struct session *session = &scan->sessions[locks[i].session];
        if (!locks[i].pending || session->wait != SCAN_NONE)
            continue;
        begin_wait(scan, &locks[i]);
        if (!scan->failed)
            add_holders(scan, session->wait, locks, count, &locks[i]);
    }
}

/* ------------------------------------------------------------------ waits without holders */

void metadata_write_blocked(bool has_numbers, struct output *sql)
{
    output_format(sql,
                  "SELECT ID, STATE, USER, HOST, DB, LEFT(INFO, 400), %s, TIME FROM "
                  "information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND ",
                  has_numbers ? "QUERY_ID" : "CONCAT(TIME, COMMAND)");
    output_text(sql, METADATA_BLOCKED);
}

/* Explains why the holder is not visible, and what helps. */
static const char *explain_blocked(const struct server_facts *facts, const char *state)
{
    if (strcmp(state, "Waiting for table level lock") == 0 ||
        strcmp(state, "Waiting for table flush") == 0)
        return "waits for a table that is locked or in use, and the server does not show the "
               "session "
               "that uses it: see SHOW OPEN TABLES and SHOW PROCESSLIST";
    if (!facts->sees_definitions)
        return "waits for a metadata lock, and its holder is not visible: set "
               "performance_schema=ON and performance-schema-instrument="
               "'wait/lock/metadata/sql/mdl=ON' in the server's configuration, and GRANT SELECT ON "
               "performance_schema.* TO this user";
    return "waits for a metadata lock, and its holder is not visible: set "
           "performance-schema-instrument='wait/lock/metadata/sql/mdl=ON' in the server's "
           "configuration (locks taken before it is set stay invisible)";
}

void metadata_read_blocked(const struct server_facts *facts, struct row *row)
{
    struct scan *scan = row->scan;
    uint32_t number = scan_session(scan, next_integer(row, -1), NULL);
    struct session *session = number == SCAN_NONE ? NULL : &scan->sessions[number];
    if (!session || session->wait != SCAN_NONE)
        return; /* the lock of this wait is known */
    struct wait *wait = scan_wait(scan, number);
    if (!wait)
        return;
    wait->object = next_text(row);
    session->state = "active";
    session->active = true;
    session->idle = false;
    session->unseen = explain_blocked(facts, wait->object);
    session->user = session->application = next_text(row);
    innodb_take_host(scan, session, next_word(row));
    session->database = next_text(row);
    session->query = next_text(row);
    session->changed = wait->began = next_text(row);
    wait->age_s = next_number(row);
}

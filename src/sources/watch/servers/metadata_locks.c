#include "sources/watch/servers/metadata_locks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCK_PID,
    LOCK_STATUS,
    LOCK_MODE,
    LOCK_TYPE,
    LOCK_SCHEMA,
    LOCK_NAME,
    LOCK_USER,
    LOCK_HOST,
    LOCK_DATABASE,
    LOCK_COMMAND,
    LOCK_QUERY,
    LOCK_CHANGED,
    LOCK_AGE,
};

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

/* ------------------------------------------------------------------ modes */

/* Places in the table below. */
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
/* What FLUSH TABLES WITH READ LOCK keeps out. It begins with the first mode and ends with the
 * second, which alone keeps out commits; the instrument goes on to show the first. */
#define FTWRL_KEEPS                                                                                \
    (BIT(BACKUP_DML) | BIT(BACKUP_TRANS_DML) | BIT(BACKUP_SYS_DML) | BIT(BACKUP_DDL) |             \
     BIT(BACKUP_ALTER_COPY))
#define STAGE_BITS                                                                                 \
    (BIT(BACKUP_FLUSH) | BIT(BACKUP_WAIT_FLUSH) | BIT(BACKUP_WAIT_DDL) | BIT(BACKUP_WAIT_COMMIT))

/* Which modes keep each other out: bit m of a mode's word, by the servers' own tables. */
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

static int mode_number(const char *mode)
{
    for (int i = 0; i < MODES; i++)
        if (mode && strcmp(modes[i].name, mode) == 0)
            return i;
    return -1;
}

/* ------------------------------------------------------------------ the waits */

struct lock {
    uint32_t session; /* SCAN_NONE: nobody's */
    bool pending;
    int mode;                         /* -1: not known */
    const char *type, *schema, *name; /* of the object */
};

static bool is_text(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

/* One that has no transaction of InnoDB is not known yet. */
static bool take_session(struct scan *scan, const struct answer *answer, size_t row,
                         uint32_t number)
{
    struct session *session = &scan->sessions[number];
    if (*session->state)
        return true;
    const char *command = answer_value(answer, row, LOCK_COMMAND);
    session->idle = is_text(command, "Sleep");
    session->active = command && !session->idle;
    session->state = session->idle ? "idle in transaction" : "active";
    session->user = scan_text(scan, answer_value(answer, row, LOCK_USER));
    session->application = session->user;
    session->database = scan_text(scan, answer_value(answer, row, LOCK_DATABASE));
    session->query = scan_text(scan, answer_value(answer, row, LOCK_QUERY));
    session->changed = scan_text(scan, answer_value(answer, row, LOCK_CHANGED));
    session->statement = session->changed;
    return session->user && session->database && session->query && session->changed &&
           innodb_take_host(scan, session, answer_value(answer, row, LOCK_HOST));
}

static bool take_lock(struct scan *scan, const struct answer *answer, size_t row, struct lock *lock)
{
    const char *pid = answer_value(answer, row, LOCK_PID);
    *lock = (struct lock){
        .session = pid ? scan_session(scan, strtoll(pid, NULL, 10), NULL) : SCAN_NONE,
        .pending = is_text(answer_value(answer, row, LOCK_STATUS), "PENDING"),
        .mode = mode_number(answer_value(answer, row, LOCK_MODE)),
        .type = answer_value(answer, row, LOCK_TYPE),
        .schema = answer_value(answer, row, LOCK_SCHEMA),
        .name = answer_value(answer, row, LOCK_NAME),
    };
    return lock->session != SCAN_NONE && take_session(scan, answer, row, lock->session);
}

static void name_object(const struct lock *lock, char *text, size_t size)
{
    const char *type = lock->type ? lock->type : "", *name = lock->name ? lock->name : "";
    const char *schema = lock->schema ? lock->schema : "";
    if (strcmp(type, "TABLE") == 0)
        snprintf(text, size, "definition of `%.100s`.`%.100s`", schema, name);
    else if (strcmp(type, "USER LEVEL LOCK") == 0)
        snprintf(text, size, "user lock '%.200s'", name);
    else if (strcmp(type, "BACKUP") == 0)
        snprintf(text, size, "backup lock");
    else
        snprintf(text, size, "%.60s `%.100s`.`%.100s`", type, schema, name);
}

/* The number of the query says that it is the same wait: a query waits for one lock at a time, and
 * the lock is part of the key. */
static struct wait *begin_wait(struct scan *scan, const struct answer *answer, size_t row,
                               const struct lock *lock)
{
    char text[300];
    const char *age = answer_value(answer, row, LOCK_AGE);
    struct wait *wait = scan_wait(scan, lock->session);
    if (!wait)
        return NULL;
    name_object(lock, text, sizeof text);
    wait->object = scan_text(scan, text);
    wait->mode = lock->mode < 0 ? "" : modes[lock->mode].name;
    wait->began = scan_text(scan, answer_value(answer, row, LOCK_CHANGED));
    wait->age_s = age ? strtod(age, NULL) : -1;
    return wait->object && wait->began ? wait : NULL;
}

static bool is_in_way(const struct lock *lock, const struct lock *other, bool pending)
{
    return other->pending == pending && other->session != lock->session && lock->mode >= 0 &&
           other->mode >= 0 && modes[lock->mode].conflicts >> other->mode & 1 &&
           is_text(lock->type, other->type) && is_text(lock->schema, other->schema) &&
           is_text(lock->name, other->name);
}

/* Those who hold it. Where nobody does, somebody who waits comes first: who, is known only if there
 * is one. */
static bool add_holders(struct scan *scan, uint32_t wait, const struct lock *locks, size_t count,
                        const struct lock *lock)
{
    const struct lock *ahead = NULL;
    size_t holders = 0, others = 0;
    for (size_t i = 0; i < count; i++) {
        if (is_in_way(lock, &locks[i], true)) {
            ahead = &locks[i];
            others++;
        }
        if (!is_in_way(lock, &locks[i], false))
            continue;
        holders++;
        if (!scan_edge(scan, wait, locks[i].session, false, modes[locks[i].mode].name))
            return false;
    }
    return holders || others != 1 ||
           scan_edge(scan, wait, ahead->session, true, modes[ahead->mode].name);
}

bool metadata_read(const struct answer *answer, struct scan *scan)
{
    size_t count = answer_rows(answer);
    struct lock *locks = arena_alloc(&scan->arena, (count + 1) * sizeof *locks);
    if (!locks)
        return false;
    for (size_t row = 0; row < count; row++)
        if (!take_lock(scan, answer, row, &locks[row]))
            return false;
    for (size_t row = 0; row < count; row++) {
        if (!locks[row].pending || scan->sessions[locks[row].session].wait != SCAN_NONE)
            continue;
        const struct wait *wait = begin_wait(scan, answer, row, &locks[row]);
        if (!wait || !add_holders(scan, (uint32_t)(wait - scan->waits), locks, count, &locks[row]))
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ waits without holders */

enum {
    BLOCKED_PID,
    BLOCKED_STATE,
    BLOCKED_USER,
    BLOCKED_HOST,
    BLOCKED_DATABASE,
    BLOCKED_QUERY,
    BLOCKED_CHANGED,
    BLOCKED_AGE,
};

void metadata_write_blocked(bool has_numbers, struct output *sql)
{
    output_format(sql,
                  "SELECT ID, STATE, USER, HOST, DB, LEFT(INFO, 400), %s, TIME FROM "
                  "information_schema.PROCESSLIST WHERE ID <> CONNECTION_ID() AND ",
                  has_numbers ? "QUERY_ID" : "CONCAT(TIME, COMMAND)");
    output_text(sql, METADATA_BLOCKED);
}

/* Why the holder is not visible, and what helps. */
static const char *explain_blocked(const struct server_facts *facts, const char *state)
{
    if (strcmp(state, "Waiting for table level lock") == 0 ||
        strcmp(state, "Waiting for table flush") == 0)
        return "waits for a table that is locked or in use, and the server does not show by which "
               "session: SHOW OPEN TABLES and SHOW PROCESSLIST may help";
    if (!facts->sees_definitions)
        return "waits for a metadata lock, and its holder is not visible: set "
               "performance_schema=ON and performance-schema-instrument="
               "'wait/lock/metadata/sql/mdl=ON' in the server's configuration, and GRANT SELECT ON "
               "performance_schema.* TO this user";
    return "waits for a metadata lock, and its holder is not visible: set "
           "performance-schema-instrument='wait/lock/metadata/sql/mdl=ON' in the server's "
           "configuration (locks taken before it is set stay invisible)";
}

static bool add_blocked(const struct server_facts *facts, const struct answer *answer, size_t row,
                        struct scan *scan)
{
    const char *pid = answer_value(answer, row, BLOCKED_PID);
    const char *state = answer_value(answer, row, BLOCKED_STATE);
    const char *age = answer_value(answer, row, BLOCKED_AGE);
    uint32_t number = scan_session(scan, pid ? strtoll(pid, NULL, 10) : -1, NULL);
    if (number == SCAN_NONE)
        return false;
    struct session *session = &scan->sessions[number];
    if (session->wait != SCAN_NONE)
        return true; /* for a lock that is known */
    session->state = "active";
    session->active = true;
    session->idle = false;
    session->user = scan_text(scan, answer_value(answer, row, BLOCKED_USER));
    session->application = session->user;
    session->database = scan_text(scan, answer_value(answer, row, BLOCKED_DATABASE));
    session->query = scan_text(scan, answer_value(answer, row, BLOCKED_QUERY));
    session->changed = scan_text(scan, answer_value(answer, row, BLOCKED_CHANGED));
    session->unseen = explain_blocked(facts, state ? state : "");
    struct wait *wait = scan_wait(scan, number);
    if (!wait)
        return false;
    wait->object = scan_text(scan, state);
    wait->began = scan->sessions[number].changed;
    wait->age_s = age ? strtod(age, NULL) : -1;
    return session->user && session->database && session->query && session->changed &&
           wait->object && innodb_take_host(scan, session, answer_value(answer, row, BLOCKED_HOST));
}

bool metadata_read_blocked(const struct server_facts *facts, const struct answer *answer,
                           struct scan *scan)
{
    for (size_t row = 0; row < answer_rows(answer); row++)
        if (!add_blocked(facts, answer, row, scan))
            return false;
    return true;
}

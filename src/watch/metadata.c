#include "watch/metadata.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LOCK_PID,
    LOCK_STATUS,
    LOCK_MODE,
    LOCK_SCHEMA,
    LOCK_TABLE,
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
        "SELECT p.ID, m.LOCK_STATUS, m.LOCK_TYPE, m.OBJECT_SCHEMA, m.OBJECT_NAME, p.USER, p.HOST, "
        "p.DB, p.COMMAND, LEFT(p.INFO, 400), %s, p.TIME FROM performance_schema.metadata_locks m "
        "JOIN performance_schema.threads t ON t.THREAD_ID = m.OWNER_THREAD_ID "
        "JOIN information_schema.PROCESSLIST p ON p.ID = t.PROCESSLIST_ID "
        "WHERE m.OBJECT_TYPE = 'TABLE' AND (m.OBJECT_SCHEMA, m.OBJECT_NAME) IN (SELECT "
        "w.OBJECT_SCHEMA, w.OBJECT_NAME FROM performance_schema.metadata_locks w WHERE "
        "w.OBJECT_TYPE = 'TABLE' AND w.LOCK_STATUS = 'PENDING') AND p.ID <> CONNECTION_ID()",
        has_numbers ? "p.QUERY_ID" : "CONCAT(p.TIME, p.COMMAND)");
}

/* ------------------------------------------------------------------ modes */

/* Which modes keep each other out: bit m of a mode's word, by the servers' own table. */
static const struct {
    const char *name;
    unsigned conflicts;
} modes[] = {
    {"SHARED", 1 << 9},
    {"SHARED_HIGH_PRIO", 1 << 9},
    {"SHARED_READ", 3 << 8},
    {"SHARED_WRITE", 15 << 6},
    {"SHARED_WRITE_LOW_PRIO", 15 << 6},
    {"SHARED_UPGRADABLE", 1 << 5 | 7 << 7},
    {"SHARED_READ_ONLY", 3 << 3 | 3 << 8},
    {"SHARED_NO_WRITE", 7 << 3 | 7 << 7},
    {"SHARED_NO_READ_WRITE", 0xff << 2},
    {"EXCLUSIVE", 0x3ff},
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
    uint32_t session; /* LOOK_NONE: nobody's */
    bool pending;
    int mode; /* -1: not known */
    const char *schema, *table;
};

static bool is_text(const char *one, const char *other)
{
    return one && other && strcmp(one, other) == 0;
}

/* One that has no transaction of InnoDB is not known yet. */
static bool take_session(struct look *look, const struct answer *answer, size_t row,
                         uint32_t number)
{
    struct session *session = &look->sessions[number];
    if (*session->state)
        return true;
    const char *command = answer_value(answer, row, LOCK_COMMAND);
    session->idle = is_text(command, "Sleep");
    session->active = command && !session->idle;
    session->state = session->idle ? "idle in transaction" : "active";
    session->user = look_text(look, answer_value(answer, row, LOCK_USER));
    session->application = session->user;
    session->database = look_text(look, answer_value(answer, row, LOCK_DATABASE));
    session->query = look_text(look, answer_value(answer, row, LOCK_QUERY));
    session->changed = look_text(look, answer_value(answer, row, LOCK_CHANGED));
    session->statement = session->changed;
    return session->user && session->database && session->query && session->changed &&
           innodb_take_host(look, session, answer_value(answer, row, LOCK_HOST));
}

static bool take_lock(struct look *look, const struct answer *answer, size_t row, struct lock *lock)
{
    const char *pid = answer_value(answer, row, LOCK_PID);
    *lock = (struct lock){
        .session = pid ? look_session(look, strtoll(pid, NULL, 10), NULL) : LOOK_NONE,
        .pending = is_text(answer_value(answer, row, LOCK_STATUS), "PENDING"),
        .mode = mode_number(answer_value(answer, row, LOCK_MODE)),
        .schema = answer_value(answer, row, LOCK_SCHEMA),
        .table = answer_value(answer, row, LOCK_TABLE),
    };
    return lock->session != LOOK_NONE && take_session(look, answer, row, lock->session);
}

/* The number of the query says that it is the same wait: a query waits for one lock at a time, and
 * the lock is part of the key. */
static struct wait *begin_wait(struct look *look, const struct answer *answer, size_t row,
                               const struct lock *lock)
{
    char text[300];
    const char *age = answer_value(answer, row, LOCK_AGE);
    struct wait *wait = look_wait(look, lock->session);
    if (!wait)
        return NULL;
    snprintf(text, sizeof text, "definition of `%.100s`.`%.100s`", lock->schema ? lock->schema : "",
             lock->table ? lock->table : "");
    wait->object = look_text(look, text);
    wait->mode = lock->mode < 0 ? "" : modes[lock->mode].name;
    wait->began = look_text(look, answer_value(answer, row, LOCK_CHANGED));
    wait->age_s = age ? strtod(age, NULL) : -1;
    return wait->object && wait->began ? wait : NULL;
}

static bool is_in_way(const struct lock *lock, const struct lock *other, bool pending)
{
    return other->pending == pending && other->session != lock->session && lock->mode >= 0 &&
           other->mode >= 0 && modes[lock->mode].conflicts >> other->mode & 1 &&
           is_text(lock->schema, other->schema) && is_text(lock->table, other->table);
}

/* Those who hold it. Where nobody does, somebody who waits comes first: who, is known only if there
 * is one. */
static bool add_holders(struct look *look, uint32_t wait, const struct lock *locks, size_t count,
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
        if (!look_edge(look, wait, locks[i].session, false, modes[locks[i].mode].name))
            return false;
    }
    return holders || others != 1 ||
           look_edge(look, wait, ahead->session, true, modes[ahead->mode].name);
}

bool metadata_read(const struct answer *answer, struct look *look)
{
    size_t count = answer_rows(answer);
    struct lock *locks = arena_alloc(&look->arena, (count + 1) * sizeof *locks);
    if (!locks)
        return false;
    for (size_t row = 0; row < count; row++)
        if (!take_lock(look, answer, row, &locks[row]))
            return false;
    for (size_t row = 0; row < count; row++) {
        if (!locks[row].pending || look->sessions[locks[row].session].wait != LOOK_NONE)
            continue;
        const struct wait *wait = begin_wait(look, answer, row, &locks[row]);
        if (!wait || !add_holders(look, (uint32_t)(wait - look->waits), locks, count, &locks[row]))
            return false;
    }
    return true;
}

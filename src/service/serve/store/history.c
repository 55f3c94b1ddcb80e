/* Writes incidents to SQLite, with a checksum of each row. */
#include "service/serve/store/history.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"

#include <stdio.h>

/* The views are a stable interface for SQL: they stay when the tables change. */
static const char schema[] =
    "CREATE TABLE applied(frame INTEGER NOT NULL);"
    "INSERT INTO applied VALUES(0);"
    "CREATE TABLE incident(id INTEGER PRIMARY KEY, system TEXT NOT NULL, at INTEGER NOT NULL,"
    " ended INTEGER, how TEXT, requester TEXT, victim TEXT, processes TEXT, witness TEXT,"
    " replay TEXT, born INTEGER NOT NULL, changed INTEGER NOT NULL);"
    "CREATE INDEX incident_at ON incident(at);"
    "CREATE INDEX incident_ended ON incident(ended);"
    "CREATE INDEX incident_replay ON incident(id) WHERE replay IS NOT NULL;"
    "CREATE VIEW incidents AS SELECT id, system,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS formed,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1000.0, 'unixepoch') AS ended,"
    " (ended - at) / 1000.0 AS seconds, how, requester, victim, processes, witness,"
    " at AS formed_ms, ended AS ended_ms FROM incident;"
    "CREATE VIEW open_incidents AS SELECT * FROM incidents WHERE ended_ms IS NULL;";

static const char *const texts[HISTORY_STATEMENTS] = {
    [HISTORY_BEGIN] = "BEGIN IMMEDIATE",
    [HISTORY_COMMIT] = "COMMIT",
    [HISTORY_ROLLBACK] = "ROLLBACK",
    /* An unknown value keeps the old one. */
    [HISTORY_PUT] = "INSERT INTO incident VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?11)"
                    " ON CONFLICT(id) DO UPDATE SET system = excluded.system, at = excluded.at,"
                    " ended = coalesce(excluded.ended, ended), how = coalesce(excluded.how, how),"
                    " requester = coalesce(excluded.requester, requester),"
                    " victim = coalesce(excluded.victim, victim),"
                    " processes = coalesce(excluded.processes, processes),"
                    " witness = coalesce(excluded.witness, witness),"
                    " replay = coalesce(excluded.replay, replay), changed = excluded.changed",
    /* Uses the parameters of an incident; unused ones are bound as well. */
    [HISTORY_ACTION] =
        "INSERT OR REPLACE INTO action(id, system, at, what, who, process, why, born)"
        " VALUES(?1 & 0x7fffffffffffffff, ?2, ?3, ?5, ?6, ?7, ?8, ?11)",
    /* the same */
    [HISTORY_LABELS] = "INSERT OR REPLACE INTO incident_label(id, labels)"
                       " VALUES(?1 & 0x3fffffffffffffff, coalesce(?8, ?11))",
    [HISTORY_NOTICE] = "INSERT OR IGNORE INTO notice(id, ended, born)"
                       " VALUES(?1 & 0x3fffffffffffffff, coalesce(?4, 0), ?11)",
    [HISTORY_NOTICE_SENT] = "DELETE FROM notice WHERE id = (?1 & 0x3fffffffffffffff)"
                            " AND ended = coalesce(?4, 0) AND ?11 IS NOT NULL",
    [HISTORY_APPLIED] = "UPDATE applied SET frame = ?1",
    [HISTORY_KNOWN] = "SELECT 1 FROM incident WHERE id = ?1",
    [HISTORY_TRIM_OLD] =
        "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended < ?1 LIMIT 256)",
    [HISTORY_TRIM_ACTIONS] =
        "DELETE FROM action WHERE id IN (SELECT id FROM action WHERE at < ?1 LIMIT 256)",
    [HISTORY_TRIM_MANY] =
        "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended IS NOT NULL"
        " AND id <= (SELECT max(id) FROM incident) - ?1 LIMIT 256)",
    [HISTORY_TRIM_REPLAYS] =
        "UPDATE incident SET replay = NULL WHERE id IN (SELECT id FROM incident WHERE replay IS"
        " NOT NULL AND id <= (SELECT max(id) FROM incident) - ?1 LIMIT 64)",
};

/* ---- error messages */

bool history_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
           (code & 0xff) == SQLITE_ERROR;
}

gordian_status history_explain(const struct history *history, int code, gordian_error *error)
{
    if (!code)
        return GORDIAN_OK;
    int number = history->db ? sqlite3_system_errno(history->db) : 0;
    gordian_status status = history_is_damage(code)         ? GORDIAN_STATUS_INPUT
                            : (code & 0xff) == SQLITE_NOMEM ? GORDIAN_STATUS_MEMORY
                                                            : GORDIAN_STATUS_IO;
    switch (code & 0xff) {
    case SQLITE_FULL:
        return fail(error, status, "the disk is full");
    case SQLITE_READONLY:
        return fail(error, status, "the disk, or the folder, is read-only");
    case SQLITE_NOTADB:
        return fail(error, status, "it is not a database");
    case SQLITE_CANTOPEN:
    case SQLITE_IOERR:
        return number ? fail_disk(error, number)
                      : fail(error, status, "reading or writing failed: %s", sqlite3_errstr(code));
    default:
        return fail(error, status, "%s",
                    history->db ? sqlite3_errmsg(history->db) : sqlite3_errstr(code));
    }
}

/* ---- opening */

static int run_sql(struct history *history, const char *sql)
{
    return sqlite3_exec(history->db, sql, NULL, NULL, NULL);
}

int history_ask(sqlite3 *db, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(db, sql, -1, &statement, NULL);
    if (code)
        return code;
    code = sqlite3_step(statement);
    *number = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? SQLITE_OK : code == SQLITE_DONE ? SQLITE_CORRUPT : code;
}

static int make_schema(struct history *history)
{
    char mark[100];
    int code = run_sql(history, "BEGIN IMMEDIATE");
    THEN(code, run_sql(history, schema));
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             HISTORY_APPLICATION, HISTORY_SCHEMA);
    THEN(code, run_sql(history, mark));
    THEN(code, run_sql(history, "COMMIT"));
    if (code)
        run_sql(history, "ROLLBACK");
    return code;
}

/* Tables and views of every database of this version. */
#define PARTS      "'applied', 'incident', 'incidents', 'open_incidents'"
#define PART_COUNT 4

int history_check_parts(sqlite3 *db, bool *damaged, gordian_error *error)
{
    int64_t there = 0, rows = 0;
    int code =
        history_ask(db, "SELECT count(*) FROM sqlite_schema WHERE name IN (" PARTS ")", &there);
    if (!code && there == PART_COUNT)
        code = history_ask(db, "SELECT count(*) FROM applied", &rows);
    *damaged = !code && rows != 1;
    if (*damaged)
        fail(error, GORDIAN_STATUS_INPUT,
             there == PART_COUNT ? "its table 'applied' does not have exactly one row"
                                 : "tables or views are missing");
    return code;
}

/* Checks every page for corruption. The content of rows has checksums. */
static int check_pages(struct history *history, bool *damaged, gordian_error *error)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(history->db, "PRAGMA quick_check(1)", -1, &statement, NULL);
    if (code)
        return code;
    code = sqlite3_step(statement);
    const char *said = code == SQLITE_ROW ? (const char *)sqlite3_column_text(statement, 0) : NULL;
    *damaged = said && strcmp(said, "ok") != 0;
    sqlite3_finalize(statement);
    if (*damaged)
        fail(error, GORDIAN_STATUS_INPUT, "PRAGMA quick_check finds damaged pages");
    return code == SQLITE_ROW || code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Makes the schema in an empty file if `make` is set. Any other file must be a database of this
 * version, and intact. */
static gordian_status check_schema(struct history *history, bool make, int *code, bool *damaged,
                                   gordian_error *error)
{
    int64_t application = 0, version = 0, tables = 0;
    *code = history_ask(history->db, "PRAGMA application_id", &application);
    THEN(*code, history_ask(history->db, "PRAGMA user_version", &version));
    THEN(*code, history_ask(history->db, "SELECT count(*) FROM sqlite_schema", &tables));
    bool empty = !*code && tables == 0 && application == 0 && version == 0;
    if (empty && make) {
        *code = make_schema(history);
        return GORDIAN_OK;
    }
    if (empty) {
        *damaged = true;
        return fail(error, GORDIAN_STATUS_INPUT, "it is empty");
    }
    if (!*code && application != HISTORY_APPLICATION)
        return fail(error, GORDIAN_STATUS_INPUT, "a database, but not one of gordian serve");
    if (!*code && version != HISTORY_SCHEMA)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "made by another version of gordian serve: it has version %lld, this program "
                    "reads %d; use the program that made it, or another folder",
                    (long long)version, HISTORY_SCHEMA);
    THEN(*code, history_check_parts(history->db, damaged, error));
    if (!*code && !*damaged)
        *code = check_pages(history, damaged, error);
    return *damaged ? GORDIAN_STATUS_INPUT : GORDIAN_OK;
}

static int count_log_pages(void *context, sqlite3 *db, const char *name, int pages)
{
    struct history *history = context;
    (void)db, (void)name;
    history->wal_pages = pages;
    return SQLITE_OK;
}

/* ---- checksums */

uint32_t history_sum(uint32_t sum, const unsigned char *text, int length)
{
    unsigned char there = text ? 1 : 0; /* NULL differs from "" */
    sum = crc32c(sum, &there, 1);
    return text && length > 0 ? crc32c(sum, text, (size_t)length) : sum;
}

static void sum_row(sqlite3_context *context, int count, sqlite3_value **values)
{
    uint32_t sum = 0;
    for (int i = 0; i < count; i++) {
        const unsigned char *text = sqlite3_value_text(values[i]);
        sum = history_sum(sum, text, sqlite3_value_bytes(values[i]));
    }
    sqlite3_result_int64(context, sum);
}

int history_add_functions(sqlite3 *db)
{
    return sqlite3_create_function(db, "row_sum", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC, NULL,
                                   sum_row, NULL, NULL);
}

/* Triggers keep the checksum of each row, however it is written. (Not INSERT OR REPLACE: the
 * conflict clause of the outer statement would apply inside the trigger.) */
static const char sums[] =
    "CREATE TABLE IF NOT EXISTS incident_sum(id INTEGER PRIMARY KEY, sum INTEGER NOT NULL);"
    "CREATE TRIGGER IF NOT EXISTS incident_made AFTER INSERT ON incident BEGIN"
    " DELETE FROM incident_sum WHERE id = new.id;"
    " INSERT INTO incident_sum VALUES(new.id, row_sum(new.system, new.at, new.ended, new.how,"
    " new.requester, new.victim, new.processes, new.witness)); END;"
    "CREATE TRIGGER IF NOT EXISTS incident_changed AFTER UPDATE ON incident BEGIN"
    " DELETE FROM incident_sum WHERE id = new.id;"
    " INSERT INTO incident_sum VALUES(new.id, row_sum(new.system, new.at, new.ended, new.how,"
    " new.requester, new.victim, new.processes, new.witness)); END;"
    "CREATE TRIGGER IF NOT EXISTS incident_gone AFTER DELETE ON incident BEGIN"
    " DELETE FROM incident_sum WHERE id = old.id; END;";

/* Tables that older databases of this version lack; older programs ignore them. */
static const char actions[] =
    "CREATE TABLE IF NOT EXISTS action(id INTEGER PRIMARY KEY, system TEXT NOT NULL,"
    " at INTEGER NOT NULL, what TEXT, who TEXT, process TEXT, why TEXT, born INTEGER NOT NULL);"
    "CREATE VIEW IF NOT EXISTS actions AS SELECT id,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS at, system, what, process, who,"
    " why, at AS at_ms FROM action;"
    /* labels of incidents */
    "CREATE TABLE IF NOT EXISTS incident_label(id INTEGER PRIMARY KEY, labels TEXT);"
    "CREATE TRIGGER IF NOT EXISTS incident_unlabelled AFTER DELETE ON incident BEGIN"
    " DELETE FROM incident_label WHERE id = old.id; END;"
    /* pending notifications */
    "CREATE TABLE IF NOT EXISTS notice(id INTEGER NOT NULL, ended INTEGER NOT NULL,"
    " born INTEGER NOT NULL, PRIMARY KEY(id, ended));";

/* The store's thread runs checkpoints (thread.c): the hook replaces automatic ones. */
static int set_up_history(struct history *history)
{
    int64_t applied = 0;
    int code = run_sql(history, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                "PRAGMA foreign_keys = OFF; PRAGMA temp_store = MEMORY;"
                                "PRAGMA journal_size_limit = 67108864");
    sqlite3_wal_hook(history->db, count_log_pages, history);
    THEN(code, history_add_functions(history->db));
    THEN(code, run_sql(history, actions));
    THEN(code, run_sql(history, sums));
    for (size_t i = 0; i < HISTORY_STATEMENTS && !code; i++)
        code = sqlite3_prepare_v3(history->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &history->statements[i], NULL);
    THEN(code, history_ask(history->db, "SELECT frame FROM applied", &applied));
    history->applied = (uint64_t)applied;
    return code;
}

gordian_status history_open(struct history *history, const char *path, bool make, bool *damaged,
                            gordian_error *error)
{
    *damaged = false;
    *history = (struct history){.in_memory = !path};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path ? path : ":memory:", &history->db, flags, NULL);
    gordian_status status = GORDIAN_OK;
    if (!code) {
        sqlite3_extended_result_codes(history->db, 1);
        sqlite3_busy_timeout(history->db, 5000); /* readers may be recovering the log */
        status = check_schema(history, make || !path, &code, damaged, error);
    }
    if (!code && status == GORDIAN_OK)
        code = set_up_history(history);
    *damaged |= history_is_damage(code);
    if (code)
        status = history_explain(history, code, error);
    if (status != GORDIAN_OK)
        history_close(history);
    else
        sqlite3_busy_timeout(history->db, 0); /* the event loop must not block */
    return status;
}

sqlite3 *history_leave(struct history *history)
{
    sqlite3 *db = history->db;
    for (size_t i = 0; i < HISTORY_STATEMENTS; i++)
        sqlite3_finalize(history->statements[i]);
    *history = (struct history){0};
    return db;
}

void history_close(struct history *history)
{
    sqlite3_close(history_leave(history));
}

/* ---- incidents */

static void put_incident_text(struct bytes *bytes, const char *text)
{
    bytes_u64(bytes, text ? strlen(text) + 1 : 0); /* 0: NULL */
    if (text)
        bytes_put(bytes, text, strlen(text));
}

bool history_put(struct batch *batch, const struct incident *incident)
{
    struct bytes *bytes = &batch->incidents;
    size_t before = bytes->used;
    bytes_u64(bytes, incident->id);
    bytes_u64(bytes, incident->at);
    bytes_u64(bytes, incident->ended);
    put_incident_text(bytes, incident->system ? incident->system : "");
    put_incident_text(bytes, incident->how);
    put_incident_text(bytes, incident->requester);
    put_incident_text(bytes, incident->victim);
    put_incident_text(bytes, incident->processes);
    put_incident_text(bytes, incident->witness);
    put_incident_text(bytes, incident->replay);
    if (bytes->failed) {
        bytes->failed = false;
        bytes->used = before;
        return false;
    }
    batch->incident_count++;
    return true;
}

/* Runs a statement that returns no rows. */
static int run_prepared(struct history *history, enum history_statement which)
{
    sqlite3_stmt *statement = history->statements[which];
    int code = sqlite3_step(statement), reset = sqlite3_reset(statement);
    if (code == SQLITE_DONE || code == SQLITE_ROW)
        return SQLITE_OK;
    return reset ? reset : code;
}

/* The same with one number as its parameter. */
static int step_with(struct history *history, enum history_statement which, uint64_t number)
{
    sqlite3_bind_int64(history->statements[which], 1, (sqlite3_int64)number);
    return run_prepared(history, which);
}

static int end_transaction(struct history *history, int code)
{
    THEN(code, run_prepared(history, HISTORY_COMMIT));
    if (code && !sqlite3_get_autocommit(history->db))
        run_prepared(history, HISTORY_ROLLBACK);
    return code;
}

static void bind_history_text(sqlite3_stmt *statement, int index, struct bytes_in *in)
{
    uint64_t length = bytes_take_u64(in);
    const char *text = length ? (const char *)bytes_take(in, (size_t)length - 1) : NULL;
    if (text)
        sqlite3_bind_text64(statement, index, text, length - 1, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(statement, index);
}

static enum history_statement statement_for(uint64_t id, uint64_t at)
{
    if ((id & INCIDENT_NOTICE) == INCIDENT_NOTICE)
        return at ? HISTORY_NOTICE_SENT : HISTORY_NOTICE;
    if (id & INCIDENT_ACTION)
        return HISTORY_ACTION;
    return id & INCIDENT_LABELS ? HISTORY_LABELS : HISTORY_PUT;
}

static int write_incidents(struct history *history, const struct batch *batch)
{
    struct bytes_in in = {.at = batch->incidents.data,
                          .end = batch->incidents.data + batch->incidents.used};
    int code = SQLITE_OK;
    for (uint32_t i = 0; i < batch->incident_count && !code; i++) {
        uint64_t id = bytes_take_u64(&in), at = bytes_take_u64(&in);
        enum history_statement which = statement_for(id, at);
        sqlite3_stmt *statement = history->statements[which];
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)at);
        uint64_t ended = bytes_take_u64(&in);
        if (ended)
            sqlite3_bind_int64(statement, 4, (sqlite3_int64)ended);
        else
            sqlite3_bind_null(statement, 4);
        bind_history_text(statement, 2, &in);
        for (int column = 5; column <= 10; column++)
            bind_history_text(statement, column, &in);
        sqlite3_bind_int64(statement, 11, (sqlite3_int64)batch->frame);
        code = run_prepared(history, which);
        sqlite3_clear_bindings(statement);
    }
    return code;
}

int history_write(struct history *history, const struct batch *batch, size_t count)
{
    uint64_t frame = 0;
    int code = SQLITE_OK;
    /* The owner of the last batch may be linking another behind it, so do not read its `next`. */
    for (size_t i = 0; i < count && !code; i++) {
        batch = i ? batch->next : batch;
        if (batch->incident_count == 0)
            continue;
        if (sqlite3_get_autocommit(history->db))
            code = run_prepared(history, HISTORY_BEGIN);
        THEN(code, write_incidents(history, batch));
        frame = batch->frame;
    }
    if (!code && frame)
        code = step_with(history, HISTORY_APPLIED, frame);
    return sqlite3_get_autocommit(history->db) ? code : end_transaction(history, code);
}

int history_note(struct history *history, uint64_t frame)
{
    return step_with(history, HISTORY_APPLIED, frame);
}

bool history_knows(struct history *history, uint64_t id)
{
    sqlite3_stmt *statement = history->statements[HISTORY_KNOWN];
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
    bool known = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_reset(statement);
    return known;
}

/* ---- repair */

int history_go_back(struct history *history, uint64_t frame, bool lost)
{
    static const char forget[] = "DELETE FROM incident WHERE born > %llu;"
                                 "DELETE FROM action WHERE born > %llu;"
                                 "DELETE FROM notice WHERE born > %llu;"
                                 "UPDATE incident SET ended = NULL, how = NULL, victim = NULL,"
                                 " changed = %llu WHERE changed > %llu";
    static const char keep[] = "UPDATE notice SET born = min(born, %llu);"
                               "UPDATE incident SET born = min(born, %llu), changed = %llu"
                               " WHERE changed > %llu";
    char sql[500];
    unsigned long long number = frame;
    if (lost)
        snprintf(sql, sizeof sql, forget, number, number, number, number, number);
    else
        snprintf(sql, sizeof sql, keep, number, number, number, number);
    int code = run_prepared(history, HISTORY_BEGIN);
    if (code)
        return code;
    code = run_sql(history, sql);
    THEN(code, step_with(history, HISTORY_APPLIED, frame));
    history->applied = frame;
    return end_transaction(history, code);
}

/* Skips rows that violate a constraint. */
static int copy_rows(sqlite3_stmt *get, sqlite3_stmt *put)
{
    int code;
    while ((code = sqlite3_step(get)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(get); i++)
            sqlite3_bind_value(put, i + 1, sqlite3_column_value(get, i));
        sqlite3_step(put);
        sqlite3_reset(put);
    }
    return code;
}

/* Copies from both ends as far as each direction works: the damage is somewhere in between. Skips a
 * table that is missing or has other columns. */
static int copy_table(struct history *to, sqlite3 *from, const char *name, const char *values,
                      int columns)
{
    static const char *const ways[] = {"", " DESC"};
    sqlite3_stmt *put = NULL;
    char sql[120];
    snprintf(sql, sizeof sql, "INSERT OR IGNORE INTO %s VALUES(%s)", name, values);
    int code = sqlite3_prepare_v2(to->db, sql, -1, &put, NULL), way_code = SQLITE_OK;
    for (size_t way = 0; !code && way < 2 && way_code != SQLITE_DONE; way++) {
        sqlite3_stmt *get = NULL;
        snprintf(sql, sizeof sql, "SELECT * FROM %s ORDER BY rowid%s", name, ways[way]);
        way_code = sqlite3_prepare_v2(from, sql, -1, &get, NULL);
        if (!way_code && sqlite3_column_count(get) == columns)
            way_code = copy_rows(get, put);
        sqlite3_finalize(get);
    }
    sqlite3_finalize(put);
    return code;
}

int history_copy(struct history *to, sqlite3 *from)
{
    static const struct {
        const char *name, *values;
        int columns;
    } tables[] = {
        {"incident", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12", 12},
        {"action", "?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8", 8},
        {"incident_label", "?1, ?2", 2},
        {"notice", "?1, ?2, ?3", 3},
    };
    int code = run_prepared(to, HISTORY_BEGIN);
    for (size_t i = 0; i < sizeof tables / sizeof *tables && !code; i++)
        code = copy_table(to, from, tables[i].name, tables[i].values, tables[i].columns);
    return end_transaction(to, code);
}

/* ---- deleting old incidents */

int history_trim(struct history *history, uint64_t ended_before, uint64_t *dropped, bool *more)
{
    bool memory = history->in_memory;
    const uint64_t bounds[] = {ended_before, memory ? HISTORY_MEMORY_INCIDENTS : HISTORY_INCIDENTS,
                               memory ? HISTORY_MEMORY_REPLAYS : HISTORY_REPLAYS};
    int code = SQLITE_OK;
    *dropped = 0;
    *more = false;
    if (ended_before)
        code = step_with(history, HISTORY_TRIM_ACTIONS, ended_before);
    for (size_t i = ended_before ? 0 : 1; i < 3 && !code; i++) {
        code = step_with(history, (enum history_statement)(HISTORY_TRIM_OLD + i), bounds[i]);
        uint64_t changed = code ? 0 : (uint64_t)sqlite3_changes(history->db);
        *dropped += i < 2 ? changed : 0;
        *more |= changed > 0;
    }
    return code;
}

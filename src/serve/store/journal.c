#include "serve/store/journal.h"

#include "base/crc.h"
#include "base/error.h"

#include <errno.h>
#include <stdio.h>

/* The views are a promise to whoever writes SQL: they stay when the tables change. */
static const char schema[] =
    "CREATE TABLE journal(first INTEGER PRIMARY KEY, count INTEGER NOT NULL, at INTEGER NOT NULL,"
    " crc INTEGER NOT NULL, body BLOB NOT NULL);"
    "CREATE TABLE snapshot(number INTEGER PRIMARY KEY, at INTEGER NOT NULL, parts INTEGER NOT NULL,"
    " bytes INTEGER NOT NULL, crc INTEGER NOT NULL);"
    "CREATE TABLE snapshot_part(number INTEGER NOT NULL, part INTEGER NOT NULL, body BLOB NOT NULL,"
    " UNIQUE(number, part));"
    "CREATE TABLE incident(id INTEGER PRIMARY KEY, system TEXT NOT NULL, at INTEGER NOT NULL,"
    " ended INTEGER, how TEXT, requester TEXT, victim TEXT, processes TEXT, witness TEXT,"
    " replay TEXT);"
    "CREATE INDEX incident_at ON incident(at);"
    "CREATE INDEX incident_ended ON incident(ended);"
    "CREATE INDEX incident_replay ON incident(id) WHERE replay IS NOT NULL;"
    "CREATE VIEW incidents AS SELECT id, system,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS formed,"
    " strftime('%Y-%m-%dT%H:%M:%fZ', ended / 1000.0, 'unixepoch') AS ended,"
    " (ended - at) / 1000.0 AS seconds, how, requester, victim, processes, witness,"
    " at AS formed_ms, ended AS ended_ms FROM incident;"
    "CREATE VIEW open_incidents AS SELECT * FROM incidents WHERE ended_ms IS NULL;";

static const char *const texts[JOURNAL_STATEMENTS] = {
    [JOURNAL_BEGIN] = "BEGIN IMMEDIATE",
    [JOURNAL_COMMIT] = "COMMIT",
    [JOURNAL_ROLLBACK] = "ROLLBACK",
    /* It may be there, if a commit failed half-way: it is the same. */
    [JOURNAL_ROW] =
        "INSERT OR REPLACE INTO journal(first, count, at, crc, body) VALUES(?1, ?2, ?3, ?4, ?5)",
    /* What is not known now stays as it was. */
    [JOURNAL_INCIDENT] =
        "INSERT INTO incident VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)"
        " ON CONFLICT(id) DO UPDATE SET system = excluded.system, at = excluded.at,"
        " ended = coalesce(excluded.ended, ended), how = coalesce(excluded.how, how),"
        " requester = coalesce(excluded.requester, requester),"
        " victim = coalesce(excluded.victim, victim),"
        " processes = coalesce(excluded.processes, processes),"
        " witness = coalesce(excluded.witness, witness),"
        " replay = coalesce(excluded.replay, replay)",
    [JOURNAL_KNOWN] = "SELECT 1 FROM incident WHERE id = ?1",
    [JOURNAL_PART] = "INSERT OR REPLACE INTO snapshot_part(number, part, body) VALUES(?1, ?2, ?3)",
    [JOURNAL_SNAPSHOT] =
        "INSERT OR REPLACE INTO snapshot(number, at, parts, bytes, crc) VALUES(?1, ?2, ?3, ?4, ?5)",
    /* Of one of this number that was not finished. */
    [JOURNAL_FORGET_PARTS] = "DELETE FROM snapshot_part WHERE number = ?1 AND part >= ?2",
    [JOURNAL_FORGET_SNAPSHOTS] = "DELETE FROM snapshot WHERE number NOT IN (?1, ?2)",
    [JOURNAL_TRIM_PARTS] =
        "DELETE FROM snapshot_part WHERE rowid IN (SELECT rowid FROM snapshot_part"
        " WHERE number NOT IN (SELECT number FROM snapshot) LIMIT 4)",
    [JOURNAL_TRIM_ROWS] =
        "DELETE FROM journal WHERE first IN (SELECT first FROM journal"
        " WHERE first <= ?1 AND first + count - 1 <= ?1 ORDER BY first LIMIT 256)",
    [JOURNAL_TRIM_INCIDENTS] =
        "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended < ?1 LIMIT 256)",
    [JOURNAL_TRIM_HISTORY] =
        "DELETE FROM incident WHERE id IN (SELECT id FROM incident WHERE ended IS NOT NULL"
        " AND id <= (SELECT max(id) FROM incident) - ?1 LIMIT 256)",
    [JOURNAL_TRIM_REPLAYS] =
        "UPDATE incident SET replay = NULL WHERE id IN (SELECT id FROM incident WHERE replay IS"
        " NOT NULL AND id <= (SELECT max(id) FROM incident) - ?1 LIMIT 64)",
};

/* ---- words for what went wrong */

bool journal_is_damage(int code)
{
    return (code & 0xff) == SQLITE_CORRUPT || (code & 0xff) == SQLITE_NOTADB ||
           (code & 0xff) == SQLITE_ERROR;
}

const char *journal_explain(const struct journal *journal, int code, char *buffer, size_t size)
{
    int system_error = journal->db ? sqlite3_system_errno(journal->db) : 0;
    system_error = system_error ? system_error : journal->system_error;
    switch (code & 0xff) {
    case SQLITE_FULL:
        snprintf(buffer, size, "the disk is full");
        break;
    case SQLITE_READONLY:
        snprintf(buffer, size, "the disk, or the folder, is read-only");
        break;
    case SQLITE_IOERR:
        snprintf(buffer, size, "reading or writing failed%s%s", system_error ? ": " : "",
                 system_error ? strerror(system_error) : "");
        break;
    case SQLITE_CANTOPEN:
        snprintf(buffer, size, "cannot open the file%s%s", system_error ? ": " : "",
                 system_error ? strerror(system_error) : "");
        break;
    case SQLITE_NOTADB:
        snprintf(buffer, size, "it is not a database");
        break;
    default:
        snprintf(buffer, size, "%s",
                 journal->db ? sqlite3_errmsg(journal->db) : sqlite3_errstr(code));
    }
    return buffer;
}

static gordian_status fail_sqlite(const struct journal *journal, int code, gordian_error *error)
{
    char why[256];
    gordian_status status = journal_is_damage(code)         ? GORDIAN_STATUS_INPUT
                            : (code & 0xff) == SQLITE_NOMEM ? GORDIAN_STATUS_MEMORY
                                                            : GORDIAN_STATUS_IO;
    return fail(error, status, "%s", journal_explain(journal, code, why, sizeof why));
}

/* ---- opening */

static int run(struct journal *journal, const char *sql)
{
    return sqlite3_exec(journal->db, sql, NULL, NULL, NULL);
}

static int ask_number(struct journal *journal, const char *sql, int64_t *number)
{
    sqlite3_stmt *statement;
    int code = sqlite3_prepare_v2(journal->db, sql, -1, &statement, NULL);
    if (code)
        return code;
    code = sqlite3_step(statement);
    *number = code == SQLITE_ROW ? sqlite3_column_int64(statement, 0) : 0;
    sqlite3_finalize(statement);
    return code == SQLITE_ROW ? SQLITE_OK : code;
}

static int make_schema(struct journal *journal)
{
    char mark[100];
    int code = run(journal, "BEGIN IMMEDIATE");
    if (!code)
        code = run(journal, schema);
    snprintf(mark, sizeof mark, "PRAGMA application_id = %d; PRAGMA user_version = %d",
             JOURNAL_APPLICATION, STORE_SCHEMA);
    if (!code)
        code = run(journal, mark);
    if (!code)
        code = run(journal, "COMMIT");
    if (code)
        run(journal, "ROLLBACK");
    return code;
}

/* An empty file becomes one of ours; one of ours must be of this version. */
static gordian_status check_schema(struct journal *journal, int *code, gordian_error *error)
{
    int64_t application = 0, version = 0, tables = 0;
    *code = ask_number(journal, "PRAGMA application_id", &application);
    if (!*code)
        *code = ask_number(journal, "PRAGMA user_version", &version);
    if (!*code)
        *code = ask_number(journal, "SELECT count(*) FROM sqlite_schema", &tables);
    if (!*code && tables == 0 && application == 0 && version == 0)
        *code = make_schema(journal);
    else if (!*code && application != JOURNAL_APPLICATION)
        return fail(error, GORDIAN_STATUS_INPUT, "a database, but not one of gordian serve");
    else if (!*code && version != STORE_SCHEMA)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "made by another version of gordian serve: it has version %lld, this program "
                    "reads %d; use the program that made it, or another folder",
                    (long long)version, STORE_SCHEMA);
    return GORDIAN_OK;
}

static int note_pages(void *context, sqlite3 *db, const char *name, int pages)
{
    struct journal *journal = context;
    (void)db, (void)name;
    journal->wal_pages = pages;
    return SQLITE_OK;
}

static int set_up(struct journal *journal, enum store_durability durability)
{
    /* Frames of the log are synced with every commit, or by the store's thread and at checkpoints;
     * checkpoints are the thread's (store/thread.c): the hook takes the place of automatic ones. */
    int code = run(journal, "PRAGMA journal_mode = WAL; PRAGMA foreign_keys = OFF;"
                            "PRAGMA journal_size_limit = 67108864; PRAGMA temp_store = MEMORY");
    if (!code)
        code = run(journal, durability == STORE_FULL ? "PRAGMA synchronous = FULL"
                                                     : "PRAGMA synchronous = NORMAL");
    sqlite3_wal_hook(journal->db, note_pages, journal);
    return code;
}

static int prepare_all(struct journal *journal)
{
    int code = SQLITE_OK;
    for (size_t i = 0; i < JOURNAL_STATEMENTS && !code; i++)
        code = sqlite3_prepare_v3(journal->db, texts[i], -1, SQLITE_PREPARE_PERSISTENT,
                                  &journal->statements[i], NULL);
    return code;
}

gordian_status journal_open(struct journal *journal, const char *path, const char *vfs,
                            enum store_durability durability, bool *damaged, gordian_error *error)
{
    *journal = (struct journal){.in_memory = !path};
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(path ? path : ":memory:", &journal->db, flags, vfs);
    gordian_status status = GORDIAN_OK;
    if (!code) {
        sqlite3_extended_result_codes(journal->db, 1);
        sqlite3_busy_timeout(journal->db, 5000); /* readers may be recovering the log */
        status = check_schema(journal, &code, error);
    }
    if (!code && status == GORDIAN_OK)
        code = set_up(journal, durability);
    if (!code && status == GORDIAN_OK)
        code = prepare_all(journal);
    *damaged = journal_is_damage(code);
    if (code)
        status = fail_sqlite(journal, code, error);
    if (status != GORDIAN_OK)
        journal_close(journal);
    else
        sqlite3_busy_timeout(journal->db, 0); /* the loop waits for nobody */
    return status;
}

int journal_open_raw(struct journal *journal, const char *path)
{
    *journal = (struct journal){0};
    int code =
        sqlite3_open_v2(path, &journal->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
    if (code)
        journal_close(journal);
    return code;
}

void journal_close(struct journal *journal)
{
    for (size_t i = 0; i < JOURNAL_STATEMENTS; i++)
        sqlite3_finalize(journal->statements[i]);
    sqlite3_close(journal->db);
    *journal = (struct journal){0};
}

/* ---- batches */

uint32_t batch_crc(uint64_t first, uint64_t count, uint64_t at, const void *body, size_t length)
{
    uint8_t head[24];
    uint64_t numbers[3] = {first, count, at};
    for (size_t i = 0; i < sizeof head; i++)
        head[i] = (uint8_t)(numbers[i / 8] >> (i % 8 * 8));
    return crc32c(crc32c(0, head, sizeof head), body, length);
}

static void put_text(struct bytes *bytes, const char *text)
{
    bytes_u64(bytes, text ? strlen(text) + 1 : 0); /* 0: there is none */
    if (text)
        bytes_put(bytes, text, strlen(text));
}

bool journal_put_incident(struct batch *batch, const struct incident *incident)
{
    struct bytes *bytes = &batch->incidents;
    size_t before = bytes->used;
    bytes_u64(bytes, incident->id);
    bytes_u64(bytes, incident->at);
    bytes_u64(bytes, incident->ended);
    put_text(bytes, incident->system ? incident->system : "");
    put_text(bytes, incident->how);
    put_text(bytes, incident->requester);
    put_text(bytes, incident->victim);
    put_text(bytes, incident->processes);
    put_text(bytes, incident->witness);
    put_text(bytes, incident->replay);
    if (bytes->failed) {
        bytes->failed = false;
        bytes->used = before;
        return false;
    }
    batch->incident_count++;
    return true;
}

/* Frames that a failed write has left behind the last commit must be gone before a shorter one is
 * written over their beginning: the rest would look like damage if the process were killed then
 * (store/wal.c), even more if only the sync had failed and they end in a commit. */
static int cut_leftovers(struct journal *journal)
{
    if (!journal->leftovers || journal->in_memory || !sqlite3_get_autocommit(journal->db))
        return SQLITE_OK;
    if (!wal_cut_unused(journal->db)) {
        journal->system_error = errno;
        return SQLITE_IOERR_TRUNCATE;
    }
    journal->leftovers = false;
    return SQLITE_OK;
}

/* Runs a statement that gives no rows. */
static int step(struct journal *journal, enum journal_statement which)
{
    sqlite3_stmt *statement = journal->statements[which];
    int trouble = cut_leftovers(journal);
    if (trouble)
        return trouble;
    errno = 0; /* SQLite does not always tell what the system said */
    int code = sqlite3_step(statement);
    int reset = sqlite3_reset(statement);
    if (code == SQLITE_DONE || code == SQLITE_ROW)
        return SQLITE_OK;
    journal->system_error = errno;
    journal->leftovers = true;
    return reset ? reset : code;
}

static void bind_text(sqlite3_stmt *statement, int index, struct bytes_in *in)
{
    uint64_t length = bytes_take_u64(in);
    const char *text = length ? (const char *)bytes_take(in, (size_t)length - 1) : NULL;
    if (text)
        sqlite3_bind_text64(statement, index, text, length - 1, SQLITE_STATIC, SQLITE_UTF8);
    else
        sqlite3_bind_null(statement, index);
}

static int write_incidents(struct journal *journal, const struct batch *batch)
{
    sqlite3_stmt *statement = journal->statements[JOURNAL_INCIDENT];
    struct bytes_in in = {.at = batch->incidents.data,
                          .end = batch->incidents.data + batch->incidents.used};
    int code = SQLITE_OK;
    for (uint32_t i = 0; i < batch->incident_count && !code; i++) {
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)bytes_take_u64(&in));
        sqlite3_bind_int64(statement, 3, (sqlite3_int64)bytes_take_u64(&in));
        uint64_t ended = bytes_take_u64(&in);
        if (ended)
            sqlite3_bind_int64(statement, 4, (sqlite3_int64)ended);
        else
            sqlite3_bind_null(statement, 4);
        bind_text(statement, 2, &in);
        for (int column = 5; column <= 10; column++)
            bind_text(statement, column, &in);
        code = step(journal, JOURNAL_INCIDENT);
    }
    sqlite3_clear_bindings(statement);
    return code;
}

static int write_row(struct journal *journal, const struct batch *batch)
{
    sqlite3_stmt *statement = journal->statements[JOURNAL_ROW];
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)batch->first);
    sqlite3_bind_int64(statement, 2, batch->count);
    sqlite3_bind_int64(statement, 3, (sqlite3_int64)batch->at);
    sqlite3_bind_int64(statement, 4, batch->crc);
    sqlite3_bind_blob64(statement, 5, batch->body.data, batch->body.used, SQLITE_STATIC);
    return step(journal, JOURNAL_ROW);
}

static int write_batch(struct journal *journal, const struct batch *batch)
{
    int code = batch->count && !journal->in_memory ? write_row(journal, batch) : SQLITE_OK;
    return code || batch->incident_count == 0 ? code : write_incidents(journal, batch);
}

int journal_begin(struct journal *journal)
{
    return step(journal, JOURNAL_BEGIN);
}

int journal_end(struct journal *journal, int code)
{
    if (!code)
        code = step(journal, JOURNAL_COMMIT);
    if (code && !sqlite3_get_autocommit(journal->db))
        step(journal, JOURNAL_ROLLBACK);
    return code;
}

int journal_write(struct journal *journal, const struct batch *batch, size_t count)
{
    if (count == 1 && batch->incident_count == 0)
        return write_batch(journal, batch); /* a transaction by itself */
    int code = journal_begin(journal);
    if (code)
        return code;
    /* Whoever owns the last one may be linking another behind it: its `next` is not looked at. */
    for (size_t i = 0; i < count && !code; i++) {
        batch = i ? batch->next : batch;
        code = write_batch(journal, batch);
    }
    return journal_end(journal, code);
}

bool journal_knows(struct journal *journal, uint64_t id)
{
    sqlite3_stmt *statement = journal->statements[JOURNAL_KNOWN];
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)id);
    bool known = sqlite3_step(statement) == SQLITE_ROW;
    sqlite3_reset(statement);
    return known;
}

/* ---- snapshots */

int journal_put_part(struct journal *journal, uint64_t number, uint32_t part, const void *bytes,
                     size_t count)
{
    sqlite3_stmt *statement = journal->statements[JOURNAL_PART];
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
    sqlite3_bind_int64(statement, 2, part);
    sqlite3_bind_blob64(statement, 3, bytes, count, SQLITE_STATIC);
    return step(journal, JOURNAL_PART);
}

static int forget(struct journal *journal, enum journal_statement which, uint64_t first,
                  uint64_t second)
{
    sqlite3_bind_int64(journal->statements[which], 1, (sqlite3_int64)first);
    sqlite3_bind_int64(journal->statements[which], 2, (sqlite3_int64)second);
    return step(journal, which);
}

int journal_put_snapshot(struct journal *journal, uint64_t number, uint64_t at, uint32_t parts,
                         uint64_t bytes, uint32_t crc, uint64_t before)
{
    sqlite3_stmt *statement = journal->statements[JOURNAL_SNAPSHOT];
    int code = journal_begin(journal);
    if (code)
        return code;
    sqlite3_bind_int64(statement, 1, (sqlite3_int64)number);
    sqlite3_bind_int64(statement, 2, (sqlite3_int64)at);
    sqlite3_bind_int64(statement, 3, parts);
    sqlite3_bind_int64(statement, 4, (sqlite3_int64)bytes);
    sqlite3_bind_int64(statement, 5, crc);
    code = step(journal, JOURNAL_SNAPSHOT);
    if (!code)
        code = forget(journal, JOURNAL_FORGET_PARTS, number, parts);
    if (!code)
        code = forget(journal, JOURNAL_FORGET_SNAPSHOTS, number, before);
    return journal_end(journal, code);
}

/* ---- what is not needed any more */

int journal_trim(struct journal *journal, uint64_t through, bool *more)
{
    sqlite3_bind_int64(journal->statements[JOURNAL_TRIM_ROWS], 1, (sqlite3_int64)through);
    int code = step(journal, JOURNAL_TRIM_ROWS);
    *more = !code && sqlite3_changes(journal->db) > 0;
    if (code || *more)
        return code;
    code = step(journal, JOURNAL_TRIM_PARTS);
    *more = !code && sqlite3_changes(journal->db) > 0;
    return code;
}

/* Runs a statement about at most `number`; how many rows it changed. */
static int trim_by(struct journal *journal, enum journal_statement which, uint64_t number,
                   uint64_t *changed)
{
    sqlite3_bind_int64(journal->statements[which], 1, (sqlite3_int64)number);
    int code = step(journal, which);
    *changed = code ? 0 : (uint64_t)sqlite3_changes(journal->db);
    return code;
}

int journal_trim_incidents(struct journal *journal, uint64_t ended_before, uint64_t *dropped,
                           bool *more)
{
    bool memory = journal->in_memory;
    uint64_t old = 0, many = 0, replays = 0;
    int code = SQLITE_OK;
    if (ended_before)
        code = trim_by(journal, JOURNAL_TRIM_INCIDENTS, ended_before, &old);
    if (!code)
        code = trim_by(journal, JOURNAL_TRIM_HISTORY,
                       memory ? JOURNAL_MEMORY_INCIDENTS : JOURNAL_INCIDENTS, &many);
    if (!code)
        code = trim_by(journal, JOURNAL_TRIM_REPLAYS,
                       memory ? JOURNAL_MEMORY_REPLAYS : JOURNAL_REPLAYS, &replays);
    *dropped = old + many;
    *more = old + many + replays > 0;
    return code;
}

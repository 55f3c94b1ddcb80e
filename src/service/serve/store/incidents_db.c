/* Reads incidents and operator actions from SQLite, and writes them as JSON. */
#include "service/serve/store/incidents_db.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/store/history.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

struct incidents_db {
    gordian_allocator memory;
    sqlite3 *db;
    bool owned;
    sqlite3_stmt *sum; /* reads the checksum of a row; NULL: not prepared, or no such table */
    bool asked;        /* whether preparing it was tried */
    bool labelled;     /* the table of labels exists; older services did not make it */
};

#define COLUMNS "id, system, at, ended, how, requester, victim, processes, witness"

/* ---- opening */

gordian_status incidents_share(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    *out = memory_zeroed(&memory, sizeof **out);
    if (!*out)
        return fail_memory(error);
    (*out)->memory = memory;
    (*out)->db = db;
    return GORDIAN_OK;
}

gordian_status incidents_adopt(struct incidents_db **out, struct sqlite3 *db,
                               const gordian_allocator *allocator, gordian_error *error)
{
    gordian_status status = incidents_share(out, db, allocator, error);
    if (status == GORDIAN_OK)
        (*out)->owned = true;
    else
        sqlite3_close(db);
    return status;
}

void incidents_close(struct incidents_db *db)
{
    if (!db)
        return;
    gordian_allocator memory = db->memory;
    sqlite3_finalize(db->sum);
    if (db->owned)
        sqlite3_close(db->db);
    memory_free(&memory, db);
}

/* Formats a "file:" URI for SQLite, with special characters escaped. */
static bool history_path(char *name, size_t size, const char *path, const char *query)
{
    size_t used = (size_t)snprintf(name, size, "file:");
    for (; *path && used + 4 < size; path++)
        if (strchr("%?#", *path))
            used += (size_t)snprintf(name + used, size - used, "%%%02x", (unsigned char)*path);
        else
            name[used++] = *path;
    int rest = snprintf(name + used, size - used, "%s", query);
    return !*path && (size_t)rest < size - used;
}

/* Is the database unused? Without a log it can be read as it is, even in a read-only folder, and
 * reading leaves no files behind. (A reader may have left an empty log.) */
static bool is_unused(const char *path, bool surely)
{
    char log[4096];
    struct stat there;
    return (size_t)snprintf(log, sizeof log, "%s-wal", path) < sizeof log &&
           (stat(log, &there) != 0 ? errno == ENOENT : !surely && there.st_size == 0);
}

/* Opens the file as it is (immutable), or together with its log. */
static int open_database(struct incidents_db *db, const char *path, bool as_it_is,
                         int64_t *application, int64_t *version)
{
    char name[8192];
    if (!history_path(name, sizeof name, path, as_it_is ? "?immutable=1" : ""))
        return SQLITE_CANTOPEN;
    /* Opens it and reads the two numbers that identify it. */
    sqlite3_close(db->db);
    db->db = NULL;
    int flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_URI;
    int code = sqlite3_open_v2(name, &db->db, flags, NULL);
    if (!code) {
        sqlite3_busy_timeout(db->db, 2000);
        code = history_ask(db->db, "PRAGMA application_id", application);
    }
    return code ? code : history_ask(db->db, "PRAGMA user_version", version);
}

static gordian_status open_path(struct incidents_db *db, const char *path, bool live,
                                gordian_error *error)
{
    int64_t application = 0, version = 0;
    int code = open_database(db, path, !live && is_unused(path, true), &application, &version);
    if (code && !live && !history_is_damage(code) && is_unused(path, false))
        code = open_database(db, path, true, &application, &version);
    if (code)
        return fail(error, history_is_damage(code) ? GORDIAN_STATUS_INPUT : GORDIAN_STATUS_IO,
                    "%.200s: %s", path, db->db ? sqlite3_errmsg(db->db) : sqlite3_errstr(code));
    if (application != HISTORY_APPLICATION)
        return fail(error, GORDIAN_STATUS_INPUT, "%.200s: not a database of gordian serve", path);
    if (version != HISTORY_SCHEMA)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: made by another version of gordian serve: it has version %lld, this "
                    "program reads %d",
                    path, (long long)version, HISTORY_SCHEMA);
    return GORDIAN_OK;
}

static gordian_status open_history_folder(struct incidents_db **out, const char *folder, bool live,
                                          const gordian_allocator *allocator, gordian_error *error)
{
    char path[4096];
    struct stat there;
    *out = NULL;
    if ((size_t)snprintf(path, sizeof path, "%s/" HISTORY_FILE, folder) >= sizeof path)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
    if (stat(path, &there) != 0)
        return fail(error,
                    errno == ENOENT || errno == ENOTDIR ? GORDIAN_STATUS_INPUT : GORDIAN_STATUS_IO,
                    "%.200s: %s; --data names the folder of the service", path, strerror(errno));
    TRY(incidents_share(out, NULL, allocator, error));
    (*out)->owned = true;
    gordian_status status = open_path(*out, path, live, error);
    if (status != GORDIAN_OK) {
        incidents_close(*out);
        *out = NULL;
    }
    return status;
}

gordian_status incidents_open(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error)
{
    return open_history_folder(out, folder, false, allocator, error);
}

gordian_status incidents_join(struct incidents_db **out, const char *folder,
                              const gordian_allocator *allocator, gordian_error *error)
{
    return open_history_folder(out, folder, true, allocator, error);
}

/* ---- queries */

static uint64_t column_number(sqlite3_stmt *statement, int column)
{
    return (uint64_t)sqlite3_column_int64(statement, column);
}

static const char *column_text(sqlite3_stmt *statement, int column)
{
    return (const char *)sqlite3_column_text(statement, column);
}

static struct incident incident_of(sqlite3_stmt *statement)
{
    return (struct incident){
        .id = column_number(statement, 0),
        .system = column_text(statement, 1),
        .at = column_number(statement, 2),
        .ended = column_number(statement, 3),
        .how = column_text(statement, 4),
        .requester = column_text(statement, 5),
        .victim = column_text(statement, 6),
        .processes = column_text(statement, 7),
        .witness = column_text(statement, 8),
        .replay = column_text(statement, 9),
        .labels = sqlite3_column_count(statement) > 10 ? column_text(statement, 10) : NULL,
    };
}

/* Does a row differ from its checksum? Rows of older services have none. */
static bool is_damaged(struct incidents_db *db, sqlite3_stmt *row)
{
    static const int order[] = {1, 2, 3, 4, 5, 6, 7, 8}; /* as in HISTORY_SUMMED */
    uint32_t sum = 0;
    bool damaged = false;
    if (!db->asked)
        sqlite3_prepare_v2(db->db, "SELECT sum FROM incident_sum WHERE id = ?1", -1, &db->sum,
                           NULL);
    db->asked = true;
    if (!db->sum)
        return false;
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        const unsigned char *text = sqlite3_column_text(row, order[i]);
        sum = history_sum(sum, text, sqlite3_column_bytes(row, order[i]));
    }
    sqlite3_bind_int64(db->sum, 1, sqlite3_column_int64(row, 0));
    if (sqlite3_step(db->sum) == SQLITE_ROW)
        damaged = sqlite3_column_int64(db->sum, 0) != (sqlite3_int64)sum;
    sqlite3_reset(db->sum);
    return damaged;
}

/* Runs and finalizes a statement. `summed`: the rows are incidents with checksums. */
static gordian_status run_statement(struct incidents_db *db, sqlite3_stmt *statement,
                                    gordian_status (*each)(void *context, const struct incident *),
                                    void *context, bool summed, uint64_t *count,
                                    gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    int code = SQLITE_DONE;
    *count = 0;
    while (status == GORDIAN_OK && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        bool damaged = summed && is_damaged(db, statement);
        struct incident incident = incident_of(statement);
        incident.damaged = damaged;
        ++*count;
        status = each(context, &incident);
    }
    if (status == GORDIAN_OK && code != SQLITE_DONE)
        status = fail(error, GORDIAN_STATUS_IO, "reading incidents: %s", sqlite3_errmsg(db->db));
    sqlite3_finalize(statement);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

static gordian_status prepare_statement(struct incidents_db *db, const char *sql,
                                        sqlite3_stmt **statement, gordian_error *error)
{
    if (sqlite3_prepare_v2(db->db, sql, -1, statement, NULL) == SQLITE_OK)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_IO, "reading incidents: %s", sqlite3_errmsg(db->db));
}

static void bind_text(sqlite3_stmt *statement, int index, const char *text)
{
    if (text) /* NULL matches everything */
        sqlite3_bind_text(statement, index, text, -1, SQLITE_STATIC);
}

static sqlite3_int64 bounded_text(uint64_t number)
{
    return number > INT64_MAX ? INT64_MAX : (sqlite3_int64)number;
}

/* A quoted name cannot match elsewhere in an array of names, because quotes in names are escaped.
 */
#define PASSES                                                                                     \
    " FROM incident WHERE (?1 IS NULL OR system = ?1)"                                             \
    " AND (?2 IS NULL OR instr(processes, json_quote(?2)) > 0)"                                    \
    " AND at >= ?3 AND (?4 = 0 OR at < ?4)"                                                        \
    " AND (?6 = 0 OR ended IS NOT NULL) AND id >= ?5 AND id < ?7"                                  \
    " AND (?9 IS NULL OR EXISTS (SELECT 1 FROM json_each(?9) WHERE system GLOB value))"            \
    " AND (?10 = 0 OR (at <= ?10 AND (ended IS NULL OR ended > ?10)))"
#define LABELS "(SELECT labels FROM incident_label WHERE incident_label.id = incident.id)"
#define STANDS " AND ended IS NULL" /* not an OR, so that the index is used */

/* Binds the patterns as a JSON array. They contain no quotes: auth/auth.c checks that. */
static void bind_patterns(sqlite3_stmt *statement, int index, const char *patterns)
{
    char text[1024] = "[\"";
    size_t used = 2;
    if (!patterns || !*patterns)
        return;
    for (; *patterns && used < sizeof text - 8; patterns++) {
        if (*patterns == ',') {
            memcpy(text + used, "\",\"", 3);
            used += 3;
        } else {
            text[used++] = *patterns;
        }
    }
    memcpy(text + used, "\"]", 3);
    sqlite3_bind_text(statement, index, text, -1, SQLITE_TRANSIENT);
}

/* Databases of older services lack some tables. */
static bool has_table(const struct incidents_db *db, const char *name)
{
    char sql[100];
    int64_t there = 0;
    snprintf(sql, sizeof sql, "SELECT count(*) FROM sqlite_schema WHERE name = '%s'", name);
    return history_ask(db->db, sql, &there) == SQLITE_OK && there > 0;
}

/* Binds ?1 to ?4: system, process, and the time range. */
static void bind_subject(sqlite3_stmt *statement, const struct incidents_filter *filter)
{
    bind_text(statement, 1, filter->system);
    bind_text(statement, 2, filter->process);
    sqlite3_bind_int64(statement, 3, bounded_text(filter->since));
    sqlite3_bind_int64(statement, 4, bounded_text(filter->until));
}

static gordian_status
query_incidents(struct incidents_db *db, const struct incidents_filter *filter,
                gordian_status (*each)(void *context, const struct incident *), void *context,
                uint64_t *count, gordian_error *error)
{
    char sql[1200];
    sqlite3_stmt *statement;
    bool labelled = db->labelled = db->labelled || has_table(db, "incident_label");
    if (filter->label && !labelled)
        return GORDIAN_OK; /* no labels exist */
    snprintf(sql, sizeof sql, "SELECT " COLUMNS ", %s, %s" PASSES "%s%s ORDER BY id%s LIMIT ?8",
             filter->with_replay ? "replay" : "NULL", labelled ? LABELS : "NULL",
             filter->label ? " AND instr(" LABELS ", json_quote(?11)) > 0" : "",
             filter->open ? STANDS : "", filter->oldest_first ? "" : " DESC");
    TRY(prepare_statement(db, sql, &statement, error));
    bind_subject(statement, filter);
    sqlite3_bind_int64(statement, 5, bounded_text(filter->from));
    sqlite3_bind_int(statement, 6, filter->ended);
    sqlite3_bind_int64(statement, 7, filter->before ? bounded_text(filter->before) : INT64_MAX);
    bind_patterns(statement, 9, filter->systems);
    sqlite3_bind_int64(statement, 10, bounded_text(filter->stood));
    if (filter->label)
        bind_text(statement, 11, filter->label);
    sqlite3_bind_int64(statement, 8, filter->limit ? (sqlite3_int64)filter->limit : -1);
    return run_statement(db, statement, each, context, true, count, error);
}

gordian_status incidents_query(struct incidents_db *db, const struct incidents_filter *filter,
                               gordian_status (*each)(void *context, const struct incident *),
                               void *context, gordian_error *error)
{
    uint64_t count;
    return query_incidents(db, filter, each, context, &count, error);
}

gordian_status incidents_get(struct incidents_db *db, uint64_t id, const char *systems,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error)
{
    const struct incidents_filter this_one = {
        .from = id, .before = id + 1, .systems = systems, .with_replay = true};
    uint64_t count = 0;
    TRY(query_incidents(db, &this_one, each, context, &count, error));
    return count ? GORDIAN_OK : GORDIAN_STATUS_END;
}

/* ---- JSON */

static void key_text(struct json *json, const char *key, const char *value)
{
    if (value)
        json_key_text(json, key, value);
    else
        json_key_null(json, key);
}

void incident_json(struct json *json, const struct incident *incident)
{
    json_key_u64(json, "id", incident->id);
    key_text(json, "system", incident->system);
    json_key_u64(json, "at", incident->at);
    if (incident->ended)
        json_key_u64(json, "ended", incident->ended);
    else
        json_key_null(json, "ended");
    key_text(json, "how", incident->how);
    key_text(json, "requester", incident->requester);
    json_key_json(json, "processes", incident->processes ? incident->processes : "");
    json_key_json(json, "witness", incident->witness ? incident->witness : "");
    key_text(json, "victim", incident->victim);
    if (incident->labels)
        json_key_json(json, "labels", incident->labels);
    if (incident->damaged)
        json_key_bool(json, "damaged", true);
    if (incident->replay)
        json_key_json(json, "replay", incident->replay);
}

struct page {
    struct json *json;
    void (*write)(struct json *json, const struct incident *);
    uint32_t left; /* how many may still be written */
    uint64_t last; /* id of the last one */
    bool more;
};

static gordian_status write_incident_object(void *context, const struct incident *incident)
{
    struct page *page = context;
    page->more = page->left == 0;
    if (page->more)
        return GORDIAN_STATUS_END;
    page->left--;
    page->last = incident->id;
    json_open(page->json, NULL, '{');
    page->write(page->json, incident);
    json_shut(page->json);
    return GORDIAN_OK;
}

/* Returns the id where the window of a page begins: INCIDENTS_WINDOW incidents below `before`; 0:
 * at the first one. */
static uint64_t window_start(struct incidents_db *db, uint64_t before)
{
    char sql[120];
    int64_t start = 0;
    snprintf(sql, sizeof sql,
             "SELECT id FROM incident WHERE id < %lld ORDER BY id DESC LIMIT 1 OFFSET %d",
             (long long)(before ? bounded_text(before) : INT64_MAX),
             (db->owned ? INCIDENTS_WINDOW : INCIDENTS_SHARED) - 1);
    history_ask(db->db, sql, &start);
    return (uint64_t)start;
}

/* Is there an older incident, and may it still match `since`? Ids grow with time except for jumps
 * of the clock, so a whole window without a match ends the search. */
static bool page_goes_on(struct incidents_db *db, const struct incidents_filter *filter,
                         uint64_t from)
{
    char sql[260];
    int64_t more = 0;
    long long first = bounded_text(from), since = bounded_text(filter->since);
    snprintf(sql, sizeof sql,
             "SELECT EXISTS (SELECT 1 FROM incident WHERE id < %lld) AND EXISTS (SELECT 1 FROM"
             " incident WHERE id >= %lld AND id < %lld AND at >= %lld)",
             first, first, (long long)(filter->before ? bounded_text(filter->before) : INT64_MAX),
             since);
    return from > 0 && history_ask(db->db, sql, &more) == SQLITE_OK && more;
}

void action_json(struct json *json, const struct incident *action)
{
    json_key_u64(json, "id", action->id);
    json_key_u64(json, "at", action->at);
    key_text(json, "system", action->system);
    key_text(json, "what", action->how);
    key_text(json, "process", action->victim);
    key_text(json, "who", action->requester);
    key_text(json, "why", action->processes);
}

#define ACTIONS                                                                                    \
    "SELECT id, system, at, NULL, what, who, process, why, NULL, NULL FROM action"                 \
    " WHERE (?1 IS NULL OR system = ?1) AND (?2 IS NULL OR process = ?2) AND at >= ?3"             \
    " AND (?4 = 0 OR at < ?4) AND id < ?5"                                                         \
    " AND (?7 IS NULL OR EXISTS (SELECT 1 FROM json_each(?7) WHERE system GLOB value))"            \
    " ORDER BY id "

gordian_status actions_query(struct incidents_db *db, const struct incidents_filter *filter,
                             gordian_status (*each)(void *context, const struct incident *),
                             void *context, gordian_error *error)
{
    sqlite3_stmt *statement;
    uint64_t count;
    if (!has_table(db, "action"))
        return GORDIAN_OK;
    TRY(prepare_statement(db, filter->oldest_first ? ACTIONS "LIMIT ?6" : ACTIONS "DESC LIMIT ?6",
                          &statement, error));
    bind_subject(statement, filter);
    sqlite3_bind_int64(statement, 5, filter->before ? bounded_text(filter->before) : INT64_MAX);
    sqlite3_bind_int64(statement, 6, filter->limit ? (sqlite3_int64)filter->limit : -1);
    bind_patterns(statement, 7, filter->systems);
    return run_statement(db, statement, each, context, false, &count, error);
}

/* Asks for one more than the limit, to know whether there is a next page. */
static gordian_status write_page(struct incidents_db *db, const struct incidents_filter *filter,
                                 struct page *page, const char *key, gordian_error *error)
{
    struct incidents_filter wider = *filter;
    bool incidents = page->write == incident_json;
    wider.limit++;
    if (incidents && !filter->open)
        wider.from = window_start(db, filter->before);
    json_open(page->json, key, '[');
    gordian_status status = (incidents ? incidents_query : actions_query)(
        db, &wider, write_incident_object, page, error);
    json_shut(page->json);
    if (page->more && page->last)
        json_key_u64(page->json, "next", page->last);
    else if (incidents && page_goes_on(db, filter, wider.from))
        json_key_u64(page->json, "next", wider.from);
    else
        json_key_null(page->json, "next");
    return status;
}

gordian_status incidents_page(struct incidents_db *db, const struct incidents_filter *filter,
                              struct json *json, gordian_error *error)
{
    struct page page = {.json = json, .left = filter->limit, .write = incident_json};
    return write_page(db, filter, &page, "incidents", error);
}

gordian_status actions_page(struct incidents_db *db, const struct incidents_filter *filter,
                            struct json *json, gordian_error *error)
{
    struct page page = {.json = json, .left = filter->limit, .write = action_json};
    return write_page(db, filter, &page, "actions", error);
}

gordian_status notices_query(struct incidents_db *db,
                             gordian_status (*each)(void *context, uint64_t id, bool ended),
                             void *context, gordian_error *error)
{
    sqlite3_stmt *statement;
    int code = SQLITE_DONE;
    gordian_status status = GORDIAN_OK;
    TRY(prepare_statement(db, "SELECT id, ended FROM notice ORDER BY rowid", &statement, error));
    while (status == GORDIAN_OK && (code = sqlite3_step(statement)) == SQLITE_ROW)
        status = each(context, column_number(statement, 0), column_number(statement, 1) > 0);
    if (status == GORDIAN_OK && code != SQLITE_DONE)
        status = fail(error, GORDIAN_STATUS_IO, "reading notices: %s", sqlite3_errmsg(db->db));
    sqlite3_finalize(statement);
    return status;
}

/* Checks all rows that have a checksum. */
static gordian_status check_incident_sums(struct incidents_db *db, gordian_error *error)
{
    int64_t wrong = 0;
    if (!has_table(db, "incident_sum"))
        return GORDIAN_OK;
    if (history_add_functions(db->db) ||
        history_ask(db->db,
                    "SELECT count(*) FROM incident JOIN incident_sum USING(id)"
                    " WHERE sum <> row_sum(" HISTORY_SUMMED ")",
                    &wrong))
        return fail(error, GORDIAN_STATUS_INPUT,
                    HISTORY_FILE ": the checksums cannot be read: %.200s", sqlite3_errmsg(db->db));
    return wrong == 0 ? GORDIAN_OK
                      : fail(error, GORDIAN_STATUS_INPUT,
                             HISTORY_FILE " is damaged: the checksums of %lld incidents are wrong",
                             (long long)wrong);
}

static gordian_status check_parts(struct incidents_db *db, gordian_error *error)
{
    gordian_error trouble = {0};
    bool damaged;
    int code = history_check_parts(db->db, &damaged, &trouble);
    return code || damaged ? fail(error, GORDIAN_STATUS_INPUT, HISTORY_FILE " is damaged: %.200s",
                                  code ? sqlite3_errmsg(db->db) : trouble.message)
                           : GORDIAN_OK;
}

gordian_status incidents_verify(struct incidents_db *db, uint64_t *count, uint64_t *applied,
                                gordian_error *error)
{
    sqlite3_stmt *statement;
    int64_t number = 0;
    gordian_status status = GORDIAN_OK;
    TRY(prepare_statement(db, "PRAGMA integrity_check(1)", &statement, error));
    const char *said = sqlite3_step(statement) == SQLITE_ROW ? column_text(statement, 0) : NULL;
    if (!said || strcmp(said, "ok") != 0)
        status = fail(error, GORDIAN_STATUS_INPUT, HISTORY_FILE " is damaged: %.200s",
                      said ? said : sqlite3_errmsg(db->db));
    sqlite3_finalize(statement);
    THEN(status, check_parts(db, error));
    THEN(status, check_incident_sums(db, error));
    int code = history_ask(db->db, "SELECT count(*) FROM incident", &number);
    *count = (uint64_t)number;
    THEN(code, history_ask(db->db, "SELECT frame FROM applied", &number));
    *applied = (uint64_t)number;
    if (status == GORDIAN_OK && code)
        return fail(error, GORDIAN_STATUS_INPUT, HISTORY_FILE " is damaged: %.200s",
                    sqlite3_errmsg(db->db));
    return status;
}

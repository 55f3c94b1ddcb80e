/* Reading snapshot and journal back: once to see whether they are whole, once for the service. */
#include "base/crc.h"
#include "base/error.h"
#include "serve/store/parts.h"

#include <stdarg.h>
#include <stdio.h>

static gordian_status fail_reading(struct journal *journal, int code, gordian_error *error)
{
    char why[256];
    return fail(error, GORDIAN_STATUS_IO, "reading the database: %s",
                journal_explain(journal, code, why, sizeof why));
}

/* Remembers the first thing that is damaged. */
static void damaged(struct recovery *recovery, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void damaged(struct recovery *recovery, const char *format, ...)
{
    va_list arguments;
    if (recovery->damaged)
        return;
    recovery->damaged = true;
    va_start(arguments, format);
    vsnprintf(recovery->what, sizeof recovery->what, format, arguments);
    va_end(arguments);
}

/* ---- snapshots */

struct snapshot_row {
    uint64_t number, bytes;
    uint32_t parts, crc;
};

/* Every part of a snapshot in turn, to `each` (NULL: only checked). *good: it is all there. */
static int read_parts(struct journal *journal, const struct snapshot_row *row, struct bytes *into,
                      bool *good)
{
    sqlite3_stmt *statement = NULL;
    uint32_t crc = 0, parts = 0;
    uint64_t bytes = 0;
    int code = sqlite3_prepare_v2(journal->db,
                                  "SELECT part, body FROM snapshot_part WHERE number = ?1"
                                  " ORDER BY part",
                                  -1, &statement, NULL);
    if (!code)
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)row->number);
    *good = false;
    while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        const void *body = sqlite3_column_blob(statement, 1);
        size_t length = (size_t)sqlite3_column_bytes(statement, 1);
        code = (uint32_t)sqlite3_column_int64(statement, 0) == parts ? SQLITE_OK : SQLITE_CORRUPT;
        crc = crc32c(crc, body, length);
        bytes += length;
        parts++;
        if (into)
            bytes_put(into, body, length);
    }
    sqlite3_finalize(statement);
    *good = code == SQLITE_DONE && parts == row->parts && bytes == row->bytes && crc == row->crc;
    return code == SQLITE_DONE || journal_is_damage(code) ? SQLITE_OK : code;
}

/* The snapshots there are, newest first: at most 2 are kept. */
static int list_snapshots(struct journal *journal, struct snapshot_row rows[4], size_t *count)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(journal->db,
                                  "SELECT number, bytes, parts, crc FROM snapshot"
                                  " ORDER BY number DESC LIMIT 4",
                                  -1, &statement, NULL);
    *count = 0;
    while (!code && *count < 4 && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        rows[(*count)++] = (struct snapshot_row){
            .number = (uint64_t)sqlite3_column_int64(statement, 0),
            .bytes = (uint64_t)sqlite3_column_int64(statement, 1),
            .parts = (uint32_t)sqlite3_column_int64(statement, 2),
            .crc = (uint32_t)sqlite3_column_int64(statement, 3),
        };
        code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Chooses the newest good snapshot. */
static int choose_snapshot(struct journal *journal, struct recovery *recovery)
{
    struct snapshot_row rows[4];
    size_t count = 0;
    int code = list_snapshots(journal, rows, &count);
    if (journal_is_damage(code)) {
        damaged(recovery, "the table of snapshots cannot be read");
        code = SQLITE_OK;
    }
    for (size_t i = 0; i < count && !code; i++) {
        bool good;
        code = read_parts(journal, &rows[i], NULL, &good);
        if (!code && good) {
            recovery->snapshot = rows[i].number;
            recovery->snapshot_bytes = rows[i].bytes;
            recovery->older = i + 1 < count ? rows[i + 1].number : 0;
            break;
        }
        recovery->bad_snapshot = true;
    }
    return code;
}

/* ---- the journal */

/* A row as it is read back. */
struct row {
    uint64_t first, count, at;
    const uint8_t *body;
    size_t length;
};

/* The rows that hold records after `after`, in order, to `each`; it returns a code of SQLite. */
static int read_rows(struct journal *journal, uint64_t after,
                     int (*each)(void *context, const struct row *row, uint32_t crc), void *context)
{
    sqlite3_stmt *statement = NULL;
    int code = sqlite3_prepare_v2(
        journal->db,
        "SELECT first, count, at, crc, body FROM journal WHERE first >= coalesce("
        "(SELECT max(first) FROM journal WHERE first <= ?1), ?1) ORDER BY first",
        -1, &statement, NULL);
    if (!code)
        sqlite3_bind_int64(statement, 1, (sqlite3_int64)after + 1);
    while (!code && (code = sqlite3_step(statement)) == SQLITE_ROW) {
        struct row row = {
            .first = (uint64_t)sqlite3_column_int64(statement, 0),
            .count = (uint64_t)sqlite3_column_int64(statement, 1),
            .at = (uint64_t)sqlite3_column_int64(statement, 2),
            .body = sqlite3_column_blob(statement, 4),
            .length = (size_t)sqlite3_column_bytes(statement, 4),
        };
        code = each(context, &row, (uint32_t)sqlite3_column_int64(statement, 3));
    }
    sqlite3_finalize(statement);
    return code == SQLITE_DONE ? SQLITE_OK : code;
}

/* Do the records of a row come out even? */
static bool records_fit(const struct row *row)
{
    struct bytes_in in = {.at = row->body, .end = row->body + row->length};
    size_t length;
    for (uint64_t i = 0; i < row->count && !in.bad; i++) {
        bytes_take_i64(&in);
        bytes_take_text(&in, &length);
    }
    return !in.bad && bytes_left(&in) == 0;
}

static int check_row(void *context, const struct row *row, uint32_t crc)
{
    struct recovery *recovery = context;
    uint64_t last = row->first + row->count - 1;
    if (row->first > recovery->last + 1)
        damaged(recovery, "records %llu to %llu are missing",
                (unsigned long long)recovery->last + 1, (unsigned long long)row->first - 1);
    else if (batch_crc(row->first, row->count, row->at, row->body, row->length) != crc ||
             row->count == 0 || !records_fit(row))
        damaged(recovery, "the batch of records %llu to %llu fails its checksum",
                (unsigned long long)row->first, (unsigned long long)last);
    if (recovery->damaged)
        return SQLITE_DONE;
    if (last > recovery->snapshot) { /* otherwise the snapshot has it */
        recovery->last = last;
        recovery->bytes += row->length;
    }
    return SQLITE_OK;
}

gordian_status recovery_check(struct journal *journal, struct recovery *recovery,
                              gordian_error *error)
{
    *recovery = (struct recovery){0};
    int code = choose_snapshot(journal, recovery);
    recovery->last = recovery->snapshot;
    if (!code) {
        code = read_rows(journal, recovery->snapshot, check_row, recovery);
        if (journal_is_damage(code)) {
            damaged(recovery, "the journal cannot be read beyond record %llu",
                    (unsigned long long)recovery->last);
            code = SQLITE_OK;
        }
    }
    if (!recovery->damaged && recovery->bad_snapshot && recovery->snapshot == 0 &&
        recovery->last == 0)
        damaged(recovery, "no snapshot is whole");
    return code ? fail_reading(journal, code, error) : GORDIAN_OK;
}

/* ---- for the service */

static gordian_status load_sections(const struct bytes *body, const struct store_loader *loader,
                                    void *context, gordian_error *error)
{
    struct bytes_in in = {.at = body->data, .end = body->data + body->used};
    gordian_status status = GORDIAN_OK;
    char name[GORDIAN_NAME_MAX + 1];
    while (status == GORDIAN_OK && !in.bad && bytes_left(&in) > 0) {
        size_t name_length, length;
        const char *text = bytes_take_text(&in, &name_length);
        const char *bytes = bytes_take_text(&in, &length);
        if (in.bad || name_length > GORDIAN_NAME_MAX)
            break;
        memcpy(name, text, name_length);
        name[name_length] = '\0';
        status = loader->section(context, name, bytes, length, error);
    }
    if (status == GORDIAN_OK && bytes_left(&in) > 0)
        status = fail(error, GORDIAN_STATUS_INPUT, "the snapshot's sections do not come out even");
    return status;
}

static gordian_status load_snapshot(struct journal *journal, uint64_t number,
                                    const struct store_loader *loader, void *context,
                                    const gordian_allocator *memory, gordian_error *error)
{
    struct snapshot_row rows[4];
    struct bytes body;
    size_t count = 0, i = 0;
    bool good = false;
    int code = list_snapshots(journal, rows, &count);
    while (i < count && rows[i].number != number)
        i++;
    bytes_init(&body, memory);
    if (!code && i < count)
        code = read_parts(journal, &rows[i], &body, &good);
    gordian_status status = GORDIAN_OK;
    if (body.failed)
        status = fail_memory(error);
    else if (code || !good)
        status = fail_reading(journal, code ? code : SQLITE_CORRUPT, error);
    else
        status = load_sections(&body, loader, context, error);
    bytes_free(&body);
    return status;
}

struct loading {
    const struct store_loader *loader;
    void *context;
    uint64_t after, through; /* records beyond are not wanted */
    gordian_status status;
    gordian_error *error;
};

static int load_row(void *context, const struct row *row, uint32_t crc)
{
    struct loading *loading = context;
    struct bytes_in in = {.at = row->body, .end = row->body + row->length};
    (void)crc;
    for (uint64_t i = 0; i < row->count && loading->status == GORDIAN_OK; i++) {
        uint64_t number = row->first + i, at = row->at + (uint64_t)bytes_take_i64(&in);
        size_t length;
        const char *bytes = bytes_take_text(&in, &length);
        if (in.bad)
            loading->status = fail(loading->error, GORDIAN_STATUS_INPUT, "a record is cut short");
        else if (number > loading->after && number <= loading->through)
            loading->status = loading->loader->record(loading->context, number, at, bytes, length,
                                                      loading->error);
    }
    return loading->status || row->first + row->count > loading->through ? SQLITE_DONE : SQLITE_OK;
}

gordian_status recovery_load(struct journal *journal, const struct recovery *recovery,
                             const struct store_loader *loader, void *context,
                             const gordian_allocator *memory, gordian_error *error)
{
    struct loading loading = {.loader = loader,
                              .context = context,
                              .after = recovery->snapshot,
                              .through = recovery->last,
                              .error = error};
    if (recovery->snapshot) {
        loading.status = load_snapshot(journal, recovery->snapshot, loader, context, memory, error);
        if (loading.status != GORDIAN_OK)
            return loading.status;
    }
    if (recovery->last == recovery->snapshot)
        return GORDIAN_OK;
    int code = read_rows(journal, recovery->snapshot, load_row, &loading);
    if (loading.status != GORDIAN_OK)
        return loading.status;
    return code ? fail_reading(journal, code, error) : GORDIAN_OK;
}

/* ---- for a repair */

struct copying {
    struct journal *to;
    uint64_t after, through;
};

static int copy_row(void *context, const struct row *row, uint32_t crc)
{
    struct copying *copying = context;
    uint64_t last = row->first + row->count - 1;
    struct batch batch = {
        .first = row->first,
        .count = (uint32_t)row->count,
        .crc = crc,
        .at = row->at,
        .body = {.data = (uint8_t *)row->body, .used = row->length},
    };
    if (last <= copying->after)
        return SQLITE_OK;
    return last > copying->through ? SQLITE_DONE : journal_write(copying->to, &batch, 1);
}

static int copy_snapshot(struct journal *from, struct journal *to, const struct snapshot_row *row,
                         const gordian_allocator *memory)
{
    struct bytes body;
    bool good;
    bytes_init(&body, memory);
    int code = read_parts(from, row, &body, &good);
    if (!code && (!good || body.failed))
        code = good ? SQLITE_NOMEM : SQLITE_CORRUPT;
    uint32_t part = 0;
    for (size_t start = 0; start < body.used && !code; start += JOURNAL_PART_SIZE) {
        size_t left = body.used - start;
        code = journal_put_part(to, row->number, part++, body.data + start,
                                left < JOURNAL_PART_SIZE ? left : JOURNAL_PART_SIZE);
    }
    if (!code)
        code = journal_put_snapshot(to, row->number, 0, part, body.used, row->crc, 0);
    bytes_free(&body);
    return code;
}

int recovery_copy(struct journal *from, struct journal *to, const struct recovery *recovery,
                  const gordian_allocator *memory)
{
    struct copying copying = {to, recovery->snapshot, recovery->last};
    struct snapshot_row rows[4];
    size_t count = 0;
    int code = SQLITE_OK;
    if (recovery->snapshot)
        code = list_snapshots(from, rows, &count);
    for (size_t i = 0; i < count && !code; i++)
        if (rows[i].number == recovery->snapshot)
            code = copy_snapshot(from, to, &rows[i], memory);
    if (code || recovery->last == recovery->snapshot)
        return code;
    code = journal_begin(to);
    if (!code)
        code = read_rows(from, recovery->snapshot, copy_row, &copying);
    if (journal_is_damage(code))
        code = SQLITE_OK; /* what is behind it is what is left out */
    return journal_end(to, code);
}

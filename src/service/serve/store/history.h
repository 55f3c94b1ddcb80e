/*
 * The history of incidents as the service writes it: one SQLite database in WAL mode.
 * docs/internals/durability.md describes the tables; incidents_db.h reads them.
 *
 * The journal contains everything in here since the last checkpoint. When the store is opened,
 * entries that SQLite's log has lost are written again (`applied` is the last frame that was
 * applied), so commits need not be synced.
 *
 * Functions that write return an SQLite code (SQLITE_OK: everything was written; otherwise nothing
 * was). history_explain translates it. One thread at a time uses a history.
 */
#pragma once

#include "service/serve/store/incident.h"
#include "service/serve/store/journal.h"

#include <sqlite3.h>

#define HISTORY_INCIDENTS        1000000 /* maximum kept, open ones not counted */
#define HISTORY_REPLAYS          5000    /* replays kept: of the newest incidents */
#define HISTORY_MEMORY_INCIDENTS 10000   /* limits of a database in memory */
#define HISTORY_MEMORY_REPLAYS   1000

#define HISTORY_APPLICATION 0x47524431 /* application_id: "GRD1" */

enum history_statement {
    HISTORY_BEGIN,
    HISTORY_COMMIT,
    HISTORY_ROLLBACK,
    HISTORY_PUT,
    HISTORY_ACTION,
    HISTORY_LABELS,
    HISTORY_NOTICE,
    HISTORY_NOTICE_SENT,
    HISTORY_APPLIED,
    HISTORY_KNOWN,
    HISTORY_TRIM_OLD,
    HISTORY_TRIM_MANY,
    HISTORY_TRIM_REPLAYS,
    HISTORY_TRIM_ACTIONS,
    HISTORY_STATEMENTS,
};

struct history {
    sqlite3 *db;
    sqlite3_stmt *statements[HISTORY_STATEMENTS];
    uint64_t applied; /* last journal frame applied when it was opened */
    int wal_pages;    /* pages of SQLite's log after the last commit */
    bool in_memory;
};

/* Opens the database, or makes it if `make` is set; a `path` of NULL means in memory.
 * GORDIAN_STATUS_INPUT: not a database of gordian serve, another version, or *damaged. Checks every
 * page. The caller adds the file name to messages. */
gordian_status history_open(struct history *history, const char *path, bool make, bool *damaged,
                            gordian_error *error);
void history_close(struct history *history);
/* Closes everything but the database itself, which now belongs to the caller. */
sqlite3 *history_leave(struct history *history);

/* Runs a query that returns one number. */
int history_ask(sqlite3 *db, const char *sql, int64_t *number);

/* Are all tables of this version there? If not, sets *damaged and describes what is missing.
 * Returns an SQLite code. */
int history_check_parts(sqlite3 *db, bool *damaged, gordian_error *error);

/* Checksums of rows are stored in a separate table. They cover these columns; not the replay, which
 * is deleted earlier. Adds one value to a checksum; SQL calls it as row_sum(...). */
#define HISTORY_SUMMED "system, at, ended, how, requester, victim, processes, witness"
uint32_t history_sum(uint32_t sum, const unsigned char *text, int length);
int history_add_functions(sqlite3 *db);
/* Translates an SQLite code; GORDIAN_OK for SQLITE_OK. */
gordian_status history_explain(const struct history *history, int code, gordian_error *error);
/* Does the code mean damaged content, not a disk failure? (SQLITE_ERROR means a damaged schema,
 * because all statements are in this program.) */
bool history_is_damage(int code);

/* Appends an incident to batch->incidents. False: out of memory, nothing changed. */
bool history_put(struct batch *batch, const struct incident *incident);
/* Writes the incidents of `count` batches, starting with `batch`, in one transaction. */
int history_write(struct history *history, const struct batch *batch, size_t count);
/* Notes that the incidents of all frames up to this one are written. */
int history_note(struct history *history, uint64_t frame);
/* Does an incident with this id exist? */
bool history_knows(struct history *history, uint64_t id);

/* Goes back to this last frame of the journal. After a power failure (`lost`) later incidents are
 * deleted; after a repair they are kept. */
int history_go_back(struct history *history, uint64_t frame, bool lost);
/* Copies all readable rows. */
int history_copy(struct history *to, sqlite3 *from);
/* Deletes incidents that ended before that time (0: no limit), and the oldest beyond the maximum,
 * so that a storm of deadlocks cannot fill the disk. *dropped: number of incidents; *more: call
 * again. */
int history_trim(struct history *history, uint64_t ended_before, uint64_t *dropped, bool *more);

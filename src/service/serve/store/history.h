/*
 * The history of incidents as the service writes it: one SQLite database in WAL mode.
 * docs/internals/durability.md describes the tables; incidents_db.h reads them.
 *
 * The journal has everything that is in here, from the last checkpoint on: what is lost of SQLite's
 * log is written again when the store is opened (`applied` says from which frame on), so commits
 * need not be synced.
 *
 * Functions that write return a code of SQLite (SQLITE_OK: it is done, all of it; anything else:
 * nothing is), which history_explain turns into words. One thread at a time uses a history.
 */
#pragma once

#include "service/serve/store/incident.h"
#include "service/serve/store/journal.h"

#include <sqlite3.h>

#define HISTORY_INCIDENTS        1000000 /* kept at most, but for those that stand */
#define HISTORY_REPLAYS          5000    /* kept at most: those of the newest incidents */
#define HISTORY_MEMORY_INCIDENTS 10000   /* the same for a database in memory */
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
    HISTORY_TOLD,
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
    uint64_t applied; /* frame of the journal, as it was when it was opened */
    int wal_pages;    /* in SQLite's log after the last commit */
    bool in_memory;
};

/* Opens the database, or makes it if there is none and `make` is set; NULL: one in memory.
 * GORDIAN_STATUS_INPUT: not one of ours, of another version, or *damaged, which is set in any case:
 * every page is checked. Messages leave it to the caller to name the file. */
gordian_status history_open(struct history *history, const char *path, bool make, bool *damaged,
                            gordian_error *error);
void history_close(struct history *history);
/* The same, but for the database itself, which is the caller's from here on. */
sqlite3 *history_leave(struct history *history);

/* The number that a question gives. */
int history_ask(sqlite3 *db, const char *sql, int64_t *number);

/* Is everything there that a database of this version has? Otherwise *damaged, and `error` says
 * what is missing. A code of SQLite. */
int history_check_parts(sqlite3 *db, bool *damaged, gordian_error *error);

/* Checksums of rows: of what they are about (without the replay, which goes earlier), in a table
 * of their own. The same of a value more; SQL has it as row_sum(...). */
#define HISTORY_SUMMED "system, at, ended, how, requester, victim, processes, witness"
uint32_t history_sum(uint32_t sum, const unsigned char *text, int length);
int history_add_functions(sqlite3 *db);
/* What a code of SQLite means, into `error`; SQLITE_OK: nothing. */
gordian_status history_explain(const struct history *history, int code, gordian_error *error);
/* Is it about what the file contains, not about the disk? (Statements that SQLite does not
 * understand mean a damaged schema: they are all written here.) */
bool history_is_damage(int code);

/* Appends an incident to batch->incidents; false: no memory, nothing changed. */
bool history_put(struct batch *batch, const struct incident *incident);
/* Writes the incidents of `count` batches, from `batch` on, in one transaction. */
int history_write(struct history *history, const struct batch *batch, size_t count);
/* It has the incidents of all frames up to this one. */
int history_note(struct history *history, uint64_t frame);
/* Is there an incident of this id? */
bool history_knows(struct history *history, uint64_t id);

/* The journal ends with this frame, before what was applied. After a power cut (`lost`) what came
 * later has never been; after a repair it is kept. */
int history_go_back(struct history *history, uint64_t frame, bool lost);
/* Takes everything over that can be read, row by row. */
int history_copy(struct history *to, sqlite3 *from);
/* Incidents that ended before that time (0: that is no reason), and what is beyond the newest ones:
 * a storm of deadlocks must not fill the disk. *dropped: incidents; *more: there may be some left.
 */
int history_trim(struct history *history, uint64_t ended_before, uint64_t *dropped, bool *more);

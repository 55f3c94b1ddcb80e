/*
 * The file behind the store: one SQLite database in WAL mode, its schema, and every statement that
 * writes to it. docs/durability.md describes the tables.
 *
 * Functions that write return a code of SQLite (SQLITE_OK: it is done, all of it; anything else:
 * nothing is), which journal_explain turns into words. One thread at a time uses a journal.
 */
#ifndef GORDIAN_SERVE_STORE_JOURNAL_H
#define GORDIAN_SERVE_STORE_JOURNAL_H

#include "base/bytes.h"
#include "serve/store/incidents_db.h"
#include "serve/store/store.h"

#include <sqlite3.h>

#define JOURNAL_INCIDENTS        1000000 /* kept at most, but for those that stand */
#define JOURNAL_REPLAYS          5000    /* kept at most: those of the newest incidents */
#define JOURNAL_MEMORY_INCIDENTS 10000   /* the same for a database in memory */
#define JOURNAL_MEMORY_REPLAYS   1000

#define JOURNAL_APPLICATION 0x47524431 /* application_id: "GRD1" */

/* Records that are committed together: one row. */
struct batch {
    struct batch *next;
    uint64_t first; /* number of the first record */
    uint32_t count;
    uint32_t crc;           /* of the numbers above, the time, and the body */
    uint64_t at;            /* of the first record, ms since 1970 */
    struct bytes body;      /* of each record: time less `at`, length, bytes */
    struct bytes incidents; /* journal_put_incident */
    uint32_t incident_count;
};

uint32_t batch_crc(uint64_t first, uint64_t count, uint64_t at, const void *body, size_t length);

enum journal_statement {
    JOURNAL_BEGIN,
    JOURNAL_COMMIT,
    JOURNAL_ROLLBACK,
    JOURNAL_ROW,
    JOURNAL_INCIDENT,
    JOURNAL_KNOWN,
    JOURNAL_PART,
    JOURNAL_SNAPSHOT,
    JOURNAL_FORGET_PARTS,
    JOURNAL_FORGET_SNAPSHOTS,
    JOURNAL_TRIM_PARTS,
    JOURNAL_TRIM_ROWS,
    JOURNAL_TRIM_INCIDENTS,
    JOURNAL_TRIM_HISTORY,
    JOURNAL_TRIM_REPLAYS,
    JOURNAL_STATEMENTS,
};

struct journal {
    sqlite3 *db;
    sqlite3_stmt *statements[JOURNAL_STATEMENTS];
    int wal_pages;    /* in the write-ahead log after the last commit */
    int system_error; /* errno of the last statement that failed */
    bool leftovers;   /* one has: its frames may be in the log, and are cut off before the next */
    bool in_memory;
};

/* Cuts off what is behind the last commit of the log of an open database, between transactions.
 * False: it could not be done (errno). In store/wal.c. */
bool wal_cut_unused(sqlite3 *db);

/* Opens or makes the database; NULL: one in memory. GORDIAN_STATUS_INPUT: not one of ours, of
 * another version, or *damaged, which is set in any case. Messages leave it to the caller to name
 * the file.
 */
gordian_status journal_open(struct journal *journal, const char *path, const char *vfs,
                            enum store_durability durability, bool *damaged, gordian_error *error);
/* Opens one that is there, only to read it with statements of one's own: whatever it is. */
int journal_open_raw(struct journal *journal, const char *path);
void journal_close(struct journal *journal);

/* What a code of SQLite means, into `buffer`; returns it. */
const char *journal_explain(const struct journal *journal, int code, char *buffer, size_t size);
/* Is it about what the file contains, not about the disk? (Statements that SQLite does not
 * understand mean a damaged schema: they are all written here.) */
bool journal_is_damage(int code);

/* Appends an incident to batch->incidents; false: no memory, nothing changed. */
bool journal_put_incident(struct batch *batch, const struct incident *incident);

/* Begins a transaction, ends it: with nothing done unless `code` is SQLITE_OK. */
int journal_begin(struct journal *journal);
int journal_end(struct journal *journal, int code);
/* Writes batches, from `batch` on, in one transaction: `count` of them. */
int journal_write(struct journal *journal, const struct batch *batch, size_t count);
/* Is there an incident of this id? */
bool journal_knows(struct journal *journal, uint64_t id);

/* Snapshots: parts of a body, then the row that makes it count, after which only it and the one
 * `before` stay, which is known to be good (0: none). */
#define JOURNAL_PART_SIZE (1u << 20)
int journal_put_part(struct journal *journal, uint64_t number, uint32_t part, const void *bytes,
                     size_t count);
int journal_put_snapshot(struct journal *journal, uint64_t number, uint64_t at, uint32_t parts,
                         uint64_t bytes, uint32_t crc, uint64_t before);

/* Deletes some of what is not needed any more; *more: there may be some left. */
int journal_trim(struct journal *journal, uint64_t through, bool *more);
/* Incidents that ended before that time (0: that is no reason), and what is beyond the newest ones:
 * a storm of deadlocks must not fill the disk. *dropped: incidents; *more as above. */
int journal_trim_incidents(struct journal *journal, uint64_t ended_before, uint64_t *dropped,
                           bool *more);

#endif

/*
 * The store: durable storage of the service with a write-ahead journal of records, snapshots and
 * incidents.
 *
 * The service appends a record for everything it does, and delays its answers until the store
 * confirms that the record is committed. The service defines what a record means; for the store it
 * is bytes with a number (from 1, without gaps) and a time.
 *
 *     each loop iteration:  store_append, store_incident, ...      add to the open batch
 *                           store_seal                             at its end, always
 *     any time:             store_committed                        answers up to here may be sent
 *     store_fd readable:    store_poll                             progress or health has changed
 *
 * A batch is written to the journal with one write, together with the incidents that began or ended
 * in it; these are also written to SQLite. store_seal does that directly if it need not wait for
 * the disk. Otherwise the store's thread does it, with all other waiting batches (group commit).
 *
 *     durability   acknowledged after          kill -9            power failure
 *     none         append                      may lose 0.1 s     may lose a second or so
 *     batch        write to the journal        loses nothing      may lose the last second
 *     full         sync to disk                loses nothing      loses nothing
 *
 * When the disk is full, read-only or broken, nothing more is committed and store_healthy gives the
 * reason. The store retries until it succeeds; appended records are not lost. The service should
 * accept no more events meanwhile.
 *
 * A snapshot is a set of named sections (serialized systems, sessions, ...) at a record number. The
 * two newest are kept, and the journal from the older one on. Recovery loads the newest good
 * snapshot and then every later record.
 *
 * Threads: only the thread of the event loop calls these functions, unless noted.
 * docs/internals/durability.md describes the files and the guarantee of each level.
 */
#pragma once

#include "service/serve/store/incidents_db.h"
#include "service/serve/store/queries.h"

#include <gordian/gordian.h>

#define STORE_RECORD_MAX (16u << 20) /* maximum bytes of one record */

enum store_durability {
    STORE_NONE,
    STORE_BATCH,
    STORE_FULL,
};

/* "none", "batch", "full". */
const char *store_durability_text(enum store_durability durability);

/* With PostgreSQL one of several servers is the leader; otherwise this one always is. */
enum store_role {
    STORE_LEADER,
    STORE_STANDBY,
    STORE_LOST, /* was the leader; its latest records may never have been committed */
};

#define STORE_ADDRESS 256 /* size of a buffer for a server's address */

struct store_options {
    const char *folder; /* made if missing; NULL: store in memory only, every record counts as
                           committed at once */
    /* Instead of a folder: PostgreSQL; any connection string of libpq. */
    const char *postgres;
    const char *schema;  /* PostgreSQL schema; NULL: "gordian" */
    const char *address; /* of this server, for clients of other servers; NULL: none */
    uint64_t lease_ms;   /* lease: replace a leader after this long without a heartbeat; 0: 5000 */
    uint64_t lead_ms;    /* wait this long to become leader when opening; 0: not at all */
    uint64_t rest_ms;    /* let other servers become leader first, for this long; 0: not at all */
    uint32_t commits;    /* maximum commits in flight; 0: 4 */
    enum store_durability durability;
    bool repair;          /* move damaged files aside and continue from the last good record */
    uint64_t repair_from; /* with `repair`: cut off this record and all later ones; 0: none */
    bool accept_loss;     /* continue although acknowledged records are missing */
    bool fresh;           /* there must be no database; other files are allowed */
    uint64_t keep_incidents_ms; /* after their end; 0: forever */
    uint64_t keep_history_ms;   /* for point-in-time queries; 0: only what recovery needs */
    uint64_t history_bytes;     /* ... but at most this many bytes, in a folder; 0: no limit */
    uint64_t snapshot_bytes;    /* of journal per snapshot; 0: 32 MiB, or GORDIAN_SNAPSHOT_BYTES */
    uint64_t retry_ms;          /* after a failure; 0: 250 */
    uint64_t note_ms; /* interval at which the history notes the progress of the journal; 0: 1000 */
    const gordian_allocator *allocator; /* NULL: malloc */
};

void store_options_init(struct store_options *options); /* batch, 30 days, otherwise 0 */

/* Result of opening. */
struct store_found {
    uint64_t snapshot; /* record number of the newest good snapshot; 0: none */
    uint64_t last;     /* number of the last good record; 0: none */
    bool made;         /* a new database was made */
    bool cut;          /* something unfinished or damaged was cut off: see note */
    char note[400];    /* for the log; may be "" */
};

struct store;

/* Opens the folder exclusively: GORDIAN_STATUS_UNAVAILABLE if another service uses it. Makes a new
 * database only in an empty folder, or with `fresh`. GORDIAN_STATUS_INPUT: damaged or another
 * version; the message says what to do. GORDIAN_STATUS_IO: reading or writing failed. On failure
 * *out is NULL. `found` may be NULL. */
gordian_status store_open(struct store **out, const struct store_options *options,
                          struct store_found *found, gordian_error *error);
/* Seals the batch, writes what it can, and releases the folder. NULL is allowed. */
void store_close(struct store *store);

/* ---- recovery: once, before the first append */

struct store_loader {
    /* Receives a section of the snapshot, in their original order. */
    gordian_status (*section)(void *context, const char *name, const void *bytes, size_t length,
                              gordian_error *error);
    /* Receives a record that is newer than the snapshot. */
    gordian_status (*record)(void *context, uint64_t number, uint64_t at, const void *bytes,
                             size_t length, gordian_error *error);
    /* For store_follow, after each record: stop for now? NULL: never. */
    bool (*enough)(void *context);
};

/* Incidents stored while `record` runs (store_incident) replace those with the same id, so a replay
 * reproduces the same incidents. */
gordian_status store_load(struct store *store, const struct store_loader *loader, void *context,
                          gordian_error *error);

/* ---- several servers (docs/guide/cluster.md)
 *
 * Servers that share a PostgreSQL store elect a leader; only it appends. The other ones are
 * standbys: store_follow passes them what was committed. Leader election uses a lock of the
 * database. In addition, every commit checks an epoch that each new leader increments: it is a
 * fencing token, so a deposed leader cannot write. A server that has lost the leadership closes the
 * store and opens it again; records appended since its last commit were never acknowledged and are
 * discarded. */

enum store_role store_role(const struct store *store);
/* Is it certain that no other server is the leader? True until a lease after the last commit or
 * heartbeat that the database confirmed, counted from when it was sent, by a clock that also runs
 * while the process is stopped or the machine sleeps. After this lease expiry, a leader may have
 * been replaced without knowing it. Always true if the store is not shared; false for a standby.
 * Any thread. */
bool store_is_sure_leader(const struct store *store);
/* Returns the address of the leader; "": none or unknown. Valid until the next store_poll. */
const char *store_leader(const struct store *store);
/* Reason of STORE_LOST after store_hand_over; store_lost returns the reason. */
#define STORE_HANDED_OVER "the leader stepped down"
const char *store_lost(const struct store *store);
/* Do several servers share this store? */
bool store_is_shared(const struct store *store);
/* After store_poll: passes records committed by other servers to loader->record. *more:
 * loader->enough has stopped it; store_fd wakes the loop again. If it returns without *more to a
 * leader, every committed record has been passed. */
gordian_status store_follow(struct store *store, const struct store_loader *loader, void *context,
                            bool *more, gordian_error *error);
/* Commits what was appended, then gives up the leadership: STORE_LOST. */
void store_hand_over(struct store *store);

/* Asks the leader, from another process, to step down, and waits until another server leads.
 * Returns both addresses. */
gordian_status store_ask_hand_over(const struct store_options *options, char from[STORE_ADDRESS],
                                   char to[STORE_ADDRESS], gordian_error *error);

/* Reads all incidents and actions into memory; `replays`: including replays. Changes nothing. The
 * caller closes *out. */
gordian_status store_read_incidents(const struct store_options *options, bool replays,
                                    struct incidents_db **out, gordian_error *error);

/* Calls `each` for every server of the store with its address, whether it leads, and since when it
 * is connected (ms since 1970). *epoch: the epoch of the newest leader. Any thread may call it; it
 * uses a separate connection. GORDIAN_STATUS_END: the store is not shared. */
gordian_status store_servers(const struct store_options *options, uint64_t *epoch,
                             void (*each)(void *context, const char *address, bool leads,
                                          uint64_t since),
                             void *context, gordian_error *error);

/* ---- verification of a folder that is not in use */

struct store_verdict {
    uint64_t snapshot;  /* record number of the newest snapshot; 0: none */
    uint64_t last;      /* number of the last record */
    uint64_t incidents; /* number of incidents */
    bool empty;         /* there is no database */
    bool torn;          /* the last batch is unfinished, as after kill -9 */
    bool ahead; /* after a power failure: the history knows batches that the journal lacks; a start
                   deletes their incidents */
};

/* Checks that everything is there and matches its checksum, and passes it to the loader. Changes
 * nothing. GORDIAN_STATUS_INPUT: not intact, the error says why; GORDIAN_STATUS_UNAVAILABLE: a
 * service uses the folder. */
gordian_status store_verify(const char *folder, const struct store_loader *loader, void *context,
                            struct store_verdict *verdict, gordian_error *error);

/* ---- point-in-time query: any thread, also while a service uses the store
 *
 * What the store keeps, for recovery or longer, covers every moment: the newest snapshot before it,
 * and the records from there on. */

/* Loads the state at the time `at` from the store named by `folder`, or `postgres` and `schema`.
 * Changes nothing. `after`: the loader already has the state after this record and needs only later
 * ones; 0: everything. GORDIAN_STATUS_END: the state of that time is not stored; the error names
 * the earliest time that is. */
gordian_status store_load_past(const struct store_options *options, uint64_t at, uint64_t after,
                               const struct store_loader *loader, void *context,
                               gordian_error *error);
/* Returns the earliest moment that is kept, ms since 1970; 0: everything since the first record. */
gordian_status store_past_begins(const struct store_options *options, uint64_t *at,
                                 gordian_error *error);
/* Returns the options for these functions of an open store; false: it keeps nothing. The texts stay
 * valid until it is closed. */
bool store_past_source(const struct store *store, struct store_options *options);

/* ---- every iteration of the event loop */

/* Adds a record to the open batch; `at` is its time, ms since 1970. Returns its number, or 0: no
 * memory, nothing changed. */
uint64_t store_append(struct store *store, uint64_t at, const void *bytes, size_t length);
/* Adds a new or changed incident to the open batch. GORDIAN_STATUS_MEMORY: nothing changed. */
gordian_status store_incident(struct store *store, const struct incident *incident);
/* Closes the batch if it is not empty. Never waits for the disk. Call it in every iteration, at
 * least ten times a second: a leader that does not for a lease loses the leadership. */
void store_seal(struct store *store);

uint64_t store_last(const struct store *store);      /* number of the last record appended */
uint64_t store_committed(const struct store *store); /* number of the last record committed */

/* Readable when store_poll has something to do; -1 without a folder. */
int store_fd(const struct store *store);
void store_poll(struct store *store);

/* Is the store healthy? If not, *why has the reason (valid until the next store_poll). */
bool store_healthy(const struct store *store, const char **why);

/* ---- snapshots */

/* Is a snapshot due? Never while one is being written. */
bool store_snapshot_due(const struct store *store);
/* Make a snapshot within one iteration: begin, sections, end. It contains everything appended so
 * far. The bytes are copied and written by the thread. On GORDIAN_STATUS_MEMORY it is dropped. */
gordian_status store_snapshot_begin(struct store *store, gordian_error *error);
gordian_status store_snapshot_section(struct store *store, const char *name, const void *bytes,
                                      size_t length, gordian_error *error);
void store_snapshot_end(struct store *store);
void store_snapshot_drop(struct store *store);
/* Drops a snapshot that could not be made, and counts it as a failure. */
void store_snapshot_fail(struct store *store, const char *why);
/* Has the last snapshot failed? *why is valid until the next store_poll. Appended records are still
 * committed, but the journal grows and the next start takes longer. */
bool store_snapshots_fail(const struct store *store, const char **why);

/* ---- incidents and figures */

/* For reads at the start (incidents_db.h). Belongs to the store. */
struct incidents_db *store_incidents(struct store *store);
/* For later queries; store_poll delivers their answers. Belongs to the store. */
struct questions *store_questions(struct store *store);
/* The same for long work (questions_run); NULL: the store keeps nothing. */
struct questions *store_workers(struct store *store);

/* Changes how long incidents are kept (reload). */
void store_keep_incidents(struct store *store, uint64_t keep_ms);

#define STORE_BUCKETS 24 /* commit times below 1 us, 2 us, 4 us, ...; the last one: longer */

struct store_figures {
    uint64_t records, bytes;         /* appended since opening */
    uint64_t batches;                /* committed */
    uint64_t inline_commits;         /* of these, committed by store_seal itself */
    uint64_t failures;               /* failed commits, including retries */
    uint64_t lag_records, lag_bytes; /* appended but not written yet */
    uint64_t journal_bytes;          /* since the newest snapshot */
    uint64_t snapshots;              /* written */
    uint64_t snapshot_failures;      /* failed; retried later */
    uint64_t snapshot_at;            /* record number of the newest; 0: none */
    uint64_t wal_bytes;              /* of SQLite's write-ahead log, approximately */
    uint64_t incidents_dropped;      /* deleted because of their age */
    uint64_t commit_ns;              /* of all commits */
    uint64_t commits[STORE_BUCKETS]; /* histogram of commit times */
};

void store_figures(const struct store *store, struct store_figures *figures);

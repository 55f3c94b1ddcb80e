/*
 * What the service keeps on disk: a journal of records in batches, snapshots, incidents.
 *
 * The service appends a record for everything it does, and holds its answers back until the store
 * says that the record is kept. What a record means is the service's business; here it is bytes
 * with a number (from 1, without gaps, for ever) and a time.
 *
 *     turn of the loop:   store_append, store_incident, ...      into the open batch
 *                         store_seal                             at its end, always
 *     any time:           store_committed                        answers up to here may go out
 *     store_fd readable:  store_poll                             committed or health has changed
 *
 * A batch goes into the journal with one write, together with the incidents that began or ended in
 * it, and these into SQLite. store_seal does that then and there if it does not wait for the disk;
 * otherwise the store's own thread does, with everything else that waits (group commit).
 *
 *     durability   acknowledged once           kill -9        power cut
 *     none         appended                    may cost 0.1 s may cost a second or so
 *     batch        written to the journal      costs nothing  may cost the last second
 *     full         it has been synced to disk  costs nothing  costs nothing
 *
 * When the disk is full, read-only or broken nothing more becomes committed, store_health says why,
 * and the store tries again by itself until it can go on; nothing that was appended is lost. The
 * service should take no more events meanwhile.
 *
 * A snapshot is a set of named sections (images of systems, sessions, ...) at a record number; the
 * two newest are kept, with the journal from the older one on. Recovery: the newest good snapshot,
 * then every record after it.
 *
 * Threads: all functions belong to the one thread that runs the loop.
 * docs/internals/durability.md has the files' layout and what each level promises.
 */
#ifndef GORDIAN_SERVICE_SERVE_STORE_STORE_H
#define GORDIAN_SERVICE_SERVE_STORE_STORE_H

#include "service/serve/store/incidents_db.h"
#include "service/serve/store/queries.h"

#include <gordian/gordian.h>

#define STORE_RECORD_MAX (16u << 20) /* bytes of one record */

enum store_durability {
    STORE_NONE,
    STORE_BATCH,
    STORE_FULL,
};

/* "none", "batch", "full". */
const char *store_durability_text(enum store_durability durability);

/* Who writes: with PostgreSQL one of several, see below; otherwise always this one. */
enum store_role {
    STORE_LEADS,
    STORE_FOLLOWS,
    STORE_LOST, /* it has led, and does no more: what is in memory may never have been kept */
};

#define STORE_ADDRESS 256 /* bytes of the address of a server */

struct store_options {
    const char *folder; /* made if it is not there; NULL: nothing is kept beyond the process, every
                           record counts as committed at once, incidents live in memory */
    /* Instead of a folder: PostgreSQL, by any connection string of libpq. */
    const char *postgres;
    const char *schema;  /* there; NULL: "gordian" */
    const char *address; /* of this server, to tell those who ask another one; NULL: none */
    uint64_t lease_ms;   /* silent for so long, a leader is replaced; 0: 5000 */
    uint64_t lead_ms;    /* wait so long for the lead when it is opened; 0: not at all */
    uint64_t rest_ms;    /* so long others may take the lead first; 0: not at all */
    uint32_t commits;    /* under way at once, at most; 0: 4 */
    enum store_durability durability;
    bool repair;                /* damaged: move it aside and go on from the last good record */
    uint64_t repair_from;       /* with `repair`: this record, and all behind it, make no sense;
                                   0: they do */
    bool accept_loss;           /* acknowledged records are missing: go on without them */
    bool fresh;                 /* there must be no database, whatever else there is */
    uint64_t keep_incidents_ms; /* after they ended; 0: for ever */
    uint64_t keep_history_ms;   /* of the past, for store_load_past; 0: what recovery needs */
    uint64_t history_bytes;     /* ... but no more than so much, in a folder; 0: no limit */
    uint64_t snapshot_bytes;    /* of journal, after which a snapshot is due; 0: 32 MiB,
                                   or what GORDIAN_SNAPSHOT_BYTES says */
    uint64_t retry_ms;          /* after a failure; 0: 250 */
    uint64_t note_ms;           /* the history notes that often how far the journal has come;
                                   0: 1000 */
    const gordian_allocator *allocator; /* NULL: the C library's */
};

void store_options_init(struct store_options *options); /* batch, 30 days, the rest as for 0 */

/* What opening found. */
struct store_found {
    uint64_t snapshot; /* record number of the newest good snapshot; 0: none */
    uint64_t last;     /* number of the last good record; 0: none */
    bool made;         /* there was none: this is a new database */
    bool cut;          /* something unfinished or damaged was left out: see note */
    char note[400];    /* for the log; "" if there is nothing to say */
};

struct store;

/* Opens the folder, alone: GORDIAN_STATUS_UNAVAILABLE if another service has it. A new database is
 * made only in an empty folder, or if `fresh` asks for one.
 * GORDIAN_STATUS_INPUT: damaged, or of another version; the message says what to do.
 * GORDIAN_STATUS_IO: cannot be read or written. On failure *out is NULL. `found` may be NULL. */
gordian_status store_open(struct store **out, const struct store_options *options,
                          struct store_found *found, gordian_error *error);
/* Seals, writes what it can, and lets go of the folder. NULL is fine. */
void store_close(struct store *store);

/* ---- recovery: once, before anything is appended */

struct store_loader {
    /* A section of the snapshot, in the order they were put in. */
    gordian_status (*section)(void *context, const char *name, const void *bytes, size_t length,
                              gordian_error *error);
    /* A record after it. */
    gordian_status (*record)(void *context, uint64_t number, uint64_t at, const void *bytes,
                             size_t length, gordian_error *error);
    /* For store_follow, behind each record: is that enough for now? NULL: never. */
    bool (*enough)(void *context);
};

/* Incidents put in during recovery (store_incident from `record`) replace those of the same id, so
 * a service that replays its journal ends up with the incidents it had. */
gordian_status store_load(struct store *store, const struct store_loader *loader, void *context,
                          gordian_error *error);

/* ---- more than one server (docs/guide/cluster.md)
 *
 * Of all servers on one store of PostgreSQL one leads: it alone appends. The others follow: what
 * was committed comes to them through store_follow. The lead goes from one to another by the
 * database's own locks, and every commit checks a number that each new leader raises, so that one
 * who thinks it still leads cannot write. Whoever has lost the lead closes the store and opens it
 * again: what it has appended since its last commit was never acknowledged, and is gone. */

enum store_role store_role(const struct store *store);
/* Can no other server have taken the lead? True for as long as a lease after the last commit or
 * heartbeat that the database has confirmed, counted from when it was sent, by a clock that goes on
 * while this process is stopped and the machine sleeps. A leader without it may have been replaced,
 * and not know it. Always true where the store is not shared; false for one that does not lead. Any
 * thread. */
bool store_leads_surely(const struct store *store);
/* Who leads, as it wants to be called; "": nobody, or nobody knows. Valid until the next
 * store_poll. */
const char *store_leader(const struct store *store);
/* Why the lead is lost: in this case by the will of this one. */
#define STORE_HANDED_OVER "the lead was handed over"
const char *store_lost(const struct store *store);
/* Is this a store that other servers can take over? */
bool store_is_shared(const struct store *store);
/* After store_poll: what others have committed meanwhile, to loader->record. *more: there is more,
 * but loader->enough has stopped it; store_fd wakes the loop again. When it returns as a leader
 * without that, everything has been told that was ever committed. */
gordian_status store_follow(struct store *store, const struct store_loader *loader, void *context,
                            bool *more, gordian_error *error);
/* Commits what was appended, then gives the lead up: STORE_LOST. */
void store_hand_over(struct store *store);

/* Asks whoever leads to do that, from outside, and waits until another leads: who did, and who
 * does. */
gordian_status store_ask_hand_over(const struct store_options *options, char from[STORE_ADDRESS],
                                   char to[STORE_ADDRESS], gordian_error *error);

/* All incidents and actions that are kept there, read into memory; `replays`: with what led to
 * them. Nothing is made or changed, whoever leads. It is to be closed. */
gordian_status store_read_incidents(const struct store_options *options, bool replays,
                                    struct incidents_db **out, gordian_error *error);

/* All servers of the store: `each` is told the address of one, whether it leads, and since when it
 * is connected (ms since 1970); *epoch: the number of the newest leader. Called by any thread, over
 * a connection of its own. GORDIAN_STATUS_END: it is not shared. */
gordian_status store_servers(const struct store_options *options, uint64_t *epoch,
                             void (*each)(void *context, const char *address, bool leads,
                                          uint64_t since),
                             void *context, gordian_error *error);

/* ---- a folder that nobody works in */

struct store_verdict {
    uint64_t snapshot;  /* record that the newest stands for; 0: none */
    uint64_t last;      /* record */
    uint64_t incidents; /* kept */
    bool empty;         /* there is no database: nothing was looked at */
    bool torn;          /* the last batch is unfinished, as a kill leaves it */
    bool ahead; /* after a power cut: the history has noted batches that the journal does not
                   have; a start drops their incidents */
};

/* Is everything there, and whole by its checksums? The loader gets all of it. Nothing is changed.
 * GORDIAN_STATUS_INPUT: no, and the error says what is not; GORDIAN_STATUS_UNAVAILABLE: a service
 * works there. */
gordian_status store_verify(const char *folder, const struct store_loader *loader, void *context,
                            struct store_verdict *verdict, gordian_error *error);

/* ---- the past: called by any thread, also while a service works there
 *
 * What a store keeps for recovery, and for longer if it is told to, has every moment in it: the
 * newest snapshot from before, and the records behind that up to then. */

/* Where it is: `folder`, or `postgres` and `schema`. Nothing is changed there, and the records'
 * times count. `after`: what the loader had is the state after this record, and only what follows
 * is wanted; 0: everything. GORDIAN_STATUS_END: not kept, or not any more; the error says from when
 * on there is something. */
gordian_status store_load_past(const struct store_options *options, uint64_t at, uint64_t after,
                               const struct store_loader *loader, void *context,
                               gordian_error *error);
/* From when on that can be had, ms since 1970; 0: from the first record on, whenever that was. */
gordian_status store_past_begins(const struct store_options *options, uint64_t *at,
                                 gordian_error *error);
/* The same for a store that is open; false: nothing is kept. The texts stay as long as it does. */
bool store_past_source(const struct store *store, struct store_options *options);

/* ---- every turn of the loop */

/* Puts a record into the open batch; `at` is its time in ms since 1970. Its number, or 0: no
 * memory, nothing changed. */
uint64_t store_append(struct store *store, uint64_t at, const void *bytes, size_t length);
/* Puts an incident, new or changed, into the open batch. GORDIAN_STATUS_MEMORY: nothing changed. */
gordian_status store_incident(struct store *store, const struct incident *incident);
/* Closes the batch; nothing to do if it is empty. Never waits for the disk. To be called every
 * turn, ten times a second at the least: of several servers the one that leads loses the lead when
 * it is not, for a lease. */
void store_seal(struct store *store);

uint64_t store_last(const struct store *store);      /* number of the last record appended */
uint64_t store_committed(const struct store *store); /* ... of the last one that is kept */

/* Readable when the thread has something to tell; -1 without a folder. */
int store_fd(const struct store *store);
void store_poll(struct store *store);

/* Is everything fine? Otherwise why not, for people, in *why (valid until the next store_poll). */
bool store_healthy(const struct store *store, const char **why);

/* ---- snapshots */

/* Is it time for one? Never while one is being written. */
bool store_snapshot_due(const struct store *store);
/* One turn: begin, sections, end. The snapshot stands for everything appended so far; the bytes are
 * copied, and written by the thread. On GORDIAN_STATUS_MEMORY: the snapshot is dropped, as with
 * `drop`. */
gordian_status store_snapshot_begin(struct store *store, gordian_error *error);
gordian_status store_snapshot_section(struct store *store, const char *name, const void *bytes,
                                      size_t length, gordian_error *error);
void store_snapshot_end(struct store *store);
void store_snapshot_drop(struct store *store);
/* The same for one that could not be made: it counts as a failure. */
void store_snapshot_fail(struct store *store, const char *why);
/* Did the last one fail? *why, for people, is valid until the next store_poll. What is appended is
 * kept all the same, but the journal grows, and a start takes longer. */
bool store_snapshots_fail(const struct store *store, const char **why);

/* ---- incidents and figures */

/* For what must be known at the start (incidents_db.h); NULL only if it could not be opened.
 * Belongs to the store. */
struct incidents_db *store_incidents(struct store *store);
/* For everybody who asks later; store_poll tells of their answers. Belongs to the store. */
struct questions *store_questions(struct store *store);
/* The same for questions_run, where it may take long; NULL: nothing is kept. */
struct questions *store_workers(struct store *store);

/* How long incidents are kept can change while the service runs (reload). */
void store_keep_incidents(struct store *store, uint64_t keep_ms);

#define STORE_BUCKETS 24 /* of commit times: under 1 us, 2, 4, ...; the last one: longer */

struct store_figures {
    uint64_t records, bytes;         /* appended since it was opened */
    uint64_t batches;                /* committed */
    uint64_t inline_commits;         /* of these, in store_seal itself */
    uint64_t failures;               /* commits that failed, retries included */
    uint64_t lag_records, lag_bytes; /* appended and not yet on their way to the disk's cache */
    uint64_t journal_bytes;          /* since the newest snapshot */
    uint64_t snapshots;              /* written */
    uint64_t snapshot_failures;      /* not written; tried again later */
    uint64_t snapshot_at;            /* record number of the newest; 0: none */
    uint64_t wal_bytes;              /* of SQLite's write-ahead log, about */
    uint64_t incidents_dropped;      /* because they were too old */
    uint64_t commit_ns;              /* all commits together */
    uint64_t commits[STORE_BUCKETS]; /* by their time */
};

void store_figures(const struct store *store, struct store_figures *figures);

#endif

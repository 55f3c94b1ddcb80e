/*
 * Shared by the files of the store.
 *
 *     store.c           functions for the event loop: batches, snapshots, statistics
 *     queue.c           the queue of batches for the thread
 *     open.c            opening and closing
 *
 * A *backend* does the storage: memory (nothing is kept), a folder (files.c to verify.c below), or
 * PostgreSQL (postgres/, which is not included from here).
 *
 *     memory_backend.c  nothing is kept
 *     folder_backend.c  a folder: opening and closing it
 *     thread.c          its thread: commits, syncs, checkpoints, snapshots, trimming, retries
 *     folder.c          the folder, its lock, the previous run, missing files
 *     manifest.c        the marker: newest journal file, current writer
 *     files.c           file names, reading, writing
 *     journal.c         the write-ahead journal
 *     snapshot.c        snapshots
 *     history.c         incidents in an SQLite database; incidents_db.c reads them
 *     queries.c         a thread that answers queries of incidents
 *     recover.c         recovery from snapshot and journal
 *     repair.c          moves damaged files aside
 *     verify.c          checks a folder
 *     point_in_time.c   the state at a moment of the past
 *
 * The thread that has set store->busy owns journal and history. The loop takes them for a commit in
 * store_seal if they are free, the thread for everything else; both release the mutex meanwhile.
 * Only the loop uses the allocator: the thread passes memory back to it.
 */
#pragma once

#include "foundation/base/clock.h"
#include "service/serve/store/history.h"
#include "service/serve/store/journal.h"
#include "service/serve/store/manifest.h"
#include "service/serve/store/snapshot.h"
#include "service/serve/store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define STORE_BATCH_MAX  (8u << 20)   /* bytes: seal a batch of this size */
#define STORE_INLINE_MAX (256u << 10) /* bytes: the thread commits larger batches */
#define STORE_QUEUE_MAX  (64u << 20)  /* bytes queued: accept no events (back-pressure) */
#define STORE_GROUP_MAX  (8u << 20)   /* maximum bytes in one commit of the thread */
#define STORE_COPY_NS    2000000      /* time per iteration for the loop's own history */
#define STORE_BEHIND_MS  100          /* `none`: how long a batch waits for others */
#define STORE_BEHIND_MAX (1u << 20)   /* bytes: ... unless the queue is this large */
#define STORE_SYNC_MS    1000         /* between syncs of the journal, except with `full` */
#define STORE_TRIM_MS    60000        /* interval of deleting old incidents */
#define STORE_WAL_PAGES  1000         /* pages of SQLite's log that trigger a checkpoint */
#define STORE_SPARE      4            /* batches kept for reuse */
#define STORE_RETRY_MAX  60000        /* ms: maximum delay before a failed snapshot is retried */

/* ---- the folder */

/* What the lock file says about the previous run. */
struct folder_past {
    bool killed;    /* it did not end properly, or that is unknown */
    bool same_boot; /* ... since the machine was booted: no power failure since */
    bool synced;    /* ... with durability full */
};

/* Can the end of the journal be missing on the disk? */
static inline bool past_has_power_cut(const struct folder_past *past)
{
    return past->killed && !past->same_boot && !past->synced;
}

struct folder {
    char *path;   /* of the folder; allocated by the caller */
    char *file;   /* of the database */
    int fd, lock; /* descriptors of folder and lock; -1: none */
    bool made;    /* by this start */
    bool blank;   /* there is no database yet */
    ino_t inode;  /* of the database */
    struct marker marker;
};

/* Content of a folder before anything is made. */
struct folder_contents {
    bool database; /* the incident database */
    bool blank;    /* the incident database is empty */
    bool journal;  /* at least one file */
    bool snapshot; /* at least one */
    bool newest;   /* the newest journal file named by the marker exists, if it names one */
    bool others;   /* files that are not ours */
};

gordian_status folder_list(int folder, const struct marker *marker,
                           struct folder_contents *contents, gordian_error *error);
/* Is there no database? A start that was killed may have left an empty file and a marker. */
bool folder_is_empty(const struct folder_contents *contents, const struct marker *marker);
/* Names a file that should exist and does not; "": none. */
void folder_find_missing(const struct folder_contents *contents, const struct marker *marker,
                         char *missing, size_t size);

/* The same for a folder that is only read. */
void folder_read_past(int folder, struct folder_past *past);
/* Makes the folder if necessary, and locks it. GORDIAN_STATUS_UNAVAILABLE: another process has the
 * lock. Close it in any case. */
gordian_status folder_open(struct folder *folder, const char *path, struct folder_past *past,
                           const gordian_allocator *memory, gordian_error *error);
/* Checks that all required files exist, or none. Otherwise returns GORDIAN_STATUS_INPUT; with
 * options->repair it continues, and found->note lists what is missing. Makes the database file. */
gordian_status folder_check(struct folder *folder, const struct store_options *options,
                            struct store_found *found, gordian_error *error);
/* Is the database still the file that was opened? */
bool folder_is_ours(const struct folder *folder);
/* Notes that this process uses the folder, and the newest journal file. */
gordian_status folder_begin(struct folder *folder, enum store_durability durability,
                            uint64_t newest, gordian_error *error);
/* Releases the folder; `orderly`: everything was written. */
void folder_close(struct folder *folder, bool orderly, const gordian_allocator *memory);

/* ---- recovery and repair */

struct numbers {
    uint64_t *items; /* sorted */
    size_t count, room;
};

struct recovery {
    struct numbers numbers, snapshots; /* journal files and snapshots, from the file names */
    struct journal_file *files;        /* the journal files in memory: good up to .at */
    struct bytes image;                /* the newest good snapshot, in memory */
    uint64_t snapshot;                 /* its record number; 0: none */
    uint64_t older;                    /* the snapshot before it, good or not; 0: none */
    uint64_t last;                     /* number of the last record */
    uint64_t bytes;                    /* of journal behind the snapshot */
    const struct journal_file *file;   /* the last journal file; NULL: none */
    enum journal_end end;              /* how that file ends */
    uint64_t frame;                    /* number of the last frame */
    uint64_t applied;                  /* last frame that the history has applied */
    bool unapplied;                    /* later frames have incidents */
    uint64_t lost;                     /* frames that the history has but the journal has lost */
    bool bad_snapshot;                 /* a newer snapshot was damaged */
    uint64_t bad_record; /* this record counts as damage in spite of its checksum; 0: none */
    bool damaged;        /* the data behind the good part of `file` is damaged */
    char what[200];
};

/* Lists the numbers of all files with this prefix, sorted. Free it in any case. */
gordian_status numbers_list(struct numbers *numbers, int folder, const char *prefix,
                            const gordian_allocator *memory, gordian_error *error);
/* Checks everything that recovery needs. Damage is recorded in *recovery and is not a failure.
 * `bad_record`: number of a record to treat as damaged; 0: none. Free it in any case. */
gordian_status recovery_check(struct recovery *recovery, int folder, uint64_t applied,
                              uint64_t bad_record, const gordian_allocator *memory,
                              gordian_error *error);
void recovery_free(struct recovery *recovery, const gordian_allocator *memory);
/* Sets recovery->lost. The history is written after the journal: if it is ahead, acknowledged
 * records are lost, unless a power failure explains it. */
void recovery_judge_loss(struct recovery *recovery, const struct folder_past *past);
/* Formats the message about lost records. */
void recovery_format_loss(const struct recovery *recovery, char *text, size_t size);
/* Writes incidents of the journal that the history lacks. Returns an SQLite code. */
int recovery_apply(const struct recovery *recovery, struct history *history);
gordian_status recovery_load(struct recovery *recovery, const struct store_loader *loader,
                             void *context, gordian_error *error);

/* Cuts the journal off behind the good part, and keeps the originals under other names. */
gordian_status repair_journal(const struct folder *folder, const struct recovery *recovery,
                              gordian_error *error);
/* Builds a new database from the readable content of the old one, which is renamed. */
gordian_status repair_history(const struct folder *folder, gordian_error *error);
/* Finishes an interrupted repair; call it before anything else. */
gordian_status repair_finish(const struct folder *folder, gordian_error *error);

/* ---- point_in_time.c: from a folder */

gordian_status past_of_files(const struct store_options *options, uint64_t at, uint64_t after,
                             const struct store_loader *loader, void *context,
                             gordian_error *error);
gordian_status past_begins_in_files(const struct store_options *options, uint64_t *at,
                                    gordian_error *error);

/* ---- the store */

struct store;

/* A storage backend. */
struct store_backend {
    bool at_once; /* store_seal may commit a batch itself */
    /* Opens it. Close it in any case. */
    gordian_status (*open)(struct store *store, struct store_found *found, gordian_error *error);
    /* store_load; NULL: nothing is stored. */
    gordian_status (*load)(struct store *store, const struct store_loader *loader, void *context,
                           gordian_error *error);
    /* store_follow; NULL: there are no other writers. */
    gordian_status (*follow)(struct store *store, const struct store_loader *loader, void *context,
                             bool *more, gordian_error *error);
    /* store_load_past and store_past_begins; NULL: `open` always fails. The loader returns
     * STORE_ENOUGH for records later than `at`. */
    gordian_status (*past)(const struct store_options *options, uint64_t at, uint64_t after,
                           const struct store_loader *loader, void *context, gordian_error *error);
    gordian_status (*begins)(const struct store_options *options, uint64_t *at,
                             gordian_error *error);
    /* store_servers; NULL: not shared. */
    gordian_status (*servers)(const struct store_options *options, uint64_t *epoch,
                              void (*each)(void *context, const char *address, bool leads,
                                           uint64_t since),
                              void *context, gordian_error *error);
    /* Wakes its thread; NULL: it waits for store->wake. */
    void (*wake)(struct store *store);
    /* Called when the thread has nothing left to do; ends it. NULL: nothing to close. */
    void (*close)(struct store *store);
};

#define STORE_ENOUGH ((gordian_status)1000) /* not a status of the library */

extern const struct store_backend backend_memory, backend_files, backend_postgres;

struct store {
    gordian_allocator memory;
    struct store_options options;
    const struct store_backend *backend;
    struct folder folder;
    struct pg *pg; /* of backend_postgres */
    bool kept;     /* beyond the process */
    bool loading;  /* store_load is running */
    bool closing;  /* no further batch is needed */
    bool doubtful; /* the last data could not be written */

    /* Used by the loop only. */
    struct batch *open;
    uint64_t last;    /* last record appended */
    uint64_t last_at; /* its time; 0: none since opening */
    struct snapshot_job *building;
    struct incidents_db *reader;
    struct questions *questions;
    struct questions *workers; /* a thread for long work; NULL: nothing is kept */
    struct recovery recovery;
    uint64_t journal_bytes;   /* since the newest snapshot was begun */
    uint64_t snapshot_size;   /* bytes of the newest snapshot */
    char health_shown[256];   /* why it is unhealthy, or "" */
    char snapshot_shown[200]; /* why snapshots fail, or "" */
    char leader_shown[STORE_ADDRESS];
    uint64_t followed;         /* last journal row that the loop has taken */
    struct store_figures seen; /* records and bytes: counted by the loop */

    struct journal journal; /* owned by the thread that has set `busy` */
    struct history history;

    /* Shared, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;  /* the thread has work */
    pthread_cond_t freed; /* journal and history are free */
    bool busy;
    bool stopping;
    bool failed, sync_failed; /* of the last commit, of the last sync */
    bool queue_full;          /* the queue is too long */
    char why[256];
    struct batch *queue, **queue_end;
    size_t queue_bytes;
    uint64_t queue_records;
    uint64_t queued_at;     /* steady ms: when the first batch was queued */
    struct batch *recycled; /* for reuse, or to be freed by the loop */
    size_t recycled_count;
    bool untrimmed; /* the loop's history exceeds its limits */
    /* Committed; the loop copies their incidents to its own history. */
    struct batch *committed_first, **committed_end;
    enum store_role role;
    char leader[STORE_ADDRESS]; /* address of the leader, or "" */
    char lost[200];             /* reason of STORE_LOST */
    bool handing_over;
    struct snapshot_job *job, *jobs_done;
    bool syncing;            /* the journal is being synced: a write might block */
    bool unsynced;           /* there are commits since the last sync */
    bool unnoted;            /* ... since the history noted the progress of the journal */
    bool checkpoint;         /* a checkpoint is due */
    uint64_t snapshot_retry; /* steady ms: not before */
    uint64_t snapshot_pause; /* ms, current delay; 0: the last one was written */
    char snapshot_why[200];  /* why it failed */
    uint64_t keep_ms;
    uint64_t newest, older; /* good snapshots; journal files up to `older` may be deleted */
    struct store_figures figures;
    _Atomic uint64_t committed;
    _Atomic uint64_t loop_alive_at; /* steady ms: last sign of life of the loop */
    /* ms of boot_ns: lease expiry of this leader; see store_is_sure_leader */
    _Atomic uint64_t leads_until;

    /* Used by the thread only. */
    pthread_t thread;
    bool running;
    int doorbell;
    uint64_t retry_at, sync_at, note_at, trim_at;
    uint64_t checkpoint_at;      /* not before: a reader blocked it */
    uint64_t wall_at, steady_at; /* when the store was opened */
    bool trimming;               /* there may be more to delete */
    uint64_t trimmed;            /* snapshot up to which files were deleted */
};

/* Notes a sign of life of the loop. A leader (PostgreSQL) keeps the leadership only while its loop
 * runs. */
void store_note_iteration(struct store *store);
/* Starts the thread of the backend. */
gordian_status store_start_thread(struct store *store, void *(*work)(void *context),
                                  gordian_error *error);
/* Sets the time from which incidents age (wall_at). At boot the clock of a machine without a
 * battery may be wrong by years, so it may not be far ahead of the last incident. As a result
 * incidents may be kept longer, but never shorter. */
void store_believe_clock(struct store *store);
/* Returns the time, ms since 1970, for ages. Setting the clock forward while the service runs does
 * not age anything, because time advances by the monotonic clock; nor does setting it back. */
uint64_t store_now(const struct store *store);
void *store_thread(void *context);
void store_ring(const struct store *store); /* wakes the loop */

/* ---- queue.c: under the mutex */

size_t batch_bytes(const struct batch *batch);
/* Records that `count` batches, starting with `batch`, were committed in `ns`. */
void store_note_commit(struct store *store, const struct batch *batch, size_t count, uint64_t ns);
/* Removes that many batches from the queue. */
void store_drop_group(struct store *store, size_t count);
/* Completes the current snapshot job: written, or failed with a reason. The caller holds the
 * mutex. */
void store_end_job(struct store *store, bool written, const char *why);
/* Records a failed snapshot. The caller holds the mutex. */
void store_note_snapshot(struct store *store, const char *why);
/* Records a failed commit and schedules a retry. */
void store_note_failure(struct store *store, const char *why);

/* Passes the records of a decoded batch with numbers above `after` to the loader. */
gordian_status batch_load(const struct batch *batch, uint64_t after,
                          const struct store_loader *loader, void *context, gordian_error *error);
/* The same until the loader has enough; *after: the last record passed. */
gordian_status batch_load_some(const struct batch *batch, uint64_t *after,
                               const struct store_loader *loader, void *context, bool *enough,
                               gordian_error *error);
/* Passes all sections of a snapshot's body, which begins at `head`, to the loader. */
gordian_status sections_load(const struct bytes *image, size_t head,
                             const struct store_loader *loader, void *context,
                             gordian_error *error);

/* Adds a note for the log. */
void store_note(struct store_found *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void store_lock(const struct store *store)
{
    pthread_mutex_lock((pthread_mutex_t *)&store->mutex);
}

static inline void store_unlock(const struct store *store)
{
    pthread_mutex_unlock((pthread_mutex_t *)&store->mutex);
}

/* Wakes the thread of the backend. */
static inline void store_wake(struct store *store)
{
    if (store->backend->wake)
        store->backend->wake(store);
    else
        pthread_cond_signal(&store->wake);
}

/* Under the mutex: acquire and release the ownership of journal and history. */
void store_take_files(struct store *store);
void store_give_files(struct store *store);
/* The same, and the mutex is released in between. */
void store_begin_io(struct store *store);
void store_end_io(struct store *store);
/* Under the mutex and with the ownership, which it releases: commits `count` batches, starting with
 * `batch`, to the journal, and their incidents to the history. If only the latter fails, the next
 * attempt does not write them to the journal again. `patient` as for journal_append. */
bool store_commit(struct store *store, struct batch *batch, size_t count, bool patient);

/* Free whole lists. */
void store_free_batches(struct store *store, struct batch *batch);
void store_free_jobs(struct store *store, struct snapshot_job *job);

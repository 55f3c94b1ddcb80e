/*
 * What the files of the store share.
 *
 *     store.c           what the loop calls: batches, snapshots, figures
 *     queue.c           batches on their way to whatever keeps them
 *     open.c            opening and closing, whoever keeps it
 *
 * What keeps it is a *backend*: memory (nothing is kept), a folder (files.c to verify.c below), or
 * PostgreSQL (postgres/, which is not included from here).
 *
 *     memory_backend.c  nothing is kept
 *     folder_backend.c  a folder: opening and closing it
 *     thread.c          its thread: commits, syncs, checkpoints, snapshots, trims, retries
 *     folder.c          the folder, its lock, what it says about the run before, what is missing
 *     manifest.c        what must be in the folder, and who writes there
 *     files.c           files: names, reading, writing
 *     journal.c         the journal's files
 *     snapshot.c        the snapshots' files
 *     history.c         incidents, in a database of SQLite; incidents_db.c reads them
 *     queries.c         a thread that reads them for whoever asks
 *     recover.c         are snapshot and journal whole? what the service needs of them
 *     repair.c          moving aside what is damaged
 *     verify.c          is a folder whole?
 *     point_in_time.c   how it was at some moment
 *
 * Who may use journal and history: whoever has set store->busy. The loop takes them for a commit in
 * store_seal, if it can have them at once, the thread for everything else; neither keeps the mutex
 * meanwhile. The allocator is used by the loop alone: the thread hands what it is done with back.
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

#define STORE_BATCH_MAX  (8u << 20)   /* bytes: a batch is sealed then */
#define STORE_INLINE_MAX (256u << 10) /* bytes: larger batches are left to the thread */
#define STORE_QUEUE_MAX  (64u << 20)  /* bytes that wait: no more events, please */
#define STORE_GROUP_MAX  (8u << 20)   /* bytes in one commit of the thread */
#define STORE_TOLD_NS    2000000      /* for the history of the loop's own, in one turn */
#define STORE_BEHIND_MS  100          /* `none`: so long a batch may wait for others */
#define STORE_BEHIND_MAX (1u << 20)   /* bytes: then it does not */
#define STORE_SYNC_MS    1000         /* between syncs of the journal, except with `full` */
#define STORE_TRIM_MS    60000        /* between looks for incidents that are too old */
#define STORE_WAL_PAGES  1000         /* in SQLite's log: time for a checkpoint */
#define STORE_SPARE      4            /* batches kept for another use */
#define STORE_RETRY_MAX  60000        /* ms, at most, until a snapshot that failed is tried again */

/* ---- the folder */

/* What the lock file says of the run before. */
struct folder_past {
    bool killed;    /* it has not ended in an orderly way, or nobody knows */
    bool same_boot; /* ... since this machine was started: no power cut since */
    bool synced;    /* ... with durability full */
};

/* May the end of the journal never have reached the disk? */
static inline bool past_has_power_cut(const struct folder_past *past)
{
    return past->killed && !past->same_boot && !past->synced;
}

struct folder {
    char *path;   /* of the folder; the caller's allocator */
    char *file;   /* of the database */
    int fd, lock; /* descriptors: of the folder, of the lock; -1: none */
    bool made;    /* just now */
    bool blank;   /* the database is to be made: there was none */
    ino_t inode;  /* of the database */
    struct marker marker;
};

/* What is there before anything is made. */
struct folder_contents {
    bool database; /* the history */
    bool blank;    /* nothing was ever written to it */
    bool journal;  /* a file of it */
    bool snapshot; /* at least one */
    bool newest;   /* the file of the journal that the marker names, if it does */
    bool others;   /* that are none of ours */
};

gordian_status folder_list(int folder, const struct marker *marker,
                           struct folder_contents *contents, gordian_error *error);
/* Is there no database? A start that was killed may have left an empty file and a marker. */
bool folder_is_empty(const struct folder_contents *contents, const struct marker *marker);
/* What should be there and is not; "": nothing. */
void folder_find_missing(const struct folder_contents *contents, const struct marker *marker,
                         char *missing, size_t size);

/* The same of a folder that is only read. */
void folder_read_past(int folder, struct folder_past *past);
/* Makes the folder if need be and locks it. GORDIAN_STATUS_UNAVAILABLE: somebody else has it. It is
 * to be closed in any case. */
gordian_status folder_open(struct folder *folder, const char *path, struct folder_past *past,
                           const gordian_allocator *memory, gordian_error *error);
/* Is all there that must be, or nothing at all? Otherwise GORDIAN_STATUS_INPUT; with
 * options->repair it goes on with what there is, and found->note says what is missing. Then there
 * is a file for the database. */
gordian_status folder_check(struct folder *folder, const struct store_options *options,
                            struct store_found *found, gordian_error *error);
/* Is the database still the one that was opened? */
bool folder_is_ours(const struct folder *folder);
/* Writes down that this process works here now, and what is the journal's newest file. */
gordian_status folder_begin(struct folder *folder, enum store_durability durability,
                            uint64_t newest, gordian_error *error);
/* Lets go; `orderly`: everything is in the database. */
void folder_close(struct folder *folder, bool orderly, const gordian_allocator *memory);

/* ---- recovery and repair */

struct numbers {
    uint64_t *items; /* in order */
    size_t count, room;
};

struct recovery {
    struct numbers numbers, snapshots; /* that are there, by their names: files of the journal */
    struct journal_file *files;        /* as many, in memory: good up to .at */
    struct bytes image;                /* of the newest good snapshot, in memory */
    uint64_t snapshot;                 /* its number; 0: none */
    uint64_t older;                    /* the one before it, good or not; 0: none */
    uint64_t last;                     /* record */
    uint64_t bytes;                    /* of the journal behind the snapshot */
    const struct journal_file *file;   /* that it ends with; NULL: none */
    enum journal_end end;              /* of that file */
    uint64_t frame;                    /* the last one */
    uint64_t applied;                  /* the last one that the history has */
    bool unapplied;                    /* there are others */
    uint64_t lost;                     /* frames that the history has and the journal has lost */
    bool bad_snapshot;                 /* a newer snapshot was passed over */
    uint64_t senseless;                /* record that is damage, whatever its checksum; 0: none */
    bool damaged;                      /* behind what is good in `file`: */
    char what[200];
};

/* The numbers of all files of this name, in order; to be freed in any case. */
gordian_status numbers_list(struct numbers *numbers, int folder, const char *prefix,
                            const gordian_allocator *memory, gordian_error *error);
/* Looks at everything that recovery will need. Damage is in *recovery, not a failure; `senseless`:
 * so is this record, unless 0. It is to be freed in any case. */
gordian_status recovery_check(struct recovery *recovery, int folder, uint64_t applied,
                              uint64_t senseless, const gordian_allocator *memory,
                              gordian_error *error);
void recovery_free(struct recovery *recovery, const gordian_allocator *memory);
/* The history is written after the journal: if it is ahead of it, acknowledged records are lost,
 * unless a power cut has cost the last moment, as promised. Sets recovery->lost. */
void recovery_judge_loss(struct recovery *recovery, const struct folder_past *past);
/* "acknowledged records are lost: ..." */
void recovery_tell_loss(const struct recovery *recovery, char *text, size_t size);
/* Gives the history the incidents of the journal that it does not have: a code of SQLite. */
int recovery_apply(const struct recovery *recovery, struct history *history);
gordian_status recovery_load(struct recovery *recovery, const struct store_loader *loader,
                             void *context, gordian_error *error);

/* Cuts the journal off where it is good, and keeps all that was there under other names. */
gordian_status repair_journal(const struct folder *folder, const struct recovery *recovery,
                              gordian_error *error);
/* Builds a new database from what can be read in the old one, which is kept under another name. */
gordian_status repair_history(const struct folder *folder, gordian_error *error);
/* Ends what a repair that was interrupted had begun, if there is any; before anything else. */
gordian_status repair_finish(const struct folder *folder, gordian_error *error);

/* ---- point_in_time.c: of a folder */

gordian_status past_of_files(const struct store_options *options, uint64_t at, uint64_t after,
                             const struct store_loader *loader, void *context,
                             gordian_error *error);
gordian_status past_begins_in_files(const struct store_options *options, uint64_t *at,
                                    gordian_error *error);

/* ---- the store */

struct store;

/* Who keeps what is appended. */
struct store_backend {
    bool at_once; /* a batch may be committed in store_seal itself */
    /* What there is. It is to be closed in any case. */
    gordian_status (*open)(struct store *store, struct store_found *found, gordian_error *error);
    /* store_load; NULL: nothing was kept. */
    gordian_status (*load)(struct store *store, const struct store_loader *loader, void *context,
                           gordian_error *error);
    /* store_follow; NULL: nobody else writes. */
    gordian_status (*follow)(struct store *store, const struct store_loader *loader, void *context,
                             bool *more, gordian_error *error);
    /* store_load_past and store_past_begins; NULL: it cannot be opened either. The loader says
     * STORE_ENOUGH when what comes is later than `at`. */
    gordian_status (*past)(const struct store_options *options, uint64_t at, uint64_t after,
                           const struct store_loader *loader, void *context, gordian_error *error);
    gordian_status (*begins)(const struct store_options *options, uint64_t *at,
                             gordian_error *error);
    /* store_servers; NULL: it has one. */
    gordian_status (*servers)(const struct store_options *options, uint64_t *epoch,
                              void (*each)(void *context, const char *address, bool leads,
                                           uint64_t since),
                              void *context, gordian_error *error);
    /* Its thread has something to do; NULL: it waits for store->wake. */
    void (*wake)(struct store *store);
    /* The thread has nothing to do any more: ends it, too. NULL: there is none. */
    void (*close)(struct store *store);
};

#define STORE_ENOUGH ((gordian_status)1000) /* no status of the library's */

extern const struct store_backend backend_memory, backend_files, backend_postgres;

struct store {
    gordian_allocator memory;
    struct store_options options;
    const struct store_backend *backend;
    struct folder folder;
    struct pg *pg; /* of backend_postgres */
    bool kept;     /* beyond the process */
    bool loading;  /* store_load is at work */
    bool closing;  /* no batch will be needed after the open one */
    bool doubtful; /* something could not be written at the end */

    /* The loop's own. */
    struct batch *open;
    uint64_t last;    /* record appended */
    uint64_t last_at; /* its time; 0: none since it was opened */
    struct snapshot_job *building;
    struct incidents_db *reader;
    struct questions *questions;
    struct questions *workers; /* a thread for what takes longer; NULL: nothing is kept */
    struct recovery recovery;
    uint64_t journal_bytes;   /* since the newest snapshot was begun */
    uint64_t snapshot_size;   /* of the newest */
    char shown[256];          /* why it is not healthy; "" if it is */
    char snapshot_shown[200]; /* why snapshots fail; "": they do not */
    char leader_shown[STORE_ADDRESS];
    uint64_t followed;         /* number of the last row of the journal that the loop has taken */
    struct store_figures seen; /* records and bytes: the loop's part of the figures */

    struct journal journal; /* these belong to whoever has `busy` */
    struct history history;

    /* Shared, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;  /* the thread has something to do */
    pthread_cond_t freed; /* the loop is done with journal and history */
    bool busy;
    bool stopping;
    bool failed, sync_failed; /* the last commit, the last sync: why */
    bool hoarding;            /* too much waits */
    char why[256];
    struct batch *queue, **queue_end;
    size_t queue_bytes;
    uint64_t queue_records;
    uint64_t queued_at;  /* steady ms: when the first of them came */
    struct batch *spent; /* to be used again, or freed by the loop */
    size_t spent_count;
    bool untrimmed;                 /* the loop's: that history has more than it should */
    struct batch *told, **told_end; /* committed, with incidents that the loop writes into a history
                                       of its own */
    enum store_role role;
    char leader[STORE_ADDRESS]; /* who leads; "": nobody knows */
    char lost[200];             /* STORE_LOST: why */
    bool handing_over;
    struct snapshot_job *job, *jobs_done;
    bool syncing;            /* the journal is being synced: writing to it might wait */
    bool unsynced;           /* something has been committed since it was */
    bool unnoted;            /* ... since the history noted how far the journal has come */
    bool checkpoint;         /* one is due */
    uint64_t snapshot_retry; /* steady ms: not before */
    uint64_t snapshot_pause; /* ms, before that; 0: the last one was written */
    char snapshot_why[200];  /* why it was not */
    uint64_t keep_ms;
    uint64_t newest, older; /* good snapshots; `older`: the journal up to here may go */
    struct store_figures figures;
    _Atomic uint64_t committed;
    _Atomic uint64_t turned; /* steady ms: when the loop was heard of last */
    /* ms of boot_ns: no other server can take the lead before that; see store_leads_surely */
    _Atomic uint64_t leads_until;

    /* The thread's own. */
    pthread_t thread;
    bool running;
    int doorbell;
    uint64_t retry_at, sync_at, note_at, trim_at;
    uint64_t checkpoint_at;      /* not before: a reader was in the way */
    uint64_t wall_at, steady_at; /* when it was opened */
    bool trimming;               /* there may be more to delete */
    uint64_t trimmed;            /* the snapshot by which files have been deleted */
};

/* The loop goes round. Who leads others (PostgreSQL) is believed only while it does. */
void store_note_turn(struct store *store);
/* Starts the thread of the backend. */
gordian_status store_start_thread(struct store *store, void *(*work)(void *context),
                                  gordian_error *error);
/* From what moment on incidents grow old (wall_at). A clock may be wrong at the start, by years,
 * where a machine has none that runs without it: it is believed as far as it is not far ahead of
 * what happened last. After a long rest incidents are kept longer; nothing is erased that is not
 * old. */
void store_believe_clock(struct store *store);
/* The time, ms since 1970. A clock that is set forward while the service runs makes nothing old:
 * time has passed by the steady one. Nor does one that was set back. */
uint64_t store_now(const struct store *store);
void *store_thread(void *context);
void store_ring(const struct store *store); /* the loop has something to do */

/* ---- queue.c: under the mutex */

size_t batch_bytes(const struct batch *batch);
/* Batches, from `batch` on, have been committed in so many ns: they count. */
void store_note_commit(struct store *store, const struct batch *batch, size_t count, uint64_t ns);
/* Takes so many off the queue after that. What is left waits no longer. */
void store_drop_group(struct store *store, size_t count);
/* The snapshot at hand is written, and what it makes superfluous can go; or it failed, and this is
 * why. Locked. */
void store_end_job(struct store *store, bool written, const char *why);
/* One could not be made or written. Locked. */
void store_note_snapshot(struct store *store, const char *why);
/* A commit has failed: when to try again. */
void store_note_failure(struct store *store, const char *why);

/* The records behind number `after` of a batch that has been read back. */
gordian_status batch_load(const struct batch *batch, uint64_t after,
                          const struct store_loader *loader, void *context, gordian_error *error);
/* The same until the loader has enough; *after: the last record it has. */
gordian_status batch_load_some(const struct batch *batch, uint64_t *after,
                               const struct store_loader *loader, void *context, bool *enough,
                               gordian_error *error);
/* All sections of a snapshot's body, behind its first `head` bytes. */
gordian_status sections_load(const struct bytes *image, size_t head,
                             const struct store_loader *loader, void *context,
                             gordian_error *error);

/* Adds to what the log is to say of what was found. */
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

/* The thread of the backend has something to do. */
static inline void store_wake(struct store *store)
{
    if (store->backend->wake)
        store->backend->wake(store);
    else
        pthread_cond_signal(&store->wake);
}

/* Under the mutex: journal and history are the caller's, or nobody's again. */
void store_take_files(struct store *store);
void store_give_files(struct store *store);
/* The same, and the mutex is free in between. */
void store_begin_io(struct store *store);
void store_end_io(struct store *store);
/* Under the mutex, with the files, which are then given back: commits batches, from `batch` on,
 * into the journal, and their incidents into the history. If only the latter fails they are not
 * written to the journal again the next time. `patient` as for journal_append. */
bool store_commit(struct store *store, struct batch *batch, size_t count, bool patient);

/* Whole lists of them. */
void store_free_batches(struct store *store, struct batch *batch);
void store_free_jobs(struct store *store, struct snapshot_job *job);

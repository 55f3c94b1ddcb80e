/*
 * The store's inside, for store*.c.
 *
 *     store.c          what the loop calls: batches, snapshots, figures
 *     store/thread.c   the thread: commits, syncs, checkpoints, snapshots, trims, retries
 *     store/folder.c   the folder, its lock, what it says about the run before
 *     store/wal.c      is the write-ahead log whole? (SQLite cuts it off silently where it is not)
 *     store/recover.c  are snapshot and journal whole? reading them back
 *     store/repair.c   moving aside what is damaged
 *     journal.c        the database itself
 *
 * Who may use the database: whoever has set store->busy. The loop takes it for a commit in
 * store_seal, if it can have it at once, the thread for everything else; neither keeps the mutex
 * meanwhile. The allocator is used by the loop alone: the thread hands what it is done with back.
 */
#ifndef GORDIAN_SERVE_STORE_PARTS_H
#define GORDIAN_SERVE_STORE_PARTS_H

#include "serve/store/journal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define STORE_BATCH_MAX  (8u << 20)   /* bytes: a batch is sealed then */
#define STORE_INLINE_MAX (256u << 10) /* bytes: larger batches are left to the thread */
#define STORE_QUEUE_MAX  (64u << 20)  /* bytes that wait: no more events, please */
#define STORE_GROUP_MAX  (8u << 20)   /* bytes in one transaction of the thread */
#define STORE_BEHIND_MS  100          /* `none`: so long a batch may wait for others */
#define STORE_BEHIND_MAX (1u << 20)   /* bytes: then it does not */
#define STORE_SYNC_MS    1000         /* between syncs of the log, except with `full` */
#define STORE_TRIM_MS    60000        /* between looks for incidents that are too old */
#define STORE_WAL_PAGES  4096         /* in the log: time for a checkpoint */
#define STORE_WAL_LONG   (4 << 20)    /* bytes of the log, at the start: it is emptied first */
#define STORE_SPARE      4            /* batches kept for another use */

/* ---- the folder */

/* What the lock file says of the run before. */
struct folder_past {
    bool was_here;  /* there was one, and it has not ended in an orderly way */
    bool same_boot; /* ... since this machine was started: no power cut since */
    bool synced;    /* ... with durability full */
};

struct folder {
    char *path;  /* of the folder; the caller's allocator */
    char *file;  /* of the database */
    int lock;    /* descriptor; -1: none */
    bool made;   /* just now */
    ino_t inode; /* of the database */
};

/* Makes the folder if need be and locks it. GORDIAN_STATUS_UNAVAILABLE: somebody else has it. */
gordian_status folder_open(struct folder *folder, const char *path, struct folder_past *past,
                           const gordian_allocator *memory, gordian_error *error);
/* Makes sure that the names in the folder are on the disk. */
gordian_status folder_sync(const struct folder *folder, gordian_error *error);
/* Is the database still the one that was opened? */
bool folder_is_ours(const struct folder *folder);
/* Writes down that this process works here now. */
gordian_status folder_begin(struct folder *folder, enum store_durability durability,
                            gordian_error *error);
/* Lets go; `orderly`: everything is in the database. */
void folder_close(struct folder *folder, bool orderly, const gordian_allocator *memory);

/* ---- the write-ahead log */

enum wal_state {
    WAL_WHOLE, /* or there is none */
    WAL_TORN,  /* its last transaction is unfinished: it was never acknowledged */
    WAL_BROKEN /* something in the middle is damaged: what follows is lost */
};

struct wal_report {
    enum wal_state state;
    uint64_t frames;       /* good ones, up to the last commit */
    uint64_t bytes;        /* of the log up to there; 0: it has no good header */
    uint64_t cut;          /* frames behind them */
    uint64_t lost_commits; /* among these, from the first bad one on */
};

/* GORDIAN_STATUS_IO: it is there and cannot be read. */
gordian_status wal_check(const char *database, struct wal_report *report, gordian_error *error);
/* Cuts off what is behind the last commit. Nobody else may be writing. */
gordian_status wal_cut(const char *database, const struct wal_report *report, gordian_error *error);

/* ---- recovery and repair */

struct recovery {
    uint64_t snapshot;       /* newest good one; 0: none */
    uint64_t snapshot_bytes; /* of its body */
    uint64_t older;          /* the one before it, good or not; 0: none */
    uint64_t last;           /* record */
    uint64_t bytes;          /* of the journal behind the snapshot */
    bool damaged;            /* from here on: */
    bool bad_snapshot;       /* a newer snapshot was passed over */
    char what[200];          /* is damaged */
};

/* Looks at everything that recovery will need. Damage is in *recovery, not a failure. */
gordian_status recovery_check(struct journal *journal, struct recovery *recovery,
                              gordian_error *error);
gordian_status recovery_load(struct journal *journal, const struct recovery *recovery,
                             const struct store_loader *loader, void *context,
                             const gordian_allocator *memory, gordian_error *error);

/* Puts what recovery would load into another journal. */
int recovery_copy(struct journal *from, struct journal *to, const struct recovery *recovery,
                  const gordian_allocator *memory);

/* Copies the database and its log to names nobody uses; *name (of `size` bytes) is the former's. */
gordian_status repair_copy_aside(const struct folder *folder, char *name, size_t size,
                                 gordian_error *error);
/* Builds a new database from what is good in the journal's (which is closed), keeps the old one
 * under another name, and puts the new one in its place. */
gordian_status repair_rebuild(const struct folder *folder, struct journal *journal,
                              const struct recovery *recovery, const gordian_allocator *memory,
                              char *name, size_t size, gordian_error *error);
/* Ends what a repair that was interrupted had begun, if there is any; before anything else. */
gordian_status repair_finish(const struct folder *folder, gordian_error *error);

/* ---- the store */

/* A snapshot on its way to the disk. */
struct snapshot_job {
    struct snapshot_job *next; /* among those that are done with */
    uint64_t number, at;
    uint64_t journal_bytes; /* that it makes superfluous */
    struct bytes body;      /* of each section: name, length, bytes */
    uint32_t part;          /* written so far */
};

struct store {
    gordian_allocator memory;
    struct store_options options;
    struct folder folder;
    bool kept;     /* there is a folder */
    bool loading;  /* store_load is at work */
    bool closing;  /* no batch will be needed after the open one */
    bool doubtful; /* something could not be written at the end */

    /* The loop's own. */
    struct batch *open;
    uint64_t last; /* record appended */
    struct snapshot_job *building;
    struct incidents_db *reader;
    struct recovery recovery;
    uint64_t journal_bytes;    /* since the newest snapshot was begun */
    uint64_t snapshot_size;    /* of the newest */
    char shown[256];           /* why it is not healthy; "" if it is */
    struct store_figures seen; /* records and bytes: the loop's part of the figures */

    struct journal journal; /* belongs to whoever has `busy` */

    /* Shared, under the mutex. */
    pthread_mutex_t mutex;
    pthread_cond_t wake;  /* the thread has something to do */
    pthread_cond_t freed; /* the loop is done with the database */
    bool busy, wanted;
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
    struct snapshot_job *job, *jobs_done;
    bool syncing;            /* the log is being synced: writing to it might wait */
    bool unsynced;           /* something has been committed since it was */
    bool checkpoint;         /* one is due */
    bool rewrite;            /* a sync has failed: what is in the log may never reach the disk */
    uint64_t snapshot_retry; /* steady ms: not before */
    uint64_t keep_ms;
    uint64_t newest, older; /* good snapshots; `older`: the journal up to here may go */
    struct store_figures figures;
    _Atomic uint64_t committed;

    /* The thread's own. */
    pthread_t thread;
    bool running;
    int doorbell;
    int wal; /* descriptor of the log, to sync it; -1: none */
    sqlite3 *checkpointer;
    uint64_t retry_at, sync_at, trim_at;
    uint64_t checkpoint_at; /* not before: a reader was in the way */
    bool trimming;          /* there may be more to delete */
};

void *store_thread(void *context);

static inline void store_lock(struct store *store)
{
    pthread_mutex_lock(&store->mutex);
}

static inline void store_unlock(struct store *store)
{
    pthread_mutex_unlock(&store->mutex);
}

/* Under the mutex: what a commit (of a list of `count` batches, in `ns`) came to. */
void store_note_commit(struct store *store, int code, const struct batch *batches, size_t count,
                       uint64_t ns);

#endif

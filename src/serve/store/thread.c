/* The store's thread: whatever waits for the disk. */
#include "base/clock.h"
#include "base/crc.h"
#include "serve/store/parts.h"

#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <unistd.h>

static uint64_t steady_ms(void)
{
    return clock_ns() / 1000000;
}

static uint64_t wall_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static void ring(const struct store *store)
{
    if (eventfd_write(store->doorbell, 1) != 0) {
        /* It is full: rung often enough. */
    }
}

/* ---- who has the database; all under the mutex */

static void take_database(struct store *store)
{
    while (store->busy) {
        store->wanted = true;
        pthread_cond_wait(&store->freed, &store->mutex);
    }
    store->busy = true;
}

static void give_database(struct store *store)
{
    store->busy = false;
    if (store->wanted) {
        store->wanted = false;
        pthread_cond_signal(&store->freed);
    }
}

/* ---- what a commit came to; under the mutex, by either thread */

/* Under the mutex: puts a batch that is done with aside. */
static void store_spend(struct store *store, struct batch *batch)
{
    batch->next = store->spent;
    store->spent = batch;
    store->spent_count++;
}

static void note_time(struct store_figures *figures, uint64_t ns)
{
    unsigned bucket = 0;
    for (uint64_t us = ns / 1000; us > 0 && bucket < STORE_BUCKETS - 1; us >>= 1)
        bucket++;
    figures->commits[bucket]++;
    figures->commit_ns += ns;
}

void store_note_commit(struct store *store, int code, const struct batch *batches, size_t count,
                       uint64_t ns)
{
    struct store_figures *figures = &store->figures;
    store->failed = code != SQLITE_OK;
    if (code) {
        figures->failures++;
        /* The log cannot grow, perhaps. In the database there may be room: then it need not. */
        store->checkpoint = true;
        journal_explain(&store->journal, code, store->why, sizeof store->why);
        return;
    }
    note_time(figures, ns);
    uint64_t last = 0;
    for (; count > 0; batches = batches->next, count--) {
        figures->batches++;
        if (batches->count)
            last = batches->first + batches->count - 1;
    }
    if (last)
        atomic_store_explicit(&store->committed, last, memory_order_release);
    store->unsynced = store->options.durability != STORE_FULL;
    figures->wal_bytes = (uint64_t)store->journal.wal_pages * 4096;
    store->checkpoint |= store->journal.wal_pages >= STORE_WAL_PAGES;
}

/* ---- the queue */

static size_t batch_bytes(const struct batch *batch)
{
    return batch->body.used + batch->incidents.used;
}

/* Takes up to a group off the queue after it has been committed. */
static void drop_group(struct store *store, size_t count)
{
    for (; count > 0; count--) {
        struct batch *batch = store->queue;
        store->queue = batch->next;
        if (!store->queue)
            store->queue_end = &store->queue;
        store->queue_bytes -= batch_bytes(batch);
        store->queue_records -= batch->count;
        store_spend(store, batch);
    }
    if (store->queue_bytes < STORE_QUEUE_MAX / 2)
        store->hoarding = false;
    store->queued_at = steady_ms();
}

/* Under the mutex, which is let go of for the commit. */
static void commit_queue(struct store *store)
{
    size_t count = 0, bytes = 0;
    take_database(store);
    for (const struct batch *batch = store->queue; batch && bytes < STORE_GROUP_MAX;
         batch = batch->next) {
        bytes += batch_bytes(batch);
        count++;
    }
    const struct batch *first = store->queue;
    store_unlock(store);
    uint64_t start = clock_ns();
    int code = count ? journal_write(&store->journal, first, count) : SQLITE_OK;
    uint64_t ns = clock_ns() - start;
    store_lock(store);
    give_database(store);
    if (count)
        store_note_commit(store, code, first, count, ns);
    if (!code)
        drop_group(store, count);
    else
        store->retry_at = steady_ms() + store->options.retry_ms;
    ring(store);
}

/* When may the queue be written? UINT64_MAX: not before something changes. */
static uint64_t queue_due(const struct store *store)
{
    if (!store->queue)
        return UINT64_MAX;
    if (store->failed)
        return store->stopping ? 0 : store->retry_at;
    if (store->options.durability != STORE_NONE || store->stopping || store->job ||
        store->queue_bytes >= STORE_BEHIND_MAX)
        return 0;
    return store->queued_at + STORE_BEHIND_MS;
}

/* ---- the log */

/* Brings what has been committed to the disk itself. */
static void sync_log(struct store *store)
{
    store->unsynced = false;
    store->syncing = true;
    store_unlock(store);
    int code = fdatasync(store->wal);
    int number = errno;
    bool ours = folder_is_ours(&store->folder); /* what is written to a deleted file is not kept */
    store_lock(store);
    store->syncing = false;
    /* What a failed sync was to write is in the system's cache, but no later sync need write it:
     * it is moved into the database, out of the cache, before all is well again. */
    store->rewrite |= code != 0;
    store->checkpoint |= store->rewrite;
    bool good = code == 0 && ours && !store->rewrite, changed = store->sync_failed == good;
    store->sync_failed = !good;
    if (code != 0 || !ours) {
        store->figures.failures++;
        snprintf(store->why, sizeof store->why, "%s%s",
                 ours ? "syncing failed: " : "the database was removed or replaced by another",
                 ours ? strerror(number) : "");
    }
    store->unsynced |= !good; /* tried again */
    if (changed)
        ring(store);
    store->sync_at = steady_ms() + STORE_SYNC_MS;
}

static sqlite3 *open_checkpointer(struct store *store)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
    int code = sqlite3_open_v2(store->folder.file, &store->checkpointer, flags, store->options.vfs);
    if (!code) /* one that has read nothing does not know yet that there is a log */
        code = sqlite3_exec(store->checkpointer, "SELECT count(*) FROM sqlite_schema", NULL, NULL,
                            NULL);
    if (code) {
        sqlite3_close(store->checkpointer);
        store->checkpointer = NULL;
    }
    return store->checkpointer;
}

/* True: all of the log is in the database, and that on the disk. */
static bool run_checkpoint(struct store *store)
{
    int frames = 0, moved = 0;
    if (!store->checkpointer && !open_checkpointer(store))
        return false;
    return sqlite3_wal_checkpoint_v2(store->checkpointer, NULL, SQLITE_CHECKPOINT_PASSIVE, &frames,
                                     &moved) == SQLITE_OK &&
           moved >= frames;
}

/* Moves the log into the database: first beside the commits, then, if the loop has gone on
 * committing, the few frames that are left while it leaves its batches to the queue. The next
 * commit then starts the log from its beginning, unless a reader is still in it: it is tried again,
 * but not with every commit. */
static void checkpoint(struct store *store)
{
    store_unlock(store);
    run_checkpoint(store);
    store_lock(store);
    take_database(store);
    store_unlock(store);
    bool whole = run_checkpoint(store);
    store_lock(store);
    give_database(store);
    store->rewrite &= !whole;
    store->checkpoint = store->rewrite;
    store->checkpoint_at = whole ? 0 : steady_ms() + STORE_SYNC_MS;
}

/* ---- snapshots */

static void end_job(struct store *store, bool written)
{
    struct snapshot_job *job = store->job;
    store->job = NULL;
    job->next = store->jobs_done;
    store->jobs_done = job;
    if (written) {
        store->newest = job->number;
        store->figures.snapshots++;
    } else {
        store->snapshot_retry = steady_ms() + 60000;
        store->figures.failures++;
    }
    store->trimming = true; /* what it makes superfluous, or what there is of it */
    ring(store);
}

/* A snapshot must not count before the records it stands for are kept. */
static bool may_step(const struct store *store)
{
    const struct snapshot_job *job = store->job;
    return (uint64_t)job->part * JOURNAL_PART_SIZE < job->body.used ||
           atomic_load(&store->committed) >= job->number;
}

/* Writes one part, or the row that ends it; between the steps others get the database. */
static void step_job(struct store *store)
{
    struct snapshot_job *job = store->job;
    uint64_t before = store->newest, start = (uint64_t)job->part * JOURNAL_PART_SIZE;
    bool last = start >= job->body.used;
    size_t size = last ? 0 : job->body.used - start;
    size = size > JOURNAL_PART_SIZE ? JOURNAL_PART_SIZE : size;
    take_database(store);
    store_unlock(store);
    int code = last ? journal_put_snapshot(&store->journal, job->number, job->at, job->part,
                                           job->body.used,
                                           crc32c(0, job->body.data, job->body.used), before)
                    : journal_put_part(&store->journal, job->number, job->part,
                                       job->body.data + start, size);
    store_lock(store);
    give_database(store);
    store->unsynced = true;
    store->checkpoint |= store->journal.wal_pages >= STORE_WAL_PAGES;
    job->part++;
    if (!code && last)
        store->older = before;
    if (code || last)
        end_job(store, !code);
}

/* ---- what is not needed any more */

static void trim(struct store *store)
{
    uint64_t through = store->older, keep = store->keep_ms, now = wall_ms(), dropped = 0;
    uint64_t before = keep && now > keep ? now - keep : 0;
    bool more = false;
    store->trim_at = steady_ms() + STORE_TRIM_MS; /* unless somebody wants it sooner meanwhile */
    take_database(store);
    store_unlock(store);
    int code = journal_trim(&store->journal, through, &more);
    if (!code && !more)
        code = journal_trim_incidents(&store->journal, before, &dropped, &more);
    store_lock(store);
    give_database(store);
    store->figures.incidents_dropped += dropped;
    store->unsynced = true;
    store->checkpoint |= store->journal.wal_pages >= STORE_WAL_PAGES;
    store->trimming = !code && more;
}

/* ---- the thread */

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When there is something to do, if nothing changes. */
static uint64_t next_due(const struct store *store)
{
    uint64_t due = queue_due(store);
    if (store->unsynced)
        due = least(due, store->sync_at);
    if (store->checkpoint)
        due = least(due, store->checkpoint_at);
    return least(due, store->trimming ? 0 : store->trim_at);
}

static void sleep_until(struct store *store, uint64_t due)
{
    struct timespec deadline = {.tv_sec = (time_t)(due / 1000),
                                .tv_nsec = (long)(due % 1000) * 1000000};
    if (due == UINT64_MAX)
        pthread_cond_wait(&store->wake, &store->mutex);
    else
        pthread_cond_timedwait(&store->wake, &store->mutex, &deadline);
}

/* Everything that is due, each once; false: there is nothing. A queue that never gets empty must
 * not keep the rest from being done. */
static bool work(struct store *store)
{
    uint64_t now = steady_ms();
    bool did = queue_due(store) <= now;
    if (did)
        commit_queue(store);
    if (store->checkpoint && store->checkpoint_at <= now) {
        checkpoint(store);
        did = true;
    }
    if (store->failed)
        return did; /* first things first */
    if (store->unsynced && store->sync_at <= now) {
        sync_log(store);
        did = true;
    }
    if (store->job && may_step(store)) {
        step_job(store);
        did = true;
    } else if (!store->job && !store->stopping && (store->trimming || store->trim_at <= now)) {
        trim(store);
        did = true;
    }
    return did;
}

void *store_thread(void *context)
{
    struct store *store = context;
    store_lock(store);
    store->trim_at = steady_ms();
    while (!store->stopping || store->queue || store->job) {
        if (work(store)) {
            if (store->stopping && store->failed)
                break; /* it was tried: what is left was never acknowledged */
            continue;
        }
        if (store->stopping && store->failed)
            break;
        sleep_until(store, store->failed ? queue_due(store) : next_due(store));
    }
    store->doubtful = store->queue != NULL;
    if (store->unsynced && !store->failed)
        sync_log(store);
    store_unlock(store);
    sqlite3_close(store->checkpointer);
    return NULL;
}

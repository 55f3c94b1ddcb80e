/* The thread of the folder backend: everything that waits for the disk. */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define REMOVED "a file was removed or replaced by another"

/* ---- commits; under the mutex, by either thread */

void store_take_files(struct store *store)
{
    while (store->busy)
        pthread_cond_wait(&store->freed, &store->mutex);
    store->busy = true;
}

void store_give_files(struct store *store)
{
    store->busy = false;
    pthread_cond_signal(&store->freed);
}

void store_begin_io(struct store *store)
{
    store_take_files(store);
    store_unlock(store);
}

void store_end_io(struct store *store)
{
    store_lock(store);
    store_give_files(store);
}

/* Data written to a deleted file is lost. */
static bool files_are_ours(const struct store *store)
{
    return folder_is_ours(&store->folder) && journal_is_ours(&store->journal);
}

static gordian_status write_batches(struct store *store, struct batch *batch, size_t count,
                                    bool patient, gordian_error *error)
{
    bool sync = store->options.durability == STORE_FULL;
    if (!batch->frame) {
        TRY(marker_check(&store->folder.marker, error));
        TRY(journal_append(&store->journal, batch, count, sync, patient, error));
    }
    TRY(history_explain(&store->history, history_write(&store->history, batch, count), error));
    if (sync && !files_are_ours(store))
        return fail(error, GORDIAN_STATUS_IO, REMOVED);
    /* After the write: either the new owner of the folder has seen it, or it is not acknowledged.
     */
    TRY(marker_check(&store->folder.marker, error));
    return marker_note(&store->folder.marker, store->journal.first, false, error);
}

bool store_commit(struct store *store, struct batch *batch, size_t count, bool patient)
{
    gordian_error error;
    store_unlock(store);
    uint64_t start = clock_ns();
    gordian_status status = write_batches(store, batch, count, patient, &error);
    uint64_t ns = clock_ns() - start;
    store_lock(store);
    store_give_files(store);
    store->failed = status != GORDIAN_OK;
    if (!store->failed) {
        store_note_commit(store, batch, count, ns);
        store->unsynced = store->options.durability != STORE_FULL;
        store->unnoted = true;
        store->figures.wal_bytes = (uint64_t)store->history.wal_pages * 4096;
        store->checkpoint |= store->history.wal_pages >= STORE_WAL_PAGES;
        return true;
    }
    store_note_failure(store, error.message);
    /* SQLite's log may be unable to grow; the database may still have space. */
    store->checkpoint = true;
    return false;
}

/* ---- the queue */

/* Returns how many batches of the queue to write at once. Batches that are already in the journal
 * are handled separately. */
static size_t group_size(const struct store *store)
{
    size_t count = 0, bytes = 0;
    for (const struct batch *batch = store->queue;
         batch && bytes < STORE_GROUP_MAX && count < JOURNAL_GROUP &&
         !batch->frame == !store->queue->frame;
         batch = batch->next) {
        bytes += batch_bytes(batch);
        count++;
    }
    return count;
}

static void commit_queue(struct store *store)
{
    store_take_files(store);
    size_t count = group_size(store); /* at least 1: only this thread removes batches */
    bool good = store_commit(store, store->queue, count, true);
    if (good)
        store_drop_group(store, count);
    if (!good || !store->queue || store->options.durability != STORE_NONE)
        store_ring(store); /* with `none` no answer waits for part of it */
}

/* When may the queue be written? UINT64_MAX: not until something changes. */
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

/* ---- syncs */

/* Syncs the journal to the disk. */
static void sync_journal(struct store *store)
{
    gordian_error error;
    store->unsynced = false;
    store->syncing = true;
    store_unlock(store);
    bool synced = journal_sync(&store->journal, &error) == GORDIAN_OK;
    bool ours = files_are_ours(store);
    store_lock(store);
    store->syncing = false;
    bool good = synced && ours, changed = store->sync_failed == good;
    store->sync_failed = !good;
    if (!good) {
        store->figures.failures++;
        snprintf(store->why, sizeof store->why, "%.200s", ours ? error.message : REMOVED);
    }
    store->unsynced |= !good; /* retried */
    if (changed)
        store_ring(store);
    store->sync_at = clock_ms() + STORE_SYNC_MS;
}

/* Notes the progress of the journal in the history once a second, so that a start with a shorter
 * journal detects the loss. After a failed commit, the journal may have incidents that the history
 * lacks. */
static void note_progress(struct store *store)
{
    store_take_files(store);
    bool may = !store->failed;
    store->unnoted = !may;
    store_unlock(store);
    int code = may ? history_note(&store->history, store->journal.frame) : SQLITE_OK;
    store_end_io(store);
    store->unnoted |= code != SQLITE_OK;
    store->note_at = clock_ms() + store->options.note_ms;
    store->checkpoint |= store->history.wal_pages >= STORE_WAL_PAGES;
}

/* ---- checkpoints */

/* Moves SQLite's log into the database. The next commit then reuses the log from its start, unless
 * a reader still uses it: then it is retried, but not with every commit. True: everything was moved
 * and synced. */
static bool checkpoint_journal(struct store *store)
{
    int pages = 0, moved = 0;
    store_begin_io(store);
    int code = sqlite3_wal_checkpoint_v2(store->history.db, NULL, SQLITE_CHECKPOINT_PASSIVE, &pages,
                                         &moved);
    store_end_io(store);
    bool whole = code == SQLITE_OK && moved >= pages;
    store->checkpoint = false;
    store->checkpoint_at = whole ? 0 : clock_ms() + STORE_SYNC_MS;
    return whole;
}

/* ---- snapshots */

static bool all_written(const struct snapshot_job *job)
{
    return job->fd > 0 && job->written == job->body.used;
}

/* Writes the next part of the snapshot, or completes it. Commits continue meanwhile. */
static void step_job(struct store *store)
{
    struct snapshot_job *job = store->job;
    gordian_error error = {0};
    bool last = all_written(job);
    if (job->fd == 0) {
        /* Start a new journal file, so that older files can be deleted some day. If that fails,
         * they are deleted later. */
        store_begin_io(store);
        journal_roll(&store->journal, NULL);
        store_end_io(store);
    }
    if (last)
        sync_journal(store); /* recovery from the previous snapshot needs the journal behind it */
    bool good = !last || !store->sync_failed;
    store_unlock(store);
    if (good)
        good =
            (last ? snapshot_finish : snapshot_step)(job, store->folder.fd, &error) == GORDIAN_OK;
    else
        fail(&error, GORDIAN_STATUS_IO, "the journal cannot be synced");
    store_lock(store);
    if (!good || last) {
        const char *why = error.message;
        snapshot_end(store->job, store->folder.fd);
        store_end_job(store, good, why);
        store_ring(store);
    }
}

/* ---- deleting old data */

static uint64_t earlier_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t store_now(const struct store *store)
{
    return earlier_of(wall_ms(), store->wall_at + (clock_ms() - store->steady_at));
}

static uint64_t file_size(int folder, const char *prefix, uint64_t number)
{
    char name[JOURNAL_NAME];
    struct stat about;
    file_name(name, sizeof name, prefix, number);
    return fstatat(folder, name, &about, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)about.st_size : 0;
}

/* Returns the bytes that can be deleted if this snapshot is the oldest one kept. */
static uint64_t bytes_before(int folder, const struct numbers *journals,
                             const struct numbers *snapshots, uint64_t snapshot)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i + 1 < journals->count && journals->items[i + 1] <= snapshot + 1; i++)
        bytes += file_size(folder, "journal", journals->items[i]);
    for (size_t i = 0; i < snapshots->count && snapshots->items[i] < snapshot; i++)
        bytes += file_size(folder, "snapshot", snapshots->items[i]);
    return bytes;
}

/* Returns the oldest snapshot to keep for point-in-time queries; 0: keep everything since the first
 * record. Always keeps what recovery needs. */
static uint64_t oldest_wanted(struct store *store, const struct numbers *journals,
                              const struct numbers *snapshots, uint64_t older)
{
    uint64_t keep = store->options.keep_history_ms, now = store_now(store), taken, oldest = 0;
    uint64_t most = store->options.history_bytes;
    int folder = store->folder.fd;
    if (!keep)
        return older;
    for (size_t i = 0; i < snapshots->count && snapshots->items[i] <= older; i++)
        if (snapshot_time(folder, snapshots->items[i], &taken) && taken + keep <= now)
            oldest = snapshots->items[i];
    uint64_t all = most ? bytes_before(folder, journals, snapshots, older) : 0;
    for (size_t i = 0; most && i < snapshots->count && snapshots->items[i] <= older; i++)
        if (snapshots->items[i] > oldest &&
            all - bytes_before(folder, journals, snapshots, oldest) > most)
            oldest = snapshots->items[i];
    return oldest;
}

/* Deletes files older than the oldest snapshot to keep. Without point-in-time queries, only the two
 * newest snapshots stay. */
static bool delete_files(struct store *store, uint64_t newest, uint64_t older)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct numbers journals = {0}, snapshots = {0};
    char name[JOURNAL_NAME];
    int folder = store->folder.fd;
    bool past = store->options.keep_history_ms > 0;
    bool good = numbers_list(&journals, folder, "journal", &memory, NULL) == GORDIAN_OK &&
                numbers_list(&snapshots, folder, "snapshot", &memory, NULL) == GORDIAN_OK;
    uint64_t oldest = good ? oldest_wanted(store, &journals, &snapshots, older) : 0;
    for (size_t i = 0; good && i + 1 < journals.count && journals.items[i + 1] <= oldest + 1; i++) {
        file_name(name, sizeof name, "journal", journals.items[i]);
        good = journal_retire(folder, name);
    }
    for (size_t i = 0; good && i < snapshots.count && snapshots.items[i] < newest; i++) {
        file_name(name, sizeof name, "snapshot", snapshots.items[i]);
        if (past ? snapshots.items[i] < oldest : snapshots.items[i] != older)
            good = unlinkat(folder, name, 0) == 0;
    }
    memory_free_all(&memory, journals.items, snapshots.items);
    return good;
}

/* Deletes files only after the history has their incidents on disk. The marker must not name a
 * deleted file, even after a power failure. */
static bool trim_files(struct store *store)
{
    uint64_t newest = store->newest, older = store->older;
    if (!checkpoint_journal(store))
        return false;
    store_begin_io(store);
    gordian_status status = marker_note(&store->folder.marker, store->journal.first, true, NULL);
    store_end_io(store);
    if (status != GORDIAN_OK)
        return false;
    store_unlock(store);
    bool good = delete_files(store, newest, older);
    store_lock(store);
    return good;
}

static void trim_history(struct store *store, bool *more)
{
    uint64_t keep = store->keep_ms, now = store_now(store), dropped = 0;
    uint64_t before = keep && now > keep ? now - keep : 0;
    store_begin_io(store);
    int code = history_trim(&store->history, before, &dropped, more);
    store_end_io(store);
    *more &= !code;
    store->figures.incidents_dropped += dropped;
    store->checkpoint |= store->history.wal_pages >= STORE_WAL_PAGES;
}

static void trim_journal(struct store *store)
{
    bool more = false;
    store->trim_at = clock_ms() + STORE_TRIM_MS; /* unless it is requested earlier */
    trim_history(store, &more);
    store->trimming = more;
    if (!more && store->trimmed < store->newest && trim_files(store))
        store->trimmed = store->newest;
}

/* ---- the thread */

/* When the next action is due if nothing changes. */
static uint64_t next_deadline(const struct store *store)
{
    uint64_t due = queue_due(store);
    if (store->unsynced)
        due = earlier_of(due, store->sync_at);
    if (store->unnoted)
        due = earlier_of(due, store->note_at);
    if (store->checkpoint)
        due = earlier_of(due, store->checkpoint_at);
    return earlier_of(due, store->trimming ? 0 : store->trim_at);
}

static void sleep_until_due(struct store *store, uint64_t due)
{
    struct timespec deadline = {.tv_sec = (time_t)(due / 1000),
                                .tv_nsec = (long)(due % 1000) * 1000000};
    if (due == UINT64_MAX)
        pthread_cond_wait(&store->wake, &store->mutex);
    else
        pthread_cond_timedwait(&store->wake, &store->mutex, &deadline);
}

/* Does everything that is due, each action once; false: nothing was due. A queue that never empties
 * must not starve the other actions. */
static bool work_once(struct store *store)
{
    uint64_t now = clock_ms();
    bool did = queue_due(store) <= now;
    if (did)
        commit_queue(store);
    if (store->checkpoint && store->checkpoint_at <= now) {
        checkpoint_journal(store);
        did = true;
    }
    if (store->failed)
        return did; /* retry the commit first */
    if (store->unsynced && store->sync_at <= now) {
        sync_journal(store);
        did = true;
    }
    if (store->unnoted && store->note_at <= now) {
        note_progress(store);
        did = true;
    }
    /* A snapshot must not count before the records it contains are committed. */
    if (store->job &&
        (!all_written(store->job) || atomic_load(&store->committed) >= store->job->number)) {
        step_job(store);
        did = true;
    } else if (!store->job && !store->stopping && (store->trimming || store->trim_at <= now)) {
        trim_journal(store);
        did = true;
    }
    return did;
}

void *store_thread(void *context)
{
    struct store *store = context;
    store_lock(store);
    store->trim_at = clock_ms();
    store->note_at = clock_ms() + store->options.note_ms;
    while (!store->stopping || store->queue || store->job) {
        if (work_once(store)) {
            if (store->stopping && store->failed)
                break; /* the rest was never acknowledged */
            continue;
        }
        if (store->stopping && store->failed)
            break;
        sleep_until_due(store, store->failed ? queue_due(store) : next_deadline(store));
    }
    store->doubtful = store->queue != NULL;
    if (store->unsynced && !store->failed)
        sync_journal(store);
    store_unlock(store);
    return NULL;
}

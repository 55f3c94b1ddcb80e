/* Opening and closing: the folder, the log, the database, what is damaged, the thread. */
#include "base/error.h"
#include "base/reader.h"
#include "serve/store/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- what is to be said about what was found */

static void note(struct store_found *found, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void note(struct store_found *found, const char *format, ...)
{
    size_t used = strlen(found->note);
    va_list arguments;
    if (used > 0 && used + 2 < sizeof found->note) {
        memcpy(found->note + used, "; ", 3);
        used += 2;
    }
    va_start(arguments, format);
    vsnprintf(found->note + used, sizeof found->note - used, format, arguments);
    va_end(arguments);
}

static gordian_status refuse(const struct store *store, const char *what, gordian_error *error)
{
    return fail(
        error, GORDIAN_STATUS_INPUT,
        "%.120s is damaged: %.120s. Restore a backup, or start once with --repair: it moves "
        "the damaged database aside and goes on from the last good record",
        store->folder.file, what);
}

/* The name without the folder. */
static const char *last_part(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* ---- the log, before SQLite sees it */

/* After a power cut the last moment may be missing, and what is left may have holes; with `full` at
 * most the one transaction that had not been acknowledged. */
static bool is_power_cut(const struct folder_past *past, const struct wal_report *report)
{
    return past->was_here && !past->same_boot && (!past->synced || report->lost_commits <= 1);
}

static gordian_status set_log_aside(struct store *store, const struct wal_report *report,
                                    struct store_found *found, gordian_error *error)
{
    char name[4096];
    gordian_status status = repair_copy_aside(&store->folder, name, sizeof name, error);
    if (status == GORDIAN_OK)
        note(found,
             "repaired: the log had a bad page in the middle, %llu pages behind it are left "
             "out; as it was: %s",
             (unsigned long long)report->cut, last_part(name));
    return status;
}

static gordian_status check_log(struct store *store, const struct folder_past *past,
                                struct store_found *found, gordian_error *error)
{
    struct wal_report report;
    gordian_status status = wal_check(store->folder.file, &report, error);
    if (status != GORDIAN_OK || report.state == WAL_WHOLE)
        return status;
    found->cut = true;
    if (report.state == WAL_TORN)
        note(found, "the last batch was unfinished and is left out: it was never acknowledged");
    else if (is_power_cut(past, &report))
        note(found, "the power was cut: %llu pages that had not reached the disk are left out",
             (unsigned long long)report.cut);
    else if (store->options.repair)
        status = set_log_aside(store, &report, found, error);
    else
        status = refuse(store, "its write-ahead log has a bad page in the middle", error);
    return status != GORDIAN_OK ? status : wal_cut(store->folder.file, &report, error);
}

/* ---- the database */

static gordian_status open_journal(struct store *store, bool *damaged, gordian_error *error)
{
    return journal_open(&store->journal, store->folder.file, store->options.vfs,
                        store->options.durability, damaged, error);
}

static gordian_status rebuild(struct store *store, struct store_found *found, gordian_error *error)
{
    char name[4096], what[sizeof store->recovery.what];
    memcpy(what, store->recovery.what, sizeof what);
    gordian_status status = repair_rebuild(&store->folder, &store->journal, &store->recovery,
                                           &store->memory, name, sizeof name, error);
    bool damaged;
    if (status == GORDIAN_OK)
        status = open_journal(store, &damaged, error);
    if (status == GORDIAN_OK)
        status = recovery_check(&store->journal, &store->recovery, error);
    if (status == GORDIAN_OK && store->recovery.damaged)
        status = refuse(store, store->recovery.what, error);
    if (status != GORDIAN_OK)
        return status;
    found->cut = true;
    note(found, "repaired: %s; it goes on from record %llu; as it was: %s", what,
         (unsigned long long)store->recovery.last, last_part(name));
    return GORDIAN_OK;
}

/* It cannot be opened as it should; some of it may be readable. */
static void look_at_ruin(struct store *store)
{
    struct journal ruin;
    store->recovery = (struct recovery){0};
    if (journal_open_raw(&ruin, store->folder.file) == SQLITE_OK) {
        if (recovery_check(&ruin, &store->recovery, NULL) != GORDIAN_OK)
            store->recovery = (struct recovery){0};
        journal_close(&ruin);
    }
    store->recovery.damaged = true;
}

static gordian_status check_database(struct store *store, struct store_found *found,
                                     gordian_error *error)
{
    struct recovery *recovery = &store->recovery;
    bool unreadable;
    gordian_error trouble = {0};
    gordian_status status = open_journal(store, &unreadable, &trouble);
    if (unreadable) {
        look_at_ruin(store);
        snprintf(recovery->what, sizeof recovery->what, "%.190s", trouble.message);
    } else if (status != GORDIAN_OK) {
        return fail(error, status, "%.200s: %.190s", store->folder.file, trouble.message);
    } else {
        status = recovery_check(&store->journal, recovery, error);
        if (status != GORDIAN_OK)
            return status;
    }
    if (!recovery->damaged && recovery->bad_snapshot) {
        found->cut = true;
        note(found, "the newest snapshot is damaged: went back to the one before, nothing is lost");
    }
    if (!recovery->damaged)
        return GORDIAN_OK;
    return store->options.repair ? rebuild(store, found, error)
                                 : refuse(store, recovery->what, error);
}

/* A long log is emptied into the database now: it makes every start slow, and a service that is
 * killed again and again would never get to it. If that cannot be done now, it will be later. */
static void shorten_log(struct store *store)
{
    char path[4096];
    struct stat log;
    snprintf(path, sizeof path, "%s-wal", store->folder.file);
    if (stat(path, &log) == 0 && log.st_size > STORE_WAL_LONG)
        sqlite3_wal_checkpoint_v2(store->journal.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
}

/* It is there as soon as the database is open, and stays until it is closed. */
static gordian_status open_log(struct store *store, gordian_error *error)
{
    char path[4096];
    snprintf(path, sizeof path, "%s-wal", store->folder.file);
    store->wal = open(path, O_RDONLY | O_CLOEXEC);
    return store->wal < 0 ? fail(error, GORDIAN_STATUS_IO, "%.200s: %s", path, strerror(errno))
                          : GORDIAN_OK;
}

/* ---- the store */

static gordian_status open_kept(struct store *store, struct store_found *found,
                                gordian_error *error)
{
    struct folder_past past = {0};
    gordian_status status =
        folder_open(&store->folder, store->options.folder, &past, &store->memory, error);
    if (status == GORDIAN_OK)
        status = repair_finish(&store->folder, error);
    if (status == GORDIAN_OK)
        status = check_log(store, &past, found, error);
    if (status == GORDIAN_OK)
        status = check_database(store, found, error);
    if (status == GORDIAN_OK) {
        shorten_log(store);
        status = folder_begin(&store->folder, store->options.durability, error);
    }
    if (status == GORDIAN_OK)
        status = open_log(store, error);
    if (status == GORDIAN_OK) {
        store->doorbell = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
        if (store->doorbell < 0)
            status = fail(error, GORDIAN_STATUS_IO, "cannot make an eventfd: %s", strerror(errno));
    }
    if (status == GORDIAN_OK)
        status = incidents_join(&store->reader, store->options.folder, &store->memory, error);
    store->options.folder = store->folder.path; /* the caller's text may go */
    return status;
}

static gordian_status open_in_memory(struct store *store, gordian_error *error)
{
    bool damaged;
    gordian_status status = journal_open(&store->journal, NULL, NULL, STORE_NONE, &damaged, error);
    if (status == GORDIAN_OK)
        status = incidents_share(&store->reader, store->journal.db, &store->memory, error);
    return status;
}

static gordian_status start(struct store *store, gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    store->last = recovery->last;
    store->newest = recovery->snapshot;
    store->older = recovery->older;
    store->journal_bytes = recovery->bytes;
    store->snapshot_size = recovery->snapshot_bytes;
    store->trimming = true;
    atomic_store(&store->committed, recovery->last);
    if (!store->kept)
        return GORDIAN_OK;
    int code = pthread_create(&store->thread, NULL, store_thread, store);
    store->running = code == 0;
    return code ? fail(error, GORDIAN_STATUS_MEMORY, "cannot start a thread: %s", strerror(code))
                : GORDIAN_OK;
}

static bool init_locks(struct store *store)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    bool good = pthread_mutex_init(&store->mutex, NULL) == 0 &&
                pthread_cond_init(&store->wake, &attributes) == 0 &&
                pthread_cond_init(&store->freed, NULL) == 0;
    pthread_condattr_destroy(&attributes);
    return good;
}

/* The environment has a say, for tests and for tuning. */
static uint64_t usual_snapshot_bytes(void)
{
    const char *why, *text = getenv("GORDIAN_SNAPSHOT_BYTES");
    uint64_t bytes;
    return text && parse_u64(text, strlen(text), &bytes, &why) && bytes > 0 ? bytes : 32u << 20;
}

static gordian_status make_store(struct store **out, const struct store_options *options,
                                 gordian_error *error)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct store *store = memory_zeroed(&memory, sizeof *store);
    if (!store)
        return fail_memory(error);
    store->memory = memory;
    store->options = *options;
    if (store->options.snapshot_bytes == 0)
        store->options.snapshot_bytes = usual_snapshot_bytes();
    if (store->options.retry_ms == 0)
        store->options.retry_ms = 250;
    store->kept = options->folder != NULL;
    store->keep_ms = options->keep_incidents_ms;
    store->folder.lock = store->doorbell = store->wal = -1;
    store->queue_end = &store->queue;
    store->open = memory_zeroed(&memory, sizeof *store->open);
    if (!store->open || !init_locks(store)) {
        memory_free(&memory, store->open);
        memory_free(&memory, store);
        return fail_memory(error);
    }
    bytes_init(&store->open->body, &memory);
    bytes_init(&store->open->incidents, &memory);
    *out = store;
    return GORDIAN_OK;
}

gordian_status store_open(struct store **out, const struct store_options *options,
                          struct store_found *found, gordian_error *error)
{
    struct store_found ignored = {0};
    struct store *store = NULL;
    found = found ? found : &ignored;
    *found = (struct store_found){0};
    *out = NULL;
    gordian_status status = make_store(&store, options, error);
    if (status != GORDIAN_OK)
        return status;
    status = store->kept ? open_kept(store, found, error) : open_in_memory(store, error);
    if (status == GORDIAN_OK)
        status = start(store, error);
    if (status != GORDIAN_OK) {
        store->doubtful = true; /* as it was found, it stays */
        store_close(store);
        return status;
    }
    found->snapshot = store->recovery.snapshot;
    found->last = store->recovery.last;
    *out = store;
    return GORDIAN_OK;
}

gordian_status store_load(struct store *store, const struct store_loader *loader, void *context,
                          gordian_error *error)
{
    if (!store->kept)
        return GORDIAN_OK;
    store_lock(store);
    while (store->busy) {
        store->wanted = true;
        pthread_cond_wait(&store->freed, &store->mutex);
    }
    store->busy = true;
    store_unlock(store);
    store->loading = true;
    gordian_status status =
        recovery_load(&store->journal, &store->recovery, loader, context, &store->memory, error);
    store->loading = false;
    store_lock(store);
    store->busy = false;
    pthread_cond_signal(&store->freed);
    store_unlock(store);
    return status;
}

static void free_batches(struct store *store, struct batch *batch)
{
    for (struct batch *next; batch; batch = next) {
        next = batch->next;
        bytes_free(&batch->body);
        bytes_free(&batch->incidents);
        memory_free(&store->memory, batch);
    }
}

static void free_jobs(struct store *store, struct snapshot_job *job)
{
    for (struct snapshot_job *next; job; job = next) {
        next = job->next;
        bytes_free(&job->body);
        memory_free(&store->memory, job);
    }
}

void store_close(struct store *store)
{
    if (!store)
        return;
    if (store->running) {
        store->closing = true;
        store_seal(store);
        store_lock(store);
        store->stopping = true;
        pthread_cond_signal(&store->wake);
        store_unlock(store);
        pthread_join(store->thread, NULL);
    }
    gordian_allocator memory = store->memory;
    incidents_close(store->reader);
    journal_close(&store->journal); /* the last one: empties the log into the database */
    store_snapshot_drop(store);
    free_jobs(store, store->job);
    free_jobs(store, store->jobs_done);
    free_batches(store, store->open);
    free_batches(store, store->queue);
    free_batches(store, store->spent);
    if (store->doorbell >= 0)
        close(store->doorbell);
    if (store->wal >= 0)
        close(store->wal);
    folder_close(&store->folder, !store->doubtful, &memory);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->freed);
    pthread_mutex_destroy(&store->mutex);
    memory_free(&memory, store);
}

/* Opening and closing: the folder, the history, the journal, what is damaged, the thread. */
#include "base/error.h"
#include "base/reader.h"
#include "serve/store/files.h"
#include "serve/store/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* ---- what is to be said about what was found */

void store_note(struct store_found *found, const char *format, ...)
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

static gordian_status refuse_folder(const struct store *store, const char *name, const char *what,
                                    gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT,
                "%.120s/%.40s is damaged: %.120s. Restore a backup, or start once with --repair: "
                "it moves what is damaged aside and goes on from the last good record",
                store->folder.path, name, what);
}

/* ---- the history */

static gordian_status open_history(struct store *store, struct store_found *found,
                                   gordian_error *error)
{
    gordian_error trouble = {0};
    bool damaged;
    gordian_status status = history_open(&store->history, store->folder.file, &damaged, &trouble);
    if (damaged && !store->options.repair)
        return refuse_folder(store, STORE_FILE, trouble.message, error);
    if (damaged) {
        store_note(found, "repaired: " STORE_FILE ", %.100s; as it was: " STORE_FILE ".damaged-*",
                   trouble.message);
        found->cut = true;
        status = repair_history(&store->folder, &trouble);
        if (status == GORDIAN_OK)
            status = history_open(&store->history, store->folder.file, &damaged, &trouble);
    }
    if (status != GORDIAN_OK)
        return fail(error, status, "%.200s: %.190s", store->folder.file, trouble.message);
    /* A long log makes every start slow, and a service that is killed again and again would never
     * get to it. If it cannot be emptied now, it will be later. */
    sqlite3_wal_checkpoint_v2(store->history.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return GORDIAN_OK;
}

/* ---- the journal */

static gordian_status check_files(struct store *store, gordian_error *error)
{
    gordian_error trouble = {0};
    recovery_free(&store->recovery, &store->memory);
    gordian_status status =
        recovery_check(&store->recovery, store->folder.fd, store->history.applied,
                       store->options.repair_from, &store->memory, &trouble);
    return status == GORDIAN_OK ? status
                                : fail(error, status, "%.200s, reading the journal: %.190s",
                                       store->folder.path, trouble.message);
}

/* What the end of the journal's last file means. After a power cut the last moment may be missing,
 * and what is left may have holes; with `full` at most the one frame that had not been
 * acknowledged. A file that was closed ends as it should. */
static void judge_end(struct store *store, const struct folder_past *past,
                      struct store_found *found)
{
    struct recovery *recovery = &store->recovery;
    bool power_cut = past->killed && !past->same_boot && !past->synced;
    if (recovery->damaged || recovery->end == JOURNAL_ENDS)
        return;
    if (recovery->end == JOURNAL_TORN && past->killed) {
        found->cut = true;
        store_note(found,
                   "the last batch was unfinished and is left out: it was never acknowledged");
    } else if (power_cut) {
        found->cut = true;
        store_note(found,
                   "the power was cut: %llu bytes that had not all reached the disk are left out",
                   (unsigned long long)(recovery->file->bytes.used - recovery->file->at));
    } else {
        recovery->damaged = true;
        snprintf(recovery->what, sizeof recovery->what,
                 "what follows record %llu fails its "
                 "checksum%s",
                 (unsigned long long)recovery->last,
                 recovery->end == JOURNAL_BROKEN ? ", in the middle of the file" : "");
    }
}

static gordian_status repair_files(struct store *store, struct store_found *found,
                                   gordian_error *error)
{
    char what[sizeof store->recovery.what];
    memcpy(what, store->recovery.what, sizeof what);
    /* The file that it names may be moved aside now. */
    gordian_status status = marker_note(&store->folder.marker, 0, true, error);
    if (status == GORDIAN_OK)
        status = repair_journal(&store->folder, &store->recovery, error);
    store->options.repair_from = 0; /* it is left out now */
    if (status == GORDIAN_OK)
        status = check_files(store, error);
    if (status == GORDIAN_OK && store->recovery.damaged)
        status = refuse_folder(store, "the journal", store->recovery.what, error);
    if (status != GORDIAN_OK)
        return status;
    found->cut = true;
    store_note(found, "repaired: %s; it goes on from record %llu; as it was: journal-*.damaged-*",
               what, (unsigned long long)store->recovery.last);
    return GORDIAN_OK;
}

/* The history must not know more than the journal, nor less. */
static gordian_status match_history(struct store *store, bool power_cut, gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    int code = SQLITE_OK;
    if (recovery->applied > recovery->frame)
        code = history_go_back(&store->history, recovery->frame, power_cut);
    if (!code)
        code = recovery_apply(recovery, &store->history);
    return code ? history_explain(&store->history, code, error) : GORDIAN_OK;
}

static gordian_status open_journal(struct store *store, const struct folder_past *past,
                                   struct store_found *found, gordian_error *error)
{
    struct recovery *recovery = &store->recovery;
    gordian_status status = check_files(store, error);
    if (status != GORDIAN_OK)
        return status;
    judge_end(store, past, found);
    bool repaired = recovery->damaged;
    if (repaired && store->options.repair) {
        status = repair_files(store, found, error);
    } else if (repaired) {
        char name[JOURNAL_NAME] = "snapshot-*";
        if (recovery->file)
            file_name(name, sizeof name, "journal", recovery->file->first);
        return refuse_folder(store, name, recovery->what, error);
    } else if (recovery->bad_snapshot) {
        found->cut = true;
        store_note(found,
                   "the newest snapshot is damaged: went back to the one before, nothing is lost");
    }
    if (status == GORDIAN_OK)
        status = match_history(store, past->killed && !past->same_boot && !repaired, error);
    if (status != GORDIAN_OK)
        return status;
    store->journal.folder = store->folder.fd;
    store->journal.next = recovery->last + 1;
    store->journal.frame = recovery->frame;
    return recovery->file ? journal_resume(&store->journal, recovery->file, error)
                          : journal_roll(&store->journal, error);
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
        status = folder_check(&store->folder, &store->options, found, error);
    /* Before anything is read: whoever wrote here until now acknowledges nothing from here on, so
     * that what is read is all there is. */
    if (status == GORDIAN_OK)
        status = marker_claim(&store->folder.marker, error);
    if (status == GORDIAN_OK)
        status = open_history(store, found, error);
    if (status == GORDIAN_OK)
        status = open_journal(store, &past, found, error);
    if (status == GORDIAN_OK)
        status =
            folder_begin(&store->folder, store->options.durability, store->journal.first, error);
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
    gordian_status status = history_open(&store->history, NULL, &damaged, error);
    if (status == GORDIAN_OK)
        status = incidents_share(&store->reader, store->history.db, &store->memory, error);
    return status;
}

static gordian_status start_thread(struct store *store, gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    store->last = recovery->last;
    store->newest = recovery->snapshot;
    store->older = recovery->older;
    store->journal_bytes = recovery->bytes;
    store->snapshot_size = recovery->image.used;
    store->trimming = true;
    store->wall_at = store_wall_ms();
    store->steady_at = steady_ms();
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
    store->folder.fd = store->folder.lock = store->folder.marker.fd = -1;
    store->doorbell = store->journal.fd = -1;
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
        status = start_thread(store, error);
    if (status == GORDIAN_OK)
        status = questions_open(&store->questions, store->options.folder, store->reader,
                                store->doorbell, error);
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
    store_take_files(store);
    store_unlock(store);
    store->loading = true;
    gordian_status status = recovery_load(&store->recovery, loader, context, error);
    recovery_free(&store->recovery, &store->memory);
    store->loading = false;
    store_lock(store);
    store_give_files(store);
    store_unlock(store);
    return status;
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
    questions_close(store->questions);
    incidents_close(store->reader);
    history_close(&store->history); /* the last one: empties the log into the database */
    journal_close(&store->journal);
    recovery_free(&store->recovery, &memory);
    store_snapshot_drop(store);
    store_free_jobs(store, store->job);
    store_free_jobs(store, store->jobs_done);
    store_free_batches(store, store->open);
    store_free_batches(store, store->queue);
    store_free_batches(store, store->spent);
    if (store->doorbell >= 0)
        close(store->doorbell);
    folder_close(&store->folder, !store->doubtful, &memory);
    pthread_cond_destroy(&store->wake);
    pthread_cond_destroy(&store->freed);
    pthread_mutex_destroy(&store->mutex);
    memory_free(&memory, store);
}

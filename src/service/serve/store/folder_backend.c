/* The backend that stores in a folder: opens and closes it, and handles damage. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <stdio.h>

static gordian_status refuse_folder(const struct store *store, const char *name, const char *what,
                                    gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT,
                "%.120s/%.40s is damaged: %.120s. Restore a backup, or start once with --repair: "
                "it moves damaged files aside and continues from the last good record",
                store->folder.path, name, what);
}

/* ---- incidents */

static gordian_status open_history(struct store *store, struct store_found *found,
                                   gordian_error *error)
{
    gordian_error trouble = {0};
    bool damaged;
    gordian_status status =
        history_open(&store->history, store->folder.file, store->folder.blank, &damaged, &trouble);
    if (damaged && !store->options.repair)
        return refuse_folder(store, HISTORY_FILE, trouble.message, error);
    if (damaged) {
        store_note(found,
                   "repaired: " HISTORY_FILE ", %.100s; the original is " HISTORY_FILE ".damaged-*",
                   trouble.message);
        found->cut = true;
        status = repair_history(&store->folder, &trouble);
        THEN(status, history_open(&store->history, store->folder.file, false, &damaged, &trouble));
    }
    if (status != GORDIAN_OK)
        return fail(error, status, "%.200s: %.190s", store->folder.file, trouble.message);
    /* A long SQLite log slows every start, and a service that is killed repeatedly would never
     * empty it. If it cannot be emptied now, it will be emptied later. */
    sqlite3_wal_checkpoint_v2(store->history.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return GORDIAN_OK;
}

/* ---- the journal */

static gordian_status check_folder_files(struct store *store, gordian_error *error)
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

/* Judges the end of the last journal file. After a power failure the last moments may be missing,
 * and the rest may have holes; with `full` only the one frame that was not acknowledged can be
 * affected. A file that was closed properly has a proper end. */
static void check_journal_end(struct store *store, const struct folder_past *past,
                              struct store_found *found)
{
    struct recovery *recovery = &store->recovery;
    if (recovery->damaged || recovery->end == JOURNAL_ENDS)
        return;
    if (recovery->end == JOURNAL_TORN && past->killed) {
        found->cut = true;
        if (!recovery->lost)
            store_note(found, "the last batch was unfinished, as after a kill, and is discarded");
    } else if (past_has_power_cut(past)) {
        found->cut = true;
        store_note(found,
                   "power failure: %llu bytes that were not completely on disk are discarded",
                   (unsigned long long)(recovery->file->bytes.used - recovery->file->at));
    } else {
        recovery->damaged = true;
        snprintf(recovery->what, sizeof recovery->what,
                 "the data after record %llu fails its checksum%s",
                 (unsigned long long)recovery->last,
                 recovery->end == JOURNAL_BROKEN ? ", in the middle of the file" : "");
    }
}

/* The incidents must not be ahead of the journal. After a power failure, later incidents never
 * happened. Otherwise they happened and stay. */
static gordian_status rewind_history(struct store *store, bool never_was, gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    return recovery->applied > recovery->frame
               ? history_explain(&store->history,
                                 history_go_back(&store->history, recovery->frame, never_was),
                                 error)
               : GORDIAN_OK;
}

static gordian_status repair_files(struct store *store, struct store_found *found,
                                   gordian_error *error)
{
    char what[sizeof store->recovery.what];
    memcpy(what, store->recovery.what, sizeof what);
    /* The file that it names may be moved aside now. */
    gordian_status status = marker_note(&store->folder.marker, 0, true, error);
    /* Before the journal is cut: if this repair is killed, the next start must not see a loss. */
    THEN(status, rewind_history(store, false, error));
    THEN(status, repair_journal(&store->folder, &store->recovery, error));
    store->options.repair_from = 0; /* done: it is cut off now */
    THEN(status, check_folder_files(store, error));
    if (status == GORDIAN_OK && store->recovery.damaged)
        status = refuse_folder(store, "the journal", store->recovery.what, error);
    if (status != GORDIAN_OK)
        return status;
    found->cut = true;
    store_note(found,
               "repaired: %s; continuing from record %llu; the originals are journal-*.damaged-*",
               what, (unsigned long long)store->recovery.last);
    return GORDIAN_OK;
}

/* A journal that is intact but too short is not damaged, but acknowledged records are lost. */
static gordian_status judge_loss(struct store *store, struct store_found *found,
                                 gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    char loss[200];
    if (!recovery->lost || recovery->damaged)
        return GORDIAN_OK;
    recovery_format_loss(recovery, loss, sizeof loss);
    if (!store->options.accept_loss && !store->options.repair)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.100s: %.180s. Restore a backup, or start once with --accept-loss to "
                    "continue from that record",
                    store->folder.path, loss);
    found->cut = true;
    store_note(found, "%s; continuing from there", loss);
    return GORDIAN_OK;
}

static gordian_status open_journal(struct store *store, const struct folder_past *past,
                                   struct store_found *found, gordian_error *error)
{
    struct recovery *recovery = &store->recovery;
    TRY(check_folder_files(store, error));
    recovery_judge_loss(recovery, past);
    check_journal_end(store, past, found);
    gordian_status status = GORDIAN_OK;
    TRY(judge_loss(store, found, error));
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
                   "the newest snapshot is damaged: using the previous one, nothing is lost");
    }
    TRY(status);
    TRY(rewind_history(store, past_has_power_cut(past) && !repaired, error));
    /* The incidents must not be behind either. */
    TRY(history_explain(&store->history, recovery_apply(recovery, &store->history), error));
    store->journal.folder = store->folder.fd;
    store->journal.next = recovery->last + 1;
    store->journal.frame = recovery->frame;
    return recovery->file ? journal_resume(&store->journal, recovery->file, error)
                          : journal_roll(&store->journal, error);
}

/* ---- the backend */

#define DAY_MS UINT64_C(86400000)

void store_believe_clock(struct store *store)
{
    int64_t newest = 0;
    uint64_t keep = store->options.keep_incidents_ms, ahead = keep / 2 < DAY_MS ? keep / 2 : DAY_MS;
    if (!keep ||
        history_ask(store->history.db,
                    "SELECT max((SELECT coalesce(max(at), 0) FROM incident),"
                    " (SELECT coalesce(max(ended), 0) FROM incident))",
                    &newest) ||
        newest <= 0)
        return;
    if (store->wall_at > (uint64_t)newest + ahead)
        store->wall_at = (uint64_t)newest + ahead;
}

static gordian_status start_work(struct store *store, struct store_found *found,
                                 gordian_error *error)
{
    const struct recovery *recovery = &store->recovery;
    store->last = recovery->last;
    store->newest = recovery->snapshot;
    store->older = recovery->older;
    store->journal_bytes = recovery->bytes;
    store->snapshot_size = recovery->image.used;
    store->trimming = true;
    store_believe_clock(store);
    atomic_store(&store->committed, recovery->last);
    found->snapshot = recovery->snapshot;
    found->last = recovery->last;
    return store_start_thread(store, store_thread, error);
}

static gordian_status open_files(struct store *store, struct store_found *found,
                                 gordian_error *error)
{
    struct folder_past past = {0};
    gordian_status status =
        folder_open(&store->folder, store->options.folder, &past, &store->memory, error);
    THEN(status, repair_finish(&store->folder, error));
    THEN(status, folder_check(&store->folder, &store->options, found, error));
    /* Before reading: from here on the previous writer can acknowledge nothing, so what is read is
     * everything. */
    THEN(status, marker_claim(&store->folder.marker, error));
    THEN(status, open_history(store, found, error));
    THEN(status, open_journal(store, &past, found, error));
    THEN(status,
         folder_begin(&store->folder, store->options.durability, store->journal.first, error));
    THEN(status, incidents_join(&store->reader, store->options.folder, &store->memory, error));
    store->options.folder = store->folder.path; /* the caller's text may be freed */
    return status == GORDIAN_OK ? start_work(store, found, error) : status;
}

static gordian_status load_files(struct store *store, const struct store_loader *loader,
                                 void *context, gordian_error *error)
{
    store_lock(store);
    store_begin_io(store);
    store->loading = true;
    gordian_status status = recovery_load(&store->recovery, loader, context, error);
    recovery_free(&store->recovery, &store->memory);
    store->loading = false;
    store_end_io(store);
    store_unlock(store);
    return status;
}

static void close_files(struct store *store)
{
    journal_close(&store->journal);
    recovery_free(&store->recovery, &store->memory);
    folder_close(&store->folder, !store->doubtful, &store->memory);
}

const struct store_backend backend_files = {
    .at_once = true,
    .open = open_files,
    .load = load_files,
    .past = past_of_files,
    .begins = past_begins_in_files,
    .close = close_files,
};

/* Repair of a damaged folder. It never deletes anything: damaged files are renamed, and replaced by
 * files with all records up to the last good one and all readable incidents. */
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define READY HISTORY_FILE ".repaired"

/* Finds a free name like "journal-00000000000000000001.damaged-20261115T091500", with a counter if
 * that is taken. */
static gordian_status new_name(const struct folder *folder, const char *from, char *name,
                               size_t size, gordian_error *error)
{
    char when[32];
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%dT%H%M%S", &parts);
    for (unsigned n = 0; n < 1000; n++) {
        snprintf(name, size, n ? "%s.damaged-%s.%u" : "%s.damaged-%s", from, when, n);
        if (!file_exists(folder->fd, name))
            return GORDIAN_OK;
    }
    return fail(error, GORDIAN_STATUS_IO, "%.200s: too many damaged files", folder->path);
}

/* A missing file is not an error. */
static gordian_status move_aside(const struct folder *folder, const char *from,
                                 gordian_error *error)
{
    char name[JOURNAL_NAME];
    TRY(new_name(folder, from, name, sizeof name, error));
    if (renameat(folder->fd, from, folder->fd, name) != 0 && errno != ENOENT)
        return fail_disk(error, errno);
    return GORDIAN_OK;
}

/* ---- the journal */

static gordian_status move_numbered(const struct folder *folder, const char *prefix,
                                    const struct numbers *list, uint64_t after,
                                    gordian_error *error)
{
    char name[JOURNAL_NAME];
    /* The last one first, so that an interrupted repair leaves the damage as it was. */
    for (size_t i = list->count; i > 0 && list->items[i - 1] > after; i--) {
        file_name(name, sizeof name, prefix, list->items[i - 1]);
        TRY(move_aside(folder, name, error));
    }
    return GORDIAN_OK;
}

/* Copies the whole file to another name, then truncates it. */
static gordian_status copy_and_cut(const struct folder *folder, const struct journal_file *file,
                                   gordian_error *error)
{
    char from[JOURNAL_NAME], to[JOURNAL_NAME];
    file_name(from, sizeof from, "journal", file->first);
    gordian_status status = GORDIAN_OK;
    TRY(new_name(folder, from, to, sizeof to, error));
    int source = openat(folder->fd, from, O_WRONLY | O_CLOEXEC);
    int target = replace_begin(folder->fd, to, 0600);
    if (source < 0 || target < 0 ||
        !file_write_bytes(target, file->bytes.data, file->bytes.used, 0) || fsync(target) != 0 ||
        !replace_sync_folder(folder->fd) || ftruncate(source, (off_t)file->at) != 0 ||
        fsync(source) != 0)
        status = fail_disk(error, errno);
    file_close(source);
    file_close(target);
    return status;
}

gordian_status repair_journal(const struct folder *folder, const struct recovery *recovery,
                              gordian_error *error)
{
    const struct journal_file *file = recovery->file;
    bool whole = !file || file->at <= JOURNAL_HEAD; /* no frame in it is good */
    uint64_t after = !file ? 0 : whole ? file->first - 1 : file->first;
    gordian_status status =
        move_numbered(folder, "snapshot", &recovery->snapshots, recovery->snapshot, error);
    THEN(status, move_numbered(folder, "journal", &recovery->numbers, after, error));
    if (status == GORDIAN_OK && !whole)
        status = copy_and_cut(folder, file, error);
    THEN(status, disk_step(replace_sync_folder(folder->fd), error));
    return status;
}

/* ---- the history of incidents
 *
 * The only step that counts is a rename. Before it, the damaged database is in place; after it, the
 * new database is complete under the name READY, and the next start finishes the repair. */

gordian_status repair_finish(const struct folder *folder, gordian_error *error)
{
    if (!file_exists(folder->fd, READY))
        return GORDIAN_OK;
    gordian_status status = move_aside(folder, HISTORY_FILE "-wal", error);
    THEN(status, move_aside(folder, HISTORY_FILE, error));
    unlinkat(folder->fd, HISTORY_FILE "-shm", 0);
    THEN(status, disk_step(replace_end(folder->fd, -1, READY, HISTORY_FILE, NULL), error));
    return status;
}

/* Builds a new database from the readable content of the old one. */
static gordian_status build_history(const struct folder *folder, const char *path,
                                    gordian_error *error)
{
    struct history fresh;
    sqlite3 *old = NULL;
    bool damaged;
    gordian_status status = GORDIAN_OK;
    TRY(history_open(&fresh, path, true, &damaged, error));
    int code = sqlite3_exec(fresh.db, "PRAGMA synchronous = FULL", NULL, NULL, NULL);
    if (!code && sqlite3_open_v2(folder->file, &old, SQLITE_OPEN_READWRITE, NULL) == SQLITE_OK)
        code = history_copy(&fresh, old);
    sqlite3_close(old);
    /* Move everything into the file itself, so that it needs no log. */
    THEN(code, sqlite3_wal_checkpoint_v2(fresh.db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL));
    status = history_explain(&fresh, code, error);
    history_close(&fresh);
    return status;
}

gordian_status repair_history(const struct folder *folder, gordian_error *error)
{
    static const char fresh[] = HISTORY_FILE ".new";
    char path[4096];
    if ((size_t)snprintf(path, sizeof path, "%s/%s", folder->path, fresh) >= sizeof path)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
    unlinkat(folder->fd, fresh, 0); /* of an unfinished repair */
    unlinkat(folder->fd, HISTORY_FILE ".new-wal", 0);
    gordian_status status = build_history(folder, path, error);
    THEN(status, disk_step(replace_end(folder->fd, -1, fresh, READY, NULL), error));
    THEN(status, repair_finish(folder, error));
    return status;
}

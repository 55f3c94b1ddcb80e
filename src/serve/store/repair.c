/*
 * Moving aside what is damaged. Nothing is ever deleted: the damaged database keeps all its bytes
 * under another name, and what takes its place has every record up to the last good one, and every
 * incident that can still be read.
 */
#include "base/error.h"
#include "serve/store/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define PATH_ROOM 4096

static gordian_status fail_errno(gordian_error *error, const char *path)
{
    return fail(error, GORDIAN_STATUS_IO, "%.200s: %s", path, strerror(errno));
}

/* "gordian.db.damaged-20261115T091500", with a number behind it if that is taken. */
static gordian_status new_name(const struct folder *folder, char *name, size_t size,
                               gordian_error *error)
{
    char when[32];
    struct stat there;
    time_t now = time(NULL);
    struct tm parts;
    gmtime_r(&now, &parts);
    strftime(when, sizeof when, "%Y%m%dT%H%M%S", &parts);
    for (unsigned n = 0; n < 1000; n++) {
        int length = n ? snprintf(name, size, "%s.damaged-%s.%u", folder->file, when, n)
                       : snprintf(name, size, "%s.damaged-%s", folder->file, when);
        if ((size_t)length + sizeof "-wal" > size)
            return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
        if (lstat(name, &there) != 0 && errno == ENOENT)
            return GORDIAN_OK;
    }
    return fail(error, GORDIAN_STATUS_IO, "%.200s: too many damaged databases", folder->path);
}

static bool copy_bytes(int from, int to)
{
    char buffer[65536];
    ssize_t got;
    while ((got = read(from, buffer, sizeof buffer)) > 0)
        for (ssize_t done = 0; done < got;) {
            ssize_t part = write(to, buffer + done, (size_t)(got - done));
            if (part < 0 && errno != EINTR)
                return false;
            done += part > 0 ? part : 0;
        }
    return got == 0 && fsync(to) == 0;
}

/* One that is not there is no error. */
static gordian_status copy_file(const char *from, const char *to, gordian_error *error)
{
    int source = open(from, O_RDONLY | O_CLOEXEC);
    if (source < 0)
        return errno == ENOENT ? GORDIAN_OK : fail_errno(error, from);
    int target = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    gordian_status status = GORDIAN_OK;
    if (target < 0 || !copy_bytes(source, target))
        status = fail_errno(error, to);
    if (target >= 0)
        close(target);
    close(source);
    return status;
}

gordian_status repair_copy_aside(const struct folder *folder, char *name, size_t size,
                                 gordian_error *error)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    gordian_status status = new_name(folder, name, size, error);
    if (status == GORDIAN_OK)
        status = copy_file(folder->file, name, error);
    snprintf(from, sizeof from, "%s-wal", folder->file);
    snprintf(to, sizeof to, "%s-wal", name);
    if (status == GORDIAN_OK)
        status = copy_file(from, to, error);
    return status != GORDIAN_OK ? status : folder_sync(folder, error);
}

/* ---- a new one from what is good */

/* Incidents one by one, from both ends, as far as each way goes: damage is somewhere between. */
static void copy_incidents(struct journal *from, struct journal *to)
{
    static const char *const ways[] = {
        "SELECT * FROM incident ORDER BY id",
        "SELECT * FROM incident ORDER BY id DESC",
    };
    sqlite3_stmt *put = NULL;
    sqlite3_prepare_v2(to->db,
                       "INSERT OR IGNORE INTO incident VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10)", -1,
                       &put, NULL);
    for (size_t way = 0; put && way < 2; way++) {
        sqlite3_stmt *get = NULL;
        int code = sqlite3_prepare_v2(from->db, ways[way], -1, &get, NULL);
        while (!code && sqlite3_column_count(get) == 10 &&
               (code = sqlite3_step(get)) == SQLITE_ROW) {
            for (int column = 0; column < 10; column++)
                sqlite3_bind_value(put, column + 1, sqlite3_column_value(get, column));
            sqlite3_step(put); /* one that is not as it should be is left behind */
            code = sqlite3_reset(put) & 0;
        }
        sqlite3_finalize(get);
        if (code == SQLITE_DONE)
            break;
    }
    sqlite3_finalize(put);
}

/* What cannot be read is left behind. */
static gordian_status fill(struct journal *fresh, const char *old, const struct recovery *recovery,
                           const gordian_allocator *memory, gordian_error *error)
{
    char why[256];
    struct journal from;
    if (journal_open_raw(&from, old) != SQLITE_OK)
        return GORDIAN_OK;
    int code = recovery_copy(&from, fresh, recovery, memory);
    if (!code)
        code = journal_begin(fresh);
    if (!code) {
        copy_incidents(&from, fresh);
        code = journal_end(fresh, SQLITE_OK);
    }
    journal_close(&from);
    return code ? fail(error, GORDIAN_STATUS_IO, "cannot build a new database: %s",
                       journal_explain(fresh, code, why, sizeof why))
                : GORDIAN_OK;
}

/* ---- the new one in the place of the old one
 *
 * The one step that counts is a rename: before it the damaged database is where it was, behind it
 * the new one is whole under the name below, and whoever opens the folder next ends the rest. */
#define READY ".repaired"

/* The same bytes under another name: a copy only where there are no links. One that is not there is
 * no error. */
static gordian_status keep_as(const char *from, const char *to, gordian_error *error)
{
    if (link(from, to) == 0 || errno == ENOENT)
        return GORDIAN_OK;
    return copy_file(from, to, error);
}

static gordian_status keep_with_log(const struct folder *folder, const char *name,
                                    gordian_error *error)
{
    char from[PATH_ROOM], to[PATH_ROOM];
    gordian_status status = keep_as(folder->file, name, error);
    snprintf(from, sizeof from, "%s-wal", folder->file);
    snprintf(to, sizeof to, "%s-wal", name);
    if (status == GORDIAN_OK)
        status = keep_as(from, to, error);
    return status != GORDIAN_OK ? status : folder_sync(folder, error);
}

static gordian_status rename_file(const struct folder *folder, const char *from, const char *to,
                                  gordian_error *error)
{
    return rename(from, to) == 0 ? folder_sync(folder, error) : fail_errno(error, from);
}

gordian_status repair_finish(const struct folder *folder, gordian_error *error)
{
    static const char *const tails[] = {"-wal", "-shm"};
    char ready[PATH_ROOM], log[PATH_ROOM];
    if ((size_t)snprintf(ready, sizeof ready, "%s" READY, folder->file) >= sizeof ready)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
    if (access(ready, F_OK) != 0)
        return errno == ENOENT ? GORDIAN_OK : fail_errno(error, ready);
    /* The log is the old one's: it must be gone, on the disk as well, before the new one comes. */
    for (size_t i = 0; i < sizeof tails / sizeof *tails; i++) {
        snprintf(log, sizeof log, "%s%s", folder->file, tails[i]);
        if (unlink(log) != 0 && errno != ENOENT)
            return fail_errno(error, log);
    }
    gordian_status status = folder_sync(folder, error);
    return status != GORDIAN_OK ? status : rename_file(folder, ready, folder->file, error);
}

/* Everything into the file itself, which then needs no log. */
static gordian_status empty_log(struct journal *fresh, gordian_error *error)
{
    char why[256];
    int code = sqlite3_wal_checkpoint_v2(fresh->db, NULL, SQLITE_CHECKPOINT_TRUNCATE, NULL, NULL);
    return code ? fail(error, GORDIAN_STATUS_IO, "cannot build a new database: %s",
                       journal_explain(fresh, code, why, sizeof why))
                : GORDIAN_OK;
}

gordian_status repair_rebuild(const struct folder *folder, struct journal *journal,
                              const struct recovery *recovery, const gordian_allocator *memory,
                              char *name, size_t size, gordian_error *error)
{
    char path[PATH_ROOM], log[PATH_ROOM + sizeof "-wal"], ready[PATH_ROOM];
    struct journal fresh = {0};
    bool unreadable;
    snprintf(path, sizeof path, "%s.new", folder->file);
    snprintf(log, sizeof log, "%s-wal", path);
    snprintf(ready, sizeof ready, "%s" READY, folder->file);
    unlink(path); /* of a repair that did not end */
    unlink(log);
    journal_close(journal);
    gordian_status status = new_name(folder, name, size, error);
    if (status == GORDIAN_OK)
        status = journal_open(&fresh, path, NULL, STORE_FULL, &unreadable, error);
    if (status == GORDIAN_OK)
        status = fill(&fresh, folder->file, recovery, memory, error);
    if (status == GORDIAN_OK)
        status = empty_log(&fresh, error);
    journal_close(&fresh);
    if (status == GORDIAN_OK)
        status = keep_with_log(folder, name, error);
    if (status == GORDIAN_OK)
        status = rename_file(folder, path, ready, error);
    return status != GORDIAN_OK ? status : repair_finish(folder, error);
}

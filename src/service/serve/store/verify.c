/* Verifies a folder that is not in use, without changing it. */
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "service/serve/store/files.h"
#include "service/serve/store/store_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static gordian_status open_for_reading(const char *path, int *folder, gordian_error *error)
{
    *folder = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (*folder < 0)
        return fail(error, GORDIAN_STATUS_INPUT, "%.200s: %s", path, strerror(errno));
    if (flock(*folder, LOCK_SH | LOCK_NB) == 0 || errno != EWOULDBLOCK)
        return GORDIAN_OK; /* also if the file system does not support locks */
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "%.200s: a gordian serve uses this folder: verify a copy, or stop it first", path);
}

/* Is there a database with all its files? A marker that cannot be opened for writing is skipped. */
static gordian_status verify_contents(int folder, const char *path, bool *empty,
                                      gordian_error *error)
{
    struct marker marker;
    struct folder_contents contents = {0};
    gordian_error trouble = {0};
    char missing[JOURNAL_NAME];
    gordian_status status = marker_open(&marker, folder, &trouble);
    if (status == GORDIAN_STATUS_INPUT)
        fail(error, status, "%.200s/" MARKER_FILE ": %.100s", path, trouble.message);
    else
        status = folder_list(folder, &marker, &contents, error);
    if (status == GORDIAN_OK) {
        *empty = folder_is_empty(&contents, &marker);
        folder_find_missing(&contents, &marker, missing, sizeof missing);
        if (*empty && contents.others)
            status = fail(error, GORDIAN_STATUS_INPUT,
                          "%.200s: no database of gordian serve is here, only other files", path);
        else if (!*empty && missing[0])
            status = fail(error, GORDIAN_STATUS_INPUT, "%.200s: %.40s is missing", path, missing);
    }
    marker_close(&marker);
    return status;
}

/* Is the end of the journal where the lock file and the history expect it? */
static gordian_status verify_end(struct recovery *recovery, int folder, const char *path,
                                 gordian_error *error)
{
    struct folder_past past;
    char loss[200];
    folder_read_past(folder, &past);
    if (recovery->end == JOURNAL_TORN && !past.killed)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "%.200s: the data after record %llu fails its checksum, although the service was "
            "stopped properly",
            path, (unsigned long long)recovery->last);
    recovery_judge_loss(recovery, &past);
    if (!recovery->lost)
        return GORDIAN_OK;
    recovery_format_loss(recovery, loss, sizeof loss);
    return fail(error, GORDIAN_STATUS_INPUT, "%.200s: %s", path, loss);
}

static gordian_status check_journal(struct recovery *recovery, int folder, uint64_t applied,
                                    const char *path, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error trouble = {0};
    gordian_status status = recovery_check(recovery, folder, applied, 0, &memory, &trouble);
    if (status != GORDIAN_OK)
        return fail(error, status, "%.200s, reading the journal: %.190s", path, trouble.message);
    if (recovery->damaged)
        return fail(error, GORDIAN_STATUS_INPUT, "%.200s: %.200s", path, recovery->what);
    if (recovery->end == JOURNAL_BROKEN)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "%.200s: the data after record %llu fails its checksum, in the middle of a file", path,
            (unsigned long long)recovery->last);
    if (recovery->bad_snapshot)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "%.200s: the newest snapshot is damaged; the previous one and the journal are complete",
            path);
    return verify_end(recovery, folder, path, error);
}

static gordian_status verify_files(const char *path, int folder, const struct store_loader *loader,
                                   void *context, struct store_verdict *verdict,
                                   gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct incidents_db *db = NULL;
    struct recovery recovery = {0};
    uint64_t applied = 0;
    gordian_status status = incidents_open(&db, path, NULL, error);
    THEN(status, incidents_verify(db, &verdict->incidents, &applied, error));
    THEN(status, check_journal(&recovery, folder, applied, path, error));
    verdict->snapshot = recovery.snapshot;
    verdict->last = recovery.last;
    verdict->torn = recovery.end != JOURNAL_ENDS;
    verdict->ahead = recovery.applied > recovery.frame;
    THEN(status, recovery_load(&recovery, loader, context, error));
    recovery_free(&recovery, &memory);
    incidents_close(db);
    return status;
}

gordian_status store_verify(const char *path, const struct store_loader *loader, void *context,
                            struct store_verdict *verdict, gordian_error *error)
{
    int folder;
    *verdict = (struct store_verdict){0};
    gordian_status status = open_for_reading(path, &folder, error);
    THEN(status, verify_contents(folder, path, &verdict->empty, error));
    if (status == GORDIAN_OK && !verdict->empty)
        status = verify_files(path, folder, loader, context, verdict, error);
    file_close(folder);
    return status;
}

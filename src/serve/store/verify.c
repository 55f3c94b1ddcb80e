/* Is a folder that nobody works in whole? Nothing in it is changed. */
#include "base/error.h"
#include "base/memory.h"
#include "serve/store/parts.h"

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
        return GORDIAN_OK; /* also where there are no locks */
    return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                "%.200s: a gordian serve works here: verify a copy, or when it has ended", path);
}

/* The file that the marker names must be there. Who may not open it for writing does not learn. */
static gordian_status check_marker(int folder, const struct recovery *recovery, const char *path,
                                   gordian_error *error)
{
    struct marker marker;
    gordian_error trouble = {0};
    gordian_status status = marker_open(&marker, folder, &trouble);
    bool there = marker.newest == 0;
    for (size_t i = 0; i < recovery->numbers.count; i++)
        there |= recovery->numbers.items[i] == marker.newest;
    uint64_t newest = marker.newest;
    marker_close(&marker);
    if (status == GORDIAN_STATUS_INPUT)
        return fail(error, status, "%.200s/" MARKER_FILE ": %.100s", path, trouble.message);
    if (status == GORDIAN_OK && !there)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: the newest file of the journal, number %llu, is missing", path,
                    (unsigned long long)newest);
    return GORDIAN_OK;
}

/* Is the end of the journal where it was? */
static gordian_status check_end(struct recovery *recovery, int folder, const char *path,
                                gordian_error *error)
{
    struct folder_past past;
    char loss[200];
    folder_read_past(folder, &past);
    if (recovery->end == JOURNAL_TORN && !past.killed)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: what follows record %llu fails its checksum, although the service was "
                    "stopped in order",
                    path, (unsigned long long)recovery->last);
    recovery_judge_loss(recovery, &past);
    if (!recovery->lost)
        return GORDIAN_OK;
    recovery_tell_loss(recovery, loss, sizeof loss);
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
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: what follows record %llu fails its checksum, in the middle of a file",
                    path, (unsigned long long)recovery->last);
    if (recovery->bad_snapshot)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "%.200s: the newest snapshot is damaged; the one before it and the journal "
                    "have everything",
                    path);
    status = check_end(recovery, folder, path, error);
    return status == GORDIAN_OK ? check_marker(folder, recovery, path, error) : status;
}

gordian_status store_verify(const char *path, const struct store_loader *loader, void *context,
                            struct store_verdict *verdict, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct incidents_db *db = NULL;
    struct recovery recovery = {0};
    int folder;
    uint64_t applied = 0;
    *verdict = (struct store_verdict){0};
    gordian_status status = open_for_reading(path, &folder, error);
    if (status == GORDIAN_OK)
        status = incidents_open(&db, path, NULL, error);
    if (status == GORDIAN_OK)
        status = incidents_verify(db, &verdict->incidents, &applied, error);
    if (status == GORDIAN_OK)
        status = check_journal(&recovery, folder, applied, path, error);
    verdict->snapshot = recovery.snapshot;
    verdict->last = recovery.last;
    verdict->torn = recovery.end != JOURNAL_ENDS;
    verdict->ahead = recovery.applied > recovery.frame;
    if (status == GORDIAN_OK)
        status = recovery_load(&recovery, loader, context, error);
    recovery_free(&recovery, &memory);
    incidents_close(db);
    if (folder >= 0)
        close(folder);
    return status;
}

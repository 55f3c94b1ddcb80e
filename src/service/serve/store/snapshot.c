/* Writes and reads snapshot files. */
#include "service/serve/store/snapshot.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/serve/store/journal.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define NEW "snapshot.new"

/* A full disk may lack inodes instead of bytes, so name the failed step. */
static gordian_status fail_snapshot(const char *what, gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_IO, "%s: %s", what, strerror(errno));
}

static bool begin_snapshot_file(struct snapshot_job *job)
{
    uint8_t head[SNAPSHOT_HEAD] = "GRDS";
    wire_store32(head + 4, SNAPSHOT_VERSION);
    wire_store64(head + 8, job->number);
    wire_store64(head + 16, job->at);
    wire_store64(head + 24, job->body.used);
    wire_store32(head + 32, crc32c(0, job->body.data, job->body.used));
    wire_store32(head + 36, crc32c(0, head, 36));
    return file_write_bytes(job->fd, head, sizeof head, 0);
}

gordian_status snapshot_step(struct snapshot_job *job, int folder, gordian_error *error)
{
    size_t left = job->body.used - job->written;
    size_t part = left < SNAPSHOT_PART ? left : SNAPSHOT_PART;
    bool first = job->fd == 0;
    if (first && (job->fd = replace_begin(folder, NEW, 0600)) < 0)
        return fail_snapshot("cannot make " NEW, error);
    if ((first && !begin_snapshot_file(job)) ||
        !file_write_bytes(job->fd, job->body.data + job->written, part,
                          SNAPSHOT_HEAD + job->written) ||
        fdatasync(job->fd) != 0)
        return fail_snapshot("cannot write " NEW, error);
    job->written += part;
    return GORDIAN_OK;
}

gordian_status snapshot_finish(struct snapshot_job *job, int folder, gordian_error *error)
{
    char name[JOURNAL_NAME];
    file_name(name, sizeof name, "snapshot", job->number);
    return replace_end(folder, job->fd, NEW, name, NULL)
               ? GORDIAN_OK
               : fail_snapshot("cannot rename " NEW, error);
}

void snapshot_end(struct snapshot_job *job, int folder)
{
    if (job->fd > 0)
        close(job->fd);
    job->fd = 0;
    unlinkat(folder, NEW, 0);
}

bool snapshot_time(int folder, uint64_t number, uint64_t *at)
{
    uint8_t head[SNAPSHOT_HEAD];
    if (file_read_head(folder, "snapshot", number, head, sizeof head) != SNAPSHOT_HEAD ||
        memcmp(head, "GRDS", 4) != 0 || wire_load32(head + 36) != crc32c(0, head, 36))
        return false;
    *at = wire_load64(head + 16);
    return true;
}

gordian_status snapshot_read(int folder, uint64_t number, struct bytes *into, bool *good,
                             gordian_error *error)
{
    char name[JOURNAL_NAME];
    file_name(name, sizeof name, "snapshot", number);
    gordian_status status = file_read(folder, name, into, error);
    const uint8_t *head = into->data;
    *good = status == GORDIAN_OK && into->used >= SNAPSHOT_HEAD && memcmp(head, "GRDS", 4) == 0 &&
            wire_load32(head + 36) == crc32c(0, head, 36) &&
            wire_load32(head + 4) == SNAPSHOT_VERSION && wire_load64(head + 8) == number &&
            wire_load64(head + 24) == into->used - SNAPSHOT_HEAD &&
            wire_load32(head + 32) == crc32c(0, head + SNAPSHOT_HEAD, into->used - SNAPSHOT_HEAD);
    return status;
}

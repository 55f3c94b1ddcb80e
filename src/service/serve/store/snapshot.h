/*
 * Snapshots: a file each, whole or not there.
 *
 *     snapshot-N     N (20 digits) is the number of the last record it stands for
 *       head         "GRDS", version, N, time, length and checksum of the body, checksum of the
 * head body         of each section: length, name, length, bytes snapshot.new   one that is being
 * written
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_HEAD    40
#define SNAPSHOT_PART    (1u << 20) /* bytes written at once */

/* One on its way to the disk. */
struct snapshot_job {
    struct snapshot_job *next; /* among those that are done with */
    uint64_t number, at;
    uint64_t journal_bytes; /* that it makes superfluous */
    struct bytes body;
    size_t written; /* of it */
    int fd;         /* 0: not begun */
};

/* Writes the next part, and syncs it; the first begins the file. */
gordian_status snapshot_step(struct snapshot_job *job, int folder, gordian_error *error);
/* All of it is written: now it counts. */
gordian_status snapshot_finish(struct snapshot_job *job, int folder, gordian_error *error);
/* Nothing of it stays, unless it was finished. */
void snapshot_end(struct snapshot_job *job, int folder);

/* When it was taken; false: it cannot be read. */
bool snapshot_time(int folder, uint64_t number, uint64_t *at);
/* Reads one, with its head; *good: it is whole. */
gordian_status snapshot_read(int folder, uint64_t number, struct bytes *into, bool *good,
                             gordian_error *error);

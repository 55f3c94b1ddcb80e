/*
 * A snapshot: one file, which is either complete or absent.
 *
 *     snapshot-N     N (20 digits) is the number of the last record it contains
 *       head         "GRDS", version, N, time, length and checksum of the body, checksum of
 *                    the head
 *       body         of each section: length, name, length, bytes
 *     snapshot.new   a snapshot that is being written
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

#define SNAPSHOT_VERSION 1
#define SNAPSHOT_HEAD    40
#define SNAPSHOT_PART    (1u << 20) /* bytes written at once */

/* A snapshot that is being written. */
struct snapshot_job {
    struct snapshot_job *next; /* in the list of finished jobs */
    uint64_t number, at;
    uint64_t journal_bytes; /* journal bytes that it makes superfluous */
    struct bytes body;
    size_t written; /* bytes of the body */
    int fd;         /* 0: not started */
};

/* Writes and syncs the next part; the first call makes the file. */
gordian_status snapshot_step(struct snapshot_job *job, int folder, gordian_error *error);
/* Gives the complete file its name: from now on it counts. */
gordian_status snapshot_finish(struct snapshot_job *job, int folder, gordian_error *error);
/* Closes the file, and deletes it unless it is finished. */
void snapshot_end(struct snapshot_job *job, int folder);

/* Reads when it was taken; false: unreadable. */
bool snapshot_time(int folder, uint64_t number, uint64_t *at);
/* Reads a snapshot including its head; *good: it is intact. */
gordian_status snapshot_read(int folder, uint64_t number, struct bytes *into, bool *good,
                             gordian_error *error);

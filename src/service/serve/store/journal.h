/*
 * The journal: files of frames, a frame for every batch; what is written is never changed.
 *
 *     journal-N      N (20 digits) is the number of the first record in it, or behind it
 *       head         "GRDJ", version, N, number of the frame before, salt, checksum of all this
 *       frame        a head (below), records, incidents, zeros to a multiple of 8
 *       zeros        room that was asked for ahead, until the service ends in an orderly way
 *     journal-spare  one that is not needed any more, made empty: the next one, also when the disk
 *                    is full
 *     journal.new    one that is being made
 *
 *     head of a frame, bytes: 4 checksum of the rest of the head, 4 of what follows it, 8 its
 *     number, 4 how many were written before it with the same write, 4 bytes from here to the end
 *     of that, 8 number of the first record, 8 its time, 4 records, 4 their bytes, 4 incidents,
 *     4 their bytes
 *
 * Numbers are little-endian. Checksums are CRC-32C; those of frames begin with the salt, so nothing
 * that a client has sent can look like a frame.
 *
 * Functions that write leave nothing half done: what a failed one has left behind the last frame is
 * cut off before the next. One thread at a time uses a journal.
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

#define JOURNAL_VERSION 1
#define JOURNAL_HEAD    32  /* bytes of a file before its frames */
#define JOURNAL_FRAME   56  /* bytes of a frame before its records */
#define JOURNAL_GROUP   200 /* frames in one write, at most */
#define JOURNAL_NAME    128 /* bytes of the name of any file in the folder */

/* Records that belong together, with the incidents that began or ended with them. */
struct batch {
    struct batch *next;
    uint64_t first; /* number of the first record, or of the next one if there is none */
    uint64_t at;    /* of the first record, ms since 1970 */
    uint64_t frame; /* its number; 0: it is not in the journal yet */
    uint32_t count;
    uint32_t incident_count;
    struct bytes body;      /* of each record: time less `at`, length, bytes */
    struct bytes incidents; /* history_put */
    uint8_t head[JOURNAL_FRAME];
};

struct journal {
    int folder, fd;      /* descriptors; the folder belongs to somebody else */
    uint64_t first;      /* that its name tells */
    uint64_t next;       /* record */
    uint64_t frame;      /* number of the last one */
    uint64_t size, room; /* bytes up to the end of that, of the file */
    uint64_t ready;      /* bytes up to which zeros were written, if every commit is synced */
    uint32_t salt;
    bool leftovers; /* a write has failed: something may be behind `size` */
    bool full;      /* because the file could not grow */
    bool doubtful;  /* a sync has failed: what is here may never reach the disk */
};

/* Goes on behind the good frames of a file that was read. What is behind them is cut off. */
struct journal_file;
gordian_status journal_resume(struct journal *journal, const struct journal_file *file,
                              gordian_error *error);
/* Begins a file, behind everything there is: the old one, if there is any, is synced first. */
gordian_status journal_roll(struct journal *journal, gordian_error *error);
/* Appends batches, from `batch` on, with one write, and syncs it. `patient`: it may take time, to
 * begin a file or to write one again. */
gordian_status journal_append(struct journal *journal, struct batch *batch, size_t count, bool sync,
                              bool patient, gordian_error *error);
/* Brings what was appended to the disk. After this has failed once all of the file is written
 * again, to another one that takes its place: the system may have given up what it could not write.
 */
gordian_status journal_sync(struct journal *journal, gordian_error *error);
/* Is the file still where it was? */
bool journal_is_ours(const struct journal *journal);
/* A file that is not needed any more: a spare one, or deleted. False: errno. */
bool journal_retire(int folder, const char *name);
void journal_close(struct journal *journal);

/* ---- reading, all of a file at once */

/* How far a file is good: */
enum journal_end {
    JOURNAL_MORE,   /* here is a good frame */
    JOURNAL_ENDS,   /* to its end */
    JOURNAL_TORN,   /* to what was being written, and nothing is behind that */
    JOURNAL_BROKEN, /* to damage, and more is behind it */
};

struct journal_file {
    uint64_t first; /* as its name tells */
    uint64_t frame; /* number of the last frame read */
    uint32_t salt;
    size_t at; /* bytes read: all of them good; 0: it does not begin as it should */
    struct bytes bytes;
};

/* GORDIAN_STATUS_INPUT: of another version. */
gordian_status journal_read(struct journal_file *file, int folder, const char *name, uint64_t first,
                            const gordian_allocator *memory, gordian_error *error);
/* Looks at the beginning of a file only: the number of the frame before it, and unless NULL the
 * time of its first record (0: there is none yet). False: it does not begin as it should. */
bool journal_begins(int folder, uint64_t first, uint64_t *frame, uint64_t *at);
/* The next frame; its bytes stay where they are. */
enum journal_end journal_next(struct journal_file *file, struct batch *batch);

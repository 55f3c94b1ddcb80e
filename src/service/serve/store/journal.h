/*
 * The write-ahead journal: files of frames, one frame for each batch. Written frames never change.
 *
 *     journal-N      N (20 digits) is the number of the first record in it, or of the next record
 *       head         "GRDJ", version, N, number of the previous frame, salt, checksum of the head
 *       frame        a head (below), records, incidents, zeros to a multiple of 8
 *       zeros        preallocated space; removed at an orderly end
 *     journal-spare  an old file, emptied, for the next roll; also works when the disk is full
 *     journal.new    a file that is being made
 *
 *     head of a frame, in bytes: 4 checksum of the rest of the head, 4 checksum of the data, 8
 * frame number, 4 frames before it in the same write, 4 bytes from here to the end of that write, 8
 *     number of the first record, 8 its time, 4 records, 4 their bytes, 4 incidents, 4 their bytes
 *
 * Numbers are little-endian. A checksum is a CRC-32C. The checksum of a frame starts with the salt,
 * so that data sent by a client cannot look like a frame.
 *
 * A failed write leaves nothing behind: its remains are cut off before the next write. One thread
 * at a time uses a journal.
 */
#pragma once

#include "foundation/base/bytes.h"

#include <gordian/gordian.h>

#define JOURNAL_VERSION 1
#define JOURNAL_HEAD    32  /* bytes before the first frame */
#define JOURNAL_FRAME   56  /* bytes of the head of a frame */
#define JOURNAL_GROUP   200 /* maximum frames in one write */
#define JOURNAL_NAME    128 /* size of a buffer for any file name in the folder */

/* Records of one commit, with the incidents that began or ended with them. */
struct batch {
    struct batch *next;
    uint64_t first; /* number of the first record, or of the next one if there are none */
    uint64_t at;    /* time of the first record, ms since 1970 */
    uint64_t frame; /* its number; 0: not in the journal yet */
    uint32_t count;
    uint32_t incident_count;
    struct bytes body;      /* of each record: time minus `at`, length, bytes */
    struct bytes incidents; /* encoded by history_put */
    uint8_t head[JOURNAL_FRAME];
};

struct journal {
    int folder, fd;      /* descriptors; the caller owns the folder */
    uint64_t first;      /* number in its name */
    uint64_t next;       /* number of the next record */
    uint64_t frame;      /* number of the last frame */
    uint64_t size, room; /* end of the last frame; bytes of the file */
    uint64_t ready;      /* end of the zeros written ahead, with a sync per commit */
    uint32_t salt;
    bool leftovers; /* a write has failed: remains may lie behind `size` */
    bool full;      /* the file could not grow */
    bool doubtful;  /* a sync has failed: this data may never reach the disk */
};

/* Continues behind the good frames of a file that was read, and cuts off the rest. */
struct journal_file;
gordian_status journal_resume(struct journal *journal, const struct journal_file *file,
                              gordian_error *error);
/* Starts a new file. Syncs the old one first. */
gordian_status journal_roll(struct journal *journal, gordian_error *error);
/* Appends `count` batches with one write; `sync`: and syncs. `patient`: it may take longer, to
 * start a file or to rewrite one. */
gordian_status journal_append(struct journal *journal, struct batch *batch, size_t count, bool sync,
                              bool patient, gordian_error *error);
/* Syncs everything appended. After a failed sync, rewrites the whole file to a new one, because the
 * kernel may have dropped what it could not write. */
gordian_status journal_sync(struct journal *journal, gordian_error *error);
/* Is the file still in its place? */
bool journal_is_ours(const struct journal *journal);
/* Makes a superfluous file the spare one, or deletes it. False: errno. */
bool journal_retire(int folder, const char *name);
void journal_close(struct journal *journal);

/* ---- reading a whole file */

/* Where the good part of a file ends. */
enum journal_end {
    JOURNAL_MORE,   /* a good frame follows */
    JOURNAL_ENDS,   /* to its end */
    JOURNAL_TORN,   /* to an unfinished write at its end */
    JOURNAL_BROKEN, /* to damage with more data behind it */
};

struct journal_file {
    uint64_t first; /* number in its name */
    uint64_t frame; /* number of the last frame read */
    uint32_t salt;
    size_t at; /* bytes read, all good; 0: the head of the file is bad */
    struct bytes bytes;
};

/* Reads a file into memory. GORDIAN_STATUS_INPUT: another version. */
gordian_status journal_read(struct journal_file *file, int folder, const char *name, uint64_t first,
                            const gordian_allocator *memory, gordian_error *error);
/* Reads only the start of a file: the number of the previous frame, and unless NULL the time of its
 * first record (0: none yet). False: its head is bad. */
bool journal_begins(int folder, uint64_t first, uint64_t *frame, uint64_t *at);
/* Decodes the next frame; its bytes are not copied. */
enum journal_end journal_next(struct journal_file *file, struct batch *batch);

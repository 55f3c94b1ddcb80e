/*
 * Is the write-ahead log whole? When SQLite opens a log it uses the frames up to the last commit
 * before the first one that does not check, and says nothing about the rest. That is right for
 * what was being written when the power went, and wrong for damage in the middle. So the log is
 * read here first, by the published format (sqlite.org/fileformat2.html#walformat):
 *
 *     header, 32 bytes: magic, version, page size, checkpoint number, salt 1, salt 2, checksum
 *     frame, 24 bytes and a page: page number, size after commit or 0, the salts, checksum
 *
 * all big-endian; checksums run over everything before them. Frames of an earlier round have other
 * salts: the log ends where they begin.
 *
 * What follows the last good commit is an unfinished transaction: good frames, then perhaps one
 * that was being written. Behind that there may be what is left of a longer one that failed in this
 * very round; it has the same salts, and no commit. One that was unfinished when the process died
 * would look the same, once something shorter has been written over it: so it is cut off (wal_cut)
 * before anything is written. While the database is open SQLite's index of the log says where it
 * ends (wal_cut_unused).
 */
#include "base/error.h"
#include "serve/store/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER     32
#define FRAME_HEAD 24
#define PAGE_MAX   65536

struct wal {
    int fd;
    const char *path;
    bool big_endian; /* words of the checksum */
    uint32_t page;   /* bytes */
    uint8_t salts[8];
    uint32_t sum[2];
    uint8_t *frame; /* FRAME_HEAD + page */
};

static uint32_t big_word(const uint8_t *bytes)
{
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

static uint32_t sum_word(const struct wal *wal, const uint8_t *bytes)
{
    return wal->big_endian ? big_word(bytes)
                           : (uint32_t)bytes[3] << 24 | (uint32_t)bytes[2] << 16 |
                                 (uint32_t)bytes[1] << 8 | bytes[0];
}

static void add_to_sum(struct wal *wal, const uint8_t *bytes, size_t count)
{
    for (size_t i = 0; i + 8 <= count; i += 8) {
        wal->sum[0] += sum_word(wal, bytes + i) + wal->sum[1];
        wal->sum[1] += sum_word(wal, bytes + i + 4) + wal->sum[0];
    }
}

static bool sum_is(const struct wal *wal, const uint8_t *bytes)
{
    return big_word(bytes) == wal->sum[0] && big_word(bytes + 4) == wal->sum[1];
}

static gordian_status read_at(const struct wal *wal, uint8_t *bytes, size_t count, uint64_t offset,
                              size_t *got, gordian_error *error)
{
    *got = 0;
    while (*got < count) {
        ssize_t part = pread(wal->fd, bytes + *got, count - *got, (off_t)(offset + *got));
        if (part == 0)
            break;
        if (part < 0 && errno != EINTR)
            return fail(error, GORDIAN_STATUS_IO, "%.200s: %s", wal->path, strerror(errno));
        *got += part > 0 ? (size_t)part : 0;
    }
    return GORDIAN_OK;
}

/* False: this is no header of a log. */
static bool take_header(struct wal *wal, const uint8_t *header)
{
    uint32_t magic = big_word(header);
    wal->big_endian = magic & 1;
    wal->page = big_word(header + 8);
    memcpy(wal->salts, header + 16, sizeof wal->salts);
    add_to_sum(wal, header, 24);
    return (magic & ~1u) == 0x377f0682 && wal->page >= 512 && wal->page <= PAGE_MAX &&
           (wal->page & (wal->page - 1)) == 0 && sum_is(wal, header + 24);
}

/* Is the frame that has just been read good? */
static bool take_frame(struct wal *wal)
{
    add_to_sum(wal, wal->frame, 8);
    add_to_sum(wal, wal->frame + FRAME_HEAD, wal->page);
    return sum_is(wal, wal->frame + 16);
}

/* What the frames read so far say. */
struct reading {
    uint64_t round; /* frames of this round */
    bool bad;       /* one was bad, or of another round */
    bool behind;    /* one of this round came behind it */
    bool hole;      /* ... and between them was something else */
    bool foreign;   /* one was of another round, or is gone */
};

/* Takes the frame that has just been read, which is of this round, into account. */
static void judge_frame(struct wal *wal, bool whole, struct reading *reading,
                        struct wal_report *report)
{
    bool commits = big_word(wal->frame + 4) != 0;
    reading->round++;
    reading->behind |= reading->bad;
    reading->hole |= reading->foreign;
    if (!whole)
        return; /* it was being written */
    if (!reading->bad && take_frame(wal)) {
        if (commits)
            report->frames = reading->round;
        return;
    }
    reading->bad = true;
    report->lost_commits += commits;
}

static gordian_status read_frames(struct wal *wal, struct wal_report *report, gordian_error *error)
{
    struct reading reading = {0};
    bool whole = true;
    size_t size = FRAME_HEAD + wal->page, got;
    for (uint64_t offset = HEADER; whole; offset += size) {
        gordian_status status = read_at(wal, wal->frame, size, offset, &got, error);
        if (status != GORDIAN_OK)
            return status;
        whole = got == size;
        if (got >= FRAME_HEAD && memcmp(wal->frame + 8, wal->salts, 8) == 0)
            judge_frame(wal, whole, &reading, report);
        else
            reading.bad = reading.foreign = true; /* nothing may be left of ours: look on */
    }
    bool broken = reading.hole || (reading.behind && report->lost_commits > 0);
    report->cut = reading.round - report->frames;
    report->bytes = HEADER + report->frames * size;
    report->state = report->cut == 0 ? WAL_WHOLE : broken ? WAL_BROKEN : WAL_TORN;
    return GORDIAN_OK;
}

static gordian_status check_open(struct wal *wal, struct wal_report *report, gordian_error *error)
{
    uint8_t header[HEADER];
    size_t got;
    gordian_status status = read_at(wal, header, sizeof header, 0, &got, error);
    if (status != GORDIAN_OK || got < sizeof header)
        return status; /* shorter than a header: nothing was ever committed to it */
    if (!take_header(wal, header)) {
        uint8_t more;
        status = read_at(wal, &more, 1, HEADER + FRAME_HEAD + 512, &got, error);
        report->cut = got;
        report->state = got ? WAL_BROKEN : WAL_TORN; /* without frames it is no loss */
        return status;
    }
    return read_frames(wal, report, error);
}

static gordian_status name_of_log(char *path, size_t size, const char *database,
                                  gordian_error *error)
{
    if ((size_t)snprintf(path, size, "%s-wal", database) >= size)
        return fail(error, GORDIAN_STATUS_INPUT, "the name of the folder is too long");
    return GORDIAN_OK;
}

gordian_status wal_cut(const char *database, const struct wal_report *report, gordian_error *error)
{
    char path[4096];
    gordian_status status = name_of_log(path, sizeof path, database, error);
    if (status != GORDIAN_OK)
        return status;
    int fd = open(path, O_WRONLY | O_CLOEXEC);
    if (fd < 0 || ftruncate(fd, (off_t)report->bytes) != 0 || fsync(fd) != 0)
        status = fail(error, GORDIAN_STATUS_IO, "%.200s: %s", path, strerror(errno));
    if (fd >= 0)
        close(fd);
    return status;
}

gordian_status wal_check(const char *database, struct wal_report *report, gordian_error *error)
{
    char path[4096];
    struct wal wal = {.path = path};
    gordian_allocator memory = memory_allocator(NULL);
    *report = (struct wal_report){.state = WAL_WHOLE};
    gordian_status status = name_of_log(path, sizeof path, database, error);
    if (status != GORDIAN_OK)
        return status;
    wal.fd = open(path, O_RDONLY | O_CLOEXEC);
    if (wal.fd < 0 && errno == ENOENT)
        return GORDIAN_OK;
    if (wal.fd < 0)
        return fail(error, GORDIAN_STATUS_IO, "%.200s: %s", path, strerror(errno));
    wal.frame = memory_alloc(&memory, FRAME_HEAD + PAGE_MAX);
    status = wal.frame ? check_open(&wal, report, error) : fail_memory(error);
    memory_free(&memory, wal.frame);
    close(wal.fd);
    return status;
}

/* ------------------------------------------------------------------ while it is open */

/* Of the index of the log, in shared memory (sqlite.org/walformat.html#the_wal_index_file_format);
 * numbers are the machine's own. Only who writes changes it. */
#define INDEX_VERSION 3007000
#define INDEX_REGION  32768

struct index_header {
    uint32_t version, unused, change;
    uint8_t is_init, big_endian;
    uint16_t page; /* 1: 65536 */
    uint32_t frames, pages;
    uint32_t sums[2];
    uint8_t salts[8];
};

static bool read_index(sqlite3 *db, struct index_header *index)
{
    sqlite3_file *file = NULL;
    void volatile *region = NULL;
    if (sqlite3_file_control(db, "main", SQLITE_FCNTL_FILE_POINTER, &file) || !file ||
        !file->pMethods || file->pMethods->iVersion < 2 ||
        file->pMethods->xShmMap(file, 0, INDEX_REGION, 0, &region) || !region)
        return false;
    memcpy(index, (const void *)(uintptr_t)region, sizeof *index);
    return index->version == INDEX_VERSION && index->is_init;
}

static bool cut_behind(int fd, const struct index_header *index)
{
    uint8_t header[HEADER];
    struct stat stat;
    uint64_t page = index->page == 1 ? 65536 : index->page;
    off_t end = (off_t)(HEADER + index->frames * (FRAME_HEAD + page));
    /* Of another round: SQLite was about to begin a new one, and nothing of that is here. */
    if (pread(fd, header, sizeof header, 0) != HEADER || memcmp(header + 16, index->salts, 8) != 0)
        return true;
    return fstat(fd, &stat) == 0 && (stat.st_size <= end || ftruncate(fd, end) == 0);
}

bool wal_cut_unused(sqlite3 *db)
{
    char path[4096];
    struct index_header index;
    gordian_error error;
    const char *database = sqlite3_db_filename(db, "main");
    if (!database || name_of_log(path, sizeof path, database, &error) || !read_index(db, &index))
        return false;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT;
    bool good = cut_behind(fd, &index);
    int why = errno;
    close(fd); /* no locks are held by way of the log itself */
    errno = why;
    return good;
}

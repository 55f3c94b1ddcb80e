/* The write-ahead journal: appends frames with a checksum, syncs, and reads files back. */
#define _GNU_SOURCE /* fallocate */
#include "service/serve/store/journal.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"
#include "service/serve/store/files.h"
#include "service/wire/wire.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define AHEAD     (1 << 20)  /* bytes preallocated at once */
#define SPARE_MAX (16 << 20) /* maximum bytes of a spare file */
#define SPARE     "journal-spare"
#define NEW       "journal.new"

static const uint8_t zeros[AHEAD / 16];

/* ---- files */

static bool write_journal_head(int fd, const struct journal *journal, uint32_t salt)
{
    uint8_t head[JOURNAL_HEAD] = "GRDJ";
    wire_store32(head + 4, JOURNAL_VERSION);
    wire_store64(head + 8, journal->next);
    wire_store64(head + 16, journal->frame);
    wire_store32(head + 24, salt);
    wire_store32(head + 28, crc32c(0, head, 28));
    return file_write_bytes(fd, head, sizeof head, 0);
}

/* Replaces the current file by another, which gets its name. False: it could not be renamed. If
 * only the folder could not be synced, the journal becomes `doubtful`. */
static bool switch_to(struct journal *journal, int fd, const char *from, uint64_t first,
                      uint64_t size)
{
    char name[JOURNAL_NAME];
    struct stat about;
    bool synced;
    file_name(name, sizeof name, "journal", first);
    if (fstat(fd, &about) != 0 || !replace_end(journal->folder, fd, from, name, &synced))
        return false;
    file_close(journal->fd);
    journal->fd = fd;
    journal->first = first;
    journal->size = journal->ready = size;
    journal->room = (uint64_t)about.st_size;
    journal->leftovers = false;
    journal->doubtful = !synced;
    return true;
}

static bool cut_behind(struct journal *journal)
{
    if (ftruncate(journal->fd, (off_t)journal->size) != 0)
        return false;
    journal->room = journal->ready = journal->size;
    journal->leftovers = false;
    return true;
}

gordian_status journal_roll(struct journal *journal, gordian_error *error)
{
    uint32_t salt;
    /* Without records in the current file, the new one would have the same name. So it is made only
     * to replace an empty file. */
    if (journal->fd >= 0 && journal->first == journal->next &&
        (journal->size > JOURNAL_HEAD || !journal->full))
        return GORDIAN_OK;
    if (journal->fd >= 0 && !cut_behind(journal))
        return fail_disk(error, errno);
    if (journal->fd >= 0 && journal_sync(journal, error) != GORDIAN_OK)
        return GORDIAN_STATUS_IO;
    bool spare = file_exists(journal->folder, SPARE);
    int fd = spare ? openat(journal->folder, SPARE, O_RDWR | O_CLOEXEC)
                   : replace_begin(journal->folder, NEW, 0600);
    if (fd < 0 || getrandom(&salt, sizeof salt, 0) != sizeof salt ||
        !write_journal_head(fd, journal, salt) ||
        !switch_to(journal, fd, spare ? SPARE : NEW, journal->next, JOURNAL_HEAD)) {
        gordian_status status = fail_disk(error, errno);
        file_close(fd);
        return status;
    }
    journal->salt = salt;
    return journal->doubtful ? fail_disk(error, errno) : GORDIAN_OK;
}

gordian_status journal_resume(struct journal *journal, const struct journal_file *file,
                              gordian_error *error)
{
    char name[JOURNAL_NAME];
    file_name(name, sizeof name, "journal", file->first);
    journal->fd = openat(journal->folder, name, O_RDWR | O_CLOEXEC);
    journal->first = file->first;
    journal->salt = file->salt;
    journal->size = file->at;
    return disk_step(journal->fd >= 0 && cut_behind(journal) && fsync(journal->fd) == 0, error);
}

void journal_close(struct journal *journal)
{
    if (journal->fd >= 0) {
        cut_behind(journal); /* if that fails, the next start does it */
        close(journal->fd);
    }
    journal->fd = -1;
}

bool journal_is_ours(const struct journal *journal)
{
    char name[JOURNAL_NAME];
    file_name(name, sizeof name, "journal", journal->first);
    return file_is_same(journal->fd, journal->folder, name);
}

bool journal_retire(int folder, const char *name)
{
    struct stat about;
    int fd = openat(folder, name, O_RDWR | O_CLOEXEC);
    bool spare = fd >= 0 && !file_exists(folder, SPARE) && fstat(fd, &about) == 0;
    off_t size = spare && about.st_size < SPARE_MAX ? about.st_size : SPARE_MAX;
    /* Truncates it, but keeps its blocks where the file system supports that. */
    spare = spare && ftruncate(fd, size) == 0 && fallocate(fd, FALLOC_FL_ZERO_RANGE, 0, size) == 0;
    file_close(fd);
    return spare ? replace_end(folder, -1, name, SPARE, NULL) : unlinkat(folder, name, 0) == 0;
}

/* ---- frames */

static size_t padding_bytes(size_t count)
{
    return -count % 8;
}

static size_t frame_size(const struct batch *batch)
{
    size_t body = batch->body.used + batch->incidents.used;
    return JOURNAL_FRAME + body + padding_bytes(body);
}

static void fill_frame_head(const struct journal *journal, struct batch *batch, size_t before,
                            size_t rest)
{
    uint8_t *head = batch->head;
    uint32_t crc = crc32c(journal->salt, batch->body.data, batch->body.used);
    crc = crc32c(crc, batch->incidents.data, batch->incidents.used);
    crc = crc32c(crc, zeros, padding_bytes(batch->body.used + batch->incidents.used));
    wire_store32(head + 4, crc);
    wire_store64(head + 8, journal->frame + 1 + before);
    wire_store32(head + 16, (uint32_t)before);
    wire_store32(head + 20, (uint32_t)rest);
    wire_store64(head + 24, batch->first);
    wire_store64(head + 32, batch->at);
    wire_store32(head + 40, batch->count);
    wire_store32(head + 44, (uint32_t)batch->body.used);
    wire_store32(head + 48, batch->incident_count);
    wire_store32(head + 52, (uint32_t)batch->incidents.used);
    wire_store32(head, crc32c(journal->salt, head + 4, JOURNAL_FRAME - 4));
}

/* Preallocates blocks, because syncing a file that has grown is expensive. With a sync per commit,
 * write zeros ahead; otherwise fallocate is enough. If that fails, there may still be space for the
 * frames themselves. */
static void preallocate(struct journal *journal, size_t size, bool sync)
{
    uint64_t end = journal->size + size;
    uint64_t from = journal->ready > journal->size ? journal->ready : journal->size;
    struct iovec parts[AHEAD / sizeof zeros];
    for (size_t i = 0; i < AHEAD / sizeof zeros; i++)
        parts[i] = (struct iovec){(void *)zeros, sizeof zeros};
    if (sync && end > journal->ready && size <= AHEAD &&
        file_write(journal->fd, parts, AHEAD / sizeof zeros, from))
        journal->ready = from + AHEAD;
    else if (!sync && end > journal->room &&
             fallocate(journal->fd, 0, (off_t)journal->room, (off_t)(size + AHEAD)) == 0)
        journal->room += size + AHEAD;
}

/* The owner of the last batch may be linking another behind it, so do not read its `next`. */
static bool write_frames(struct journal *journal, struct batch *batch, size_t count, size_t size,
                         bool sync)
{
    struct iovec parts[4 * JOURNAL_GROUP];
    size_t rest = size;
    int used = 0;
    for (size_t i = 0; i < count; i++) {
        batch = i ? batch->next : batch;
        fill_frame_head(journal, batch, i, rest);
        rest -= frame_size(batch);
        parts[used++] = (struct iovec){batch->head, JOURNAL_FRAME};
        parts[used++] = (struct iovec){batch->body.data, batch->body.used};
        parts[used++] = (struct iovec){batch->incidents.data, batch->incidents.used};
        parts[used++] =
            (struct iovec){(void *)zeros, padding_bytes(batch->body.used + batch->incidents.used)};
    }
    journal->leftovers = true;
    preallocate(journal, size, sync);
    if (file_write(journal->fd, parts, used, journal->size))
        return true;
    journal->full = errno == ENOSPC || errno == EDQUOT || errno == EFBIG;
    return false;
}

static gordian_status write_batches(struct journal *journal, struct batch *batch, size_t count,
                                    bool sync, gordian_error *error)
{
    size_t size = 0;
    struct batch *each = batch;
    for (size_t i = 0; i < count; i++, each = i < count ? each->next : each)
        size += frame_size(each);
    journal->full = false;
    if (!write_frames(journal, batch, count, size, sync))
        return fail_disk(error, errno);
    if (sync && fdatasync(journal->fd) != 0) {
        journal->doubtful = true;
        return fail_disk(error, errno);
    }
    journal->leftovers = false;
    journal->size += size;
    journal->room = journal->size > journal->room ? journal->size : journal->room;
    for (size_t i = 0; i < count; i++) {
        batch = i ? batch->next : batch;
        batch->frame = ++journal->frame;
        journal->next = batch->first + batch->count;
    }
    return GORDIAN_OK;
}

gordian_status journal_append(struct journal *journal, struct batch *batch, size_t count, bool sync,
                              bool patient, gordian_error *error)
{
    if (patient && journal->doubtful)
        TRY(journal_sync(journal, error));
    if (journal->leftovers && !cut_behind(journal))
        return fail_disk(error, errno);
    gordian_status status = write_batches(journal, batch, count, sync, error);
    if (status == GORDIAN_OK || !patient || !journal->full || !file_exists(journal->folder, SPARE))
        return status;
    /* This file cannot grow any more; the spare file has its blocks already. */
    TRY(journal_roll(journal, error));
    return write_batches(journal, batch, count, sync, error);
}

/* ---- syncs */

/* Writes everything appended to this file to a new file, if it can still be read: the kernel may
 * have dropped pages it could not write. */
static gordian_status write_again(struct journal *journal, int fd, gordian_error *error)
{
    struct journal_file file;
    struct batch batch;
    char name[JOURNAL_NAME];
    gordian_allocator memory = memory_allocator(NULL);
    file_name(name, sizeof name, "journal", journal->first);
    gordian_status status =
        journal_read(&file, journal->folder, name, journal->first, &memory, error);
    while (status == GORDIAN_OK && file.at < journal->size &&
           journal_next(&file, &batch) == JOURNAL_MORE) {
    }
    if (status == GORDIAN_OK && file.at != journal->size)
        status = fail(error, GORDIAN_STATUS_IO,
                      "data that the disk did not accept is no longer in memory");
    if (status == GORDIAN_OK &&
        (!file_write_bytes(fd, file.bytes.data, file.at, 0) ||
         !switch_to(journal, fd, NEW, journal->first, file.at) || journal->doubtful))
        status = fail_disk(error, errno);
    bytes_free(&file.bytes);
    return status;
}

gordian_status journal_sync(struct journal *journal, gordian_error *error)
{
    if (!journal->doubtful && fdatasync(journal->fd) == 0)
        return GORDIAN_OK;
    if (!journal->doubtful) {
        journal->doubtful = true;
        return fail(error, GORDIAN_STATUS_IO, "syncing failed: %s", strerror(errno));
    }
    int fd = replace_begin(journal->folder, NEW, 0600);
    gordian_status status = fd < 0 ? fail_disk(error, errno) : write_again(journal, fd, error);
    if (status != GORDIAN_OK && fd >= 0 && fd != journal->fd)
        close(fd);
    return status;
}

/* ---- reading */

gordian_status journal_read(struct journal_file *file, int folder, const char *name, uint64_t first,
                            const gordian_allocator *memory, gordian_error *error)
{
    *file = (struct journal_file){.first = first};
    bytes_init(&file->bytes, memory);
    gordian_status status = file_read(folder, name, &file->bytes, error);
    const uint8_t *head = file->bytes.data;
    if (status != GORDIAN_OK || file->bytes.used < JOURNAL_HEAD || memcmp(head, "GRDJ", 4) != 0 ||
        wire_load32(head + 28) != crc32c(0, head, 28) || wire_load64(head + 8) != first)
        return status;
    if (wire_load32(head + 4) != JOURNAL_VERSION)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "made by another version of gordian serve: it has version %u, this program "
                    "reads %d; use the program that made it, or another folder",
                    (unsigned)wire_load32(head + 4), JOURNAL_VERSION);
    file->frame = wire_load64(head + 16);
    file->salt = wire_load32(head + 24);
    file->at = JOURNAL_HEAD;
    return GORDIAN_OK;
}

bool journal_begins(int folder, uint64_t first, uint64_t *frame, uint64_t *at)
{
    uint8_t bytes[JOURNAL_HEAD + JOURNAL_FRAME] = {0};
    if (file_read_head(folder, "journal", first, bytes, sizeof bytes) < JOURNAL_HEAD ||
        memcmp(bytes, "GRDJ", 4) != 0 || wire_load32(bytes + 28) != crc32c(0, bytes, 28) ||
        wire_load64(bytes + 8) != first)
        return false;
    const uint8_t *head = bytes + JOURNAL_HEAD;
    *frame = wire_load64(bytes + 16);
    if (at)
        *at = wire_load32(head) == crc32c(wire_load32(bytes + 24), head + 4, JOURNAL_FRAME - 4)
                  ? wire_load64(head + 32)
                  : 0;
    return true;
}

/* Returns the head of a frame that follows the last good one; NULL: there is none here. */
static const uint8_t *head_at(const struct journal_file *file, size_t at)
{
    const uint8_t *head = file->bytes.data + at;
    if (file->bytes.used - at < JOURNAL_FRAME)
        return NULL;
    uint64_t number = wire_load64(head + 8);
    return number > file->frame && number - file->frame <= file->bytes.used &&
                   wire_load32(head) == crc32c(file->salt, head + 4, JOURNAL_FRAME - 4)
               ? head
               : NULL;
}

/* Judges the bytes behind the last good frame. They may be zeros, or parts of the last write.
 * Anything else is damage: a frame that was written later, or bytes behind the end of that write.
 */
static enum journal_end classify_rest(const struct journal_file *file)
{
    const uint8_t *head = head_at(file, file->at);
    size_t size = file->bytes.used, until = head ? file->at + wire_load32(head + 20) : size;
    enum journal_end end = JOURNAL_ENDS;
    for (size_t at = file->at; at < size; at += 8) {
        if (memcmp(file->bytes.data + at, zeros, size - at < 8 ? size - at : 8) == 0)
            continue;
        head = head_at(file, at);
        if (at >= until ||
            (head && wire_load64(head + 8) - wire_load32(head + 16) > file->frame + 1))
            return JOURNAL_BROKEN;
        end = JOURNAL_TORN;
    }
    return end;
}

static bool records_fit(const struct batch *batch)
{
    struct bytes_in in = {.at = batch->body.data, .end = batch->body.data + batch->body.used};
    size_t length;
    for (uint64_t i = 0; i < batch->count && !in.bad; i++) {
        bytes_take_i64(&in);
        bytes_take_text(&in, &length);
    }
    return !in.bad && bytes_left(&in) == 0;
}

enum journal_end journal_next(struct journal_file *file, struct batch *batch)
{
    const uint8_t *head = head_at(file, file->at);
    if (!head)
        return classify_rest(file);
    *batch = (struct batch){
        .first = wire_load64(head + 24),
        .at = wire_load64(head + 32),
        .frame = wire_load64(head + 8),
        .count = wire_load32(head + 40),
        .incident_count = wire_load32(head + 48),
        .body = {.data = (uint8_t *)head + JOURNAL_FRAME, .used = wire_load32(head + 44)},
    };
    batch->incidents.data = batch->body.data + batch->body.used;
    batch->incidents.used = wire_load32(head + 52);
    if (frame_size(batch) > file->bytes.used - file->at ||
        crc32c(file->salt, batch->body.data, frame_size(batch) - JOURNAL_FRAME) !=
            wire_load32(head + 4) ||
        !records_fit(batch))
        return classify_rest(file);
    file->at += frame_size(batch);
    file->frame = batch->frame;
    return JOURNAL_MORE;
}

#include "foundation/base/packed/packed_file.h"

#include "foundation/base/crc.h"
#include "foundation/base/error.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

/* Chunks of a section that were read. */
struct cache {
    uint8_t **chunks;
    char **tails; /* names that begin in this chunk and end in the next */
};

struct packed_file {
    gordian_allocator memory;
    int fd;
    uint64_t start;
    struct image_layout layout;
    uint8_t *sums;
    pthread_mutex_t lock; /* protects what follows */
    struct cache caches[IMAGE_PARTS];
    gordian_status status; /* of the names that were requested */
    gordian_error failure;
};

/* ------------------------------------------------------------------ bytes */

static gordian_status read_file_at(const struct packed_file *file, uint64_t at, void *to,
                                   size_t size, gordian_error *error)
{
    size_t done = 0;
    while (done < size) {
        ssize_t count =
            pread(file->fd, (char *)to + done, size - done, (off_t)(file->start + at + done));
        if (count < 0 && errno == EINTR)
            continue;
        if (count < 0)
            return fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
        if (count == 0)
            return fail(error, GORDIAN_STATUS_INPUT, PACKED_CUT_SHORT,
                        (unsigned long long)at + done);
        done += (size_t)count;
    }
    return GORDIAN_OK;
}

gordian_status packed_file_read(struct packed_file *file, enum image_part part, uint64_t first,
                                void *to, size_t bytes, gordian_error *error)
{
    const struct image_section *section = &file->layout.sections[part];
    const uint8_t *sums = file->sums + 4 * (section->sum + first);
    uint64_t begin = section->at + first * IMAGE_CHUNK;
    uint8_t padding[8];
    size_t padded =
        (size_t)(image_padded(bytes) - bytes); /* none, except at the end of the section */
    TRY(read_file_at(file, begin, to, bytes, error));
    TRY(read_file_at(file, begin + bytes, padding, padded, error));
    for (size_t at = 0; at < bytes; at += IMAGE_CHUNK, sums += 4) {
        bool last = bytes - at <= IMAGE_CHUNK;
        uint32_t sum = crc32c(0, (const uint8_t *)to + at, last ? bytes - at : IMAGE_CHUNK);
        if (crc32c(sum, padding, last ? padded : 0) != packed_get32(sums))
            return fail(error, GORDIAN_STATUS_INPUT, PACKED_DAMAGED);
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ opening */

static bool open_cache(struct packed_file *file, enum image_part part, bool names)
{
    struct cache *cache = &file->caches[part];
    size_t size = (size_t)image_chunks(file->layout.sections[part].bytes) * sizeof(void *);
    cache->chunks = memory_zeroed(&file->memory, size);
    cache->tails = names ? memory_zeroed(&file->memory, size) : NULL;
    return cache->chunks && (!names || cache->tails);
}

static gordian_status open_layout(struct packed_file *file, uint64_t size, gordian_error *error)
{
    uint8_t head[IMAGE_HEAD];
    const struct image_layout *layout = &file->layout;
    TRY(read_file_at(file, 0, head, sizeof head, error));
    if (!image_read_head(&file->layout, head))
        return fail(error, GORDIAN_STATUS_INPUT, PACKED_BAD_HEAD);
    if (size < layout->size)
        return fail(error, GORDIAN_STATUS_INPUT, PACKED_CUT_SHORT, (unsigned long long)size);
    if (size > layout->size)
        return fail(error, GORDIAN_STATUS_INPUT, PACKED_BEHIND_END,
                    (unsigned long long)layout->size);
    size_t bytes = (size_t)(layout->size - layout->sums);
    file->sums = memory_alloc(&file->memory, bytes);
    if (!file->sums)
        return fail_memory(error);
    TRY(read_file_at(file, layout->sums, file->sums, bytes, error));
    if (!image_sums_right(layout, file->sums))
        return fail(error, GORDIAN_STATUS_INPUT, PACKED_DAMAGED);
    return GORDIAN_OK;
}

gordian_status packed_file_open(struct packed_file **out, const struct source_file *source,
                                const gordian_allocator *memory, gordian_error *error)
{
    struct packed_file *file = *out = memory_zeroed(memory, sizeof *file);
    if (!file)
        return fail_memory(error);
    file->memory = *memory;
    file->start = source->start;
    pthread_mutex_init(&file->lock, NULL);
    file->fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
    gordian_status status =
        file->fd >= 0 ? open_layout(file, source->end - source->start, error)
                      : fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
    for (unsigned part = IMAGE_PROCESS_MARKS; part < IMAGE_PARTS && status == GORDIAN_OK; part++)
        if (!open_cache(file, (enum image_part)part,
                        part == IMAGE_PROCESS_NAMES || part == IMAGE_RESOURCE_NAMES))
            status = fail_memory(error);
    if (status != GORDIAN_OK) {
        packed_file_close(file);
        *out = NULL;
    }
    return status;
}

static void close_cache(struct packed_file *file, enum image_part part)
{
    struct cache *cache = &file->caches[part];
    uint64_t count = image_chunks(file->layout.sections[part].bytes);
    for (uint64_t i = 0; i < count && cache->chunks; i++)
        memory_free(&file->memory, cache->chunks[i]);
    for (uint64_t i = 0; i < count && cache->tails; i++)
        memory_free(&file->memory, cache->tails[i]);
    memory_free_all(&file->memory, cache->chunks, cache->tails);
}

void packed_file_close(struct packed_file *file)
{
    if (!file)
        return;
    gordian_allocator memory = file->memory;
    for (unsigned part = IMAGE_PROCESS_MARKS; part < IMAGE_PARTS; part++)
        close_cache(file, (enum image_part)part);
    if (file->fd >= 0)
        close(file->fd);
    pthread_mutex_destroy(&file->lock);
    memory_free_all(&memory, file->sums, file);
}

const struct image_layout *packed_file_layout(const struct packed_file *file)
{
    return &file->layout;
}

/* ------------------------------------------------------------------ names */

/* Keeps only the first failure. */
static void note_file_failure(struct packed_file *file, gordian_status status,
                              const gordian_error *failure)
{
    if (file->status != GORDIAN_OK)
        return;
    file->status = status;
    file->failure = *failure;
}

static const char *note_senseless(struct packed_file *file)
{
    gordian_error failure = {0};
    note_file_failure(file, fail(&failure, GORDIAN_STATUS_INPUT, PACKED_SENSELESS), &failure);
    return NULL;
}

/* Returns a chunk and its size; NULL: failed. */
static const uint8_t *get_chunk(struct packed_file *file, enum image_part part, uint64_t number,
                                size_t *count)
{
    uint8_t **chunk = &file->caches[part].chunks[number];
    uint64_t left = file->layout.sections[part].bytes - number * IMAGE_CHUNK;
    *count = left < IMAGE_CHUNK ? (size_t)left : IMAGE_CHUNK;
    if (*chunk != NULL)
        return *chunk;
    gordian_error failure = {0};
    uint8_t *bytes = memory_alloc(&file->memory, *count);
    gordian_status status = bytes ? packed_file_read(file, part, number, bytes, *count, &failure)
                                  : fail_memory(&failure);
    if (status != GORDIAN_OK) {
        note_file_failure(file, status, &failure);
        memory_free(&file->memory, bytes);
        return NULL;
    }
    return *chunk = bytes;
}

/* Returns the offset of the name after the one at `at`; the end of the section if there is none. */
static uint64_t pass_name(struct packed_file *file, enum image_part names, uint64_t at)
{
    const uint64_t bytes = file->layout.sections[names].bytes;
    while (at < bytes) {
        size_t count, from = at % IMAGE_CHUNK;
        const uint8_t *chunk = get_chunk(file, names, at / IMAGE_CHUNK, &count);
        if (!chunk)
            return bytes;
        const uint8_t *end = memchr(chunk + from, 0, count - from);
        if (end)
            return at + (uint64_t)(end + 1 - (chunk + from));
        at += count - from;
    }
    return bytes;
}

/* Joins a name that begins in one chunk and ends in the next, once. */
static const char *join_name(struct packed_file *file, enum image_part names, uint64_t number,
                             const uint8_t *head, size_t length)
{
    char **tail = &file->caches[names].tails[number];
    size_t count = 0;
    if (*tail != NULL)
        return *tail;
    bool more = (number + 1) * IMAGE_CHUNK < file->layout.sections[names].bytes;
    const uint8_t *next = more ? get_chunk(file, names, number + 1, &count) : NULL;
    const uint8_t *end = next ? memchr(next, 0, count) : NULL;
    if (!end)
        return note_senseless(file);
    size_t rest = (size_t)(end + 1 - next);
    char *joined = memory_alloc(&file->memory, length + rest);
    if (!joined) {
        gordian_error failure = {0};
        note_file_failure(file, fail_memory(&failure), &failure);
        return NULL;
    }
    memcpy(joined, head, length);
    memcpy(joined + length, next, rest);
    return *tail = joined;
}

static const char *packed_name_at(struct packed_file *file, enum image_part names, uint64_t at)
{
    size_t count, from = at % IMAGE_CHUNK;
    if (at >= file->layout.sections[names].bytes)
        return note_senseless(file);
    const uint8_t *chunk = get_chunk(file, names, at / IMAGE_CHUNK, &count);
    if (!chunk)
        return NULL;
    return memchr(chunk + from, 0, count - from)
               ? (const char *)chunk + from
               : join_name(file, names, at / IMAGE_CHUNK, chunk + from, count - from);
}

static const char *find_packed_name(struct packed_file *file, enum image_part names, uint32_t id)
{
    const enum image_part marks = (enum image_part)(names - 1);
    uint64_t mark = (uint64_t)(id / IMAGE_MARK) * 8;
    size_t count;
    const uint8_t *chunk = get_chunk(file, marks, mark / IMAGE_CHUNK, &count);
    if (!chunk)
        return NULL;
    uint64_t at = packed_get64(chunk + mark % IMAGE_CHUNK);
    for (uint32_t skip = id % IMAGE_MARK; skip > 0; skip--)
        at = pass_name(file, names, at);
    return packed_name_at(file, names, at);
}

const char *packed_file_name(struct packed_file *file, enum image_part names, uint32_t id)
{
    uint64_t count = names == IMAGE_PROCESS_NAMES ? file->layout.processes : file->layout.resources;
    if (id >= count)
        return "";
    pthread_mutex_lock(&file->lock);
    const char *name = find_packed_name(file, names, id);
    pthread_mutex_unlock(&file->lock);
    return name ? name : "";
}

gordian_status packed_file_check(struct packed_file *file, gordian_error *error)
{
    pthread_mutex_lock(&file->lock);
    gordian_status status = file->status;
    if (status != GORDIAN_OK && error)
        *error = file->failure;
    pthread_mutex_unlock(&file->lock);
    return status;
}

/* Packs and unpacks snapshots (foundation/base/packed/packed_snapshot.h). */
#include "engines/detect/check/background_device.h"
#include "engines/detect/check/snapshot.h"
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/threads/thread_pool.h"

#include <errno.h>
#include <unistd.h>

/* ------------------------------------------------------------------ lists */

static gordian_status fail_sense(gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, PACKED_SENSELESS);
}

/* Adds entries from some bytes of one of the first three sections. */
static gordian_status add_section_entries(gordian_snapshot *snapshot, enum image_part part,
                                          const uint8_t *bytes, uint64_t count,
                                          gordian_error *error)
{
    if (part == IMAGE_TOTALS) {
        for (uint64_t i = 0; i < count / 8; i++)
            TRY(gordian_snapshot_add_resource(snapshot, packed_get64(bytes + 8 * i), NULL, error));
        return GORDIAN_OK;
    }
    for (uint64_t i = 0; i < count / IMAGE_EDGE; i++) {
        struct image_edge edge = packed_image_edge(bytes, i);
        TRY((part == IMAGE_HOLDS ? gordian_snapshot_hold : gordian_snapshot_wait)(
            snapshot, edge.process, edge.resource, edge.units, error));
    }
    return GORDIAN_OK;
}

static gordian_status add_packed_processes(gordian_snapshot *snapshot, uint64_t count,
                                           gordian_error *error)
{
    for (uint64_t p = 0; p < count; p++)
        TRY(gordian_snapshot_add_process(snapshot, NULL, error));
    return GORDIAN_OK;
}

static gordian_status take_section(gordian_snapshot *snapshot, struct packed_file *file,
                                   enum image_part part, uint8_t *buffer, gordian_error *error)
{
    uint64_t left = packed_file_layout(file)->sections[part].bytes;
    gordian_status status = GORDIAN_OK;
    for (uint64_t chunk = 0; left > 0 && status == GORDIAN_OK; chunk++) {
        size_t some = left < IMAGE_CHUNK ? (size_t)left : IMAGE_CHUNK;
        status = packed_file_read(file, part, chunk, buffer, some, error);
        if (status != GORDIAN_OK)
            break;
        status = add_section_entries(snapshot, part, buffer, some, error);
        if (status == GORDIAN_STATUS_INPUT)
            status = fail_sense(error);
        left -= some;
    }
    return status;
}

static gordian_status load_lists(gordian_snapshot *snapshot, struct packed_file *file,
                                 const gordian_allocator *memory, gordian_error *error)
{
    uint8_t *buffer = memory_alloc(memory, IMAGE_CHUNK);
    gordian_status status = buffer ? GORDIAN_OK : fail_memory(error);
    THEN(status, add_packed_processes(snapshot, packed_file_layout(file)->processes, error));
    for (unsigned part = IMAGE_TOTALS; part <= IMAGE_WAITS && status == GORDIAN_OK; part++)
        status = take_section(snapshot, file, (enum image_part)part, buffer, error);
    memory_free(memory, buffer);
    return status;
}

/* ------------------------------------------------------------------ arrays */

#define PIECE       64 /* chunks that a thread takes at a time */
#define PIECE_BYTES ((uint64_t)PIECE * IMAGE_CHUNK)

/* The two arrays of a file without lists, read by several threads. */
struct loading {
    gordian_snapshot *snapshot;
    struct packed_file *file;
    uint64_t next; /* next piece; the pieces of the holds come first */
    uint64_t hold_pieces, pieces;
    pthread_mutex_t lock; /* protects what follows */
    gordian_status status;
    gordian_error failure;
};

static void note_load_failure(struct loading *loading, gordian_status status,
                              const gordian_error *failure)
{
    pthread_mutex_lock(&loading->lock);
    if (loading->status == GORDIAN_OK) {
        loading->status = status;
        loading->failure = *failure;
    }
    pthread_mutex_unlock(&loading->lock);
}

static void to_own_order(uint32_t *array, uint64_t count)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (uint64_t i = 0; i < count; i++)
        array[i] = packed_get32(&array[i]);
#else
    (void)array;
    (void)count;
#endif
}

/* Loads piece `number` of an array to its place and checks it while it is in the cache. */
static gordian_status load_array_piece(struct loading *loading, enum image_part part,
                                       uint64_t number, gordian_error *error)
{
    gordian_snapshot *snapshot = loading->snapshot;
    const bool holds = part == IMAGE_HOLDS;
    uint64_t begin = number * PIECE_BYTES;
    uint64_t left = packed_file_layout(loading->file)->sections[part].bytes - begin;
    size_t bytes = (size_t)(left < PIECE_BYTES ? left : PIECE_BYTES);
    uint32_t *to = (holds ? snapshot->holder : snapshot->wait) + begin / sizeof *to;
    TRY(packed_file_read(loading->file, part, number * PIECE, to, bytes, error));
    to_own_order(to, bytes / sizeof *to);
    return image_array_fits(to, bytes / sizeof *to,
                            holds ? snapshot->process_count : snapshot->resource_count)
               ? GORDIAN_OK
               : fail_sense(error);
}

static void load_pieces(void *context, unsigned member)
{
    struct loading *loading = context;
    (void)member;
    for (;;) {
        uint64_t piece = __atomic_fetch_add(&loading->next, 1, __ATOMIC_RELAXED);
        if (piece >= loading->pieces)
            return;
        gordian_error failure = {0};
        bool holds = piece < loading->hold_pieces;
        gordian_status status =
            load_array_piece(loading, holds ? IMAGE_HOLDS : IMAGE_WAITS,
                             holds ? piece : piece - loading->hold_pieces, &failure);
        if (status != GORDIAN_OK) {
            note_load_failure(loading, status, &failure);
            return;
        }
    }
}

static uint64_t piece_count(uint64_t bytes)
{
    return (bytes + PIECE_BYTES - 1) / PIECE_BYTES;
}

/* Names are not checked. */
static gordian_status take_arrays(gordian_snapshot *snapshot, struct packed_file *file,
                                  unsigned threads, gordian_error *error)
{
    const struct image_layout *layout = packed_file_layout(file);
    struct loading loading = {
        .snapshot = snapshot,
        .file = file,
        .hold_pieces = piece_count(layout->sections[IMAGE_HOLDS].bytes),
    };
    if (!snapshot_enlarge(snapshot, layout->processes, layout->resources))
        return fail_memory(error);
    memory_expect_random(&snapshot->memory, snapshot->wait,
                         snapshot->process_count * sizeof *snapshot->wait);
    memory_expect_random(&snapshot->memory, snapshot->holder,
                         snapshot->resource_count * sizeof *snapshot->holder);
    loading.pieces = loading.hold_pieces + piece_count(layout->sections[IMAGE_WAITS].bytes);
    pthread_mutex_init(&loading.lock, NULL);
    thread_pool_run(snapshot_threads(snapshot, threads, loading.pieces / 16), load_pieces,
                    &loading);
    pthread_mutex_destroy(&loading.lock);
    if (loading.status != GORDIAN_OK && error)
        *error = loading.failure;
    return loading.status;
}

/* ------------------------------------------------------------------ reading */

static gordian_status take_image(gordian_snapshot *snapshot, const struct packed_image *image,
                                 gordian_error *error)
{
    const struct image_layout *layout = &image->layout;
    gordian_status status = GORDIAN_OK;
    if (layout->lists) {
        status = add_packed_processes(snapshot, layout->processes, error);
        for (unsigned part = IMAGE_TOTALS; part <= IMAGE_WAITS && status == GORDIAN_OK; part++)
            status = add_section_entries(snapshot, (enum image_part)part, image->sections[part],
                                         layout->sections[part].bytes, error);
        return status == GORDIAN_STATUS_INPUT ? fail_sense(error) : status;
    }
    if (!snapshot_enlarge(snapshot, layout->processes, layout->resources))
        return fail_memory(error);
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        snapshot->wait[p] = packed_get32(image->sections[IMAGE_WAITS] + 4 * (size_t)p);
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        snapshot->holder[q] = packed_get32(image->sections[IMAGE_HOLDS] + 4 * (size_t)q);
    return GORDIAN_OK;
}

static gordian_status unpack_file(gordian_snapshot *snapshot, gordian_names *names,
                                  const struct source_file *source,
                                  const gordian_check_options *options, gordian_error *error)
{
    TRY(packed_file_open(&names->file, source, &names->memory, error));
    const struct image_layout *layout = packed_file_layout(names->file);
    if (!snapshot->device &&
        background_device_pays(options->engine, layout->processes + layout->resources))
        snapshot->device = background_device_begin();
    return layout->lists ? load_lists(snapshot, names->file, &names->memory, error)
                         : take_arrays(snapshot, names->file, options->threads, error);
}

gordian_status snapshot_unpack(gordian_snapshot *snapshot, gordian_names *names,
                               struct unpack *unpack, const gordian_check_options *options,
                               gordian_error *error)
{
    struct source_file source;
    if (!source_is_file(&unpack->inner, &source)) {
        struct packed_image *image = &names->image;
        if (!packed_image_load(image, unpack, &names->memory))
            return unpack_fail(unpack, error);
        TRY(take_image(snapshot, image, error));
        packed_image_keep_names(image);
        return GORDIAN_OK;
    }
    source.start -= unpack->at; /* what has been read of it */
    TRY(unpack_file(snapshot, names, &source, options, error));
    lseek(source.fd, (off_t)source.end, SEEK_SET);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ writing */

typedef const char *name_of(void *context, uint32_t id);

static uint64_t name_bytes(name_of *name, void *context, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += strlen(name(context, i)) + 1;
    return bytes;
}

static void write_packed_names(struct image_writer *out, name_of *name, void *context,
                               uint32_t count)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % IMAGE_MARK == 0)
            image_u64(out, at);
        at += strlen(name(context, i)) + 1;
    }
    image_end_section(out);
    for (uint32_t i = 0; i < count; i++) {
        const char *text = name(context, i);
        image_bytes(out, text, strlen(text) + 1);
    }
    image_end_section(out);
}

static void write_packed_edge(struct image_writer *out, struct snapshot_edge edge)
{
    image_u64(out, edge.units);
    image_u32(out, edge.process);
    image_u32(out, edge.resource);
}

static void write_lists(struct image_writer *out, const gordian_snapshot *snapshot)
{
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        image_u64(out, snapshot_total(snapshot, q));
    image_end_section(out);
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        if (snapshot->holder[q] != NONE)
            write_packed_edge(out, (struct snapshot_edge){snapshot_first_hold(snapshot, q),
                                                          snapshot->holder[q], q});
    for (uint32_t i = 0; i < snapshot->holds.count; i++)
        write_packed_edge(out, snapshot->holds.edges[i]);
    image_end_section(out);
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        if (snapshot->wait[p] != NONE)
            write_packed_edge(out, (struct snapshot_edge){snapshot_first_wait(snapshot, p), p,
                                                          snapshot->wait[p]});
    for (uint32_t i = 0; i < snapshot->waits.count; i++)
        write_packed_edge(out, snapshot->waits.edges[i]);
    image_end_section(out);
}

static void write_arrays(struct image_writer *out, const gordian_snapshot *snapshot)
{
    image_end_section(out); /* no totals */
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        image_u32(out, snapshot->holder[q]);
    image_end_section(out);
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        image_u32(out, snapshot->wait[p]);
    image_end_section(out);
}

static uint64_t count_taken(const uint32_t *array, uint32_t count)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; i++)
        taken += array[i] != NONE;
    return taken;
}

gordian_status snapshot_pack(const gordian_snapshot *snapshot, const struct snapshot_naming *naming,
                             const gordian_writer *writer, const gordian_allocator *memory,
                             gordian_error *error)
{
    struct image_counts counts = {
        .processes = snapshot->process_count,
        .resources = snapshot->resource_count,
        .process_bytes = name_bytes(naming->process, naming->context, snapshot->process_count),
        .resource_bytes = name_bytes(naming->resource, naming->context, snapshot->resource_count),
        .lists = snapshot->units || snapshot->wait_units || snapshot->holds.count ||
                 snapshot->waits.count,
    };
    if (counts.lists) {
        counts.holds =
            snapshot->holds.count + count_taken(snapshot->holder, snapshot->resource_count);
        counts.waits = snapshot->waits.count + count_taken(snapshot->wait, snapshot->process_count);
    }
    struct image_writer *out = image_begin(writer, &counts, memory);
    if (!out)
        return fail_memory(error);
    (counts.lists ? write_lists : write_arrays)(out, snapshot);
    write_packed_names(out, naming->process, naming->context, snapshot->process_count);
    write_packed_names(out, naming->resource, naming->context, snapshot->resource_count);
    return image_end(out) ? GORDIAN_OK
                          : fail(error, GORDIAN_STATUS_IO, "cannot write: %s", strerror(errno));
}

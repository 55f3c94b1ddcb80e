/* The packed form of a snapshot (base/packed_image.h), to memory and back. */
#include "base/error.h"
#include "base/memory.h"
#include "detect/check/snapshot.h"
#include "detect/check/snapshot_text.h"

#include <errno.h>

/* ------------------------------------------------------------------ reading */

static gordian_status fail_sense(gordian_error *error)
{
    return fail(error, GORDIAN_STATUS_INPUT, "a packed snapshot that makes no sense");
}

/* Everything in arrays: no name is looked at. */
static gordian_status take_arrays(gordian_snapshot *snapshot, const struct packed_image *image,
                                  gordian_error *error)
{
    if (!snapshot_extend(snapshot, image->processes.count, image->resources.count))
        return fail_memory(error);
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        snapshot->wait[p] = packed_get32(image->wait + 4 * (size_t)p);
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        snapshot->holder[q] = packed_get32(image->holder + 4 * (size_t)q);
    return GORDIAN_OK;
}

static gordian_status take_lists(gordian_snapshot *snapshot, const struct packed_image *image,
                                 gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    for (uint64_t q = 0; q < image->resources.count && status == GORDIAN_OK; q++)
        status = gordian_snapshot_add_resource(snapshot, packed_get64(image->totals + 8 * q), NULL,
                                               error);
    for (uint64_t p = 0; p < image->processes.count && status == GORDIAN_OK; p++)
        status = gordian_snapshot_add_process(snapshot, NULL, error);
    for (uint64_t i = 0; i < image->hold_count && status == GORDIAN_OK; i++) {
        struct image_edge edge = packed_image_edge(image->holds, i);
        status = gordian_snapshot_hold(snapshot, edge.process, edge.resource, edge.units, error);
    }
    for (uint64_t i = 0; i < image->wait_count && status == GORDIAN_OK; i++) {
        struct image_edge edge = packed_image_edge(image->waits, i);
        status = gordian_snapshot_wait(snapshot, edge.process, edge.resource, edge.units, error);
    }
    return status == GORDIAN_STATUS_INPUT ? fail_sense(error) : status;
}

gordian_status snapshot_unpack(gordian_snapshot *snapshot, gordian_names *names,
                               struct unpack *unpack, const gordian_allocator *memory,
                               gordian_error *error)
{
    struct packed_image *image = &names->image;
    if (!packed_image_load(image, unpack, memory))
        return unpack_fail(unpack, error);
    gordian_status status = (image->lists ? take_lists : take_arrays)(snapshot, image, error);
    if (status == GORDIAN_OK)
        packed_image_keep_names(image);
    return status;
}

/* ------------------------------------------------------------------ writing */

typedef const char *name_of(const gordian_names *names, uint32_t id);

static uint64_t name_bytes(const gordian_names *names, name_of *name, uint32_t count)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < count; i++)
        bytes += strlen(name(names, i)) + 1;
    return bytes;
}

static void write_names(struct image_writer *out, const gordian_names *names, name_of *name,
                        uint32_t count, uint64_t bytes)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (i % IMAGE_MARK == 0)
            image_u64(out, at);
        at += strlen(name(names, i)) + 1;
    }
    for (uint32_t i = 0; i < count; i++)
        image_bytes(out, name(names, i), strlen(name(names, i)) + 1);
    image_pad(out, bytes);
}

static void write_edge(struct image_writer *out, struct snapshot_edge edge)
{
    image_u64(out, edge.units);
    image_u32(out, edge.process);
    image_u32(out, edge.resource);
}

static void write_lists(struct image_writer *out, const gordian_snapshot *snapshot)
{
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        image_u64(out, snapshot_total(snapshot, q));
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        if (snapshot->holder[q] != NONE)
            write_edge(out, (struct snapshot_edge){snapshot_first_hold(snapshot, q),
                                                   snapshot->holder[q], q});
    for (uint32_t i = 0; i < snapshot->holds.count; i++)
        write_edge(out, snapshot->holds.edges[i]);
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        if (snapshot->wait[p] != NONE)
            write_edge(out, (struct snapshot_edge){snapshot_first_wait(snapshot, p), p,
                                                   snapshot->wait[p]});
    for (uint32_t i = 0; i < snapshot->waits.count; i++)
        write_edge(out, snapshot->waits.edges[i]);
}

static void write_arrays(struct image_writer *out, const gordian_snapshot *snapshot)
{
    for (uint32_t p = 0; p < snapshot->process_count; p++)
        image_u32(out, snapshot->wait[p]);
    image_pad(out, 4 * (uint64_t)snapshot->process_count);
    for (uint32_t q = 0; q < snapshot->resource_count; q++)
        image_u32(out, snapshot->holder[q]);
    image_pad(out, 4 * (uint64_t)snapshot->resource_count);
}

static uint64_t count_taken(const uint32_t *array, uint32_t count)
{
    uint64_t taken = 0;
    for (uint32_t i = 0; i < count; i++)
        taken += array[i] != NONE;
    return taken;
}

static struct image_counts count_all(const gordian_snapshot *snapshot, const gordian_names *names)
{
    struct image_counts counts = {
        .processes = snapshot->process_count,
        .resources = snapshot->resource_count,
        .process_bytes = name_bytes(names, gordian_names_process, snapshot->process_count),
        .resource_bytes = name_bytes(names, gordian_names_resource, snapshot->resource_count),
        .lists = snapshot->units || snapshot->wait_units || snapshot->holds.count ||
                 snapshot->waits.count,
    };
    if (counts.lists) {
        counts.holds =
            snapshot->holds.count + count_taken(snapshot->holder, snapshot->resource_count);
        counts.waits = snapshot->waits.count + count_taken(snapshot->wait, snapshot->process_count);
    }
    return counts;
}

gordian_status snapshot_pack(const gordian_snapshot *snapshot, const gordian_names *names,
                             const gordian_writer *writer, const gordian_allocator *memory,
                             gordian_error *error)
{
    struct image_counts counts = count_all(snapshot, names);
    struct image_writer *out = memory_alloc(memory, sizeof *out);
    if (!out)
        return fail_memory(error);
    image_begin(out, writer, &counts);
    write_names(out, names, gordian_names_process, snapshot->process_count, counts.process_bytes);
    write_names(out, names, gordian_names_resource, snapshot->resource_count,
                counts.resource_bytes);
    (counts.lists ? write_lists : write_arrays)(out, snapshot);
    bool written = image_end(out);
    memory_free(memory, out);
    return written ? GORDIAN_OK
                   : fail(error, GORDIAN_STATUS_IO, "cannot write: %s", strerror(errno));
}

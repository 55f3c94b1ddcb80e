/* Reads a snapshot from text: the lines of a trace that state what is, not what happens. */
#include "engines/detect/check/background_device.h"
#include "engines/detect/check/snapshot.h"
#include "engines/detect/check/snapshot_text.h"
#include "engines/rag/trace_ahead.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <unistd.h>

/* Files from this size on are read by all cores, in pieces of this many bytes. More than one thread
 * for this many bytes would only take memory. */
#define PARALLEL_FILE   (UINT64_C(32) << 20)
#define PARALLEL_PIECE  (512u << 10)
#define PARALLEL_THREAD (UINT64_C(4) << 20)

/* A snapshot being read. */
struct reading {
    gordian_trace trace;
    gordian_snapshot *snapshot;
    gordian_names *names;
    struct trace_ahead ahead;
    uint32_t *others; /* of an await */
    size_t other_room;
};

void gordian_names_close(gordian_names *names)
{
    if (!names)
        return;
    gordian_allocator memory = names->memory;
    names_free(&names->processes);
    names_free(&names->resources);
    sharded_interner_free(&names->process_interner);
    sharded_interner_free(&names->resource_interner);
    packed_image_free(&names->image, &memory);
    packed_file_close(names->file);
    memory_free(&memory, names);
}

const char *gordian_names_process(const gordian_names *names, uint32_t process)
{
    if (names->file)
        return packed_file_name(names->file, IMAGE_PROCESS_NAMES, process);
    if (names->image.bytes.data)
        return packed_image_name(&names->image.processes, process);
    return names->crowded ? sharded_interner_text(&names->process_interner, process)
                          : names_text(&names->processes, process);
}

const char *gordian_names_resource(const gordian_names *names, uint32_t resource)
{
    if (names->file)
        return packed_file_name(names->file, IMAGE_RESOURCE_NAMES, resource);
    if (names->image.bytes.data)
        return packed_image_name(&names->image.resources, resource);
    return names->crowded ? sharded_interner_text(&names->resource_interner, resource)
                          : names_text(&names->resources, resource);
}

gordian_status gordian_names_check(const gordian_names *names, gordian_error *error)
{
    return names->file ? packed_file_check(names->file, error) : GORDIAN_OK;
}

gordian_names *snapshot_names_open(const gordian_allocator *memory)
{
    gordian_names *names = memory_zeroed(memory, sizeof *names);
    if (!names)
        return NULL;
    names->memory = *memory;
    names_init(&names->processes, memory);
    names_init(&names->resources, memory);
    sharded_interner_init(&names->process_interner, memory);
    sharded_interner_init(&names->resource_interner, memory);
    return names;
}

/* ---- lines */

static gordian_status read_resource_line(struct reading *reading, gordian_error *error)
{
    gordian_trace *trace = &reading->trace;
    struct names *names = &reading->names->resources;
    uint32_t id = names_find(names, trace->name.text, trace->name.length);
    if (id != GORDIAN_NONE)
        return trace_redeclared(trace, id, error);
    TRY(gordian_snapshot_add_resource(reading->snapshot, trace->units, &id, error));
    if (!names_put(names, id, trace->name.text, trace->name.length) || !trace_declare(trace, id))
        return fail_memory(error);
    return GORDIAN_OK;
}

/* Returns the id of a process and creates it if it is new. */
static gordian_status name_process(struct reading *reading, const gordian_word *name, uint32_t *id,
                                   gordian_error *error)
{
    struct names *names = &reading->names->processes;
    *id = names_find(names, name->text, name->length);
    if (*id != GORDIAN_NONE)
        return GORDIAN_OK;
    TRY(gordian_snapshot_add_process(reading->snapshot, id, error));
    return names_put(names, *id, name->text, name->length) ? GORDIAN_OK : fail_memory(error);
}

/* Returns the id of the line's process. */
static gordian_status take_process(struct reading *reading, uint32_t *id, gordian_error *error)
{
    return name_process(reading, &reading->trace.name, id, error);
}

/* Reads one Q=N of a `hold` or a `wait`. */
static gordian_status read_snapshot_edge(struct reading *reading, uint32_t process,
                                         const gordian_trace_item *item, gordian_error *error)
{
    const gordian_trace *trace = &reading->trace;
    char shown[TRACE_SHOWN_MAX], name[TRACE_SHOWN_MAX];
    bool hold = trace->op == GORDIAN_OP_HOLD;
    uint32_t resource = names_find(&reading->names->resources, item->name.text, item->name.length);
    if (resource == GORDIAN_NONE)
        return trace_fail(trace, &item->word, error, "resource '%s' was never declared",
                          trace_show(&item->name, name));
    gordian_status status = (hold ? gordian_snapshot_hold : gordian_snapshot_wait)(
        reading->snapshot, process, resource, item->units, error);
    if (status != GORDIAN_STATUS_INPUT)
        return status;
    /* The snapshot knows only ids. */
    return trace_fail(trace, &item->word, error,
                      hold ? "'%s': the holds of resource '%s' exceed its units"
                           : "'%s': more units than resource '%s' has",
                      trace_show(&item->word, shown), trace_show(&item->name, name));
}

static gordian_status read_snapshot_edges(struct reading *reading, gordian_error *error)
{
    const gordian_trace *trace = &reading->trace;
    char shown[TRACE_SHOWN_MAX];
    if (trace->op == GORDIAN_OP_AWAIT) {
        uint32_t process, resource;
        gordian_status status = take_process(reading, &process, error);
        if (!memory_grow(&reading->snapshot->memory, &reading->others, &reading->other_room,
                         trace->item_count, sizeof *reading->others))
            return fail_memory(error);
        for (size_t i = 0; i < trace->item_count && status == GORDIAN_OK; i++)
            status = name_process(reading, &trace->items[i].name, &reading->others[i], error);
        if (status != GORDIAN_OK)
            return status;
        status = gordian_snapshot_await(reading->snapshot, process, reading->others,
                                        trace->item_count, trace->units, &resource, error);
        if (status != GORDIAN_STATUS_INPUT)
            return status;
        return trace_fail(trace, &trace->verb, error, SNAPSHOT_TOO_MANY_ACTS);
    }
    if (trace->op != GORDIAN_OP_HOLD && trace->op != GORDIAN_OP_WAIT)
        return trace_fail(trace, &trace->verb, error,
                          "'%s' is an event: use gordian detect for traces",
                          trace_show(&trace->verb, shown));
    uint32_t process;
    TRY(take_process(reading, &process, error));
    for (size_t i = 0; i < trace->item_count; i++)
        TRY(read_snapshot_edge(reading, process, &trace->items[i], error));
    return GORDIAN_OK;
}

/* ---- plain lines: GORDIAN_STATUS_END means that nothing was done and the line needs a message */

static gordian_status declare_plain(struct reading *reading, gordian_error *error)
{
    struct names *names = &reading->names->resources;
    const struct trace_ahead *ahead = &reading->ahead;
    uint32_t id = trace_ahead_resource(ahead, names);
    if (id != GORDIAN_NONE)
        return GORDIAN_STATUS_END;
    TRY(gordian_snapshot_add_resource(reading->snapshot, 1, &id, error));
    reading->trace.line = reading->trace.inside->reader.line + 1;
    bool put = names_put_query(names, id, &ahead->resources[ahead->line]) &&
               trace_declare(&reading->trace, id);
    return put ? GORDIAN_OK : fail_memory(error);
}

static gordian_status find_or_add_process(struct reading *reading, uint32_t *id,
                                          gordian_error *error)
{
    struct names *names = &reading->names->processes;
    const struct trace_ahead *ahead = &reading->ahead;
    *id = trace_ahead_process(ahead, names);
    if (*id != GORDIAN_NONE)
        return GORDIAN_OK;
    TRY(gordian_snapshot_add_process(reading->snapshot, id, error));
    return names_put_query(names, *id, &ahead->processes[ahead->line]) ? GORDIAN_OK
                                                                       : fail_memory(error);
}

/* If the edge turns out wrong, a process may have been created already. That does no harm: the line
 * is then read as a whole, and fails. */
static gordian_status add_plain(struct reading *reading, gordian_op op, gordian_error *error)
{
    uint32_t resource = trace_ahead_resource(&reading->ahead, &reading->names->resources), process;
    bool hold = op == GORDIAN_OP_HOLD;
    if (resource == GORDIAN_NONE || (!hold && op != GORDIAN_OP_WAIT))
        return GORDIAN_STATUS_END;
    TRY(find_or_add_process(reading, &process, error));
    gordian_status status = (hold ? gordian_snapshot_hold : gordian_snapshot_wait)(
        reading->snapshot, process, resource, 1, error);
    return status == GORDIAN_STATUS_INPUT ? GORDIAN_STATUS_END : status;
}

static gordian_status read_plain(struct reading *reading, gordian_error *error)
{
    bool fresh;
    uint64_t line, column;
    const struct trace_plain *plain =
        trace_ahead_next(&reading->trace, &reading->ahead, &reading->names->processes,
                         &reading->names->resources, &fresh);
    if (!plain)
        return GORDIAN_STATUS_END;
    TRY(plain->shape == TRACE_DECLARE ? declare_plain(reading, error)
                                      : add_plain(reading, plain->op, error));
    trace_ahead_pass(&reading->trace, plain, &line, &column);
    return GORDIAN_OK;
}

/* ---- all lines */

static gordian_status read_snapshot_line(struct reading *reading, gordian_error *error)
{
    TRY(gordian_trace_next(&reading->trace, error));
    switch (reading->trace.kind) {
    case GORDIAN_LINE_EVENT:
        return read_snapshot_edges(reading, error);
    case GORDIAN_LINE_RESOURCE:
        return read_resource_line(reading, error);
    case GORDIAN_LINE_PROCESS:
        break;
    }
    struct trace_attributes ignored; /* ignored, but the line must be valid */
    uint32_t id;
    TRY(trace_attributes(&reading->trace, &ignored, error));
    return take_process(reading, &id, error);
}

static gordian_status read_snapshot_lines(struct reading *reading, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK) {
        status = read_plain(reading, error);
        if (status == GORDIAN_STATUS_END)
            status = read_snapshot_line(reading, error);
    }
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

/* Reads with many threads, if that is allowed and the file is large. */
static gordian_status read_in_parallel(struct reading *reading, const struct source_file *file,
                                       unsigned threads)
{
    uint64_t bytes = file->end - file->start;
    struct snapshot_split split = {
        snapshot_threads(reading->snapshot, threads, bytes / PARALLEL_THREAD), PARALLEL_PIECE};
    if (split.threads < 2 || bytes < PARALLEL_FILE)
        return GORDIAN_STATUS_END;
    gordian_status status = snapshot_read_parallel(reading->snapshot, reading->names, file, &split,
                                                   &reading->snapshot->memory);
    if (status == GORDIAN_OK) /* the file has been read to its end */
        lseek(file->fd, (off_t)file->end, SEEK_SET);
    return status;
}

static gordian_status read_any(struct reading *reading, const gordian_source *source,
                               const gordian_check_options *options, gordian_error *error)
{
    struct unpack *unpack = &reading->trace.inside->unpack;
    struct source_file file = {0};
    enum packed_kind kind;
    bool known = source_is_file(source, &file);
    if (!unpack_peek(unpack, &kind))
        return unpack_fail(unpack, error);
    if (kind == PACKED_SNAPSHOT)
        return snapshot_unpack(reading->snapshot, reading->names, unpack, options, error);
    gordian_status status = known && kind == PACKED_TEXT
                                ? read_in_parallel(reading, &file, options->threads)
                                : GORDIAN_STATUS_END;
    return status == GORDIAN_STATUS_END ? read_snapshot_lines(reading, error) : status;
}

gordian_status gordian_snapshot_read_for(gordian_snapshot **out, gordian_names **names,
                                         const gordian_source *source,
                                         const gordian_check_options *options,
                                         const gordian_allocator *allocator, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(allocator);
    gordian_check_options wanted = options ? *options : (gordian_check_options){0};
    struct reading reading = {.snapshot = NULL};
    gordian_status status = gordian_trace_open(&reading.trace, source, &memory, error);
    if (status != GORDIAN_OK)
        goto done;
    reading.trace.acts = true;
    status = gordian_snapshot_open(&reading.snapshot, allocator, error);
    if (status != GORDIAN_OK)
        goto done;
    if (background_device_wanted(wanted.engine))
        reading.snapshot->device = background_device_begin();
    reading.names = snapshot_names_open(&memory);
    status = reading.names ? read_any(&reading, source, &wanted, error) : fail_memory(error);
done:
    gordian_trace_close(&reading.trace);
    memory_free(&memory, reading.others);
    if (status != GORDIAN_OK) {
        gordian_snapshot_close(reading.snapshot);
        gordian_names_close(reading.names);
        return status;
    }
    *out = reading.snapshot;
    *names = reading.names;
    return GORDIAN_OK;
}

gordian_status snapshot_read_piece(gordian_snapshot **out, gordian_names **names,
                                   const gordian_source *source, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct reading reading = {.snapshot = NULL};
    gordian_status status = *out ? GORDIAN_OK : gordian_snapshot_open(out, NULL, error);
    if (status == GORDIAN_OK && !*names && !(*names = snapshot_names_open(&memory)))
        status = fail_memory(error);
    if (status != GORDIAN_OK)
        return status;
    reading.snapshot = *out;
    reading.names = *names;
    status = gordian_trace_open(&reading.trace, source, &memory, error);
    reading.trace.acts = true;
    THEN(status, read_snapshot_lines(&reading, error));
    gordian_trace_close(&reading.trace);
    memory_free(&memory, reading.others);
    return status;
}

gordian_status gordian_snapshot_read(gordian_snapshot **out, gordian_names **names,
                                     const gordian_source *source,
                                     const gordian_allocator *allocator, gordian_error *error)
{
    return gordian_snapshot_read_for(out, names, source, &(gordian_check_options){"sparse", 0},
                                     allocator, error);
}

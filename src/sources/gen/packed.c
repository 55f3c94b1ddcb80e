/* Writes packed snapshots without an intermediate text: names follow from numbers. The bytes are
 * the same as for a packed text. */
#include "engines/detect/check/snapshot_text.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "sources/gen/kinds.h"

#include <string.h>

struct packed_sink {
    gordian_allocator memory;
    gordian_snapshot *snapshot;
    const struct gen_kind *kind; /* NULL: there is no such kind */
    uint32_t *ids;               /* by process: its id, assigned at its first appearance */
    uint32_t *numbers;           /* by id */
    uint32_t count;
    uint32_t resources; /* ids from here on are awaits */
    char name[64];      /* the last name that was requested */
};

static gordian_status packed_begin(void *context, uint32_t processes, uint32_t resources,
                                   const uint64_t *units, uint64_t units_each, gordian_error *error)
{
    struct packed_sink *sink = context;
    sink->resources = resources;
    sink->ids = memory_alloc(&sink->memory, sizeof *sink->ids * processes);
    sink->numbers = memory_alloc(&sink->memory, sizeof *sink->numbers * processes);
    if (!sink->ids || !sink->numbers)
        return fail_memory(error);
    memset(sink->ids, 0xff, sizeof *sink->ids * processes);
    for (uint32_t q = 0; q < resources; q++)
        TRY(gordian_snapshot_add_resource(sink->snapshot, units ? units[q] : units_each, NULL,
                                          error));
    return GORDIAN_OK;
}

static gordian_status add_process_once(struct packed_sink *sink, uint32_t process,
                                       gordian_error *error)
{
    if (sink->ids[process] != GORDIAN_NONE)
        return GORDIAN_OK;
    TRY(gordian_snapshot_add_process(sink->snapshot, &sink->ids[process], error));
    sink->numbers[sink->count++] = process;
    return GORDIAN_OK;
}

static gordian_status packed_await(struct packed_sink *sink, const gordian_event *event,
                                   gordian_error *error)
{
    uint32_t others[16];
    if (event->want_count > 16)
        return fail(error, GORDIAN_STATUS_INPUT, "an await lists more than 16 processes");
    TRY(add_process_once(sink, event->process, error));
    for (size_t i = 0; i < event->want_count; i++) {
        TRY(add_process_once(sink, event->wants[i].resource, error));
        others[i] = sink->ids[event->wants[i].resource];
    }
    return gordian_snapshot_await(sink->snapshot, sink->ids[event->process], others,
                                  event->want_count, (size_t)event->units, NULL, error);
}

static gordian_status packed_event(void *context, const gordian_event *event, gordian_error *error)
{
    struct packed_sink *sink = context;
    const gordian_want one = {event->units, event->resource};
    const gordian_want *wants = event->wants ? event->wants : &one;
    size_t count = event->wants ? event->want_count : 1;
    if (event->op == GORDIAN_OP_AWAIT)
        return packed_await(sink, event, error);
    TRY(add_process_once(sink, event->process, error));
    for (size_t i = 0; i < count; i++)
        TRY((event->op == GORDIAN_OP_HOLD ? gordian_snapshot_hold : gordian_snapshot_wait)(
            sink->snapshot, sink->ids[event->process], wants[i].resource, wants[i].units, error));
    return GORDIAN_OK;
}

static const char *format_name(struct packed_sink *sink, const char *prefix, uint32_t number)
{
    char *at = sink->name + sizeof sink->name;
    size_t length = strlen(prefix);
    *--at = '\0';
    do
        *--at = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    at -= length;
    memcpy(at, prefix, length);
    return at;
}

static const char *packed_process_name(void *context, uint32_t id)
{
    struct packed_sink *sink = context;
    return format_name(sink, sink->kind->process, sink->numbers[id]);
}

static const char *packed_resource_name(void *context, uint32_t id)
{
    struct packed_sink *sink = context;
    return id < sink->resources ? format_name(sink, sink->kind->resource, id) : "";
}

gordian_status gen_pack(const struct gen_options *options, const gordian_writer *writer,
                        gordian_error *error)
{
    struct packed_sink packed = {.memory = memory_allocator(NULL),
                                 .kind = gen_kind_named(options->kind)};
    struct gen_sink sink = {&packed, packed_begin, packed_event, NULL};
    const struct snapshot_naming naming = {packed_process_name, packed_resource_name, &packed};
    gordian_status status = gordian_snapshot_open(&packed.snapshot, NULL, error);
    THEN(status, gen_stream(options, &sink, error));
    THEN(status, snapshot_pack(packed.snapshot, &naming, writer, &packed.memory, error));
    gordian_snapshot_close(packed.snapshot);
    memory_free_all(&packed.memory, packed.ids, packed.numbers);
    return status;
}

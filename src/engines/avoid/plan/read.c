/* Reads a plan from the declarations of a trace. */
#include "engines/avoid/plan/plan.h"
#include "engines/rag/trace.h"
#include "foundation/base/error.h"

#include <string.h>

struct plan_reader {
    gordian_plan *plan;
    gordian_trace trace;
    gordian_want *claims; /* of the current line */
    size_t claim_room;
};

static gordian_status read_resource(struct plan_reader *reader, gordian_error *error)
{
    const gordian_trace *trace = &reader->trace;
    char name[GORDIAN_NAME_MAX + 1];
    uint32_t id = gordian_plan_find_resource(reader->plan, trace->name.text, trace->name.length);
    if (id != PLAN_NONE)
        return gordian_plan_set_units(reader->plan, id, trace->units, error);
    trace_copy_name(name, &trace->name);
    gordian_status status =
        gordian_plan_add_resource(reader->plan, name, trace->units, NULL, error);
    return trace_place_error(trace, &trace->name, status, error);
}

static gordian_status gather_claims(struct plan_reader *reader, size_t *count, gordian_error *error)
{
    const gordian_trace *trace = &reader->trace;
    char shown[TRACE_SHOWN_MAX];
    if (!memory_grow(&reader->plan->memory, &reader->claims, &reader->claim_room, trace->item_count,
                     sizeof *reader->claims))
        return fail_memory(error);
    *count = 0;
    for (size_t i = 0; i < trace->item_count; i++) {
        const gordian_trace_item *item = &trace->items[i];
        gordian_want claim = {.resource = gordian_plan_find_resource(reader->plan, item->name.text,
                                                                     item->name.length)};
        bool attribute = word_is(&item->name, "priority") || word_is(&item->name, "cost");
        if (claim.resource == PLAN_NONE && attribute)
            continue;
        if (claim.resource == PLAN_NONE)
            return trace_fail(trace, &item->word, error, "resource '%s' was never declared",
                              trace_show(&item->name, shown));
        TRY(trace_claim(trace, item, &claim.units, error));
        reader->claims[(*count)++] = claim;
    }
    return GORDIAN_OK;
}

static gordian_status read_process(struct plan_reader *reader, gordian_error *error)
{
    const gordian_trace *trace = &reader->trace;
    char name[GORDIAN_NAME_MAX + 1];
    size_t count = 0;
    TRY(gather_claims(reader, &count, error));
    gordian_status status;
    uint32_t id = gordian_plan_find_process(reader->plan, trace->name.text, trace->name.length);
    if (id != PLAN_NONE) {
        status = gordian_plan_set_claims(reader->plan, id, reader->claims, count, error);
    } else {
        trace_copy_name(name, &trace->name);
        status = gordian_plan_add_process(reader->plan, name, reader->claims, count, NULL, error);
    }
    return trace_place_error(trace, &trace->name, status, error);
}

static gordian_status read_exit(struct plan_reader *reader, gordian_error *error)
{
    const gordian_trace *trace = &reader->trace;
    uint32_t id = gordian_plan_find_process(reader->plan, trace->name.text, trace->name.length);
    if (trace->op != GORDIAN_OP_EXIT || id == PLAN_NONE)
        return GORDIAN_OK;
    return gordian_plan_set_claims(reader->plan, id, NULL, 0, error);
}

static gordian_status read_plan_lines(struct plan_reader *reader, gordian_error *error)
{
    gordian_status status;
    while ((status = gordian_trace_next(&reader->trace, error)) == GORDIAN_OK) {
        switch (reader->trace.kind) {
        case GORDIAN_LINE_RESOURCE:
            status = read_resource(reader, error);
            break;
        case GORDIAN_LINE_PROCESS:
            status = read_process(reader, error);
            break;
        case GORDIAN_LINE_EVENT:
            status = read_exit(reader, error);
            break;
        }
        if (status != GORDIAN_OK)
            return status;
    }
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

gordian_status gordian_plan_read(gordian_plan **out, const gordian_source *source,
                                 const gordian_allocator *allocator, gordian_error *error)
{
    struct plan_reader reader = {0};
    gordian_error own = {0}; /* its line and column are filled in below if still unset */
    *out = NULL;
    gordian_status status = gordian_plan_open(&reader.plan, allocator, &own);
    THEN(status, gordian_trace_open(&reader.trace, source, &reader.plan->memory, &own));
    if (status == GORDIAN_OK) {
        reader.trace.avoidance = true;
        status = read_plan_lines(&reader, &own);
        gordian_trace_close(&reader.trace);
    }
    if (reader.plan)
        memory_free(&reader.plan->memory, reader.claims);
    if (status != GORDIAN_OK) {
        gordian_plan_close(reader.plan);
        if (error)
            *error = own;
        return status;
    }
    *out = reader.plan;
    return GORDIAN_OK;
}

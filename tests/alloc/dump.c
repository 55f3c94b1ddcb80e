#include "dump.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_add(struct text *text, const char *format, ...)
{
    char piece[512];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(piece, sizeof piece, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof piece)
        abort();
    if (text->used + (size_t)length + 1 > text->room) {
        text->room = 2 * text->room + (size_t)length + 4096;
        text->bytes = realloc(text->bytes, text->room);
        if (!text->bytes)
            abort();
    }
    memcpy(text->bytes + text->used, piece, (size_t)length + 1);
    text->used += (size_t)length;
}

void text_free(struct text *text)
{
    free(text->bytes);
    *text = (struct text){0};
}

void dump_edges(struct text *text, const char *what, const gordian_edge *edges, size_t count)
{
    text_add(text, " %s", what);
    for (size_t i = 0; i < count; i++)
        text_add(text, " p%" PRIu32 "%sr%" PRIu32 "=%" PRIu64, edges[i].process,
                 edges[i].waits ? "?" : "!", edges[i].resource, edges[i].units);
}

void dump_ids(struct text *text, const char *what, const uint32_t *ids, size_t count)
{
    text_add(text, " %s", what);
    for (size_t i = 0; i < count; i++)
        text_add(text, " %" PRIu32, ids[i]);
}

static void dump_process(struct text *text, const gordian_system *system, uint32_t process)
{
    gordian_edge edges[256];
    const char *name = gordian_process_name(system, process);
    if (!name)
        return;
    text_add(text, "p%" PRIu32 " '%s' %" PRIu32, process, name,
             name[0] ? gordian_find_process(system, name, strlen(name)) : process);
    text_add(text, " priority %" PRId64 " cost %" PRId64 " waits %d",
             gordian_priority(system, process), gordian_cost(system, process),
             gordian_is_waiting(system, process));
    dump_edges(text, "holds", edges, gordian_holdings(system, process, edges, 256));
    dump_edges(text, "wants", edges, gordian_pending(system, process, edges, 256));
    text_add(text, "\n");
}

static void dump_resource(struct text *text, const gordian_system *system, uint32_t resource)
{
    gordian_edge edges[256];
    const char *name = gordian_resource_name(system, resource);
    if (!name)
        return;
    text_add(text, "r%" PRIu32 " '%s' %" PRIu32, resource, name,
             name[0] ? gordian_find_resource(system, name, strlen(name)) : resource);
    text_add(text, " %" PRIu64 " of %" PRIu64, gordian_free_units(system, resource),
             gordian_units(system, resource));
    dump_edges(text, "held", edges, gordian_holders(system, resource, edges, 256));
    dump_edges(text, "wanted", edges, gordian_waiters(system, resource, edges, 256));
    text_add(text, "\n");
}

void dump_system(struct text *text, const gordian_system *system)
{
    if (!system)
        return;
    text_add(text, "%s %s\n", gordian_engine_name(system),
             gordian_model_text(gordian_system_model(system)));
    for (uint32_t p = 0; p < gordian_process_limit(system); p++)
        dump_process(text, system, p);
    for (uint32_t q = 0; q < gordian_resource_limit(system); q++)
        dump_resource(text, system, q);
}

void dump_report(struct text *text, const gordian_report *report)
{
    text_add(text, "report %s", gordian_model_text(report->model));
    dump_ids(text, "deadlocked", report->deadlocked, report->deadlocked_count);
    for (size_t i = 0; i < report->part_count; i++) {
        const gordian_part *part = &report->parts[i];
        dump_ids(text, part->cycle ? "cycle" : "part", part->processes, part->process_count);
        dump_ids(text, "over", part->resources, part->resource_count);
    }
    text_add(text, "\n");
}

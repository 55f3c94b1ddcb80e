/* Builds findings: parties, resources, edges and texts. */
#include "output/finding/finding.h"

#include <string.h>
#include <time.h>

void finding_open(struct finding *finding, const char *source, enum finding_kind kind,
                  enum finding_verdict verdict)
{
    gordian_allocator memory = memory_allocator(NULL);
    *finding = (struct finding){
        .source = source,
        .kind = kind,
        .verdict = verdict,
        .title = "",
        .advice.victim = FINDING_NONE,
        .first = FINDING_NONE,
        .found_after_ms = -1,
        .memory = memory,
    };
    arena_init(&finding->arena, &memory);
}

void finding_close(struct finding *finding)
{
    arena_free(&finding->arena);
    memory_free_all(&finding->memory, finding->parties, finding->resources, finding->edges);
    *finding = (struct finding){.memory = finding->memory};
}

uint32_t finding_party(struct finding *finding, const char *name, const char *kind)
{
    if (!memory_grow(&finding->memory, &finding->parties, &finding->party_room,
                     finding->party_count + 1, sizeof *finding->parties)) {
        finding->failed = true;
        return FINDING_NONE;
    }
    finding->parties[finding->party_count] =
        (struct finding_party){.name = name, .kind = kind, .rank = FINDING_NONE};
    return (uint32_t)finding->party_count++;
}

uint32_t finding_resource(struct finding *finding, const char *name, const char *kind)
{
    if (!memory_grow(&finding->memory, &finding->resources, &finding->resource_room,
                     finding->resource_count + 1, sizeof *finding->resources)) {
        finding->failed = true;
        return FINDING_NONE;
    }
    finding->resources[finding->resource_count] =
        (struct finding_resource){.name = name, .kind = kind};
    return (uint32_t)finding->resource_count++;
}

struct finding_edge *finding_edge(struct finding *finding, uint32_t waiter, uint32_t resource,
                                  uint32_t holder)
{
    static _Thread_local struct finding_edge none;
    bool valid = (waiter == FINDING_NONE || waiter < finding->party_count) &&
                 (holder == FINDING_NONE || holder < finding->party_count) &&
                 resource < finding->resource_count;
    if (!valid || !memory_grow(&finding->memory, &finding->edges, &finding->edge_room,
                               finding->edge_count + 1, sizeof *finding->edges)) {
        finding->failed = true;
        return &none;
    }
    struct finding_edge *edge = &finding->edges[finding->edge_count++];
    *edge = (struct finding_edge){
        .waiter = waiter,
        .holder = holder,
        .resource = resource,
        .relation = holder == FINDING_NONE ? FINDING_WAITS : FINDING_HOLDS,
        .witness = true,
        .wait_s = -1,
        .released = FINDING_NONE,
    };
    return edge;
}

void *finding_alloc(struct finding *finding, size_t size)
{
    void *memory = arena_alloc(&finding->arena, size);
    finding->failed = finding->failed || !memory;
    return memory;
}

const char *finding_copy(struct finding *finding, const char *text)
{
    const char *copy = arena_text(&finding->arena, text, strlen(text));
    finding->failed = finding->failed || !copy;
    return copy ? copy : "";
}

const char *finding_format(struct finding *finding, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    const char *text = arena_format(&finding->arena, format, arguments);
    va_end(arguments);
    finding->failed = finding->failed || !text;
    return text ? text : "";
}

void finding_stamp(struct finding *finding)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    finding->time_ms = (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

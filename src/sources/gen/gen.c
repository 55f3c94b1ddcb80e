/* The kinds of generators, their options, and the sinks for text and memory. */
#include "sources/gen/gen.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/nearest.h"
#include "sources/gen/kinds.h"

#include <stdlib.h>
#include <string.h>

#define RANDOM_OPTIONS                                                                             \
    "processes resources events contention cancels exits hand-overs deadlocks snapshot"
#define DEFAULT_CONTENTION 30

const struct gen_kind gen_kinds[] = {
    {"random", "processes request and release single-unit resources at random", RANDOM_OPTIONS, "p",
     "q", 100, 0, 10000, 1, NULL, false, random_single},
    {"multi", "the same with resources of several units, asked for one by one",
     RANDOM_OPTIONS " units", "p", "q", 100, 0, 10000, 4, NULL, false, random_single},
    {"general", "the same with requests for several units of several resources at once",
     RANDOM_OPTIONS " units", "p", "q", 100, 0, 10000, 4, NULL, false, random_several},
    {"chain",
     "the worst case in papers: p0 waits for p1, p1 for p2, ..., the last request closes the cycle",
     "processes order snapshot", "p", "q", 1024, 0, 0, 1, "tail", false, shape_chain},
    {"ring", "one ring through all processes, blocked in an order drawn at random",
     "processes snapshot", "p", "q", 1024, 0, 0, 1, "random", false, shape_chain},
    {"chains", "many chains with scattered names, some of them closed to rings; any size",
     "processes resources length cycles snapshot", "p", "q", 1000, 0, 0, 1, NULL, false,
     shape_chains},
    {"forest", "every resource is held, and processes wait for some of them; any size",
     "processes resources contention snapshot", "p", "q", 1000, 0, 0, 1, NULL, false, shape_forest},
    {"hot", "all processes queue for the same resources again and again",
     "processes resources events snapshot", "p", "q", 1000, 1, 10000, 1, NULL, false, shape_hot},
    {"philosophers", "dining philosophers: the left fork, then the right one, eat, put both back",
     "processes events cancels exits hand-overs deadlocks snapshot", "philosopher", "fork", 5, 0,
     1000, 1, NULL, false, session_philosophers},
    {"readers-writers", "readers take one unit of a table, writers all of them",
     "processes resources events units cancels exits hand-overs deadlocks snapshot", "session",
     "table", 20, 4, 10000, 8, NULL, false, session_readers_writers},
    {"pool", "workers need several connections of a pool and take them one at a time",
     "processes resources events units cancels exits hand-overs deadlocks snapshot", "worker",
     "pool", 20, 2, 10000, 8, NULL, false, session_pool},
    {"bank", "for avoidance: processes claim, request, release, exit and change their claims",
     "processes resources events units cancels exits changes queue", "p", "r", 20, 5, 1000, 16,
     NULL, true, bank_random},
    {"bank-rounds",
     "for avoidance: all can finish, but only one after the other, the last one first",
     "processes resources events", "p", "r", 100, 10, 1000, 1, NULL, true, bank_rounds},
    {"bank-textbook", "for avoidance: the textbook example, five processes and three resources", "",
     "P", "R", 5, 3, 0, 1, NULL, true, bank_textbook},
    {"circuit", "for composition: automata drawn at random on names that neighbours share",
     "processes resources", "", "x", 12, 0, 0, 1, NULL, false, NULL, circuit_random},
    {"circuit-chain", "for composition: buffers in a row", "processes", "", "", 10, 0, 0, 1, NULL,
     false, NULL, circuit_chain},
    {"circuit-apart", "for composition: buffers that share nothing", "processes", "", "", 8, 0, 0,
     1, NULL, false, NULL, circuit_apart},
    {"circuit-ring", "for composition: a ring of buffers, units of them full", "processes units",
     "", "", 10, 0, 0, 5, NULL, false, NULL, circuit_ring},
    {"circuit-dining", "for composition: dining philosophers that can deadlock", "processes", "",
     "", 5, 0, 0, 1, NULL, false, NULL, circuit_dining},
    {"collectives", "flight recorder dumps of a training job that hangs, and the ranks at fault",
     "processes events tensor pipeline expert fault folder json", "", "", 16, 0, 50, 1, NULL, false,
     NULL, job_collectives},
    {"messages", "processes await acts of others, one, any or all of them, and act for each other",
     "processes events contention deadlocks snapshot", "p", "", 100, 0, 10000, 1, NULL, false,
     messages_waits, messages_events},
    {NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0, NULL, false, NULL},
};

void gen_options_init(struct gen_options *options)
{
    *options = (struct gen_options){.kind = "random", .seed = 1, .contention = DEFAULT_CONTENTION};
}

struct gen_options gen_options_of(const char *kind, uint64_t seed, uint32_t processes)
{
    return (struct gen_options){
        .kind = kind, .seed = seed, .processes = processes, .contention = DEFAULT_CONTENTION};
}

/* ------------------------------------------------------------------ options */

const struct gen_kind *gen_kind_named(const char *name)
{
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++)
        if (name && strcmp(kind->name, name) == 0)
            return kind;
    return NULL;
}

static gordian_status unknown_kind(const char *name, gordian_error *error)
{
    char list[400] = "";
    struct nearest nearest = {.typed = name ? name : "", .length = name ? strlen(name) : 0};
    for (const struct gen_kind *kind = gen_kinds; kind->name; kind++) {
        nearest_offer(&nearest, kind->name);
        strncat(list, kind == gen_kinds ? "" : ", ", sizeof list - strlen(list) - 1);
        strncat(list, kind->name, sizeof list - strlen(list) - 1);
    }
    const char *found = nearest_found(&nearest);
    return fail(error, GORDIAN_STATUS_INPUT, "unknown kind '%.40s'%s%s%s", nearest.typed,
                found ? "; did you mean '" : ": one of ", found ? found : list, found ? "'?" : "");
}

static bool kind_uses(const struct gen_kind *kind, const char *option)
{
    size_t length = strlen(option);
    for (const char *at = kind->uses; (at = strstr(at, option)); at += length)
        if ((at == kind->uses || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

struct checked_option {
    const char *name;
    uint64_t value;
    uint64_t unset; /* the value that means "not given" */
    uint64_t most;
};

static gordian_status check_option(const struct gen_kind *kind, const struct checked_option *option,
                                   gordian_error *error)
{
    if (option->value == option->unset)
        return GORDIAN_OK;
    if (!kind_uses(kind, option->name))
        return fail(error, GORDIAN_STATUS_INPUT, "kind '%s' does not use %s: it uses %s",
                    kind->name, option->name, kind->uses);
    if (option->value <= option->most)
        return GORDIAN_OK;
    if (option->most == 100)
        return fail(error, GORDIAN_STATUS_INPUT, "%s is a percentage, 0 to 100, not %llu",
                    option->name, (unsigned long long)option->value);
    return fail(error, GORDIAN_STATUS_INPUT, "%s is at most %llu", option->name,
                (unsigned long long)option->most);
}

static gordian_status check_gen_options(const struct gen_kind *kind, const struct gen_options *o,
                                        gordian_error *error)
{
    const uint64_t ids = INT32_MAX;
    const struct checked_option options[] = {
        {"processes", o->processes, 0, ids},
        {"resources", o->resources, 0, ids},
        {"events", o->events, 0, UINT64_MAX},
        {"units", o->units, 0, UINT32_MAX},
        {"length", o->length, 0, UINT32_MAX},
        {"cycles", o->cycles, 0, UINT64_MAX},
        {"contention", o->contention, DEFAULT_CONTENTION, 100},
        {"cancels", o->cancels, 0, 100},
        {"exits", o->exits, 0, 100},
        {"hand-overs", o->hand_overs, 0, 100},
        {"changes", o->changes, 0, 100},
        {"queue", o->queue, false, true},
        {"deadlocks", o->deadlocks, 0, 100},
        {"snapshot", o->snapshot, false, true},
        {"tensor", o->tensor, 0, ids},
        {"pipeline", o->pipeline, 0, ids},
        {"expert", o->expert, 0, ids},
        {"fault", o->fault != NULL, false, true},
        {"folder", o->folder != NULL, false, true},
        {"json", o->json, false, true},
        {"order", o->order != NULL, false, true},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        TRY(check_option(kind, &options[i], error));
    if (o->order && strcmp(o->order, "tail") != 0 && strcmp(o->order, "head") != 0 &&
        strcmp(o->order, "random") != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "unknown order '%s': one of tail, head, random",
                    o->order);
    return GORDIAN_OK;
}

/* Finds the kind, checks the options and fills in the defaults. */
static gordian_status resolve_options(const struct gen_options *given, struct gen_options *options,
                                      const struct gen_kind **found, gordian_error *error)
{
    const struct gen_kind *kind = gen_kind_named(given->kind);
    if (!kind)
        return unknown_kind(given->kind, error);
    TRY(check_gen_options(kind, given, error));
    *options = *given;
    options->processes = given->processes ? given->processes : kind->processes;
    options->resources = given->resources  ? given->resources
                         : kind->resources ? kind->resources
                                           : options->processes;
    options->events = given->events ? given->events : kind->events;
    options->units = given->units ? given->units : kind->units;
    options->order = given->order ? given->order : kind->order;
    *found = kind;
    return GORDIAN_OK;
}

gordian_status gen_stream(const struct gen_options *options, struct gen_sink *sink,
                          gordian_error *error)
{
    struct gen_options resolved;
    const struct gen_kind *kind;
    TRY(resolve_options(options, &resolved, &kind, error));
    if (!kind->stream || (kind->write && !resolved.snapshot))
        return fail(error, GORDIAN_STATUS_INPUT,
                    "kind '%s' cannot be written as a stream of events", kind->name);
    if (kind->claims && !sink->claim)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "kind '%s' has claims, which are not supported here", kind->name);
    return kind->stream(&resolved, sink, error);
}

/* ------------------------------------------------------------------ text sink */

struct text_sink {
    const struct gen_kind *kind;
    const struct gen_options *options;
    struct output *out;
};

static gordian_status text_status(const struct output *out, gordian_error *error)
{
    if (!out->failure)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_IO, "cannot write: %s", strerror(out->failure));
}

static void put_numbered_name(struct output *out, const char *prefix, uint32_t id)
{
    output_text(out, prefix);
    output_u64(out, id);
}

static gordian_status text_sink_begin(void *context, uint32_t processes, uint32_t resources,
                                      const uint64_t *units, uint64_t units_each,
                                      gordian_error *error)
{
    struct text_sink *text = context;
    struct output *out = text->out;
    output_format(out, "# gordian gen %s: seed %llu, %u processes, %u resources\n",
                  text->kind->name, (unsigned long long)text->options->seed, processes, resources);
    for (uint32_t q = 0; q < resources && !out->failure; q++) {
        uint64_t count = units ? units[q] : units_each;
        output_text(out, "resource ");
        put_numbered_name(out, text->kind->resource, q);
        if (count != 1) {
            output_char(out, ' ');
            output_u64(out, count);
        }
        output_char(out, '\n');
    }
    return text_status(out, error);
}

static void put_want(const struct text_sink *text, uint32_t resource, uint64_t units)
{
    output_char(text->out, ' ');
    put_numbered_name(text->out, text->kind->resource, resource);
    if (units != 1) {
        output_char(text->out, '=');
        output_u64(text->out, units);
    }
}

static void put_awaited(const struct text_sink *text, const gordian_event *event)
{
    if (event->units == 1 && event->want_count > 1)
        output_text(text->out, " any of");
    for (size_t i = 0; i < event->want_count; i++) {
        output_char(text->out, ' ');
        put_numbered_name(text->out, text->kind->process, event->wants[i].resource);
    }
}

static gordian_status text_sink_event(void *context, const gordian_event *event,
                                      gordian_error *error)
{
    struct text_sink *text = context;
    struct output *out = text->out;
    output_text(out, gordian_op_text(event->op));
    output_char(out, ' ');
    put_numbered_name(out, text->kind->process, event->process);
    if (event->op == GORDIAN_OP_AWAIT)
        put_awaited(text, event);
    else if (event->wants)
        for (size_t i = 0; i < event->want_count; i++)
            put_want(text, event->wants[i].resource, event->wants[i].units);
    else if (event->op != GORDIAN_OP_CANCEL && event->op != GORDIAN_OP_EXIT)
        put_want(text, event->resource, event->units);
    if (event->op == GORDIAN_OP_RELEASE && event->to != GORDIAN_NONE) {
        output_text(out, " to ");
        put_numbered_name(out, text->kind->process, event->to);
    }
    output_char(out, '\n');
    return text_status(out, error);
}

static gordian_status text_sink_claim(void *context, uint32_t process, const gordian_want *claims,
                                      size_t count, gordian_error *error)
{
    struct text_sink *text = context;
    output_text(text->out, "process ");
    put_numbered_name(text->out, text->kind->process, process);
    for (size_t i = 0; i < count; i++) {
        output_char(text->out, ' ');
        put_numbered_name(text->out, text->kind->resource, claims[i].resource);
        output_char(text->out, '=');
        output_u64(text->out, claims[i].units);
    }
    output_char(text->out, '\n');
    return text_status(text->out, error);
}

gordian_status gen_write(const struct gen_options *options, struct output *out,
                         gordian_error *error)
{
    struct gen_options resolved;
    struct text_sink text = {NULL, &resolved, out};
    TRY(resolve_options(options, &resolved, &text.kind, error));
    if (text.kind->write && !(text.kind->stream && resolved.snapshot)) {
        TRY(text.kind->write(&resolved, out, error));
        return text_status(out, error);
    }
    struct gen_sink sink = {&text, text_sink_begin, text_sink_event, text_sink_claim};
    return text.kind->stream(&resolved, &sink, error);
}

/* ------------------------------------------------------------------ memory sink */

struct memory_sink {
    gordian_allocator memory;
    struct gen_trace trace;
    size_t event_capacity, want_count, want_capacity;
};

static gordian_status memory_begin(void *context, uint32_t processes, uint32_t resources,
                                   const uint64_t *units, uint64_t units_each, gordian_error *error)
{
    struct memory_sink *sink = context;
    sink->trace.processes = processes;
    sink->trace.resources = resources;
    sink->trace.units = memory_alloc(&sink->memory, resources * sizeof *units);
    if (!sink->trace.units)
        return fail_memory(error);
    for (uint32_t q = 0; q < resources; q++)
        sink->trace.units[q] = units ? units[q] : units_each;
    return GORDIAN_OK;
}

static gordian_status memory_event(void *context, const gordian_event *event, gordian_error *error)
{
    struct memory_sink *sink = context;
    struct gen_trace *trace = &sink->trace;
    if (!memory_extend(&sink->memory, trace->events, sink->event_capacity, trace->event_count))
        return fail_memory(error);
    size_t more = event->wants ? event->want_count : 0;
    if (more && !memory_grow(&sink->memory, &trace->wants, &sink->want_capacity,
                             sink->want_count + more, sizeof *event->wants))
        return fail_memory(error);
    for (size_t i = 0; i < more; i++)
        trace->wants[sink->want_count++] = event->wants[i];
    trace->events[trace->event_count++] = *event;
    return GORDIAN_OK;
}

gordian_status gen_events(const struct gen_options *options, struct gen_trace *trace,
                          gordian_error *error)
{
    struct memory_sink memory = {.memory = memory_allocator(NULL)};
    struct gen_sink sink = {&memory, memory_begin, memory_event, NULL};
    gordian_status status = gen_stream(options, &sink, error);
    if (status != GORDIAN_OK)
        gen_trace_free(&memory.trace);
    *trace = memory.trace;
    /* The array of wants no longer moves, so the events can point into it now. */
    const gordian_want *next = trace->wants;
    for (size_t i = 0; i < trace->event_count; i++)
        if (trace->events[i].wants) {
            trace->events[i].wants = next;
            next += trace->events[i].want_count;
        }
    return status;
}

void gen_trace_free(struct gen_trace *trace)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free_all(&memory, trace->units, trace->events, trace->wants);
    *trace = (struct gen_trace){0};
}

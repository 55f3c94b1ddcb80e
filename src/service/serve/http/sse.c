/* The stream of server-sent events for the page, with back-pressure. */
#include "service/serve/http/sse.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/sort.h"
#include "service/serve/http/api.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EFFECTS_MAX 2000        /* per change; a reset is cheaper beyond */
#define RESET_MS    1000        /* minimum interval of resets per system */
#define BEHIND      (64u << 10) /* unread bytes: skip changes (back-pressure) */
#define HELD_MAX    (1u << 20)  /* bytes that wait for commits: beyond, skip changes */
#define STUCK_MS    30000       /* disconnect after this long without reading */

struct stream {
    struct stream *next, *previous;
    struct sse *sse;
    struct http_connection *connection;
    bool behind;                       /* it has skipped changes */
    size_t pending;                    /* unread bytes at the last tick */
    uint64_t progress;                 /* steady ms: last progress in reading */
    char system[GORDIAN_NAME_MAX + 1]; /* "": all systems */
    char patterns[AUTH_SYSTEMS_MAX + 1];
};

/* Position of the streams in one system. */
struct position {
    const struct served *served;
    uint64_t opened;
    uint64_t cursor;   /* next item of its ring */
    uint64_t seq;      /* last event sent */
    uint64_t reset_at; /* steady ms: last reset */
    bool reset_due;
    bool lost; /* too many changes: none until the reset */
};

/* A message that waits for the commit of its record. */
struct message {
    struct message *next;
    uint64_t number;
    bool always;
    bool of_all; /* about the list of systems */
    char system[GORDIAN_NAME_MAX + 1];
    struct output text;
};

struct sse {
    gordian_allocator memory;
    struct message *messages, **message_end;
    size_t held; /* bytes of the messages */
    struct api *api;
    struct service_watcher watcher;
    struct stream *streams;
    struct position *positions; /* by slot */
    size_t position_room;
    unsigned generation; /* generation of the tokens when the streams were permitted */
    uint32_t *ids;       /* buffer for EFFECTS_MAX processes and as many resources */
};

/* ------------------------------------------------------------------ sending */

static bool is_for_stream(const struct stream *stream, const char *system)
{
    return !system || ((!stream->system[0] || strcmp(stream->system, system) == 0) &&
                       auth_fits(stream->patterns, system));
}

/* Sends a text to the streams of this system; `always`: also to streams that have skipped
 * changes. */
static void write_all_streams(struct sse *sse, const char *system, const struct output *text,
                              bool always)
{
    for (struct stream *stream = sse->streams; stream; stream = stream->next) {
        if (!is_for_stream(stream, system))
            continue;
        if (!always && (stream->behind || http_stream_pending(stream->connection) > BEHIND))
            stream->behind = true;
        else
            http_stream_write(stream->connection, text->buffer, text->used);
    }
}

/* Takes the text over. */
static void send_to_streams(struct sse *sse, const char *system, struct output *text, bool always)
{
    struct message *message = NULL;
    /* the record of an incident follows */
    bool wait = always || sse->messages || !api_is_kept(sse->api);
    if (!text->failure && wait && (always || sse->held < HELD_MAX))
        message = memory_zeroed(&sse->memory, sizeof *message);
    if (message) {
        message->number = store_last(sse->api->store) + always; /* its record may be the next one */
        message->always = always;
        message->of_all = !system;
        snprintf(message->system, sizeof message->system, "%s", system ? system : "");
        message->text = *text;
        sse->held += text->used;
        *(sse->messages ? sse->message_end : &sse->messages) = message;
        sse->message_end = &message->next;
        return;
    }
    if (!text->failure && !wait)
        write_all_streams(sse, system, text, always);
    else {
        for (struct stream *stream = sse->streams; stream; stream = stream->next)
            stream->behind |= is_for_stream(stream, system);
    }
    output_close(text);
}

static void drop_message(struct sse *sse)
{
    struct message *message = sse->messages;
    sse->messages = message->next;
    sse->held -= message->text.used;
    output_close(&message->text);
    memory_free(&sse->memory, message);
}

void sse_release(struct sse *sse, uint64_t committed)
{
    while (sse && sse->messages && sse->messages->number <= committed) {
        const struct message *message = sse->messages;
        write_all_streams(sse, message->of_all ? NULL : message->system, &message->text,
                          message->always);
        drop_message(sse);
    }
}

/* Writes "event: NAME\ndata: " and opens the object. */
static void begin_stream_event(struct json *json, struct output *out, const char *name)
{
    output_open(out, -1);
    output_format(out, "event: %s\ndata: ", name);
    json_begin(json, out);
}

static void end_event(struct json *json)
{
    json_end(json);
    output_char(json->out, '\n');
}

static void write_reset(struct output *out, const struct served *served)
{
    struct json json;
    begin_stream_event(&json, out, "reset");
    json_key_text(&json, "system", served->name);
    json_key_u64(&json, "seq", served->seq);
    end_event(&json);
}

/* ------------------------------------------------------------------ changes */

static struct position *position_of_stream(struct sse *sse, const struct served *served)
{
    if (!memory_grow_zeroed(&sse->memory, &sse->positions, &sse->position_room,
                            (size_t)served->slot + 1, sizeof *sse->positions))
        return NULL;
    struct position *position = &sse->positions[served->slot];
    if (position->served != served || position->opened != served->opened)
        *position = (struct position){.served = served,
                                      .opened = served->opened,
                                      .cursor = served->recent.written,
                                      .seq = served->seq};
    return position;
}

static void write_changed_names(struct json *json, const struct served *served,
                                const uint32_t *processes, size_t process_count,
                                const uint32_t *resources, size_t resource_count)
{
    char label[GORDIAN_NAME_MAX + 1], id[16];
    json_open(json, "names", '{');
    json_open(json, "processes", '{');
    for (size_t i = 0; i < process_count; i++) {
        const char *name = served_process_name(served, processes[i], label);
        snprintf(id, sizeof id, "%u", processes[i]);
        if (name) /* otherwise it has exited, and its name is unknown */
            json_key_text(json, id, name);
    }
    json_shut(json);
    json_open(json, "resources", '{');
    for (size_t i = 0; i < resource_count; i++) {
        const char *name = served_resource_name(served, resources[i], label);
        if (!name || served_is_await(served, resources[i]))
            continue;
        snprintf(id, sizeof id, "%u", resources[i]);
        json_open(json, id, '{');
        json_key_text(json, "name", name);
        json_key_u64(json, "units", served_units(served, resources[i]));
        json_shut(json);
    }
    json_shut(json);
    json_shut(json);
}

/* Writes the items from the cursor on as one change. */
static void write_change(struct sse *sse, struct output *out, const struct served *served,
                         const struct position *position)
{
    uint32_t *processes = sse->ids, *resources = sse->ids + EFFECTS_MAX;
    size_t count = 0;
    struct json json;
    begin_stream_event(&json, out, "change");
    json_key_text(&json, "system", served->name);
    json_key_u64(&json, "from", position->seq);
    json_key_u64(&json, "seq", served->seq);
    json_open(&json, "effects", '[');
    for (uint64_t i = position->cursor; i < served->recent.written; i++) {
        const struct recent_item *item = recent_at(&served->recent, i);
        if (!recent_is_change(item) || count == EFFECTS_MAX)
            continue;
        recent_json(&json, item);
        processes[count] = item->process;
        resources[count++] = item->resource;
    }
    json_shut(&json);
    size_t process_count = sort_unique_u32(processes, count),
           resource_count = sort_unique_u32(resources, count);
    write_changed_names(&json, served, processes, process_count, resources, resource_count);
    end_event(&json);
}

/* Examines new items. True: they can be sent as effects. Sets reset_due if they cannot. */
static bool survey_recent(const struct served *served, struct position *position)
{
    size_t effects = 0;
    const struct recent *recent = &served->recent;
    if (position->cursor < recent_first(recent) ||
        recent->written - position->cursor > 4 * EFFECTS_MAX) {
        position->lost = true;
    } else {
        for (uint64_t i = position->cursor; i < recent->written; i++) {
            const struct recent_item *item = recent_at(recent, i);
            position->reset_due |= item->kind == RECENT_OTHER;
            effects += recent_is_change(item);
        }
        position->lost |= effects > EFFECTS_MAX;
    }
    position->reset_due |= position->lost;
    return effects > 0 && !position->lost;
}

/* Sends the changes since the last call. `to_the_end`: also sends events without effects, so that
 * all streams are at the same event as a graph fetched now. */
static void flush_position(struct sse *sse, const struct served *served, struct position *position,
                           bool to_the_end)
{
    struct output out;
    bool pending = position->cursor != served->recent.written && survey_recent(served, position);
    if (pending || (to_the_end && !position->lost && position->seq != served->seq)) {
        write_change(sse, &out, served, position);
        send_to_streams(sse, served->name, &out, false);
        position->seq = served->seq;
    }
    position->cursor = served->recent.written;
    uint64_t now = service_steady(sse->api->service);
    if (!position->reset_due || now - position->reset_at < RESET_MS)
        return;
    position->seq = served->seq;
    write_reset(&out, served);
    send_to_streams(sse, served->name, &out, false);
    position->reset_at = now;
    position->reset_due = position->lost = false;
}

void sse_flush(struct sse *sse, const struct served *served)
{
    struct position *position = sse && sse->streams ? position_of_stream(sse, served) : NULL;
    if (position)
        flush_position(sse, served, position, true);
}

/* ------------------------------------------------------------------ rates */

/* Includes the systems that match the patterns. */
static void write_rates(struct sse *sse, struct output *out, const char *patterns)
{
    const struct rates *rates = &sse->api->rates;
    const struct service *service = sse->api->service;
    const struct rate *all = rates_last(rates, rates->seconds);
    struct json json;
    begin_stream_event(&json, out, "rates");
    rate_json(&json, all);
    json_open(&json, "systems", '[');
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        const struct rates_system *system = served ? rates_of(rates, served) : NULL;
        if (!system || !auth_fits(patterns, served->name))
            continue;
        const struct rate *rate = rates_last(rates, system->seconds);
        json_open(&json, NULL, '{');
        json_key_text(&json, "name", served->name);
        json_key_u64(&json, "events", rate->events);
        json_key_u64(&json, "deadlocks", rate->deadlocks);
        json_key_u64(&json, "waiting", served->waiting);
        json_key_u64(&json, "deadlocked", rates_deadlocked(system));
        json_key_u64(&json, "processes", served->process_count);
        json_key_u64(&json, "resources", served->resource_count);
        json_shut(&json);
    }
    json_shut(&json);
    end_event(&json);
}

/* Sends rates, which need no commit, to each stream with the systems it may see. */
static void send_rates(struct sse *sse)
{
    const char *patterns = NULL;
    struct output out = {.fd = -1};
    for (struct stream *stream = sse->streams; stream; stream = stream->next) {
        if (!patterns || strcmp(patterns, stream->patterns) != 0) {
            output_close(&out);
            patterns = stream->patterns;
            write_rates(sse, &out, patterns);
        }
        if (stream->behind || http_stream_pending(stream->connection) > BEHIND)
            stream->behind = true;
        else if (!out.failure)
            http_stream_write(stream->connection, out.buffer, out.used);
    }
    output_close(&out);
}

/* ------------------------------------------------------------------ callbacks of the service */

static void on_incident(void *context, const struct incident *incident)
{
    struct sse *sse = context;
    struct output out;
    struct json json;
    struct incident brief = *incident;
    if (!sse->streams)
        return;
    brief.replay = NULL; /* large: fetched on demand */
    begin_stream_event(&json, &out, "incident");
    incident_json(&json, &brief);
    end_event(&json);
    send_to_streams(sse, incident->system, &out, true);
}

static void on_systems(void *context)
{
    struct sse *sse = context;
    struct output out;
    struct json json;
    if (!sse->streams)
        return;
    begin_stream_event(&json, &out, "systems");
    end_event(&json);
    send_to_streams(sse, NULL, &out, true);
}

/* ------------------------------------------------------------------ streams */

static void remove_stream(void *context)
{
    struct stream *stream = context;
    struct sse *sse = stream->sse;
    if (stream->previous)
        stream->previous->next = stream->next;
    else
        sse->streams = stream->next;
    if (stream->next)
        stream->next->previous = stream->previous;
    memory_free(&sse->memory, stream);
}

static void end_all_streams(struct sse *sse)
{
    while (sse->streams) {
        http_stream_end(sse->streams->connection);
        remove_stream(sse->streams);
    }
}

/* First subscriber: discard the backlog. */
static void discard_backlog(struct sse *sse)
{
    const struct service *service = sse->api->service;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        const struct served *served = service->systems[i];
        struct position *position = served ? position_of_stream(sse, served) : NULL;
        if (!position)
            continue;
        position->cursor = served->recent.written;
        position->seq = served->seq;
        position->lost = position->reset_due = false;
    }
}

void sse_begin(struct sse *sse, struct http_connection *connection, const char *system,
               const char *patterns)
{
    static const char hello[] = "retry: 2000\n\n";
    struct stream *stream = memory_zeroed(&sse->memory, sizeof *stream);
    if (!stream) {
        http_reply_error(connection, 503, "out of memory");
        return;
    }
    if (!http_stream_begin(connection, "text/event-stream", remove_stream, stream)) {
        memory_free(&sse->memory, stream);
        return;
    }
    stream->sse = sse;
    stream->connection = connection;
    stream->progress = service_steady(sse->api->service);
    snprintf(stream->system, sizeof stream->system, "%s", system ? system : "");
    snprintf(stream->patterns, sizeof stream->patterns, "%s", patterns);
    if (!sse->streams)
        discard_backlog(sse);
    stream->next = sse->streams;
    if (sse->streams)
        sse->streams->previous = stream;
    sse->streams = stream;
    http_stream_write(connection, hello, sizeof hello - 1);
}

/* Disconnects a client that does not read at all. */
static void watch_progress(struct stream *stream, uint64_t now)
{
    size_t pending = http_stream_pending(stream->connection);
    if (pending == 0 || pending < stream->pending)
        stream->progress = now;
    stream->pending = pending;
    if (now - stream->progress > STUCK_MS)
        http_stream_cut(stream->connection);
}

/* Sends a reset to a stream that had skipped changes and has read everything. */
static void resume_stream(struct sse *sse, struct stream *stream)
{
    const struct service *service = sse->api->service;
    if (!stream->behind || sse->messages || http_stream_pending(stream->connection) > 0)
        return;
    stream->behind = false;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        struct output out;
        if (!service->systems[i] || !is_for_stream(stream, service->systems[i]->name))
            continue;
        write_reset(&out, service->systems[i]);
        if (!out.failure)
            http_stream_write(stream->connection, out.buffer, out.used);
        output_close(&out);
    }
}

void sse_tick(struct sse *sse, bool second)
{
    const struct service *service = sse->api->service;
    if (sse->generation != auth_generation(sse->api->auth)) {
        /* Clients reconnect and show their tokens again. */
        sse->generation = auth_generation(sse->api->auth);
        end_all_streams(sse);
    }
    if (!sse->streams)
        return;
    for (uint32_t i = 0; i < service->system_limit; i++) {
        struct position *position =
            service->systems[i] ? position_of_stream(sse, service->systems[i]) : NULL;
        if (position)
            flush_position(sse, service->systems[i], position, false);
    }
    uint64_t now = service_steady(service);
    for (struct stream *stream = sse->streams; stream; stream = stream->next) {
        watch_progress(stream, now);
        resume_stream(sse, stream);
    }
    if (second)
        send_rates(sse);
}

/* ------------------------------------------------------------------ opening and closing */

gordian_status sse_open(struct sse **out, struct api *api, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct sse *sse = memory_zeroed(&memory, sizeof *sse);
    *out = NULL;
    if (!sse)
        return fail_memory(error);
    sse->memory = memory;
    sse->ids = memory_alloc(&memory, 2 * EFFECTS_MAX * sizeof *sse->ids);
    if (!sse->ids) {
        memory_free(&memory, sse);
        return fail_memory(error);
    }
    sse->api = api;
    sse->generation = auth_generation(api->auth);
    sse->watcher =
        (struct service_watcher){.context = sse, .incident = on_incident, .systems = on_systems};
    service_watch(api->service, &sse->watcher);
    *out = sse;
    return GORDIAN_OK;
}

void sse_close(struct sse *sse)
{
    if (!sse)
        return;
    gordian_allocator memory = sse->memory;
    service_unwatch(sse->api->service, &sse->watcher);
    end_all_streams(sse);
    while (sse->messages)
        drop_message(sse);
    memory_free_all(&memory, sse->positions, sse->ids, sse);
}

/* A service without sockets for the tests: its journal is a list in memory, its clocks are set by
 * hand, its clients are buffers.
 *
 *     struct world world;
 *     world_open(&world, NULL);
 *     struct talker *ann = world_connect(&world);
 *     say(ann, "request p q\n");
 *     CHECK(heard(ann, "\"granted\""));
 *     world_close(&world);
 */
#ifndef GORDIAN_TESTS_SERVICE_WORLD_H
#define GORDIAN_TESTS_SERVICE_WORLD_H

#include "foundation/base/memory.h"
#include "service/serve/core/service.h"
#include "service/wire/wire.h"
#include "test.h"

#include <stdarg.h>
#include <string.h>

#define TALKERS 16

struct record {
    uint64_t at;
    size_t length;
    unsigned char *bytes;
};

struct note { /* of an incident */
    uint64_t id, ended;
    char how[16], victim[32], requester[32];
    bool replay;
};

struct talker {
    struct client client;
    struct world *world;
    bool connected, woken;
    size_t read; /* of client.out */
};

struct world {
    struct service *service;
    struct record *records;
    size_t record_count, record_room;
    struct note notes[64];
    size_t note_count;
    uint64_t now, steady;
    bool broken;       /* the journal cannot be written */
    bool append_fails; /* no memory for a record */
    struct talker talkers[TALKERS];
    struct service_options options;
};

/* ------------------------------------------------------------------ the journal, the clocks */

static inline uint64_t world_append(void *context, uint64_t at, const void *bytes, size_t length)
{
    struct world *world = context;
    gordian_allocator memory = memory_allocator(NULL);
    if (world->append_fails)
        return 0;
    REQUIRE(memory_grow(&memory, &world->records, &world->record_room, world->record_count + 1,
                        sizeof *world->records));
    struct record *record = &world->records[world->record_count++];
    *record = (struct record){at, length, malloc(length ? length : 1)};
    REQUIRE(record->bytes);
    memcpy(record->bytes, bytes, length);
    return world->record_count;
}

static inline gordian_status world_incident(void *context, const struct incident *incident)
{
    struct world *world = context;
    if (world->note_count == 64)
        return GORDIAN_OK;
    struct note *note = &world->notes[world->note_count++];
    *note = (struct note){.id = incident->id, .ended = incident->ended};
    snprintf(note->how, sizeof note->how, "%s", incident->how ? incident->how : "");
    snprintf(note->victim, sizeof note->victim, "%s", incident->victim ? incident->victim : "");
    snprintf(note->requester, sizeof note->requester, "%s",
             incident->requester ? incident->requester : "");
    note->replay = incident->replay != NULL;
    return GORDIAN_OK;
}

static inline bool world_healthy(void *context, const char **why)
{
    struct world *world = context;
    *why = "the disk is full";
    return !world->broken;
}

static inline uint64_t world_last(void *context)
{
    return ((struct world *)context)->record_count;
}

static inline uint64_t world_clock(void *context)
{
    return ((struct world *)context)->now;
}

static inline uint64_t world_steady(void *context)
{
    return ((struct world *)context)->steady;
}

static inline void world_tick(struct world *world)
{
    for (int i = 0; i < 1000 && service_tick(world->service) == 0; i++)
        ;
}

/* Time passes, and the service with it. */
static inline void world_pass(struct world *world, uint64_t ms)
{
    do {
        uint64_t step = ms < 100 ? ms : 100;
        world->now += step;
        world->steady += step;
        ms -= step;
        world_tick(world);
    } while (ms > 0);
}

/* The service stands still for so long. */
static inline void world_stall(struct world *world, uint64_t ms)
{
    world->now += ms;
    world->steady += ms;
}

/* `tune` may change the options. */
static inline void world_open(struct world *world, void (*tune)(struct service_options *))
{
    gordian_error error = {0};
    *world = (struct world){.now = 1700000000000, .steady = 5000};
    service_options_init(&world->options);
    world->options.durability = WIRE_BATCH;
    world->options.journal =
        (struct service_journal){world, world_append, world_incident, world_healthy, world_last};
    world->options.clock = world_clock;
    world->options.steady = world_steady;
    world->options.clock_context = world;
    if (tune)
        tune(&world->options);
    gordian_status status = service_new(&world->service, &world->options, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
}

static inline void world_close(struct world *world)
{
    service_free(world->service);
    for (size_t i = 0; i < world->record_count; i++)
        free(world->records[i].bytes);
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, world->records);
}

/* ------------------------------------------------------------------ clients */

static inline void talker_wake(struct client *client)
{
    ((struct talker *)client->owner)->woken = true;
}

static inline struct talker *world_connect_as(struct world *world, enum service_rights rights)
{
    struct talker *talker = world->talkers;
    while (talker->connected)
        talker++;
    REQUIRE(talker < world->talkers + TALKERS);
    *talker = (struct talker){.world = world, .connected = true};
    talker->client.wake = talker_wake;
    talker->client.owner = talker;
    strcpy(talker->client.label, "tester");
    REQUIRE(!service_attach(world->service, &talker->client, rights, NULL));
    return talker;
}

static inline struct talker *world_connect(struct world *world)
{
    return world_connect_as(world, SERVICE_WRITE);
}

static inline void hang_up(struct talker *talker)
{
    service_detach(&talker->client);
    talker->connected = false;
}

/* Gives bytes to the service, all of which it should take unless it pauses. */
static inline size_t give(struct talker *talker, const void *bytes, size_t count)
{
    size_t used = 0, wanted;
    do /* it may have been enough for one turn */
        used += service_take(&talker->client, (const char *)bytes + used, count - used, SIZE_MAX,
                             &wanted);
    while (wanted == 0 && used < count && service_backpressure_ms(&talker->client) == 0);
    return used;
}

/* ------------------------------------------------------------------ lines */

static inline void forget(struct talker *talker)
{
    talker->read = talker->client.out.used;
}

/* What has come since the last say or forget, as a text. */
static inline const char *hears(struct talker *talker)
{
    static char text[1 << 20];
    size_t count = talker->client.out.used - talker->read;
    REQUIRE(count < sizeof text);
    if (count > 0)
        memcpy(text, talker->client.out.buffer + talker->read, count);
    text[count] = '\0';
    return text;
}

static inline void say(struct talker *talker, const char *format, ...)
{
    char text[4096];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    forget(talker);
    give(talker, text, strlen(text));
}

static inline bool heard(struct talker *talker, const char *text)
{
    return talker->client.out.used > talker->read && strstr(hears(talker), text) != NULL;
}

/* ------------------------------------------------------------------ frames */

/* The next frame that has come; kind 0: none. */
static inline struct wire_frame next_frame(struct talker *talker)
{
    struct wire_frame frame = {0};
    size_t used;
    const struct output *out = &talker->client.out;
    if (out->used > talker->read && wire_next(out->buffer + talker->read, out->used - talker->read,
                                              WIRE_ANSWER_MAX, &frame, &used) == WIRE_WHOLE)
        talker->read += used;
    else
        frame.kind = 0;
    return frame;
}

static inline uint16_t error_code(const struct wire_frame *frame)
{
    struct wire_error error;
    return frame->kind == WIRE_ERROR && wire_get_error(frame, &error) ? error.code : 0;
}

static inline struct wire_frame hello_as(struct talker *talker, const uint8_t *session,
                                         uint32_t lease_ms, uint8_t flags, const char *token)
{
    unsigned char bytes[400];
    struct wire_hello hello = {
        .lease_ms = lease_ms, .flags = flags, .token = {token, strlen(token)}, .name = {"test", 4}};
    if (session)
        memcpy(hello.session, session, sizeof hello.session);
    if (talker->client.form == CLIENT_UNKNOWN)
        give(talker, WIRE_START, WIRE_START_SIZE);
    forget(talker);
    give(talker, bytes, wire_put_hello(bytes, sizeof bytes, &hello));
    return next_frame(talker);
}

static inline struct wire_welcome hello(struct talker *talker, uint32_t lease_ms, uint8_t flags)
{
    struct wire_welcome welcome = {0};
    struct wire_frame frame = hello_as(talker, NULL, lease_ms, flags, "");
    CHECK(frame.kind == WIRE_WELCOME && wire_get_welcome(&frame, &welcome));
    return welcome;
}

static inline struct wire_frame send_events(struct talker *talker, uint64_t first,
                                            const gordian_event *events, size_t count)
{
    size_t size = wire_put_events(NULL, 0, first, events, count);
    unsigned char *bytes = malloc(size);
    REQUIRE(bytes);
    wire_put_events(bytes, size, first, events, count);
    forget(talker);
    give(talker, bytes, size);
    free(bytes);
    return next_frame(talker);
}

/* One event, its outcome; 0: it was answered by something else. */
static inline unsigned send_event(struct talker *talker, uint64_t number, gordian_op op,
                                  uint32_t process, uint32_t resource)
{
    gordian_event event = {
        .op = op, .process = process, .resource = resource, .units = 1, .to = GORDIAN_NONE};
    struct wire_frame frame = send_events(talker, number, &event, 1);
    struct wire_results results;
    struct wire_result result = {0};
    if (frame.kind != WIRE_RESULTS || !wire_get_results(&frame, &results) ||
        !wire_next_result(&results, &result))
        return 0;
    return result.outcome;
}

static inline uint32_t declare(struct talker *talker, uint8_t what, const char *name,
                               uint64_t units)
{
    unsigned char bytes[600];
    struct wire_declaration declaration = {
        .what = what, .name = {name, strlen(name)}, .units = units};
    forget(talker);
    give(talker, bytes, wire_put_declare(bytes, sizeof bytes, &declaration, 1));
    struct wire_frame frame = next_frame(talker);
    struct wire_list ids;
    uint32_t id = GORDIAN_NONE;
    CHECK(error_code(&frame) == WIRE_QUOTA ||
          (frame.kind == WIRE_DECLARED && wire_get_declared(&frame, &ids) &&
           wire_next_id(&ids, &id)));
    return id;
}

/* ------------------------------------------------------------------ comparing */

static inline void dump_side(struct output *out, struct served *served, enum served_side side,
                             uint32_t id)
{
    const gordian_edge *edges;
    size_t count;
    CHECK(!served_edges(served, side, id, &edges, &count, NULL));
    for (size_t i = 0; i < count; i++)
        output_format(out, " %u-%u:%llu", edges[i].process, edges[i].resource,
                      (unsigned long long)edges[i].units);
}

static inline int compare_edges(const void *left, const void *right)
{
    const gordian_edge *a = left, *b = right;
    return a->resource != b->resource ? (a->resource < b->resource ? -1 : 1) : 0;
}

/* Everything a process holds, in an order that does not depend on how it came by it. */
static inline void dump_held(struct output *out, struct served *served, uint32_t process)
{
    const gordian_edge *edges;
    size_t count;
    CHECK(!served_edges(served, SERVED_HELD, process, &edges, &count, NULL));
    gordian_edge *copy = malloc((count + 1) * sizeof *copy);
    REQUIRE(copy);
    if (count > 0)
        memcpy(copy, edges, count * sizeof *copy);
    qsort(copy, count, sizeof *copy, compare_edges);
    for (size_t i = 0; i < count; i++)
        output_format(out, " %u:%llu", copy[i].resource, (unsigned long long)copy[i].units);
    free(copy);
}

static inline void dump_labels(struct output *out, const struct served *served, enum tags_of of,
                               uint32_t id)
{
    for (uint32_t i = 0; i < tags_count(&served->tags, of, id); i++)
        output_format(out, " %s", tags_text(&served->tags, of, id, i));
}

/* Incidents whose allocations failed are missing from the history, and nowhere else. */
static bool dump_without_incidents;

static inline void dump_system(struct output *out, struct served *served)
{
    char buffer[GORDIAN_NAME_MAX + 1], config[SERVED_CONFIG_TEXT_MAX];
    bool without = dump_without_incidents;
    output_format(out, "system %s %s seq %llu waiting %u incidents %u/%llu\n", served->name,
                  served_config_text(&served->config, config), (unsigned long long)served->seq,
                  served->waiting, without ? 0 : served->incident_count,
                  without ? 0 : (unsigned long long)served->counters.incidents);
    for (uint32_t p = 0; p < served_process_limit(served); p++) {
        const char *name = served_process_name(served, p, buffer);
        if (!name)
            continue;
        const struct served_process *record = &served->processes[p];
        output_format(out, "p%u %s owner %d since %llu in %d holds", p, name, (int)record->owner,
                      (unsigned long long)record->since,
                      !without && served_incident(served, p) != GORDIAN_NONE);
        dump_held(out, served, p);
        output_text(out, " wants");
        dump_side(out, served, SERVED_WANTED, p);
        dump_labels(out, served, TAGS_PROCESS, p);
        output_char(out, '\n');
    }
    for (uint32_t q = 0; q < served_resource_limit(served); q++) {
        const char *name = served_resource_name(served, q, buffer);
        if (!name)
            continue;
        output_format(out, "q%u %s %llu/%llu waiters", q, name,
                      (unsigned long long)served_free_units(served, q),
                      (unsigned long long)served_units(served, q));
        dump_side(out, served, SERVED_WAITERS, q);
        dump_labels(out, served, TAGS_RESOURCE, q);
        output_char(out, '\n');
    }
}

/* The whole state that a journal is to bring back, as a text to be freed. */
static inline char *world_dump(struct service *service)
{
    struct output out;
    REQUIRE(output_open(&out, -1));
    for (uint32_t i = 0; i < service->system_limit; i++)
        if (service->systems[i])
            dump_system(&out, service->systems[i]);
    for (uint32_t i = 0; i < service->session_limit; i++) {
        const struct session *session = &service->sessions[i];
        if (session->in_use)
            output_format(&out, "session %u last %llu lease %u keep %d owns %llu\n", i,
                          (unsigned long long)session->last, session->lease_ms, session->keep,
                          (unsigned long long)session->processes);
    }
    if (!dump_without_incidents)
        output_format(&out, "next incident %llu", (unsigned long long)service->next_incident);
    output_char(&out, '\0');
    REQUIRE(!out.failure);
    return out.buffer;
}

/* Both have the same state; otherwise `what` differs. */
static inline void compare_dumps(struct service *left, struct service *right, const char *what)
{
    char *a = world_dump(left), *b = world_dump(right);
    size_t at = 0;
    while (a[at] && a[at] == b[at])
        at++;
    CHECK_MSG(strcmp(a, b) == 0, "%s differs:\n%.300s\n--- not\n%.300s", what,
              a + (at > 100 ? at - 100 : 0), b + (at > 100 ? at - 100 : 0));
    free(a);
    free(b);
}

/* Applies records first..end of one world to another service. */
static inline void world_replay(const struct world *world, struct service *service, size_t first,
                                size_t end)
{
    for (size_t i = first; i < end; i++) {
        gordian_error error = {0};
        const struct record *record = &world->records[i];
        gordian_status status =
            service_replay(service, i + 1, record->at, record->bytes, record->length, &error);
        CHECK_MSG(status == GORDIAN_OK, "record %zu: %s", i + 1, error.message);
        if (status != GORDIAN_OK)
            return;
    }
}

#endif

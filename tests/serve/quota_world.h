/* For the tests of quotas: clients that declare, open and ask, and are told when it is too much. */
#ifndef GORDIAN_TESTS_QUOTA_WORLD_H
#define GORDIAN_TESTS_QUOTA_WORLD_H

#include "service/serve/core/service_internal.h"
#include "service_world.h"

#define MIB (1u << 20)

static inline struct talker *connect_binary(struct world *world)
{
    struct talker *talker = world_connect(world);
    hello(talker, 1000000, 0);
    return talker;
}

/* Answers were read: they take no memory any more. */
static inline void read_all(struct talker *talker)
{
    gordian_allocator memory = memory_allocator(NULL);
    memory_free(&memory, talker->client.out.buffer);
    talker->client.out = (struct output){.fd = -1};
    talker->read = 0;
}

static inline uint64_t account(const struct talker *talker)
{
    return talker->world->service->accounts[talker->client.session];
}

static inline struct served *system_of(const struct talker *talker)
{
    return service_system(talker->world->service, talker->client.system);
}

/* Declares; GORDIAN_NONE: it was told to be over its quota. */
static inline uint32_t add(struct talker *talker, uint8_t what, const char *name, uint64_t units,
                           const gordian_want *claims, size_t count)
{
    struct wire_declaration declaration = {.what = what,
                                           .name = {name, strlen(name)},
                                           .units = units,
                                           .claims = claims,
                                           .claim_count = count};
    size_t size = wire_put_declare(NULL, 0, &declaration, 1);
    unsigned char *bytes = malloc(size);
    REQUIRE(bytes);
    wire_put_declare(bytes, size, &declaration, 1);
    read_all(talker);
    give(talker, bytes, size);
    free(bytes);
    struct wire_frame frame = next_frame(talker);
    struct wire_list ids;
    uint32_t id = GORDIAN_NONE;
    if (frame.kind == WIRE_ERROR)
        CHECK(error_code(&frame) == WIRE_QUOTA);
    else
        CHECK(frame.kind == WIRE_DECLARED && wire_get_declared(&frame, &ids) &&
              wire_next_id(&ids, &id));
    return id;
}

static inline bool open_system(struct talker *talker, const char *name, uint8_t kind,
                               const char *options)
{
    unsigned char bytes[400];
    struct wire_open open = {
        .name = {name, strlen(name)}, .kind = kind, .options = {options, strlen(options)}};
    read_all(talker);
    give(talker, bytes, wire_put_open(bytes, sizeof bytes, &open));
    struct wire_frame frame = next_frame(talker);
    CHECK(frame.kind == WIRE_DONE || error_code(&frame) == WIRE_QUOTA);
    return frame.kind == WIRE_DONE;
}

/* One event; false: refused for its client's memory. */
static inline bool feed_one(struct talker *talker, const gordian_event *event, uint8_t *outcome)
{
    read_all(talker);
    struct wire_frame frame = send_events(talker, 0, event, 1);
    struct wire_results results;
    struct wire_result result = {0};
    CHECK(frame.kind == WIRE_RESULTS && wire_get_results(&frame, &results) &&
          wire_next_result(&results, &result));
    *outcome = result.outcome;
    if (result.reason != WIRE_OVER_MEMORY)
        return true;
    CHECK(result.outcome == GORDIAN_OUTCOME_REFUSED);
    return false;
}

/* A frame of many, none of which is refused. */
static inline void feed_many(struct talker *talker, const gordian_event *events, size_t count)
{
    read_all(talker);
    struct wire_frame frame = send_events(talker, 0, events, count);
    struct wire_results results = {0};
    struct wire_result result = {0};
    size_t taken = 0;
    CHECK(frame.kind == WIRE_RESULTS && wire_get_results(&frame, &results));
    while (wire_next_result(&results, &result))
        taken += result.outcome != GORDIAN_OUTCOME_REFUSED;
    CHECK_MSG(taken == count, "%zu", taken);
}

static inline gordian_event request_of(uint32_t process, const gordian_want *wants, size_t count)
{
    return (gordian_event){.op = GORDIAN_OP_REQUEST,
                           .process = process,
                           .resource = GORDIAN_NONE,
                           .to = GORDIAN_NONE,
                           .wants = wants,
                           .want_count = count};
}

static inline bool ask_for(struct talker *talker, uint32_t process, const gordian_want *wants,
                           size_t count, uint8_t *outcome)
{
    gordian_event event = request_of(process, wants, count);
    return feed_one(talker, &event, outcome);
}

static inline unsigned leave(struct talker *talker, uint32_t process)
{
    gordian_event event = {
        .op = GORDIAN_OP_EXIT, .process = process, .resource = GORDIAN_NONE, .to = GORDIAN_NONE};
    uint8_t outcome;
    CHECK(feed_one(talker, &event, &outcome));
    return outcome;
}

/* A unit of each of the first `count` resources. */
static inline void one_of_each(gordian_want *wants, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        wants[i] = (gordian_want){1, i};
}

#endif

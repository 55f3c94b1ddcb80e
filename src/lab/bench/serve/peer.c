/* The operations of a load, encoded for one of the services, and the check of its answers. */
#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"
#include "foundation/base/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ the load */

#define PROCESSES 64
#define RESOURCES 256
#define HELD_MAX  3

struct maker {
    struct serve_load *load;
    gordian_system *system;
    struct random random;
    uint32_t held[PROCESSES][HELD_MAX];
    unsigned counts[PROCESSES];
    uint32_t pending[PROCESSES]; /* the resource it waits for */
    size_t capacity, served_capacity;
    gordian_error *error;
};

static gordian_status feed_load(struct maker *maker, gordian_op op, uint32_t process,
                                uint32_t resource, gordian_outcome *outcome)
{
    struct serve_load *load = maker->load;
    if (load->count == maker->capacity)
        return fail(maker->error, GORDIAN_STATUS_INPUT, "the load does not return to its start");
    gordian_event *event = &load->events[load->count];
    gordian_result *result = &load->expected[load->count];
    *event = gen_event(op, process, resource, 1);
    TRY(gordian_feed(maker->system, event, result, maker->error));
    size_t count;
    const uint32_t *served = gordian_served(maker->system, &count);
    if (load->served_count + count > maker->served_capacity)
        return fail(maker->error, GORDIAN_STATUS_INPUT, "the load serves more than it requests");
    for (size_t i = 0; i < count; i++) {
        load->served[load->served_count++] = served[i];
        maker->held[served[i]][maker->counts[served[i]]++] = maker->pending[served[i]];
    }
    load->count++;
    *outcome = (gordian_outcome)result->outcome;
    return GORDIAN_OK;
}

static gordian_status release_one(struct maker *maker, uint32_t process)
{
    gordian_outcome outcome;
    unsigned which = (unsigned)random_below(&maker->random, maker->counts[process]);
    uint32_t resource = maker->held[process][which];
    maker->held[process][which] = maker->held[process][--maker->counts[process]];
    return feed_load(maker, GORDIAN_OP_RELEASE, process, resource, &outcome);
}

/* One step of a random process. Resources are requested in ascending order, so there is waiting,
 * but no deadlock. */
static gordian_status step_load(struct maker *maker, bool winding_up)
{
    uint32_t process = (uint32_t)random_below(&maker->random, PROCESSES);
    unsigned count = maker->counts[process];
    uint32_t least = 0;
    if (gordian_is_waiting(maker->system, process))
        return GORDIAN_OK;
    for (unsigned i = 0; i < count; i++)
        least = maker->held[process][i] >= least ? maker->held[process][i] + 1 : least;
    bool asks = !winding_up && least < RESOURCES && count < HELD_MAX &&
                (count == 0 || random_chance(&maker->random, 50));
    if (!asks)
        return count ? release_one(maker, process) : GORDIAN_OK;
    gordian_outcome outcome;
    uint32_t resource = least + (uint32_t)random_below(&maker->random, RESOURCES - least);
    maker->pending[process] = resource;
    TRY(feed_load(maker, GORDIAN_OP_REQUEST, process, resource, &outcome));
    if (outcome == GORDIAN_OUTCOME_GRANTED)
        maker->held[process][maker->counts[process]++] = resource;
    return GORDIAN_OK;
}

static bool at_rest(const struct maker *maker)
{
    for (uint32_t p = 0; p < PROCESSES; p++)
        if (maker->counts[p] || gordian_is_waiting(maker->system, p))
            return false;
    return true;
}

static gordian_status fill_load(struct maker *maker, size_t count)
{
    for (uint32_t p = 0; p < PROCESSES; p++)
        TRY(gordian_add_process(maker->system, NULL, NULL, maker->error));
    for (uint32_t q = 0; q < RESOURCES; q++)
        TRY(gordian_add_resource(maker->system, NULL, 1, NULL, maker->error));
    while (maker->load->count < count)
        TRY(step_load(maker, false));
    while (!at_rest(maker))
        TRY(step_load(maker, true));
    return GORDIAN_OK;
}

gordian_status serve_load_make(struct serve_load *load, uint64_t seed, size_t count,
                               gordian_error *error)
{
    struct maker maker = {
        .load = load, .capacity = count + 4096, .served_capacity = count + 4096, .error = error};
    *load = (struct serve_load){.process_count = PROCESSES, .resource_count = RESOURCES};
    load->events = malloc(maker.capacity * sizeof *load->events);
    load->expected = malloc(maker.capacity * sizeof *load->expected);
    load->served = malloc(maker.served_capacity * sizeof *load->served);
    random_seed(&maker.random, seed);
    gordian_status status = load->events && load->expected && load->served
                                ? gordian_open(&maker.system, NULL, error)
                                : fail_memory(error);
    THEN(status, fill_load(&maker, count));
    gordian_close(maker.system);
    if (status != GORDIAN_OK)
        serve_load_free(load);
    return status;
}

void serve_load_free(struct serve_load *load)
{
    free(load->events);
    free(load->expected);
    free(load->served);
    *load = (struct serve_load){0};
}

/* ------------------------------------------------------------------ ours */

static gordian_status next_answer(struct peer *peer, struct wire_frame *frame, gordian_error *error)
{
    struct talk *talk = &peer->talk;
    size_t used;
    for (;;) {
        enum wire_found found = wire_next(talk->in + talk->in_start, talk->in_end - talk->in_start,
                                          WIRE_ANSWER_MAX, frame, &used);
        if (found == WIRE_WHOLE)
            break;
        TRY(found == WIRE_BROKEN ? fail(error, GORDIAN_STATUS_IO, "a malformed answer")
                                 : talk_fill(talk, true, error));
    }
    talk->in_start += used;
    struct wire_error refusal;
    if (frame->kind == WIRE_ERROR && wire_get_error(frame, &refusal))
        return fail(error, GORDIAN_STATUS_IO, "the service reports: %.*s", (int)refusal.text.length,
                    refusal.text.text);
    return GORDIAN_OK;
}

/* In the order of the load: ids are assigned consecutively, from a base that depends on earlier
 * clients. */
static gordian_status declare_by_wire(struct peer *peer, gordian_error *error)
{
    const struct serve_load *load = peer->load;
    size_t count = load->process_count + load->resource_count;
    char(*names)[48] = calloc(count, sizeof *names);
    struct wire_declaration *list = calloc(count, sizeof *list);
    gordian_status status = names && list ? GORDIAN_OK : fail_memory(error);
    for (size_t i = 0; i < count && status == GORDIAN_OK; i++) {
        bool process = i < load->process_count;
        snprintf(names[i], sizeof names[i], "%s-%s%zu", peer->tag, process ? "p" : "q", i);
        list[i] = (struct wire_declaration){.what = process ? WIRE_PROCESS : WIRE_RESOURCE,
                                            .name = {names[i], strlen(names[i])},
                                            .units = process ? 0 : 1};
    }
    if (status == GORDIAN_OK) {
        size_t size = wire_put_declare(NULL, 0, list, count);
        unsigned char *to = talk_reserve(&peer->talk, size);
        status = to ? GORDIAN_OK : fail_memory(error);
        if (to)
            peer->talk.out_used += wire_put_declare(to, size, list, count);
    }
    free(names);
    free(list);
    return status;
}

static gordian_status take_declared_ids(struct peer *peer, gordian_error *error)
{
    const struct serve_load *load = peer->load;
    size_t count = load->process_count + load->resource_count;
    struct wire_frame frame;
    struct wire_list ids;
    TRY(next_answer(peer, &frame, error));
    if (!wire_get_declared(&frame, &ids) || ids.left != count)
        return fail(error, GORDIAN_STATUS_IO, "an unexpected answer to DECLARE");
    for (size_t i = 0; i < count; i++) {
        uint32_t id;
        bool process = i < load->process_count;
        if (!wire_next_id(&ids, &id) || id == GORDIAN_NONE)
            return fail(error, GORDIAN_STATUS_IO, "a declaration was refused");
        uint32_t base = (uint32_t)(process ? i : i - load->process_count);
        if (i == 0)
            peer->process_base = id;
        if (i == load->process_count)
            peer->resource_base = id;
        if (id - (process ? peer->process_base : peer->resource_base) != base)
            return fail(error, GORDIAN_STATUS_IO, "ids are not consecutive");
    }
    return GORDIAN_OK;
}

static gordian_status greet(struct peer *peer, gordian_error *error)
{
    struct wire_hello hello = {.name = {"bench", 5}};
    unsigned char *to = talk_reserve(&peer->talk, 256);
    struct wire_frame frame;
    if (!to)
        return fail_memory(error);
    memcpy(to, WIRE_START, WIRE_START_SIZE);
    peer->talk.out_used += WIRE_START_SIZE;
    peer->talk.out_used += wire_put_hello(to + WIRE_START_SIZE, 200, &hello);
    TRY(declare_by_wire(peer, error));
    TRY(talk_flush(&peer->talk, error));
    TRY(next_answer(peer, &frame, error));
    if (frame.kind != WIRE_WELCOME)
        return fail(error, GORDIAN_STATUS_IO, "an unexpected answer to HELLO");
    return take_declared_ids(peer, error);
}

static gordian_status put_events(struct peer *peer, size_t count, gordian_error *error)
{
    const struct serve_load *load = peer->load;
    while (count > 0) {
        size_t at = peer->number % load->count;
        size_t now = load->count - at < count ? load->count - at : count;
        now = peer->one_a_frame ? 1 : now < BENCH_BATCH ? now : BENCH_BATCH;
        gordian_event events[BENCH_BATCH];
        for (size_t i = 0; i < now; i++) {
            events[i] = load->events[at + i];
            events[i].process += peer->process_base;
            events[i].resource += peer->resource_base;
        }
        size_t size = wire_put_events(NULL, 0, 0, events, now);
        unsigned char *to = talk_reserve(&peer->talk, size);
        if (!to)
            return fail_memory(error);
        peer->talk.out_used += wire_put_events(to, size, peer->number + 1, events, now);
        peer->number += now;
        count -= now;
    }
    return GORDIAN_OK;
}

static gordian_status check_result(struct peer *peer, struct wire_results *results,
                                   gordian_error *error)
{
    const struct serve_load *load = peer->load;
    size_t at = peer->taken % load->count;
    const gordian_result *expected = &load->expected[at];
    struct wire_result result;
    if (at == 0)
        peer->served_at = 0;
    bool good = wire_next_result(results, &result) && result.outcome == expected->outcome &&
                result.served == expected->served_count;
    for (uint32_t i = 0; good && i < result.served; i++) {
        uint32_t process;
        good = wire_next_served(results, &process) &&
               process == load->served[peer->served_at++] + peer->process_base;
    }
    if (!good)
        return fail(error, GORDIAN_STATUS_INPUT, "event %llu: the service's answer is wrong",
                    (unsigned long long)peer->taken + 1);
    peer->taken++;
    return GORDIAN_OK;
}

static gordian_status take_event_results(struct peer *peer, size_t *taken, gordian_error *error)
{
    struct talk *talk = &peer->talk;
    struct wire_frame frame;
    size_t used;
    gordian_status status = GORDIAN_OK;
    *taken = 0;
    while (status == GORDIAN_OK &&
           wire_next(talk->in + talk->in_start, talk->in_end - talk->in_start, WIRE_ANSWER_MAX,
                     &frame, &used) == WIRE_WHOLE) {
        struct wire_results results;
        if (!wire_get_results(&frame, &results) || results.first != peer->taken + 1)
            return next_answer(peer, &frame, error) != GORDIAN_OK
                       ? GORDIAN_STATUS_IO
                       : fail(error, GORDIAN_STATUS_IO, "an unexpected answer");
        uint32_t count = results.count;
        for (uint32_t i = 0; i < count && status == GORDIAN_OK; i++)
            status = check_result(peer, &results, error);
        *taken += count;
        talk->in_start += used;
    }
    return status;
}

/* ------------------------------------------------------------------ redis */

#define KEYS        10000
#define VALUE_BYTES 20 /* size of an event of ours */

/* The value of an operation is its number, so that the stored data can be checked. */
static size_t write_redis_set(char *to, const char *tag, uint64_t number)
{
    static const char head[] = "*3\r\n$3\r\nSET\r\n$24\r\n";
    char *at = to;
    memcpy(at, head, sizeof head - 1);
    at += sizeof head - 1;
    memset(at, '-', 24);
    memcpy(at, tag, strlen(tag));
    uint64_t key = number % KEYS;
    for (char *digit = at + 23; digit >= at + 18; digit--, key /= 10)
        *digit = (char)('0' + key % 10);
    at += 24;
    memcpy(at, "\r\n$20\r\n", 7);
    at += 7;
    for (char *digit = at + VALUE_BYTES - 1; digit >= at; digit--, number /= 10)
        *digit = (char)('0' + number % 10);
    at += VALUE_BYTES;
    memcpy(at, "\r\n", 2);
    return (size_t)(at + 2 - to);
}

static gordian_status put_sets(struct peer *peer, size_t count, gordian_error *error)
{
    unsigned char *to = talk_reserve(&peer->talk, count * 100);
    if (!to)
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        to += write_redis_set((char *)to, peer->tag, peer->number++);
    peer->talk.out_used = (size_t)(to - peer->talk.out);
    return GORDIAN_OK;
}

static gordian_status take_oks(struct peer *peer, size_t *taken, gordian_error *error)
{
    struct talk *talk = &peer->talk;
    *taken = 0;
    for (; talk->in_end - talk->in_start >= 5; talk->in_start += 5, ++*taken, peer->taken++)
        if (memcmp(talk->in + talk->in_start, "+OK\r\n", 5) != 0)
            return fail(error, GORDIAN_STATUS_INPUT, "redis answers: %.*s", 30,
                        (const char *)talk->in + talk->in_start);
    return GORDIAN_OK;
}

gordian_status peer_verify(struct peer *peer, gordian_error *error)
{
    struct talk *talk = &peer->talk;
    if (!peer->redis || peer->number == 0)
        return GORDIAN_OK;
    char set[128], get[128], expected[64];
    size_t length = write_redis_set(set, peer->tag, peer->number - 1);
    /* "*2 GET" with the same key, which ends with the value. */
    int size = snprintf(get, sizeof get, "*2\r\n$3\r\nGET\r\n$24\r\n%.24s\r\n", set + 18);
    int wanted =
        snprintf(expected, sizeof expected, "$20\r\n%.20s\r\n", set + length - 2 - VALUE_BYTES);
    unsigned char *to = talk_reserve(talk, (size_t)size);
    if (!to)
        return fail_memory(error);
    memcpy(to, get, (size_t)size);
    talk->out_used += (size_t)size;
    TRY(talk_flush(talk, error));
    while (talk->in_end - talk->in_start < (size_t)wanted)
        TRY(talk_fill(talk, true, error));
    if (memcmp(talk->in + talk->in_start, expected, (size_t)wanted) != 0)
        return fail(error, GORDIAN_STATUS_INPUT, "redis does not have the stored values");
    talk->in_start = talk->in_end;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ either */

gordian_status peer_open(struct peer *peer, const char *socket, bool redis,
                         const struct serve_load *load, const char *tag, gordian_error *error)
{
    *peer = (struct peer){.redis = redis, .load = load};
    snprintf(peer->tag, sizeof peer->tag, "%.16s", tag);
    gordian_status status = talk_open(&peer->talk, socket, error);
    if (status == GORDIAN_OK && !redis)
        status = greet(peer, error);
    if (status != GORDIAN_OK)
        peer_close(peer);
    return status;
}

void peer_close(struct peer *peer)
{
    talk_close(&peer->talk);
}

gordian_status peer_put(struct peer *peer, size_t count, gordian_error *error)
{
    return peer->redis ? put_sets(peer, count, error) : put_events(peer, count, error);
}

gordian_status peer_take(struct peer *peer, size_t *taken, gordian_error *error)
{
    return peer->redis ? take_oks(peer, taken, error) : take_event_results(peer, taken, error);
}

gordian_status peer_exchange(struct peer *peer, size_t count, gordian_error *error)
{
    size_t taken = 0;
    TRY(peer_put(peer, count, error));
    TRY(talk_flush(&peer->talk, error));
    while (count > 0) {
        TRY(talk_fill(&peer->talk, true, error));
        TRY(peer_take(peer, &taken, error));
        count -= taken;
    }
    return GORDIAN_OK;
}

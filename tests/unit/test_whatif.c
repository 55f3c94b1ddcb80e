/*
 * What would deadlock? Every answer against making the request for real.
 *
 *     test_whatif [SEED]        GORDIAN_TEST_SCALE=PERCENT
 *
 * A random system is grown event by event by every engine that can hold it; every so often every
 * pair of process and resource, and random requests for several things, are asked about, and then
 * fed to a copy of the system made by replaying its events. Asking must not change anything.
 */
#include "foundation/base/bits.h"
#include "foundation/base/random.h"
#include "must.h"
#include "test.h"

#include <gordian/gordian.h>

#include <string.h>

#define MOST_EVENTS 400
#define MOST_IDS    80
#define MOST_WANTS  4

static struct random randomness;

static uint32_t below(uint32_t bound)
{
    return (uint32_t)random_below(&randomness, bound);
}

/* ------------------------------------------------------------------ a system and its history */

struct history {
    const char *engine, *copies_by; /* the engine asked, and the one that answers for real */
    uint32_t processes, resources;
    uint64_t units[MOST_IDS];
    gordian_event events[MOST_EVENTS];
    gordian_want wants[MOST_EVENTS][MOST_WANTS];
    size_t count;
};

static struct history history;

static gordian_system *open_empty(const char *engine)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_options_init(&options);
    options.engine = engine;
    gordian_system *system = NULL;
    uint32_t id;
    must(gordian_open(&system, &options, &error), &error);
    for (uint32_t q = 0; q < history.resources; q++)
        must(gordian_add_resource(system, NULL, history.units[q], &id, &error), &error);
    for (uint32_t p = 0; p < history.processes; p++)
        must(gordian_add_process(system, NULL, &id, &error), &error);
    return system;
}

static gordian_system *open_copy(void)
{
    gordian_error error = {0};
    gordian_system *system = open_empty(history.copies_by);
    gordian_result result;
    for (size_t i = 0; i < history.count; i++)
        must(gordian_feed(system, &history.events[i], &result, &error), &error);
    return system;
}

/* ------------------------------------------------------------------ asking */

/* What the copy answers for real; GORDIAN_OUTCOME_REFUSED too where its engine cannot hold the
 * request. */
static gordian_outcome real_answer(const gordian_event *request, bool *held)
{
    gordian_error error = {0};
    gordian_system *copy = open_copy();
    gordian_result result = {0};
    gordian_status status = gordian_feed(copy, request, &result, &error);
    *held = status == GORDIAN_OK;
    REQUIRE(status == GORDIAN_OK || status == GORDIAN_STATUS_UNAVAILABLE);
    gordian_close(copy);
    return (gordian_outcome)result.outcome;
}

static void check_answer(const gordian_event *request, gordian_outcome answered)
{
    bool held = false;
    gordian_outcome real = real_answer(request, &held);
    if (held)
        CHECK_MSG(answered == real, "%s: process %u, resource %u: %s, not %s", history.engine,
                  request->process, request->resource, gordian_outcome_text(answered),
                  gordian_outcome_text(real));
}

static gordian_event one_unit(uint32_t process, uint32_t resource)
{
    return (gordian_event){.op = GORDIAN_OP_REQUEST,
                           .process = process,
                           .resource = resource,
                           .to = GORDIAN_NONE,
                           .units = 1};
}

/* A request for several things, some of them wrong. */
static gordian_event several(gordian_want wants[MOST_WANTS])
{
    size_t count = below(MOST_WANTS + 1);
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){.units = below(20) ? 1 + below(2) : below(5),
                                  .resource = below(history.resources + (below(20) == 0))};
    gordian_event event = one_unit(below(history.processes + (below(20) == 0)), 0);
    event.op = below(2) ? GORDIAN_OP_REQUEST : GORDIAN_OP_WAIT;
    event.wants = wants;
    event.want_count = count;
    return event;
}

static void ask_pairs(gordian_system *system)
{
    static gordian_event requests[MOST_IDS * MOST_IDS];
    static gordian_outcome outcomes[MOST_IDS * MOST_IDS];
    static uint64_t rows[MOST_IDS * 3], doomed[3];
    gordian_error error = {0};
    size_t count = 0;
    for (uint32_t p = 0; p < history.processes; p++)
        for (uint32_t q = 0; q < history.resources; q++)
            requests[count++] = one_unit(p, q);
    must(gordian_what_if(system, requests, count, outcomes, &error), &error);
    memset(rows, 0xff, sizeof rows);
    must(gordian_what_if_all(system, rows, 3, doomed, &error), &error);
    for (size_t i = 0; i < count; i++) {
        uint32_t p = requests[i].process, q = requests[i].resource;
        CHECK(bits_test(rows + p * 3, q) == (outcomes[i] == GORDIAN_OUTCOME_DEADLOCK));
        if (!gordian_is_waiting(system, p))
            CHECK(bits_test(doomed, q) == (outcomes[i] == GORDIAN_OUTCOME_DOOMED));
        check_answer(&requests[i], outcomes[i]);
    }
    /* One alone goes another way than many. */
    for (int i = 0; i < 8; i++) {
        gordian_outcome alone;
        size_t at = below((uint32_t)count);
        must(gordian_what_if(system, &requests[at], 1, &alone, &error), &error);
        CHECK(alone == outcomes[at]);
    }
}

static void ask_several(gordian_system *system)
{
    gordian_want wants[6][MOST_WANTS];
    gordian_event requests[6];
    gordian_outcome outcomes[6];
    gordian_error error = {0};
    for (int i = 0; i < 6; i++)
        requests[i] = several(wants[i]);
    must(gordian_what_if(system, requests, 6, outcomes, &error), &error);
    for (int i = 0; i < 6; i++)
        check_answer(&requests[i], outcomes[i]);
}

/* ------------------------------------------------------------------ growing */

/* Something that is likely to be possible; `general`: requests may ask for several things. */
static gordian_event next_event(const gordian_system *system, bool general, gordian_want *wants)
{
    gordian_event event = one_unit(below(history.processes), below(history.resources));
    gordian_edge edges[4];
    uint32_t dice = below(100);
    bool waits = gordian_is_waiting(system, event.process);
    if (dice < 2) {
        event.op = GORDIAN_OP_EXIT;
    } else if (waits) {
        event.op = dice < 40 ? GORDIAN_OP_CANCEL : GORDIAN_OP_REQUEST;
    } else if (dice < 30 && gordian_holdings(system, event.process, edges, 4)) {
        event.op = GORDIAN_OP_RELEASE;
        event.resource = edges[0].resource;
    } else if (general && dice < 70) {
        uint32_t process = event.process;
        event = several(wants);
        event.process = process;
    }
    return event;
}

static void grow(const char *engine, uint32_t processes, uint32_t resources, uint64_t most_units,
                 bool general, unsigned events, unsigned every)
{
    gordian_error error = {0};
    history.engine = engine;
    /* The emulator takes its time. */
    history.copies_by = strcmp(engine, "cuda") ? engine : "sparse";
    history.processes = processes;
    history.resources = resources;
    history.count = 0;
    for (uint32_t q = 0; q < resources; q++)
        history.units[q] = 1 + random_below(&randomness, most_units);
    gordian_system *system = open_empty(engine);
    for (unsigned i = 0; i < events; i++) {
        gordian_result result;
        gordian_event event = next_event(system, general, history.wants[history.count]);
        must(gordian_feed(system, &event, &result, &error), &error);
        history.events[history.count++] = event;
        if (i % every)
            continue;
        ask_pairs(system);
        ask_several(system);
    }
    gordian_close(system);
}

/* ------------------------------------------------------------------ fixed cases */

static void test_empty(void)
{
    gordian_error error = {0};
    gordian_system *system = NULL;
    uint64_t rows[4], doomed[4];
    must(gordian_open(&system, NULL, &error), &error);
    must(gordian_what_if(system, NULL, 0, NULL, &error), &error);
    must(gordian_what_if_all(system, rows, 0, doomed, &error), &error);
    gordian_event nobody = one_unit(0, 0);
    gordian_outcome outcome;
    must(gordian_what_if(system, &nobody, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    nobody.op = GORDIAN_OP_RELEASE;
    CHECK(gordian_what_if(system, &nobody, 1, &outcome, &error) == GORDIAN_STATUS_INPUT);
    uint32_t id;
    must(gordian_add_resource(system, NULL, 1, &id, &error), &error);
    CHECK(gordian_what_if_all(system, rows, 0, doomed, &error) == GORDIAN_STATUS_INPUT);
    gordian_close(system);
}

/* A chain longer than the steps allowed by hand, asked about from its far end. */
static void test_long_chain(void)
{
    enum { LINKS = 2000 };
    static gordian_outcome outcomes[LINKS];
    static gordian_event requests[LINKS];
    gordian_error error = {0};
    gordian_system *system = NULL;
    uint32_t id;
    must(gordian_open(&system, NULL, &error), &error);
    for (uint32_t i = 0; i < LINKS; i++) {
        must(gordian_add_resource(system, NULL, 1, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
        must(gordian_request(system, i, i, 1, NULL, &error), &error);
    }
    for (uint32_t i = 0; i + 1 < LINKS; i++)
        must(gordian_request(system, i, i + 1, 1, NULL, &error), &error);
    for (uint32_t i = 0; i < LINKS; i++)
        requests[i] = one_unit(LINKS - 1, i);
    must(gordian_what_if(system, requests, LINKS, outcomes, &error), &error);
    for (uint32_t i = 0; i < LINKS; i++)
        CHECK(outcomes[i] == GORDIAN_OUTCOME_DEADLOCK);
    gordian_close(system);
}

/* ------------------------------------------------------------------ lack of memory */

struct meagre {
    long left; /* allocations until one fails */
};

static void *meagre_resize(void *context, void *pointer, size_t size)
{
    struct meagre *meagre = context;
    if (size == 0) {
        free(pointer);
        return NULL;
    }
    return meagre->left-- == 0 ? NULL : realloc(pointer, size);
}

/* Every allocation of a question fails once; then the question is answered as if nothing had
 * happened. */
static void test_memory(uint64_t units)
{
    struct meagre meagre = {.left = -1};
    gordian_allocator allocator = {.resize = meagre_resize, .context = &meagre};
    gordian_options options;
    gordian_options_init(&options);
    options.allocator = &allocator;
    gordian_error error = {0};
    gordian_system *system = NULL;
    uint32_t id;
    must(gordian_open(&system, &options, &error), &error);
    for (uint32_t i = 0; i < 2; i++) {
        must(gordian_add_resource(system, NULL, units, &id, &error), &error);
        must(gordian_add_process(system, NULL, &id, &error), &error);
        must(gordian_request(system, i, i, units, NULL, &error), &error);
    }
    must(gordian_request(system, 0, 1, 1, NULL, &error), &error);
    gordian_want wants[2] = {{.resource = 0, .units = 1}, {.resource = 1, .units = units}};
    gordian_event requests[2] = {one_unit(1, 0), one_unit(1, 0)};
    requests[1].wants = wants;
    requests[1].want_count = 2;
    gordian_outcome outcomes[2] = {0};
    uint64_t rows[2];
    for (long n = 0, finished = 0; !finished; n++) {
        meagre.left = n;
        gordian_status asked = gordian_what_if(system, requests, 2, outcomes, &error);
        gordian_status all = gordian_what_if_all(system, rows, 1, NULL, &error);
        finished = meagre.left >= 0;
        CHECK(finished ? !asked && !all
                       : asked == GORDIAN_STATUS_MEMORY || all == GORDIAN_STATUS_MEMORY);
    }
    CHECK(outcomes[0] == GORDIAN_OUTCOME_DEADLOCK && outcomes[1] == GORDIAN_OUTCOME_DEADLOCK);
    CHECK(rows[0] == 0 && rows[1] == 3);
    meagre.left = -1;
    gordian_close(system);
}

int main(int argc, char **argv)
{
    static const char *const engines[] = {"sparse", "matrix", "reduce", "cuda"};
    unsigned scale = test_scale();
    random_seed(&randomness, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    setenv("GORDIAN_EMULATE_GPU", "1", 1);
    test_empty();
    test_long_chain();
    test_memory(1);
    test_memory(3);
    unsigned events = 10 + 190 * (scale > 100 ? 100 : scale) / 100;
    for (size_t e = 0; e < sizeof engines / sizeof *engines; e++) {
        bool general = strcmp(engines[e], "matrix") && strcmp(engines[e], "cuda");
        for (unsigned round = 0; round < 1 + scale / 100; round++) {
            grow(engines[e], 6, 5, 1, false, events, 5);
            grow(engines[e], 6, 5, 3, false, events, 5);
            grow(engines[e], 12, 70, 2, false, events, 50);
            grow(engines[e], 30, 9, 2, false, events, 25);
            if (general)
                grow(engines[e], 7, 5, 3, true, events, 5);
        }
    }
    return test_done();
}

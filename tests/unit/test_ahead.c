/* What lies ahead of a process answers for it: witnesses, victims and who is dead are the same as
 * by the whole graph. */
#include "engines/detect/ahead.h"

#include "foundation/base/random.h"
#include "test.h"

#include <string.h>

#define PROCESSES 24
#define RESOURCES 20

static gordian_system *open_system(const char *engine, struct random *random, int model)
{
    gordian_system *system;
    gordian_options options;
    uint32_t id;
    gordian_options_init(&options);
    options.engine = engine;
    REQUIRE(!gordian_open(&system, &options, NULL));
    for (int i = 0; i < PROCESSES; i++)
        REQUIRE(!gordian_add_process(system, NULL, &id, NULL));
    for (int i = 0; i < RESOURCES; i++)
        REQUIRE(!gordian_add_resource(system, NULL, model ? 1 + random_below(random, 3) : 1, &id,
                                      NULL));
    for (uint32_t i = 0; i < PROCESSES; i++) {
        REQUIRE(!gordian_set_cost(system, i, (int64_t)random_below(random, 5), NULL));
        REQUIRE(!gordian_set_priority(system, i, (int64_t)random_below(random, 5), NULL));
    }
    return system;
}

static void check_dead(gordian_system *system)
{
    const uint32_t *list;
    size_t count, at = 0;
    REQUIRE(!gordian_deadlocked(system, &list, &count, NULL));
    uint32_t dead[PROCESSES];
    memcpy(dead, list, count * sizeof *dead);
    for (uint32_t p = 0; p < PROCESSES; p++) {
        bool is = false, should = at < count && dead[at] == p;
        at += should;
        CHECK(!system_is_dead(system, p, &is, NULL));
        CHECK_MSG(is == should, "process %u: %d", p, is);
    }
}

static void check_witness(gordian_system *system, uint32_t process)
{
    gordian_witness all, near;
    gordian_edge edges[4 * PROCESSES * RESOURCES];
    gordian_status status = gordian_explain(system, process, &all, NULL);
    REQUIRE(status || all.count < sizeof edges / sizeof *edges);
    if (status == GORDIAN_OK)
        memcpy(edges, all.edges, all.count * sizeof *edges);
    CHECK(ahead_explain(system, process, NONE - 1, &near, NULL) == status);
    if (status != GORDIAN_OK)
        return;
    CHECK(near.cycle == all.cycle && near.count == all.count);
    for (size_t i = 0; near.count == all.count && i < all.count; i++)
        CHECK_MSG(near.edges[i].process == edges[i].process &&
                      near.edges[i].resource == edges[i].resource &&
                      near.edges[i].units == edges[i].units &&
                      near.edges[i].waits == edges[i].waits,
                  "edge %zu of %zu", i, all.count);
    CHECK(ahead_explain(system, process, 0, &near, NULL) == GORDIAN_STATUS_END);
}

/* The same victims, in the same order, for the same reasons. */
static void check_recovery(gordian_system *system, gordian_system *twin, gordian_policy policy,
                           uint32_t requester)
{
    gordian_victim all, near;
    gordian_status status;
    do {
        status = gordian_recover_one(system, policy, &all, NULL);
        gordian_status other = system_recover_near(twin, policy, requester, true, &near, NULL);
        CHECK_MSG(other == status, "%d, %d", other, status);
        if (status != GORDIAN_OK || other)
            return;
        CHECK_MSG(near.process == all.process, "%u, %u", near.process, all.process);
        CHECK(near.weight == all.weight && near.frees_count == all.frees_count &&
              near.served_count == all.served_count);
        for (size_t i = 0; i < all.served_count && i < near.served_count; i++)
            CHECK(near.served[i] == all.served[i]);
    } while (near.process == all.process);
}

static gordian_event random_event(struct random *random, int model, gordian_want *wants)
{
    gordian_event event = {.op = GORDIAN_OP_REQUEST,
                           .process = (uint32_t)random_below(random, PROCESSES),
                           .resource = (uint32_t)random_below(random, RESOURCES),
                           .units = 1,
                           .to = NONE};
    unsigned what = (unsigned)random_below(random, 16);
    if (what < 3)
        event.op = GORDIAN_OP_RELEASE;
    else if (what == 3)
        event.op = GORDIAN_OP_EXIT;
    else if (what == 4)
        event.op = GORDIAN_OP_CANCEL;
    if (event.op == GORDIAN_OP_EXIT || event.op == GORDIAN_OP_CANCEL) {
        event.resource = NONE;
        event.units = 0;
    }
    if (model == 2 && event.op == GORDIAN_OP_REQUEST && random_chance(random, 60)) {
        event.want_count = 1 + random_below(random, 4);
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){1 + random_below(random, 2),
                                      (uint32_t)random_below(random, RESOURCES)};
        event.wants = wants;
    }
    return event;
}

/* Deadlocks are resolved as they form, or stay. */
static void check_system(const char *engine, uint64_t seed, int model, bool resolves)
{
    struct random random, again;
    random_seed(&random, seed);
    again = random;
    gordian_system *system = open_system(engine, &random, model);
    gordian_system *twin = open_system(engine, &again, model);
    gordian_policy policy = (gordian_policy)(1 + random_below(&random, 5));
    for (int i = 0; i < 300; i++) {
        gordian_want wants[4];
        gordian_event event = random_event(&random, model, wants);
        gordian_result result, other;
        REQUIRE(!gordian_feed(system, &event, &result, NULL));
        REQUIRE(!gordian_feed(twin, &event, &other, NULL));
        REQUIRE(result.outcome == other.outcome);
        bool stuck =
            result.outcome == GORDIAN_OUTCOME_DEADLOCK || result.outcome == GORDIAN_OUTCOME_DOOMED;
        if (stuck || i % 16 == 0) {
            check_dead(system);
            check_witness(system, event.process);
        }
        if (stuck && resolves)
            check_recovery(system, twin, policy, event.process);
    }
    gordian_close(system);
    gordian_close(twin);
}

/* In a large system the public call takes the short way, and says the same. */
static void check_large(void)
{
    gordian_system *system;
    gordian_witness witness;
    gordian_error error = {0};
    gordian_result result;
    uint32_t id;
    REQUIRE(!gordian_open(&system, NULL, NULL));
    for (int i = 0; i < 5000; i++) {
        REQUIRE(!gordian_add_process(system, NULL, &id, NULL));
        REQUIRE(!gordian_add_resource(system, NULL, 1, &id, NULL));
    }
    for (uint32_t i = 0; i < 6; i++) {
        gordian_event event = {.op = GORDIAN_OP_REQUEST,
                               .process = i % 3 * 1000,
                               .resource = (i + i / 3) % 3 * 1500,
                               .units = 1,
                               .to = NONE};
        REQUIRE(!gordian_feed(system, &event, &result, NULL));
    }
    CHECK(result.outcome == GORDIAN_OUTCOME_DEADLOCK);
    CHECK(!gordian_explain(system, 2000, &witness, NULL) && witness.cycle && witness.count == 6);
    CHECK(witness.edges[0].process == 2000 && witness.edges[0].resource == 0);
    CHECK(gordian_explain(system, 7, &witness, &error) == GORDIAN_STATUS_INPUT &&
          strstr(error.message, "can still run"));
    gordian_close(system);
}

int main(void)
{
    static const char *const engines[] = {"sparse", "reduce", "matrix"};
    for (unsigned long i = 0; i < test_scaled(600); i++)
        for (int model = 0; model < 3; model++)
            for (size_t e = 0; e < (model == 2 ? 2 : 3); e++)
                check_system(engines[e], 1000 * i + (unsigned)model, model, i % 3 > 0);
    check_large();
    return test_done();
}

/* Waits for acts: AND, OR and k of n in random systems, against an oracle that knows nothing of
 * resources: it tries what everybody could do until nobody is left who can. */
#include "foundation/base/random.h"
#include "gordian/gordian.h"
#include "must.h"

#include <string.h>

enum {
    MOST = 8,   /* processes */
    AWAITS = 3, /* of one */
};

/* 10^6 random systems in the long form. */
#define SYSTEMS 1000000

/* ------------------------------------------------------------------ the oracle */

struct await {
    uint32_t others; /* a set */
    uint32_t needed;
};

struct world {
    uint32_t count;
    struct await awaits[MOST][AWAITS];
    uint32_t await_count[MOST]; /* 0: it runs */
};

static bool can_go_on(const struct world *world, uint32_t process, uint32_t free)
{
    for (uint32_t i = 0; i < world->await_count[process]; i++) {
        const struct await *await = &world->awaits[process][i];
        if ((uint32_t)__builtin_popcount(await->others & free) < await->needed)
            return false;
    }
    return true;
}

/* Those that can never go on, even if everybody does his best. */
static uint32_t world_dead(const struct world *world)
{
    uint32_t free = 0, before;
    do {
        before = free;
        for (uint32_t p = 0; p < world->count; p++)
            if (can_go_on(world, p, free))
                free |= 1u << p;
    } while (free != before);
    return ((1u << world->count) - 1) & ~free;
}

/* An await of random others, itself perhaps among them; `list` gets them. */
static struct await random_await(struct random *random, uint32_t count, uint32_t *list,
                                 size_t *listed)
{
    struct await await = {0};
    *listed = 1 + random_below(random, 4);
    for (size_t i = 0; i < *listed; i++) {
        list[i] = (uint32_t)random_below(random, count);
        await.others |= 1u << list[i];
    }
    await.needed = 1 + (uint32_t)random_below(random, (uint32_t)__builtin_popcount(await.others));
    if (random_chance(random, 25) || await.needed == *listed)
        await.needed = (uint32_t)__builtin_popcount(await.others); /* all of them */
    return await;
}

/* ------------------------------------------------------------------ snapshots */

static uint32_t set_of(const uint32_t *list, size_t count)
{
    uint32_t set = 0;
    for (size_t i = 0; i < count; i++)
        set |= 1u << list[i];
    return set;
}

/* No member of a part can go on whatever all others do. */
static void check_part(const struct world *world, const gordian_part *part)
{
    uint32_t inside = set_of(part->processes, part->process_count);
    for (size_t i = 0; i < part->process_count; i++)
        CHECK(!can_go_on(world, part->processes[i], ~inside));
}

static void one_snapshot(struct random *random)
{
    struct world world = {.count = 1 + (uint32_t)random_below(random, MOST)};
    gordian_snapshot *snapshot = NULL;
    gordian_report report;
    gordian_error error = {0};
    must(gordian_snapshot_open(&snapshot, NULL, &error), &error);
    for (uint32_t p = 0; p < world.count; p++)
        must(gordian_snapshot_add_process(snapshot, NULL, &error), &error);
    for (uint32_t p = 0; p < world.count; p++) {
        uint32_t awaits =
            random_chance(random, 35) ? 0 : 1 + (uint32_t)random_below(random, AWAITS);
        for (uint32_t i = 0; i < awaits; i++) {
            uint32_t list[4];
            size_t listed;
            struct await await = random_await(random, world.count, list, &listed);
            world.awaits[p][world.await_count[p]++] = await;
            must(gordian_snapshot_await(snapshot, p, list, listed, await.needed, NULL, &error),
                 &error);
        }
    }
    must(gordian_snapshot_check(snapshot, &report, &error), &error);
    uint32_t dead = set_of(report.deadlocked, report.deadlocked_count);
    CHECK_MSG(dead == world_dead(&world), "%x, not %x", dead, world_dead(&world));
    for (size_t i = 0; i < report.part_count; i++)
        check_part(&world, &report.parts[i]);
    gordian_snapshot_close(snapshot);
}

/* ------------------------------------------------------------------ systems, event by event */

struct live {
    struct world world;
    gordian_system *systems[2]; /* sparse, reduce */
};

static void open_live(struct live *live, struct random *random)
{
    static const char *const engines[] = {"sparse", "reduce"};
    gordian_error error = {0};
    *live = (struct live){.world.count = 2 + (uint32_t)random_below(random, MOST - 1)};
    for (int i = 0; i < 2; i++) {
        gordian_options options;
        gordian_options_init(&options);
        options.engine = engines[i];
        must(gordian_open(&live->systems[i], &options, &error), &error);
        for (uint32_t p = 0; p < live->world.count; p++)
            must(gordian_add_process(live->systems[i], NULL, NULL, &error), &error);
    }
}

/* `process` has acted, for `to` or for all: who got what it needed goes on. */
static uint32_t world_act(struct world *world, uint32_t process, uint32_t to)
{
    uint32_t awaited = 0;
    for (uint32_t p = 0; p < world->count; p++) {
        if (to != GORDIAN_NONE && to != p)
            continue;
        bool over = world->await_count[p] > 0;
        for (uint32_t i = 0; i < world->await_count[p]; i++) {
            struct await *await = &world->awaits[p][i];
            if (await->others >> process & 1) {
                await->others &= ~(1u << process);
                await->needed -= await->needed > 0;
                awaited |= 1u << p;
            }
            over &= await->needed == 0;
        }
        if (over)
            world->await_count[p] = 0;
    }
    return awaited;
}

static void check_states(struct live *live)
{
    uint32_t dead = world_dead(&live->world);
    for (int i = 0; i < 2; i++) {
        const uint32_t *list;
        size_t count;
        gordian_error error = {0};
        must(gordian_deadlocked(live->systems[i], &list, &count, &error), &error);
        uint32_t found = set_of(list, count);
        CHECK_MSG(found == dead, "engine %d: %x, not %x", i, found, dead);
        for (uint32_t p = 0; p < live->world.count; p++)
            CHECK(gordian_is_waiting(live->systems[i], p) == (live->world.await_count[p] > 0));
    }
}

static gordian_outcome feed_both(struct live *live, const gordian_event *event)
{
    gordian_result results[2];
    gordian_error error = {0};
    for (int i = 0; i < 2; i++)
        must(gordian_feed(live->systems[i], event, &results[i], &error), &error);
    CHECK_MSG(results[0].outcome == results[1].outcome, "%s: %s by sparse, %s by reduce",
              gordian_op_text(event->op), gordian_outcome_text(results[0].outcome),
              gordian_outcome_text(results[1].outcome));
    CHECK(results[0].refusal == results[1].refusal);
    CHECK(results[0].served_count == results[1].served_count);
    return (gordian_outcome)results[0].outcome;
}

static void step_await(struct live *live, struct random *random, uint32_t process)
{
    struct world *world = &live->world;
    gordian_want wants[4];
    uint32_t list[4];
    size_t listed;
    struct await await = random_await(random, world->count, list, &listed);
    if (world->await_count[process] == AWAITS)
        return;
    for (size_t i = 0; i < listed; i++)
        wants[i] = (gordian_want){.units = 1, .resource = list[i]};
    uint32_t dead = world_dead(world);
    world->awaits[process][world->await_count[process]++] = await;
    const gordian_event event = {.op = GORDIAN_OP_AWAIT,
                                 .process = process,
                                 .to = GORDIAN_NONE,
                                 .units = await.needed,
                                 .wants = wants,
                                 .want_count = listed};
    gordian_outcome outcome = feed_both(live, &event);
    bool now = world_dead(world) >> process & 1;
    CHECK_MSG((outcome == GORDIAN_OUTCOME_BLOCKED) == !now, "%s", gordian_outcome_text(outcome));
    /* Hopeless for anybody who asked for the same: those dead before are too many. */
    if (now && world->await_count[process] == 1) {
        bool doomed = (uint32_t)__builtin_popcount(await.others & ~dead) < await.needed;
        CHECK_MSG((outcome == GORDIAN_OUTCOME_DOOMED) == doomed, "%s",
                  gordian_outcome_text(outcome));
    }
}

static void step_act(struct live *live, struct random *random, uint32_t process)
{
    struct world *world = &live->world;
    uint32_t to =
        random_chance(random, 50) ? GORDIAN_NONE : (uint32_t)random_below(random, world->count);
    const gordian_event event = {.op = GORDIAN_OP_ACT, .process = process, .to = to};
    gordian_outcome outcome = feed_both(live, &event);
    bool waits = world->await_count[process] > 0;
    bool awaited = !waits && world_act(world, process, to);
    CHECK_MSG((outcome == GORDIAN_OUTCOME_RELEASED) == awaited, "%s",
              gordian_outcome_text(outcome));
}

static void step_leave(struct live *live, uint32_t process, bool exits)
{
    struct world *world = &live->world;
    const gordian_event event = {
        .op = exits ? GORDIAN_OP_EXIT : GORDIAN_OP_CANCEL, .process = process, .to = GORDIAN_NONE};
    gordian_outcome outcome = feed_both(live, &event);
    bool waits = world->await_count[process] > 0;
    CHECK((outcome == GORDIAN_OUTCOME_REFUSED) == (!exits && !waits));
    world->await_count[process] = 0;
    if (exits) /* who ends acts for everybody */
        world_act(world, process, GORDIAN_NONE);
}

static void one_live(struct random *random)
{
    struct live live;
    open_live(&live, random);
    for (int step = 0; step < 24; step++) {
        uint32_t process = (uint32_t)random_below(random, live.world.count);
        uint64_t kind = random_below(random, 20);
        if (kind < 11)
            step_await(&live, random, process);
        else if (kind < 17)
            step_act(&live, random, process);
        else
            step_leave(&live, process, kind == 19);
        check_states(&live);
    }
    for (int i = 0; i < 2; i++)
        gordian_close(live.systems[i]);
}

/* ------------------------------------------------------------------ what cannot be */

static void refusals(void)
{
    gordian_system *system;
    gordian_outcome outcome;
    gordian_error error = {0};
    uint32_t p[3], q;
    must(gordian_open(&system, NULL, &error), &error);
    for (int i = 0; i < 3; i++)
        must(gordian_add_process(system, NULL, &p[i], &error), &error);
    must(gordian_add_resource(system, "q", 1, &q, &error), &error);
    must(gordian_await(system, p[0], &p[1], 1, 2, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_await(system, p[0], (uint32_t[]){p[1], p[1], p[1]}, 3, 2, &outcome, &error),
         &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_await(system, p[0], (uint32_t[]){p[1], p[1], p[1]}, 3, 3, &outcome, &error),
         &error);
    CHECK(outcome == GORDIAN_OUTCOME_BLOCKED);
    must(gordian_act(system, p[1], p[0], &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_RELEASED && !gordian_is_waiting(system, p[0]));
    must(gordian_await(system, p[0], &p[1], 0, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_await(system, p[0], &(uint32_t){77}, 1, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_act(system, p[1], GORDIAN_NONE, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    /* A wait for a resource is none for acts, and cannot be added to. */
    must(gordian_request(system, p[1], q, 1, &outcome, &error), &error);
    must(gordian_request(system, p[0], q, 1, &outcome, &error), &error);
    must(gordian_await(system, p[0], &p[1], 1, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_REFUSED);
    /* A lock and an act in one cycle. */
    must(gordian_await(system, p[1], &p[0], 1, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_DEADLOCK);
    /* An await is nothing to request or to release. */
    must(gordian_request(system, p[2], 1, 1, &outcome, &error), &error);
    CHECK(gordian_is_await(system, 1) && outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_await(system, p[1], &p[2], 1, 1, &outcome, &error), &error);
    must(gordian_release(system, p[2], 2, 1, &outcome, &error), &error);
    CHECK(gordian_is_await(system, 2) && outcome == GORDIAN_OUTCOME_REFUSED);
    must(gordian_cancel(system, p[1], &outcome, &error), &error);
    CHECK(gordian_resource_limit(system) == 3 && !gordian_resource_name(system, 1));
    gordian_close(system);
}

/* A system that threads share knows them, too. */
static void shared_acts(void)
{
    gordian_system *system;
    gordian_options options;
    gordian_outcome outcome;
    gordian_error error = {0};
    uint32_t p[3], q;
    gordian_options_init(&options);
    options.shared = true;
    must(gordian_open(&system, &options, &error), &error);
    for (int i = 0; i < 3; i++)
        must(gordian_add_process(system, NULL, &p[i], &error), &error);
    must(gordian_add_resource(system, "q", 1, &q, &error), &error);
    must(gordian_request(system, p[0], q, 1, &outcome, &error), &error);
    must(gordian_await(system, p[0], p + 1, 2, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_BLOCKED);
    must(gordian_request(system, p[1], q, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_BLOCKED);
    CHECK(gordian_await_grant(system, p[0], 0, &error) == GORDIAN_STATUS_END);
    must(gordian_act(system, p[2], p[0], &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_RELEASED);
    must(gordian_await_grant(system, p[0], UINT64_MAX, &error), &error);
    must(gordian_await(system, p[0], p + 1, 1, 1, &outcome, &error), &error);
    CHECK(outcome == GORDIAN_OUTCOME_DEADLOCK);
    must(gordian_exit(system, p[1], &outcome, &error), &error);
    must(gordian_await_grant(system, p[0], UINT64_MAX, &error), &error);
    gordian_close(system);
}

int main(void)
{
    unsigned long systems = test_scaled(SYSTEMS) / (test_scale() < 100 ? 20 : 1) + 1;
    struct random random;
    random_seed(&random, 20);
    for (unsigned long i = 0; i < systems; i++)
        one_snapshot(&random);
    for (unsigned long i = 0; i < systems / 10 + 1; i++)
        one_live(&random);
    refusals();
    shared_acts();
    return test_done();
}

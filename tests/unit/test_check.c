/* Snapshots: by hand, larger ones, contrived ones, taken of systems, and with failing memory.
 * Against brute force: test_check_random.c. */
#include "foundation/base/random.h"
#include "snapshots.h"

#include <string.h>

/* A list as text: "0 3 4". */
static const char *text(const uint32_t *list, size_t count)
{
    static char buffers[4][512];
    static unsigned next;
    char *buffer = buffers[next++ % 4];
    size_t used = 0;
    buffer[0] = '\0';
    for (size_t i = 0; i < count && used < 480; i++)
        used +=
            (size_t)snprintf(buffer + used, sizeof buffers[0] - used, i ? " %u" : "%u", list[i]);
    return buffer;
}

#define CHECK_LIST(list, count, expected)                                                          \
    CHECK_MSG(strcmp(text(list, count), expected) == 0, "%s: is \"%s\", expected \"%s\"",          \
              __func__, text(list, count), expected)

/* ------------------------------------------------------------------ by hand */

static void test_empty(void)
{
    gordian_snapshot *snapshot = start(0, 0);
    gordian_report report = judge(snapshot);
    CHECK(report.model == GORDIAN_MODEL_SINGLE_UNIT);
    CHECK(report.deadlocked_count == 0 && report.part_count == 0);
    gordian_snapshot_close(snapshot);
    gordian_snapshot_close(NULL);
    snapshot = start(3, 2);
    CHECK(judge(snapshot).deadlocked_count == 0);
    gordian_snapshot_close(snapshot);
}

static void test_self_wait(void)
{
    gordian_snapshot *snapshot = start(1, 1);
    hold(snapshot, 0, 0, 1);
    CHECK(judge(snapshot).deadlocked_count == 0);
    await(snapshot, 0, 0, 1);
    gordian_report report = judge(snapshot);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "0");
    REQUIRE(report.part_count == 1);
    CHECK(report.parts[0].cycle);
    CHECK_LIST(report.parts[0].processes, report.parts[0].process_count, "0");
    CHECK_LIST(report.parts[0].resources, report.parts[0].resource_count, "0");
    gordian_snapshot_close(snapshot);
}

/* Two cycles, a chain behind one of them, and one who waits for what is free. */
static void test_cycles(void)
{
    gordian_snapshot *snapshot = start(9, 9);
    for (uint32_t i = 0; i < 8; i++)
        hold(snapshot, i, i, 1);
    await(snapshot, 4, 2, 1); /* 4 -> 2 -> 5 -> 4 */
    await(snapshot, 2, 5, 1);
    await(snapshot, 5, 4, 1);
    await(snapshot, 1, 0, 1); /* 1 -> 0 -> 1 */
    await(snapshot, 0, 1, 1);
    await(snapshot, 3, 5, 1); /* 6 -> 3 -> the first cycle */
    await(snapshot, 6, 3, 1);
    await(snapshot, 7, 8, 1); /* free */
    await(snapshot, 8, 7, 1); /* behind one that runs */
    gordian_report report = judge(snapshot);
    CHECK(report.model == GORDIAN_MODEL_SINGLE_UNIT);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "0 1 2 3 4 5 6");
    REQUIRE(report.part_count == 2);
    CHECK_LIST(report.parts[0].processes, report.parts[0].process_count, "0 1");
    CHECK_LIST(report.parts[0].resources, report.parts[0].resource_count, "1 0");
    CHECK_LIST(report.parts[1].processes, report.parts[1].process_count, "2 5 4");
    CHECK_LIST(report.parts[1].resources, report.parts[1].resource_count, "5 4 2");

    const gordian_edge *edges;
    size_t count;
    MUST(gordian_snapshot_edges(snapshot, &report.parts[1], &edges, &count, NULL));
    REQUIRE(count == 6);
    CHECK(edges[0].waits && edges[0].process == 2 && edges[0].resource == 5);
    CHECK(!edges[1].waits && edges[1].process == 5 && edges[1].resource == 5);
    CHECK(edges[4].waits && edges[4].process == 4 && edges[4].resource == 2);
    CHECK(!edges[5].waits && edges[5].process == 2 && edges[5].resource == 2 &&
          edges[5].units == 1);
    gordian_snapshot_close(snapshot);
}

/* A resource of two units: a cycle through it is no deadlock while its other holder can run. */
static void test_knot(void)
{
    gordian_snapshot *snapshot = start(3, 1);
    uint32_t pool;
    MUST(gordian_snapshot_add_resource(snapshot, 2, &pool, NULL));
    hold(snapshot, 0, 0, 1);
    hold(snapshot, 1, pool, 1);
    hold(snapshot, 2, pool, 1);
    await(snapshot, 0, pool, 1);
    await(snapshot, 1, 0, 1);
    gordian_report report = judge(snapshot);
    CHECK(report.model == GORDIAN_MODEL_MULTI_UNIT);
    CHECK(report.deadlocked_count == 0 && report.part_count == 0);
    await(snapshot, 2, 0, 1);
    report = judge(snapshot);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "0 1 2");
    REQUIRE(report.part_count == 1);
    CHECK(!report.parts[0].cycle);
    CHECK_LIST(report.parts[0].processes, report.parts[0].process_count, "0 1 2");
    CHECK_LIST(report.parts[0].resources, report.parts[0].resource_count, "0 1");
    gordian_snapshot_close(snapshot);
}

/* A cycle that also waits for another cycle is a deadlock of its own. */
static void test_and_waits(void)
{
    gordian_snapshot *snapshot = start(5, 5);
    for (uint32_t i = 0; i < 5; i++)
        hold(snapshot, i, i, 1);
    await(snapshot, 0, 1, 1);
    await(snapshot, 1, 0, 1);
    await(snapshot, 1, 2, 1);
    await(snapshot, 2, 3, 1);
    await(snapshot, 3, 2, 1);
    await(snapshot, 4, 0, 1);
    gordian_report report = judge(snapshot);
    CHECK(report.model == GORDIAN_MODEL_GENERAL);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "0 1 2 3 4");
    REQUIRE(report.part_count == 2);
    CHECK_LIST(report.parts[0].processes, report.parts[0].process_count, "0 1");
    CHECK_LIST(report.parts[0].resources, report.parts[0].resource_count, "0 1");
    CHECK_LIST(report.parts[1].processes, report.parts[1].process_count, "2 3");
    gordian_snapshot_close(snapshot);
}

/* Units that add up, holds given in pieces, a wish that fits beside one that does not. */
static void test_units(void)
{
    gordian_snapshot *snapshot = start(3, 0);
    uint32_t a, b;
    MUST(gordian_snapshot_add_resource(snapshot, 10, &a, NULL));
    MUST(gordian_snapshot_add_resource(snapshot, 4, &b, NULL));
    hold(snapshot, 0, a, 2);
    hold(snapshot, 1, a, 1);
    hold(snapshot, 1, a, 2);
    hold(snapshot, 0, a, 1);
    hold(snapshot, 1, b, 1);
    await(snapshot, 0, b, 2);
    await(snapshot, 0, b, 2);
    await(snapshot, 1, b, 1);
    await(snapshot, 1, a, 5);
    await(snapshot, 2, a, 4);
    gordian_report report = judge(snapshot);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "0 1");
    REQUIRE(report.part_count == 1);
    const gordian_edge *edges;
    size_t count;
    MUST(gordian_snapshot_edges(snapshot, &report.parts[0], &edges, &count, NULL));
    static const gordian_edge expected[] = {
        {4, 0, 1, true}, {3, 0, 0, false}, {5, 1, 0, true},
        {1, 1, 1, true}, {3, 1, 0, false}, {1, 1, 1, false},
    };
    REQUIRE(count == sizeof expected / sizeof expected[0]);
    for (size_t i = 0; i < count; i++)
        CHECK_MSG(edges[i].units == expected[i].units && edges[i].process == expected[i].process &&
                      edges[i].resource == expected[i].resource &&
                      edges[i].waits == expected[i].waits,
                  "edge %zu", i);
    gordian_snapshot_close(snapshot);
}

static void test_refusals(void)
{
    gordian_snapshot *snapshot = start(2, 2);
    gordian_error error = {0};
    CHECK(gordian_snapshot_add_resource(snapshot, 0, NULL, &error) == GORDIAN_STATUS_INPUT);
    uint32_t pool, huge;
    MUST(gordian_snapshot_add_resource(snapshot, 3, &pool, NULL));
    MUST(gordian_snapshot_add_resource(snapshot, UINT64_MAX, &huge, NULL));
    CHECK(gordian_snapshot_hold(snapshot, 2, 0, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_hold(snapshot, 0, 4, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_hold(snapshot, 0, 0, 0, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_wait(snapshot, 2, 0, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_wait(snapshot, 0, 4, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_wait(snapshot, 0, 0, 0, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_hold(snapshot, 0, 0, 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(error.status == GORDIAN_STATUS_INPUT && strstr(error.message, "resource 0 has 1 units"));
    hold(snapshot, 0, 0, 1);
    CHECK(gordian_snapshot_hold(snapshot, 1, 0, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_hold(snapshot, 0, 0, 1, &error) == GORDIAN_STATUS_INPUT);
    hold(snapshot, 0, pool, 2);
    CHECK(gordian_snapshot_hold(snapshot, 1, pool, 2, &error) == GORDIAN_STATUS_INPUT);
    hold(snapshot, 1, huge, UINT64_MAX);
    CHECK(gordian_snapshot_hold(snapshot, 1, huge, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_wait(snapshot, 1, 0, 2, &error) == GORDIAN_STATUS_INPUT);
    await(snapshot, 1, 0, 1);
    CHECK(gordian_snapshot_wait(snapshot, 1, 0, 1, &error) == GORDIAN_STATUS_INPUT);
    await(snapshot, 1, pool, 2);
    CHECK(gordian_snapshot_wait(snapshot, 1, pool, 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_snapshot_wait(snapshot, 1, pool, UINT64_MAX, &error) == GORDIAN_STATUS_INPUT);
    await(snapshot, 1, huge, UINT64_MAX);
    CHECK(gordian_snapshot_wait(snapshot, 1, huge, UINT64_MAX, &error) == GORDIAN_STATUS_INPUT);
    /* 1 holds all of `huge` and wants all of it again. */
    gordian_report report = judge(snapshot);
    CHECK_LIST(report.deadlocked, report.deadlocked_count, "1");
    gordian_part stranger = report.parts[0];
    stranger.processes = NULL;
    const gordian_edge *edges;
    size_t count;
    CHECK(gordian_snapshot_edges(snapshot, &stranger, &edges, &count, &error) ==
          GORDIAN_STATUS_INPUT);
    hold(snapshot, 0, 1, 1);
    CHECK(gordian_snapshot_edges(snapshot, &stranger, &edges, &count, &error) ==
          GORDIAN_STATUS_INPUT);
    gordian_snapshot_close(snapshot);
}

/* ------------------------------------------------------------------ larger ones */

static void shuffle(struct random *random, uint32_t *list, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        uint64_t at = random_below(random, i + 1);
        list[i] = list[at];
        list[at] = i;
    }
}

/* Single-unit, larger than all lanes together: next[] followed plainly, n steps from each. */
static void check_plainly(gordian_snapshot *snapshot, const uint32_t *next, uint32_t count)
{
    gordian_report report = judge(snapshot);
    bool *on_cycle = calloc(count, sizeof *on_cycle);
    REQUIRE(on_cycle);
    size_t dead = 0, cyclic = 0, listed = 0;
    for (uint32_t p = 0; p < count; p++) {
        uint32_t at = p, steps = 0;
        while (at != GORDIAN_NONE && steps++ < count)
            at = next[at];
        if (at == GORDIAN_NONE)
            continue;
        on_cycle[at] = true;
        CHECK(dead < report.deadlocked_count && report.deadlocked[dead] == p);
        dead++;
    }
    CHECK(dead == report.deadlocked_count);
    /* Every place on a cycle is where some walk of its members ends. */
    for (uint32_t p = 0; p < count; p++)
        cyclic += on_cycle[p];
    for (size_t i = 0; i < report.part_count; i++) {
        const gordian_part *part = &report.parts[i];
        CHECK(i == 0 || part->processes[0] > part[-1].processes[0]);
        for (size_t k = 0; k < part->process_count; k++, listed++) {
            CHECK(on_cycle[part->processes[k]] && part->processes[k] >= part->processes[0]);
            CHECK(next[part->processes[k]] == part->processes[(k + 1) % part->process_count]);
        }
    }
    CHECK_MSG(listed == cyclic, "%zu listed, %zu on cycles", listed, cyclic);
    free(on_cycle);
}

enum shape { RINGS, RHO, MAPPING };

static uint32_t next_of(struct random *random, enum shape shape, const uint32_t *order, uint32_t at,
                        uint32_t count, uint32_t length)
{
    if (shape == MAPPING)
        return random_chance(random, 5) ? GORDIAN_NONE : (uint32_t)random_below(random, count);
    if (at + 1 < count && (at + 1) % length)
        return order[at + 1];
    uint32_t begin = at - at % length;
    if (shape == RINGS)
        return order[begin];
    uint32_t back = begin + (uint32_t)random_below(random, at - begin + 1);
    return random_chance(random, 30) ? GORDIAN_NONE : order[back];
}

static void test_large_single(unsigned scale)
{
    for (uint64_t seed = 1; seed <= scale; seed++) {
        struct random random;
        random_seed(&random, seed);
        uint32_t count = 1 + (uint32_t)random_below(&random, 700);
        uint32_t length = 1 + (uint32_t)random_below(&random, count);
        uint32_t order[700], resource[700], next[700];
        shuffle(&random, order, count);
        shuffle(&random, resource, count);
        gordian_snapshot *snapshot = start(count, count);
        for (uint32_t i = 0; i < count; i++)
            hold(snapshot, order[i], resource[i], 1);
        uint32_t resource_of[700];
        for (uint32_t i = 0; i < count; i++)
            resource_of[order[i]] = resource[i];
        for (uint32_t i = 0; i < count; i++) {
            uint32_t to = next_of(&random, (enum shape)(seed % 3), order, i, count, length);
            next[order[i]] = to;
            if (to != GORDIAN_NONE)
                await(snapshot, order[i], resource_of[to], 1);
        }
        check_plainly(snapshot, next, count);
        gordian_snapshot_close(snapshot);
    }
}

/*
 * A tower of `levels` two-cycles a[i] <-> b[i] that need a round each: a[i] waits for x[i] too,
 * and x[i] waits for one of two units, held by a[i - 1] and by a[i + 1], so that all of it is
 * strongly connected until a[0] is split off, then a[1], ... x[0] hangs on a cycle o of one.
 */
static gordian_snapshot *build_tower(uint32_t levels)
{
    gordian_snapshot *snapshot = start(3 * levels + 1, 3 * levels + 1);
    uint32_t o = 3 * levels;
    hold(snapshot, o, o, 1);
    await(snapshot, o, o, 1);
    for (uint32_t i = 0; i < levels; i++) {
        uint32_t a = 3 * i, b = a + 1, x = a + 2, pool;
        MUST(gordian_snapshot_add_resource(snapshot, 2, &pool, NULL));
        for (uint32_t p = a; p <= x; p++)
            hold(snapshot, p, p, 1);
        await(snapshot, a, b, 1);
        await(snapshot, b, a, 1);
        await(snapshot, a, x, 1);
        hold(snapshot, i ? a - 3 : o, pool, 1);
        hold(snapshot, i + 1 < levels ? a + 3 : x, pool, 1);
        await(snapshot, x, pool, 1);
    }
    return snapshot;
}

static void test_tower(void)
{
    enum { LEVELS = 200 };
    gordian_snapshot *snapshot = build_tower(LEVELS);
    gordian_report report = judge(snapshot);
    CHECK(report.deadlocked_count == 3 * LEVELS + 1);
    REQUIRE(report.part_count == LEVELS + 1);
    for (uint32_t i = 0; i < LEVELS; i++) {
        const gordian_part *part = &report.parts[i];
        CHECK(part->process_count == 2 && part->processes[0] == 3 * i);
        CHECK(part->resource_count == 2 && part->resources[0] == 3 * i);
    }
    CHECK(report.parts[LEVELS].process_count == 1);
    gordian_snapshot_close(snapshot);
}

/* Too high a tower to be split to the top: the rest is one part, and it is irreducible. */
static void test_high_tower(void)
{
    enum { LEVELS = 3000 };
    gordian_snapshot *snapshot = build_tower(LEVELS);
    gordian_report report = judge(snapshot);
    CHECK(report.deadlocked_count == 3 * LEVELS + 1);
    CHECK(report.part_count > 100 && report.part_count < LEVELS);
    uint64_t *held = malloc(sizeof *held * (4 * LEVELS + 1));
    bool *stuck = malloc(3 * LEVELS + 1);
    bool *seen = calloc(3 * LEVELS + 1, 1);
    REQUIRE(held && stuck && seen);
    size_t largest = 0;
    for (size_t i = 0; i < report.part_count; i++) {
        const gordian_part *part = &report.parts[i];
        const gordian_edge *edges;
        size_t count;
        MUST(gordian_snapshot_edges(snapshot, part, &edges, &count, NULL));
        memset(held, 0, sizeof *held * (4 * LEVELS + 1));
        memset(stuck, 0, 3 * LEVELS + 1);
        for (size_t k = 0; k < count; k++)
            held[edges[k].resource] += edges[k].waits ? 0 : edges[k].units;
        for (size_t k = 0; k < count; k++)
            if (edges[k].waits &&
                edges[k].units > (edges[k].resource > 3 * LEVELS ? 2 : 1) - held[edges[k].resource])
                stuck[edges[k].process] = true;
        for (size_t k = 0; k < part->process_count; k++) {
            CHECK(stuck[part->processes[k]] && !seen[part->processes[k]]);
            seen[part->processes[k]] = true;
        }
        if (part->process_count > largest)
            largest = part->process_count;
    }
    CHECK(largest > LEVELS);
    free(held);
    free(stuck);
    free(seen);
    gordian_snapshot_close(snapshot);
}

/* ------------------------------------------------------------------ systems */

static void feed(gordian_system *system, gordian_op op, uint32_t process, uint32_t resource,
                 uint64_t units)
{
    gordian_event event = {
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = units};
    gordian_result result;
    MUST(gordian_feed(system, &event, &result, NULL));
}

static void request_two(gordian_system *system, uint32_t process, gordian_want one,
                        gordian_want other)
{
    gordian_want wants[] = {one, other};
    gordian_event event = {.op = GORDIAN_OP_REQUEST,
                           .process = process,
                           .to = GORDIAN_NONE,
                           .wants = wants,
                           .want_count = 2};
    gordian_result result;
    MUST(gordian_feed(system, &event, &result, NULL));
}

static void check_taken(const gordian_system *system, const uint32_t *dead, size_t dead_count)
{
    gordian_snapshot *snapshot;
    MUST(gordian_snapshot_take(&snapshot, system, NULL));
    gordian_report report = judge(snapshot);
    CHECK(report.deadlocked_count == dead_count);
    for (size_t i = 0; i < dead_count && i < report.deadlocked_count; i++)
        CHECK(report.deadlocked[i] == dead[i]);
    gordian_snapshot_close(snapshot);
}

/* What a system says about itself, a snapshot of it says too. */
static void test_take(unsigned scale)
{
    for (uint64_t seed = 1; seed <= 4 * (uint64_t)scale; seed++) {
        struct random random;
        random_seed(&random, seed);
        gordian_system *system;
        MUST(gordian_open(&system, NULL, NULL));
        unsigned kind = (unsigned)(seed % 3);
        uint64_t totals[6];
        for (uint32_t i = 0; i < 6; i++) {
            totals[i] = kind ? 1 + random_below(&random, 3) : 1;
            uint32_t id;
            MUST(gordian_add_process(system, NULL, &id, NULL));
            MUST(gordian_add_resource(system, NULL, totals[i], &id, NULL));
        }
        if (seed % 2) { /* ids not in use */
            MUST(gordian_remove_resource(system, 2, NULL));
            MUST(gordian_remove_process(system, 3, NULL));
        }
        for (unsigned i = 0; i < 30; i++) {
            uint32_t p = (uint32_t)random_below(&random, 6);
            uint32_t q = (uint32_t)random_below(&random, 6), other = (q + 1) % 6;
            bool whole = seed % 2 == 0 || (q != 2 && other != 2 && p != 3);
            if (kind == 2 && whole && random_chance(&random, 30))
                request_two(system, p, (gordian_want){random_below(&random, totals[q]) + 1, q},
                            (gordian_want){1, other});
            else
                feed(system, random_chance(&random, 80) ? GORDIAN_OP_REQUEST : GORDIAN_OP_RELEASE,
                     p, q, 1);
        }
        const uint32_t *dead;
        size_t dead_count;
        MUST(gordian_deadlocked(system, &dead, &dead_count, NULL));
        check_taken(system, dead, dead_count);
        gordian_close(system);
    }
}

/* ------------------------------------------------------------------ failing memory */

struct counting {
    long left; /* allocations until one fails */
    long live;
};

static void *counting_resize(void *context, void *pointer, size_t size)
{
    struct counting *counting = context;
    if (size == 0) {
        counting->live -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (counting->left-- <= 0)
        return NULL;
    void *result = realloc(pointer, size);
    counting->live += !pointer && result;
    return result;
}

/* Goes through everything; false at the first lack of memory, which must leave things whole. */
static bool go_through(const gordian_allocator *allocator, bool general)
{
    gordian_snapshot *snapshot;
    gordian_status status = gordian_snapshot_open(&snapshot, allocator, NULL);
    for (uint32_t i = 0; i < 40 && status == GORDIAN_OK; i++) {
        status = gordian_snapshot_add_process(snapshot, NULL, NULL);
        if (status == GORDIAN_OK)
            status = gordian_snapshot_add_resource(snapshot, general && i % 3 ? 2 : 1, NULL, NULL);
    }
    for (uint32_t i = 0; i < 40 && status == GORDIAN_OK; i++) {
        status = gordian_snapshot_hold(snapshot, i, i, 1, NULL);
        if (status == GORDIAN_OK && general && i % 3)
            status = gordian_snapshot_hold(snapshot, i / 2, i, 1, NULL);
        if (status == GORDIAN_OK)
            status =
                gordian_snapshot_wait(snapshot, i, i ^ 1, general && (i ^ 1) % 3 ? 2 : 1, NULL);
        if (status == GORDIAN_OK && general)
            status = gordian_snapshot_wait(snapshot, i, (i + 7) % 40, 1, NULL);
    }
    gordian_report report;
    if (status == GORDIAN_OK)
        status = gordian_snapshot_check(snapshot, &report, NULL);
    for (size_t i = 0; status == GORDIAN_OK && i < report.part_count; i++) {
        const gordian_edge *edges;
        size_t count;
        status = gordian_snapshot_edges(snapshot, &report.parts[i], &edges, &count, NULL);
    }
    CHECK(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY);
    if (status == GORDIAN_OK)
        CHECK(report.deadlocked_count == 40 && report.part_count > 0);
    gordian_snapshot_close(snapshot);
    return status == GORDIAN_OK;
}

static void test_failing_memory(void)
{
    for (int general = 0; general < 2; general++) {
        bool through = false;
        long n = 0;
        for (; !through; n++) {
            struct counting counting = {.left = n};
            gordian_allocator allocator = {counting_resize, &counting};
            through = go_through(&allocator, general);
            CHECK_MSG(counting.live == 0, "%ld left over when allocation %ld fails", counting.live,
                      n);
        }
        CHECK(n > 10);
    }
}

/* A check that failed for lack of memory can be asked again. */
static void test_check_again(void)
{
    struct counting counting = {.left = 1000};
    gordian_allocator allocator = {counting_resize, &counting};
    gordian_snapshot *snapshot;
    MUST(gordian_snapshot_open(&snapshot, &allocator, NULL));
    for (uint32_t i = 0; i < 2; i++) {
        MUST(gordian_snapshot_add_process(snapshot, NULL, NULL));
        MUST(gordian_snapshot_add_resource(snapshot, 2, NULL, NULL));
    }
    for (uint32_t i = 0; i < 2; i++) {
        hold(snapshot, i, i, 2);
        await(snapshot, i, 1 - i, 1);
    }
    gordian_report report = {.part_count = 77};
    gordian_error error;
    for (long n = 0;; n++) {
        counting.left = n;
        long live = counting.live;
        if (gordian_snapshot_check(snapshot, &report, &error) == GORDIAN_OK)
            break;
        CHECK(error.status == GORDIAN_STATUS_MEMORY && report.part_count == 77);
        CHECK(counting.live == live);
    }
    CHECK(report.part_count == 1 && report.deadlocked_count == 2);
    gordian_snapshot_close(snapshot);
    CHECK(counting.live == 0);
}

int main(void)
{
    unsigned scale = test_scale();
    test_empty();
    test_self_wait();
    test_cycles();
    test_knot();
    test_and_waits();
    test_units();
    test_refusals();
    test_large_single(scale);
    test_tower();
    test_high_tower();
    test_take(scale);
    test_failing_memory();
    test_check_again();
    return test_done();
}

/*
 * The matrix engine's matrices against their definitions.
 *
 *     test_matrix [SEED]        GORDIAN_TEST_SCALE=PERCENT
 *
 * Random events go through the public interface; after every event every element of
 * every matrix, every outcome and the set of deadlocked processes are compared with what
 * follows, computed in the plainest way, from who holds and who waits.
 */
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>

#include <string.h>

#define NONE     GORDIAN_NONE
#define MOST_IDS 700 /* of processes, and of resources */

/* What is the case, as the public interface tells it, and what follows from it. */
struct plain {
    uint32_t processes, resources; /* limits of ids */
    uint64_t holds[MOST_IDS][MOST_IDS];
    uint32_t waits[MOST_IDS]; /* for which resource, or NONE */
    bool known_process[MOST_IDS];
    bool reach_process[MOST_IDS][MOST_IDS];
    bool reach_resource[MOST_IDS][MOST_IDS];
};

static struct plain now;
static uint64_t seed = 1;

/* REQUIRE may look at its condition twice: events go through here. */
static void must(gordian_status status)
{
    REQUIRE(status == GORDIAN_OK);
}

static void walk(struct plain *plain, uint32_t from)
{
    static uint32_t stack[MOST_IDS];
    size_t depth = 0;
    memset(plain->reach_process[from], 0, sizeof plain->reach_process[from]);
    memset(plain->reach_resource[from], 0, sizeof plain->reach_resource[from]);
    plain->reach_resource[from][from] = true;
    stack[depth++] = from;
    while (depth) {
        uint32_t q = stack[--depth];
        for (uint32_t p = 0; p < plain->processes; p++) {
            if (!plain->holds[q][p])
                continue;
            plain->reach_process[from][p] = true;
            uint32_t next = plain->waits[p];
            if (next != NONE && !plain->reach_resource[from][next]) {
                plain->reach_resource[from][next] = true;
                stack[depth++] = next;
            }
        }
    }
}

static void look(const gordian_system *system, struct plain *plain)
{
    static gordian_edge edges[MOST_IDS];
    plain->processes = gordian_process_limit(system);
    plain->resources = gordian_resource_limit(system);
    REQUIRE(plain->processes <= MOST_IDS && plain->resources <= MOST_IDS);
    for (uint32_t p = 0; p < plain->processes; p++) {
        plain->known_process[p] = gordian_process_name(system, p) != NULL;
        plain->waits[p] = NONE;
        if (plain->known_process[p] && gordian_pending(system, p, edges, MOST_IDS))
            plain->waits[p] = edges[0].resource;
    }
    for (uint32_t q = 0; q < plain->resources; q++) {
        memset(plain->holds[q], 0, sizeof plain->holds[q]);
        size_t holders = gordian_holders(system, q, edges, MOST_IDS);
        for (size_t i = 0; i < holders; i++)
            plain->holds[q][edges[i].process] = edges[i].units;
    }
    for (uint32_t q = 0; q < plain->resources; q++)
        walk(plain, q);
}

/* Does `resource` lead to a process that runs, other than `except`? */
static bool leads_to_one_that_runs(const struct plain *plain, uint32_t resource, uint32_t except)
{
    for (uint32_t p = 0; p < plain->processes; p++)
        if (plain->reach_process[resource][p] && plain->waits[p] == NONE && p != except)
            return true;
    return false;
}

/* ------------------------------------------------------------------ comparing */

static uint64_t expected(const struct plain *plain, gordian_matrix matrix, bool single,
                         uint32_t row, uint32_t column)
{
    switch (matrix) {
    case GORDIAN_MATRIX_AG:
        return single ? plain->holds[row][column] != 0 : plain->holds[row][column];
    case GORDIAN_MATRIX_AR:
        return plain->known_process[row] && plain->waits[row] == column;
    case GORDIAN_MATRIX_SINK:
        return plain->reach_process[row][column] && plain->waits[column] == NONE;
    case GORDIAN_MATRIX_RR:
        return plain->reach_resource[row][column];
    case GORDIAN_MATRIX_RP:
        return plain->reach_process[row][column];
    }
    return UINT64_MAX;
}

static void compare_row(const gordian_system *system, gordian_matrix matrix, bool single,
                        uint32_t row, uint32_t columns)
{
    const uint64_t *words = NULL;
    size_t count = 0;
    bool bits = single || matrix != GORDIAN_MATRIX_AG;
    gordian_status status = gordian_matrix_row(system, matrix, row, &words, &count, NULL);
    CHECK(status == (bits ? GORDIAN_OK : GORDIAN_STATUS_UNAVAILABLE));
    CHECK(!bits || count == (columns + 63) / 64);
    for (uint32_t column = 0; column < columns; column++) {
        uint64_t value = UINT64_MAX;
        status = gordian_matrix_get(system, matrix, row, column, &value, NULL);
        uint64_t right = expected(&now, matrix, single, row, column);
        bool good = status == GORDIAN_OK && value == right &&
                    (!bits || (words[column / 64] >> (column % 64) & 1) == right);
        CHECK_MSG(good, "seed %llu: matrix %d [%u][%u] is %llu, not %llu", (unsigned long long)seed,
                  (int)matrix, row, column, (unsigned long long)value, (unsigned long long)right);
        if (!good)
            exit(1);
    }
    uint64_t value;
    CHECK(gordian_matrix_get(system, matrix, row, columns, &value, NULL) == GORDIAN_STATUS_INPUT);
}

static void compare_matrices(const gordian_system *system)
{
    bool single = gordian_system_model(system) == GORDIAN_MODEL_SINGLE_UNIT;
    for (int m = GORDIAN_MATRIX_AG; m <= GORDIAN_MATRIX_RP; m++) {
        gordian_matrix matrix = (gordian_matrix)m;
        uint32_t rows = matrix == GORDIAN_MATRIX_AR ? now.processes : now.resources;
        bool square = matrix == GORDIAN_MATRIX_RR || matrix == GORDIAN_MATRIX_AR;
        uint32_t columns = square ? now.resources : now.processes;
        bool there = single || (matrix != GORDIAN_MATRIX_RR && matrix != GORDIAN_MATRIX_SINK);
        uint64_t value;
        const uint64_t *words;
        size_t count;
        CHECK(gordian_matrix_row(system, matrix, rows, &words, &count, NULL) ==
              GORDIAN_STATUS_INPUT);
        if (there)
            for (uint32_t row = 0; row < rows; row++)
                compare_row(system, matrix, single, row, columns);
        else if (rows)
            CHECK(gordian_matrix_get(system, matrix, 0, 0, &value, NULL) ==
                  GORDIAN_STATUS_UNAVAILABLE);
    }
}

static void compare_deadlocked(gordian_system *system)
{
    const uint32_t *found;
    size_t count, at = 0;
    must(gordian_deadlocked(system, &found, &count, NULL));
    for (uint32_t p = 0; p < now.processes; p++) {
        if (now.waits[p] == NONE || leads_to_one_that_runs(&now, now.waits[p], NONE))
            continue;
        CHECK_MSG(at < count && found[at] == p, "seed %llu: process %u is deadlocked",
                  (unsigned long long)seed, p);
        at++;
    }
    CHECK_MSG(at == count, "seed %llu: %zu are deadlocked, not %zu", (unsigned long long)seed, at,
              count);
}

static void compare(gordian_system *system)
{
    look(system, &now);
    compare_matrices(system);
    compare_deadlocked(system);
}

/* ------------------------------------------------------------------ random lives */

struct life {
    gordian_system *system;
    struct random random;
    uint32_t most_processes, most_resources;
    unsigned multi; /* percent of new resources that have several units */
    uint64_t seen[GORDIAN_OUTCOME_REFUSED + 1], hand_overs;
};

static uint32_t pick(struct life *life, uint32_t below)
{
    return (uint32_t)random_below(&life->random, below);
}

/* Mostly an id there is; at times one that was never handed out. */
static uint32_t any_process(struct life *life)
{
    return pick(life, gordian_process_limit(life->system) + random_chance(&life->random, 2));
}

static uint32_t any_resource(struct life *life)
{
    return pick(life, gordian_resource_limit(life->system) + random_chance(&life->random, 2));
}

static void add_one(struct life *life)
{
    uint32_t id;
    if (random_chance(&life->random, 50)) {
        if (gordian_process_limit(life->system) < life->most_processes)
            CHECK(gordian_add_process(life->system, NULL, &id, NULL) == GORDIAN_OK);
    } else if (gordian_resource_limit(life->system) < life->most_resources) {
        uint64_t units = 1;
        if (random_chance(&life->random, life->multi))
            units += random_below(&life->random, 4);
        CHECK(gordian_add_resource(life->system, NULL, units, &id, NULL) == GORDIAN_OK);
    }
}

static void remove_one(struct life *life)
{
    uint32_t id;
    if (random_chance(&life->random, 50)) {
        uint32_t process = any_process(life);
        if (gordian_remove_process(life->system, process, NULL) == GORDIAN_OK &&
            random_chance(&life->random, 80))
            CHECK(gordian_add_process(life->system, NULL, &id, NULL) == GORDIAN_OK);
    } else {
        uint32_t resource = any_resource(life);
        uint64_t units = random_chance(&life->random, life->multi) ? 3 : 1;
        if (gordian_remove_resource(life->system, resource, NULL) == GORDIAN_OK &&
            random_chance(&life->random, 80))
            CHECK(gordian_add_resource(life->system, NULL, units, &id, NULL) == GORDIAN_OK);
    }
}

/* What a request for one unit has to end as, by definition. */
static gordian_outcome right_outcome(const gordian_system *system, uint32_t process,
                                     uint32_t resource)
{
    if (gordian_free_units(system, resource))
        return GORDIAN_OUTCOME_GRANTED;
    if (leads_to_one_that_runs(&now, resource, process))
        return GORDIAN_OUTCOME_BLOCKED;
    return now.reach_process[resource][process] ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_DOOMED;
}

/* `judged`: `now` is the state before this event. */
static void request_one(struct life *life, bool judged)
{
    uint32_t process = any_process(life), resource = any_resource(life);
    bool known = gordian_process_name(life->system, process) &&
                 gordian_resource_name(life->system, resource);
    bool fine = known && !gordian_is_waiting(life->system, process);
    gordian_outcome outcome, right = GORDIAN_OUTCOME_REFUSED;
    if (fine)
        right = judged ? right_outcome(life->system, process, resource) : 0;
    /* Several units at once where they are free: only waiting for several is general. */
    uint64_t units = 1;
    if (fine && gordian_free_units(life->system, resource) > 1 && random_chance(&life->random, 30))
        units = 2;
    must(gordian_request(life->system, process, resource, units, &outcome, NULL));
    CHECK_MSG(!right || outcome == right, "seed %llu: %s, not %s", (unsigned long long)seed,
              gordian_outcome_text(outcome), gordian_outcome_text(right));
    life->seen[outcome]++;
}

/* Something some process holds, if a few tries find one. */
static bool find_held(struct life *life, gordian_edge *held)
{
    for (int tries = 0; tries < 8; tries++) {
        uint32_t resource = any_resource(life);
        gordian_edge edges[16];
        size_t holders = gordian_holders(life->system, resource, edges, 16);
        if (holders == 0)
            continue;
        *held = edges[pick(life, (uint32_t)(holders < 16 ? holders : 16))];
        if (!gordian_is_waiting(life->system, held->process))
            return true;
    }
    return false;
}

static void release_one(struct life *life)
{
    gordian_edge held;
    if (!find_held(life, &held))
        return;
    gordian_event event = {.op = GORDIAN_OP_RELEASE,
                           .process = held.process,
                           .resource = held.resource,
                           .to = NONE,
                           .units = 1 + random_below(&life->random, held.units)};
    gordian_edge queue[16];
    size_t waiters = gordian_waiters(life->system, held.resource, queue, 16);
    if (waiters && random_chance(&life->random, 40))
        event.to = queue[pick(life, (uint32_t)(waiters < 16 ? waiters : 16))].process;
    gordian_result result;
    must(gordian_feed(life->system, &event, &result, NULL));
    CHECK(result.outcome == GORDIAN_OUTCOME_RELEASED);
    life->seen[GORDIAN_OUTCOME_RELEASED]++;
    life->hand_overs += event.to != NONE;
}

static void end_one(struct life *life, bool whole)
{
    uint32_t process = any_process(life);
    gordian_outcome outcome;
    if (whole)
        must(gordian_exit(life->system, process, &outcome, NULL));
    else
        must(gordian_cancel(life->system, process, &outcome, NULL));
    life->seen[outcome]++;
}

static void hold_one(struct life *life)
{
    gordian_event event = {.op = GORDIAN_OP_HOLD,
                           .process = any_process(life),
                           .resource = any_resource(life),
                           .units = 1};
    gordian_result result;
    must(gordian_feed(life->system, &event, &result, NULL));
}

static void live_one_event(struct life *life, bool judged)
{
    uint32_t what = pick(life, 100);
    if (what < 4)
        add_one(life);
    else if (what < 7)
        remove_one(life);
    else if (!gordian_process_limit(life->system) || !gordian_resource_limit(life->system))
        add_one(life);
    else if (what < 62)
        request_one(life, judged);
    else if (what < 84)
        release_one(life);
    else if (what < 93)
        end_one(life, false);
    else if (what < 97)
        end_one(life, true);
    else
        hold_one(life);
}

static void open_life(struct life *life, uint32_t processes, uint32_t resources, unsigned multi,
                      const gordian_allocator *allocator)
{
    *life = (struct life){.most_processes = processes, .most_resources = resources, .multi = multi};
    random_seed(&life->random, seed);
    gordian_options options;
    gordian_options_init(&options);
    options.engine = "matrix";
    options.allocator = allocator;
    must(gordian_open(&life->system, &options, NULL));
}

/* ------------------------------------------------------------------ the tests */

/* Every event checked; both models, and systems that grow from one into the other. */
static void test_small_systems(unsigned scale)
{
    uint64_t seen[GORDIAN_OUTCOME_REFUSED + 1] = {0}, hand_overs = 0, models[2] = {0};
    for (unsigned round = 0; round < 24 * scale; round++) {
        struct life life;
        struct random sizes;
        random_seed(&sizes, ++seed);
        uint32_t processes = 1 + (uint32_t)random_below(&sizes, 12);
        uint32_t resources = 1 + (uint32_t)random_below(&sizes, 12);
        const unsigned shares[] = {0, 5, 60};
        open_life(&life, processes, resources, shares[round % 3], NULL);
        compare(life.system);
        for (unsigned i = 0; i < 300; i++) {
            live_one_event(&life, true);
            compare(life.system);
        }
        models[gordian_system_model(life.system)]++;
        for (size_t i = 0; i <= GORDIAN_OUTCOME_REFUSED; i++)
            seen[i] += life.seen[i];
        hand_overs += life.hand_overs;
        gordian_close(life.system);
    }
    for (size_t i = GORDIAN_OUTCOME_GRANTED; i <= GORDIAN_OUTCOME_REFUSED; i++)
        CHECK_MSG(seen[i] > 10, "too few events ended as %zu", i);
    CHECK(hand_overs > 10 && models[0] && models[1]);
}

/* Rows of several lines, re-laid again and again while the system runs. */
static void test_growing_past_a_line(unsigned multi)
{
    struct life life;
    seed++;
    open_life(&life, MOST_IDS, MOST_IDS - 50, multi, NULL);
    for (unsigned i = 0; i < 12 * MOST_IDS; i++) {
        if (i < 6 * MOST_IDS && random_chance(&life.random, 50))
            add_one(&life);
        else
            live_one_event(&life, false);
        if (i % 700 == 699)
            compare(life.system);
    }
    CHECK(gordian_process_limit(life.system) > 512 && gordian_resource_limit(life.system) > 512);
    gordian_close(life.system);
}

/* A ring that closes, a queue behind it, and the ways out of it. */
static void test_standing_deadlock(void)
{
    struct life life;
    enum { RING = 4 };
    uint32_t id;
    gordian_outcome outcome;
    open_life(&life, RING + 2, RING + 1, 0, NULL);
    for (uint32_t i = 0; i < RING + 2; i++)
        CHECK(gordian_add_process(life.system, NULL, &id, NULL) == GORDIAN_OK && id == i);
    for (uint32_t i = 0; i < RING + 1; i++)
        CHECK(gordian_add_resource(life.system, NULL, 1, &id, NULL) == GORDIAN_OK && id == i);
    for (uint32_t i = 0; i < RING + 1; i++)
        gordian_request(life.system, i, i, 1, &outcome, NULL);
    for (uint32_t i = 0; i < RING; i++) {
        gordian_request(life.system, i, (i + 1) % RING, 1, &outcome, NULL);
        CHECK(outcome == (i + 1 < RING ? GORDIAN_OUTCOME_BLOCKED : GORDIAN_OUTCOME_DEADLOCK));
        compare(life.system);
    }
    gordian_request(life.system, RING + 1, RING, 1, &outcome, NULL);
    CHECK(outcome == GORDIAN_OUTCOME_BLOCKED);
    gordian_request(life.system, RING, 2, 1, &outcome, NULL); /* holds what RING + 1 waits for */
    CHECK(outcome == GORDIAN_OUTCOME_DOOMED);
    compare(life.system);
    gordian_cancel(life.system, 1, &outcome, NULL); /* opens the ring */
    compare(life.system);
    gordian_request(life.system, 1, 1, 1, &outcome, NULL); /* what it holds itself */
    CHECK(outcome == GORDIAN_OUTCOME_DEADLOCK);
    compare(life.system);
    gordian_exit(life.system, 1, &outcome, NULL);
    compare(life.system);
    gordian_close(life.system);
}

/* ------------------------------------------------------------------ lack of memory */

struct scarce {
    long blocks;    /* handed out and not returned */
    long countdown; /* allocations until one fails; negative: none does */
};

static void *scarce_resize(void *context, void *pointer, size_t size)
{
    struct scarce *scarce = context;
    if (size == 0) {
        scarce->blocks -= pointer != NULL;
        free(pointer);
        return NULL;
    }
    if (scarce->countdown == 0) {
        scarce->countdown = -1;
        return NULL;
    }
    scarce->countdown -= scarce->countdown > 0;
    scarce->blocks += pointer == NULL;
    return realloc(pointer, size);
}

/* Adds, tries again if memory failed, and looks whether the failure has changed anything. */
static bool add_surely(struct life *life, uint64_t units)
{
    uint32_t id;
    for (int tries = 0; tries < 2; tries++) {
        gordian_status status = units ? gordian_add_resource(life->system, NULL, units, &id, NULL)
                                      : gordian_add_process(life->system, NULL, &id, NULL);
        if (status == GORDIAN_OK)
            return tries > 0;
        CHECK(status == GORDIAN_STATUS_MEMORY);
        compare(life->system);
    }
    CHECK(!"memory fails once only");
    return true;
}

/* The n-th allocation fails, for every n, while a system grows in size and in model. */
static void test_lack_of_memory(void)
{
    bool failed = true;
    for (long n = 0; failed; n++) {
        struct scarce scarce = {.countdown = -1};
        gordian_allocator allocator = {scarce_resize, &scarce};
        struct life life;
        gordian_outcome outcome;
        open_life(&life, 40, 40, 0, &allocator);
        scarce.countdown = n;
        failed = false;
        for (uint32_t i = 0; i < 20; i++) {
            failed |= add_surely(&life, 0);
            failed |= add_surely(&life, i == 12 ? 3 : 1);
            long spared = scarce.countdown; /* events' own allocations are not the matter here */
            scarce.countdown = -1;
            gordian_request(life.system, i, i, 1, &outcome, NULL);
            if (i % 5)
                gordian_request(life.system, i - 1, i, 1, &outcome, NULL);
            scarce.countdown = spared;
        }
        scarce.countdown = -1;
        compare(life.system);
        gordian_close(life.system);
        CHECK_MSG(scarce.blocks == 0, "%ld blocks leaked", scarce.blocks);
    }
}

int main(int argc, char **argv)
{
    unsigned scale = test_scale();
    if (argc > 1)
        seed = strtoull(argv[1], NULL, 10);
    test_standing_deadlock();
    test_small_systems(scale ? scale : 1);
    test_growing_past_a_line(0);
    test_growing_past_a_line(30);
    test_lack_of_memory();
    return test_done();
}

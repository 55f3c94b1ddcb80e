/*
 * Plans against brute force: every reachable state of small systems, every choice of pools, every
 * set of resources; deadlocks shown are fed to a detecting system; every allocation fails once.
 *
 *     test_plan [SEED]        GORDIAN_TEST_SCALE=PERCENT
 */
#include "alloc/failing.h"
#include "foundation/base/random.h"
#include "test.h"

#include <gordian/gordian.h>

#include <string.h>

#define PROCESSES 8
#define RESOURCES 6

/* A small system. */
struct small {
    uint32_t processes, resources;
    uint64_t claim[PROCESSES][RESOURCES];
    uint64_t units[RESOURCES], cost[RESOURCES];
};

static uint64_t claims_on(const struct small *small, uint32_t resource)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < small->processes; p++)
        sum += small->claim[p][resource];
    return sum;
}

static gordian_plan *plan_of(const struct small *small, const gordian_allocator *allocator)
{
    gordian_plan *plan;
    gordian_want claims[RESOURCES];
    gordian_error error;
    REQUIRE(gordian_plan_open(&plan, allocator, &error) == GORDIAN_OK);
    for (uint32_t j = 0; j < small->resources; j++) {
        REQUIRE(gordian_plan_add_resource(plan, NULL, small->units[j], NULL, &error) == GORDIAN_OK);
        REQUIRE(gordian_plan_set_cost(plan, j, small->cost[j], &error) == GORDIAN_OK);
    }
    for (uint32_t p = 0; p < small->processes; p++) {
        for (uint32_t j = 0; j < small->resources; j++)
            claims[j] = (gordian_want){.units = small->claim[p][j], .resource = j};
        REQUIRE(gordian_plan_add_process(plan, NULL, claims, small->resources, NULL, &error) ==
                GORDIAN_OK);
    }
    return plan;
}

/* ------------------------------------------------------------------ every state */

/* Cells of 4 bits: first what each process holds of each resource, then what it waits for. */
struct state {
    uint8_t held[PROCESSES][RESOURCES];
    uint8_t wants[PROCESSES][RESOURCES]; /* all zero: it runs */
};

struct explorer {
    const struct small *small;
    struct state *states; /* found so far, in order: a queue */
    size_t count, room;
    size_t *slots; /* of the hash table: index + 1 */
    size_t slot_count;
    bool deadlock;
};

static uint64_t hash_state(const struct state *state)
{
    uint64_t hash = 14695981039346656037u;
    const unsigned char *bytes = (const unsigned char *)state;
    for (size_t i = 0; i < sizeof *state; i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash ^ hash >> 29;
}

static size_t find_slot(const struct explorer *explorer, const struct state *state)
{
    size_t slot = hash_state(state) & (explorer->slot_count - 1);
    while (explorer->slots[slot] &&
           memcmp(&explorer->states[explorer->slots[slot] - 1], state, sizeof *state) != 0)
        slot = (slot + 1) & (explorer->slot_count - 1);
    return slot;
}

static void grow_explorer(struct explorer *explorer)
{
    explorer->room = explorer->room ? 2 * explorer->room : 1024;
    explorer->states = realloc(explorer->states, explorer->room * sizeof *explorer->states);
    free(explorer->slots);
    explorer->slot_count = 4 * explorer->room;
    explorer->slots = calloc(explorer->slot_count, sizeof *explorer->slots);
    REQUIRE(explorer->states && explorer->slots);
    for (size_t i = 0; i < explorer->count; i++)
        explorer->slots[find_slot(explorer, &explorer->states[i])] = i + 1;
}

static void visit(struct explorer *explorer, const struct state *state)
{
    if (explorer->count == explorer->room)
        grow_explorer(explorer);
    size_t slot = find_slot(explorer, state);
    if (explorer->slots[slot])
        return;
    explorer->states[explorer->count] = *state;
    explorer->slots[slot] = ++explorer->count;
}

static bool waits(const struct small *small, const struct state *state, uint32_t process)
{
    for (uint32_t j = 0; j < small->resources; j++)
        if (state->wants[process][j])
            return true;
    return false;
}

static bool fits(const struct small *small, const uint8_t *wants, const uint64_t *free_units)
{
    for (uint32_t j = 0; j < small->resources; j++)
        if (wants[j] > free_units[j])
            return false;
    return true;
}

static void free_units_of(const struct small *small, const struct state *state, uint64_t *left)
{
    for (uint32_t j = 0; j < small->resources; j++) {
        left[j] = small->units[j];
        for (uint32_t p = 0; p < small->processes; p++)
            left[j] -= state->held[p][j];
    }
}

/* Lets whoever can go on finish, until nobody can: is somebody left? */
static bool is_deadlocked(const struct small *small, const struct state *state)
{
    uint64_t left[RESOURCES];
    bool done[PROCESSES] = {false};
    uint32_t finished = 0;
    free_units_of(small, state, left);
    for (bool again = true; again;) {
        again = false;
        for (uint32_t p = 0; p < small->processes; p++) {
            if (done[p] || !fits(small, state->wants[p], left))
                continue;
            for (uint32_t j = 0; j < small->resources; j++)
                left[j] += state->held[p][j];
            done[p] = again = true;
            finished++;
        }
    }
    return finished < small->processes;
}

/* The next vector below or at `most`, counting up; false after the last. */
static bool count_up(uint8_t *vector, const uint8_t *most, uint32_t length)
{
    for (uint32_t j = 0; j < length; j++) {
        if (vector[j] < most[j]) {
            vector[j]++;
            return true;
        }
        vector[j] = 0;
    }
    return false;
}

/* Everything a running process can ask for, and what comes of it. */
static void ask(struct explorer *explorer, const struct state *from, uint32_t process,
                const uint64_t *left)
{
    const struct small *small = explorer->small;
    uint8_t wants[RESOURCES] = {0}, most[RESOURCES];
    for (uint32_t j = 0; j < small->resources; j++)
        most[j] = (uint8_t)(small->claim[process][j] - from->held[process][j]);
    while (count_up(wants, most, small->resources)) {
        struct state next = *from;
        bool granted = fits(small, wants, left);
        for (uint32_t j = 0; j < small->resources; j++)
            *(granted ? &next.held[process][j] : &next.wants[process][j]) += wants[j];
        visit(explorer, &next);
    }
}

/* Everything a running process can give back. */
static void give_back(struct explorer *explorer, const struct state *from, uint32_t process)
{
    const struct small *small = explorer->small;
    uint8_t gives[RESOURCES] = {0};
    while (count_up(gives, from->held[process], small->resources)) {
        struct state next = *from;
        for (uint32_t j = 0; j < small->resources; j++)
            next.held[process][j] -= gives[j];
        visit(explorer, &next);
    }
}

static void serve(struct explorer *explorer, const struct state *from, uint32_t process,
                  const uint64_t *left)
{
    const struct small *small = explorer->small;
    if (!fits(small, from->wants[process], left))
        return;
    struct state next = *from;
    for (uint32_t j = 0; j < small->resources; j++) {
        next.held[process][j] += from->wants[process][j];
        next.wants[process][j] = 0;
    }
    visit(explorer, &next);
}

/* Can a deadlock be reached from the empty state, whatever anybody does? */
static bool explore(const struct small *small)
{
    struct explorer explorer = {.small = small};
    struct state empty;
    memset(&empty, 0, sizeof empty);
    visit(&explorer, &empty);
    for (size_t i = 0; i < explorer.count && !explorer.deadlock; i++) {
        struct state state = explorer.states[i];
        uint64_t left[RESOURCES];
        free_units_of(small, &state, left);
        explorer.deadlock = is_deadlocked(small, &state);
        for (uint32_t p = 0; p < small->processes && !explorer.deadlock; p++) {
            if (waits(small, &state, p)) {
                serve(&explorer, &state, p, left);
            } else {
                ask(&explorer, &state, p, left);
                give_back(&explorer, &state, p);
            }
        }
    }
    free(explorer.states);
    free(explorer.slots);
    return explorer.deadlock;
}

/* ------------------------------------------------------------------ every set of resources */

/* As engines/avoid/plan/plan.h says: some resources fall short by at least as many units as they
 * have claimants. */
static bool some_set_falls_short(const struct small *small, const uint64_t *units)
{
    for (uint32_t set = 1; set < 1u << small->resources; set++) {
        int64_t balance = 0;
        for (uint32_t j = 0; j < small->resources; j++)
            if (set >> j & 1)
                balance += (int64_t)claims_on(small, j) - (int64_t)units[j];
        uint32_t claimants = 0;
        for (uint32_t p = 0; p < small->processes; p++) {
            bool claims = false;
            for (uint32_t j = 0; j < small->resources; j++)
                claims |= (set >> j & 1) && small->claim[p][j] > 0;
            claimants += claims;
        }
        if (claimants > 0 && balance >= (int64_t)claimants)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ checking an answer */

/* A deadlock shown must be one: a system that grants whatever fits ends in it. */
static void check_witness(const struct small *small, const gordian_witness *witness)
{
    gordian_system *system;
    gordian_result result = {0};
    uint64_t asked[PROCESSES][RESOURCES] = {{0}};
    for (uint32_t j = 0; j < small->resources; j++)
        if (small->units[j] == 0) /* a system has no such resources */
            return;
    REQUIRE(gordian_open(&system, NULL, NULL) == GORDIAN_OK);
    for (uint32_t j = 0; j < small->resources; j++)
        REQUIRE(gordian_add_resource(system, NULL, small->units[j], NULL, NULL) == GORDIAN_OK);
    for (uint32_t p = 0; p < small->processes; p++)
        REQUIRE(gordian_add_process(system, NULL, NULL, NULL) == GORDIAN_OK);
    size_t waiting = 0;
    for (int turn = 0; turn < 2; turn++)
        for (size_t i = 0; i < witness->count; i++) {
            const gordian_edge *edge = &witness->edges[i];
            if (edge->waits != (turn == 1))
                continue;
            gordian_event event = {.op = GORDIAN_OP_REQUEST,
                                   .process = edge->process,
                                   .resource = edge->resource,
                                   .to = GORDIAN_NONE,
                                   .units = edge->units};
            REQUIRE(gordian_feed(system, &event, &result, NULL) == GORDIAN_OK);
            asked[edge->process][edge->resource] += edge->units;
            waiting += edge->waits;
            CHECK(edge->waits ? result.outcome != GORDIAN_OUTCOME_GRANTED &&
                                    result.outcome != GORDIAN_OUTCOME_REFUSED
                              : result.outcome == GORDIAN_OUTCOME_GRANTED);
        }
    for (uint32_t p = 0; p < small->processes; p++)
        for (uint32_t j = 0; j < small->resources; j++)
            CHECK(asked[p][j] <= small->claim[p][j]);
    const uint32_t *dead;
    size_t count;
    REQUIRE(gordian_deadlocked(system, &dead, &count, NULL) == GORDIAN_OK);
    CHECK_MSG(count == waiting && count > 0, "%zu deadlocked, %zu shown", count, waiting);
    gordian_close(system);
}

/* The cheapest pools from `low` on that cannot deadlock, by trying all: their cost above `low`. */
static uint64_t cheapest(const struct small *small, const uint64_t *low)
{
    uint64_t units[RESOURCES], best = UINT64_MAX;
    memcpy(units, low, sizeof units);
    for (;;) {
        uint64_t cost = 0;
        for (uint32_t j = 0; j < small->resources; j++)
            cost += (units[j] - low[j]) * small->cost[j];
        if (cost < best && !some_set_falls_short(small, units))
            best = cost;
        uint32_t j = 0;
        for (; j < small->resources && units[j] >= claims_on(small, j); j++)
            units[j] = low[j];
        if (j == small->resources)
            return best;
        units[j]++;
    }
}

static void check_sums(const struct small *small, const gordian_plan_answer *answer)
{
    uint64_t least = 0, least_cost = 0, missing = 0, missing_cost = 0;
    CHECK(answer->pool_count == small->resources);
    for (uint32_t j = 0; j < small->resources; j++) {
        const gordian_pool *pool = &answer->pools[j];
        uint64_t largest = 0, claimants = 0, alone = 1;
        for (uint32_t p = 0; p < small->processes; p++) {
            uint64_t claim = small->claim[p][j];
            largest = claim > largest ? claim : largest;
            claimants += claim > 0;
            alone += claim > 0 ? claim - 1 : 0;
        }
        CHECK(pool->units == small->units[j] && pool->cost == small->cost[j]);
        CHECK(pool->claims == claims_on(small, j) && pool->largest == largest);
        CHECK(pool->claimants == claimants && pool->alone == (claimants ? alone : 0));
        CHECK(pool->least >= pool->alone && pool->least <= pool->claims);
        CHECK(pool->missing <= (pool->claims > pool->units ? pool->claims - pool->units : 0));
        least += pool->least, least_cost += pool->least * pool->cost;
        missing += pool->missing, missing_cost += pool->missing * pool->cost;
    }
    CHECK(answer->least_units == least && answer->least_cost == least_cost);
    CHECK(answer->missing_units == missing && answer->missing_cost == missing_cost);
}

/* `thorough`: the cheapest by trying all. */
static void check_answer(const struct small *small, const gordian_plan_answer *answer,
                         bool thorough)
{
    uint64_t least[RESOURCES], filled[RESOURCES];
    static const uint64_t nothing[RESOURCES];
    for (uint32_t j = 0; j < small->resources; j++) {
        least[j] = answer->pools[j].least;
        filled[j] = small->units[j] + answer->pools[j].missing;
    }
    check_sums(small, answer);
    CHECK(answer->safe == !some_set_falls_short(small, small->units));
    CHECK(answer->safe == (answer->missing_units == 0));
    CHECK(!some_set_falls_short(small, least));
    CHECK(!some_set_falls_short(small, filled));
    if (!answer->safe)
        check_witness(small, &answer->witness);
    if (!thorough)
        return;
    uint64_t cost = cheapest(small, nothing);
    CHECK_MSG(answer->least_cost == cost, "%d instead of %d", (int)answer->least_cost, (int)cost);
    cost = cheapest(small, small->units);
    CHECK_MSG(answer->missing_cost == cost, "%d missing instead of %d", (int)answer->missing_cost,
              (int)cost);
}

static bool judge(const struct small *small, bool thorough)
{
    gordian_plan *plan = plan_of(small, NULL);
    gordian_plan_answer answer;
    REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
    check_answer(small, &answer, thorough);
    gordian_plan_close(plan);
    return answer.safe;
}

/* ------------------------------------------------------------------ random systems */

static struct small draw(struct random *random, uint32_t processes, uint32_t resources,
                         uint64_t claim)
{
    struct small small = {.processes = 1 + (uint32_t)random_below(random, processes),
                          .resources = 1 + (uint32_t)random_below(random, resources)};
    unsigned density = 30 + (unsigned)random_below(random, 71);
    for (uint32_t j = 0; j < small.resources; j++) {
        uint64_t largest = 1;
        for (uint32_t p = 0; p < small.processes; p++) {
            if (random_chance(random, density))
                small.claim[p][j] = 1 + random_below(random, claim);
            largest = small.claim[p][j] > largest ? small.claim[p][j] : largest;
        }
        uint64_t sum = claims_on(&small, j);
        uint64_t range = sum > largest ? sum - largest + 1 : 1;
        small.units[j] = largest + random_below(random, 1 + random_below(random, range));
        small.cost[j] = random_chance(random, 50) ? 1 : random_below(random, 5);
    }
    return small;
}

/* Every state of small systems: the theorem itself, and with it everything that rests on it. */
static void test_states(struct random *random, unsigned long count)
{
    static const struct {
        uint32_t processes, resources;
        uint64_t claim;
    } sizes[] = {{3, 2, 2}, {2, 3, 2}, {3, 3, 1}, {4, 2, 1}, {2, 2, 3}, {3, 1, 3}};
    unsigned long deadlocks = 0;
    for (unsigned long i = 0; i < count; i++) {
        size_t size = i % (sizeof sizes / sizeof *sizes);
        struct small small =
            draw(random, sizes[size].processes, sizes[size].resources, sizes[size].claim);
        bool safe = judge(&small, true), deadlock = explore(&small);
        CHECK_MSG(safe == !deadlock, "safe %d, deadlock reached %d, case %lu", safe, deadlock, i);
        deadlocks += deadlock;
    }
    CHECK_MSG(deadlocks > count / 10 && deadlocks < count - count / 10, "%lu of %lu deadlock",
              deadlocks, count);
}

/* Every set of resources, and every choice of pools, of larger ones. */
static void test_sets(struct random *random, unsigned long count)
{
    unsigned long safe = 0;
    for (unsigned long i = 0; i < count; i++) {
        struct small small = draw(random, PROCESSES, i % 8 ? 3 : 4, 3);
        safe += judge(&small, true);
        small = draw(random, PROCESSES, RESOURCES, 1000);
        for (uint32_t j = 0; j < small.resources && i % 2; j++) { /* close to the edge */
            uint64_t sum = claims_on(&small, j);
            small.units[j] = sum - random_below(random, sum > 3 ? 4 : sum + 1);
        }
        judge(&small, false);
    }
    CHECK_MSG(safe > count / 20 && safe < count - count / 20, "%lu of %lu are safe", safe, count);
}

/* ------------------------------------------------------------------ what is known */

static void test_known(void)
{
    /* Two who claim one of each of two: pools of 1 and 1 deadlock, one unit more is enough. */
    struct small small = {
        .processes = 2, .resources = 2, .claim = {{1, 1}, {1, 1}}, .units = {1, 1}, .cost = {1, 3}};
    gordian_plan *plan = plan_of(&small, NULL);
    gordian_plan_answer answer;
    REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
    CHECK(!answer.safe && answer.witness.count == 4);
    CHECK(answer.pools[0].missing == 1 && answer.pools[1].missing == 0);
    CHECK(answer.pools[0].least == 2 && answer.pools[1].least == 1);
    gordian_plan_close(plan);

    /* Tn processes that claim Cm each: Tn (Cm - 1) + 1. */
    for (uint64_t workers = 1; workers <= PROCESSES; workers++)
        for (uint64_t claim = 1; claim <= 5; claim++) {
            struct small pool = {.processes = (uint32_t)workers, .resources = 1, .cost = {1}};
            for (uint32_t p = 0; p < pool.processes; p++)
                pool.claim[p][0] = claim;
            pool.units[0] = workers * (claim - 1) + 1;
            CHECK(judge(&pool, true));
            pool.units[0]--;
            CHECK(!judge(&pool, true));
        }
}

/* Changed claims are the same as those claims from the start. */
static void test_changes(struct random *random)
{
    for (int i = 0; i < 300; i++) {
        struct small first = draw(random, PROCESSES, RESOURCES, 9), then;
        do
            then = draw(random, PROCESSES, RESOURCES, 9);
        while (then.processes != first.processes || then.resources != first.resources);
        gordian_plan *plan = plan_of(&first, NULL);
        for (int turn = 0; turn < 3; turn++)
            for (uint32_t p = 0; p < then.processes; p++) {
                const struct small *source = turn == 1 ? &first : &then;
                gordian_want claims[2 * RESOURCES];
                uint32_t count = 0;
                for (uint32_t j = then.resources; j-- > 0;) { /* in two parts, in disorder */
                    uint64_t part = source->claim[p][j] / 2;
                    claims[count++] = (gordian_want){part, j};
                    claims[count++] = (gordian_want){source->claim[p][j] - part, j};
                }
                REQUIRE(gordian_plan_set_claims(plan, p, claims, count, NULL) == GORDIAN_OK);
            }
        for (uint32_t j = 0; j < then.resources; j++) {
            REQUIRE(gordian_plan_set_units(plan, j, then.units[j], NULL) == GORDIAN_OK);
            REQUIRE(gordian_plan_set_cost(plan, j, then.cost[j], NULL) == GORDIAN_OK);
        }
        gordian_plan_answer answer;
        REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
        check_answer(&then, &answer, false);
        gordian_plan_close(plan);
    }
}

/* ------------------------------------------------------------------ large ones */

/* Kruskal and the matching, which share nothing, must agree: from empty pools the cheapest addition
 * costs what the cheapest pools cost; and pools filled up so are safe. */
static void test_large(struct random *random, uint32_t processes, uint32_t resources, unsigned each)
{
    gordian_plan *plan;
    gordian_plan_answer answer;
    REQUIRE(gordian_plan_open(&plan, NULL, NULL) == GORDIAN_OK);
    for (uint32_t j = 0; j < resources; j++) {
        REQUIRE(gordian_plan_add_resource(plan, NULL, 0, NULL, NULL) == GORDIAN_OK);
        REQUIRE(gordian_plan_set_cost(plan, j, 1 + random_below(random, 9), NULL) == GORDIAN_OK);
    }
    gordian_want *claims = calloc(each, sizeof *claims);
    REQUIRE(claims != NULL);
    for (uint32_t p = 0; p < processes; p++) {
        for (unsigned i = 0; i < each; i++)
            claims[i] = (gordian_want){1 + random_below(random, 4),
                                       (uint32_t)random_below(random, resources)};
        REQUIRE(gordian_plan_add_process(plan, NULL, claims, each, NULL, NULL) == GORDIAN_OK);
    }
    free(claims);
    REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
    CHECK(!answer.safe && answer.missing_cost == answer.least_cost);
    for (uint32_t j = 0; j < resources; j++) {
        uint64_t units = answer.pools[j].least;
        if (random_chance(random, 30))
            units -= random_below(random, units ? 3 : 1) % (units + 1);
        REQUIRE(gordian_plan_set_units(plan, j, units, NULL) == GORDIAN_OK);
    }
    REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
    CHECK(!answer.safe && answer.missing_units > 0);
    for (uint32_t j = 0; j < resources; j++)
        REQUIRE(gordian_plan_set_units(plan, j, answer.pools[j].units + answer.pools[j].missing,
                                       NULL) == GORDIAN_OK);
    REQUIRE(gordian_plan_solve(plan, &answer, NULL) == GORDIAN_OK);
    CHECK(answer.safe && answer.missing_units == 0);
    gordian_plan_close(plan);
}

/* ------------------------------------------------------------------ bad use, no memory */

static void test_bad_use(void)
{
    gordian_plan *plan;
    gordian_error error;
    gordian_plan_answer answer;
    uint32_t r, p;
    REQUIRE(gordian_plan_open(&plan, NULL, NULL) == GORDIAN_OK);
    CHECK(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK && answer.safe);
    REQUIRE(gordian_plan_add_resource(plan, "r", 3, &r, NULL) == GORDIAN_OK);
    CHECK(gordian_plan_add_resource(plan, "r", 3, NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(strstr(error.message, "'r'") != NULL);
    CHECK(gordian_plan_add_resource(plan, "a=b", 3, NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_plan_set_units(plan, 1, 3, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_plan_set_cost(plan, 1, 3, &error) == GORDIAN_STATUS_INPUT);
    gordian_want most = {UINT64_MAX, r}, one = {1, r}, none = {1, r + 1};
    gordian_want twice[] = {most, one};
    REQUIRE(gordian_plan_add_process(plan, "p", &most, 1, &p, NULL) == GORDIAN_OK);
    CHECK(gordian_plan_add_process(plan, "q", &one, 1, NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(strstr(error.message, "add up") != NULL);
    CHECK(gordian_plan_find_process(plan, "q", 1) == GORDIAN_NONE);
    CHECK(gordian_plan_set_claims(plan, p, twice, 2, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_plan_set_claims(plan, p, &none, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_plan_set_claims(plan, p + 1, &one, 1, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK);
    CHECK(answer.pools[r].claims == UINT64_MAX && answer.pools[r].least == UINT64_MAX);
    CHECK(gordian_plan_set_cost(plan, r, 2, NULL) == GORDIAN_OK);
    CHECK(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK);
    CHECK(answer.least_cost == UINT64_MAX && !answer.safe);
    CHECK(gordian_plan_set_claims(plan, p, &one, 1, NULL) == GORDIAN_OK);
    CHECK(gordian_plan_solve(plan, &answer, &error) == GORDIAN_OK && answer.safe);
    CHECK(strcmp(gordian_plan_resource_name(plan, r), "r") == 0);
    CHECK(!gordian_plan_resource_name(plan, r + 1) && !gordian_plan_process_name(plan, p + 1));
    gordian_plan_close(plan);
    gordian_plan_close(NULL);
}

/* A play of calls; false when memory ran out in one of them. */
static bool play(const gordian_allocator *allocator)
{
    gordian_plan *plan;
    gordian_error error = {0};
    gordian_plan_answer answer;
    gordian_status status = gordian_plan_open(&plan, allocator, &error);
    char name[2] = "a";
    for (uint32_t j = 0; j < 5 && status == GORDIAN_OK; j++, name[0]++)
        status = gordian_plan_add_resource(plan, name, 2, NULL, &error);
    for (uint32_t p = 0; p < 9 && status == GORDIAN_OK; p++, name[0]++) {
        gordian_want claims[] = {{2, p % 5}, {1, (p + 1) % 5}, {1, (p + 3) % 5}};
        status = gordian_plan_add_process(plan, name, claims, 2, NULL, &error);
        if (status == GORDIAN_OK)
            status = gordian_plan_set_claims(plan, p, claims, 3, &error);
    }
    if (status == GORDIAN_OK)
        status = gordian_plan_solve(plan, &answer, &error);
    CHECK(status == GORDIAN_STATUS_MEMORY || (status == GORDIAN_OK && !answer.safe));
    CHECK(error.status == status);
    gordian_plan_close(plan);
    return status == GORDIAN_OK;
}

static void test_no_memory(void)
{
    for (int for_good = 0; for_good < 2; for_good++)
        for (size_t n = 1;; n++) {
            struct failing failing = {.fail_at = n, .for_good = for_good};
            gordian_allocator allocator = {failing_resize, &failing};
            bool played = play(&allocator);
            CHECK_MSG(failing.live_blocks == 0 && failing.live_bytes == 0, "allocation %zu leaks",
                      n);
            CHECK(played == (failing.failures == 0));
            if (failing.failures == 0)
                break;
        }
}

int main(int argc, char **argv)
{
    unsigned long scale = test_scale();
    struct random random;
    random_seed(&random, argc > 1 ? strtoull(argv[1], NULL, 10) : 1);
    test_known();
    test_bad_use();
    test_no_memory();
    test_states(&random, 1 + 300 * scale);
    test_sets(&random, 1 + 200 * scale);
    test_changes(&random);
    for (int i = 0; i < 20; i++) {
        test_large(&random, 100, 30, 3);
        test_large(&random, 300, 300, 2);
    }
    test_large(&random, 20000, 500, 4);
    return test_done();
}

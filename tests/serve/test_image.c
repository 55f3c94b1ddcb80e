/* Images: a system or a bank in any state is saved and loaded; from then on both get the same
 * events, and nothing they answer differs. Bytes that are not an image are refused. */
#include "../alloc/failing.h"
#include "../test.h"
#include "engines/avoid/serialize.h"
#include "engines/detect/serialize.h"
#include "foundation/base/crc.h"
#include "foundation/base/random.h"

#include <string.h>

static unsigned scaled(unsigned usual)
{
    const char *text = getenv("GORDIAN_TEST_SCALE");
    unsigned long percent = text ? strtoul(text, NULL, 10) : 100;
    unsigned long count = usual * percent / 100;
    return count ? (unsigned)count : 1;
}

/* ------------------------------------------------------------------ systems */

struct shape {
    const char *engine;
    unsigned processes, resources;
    unsigned units; /* at most, of a resource */
    unsigned wants; /* at most, of a request */
    unsigned churn; /* percent of events that add, remove or weigh */
};

/* By outcome, by verdict: a test in which nothing happens is worth nothing. */
static unsigned long seen[16], seen_by_bank[16];

static uint32_t any_id(struct random *random, uint32_t limit)
{
    return (uint32_t)random_below(random, limit + 1); /* one too many, now and then */
}

/* The same to all systems; whatever they answer must be equal. */
struct pair {
    gordian_system *systems[2]; /* the second may be NULL */
    gordian_error errors[2];
    unsigned names;
};

#define BOTH(pair, status, call)                                                                   \
    do {                                                                                           \
        for (unsigned at_ = 0; at_ < 2 && (pair)->systems[at_]; at_++) {                           \
            gordian_system *system = (pair)->systems[at_];                                         \
            gordian_error *error = &(pair)->errors[at_];                                           \
            (void)error;                                                                           \
            (status)[at_] = (call);                                                                \
        }                                                                                          \
        CHECK(!(pair)->systems[1] || (status)[0] == (status)[1]);                                  \
    } while (0)

static void churn(struct pair *pair, const struct shape *shape, struct random *random)
{
    gordian_status status[2];
    uint32_t ids[2] = {0};
    char name[32];
    uint32_t process = any_id(random, gordian_process_limit(pair->systems[0]));
    uint32_t resource = any_id(random, gordian_resource_limit(pair->systems[0]));
    int64_t weight = (int64_t)random_below(random, 9) - 4;
    uint64_t units = 1 + random_below(random, shape->units);
    snprintf(name, sizeof name, "n%u", pair->names++);
    const char *given = random_chance(random, 80) ? name : NULL;
    switch (random_below(random, 6)) {
    case 0:
        if (gordian_process_limit(pair->systems[0]) < 2 * shape->processes)
            BOTH(pair, status,
                 gordian_add_process(system, given, &ids[system == pair->systems[1]], error));
        break;
    case 1:
        if (gordian_resource_limit(pair->systems[0]) < 2 * shape->resources)
            BOTH(pair, status,
                 gordian_add_resource(system, given, units, &ids[system == pair->systems[1]],
                                      error));
        break;
    case 2:
        BOTH(pair, status, gordian_remove_process(system, process, error));
        break;
    case 3:
        BOTH(pair, status, gordian_remove_resource(system, resource, error));
        break;
    case 4:
        BOTH(pair, status, gordian_set_priority(system, process, weight, error));
        break;
    default:
        BOTH(pair, status, gordian_set_cost(system, process, weight, error));
        break;
    }
    CHECK(!pair->systems[1] || ids[0] == ids[1]);
}

static gordian_event random_event(const gordian_system *system, const struct shape *shape,
                                  struct random *random, gordian_want *wants)
{
    static const gordian_op ops[] = {GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST, GORDIAN_OP_REQUEST,
                                     GORDIAN_OP_REQUEST, GORDIAN_OP_RELEASE, GORDIAN_OP_RELEASE,
                                     GORDIAN_OP_RELEASE, GORDIAN_OP_CANCEL,  GORDIAN_OP_EXIT,
                                     GORDIAN_OP_HOLD,    GORDIAN_OP_WAIT,    GORDIAN_OP_AWAIT,
                                     GORDIAN_OP_ACT,     GORDIAN_OP_ACT};
    gordian_event event = {.op = ops[random_below(random, sizeof ops / sizeof *ops)],
                           .process = any_id(random, gordian_process_limit(system)),
                           .resource = any_id(random, gordian_resource_limit(system)),
                           .to = GORDIAN_NONE,
                           .units = random_below(random, shape->units + 1)};
    gordian_edge edges[8];
    if (event.op == GORDIAN_OP_AWAIT) {
        event.want_count = 1 + (size_t)random_below(random, 4);
        event.wants = wants;
        event.units = 1 + random_below(random, event.want_count);
        for (size_t i = 0; i < event.want_count; i++)
            wants[i].resource = any_id(random, gordian_process_limit(system));
    }
    if (event.op == GORDIAN_OP_RELEASE && random_chance(random, 80)) { /* of something it holds */
        size_t held = gordian_holdings(system, event.process, edges, 8);
        if (held > 0) {
            size_t which = (size_t)random_below(random, held < 8 ? held : 8);
            event.resource = edges[which].resource;
            event.units = 1 + random_below(random, edges[which].units);
        }
    }
    if (event.op == GORDIAN_OP_RELEASE && random_chance(random, 30) &&
        gordian_waiters(system, event.resource, edges, 1) > 0)
        event.to = edges[0].process;
    if ((event.op == GORDIAN_OP_REQUEST || event.op == GORDIAN_OP_WAIT) && shape->wants > 1 &&
        random_chance(random, 40)) {
        event.want_count = (size_t)random_below(random, shape->wants) + 1;
        event.wants = wants;
        for (size_t i = 0; i < event.want_count; i++)
            wants[i] = (gordian_want){.units = 1 + random_below(random, shape->units),
                                      .resource = any_id(random, gordian_resource_limit(system))};
    }
    return event;
}

static void same_served(const struct pair *pair)
{
    size_t counts[2];
    const uint32_t *left = gordian_served(pair->systems[0], &counts[0]);
    const uint32_t *right = gordian_served(pair->systems[1], &counts[1]);
    CHECK(counts[0] == counts[1]);
    CHECK(counts[0] != counts[1] || counts[0] == 0 ||
          memcmp(left, right, counts[0] * sizeof *left) == 0);
}

static void recover(struct pair *pair, struct random *random)
{
    gordian_status status[2];
    gordian_victim victims[2] = {{0}};
    gordian_policy policy = (gordian_policy)(1 + random_below(random, 5));
    BOTH(pair, status,
         gordian_recover_one(system, policy, &victims[system == pair->systems[1]], error));
    CHECK(!pair->systems[1] || status[0] || victims[0].process == victims[1].process);
    CHECK(!pair->systems[1] || status[0] || victims[0].weight == victims[1].weight);
}

static void step(struct pair *pair, const struct shape *shape, struct random *random)
{
    gordian_status status[2];
    gordian_result results[2];
    gordian_want wants[8];
    if (random_chance(random, shape->churn)) {
        churn(pair, shape, random);
        return;
    }
    if (random_below(random, 200) == 0) {
        recover(pair, random);
        return;
    }
    gordian_event event = random_event(pair->systems[0], shape, random, wants);
    BOTH(pair, status, gordian_feed(system, &event, &results[system == pair->systems[1]], error));
    if (status[0] == GORDIAN_OK)
        seen[results[0].outcome]++;
    if (!pair->systems[1])
        return;
    CHECK(status[0] || memcmp(&results[0], &results[1], sizeof *results) == 0);
    same_served(pair);
}

static bool same_edges(const struct pair *pair, uint32_t id,
                       size_t (*list)(const gordian_system *, uint32_t, gordian_edge *, size_t))
{
    gordian_edge edges[2][64];
    size_t left = list(pair->systems[0], id, edges[0], 64);
    size_t right = list(pair->systems[1], id, edges[1], 64);
    for (size_t i = 0; i < left && i < 64; i++)
        if (edges[0][i].process != edges[1][i].process ||
            edges[0][i].resource != edges[1][i].resource || edges[0][i].units != edges[1][i].units)
            return false;
    return left == right;
}

static bool same_text(const char *left, const char *right)
{
    return left == right || (left && right && strcmp(left, right) == 0);
}

/* Everything that can be asked for, lists in their order. */
static void compare_systems(struct pair *pair)
{
    gordian_system *left = pair->systems[0], *right = pair->systems[1];
    gordian_error error;
    const uint32_t *dead[2];
    size_t counts[2] = {0};
    CHECK(gordian_process_limit(left) == gordian_process_limit(right));
    CHECK(gordian_resource_limit(left) == gordian_resource_limit(right));
    CHECK(gordian_system_model(left) == gordian_system_model(right));
    for (uint32_t p = 0; p < gordian_process_limit(left); p++) {
        CHECK(same_text(gordian_process_name(left, p), gordian_process_name(right, p)));
        if (!gordian_process_name(left, p) || !gordian_process_name(right, p))
            continue;
        CHECK(gordian_priority(left, p) == gordian_priority(right, p));
        CHECK(gordian_cost(left, p) == gordian_cost(right, p));
        CHECK(same_edges(pair, p, gordian_holdings));
        CHECK(same_edges(pair, p, gordian_pending));
    }
    for (uint32_t q = 0; q < gordian_resource_limit(left); q++) {
        CHECK(same_text(gordian_resource_name(left, q), gordian_resource_name(right, q)));
        if (!gordian_resource_name(left, q) || !gordian_resource_name(right, q))
            continue;
        CHECK(gordian_free_units(left, q) == gordian_free_units(right, q));
        CHECK(same_edges(pair, q, gordian_holders));
        CHECK(same_edges(pair, q, gordian_waiters));
    }
    CHECK(!gordian_deadlocked(left, &dead[0], &counts[0], &error));
    CHECK(!gordian_deadlocked(right, &dead[1], &counts[1], &error));
    CHECK(counts[0] == counts[1] &&
          (counts[0] == 0 || memcmp(dead[0], dead[1], counts[0] * sizeof **dead) == 0));
}

static gordian_system *copy_system(const gordian_system *system, const char *engine,
                                   struct bytes *bytes)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_options_init(&options);
    options.engine = engine;
    gordian_system *copy;
    bytes->used = 0;
    system_serialize(system, bytes);
    CHECK(!bytes->failed);
    REQUIRE(!gordian_open(&copy, &options, &error));
    struct bytes_in in = {.at = bytes->data, .end = bytes->data + bytes->used};
    gordian_status status = system_deserialize(copy, &in, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    CHECK(bytes_left(&in) == 0);
    return copy;
}

static gordian_system *fresh_system(const struct shape *shape, struct random *random)
{
    gordian_error error = {0};
    gordian_options options;
    gordian_options_init(&options);
    options.engine = shape->engine;
    gordian_system *system;
    REQUIRE(!gordian_open(&system, &options, &error));
    for (unsigned i = 0; i < shape->processes; i++)
        REQUIRE(!gordian_add_process(system, NULL, NULL, &error));
    for (unsigned i = 0; i < shape->resources; i++) {
        char name[32];
        snprintf(name, sizeof name, "r%u", i);
        REQUIRE(!gordian_add_resource(system, name, 1 + random_below(random, shape->units), NULL,
                                      &error));
    }
    return system;
}

/* Saved, loaded, and on: the copy becomes the next original now and then, so that what is lost
 * only a little shows in the end. */
static void test_system(const struct shape *shape, uint64_t seed, unsigned events)
{
    struct random random;
    struct bytes bytes, again;
    gordian_allocator memory = memory_allocator(NULL);
    struct pair pair = {{NULL}};
    bytes_init(&bytes, &memory);
    bytes_init(&again, &memory);
    random_seed(&random, seed);
    pair.systems[0] = fresh_system(shape, &random);
    for (unsigned i = 0; i < 10 * shape->processes; i++)
        step(&pair, shape, &random);
    for (unsigned i = 0; i < events; i++) {
        if (i % 500 == 0) {
            gordian_close(pair.systems[1]);
            pair.systems[1] = copy_system(pair.systems[0], shape->engine, &bytes);
            again.used = 0;
            system_serialize(pair.systems[1], &again);
            CHECK(again.used == bytes.used && memcmp(again.data, bytes.data, bytes.used) == 0);
            compare_systems(&pair);
        }
        step(&pair, shape, &random);
        if (i % 500 == 499) {
            compare_systems(&pair);
            gordian_system *swap = pair.systems[0];
            pair.systems[0] = pair.systems[1];
            pair.systems[1] = swap;
        }
    }
    gordian_close(pair.systems[0]);
    gordian_close(pair.systems[1]);
    bytes_free(&bytes);
    bytes_free(&again);
}

/* An image made by one engine is loaded by another. */
static void test_other_engine(void)
{
    const struct shape shape = {"sparse", 30, 20, 3, 3, 5};
    struct random random;
    struct bytes bytes;
    gordian_allocator memory = memory_allocator(NULL);
    struct pair pair = {{NULL}};
    bytes_init(&bytes, &memory);
    random_seed(&random, 41);
    pair.systems[0] = fresh_system(&shape, &random);
    for (unsigned i = 0; i < 3000; i++)
        step(&pair, &shape, &random);
    pair.systems[1] = copy_system(pair.systems[0], "reduce", &bytes);
    for (unsigned i = 0; i < 3000; i++)
        step(&pair, &shape, &random);
    compare_systems(&pair);
    gordian_close(pair.systems[0]);
    gordian_close(pair.systems[1]);
    bytes_free(&bytes);
}

/* ------------------------------------------------------------------ banks */

struct banks {
    gordian_bank *banks[2];
    gordian_answer answers[2];
    bool queue;
    unsigned names;
};

static gordian_bank *open_bank(const char *engine, bool queue)
{
    gordian_bank_options options;
    gordian_error error = {0};
    gordian_bank *bank;
    gordian_bank_options_init(&options);
    options.engine = engine;
    options.queue = queue;
    options.patience = 3;
    REQUIRE(!gordian_bank_open(&bank, &options, &error));
    return bank;
}

static void same_answers(const struct banks *pair)
{
    const gordian_answer *left = &pair->answers[0], *right = &pair->answers[1];
    seen_by_bank[left->verdict]++;
    if (!pair->banks[1])
        return;
    CHECK_MSG(left->verdict == right->verdict, "%s and %s", gordian_verdict_text(left->verdict),
              gordian_verdict_text(right->verdict));
    CHECK(left->reason == right->reason && left->waits == right->waits && left->at == right->at);
    CHECK(left->served_count == right->served_count &&
          (left->served_count == 0 ||
           memcmp(left->served, right->served, left->served_count * sizeof *left->served) == 0));
}

#define BANKS(pair, call)                                                                          \
    do {                                                                                           \
        gordian_status status_[2] = {GORDIAN_OK, GORDIAN_OK};                                      \
        for (unsigned at = 0; at < 2 && (pair)->banks[at]; at++) {                                 \
            gordian_bank *bank = (pair)->banks[at];                                                \
            gordian_answer *answer = &(pair)->answers[at];                                         \
            answer->verdict = 0; /* not every call gives one */                                    \
            answer->reason = GORDIAN_REASON_NONE;                                                  \
            answer->waits = false;                                                                 \
            answer->at = 0;                                                                        \
            answer->served_count = 0;                                                              \
            status_[at] = (call);                                                                  \
        }                                                                                          \
        CHECK(!(pair)->banks[1] || status_[0] == status_[1]);                                      \
        same_answers(pair);                                                                        \
    } while (0)

static size_t random_wants(struct random *random, uint32_t resources, uint64_t most,
                           gordian_want wants[6])
{
    size_t count = (size_t)random_below(random, 5) + 1;
    for (size_t i = 0; i < count; i++)
        wants[i] = (gordian_want){.units = random_below(random, most + 1),
                                  .resource = any_id(random, resources)};
    return count;
}

/* Claims on what there is; or anything at all. */
static size_t random_claims(gordian_bank *bank, struct random *random, gordian_want claims[6])
{
    uint32_t resources = gordian_bank_resource_limit(bank);
    size_t count = 0;
    if (random_chance(random, 10))
        return random_wants(random, resources, 5, claims);
    for (uint32_t q = 0; q < resources && count < 6; q++) {
        uint64_t units = gordian_bank_units(bank, q);
        if (units > 0 && random_chance(random, 40))
            claims[count++] =
                (gordian_want){.units = 1 + random_below(random, units), .resource = q};
    }
    return count;
}

static void bank_churn(struct banks *pair, struct random *random)
{
    gordian_want wants[6];
    uint32_t resources = gordian_bank_resource_limit(pair->banks[0]);
    uint32_t processes = gordian_bank_process_limit(pair->banks[0]);
    uint32_t process = any_id(random, processes), resource = any_id(random, resources);
    uint32_t ids[2] = {0};
    size_t count = random_claims(pair->banks[0], random, wants);
    uint64_t units = random_chance(random, 10) ? 0 : 3 + random_below(random, 9);
    char name[32];
    snprintf(name, sizeof name, "n%u", pair->names++);
    switch (random_below(random, 6)) {
    case 0:
    case 1:
        if (processes < 24)
            BANKS(pair, gordian_bank_add_process(bank, name, wants, count, &ids[at], answer, NULL));
        break;
    case 2:
        if (resources < 12)
            BANKS(pair, gordian_bank_add_resource(bank, name, units, &ids[at], NULL));
        break;
    case 3:
        BANKS(pair, gordian_bank_set_units(bank, resource, units, answer, NULL));
        break;
    case 4:
        BANKS(pair, gordian_bank_set_claims(bank, process, wants, count, answer, NULL));
        break;
    default:
        BANKS(pair, gordian_bank_remove_resource(bank, resource, NULL));
        break;
    }
    CHECK(!pair->banks[1] || ids[0] == ids[1]);
}

/* Something within what it may still ask for, or of what it holds; or anything at all. */
static size_t fitting_wants(gordian_bank *bank, struct random *random, uint32_t process, bool held,
                            gordian_want wants[6])
{
    uint32_t resources = gordian_bank_resource_limit(bank);
    char name[GORDIAN_NAME_MAX + 1];
    size_t count = 0;
    if (random_chance(random, 10) || !gordian_bank_process_name(bank, process, name))
        return random_wants(random, resources, 2, wants);
    for (uint32_t q = 0; q < resources && count < 6; q++) {
        uint64_t has = gordian_bank_held(bank, process, q);
        uint64_t most = held ? has : gordian_bank_claim(bank, process, q) - has;
        if (most > 0 && random_chance(random, 60))
            wants[count++] = (gordian_want){.units = 1 + random_below(random, most), .resource = q};
    }
    return count;
}

static void bank_step(struct banks *pair, struct random *random)
{
    gordian_want wants[6];
    uint32_t process = any_id(random, gordian_bank_process_limit(pair->banks[0]));
    unsigned what = (unsigned)random_below(random, 100);
    bool held = what >= 55 && what < 80;
    size_t count = fitting_wants(pair->banks[0], random, process, held, wants);
    if (what < 10)
        bank_churn(pair, random);
    else if (what < 55)
        BANKS(pair, gordian_bank_request(bank, process, wants, count, answer, NULL));
    else if (what < 80)
        BANKS(pair, gordian_bank_release(bank, process, wants, count, answer, NULL));
    else if (what < 83)
        BANKS(pair, gordian_bank_cancel(bank, process, answer, NULL));
    else if (what < 90)
        BANKS(pair, gordian_bank_try(bank, process, wants, count, answer, NULL));
    else if (what < 98)
        BANKS(pair, gordian_bank_commit(bank, process, answer, NULL));
    else
        BANKS(pair, gordian_bank_exit(bank, process, answer, NULL));
}

static void compare_banks(const struct banks *pair)
{
    gordian_bank *left = pair->banks[0], *right = pair->banks[1];
    char names[2][GORDIAN_NAME_MAX + 1];
    CHECK(gordian_bank_process_limit(left) == gordian_bank_process_limit(right));
    CHECK(gordian_bank_resource_limit(left) == gordian_bank_resource_limit(right));
    for (uint32_t q = 0; q < gordian_bank_resource_limit(left); q++) {
        const char *mine = gordian_bank_resource_name(left, q, names[0]);
        CHECK(same_text(mine, gordian_bank_resource_name(right, q, names[1])));
        CHECK(!mine || gordian_bank_free_units(left, q) == gordian_bank_free_units(right, q));
    }
    for (uint32_t p = 0; p < gordian_bank_process_limit(left); p++) {
        const char *mine = gordian_bank_process_name(left, p, names[0]);
        CHECK(same_text(mine, gordian_bank_process_name(right, p, names[1])));
        for (uint32_t q = 0; mine && q < gordian_bank_resource_limit(left); q++) {
            CHECK(gordian_bank_claim(left, p, q) == gordian_bank_claim(right, p, q));
            CHECK(gordian_bank_held(left, p, q) == gordian_bank_held(right, p, q));
        }
        CHECK(!mine || gordian_bank_is_waiting(left, p) == gordian_bank_is_waiting(right, p));
    }
}

static gordian_bank *copy_bank(gordian_bank *bank, const char *engine, bool queue,
                               struct bytes *bytes)
{
    gordian_error error = {0};
    gordian_bank *copy = open_bank(engine, queue);
    bytes->used = 0;
    bank_serialize(bank, bytes);
    struct bytes_in in = {.at = bytes->data, .end = bytes->data + bytes->used};
    gordian_status status = bank_deserialize(copy, &in, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    REQUIRE(status == GORDIAN_OK);
    CHECK(bytes_left(&in) == 0);
    return copy;
}

static void test_bank(const char *engine, bool queue, uint64_t seed, unsigned events)
{
    struct random random;
    struct bytes bytes;
    gordian_allocator memory = memory_allocator(NULL);
    struct banks pair = {.queue = queue};
    bytes_init(&bytes, &memory);
    random_seed(&random, seed);
    gordian_answer_init(&pair.answers[0], GORDIAN_DETAIL_VERDICT);
    gordian_answer_init(&pair.answers[1], GORDIAN_DETAIL_VERDICT);
    pair.banks[0] = open_bank(engine, queue);
    for (unsigned i = 0; i < 8; i++)
        REQUIRE(!gordian_bank_add_resource(pair.banks[0], NULL, 3 + i, NULL, NULL));
    for (unsigned i = 0; i < 500; i++)
        bank_step(&pair, &random);
    for (unsigned i = 0; i < events; i++) {
        if (i % 300 == 0) {
            gordian_bank_close(pair.banks[1]);
            pair.banks[1] = copy_bank(pair.banks[0], i % 600 ? engine : "holt", queue, &bytes);
            compare_banks(&pair);
        }
        bank_step(&pair, &random);
        if (i % 300 == 299) {
            compare_banks(&pair);
            gordian_bank *swap = pair.banks[0];
            pair.banks[0] = pair.banks[1];
            pair.banks[1] = swap;
        }
    }
    gordian_answer_free(&pair.answers[0]);
    gordian_answer_free(&pair.answers[1]);
    gordian_bank_close(pair.banks[0]);
    gordian_bank_close(pair.banks[1]);
    bytes_free(&bytes);
}

/* ------------------------------------------------------------------ what is no image */

/* An image of a small but varied state, of either kind. */
static void some_image(bool bank, struct bytes *bytes)
{
    struct random random;
    random_seed(&random, 17);
    if (bank) {
        struct banks pair = {.queue = true};
        gordian_answer_init(&pair.answers[0], GORDIAN_DETAIL_VERDICT);
        pair.banks[0] = open_bank("holt", true);
        for (unsigned i = 0; i < 4; i++)
            REQUIRE(!gordian_bank_add_resource(pair.banks[0], NULL, 3, NULL, NULL));
        for (unsigned i = 0; i < 300; i++)
            bank_step(&pair, &random);
        bank_serialize(pair.banks[0], bytes);
        gordian_answer_free(&pair.answers[0]);
        gordian_bank_close(pair.banks[0]);
    } else {
        const struct shape shape = {"sparse", 8, 6, 3, 3, 5};
        struct pair pair = {{fresh_system(&shape, &random), NULL}};
        for (unsigned i = 0; i < 300; i++)
            step(&pair, &shape, &random);
        system_serialize(pair.systems[0], bytes);
        gordian_close(pair.systems[0]);
    }
}

/* Loads; if it is taken it must be a system that works. */
static gordian_status try_image(bool bank, const uint8_t *data, size_t length,
                                const gordian_allocator *allocator)
{
    gordian_error error = {0};
    gordian_status status;
    struct bytes_in in = {.at = data, .end = data + length};
    struct random random;
    random_seed(&random, length);
    if (bank) {
        struct banks pair = {.queue = true};
        gordian_bank_options options;
        gordian_bank_options_init(&options);
        options.queue = true;
        options.patience = 3;
        options.allocator = allocator;
        status = gordian_bank_open(&pair.banks[0], &options, &error);
        if (status != GORDIAN_OK)
            return status;
        gordian_answer_init(&pair.answers[0], GORDIAN_DETAIL_VERDICT);
        status = bank_deserialize(pair.banks[0], &in, &error);
        for (unsigned i = 0; i < 50 && status == GORDIAN_OK && !allocator; i++)
            bank_step(&pair, &random);
        gordian_answer_free(&pair.answers[0]);
        gordian_bank_close(pair.banks[0]);
        return status;
    }
    const struct shape shape = {"sparse", 8, 6, 3, 3, 5};
    struct pair pair = {{NULL, NULL}};
    gordian_options options = {.engine = "sparse", .allocator = allocator};
    status = gordian_open(&pair.systems[0], &options, &error);
    if (status != GORDIAN_OK)
        return status;
    status = system_deserialize(pair.systems[0], &in, &error);
    for (unsigned i = 0; i < 50 && status == GORDIAN_OK && !allocator; i++)
        step(&pair, &shape, &random);
    gordian_close(pair.systems[0]);
    return status;
}

static void test_nonsense(bool bank)
{
    struct bytes bytes;
    struct random random;
    gordian_allocator memory = memory_allocator(NULL);
    unsigned refused = 0, rounds = scaled(20000);
    bytes_init(&bytes, &memory);
    random_seed(&random, 23);
    some_image(bank, &bytes);
    for (size_t cut = 0; cut < bytes.used; cut++)
        CHECK(try_image(bank, bytes.data, cut, NULL) == GORDIAN_STATUS_INPUT);
    uint8_t *copy = malloc(bytes.used);
    REQUIRE(copy != NULL);
    for (unsigned i = 0; i < rounds; i++) {
        memcpy(copy, bytes.data, bytes.used);
        for (uint64_t changes = 1 + random_below(&random, 3); changes > 0; changes--)
            copy[random_below(&random, bytes.used)] =
                (uint8_t)random_below(&random, random_chance(&random, 50) ? 8 : 256);
        gordian_status status = try_image(bank, copy, bytes.used, NULL);
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT ||
                      status == GORDIAN_STATUS_MEMORY,
                  "%d", (int)status);
        refused += status != GORDIAN_OK;
    }
    CHECK(refused > rounds / 3);
    free(copy);
    bytes_free(&bytes);
}

static void test_no_memory(bool bank)
{
    struct bytes bytes;
    gordian_allocator memory = memory_allocator(NULL);
    bytes_init(&bytes, &memory);
    some_image(bank, &bytes);
    gordian_status status = GORDIAN_STATUS_MEMORY;
    for (size_t fail_at = 1; status && fail_at < 5000; fail_at++) {
        struct failing failing = {.fail_at = fail_at};
        gordian_allocator allocator = {failing_resize, &failing};
        status = try_image(bank, bytes.data, bytes.used, &allocator);
        CHECK(status == (failing.failures ? GORDIAN_STATUS_MEMORY : GORDIAN_OK));
        CHECK(failing.live_blocks == 0);
        /* Saving without memory says so, and no more. */
        struct failing no_room = {.fail_at = 1 + fail_at % 4, .for_good = true};
        gordian_allocator none = {failing_resize, &no_room};
        struct bytes other;
        gordian_system *system;
        REQUIRE(!gordian_open(&system, NULL, NULL));
        bytes_init(&other, &none);
        system_serialize(system, &other);
        CHECK(other.failed == (no_room.failures > 0));
        bytes_free(&other);
        gordian_close(system);
        CHECK(no_room.live_blocks == 0);
    }
    CHECK(status == GORDIAN_OK);
    bytes_free(&bytes);
}

/* ------------------------------------------------------------------ bytes and checksums */

/* Bit by bit, from the definition. */
static uint32_t plain_crc(const uint8_t *bytes, size_t count)
{
    uint32_t crc = UINT32_MAX;
    for (size_t i = 0; i < count; i++) {
        crc ^= bytes[i];
        for (unsigned bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0x82f63b78u : 0);
    }
    return ~crc;
}

static void test_crc(void)
{
    struct random random;
    uint8_t bytes[300];
    random_seed(&random, 29);
    CHECK(crc32c(0, "123456789", 9) == 0xe3069283u);
    CHECK(crc32c(0, "", 0) == 0);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)random_next(&random);
    for (size_t start = 0; start < 9; start++)
        for (size_t count = 0; start + count <= sizeof bytes; count += 7) {
            size_t half = count / 3;
            uint32_t first = crc32c(0, bytes + start, half);
            CHECK(crc32c(0, bytes + start, count) == plain_crc(bytes + start, count));
            CHECK(crc32c(first, bytes + start + half, count - half) ==
                  plain_crc(bytes + start, count));
        }
}

static void test_bytes(void)
{
    static const uint64_t numbers[] = {
        0, 1, 127, 128, 16383, 16384, UINT32_MAX, 1ull << 62, UINT64_MAX - 1, UINT64_MAX};
    static const uint8_t too_long[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 2};
    struct bytes out;
    gordian_allocator memory = memory_allocator(NULL);
    size_t length;
    bytes_init(&out, &memory);
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        bytes_u64(&out, numbers[i]);
        bytes_i64(&out, (int64_t)numbers[i]);
        bytes_text(&out, "name", i % 5);
    }
    struct bytes_in in = {.at = out.data, .end = out.data + out.used};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        CHECK(bytes_take_u64(&in) == numbers[i]);
        CHECK(bytes_take_i64(&in) == (int64_t)numbers[i]);
        const char *text = bytes_take_text(&in, &length);
        CHECK(text && length == i % 5 && memcmp(text, "name", length) == 0);
    }
    CHECK(!in.bad && bytes_left(&in) == 0);
    CHECK(bytes_take_u64(&in) == 0 && in.bad);
    for (size_t cut = 0; cut < out.used; cut++) { /* never beyond the end */
        struct bytes_in part = {.at = out.data, .end = out.data + cut};
        while (!part.bad) {
            bytes_take_u64(&part);
            bytes_take_i64(&part);
            bytes_take_text(&part, &length);
        }
        CHECK(part.at <= part.end);
    }
    struct bytes_in wide = {.at = too_long, .end = too_long + sizeof too_long};
    CHECK(bytes_take_u64(&wide) == 0 && wide.bad);
    bytes_free(&out);
}

int main(void)
{
    static const struct shape shapes[] = {
        {"sparse", 20, 15, 1, 1, 3}, {"sparse", 200, 150, 1, 1, 3}, {"sparse", 30, 10, 4, 1, 3},
        {"sparse", 30, 10, 4, 4, 3}, {"sparse", 6, 4, 2, 2, 10},    {"matrix", 20, 15, 1, 1, 3},
        {"matrix", 30, 10, 4, 1, 3}, {"reduce", 20, 10, 3, 3, 3},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            test_system(&shapes[i], seed * 100 + i, scaled(30000));
    test_crc();
    test_bytes();
    test_other_engine();
    for (uint64_t seed = 1; seed <= 4; seed++) {
        test_bank("holt", true, seed, scaled(150000));
        test_bank("holt", false, seed, scaled(100000));
        test_bank("dense", true, seed, scaled(100000));
    }
    for (unsigned i = GORDIAN_OUTCOME_GRANTED; i <= GORDIAN_OUTCOME_REFUSED; i++)
        CHECK_MSG(seen[i] > scaled(300), "outcome %u: %lu", i, seen[i]);
    for (unsigned i = GORDIAN_VERDICT_GRANTED; i <= GORDIAN_VERDICT_REFUSED; i++)
        CHECK_MSG(seen_by_bank[i] > scaled(300), "verdict %u: %lu", i, seen_by_bank[i]);
    for (unsigned bank = 0; bank < 2; bank++) {
        test_nonsense(bank);
        test_no_memory(bank);
    }
    return test_done();
}

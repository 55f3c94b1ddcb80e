/*
 * OSDDA on a GPU against the matrix engine of the CPU: outcomes, who is served, who is deadlocked,
 * and every element of every matrix, after every event. In the emulator by default, on a real
 * device with
 *
 *     test_osdda --device 0 [--engine cuda] [--events 1000000] [--size 256x256] [--seed 1]
 *
 * which also runs chains up to 65536 and prints timings.
 */
#include "engines/detect/cuda/cuda.h"
#include "engines/detect/system.h"
#include "foundation/base/bits.h"
#include "foundation/base/random.h"
#include "osdda_device.h"
#include "test.h"

#include <string.h>

static const char *engine = "cuda"; /* or "cuda-blocks" */

/* The same system twice. */
struct pair {
    gordian_system *gpu, *cpu;
    struct random random;
    bool growing;
    uint32_t most_processes, most_resources;
};

static gordian_system *open_system(const char *name)
{
    gordian_options options;
    gordian_options_init(&options);
    options.engine = name;
    gordian_system *system = NULL;
    gordian_error error = {0};
    gordian_status status = gordian_open(&system, &options, &error);
    if (status != GORDIAN_OK)
        fprintf(stderr, "engine %s: %s\n", name, error.message);
    REQUIRE(status == GORDIAN_OK);
    return system;
}

static void add_process(struct pair *pair)
{
    uint32_t one = 0, other = 0;
    REQUIRE(gordian_add_process(pair->gpu, NULL, &one, NULL) == GORDIAN_OK);
    REQUIRE(gordian_add_process(pair->cpu, NULL, &other, NULL) == GORDIAN_OK);
    CHECK(one == other);
}

static void add_resource(struct pair *pair)
{
    uint32_t one = 0, other = 0;
    REQUIRE(gordian_add_resource(pair->gpu, NULL, 1, &one, NULL) == GORDIAN_OK);
    REQUIRE(gordian_add_resource(pair->cpu, NULL, 1, &other, NULL) == GORDIAN_OK);
    CHECK(one == other);
}

static void open_pair(struct pair *pair, uint64_t seed, uint32_t processes, uint32_t resources,
                      bool growing)
{
    pair->gpu = open_system(engine);
    pair->cpu = open_system("matrix");
    pair->growing = growing;
    pair->most_processes = processes;
    pair->most_resources = resources;
    random_seed(&pair->random, seed);
    for (uint32_t p = 0; p < (growing ? 1 : processes); p++)
        add_process(pair);
    for (uint32_t q = 0; q < (growing ? 1 : resources); q++)
        add_resource(pair);
}

static void close_pair(struct pair *pair)
{
    gordian_close(pair->gpu);
    gordian_close(pair->cpu);
}

/* ------------------------------------------------------------------ comparing */

static void compare_lists(const char *what, const uint32_t *one, size_t one_count,
                          const uint32_t *other, size_t other_count)
{
    CHECK_MSG(one_count == other_count &&
                  (one_count == 0 || memcmp(one, other, one_count * sizeof *one) == 0),
              "%s: %zu and %zu", what, one_count, other_count);
}

static void compare_deadlocked(struct pair *pair)
{
    const uint32_t *one, *other;
    size_t one_count, other_count;
    CHECK(gordian_deadlocked(pair->gpu, &one, &one_count, NULL) == GORDIAN_OK);
    CHECK(gordian_deadlocked(pair->cpu, &other, &other_count, NULL) == GORDIAN_OK);
    compare_lists("deadlocked", one, one_count, other, other_count);
}

/* The papers' rows have no bits past the last column: whole words are compared. */
static void compare_matrix(struct pair *pair, gordian_matrix which, uint32_t rows)
{
    for (uint32_t row = 0; row < rows; row++) {
        const uint64_t *one, *other;
        size_t one_count, other_count;
        gordian_status status = gordian_matrix_row(pair->gpu, which, row, &one, &one_count, NULL);
        CHECK(status == GORDIAN_OK);
        CHECK(gordian_matrix_row(pair->cpu, which, row, &other, &other_count, NULL) == GORDIAN_OK);
        if (status != GORDIAN_OK)
            return;
        CHECK_MSG(one_count == other_count && memcmp(one, other, one_count * sizeof *one) == 0,
                  "matrix %d, row %u: %llx, not %llx", (int)which, row, (unsigned long long)one[0],
                  (unsigned long long)other[0]);
    }
}

static void compare_matrices(struct pair *pair)
{
    uint32_t processes = gordian_process_limit(pair->cpu);
    uint32_t resources = gordian_resource_limit(pair->cpu);
    compare_matrix(pair, GORDIAN_MATRIX_AG, resources);
    compare_matrix(pair, GORDIAN_MATRIX_AR, processes);
    compare_matrix(pair, GORDIAN_MATRIX_SINK, resources);
    compare_matrix(pair, GORDIAN_MATRIX_RR, resources);
    compare_matrix(pair, GORDIAN_MATRIX_RP, resources);
}

static gordian_outcome feed(struct pair *pair, gordian_event event)
{
    gordian_result one = {0}, other = {0};
    CHECK(gordian_feed(pair->gpu, &event, &one, NULL) == GORDIAN_OK);
    CHECK(gordian_feed(pair->cpu, &event, &other, NULL) == GORDIAN_OK);
    CHECK_MSG(one.outcome == other.outcome, "%s p%u q%u: %s, not %s", gordian_op_text(event.op),
              event.process, event.resource, gordian_outcome_text(one.outcome),
              gordian_outcome_text(other.outcome));
    size_t one_count, other_count;
    const uint32_t *one_served = gordian_served(pair->gpu, &one_count);
    const uint32_t *other_served = gordian_served(pair->cpu, &other_count);
    compare_lists("served", one_served, one_count, other_served, other_count);
    return (gordian_outcome)other.outcome;
}

static gordian_outcome feed_simple(struct pair *pair, gordian_op op, uint32_t process,
                                   uint32_t resource)
{
    gordian_event event = {
        .op = op, .process = process, .resource = resource, .to = GORDIAN_NONE, .units = 1};
    return feed(pair, event);
}

/* ------------------------------------------------------------------ random events */

static uint32_t below(struct pair *pair, uint32_t bound)
{
    return (uint32_t)random_below(&pair->random, bound);
}

/* A release of something that is held, by its holder, at times to a chosen waiter. */
static gordian_event random_release(struct pair *pair)
{
    gordian_edge edge = {0};
    uint32_t resource = below(pair, gordian_resource_limit(pair->cpu));
    gordian_event event = {.op = GORDIAN_OP_RELEASE,
                           .process = below(pair, gordian_process_limit(pair->cpu)),
                           .resource = resource,
                           .to = GORDIAN_NONE,
                           .units = 1};
    if (gordian_holders(pair->cpu, resource, &edge, 1))
        event.process = edge.process;
    gordian_edge waiters[64];
    size_t count = gordian_waiters(pair->cpu, resource, waiters, 64);
    if (count > 64)
        count = 64;
    if (count && random_chance(&pair->random, 40))
        event.to = waiters[below(pair, (uint32_t)count)].process;
    return event;
}

static void random_event(struct pair *pair)
{
    uint32_t processes = gordian_process_limit(pair->cpu);
    uint32_t resources = gordian_resource_limit(pair->cpu);
    uint32_t dice = below(pair, 100);
    if (dice < 55)
        feed_simple(pair, GORDIAN_OP_REQUEST, below(pair, processes), below(pair, resources));
    else if (dice < 83)
        feed(pair, random_release(pair));
    else if (dice < 93)
        feed_simple(pair, GORDIAN_OP_CANCEL, below(pair, processes), 0);
    else
        feed_simple(pair, GORDIAN_OP_EXIT, below(pair, processes), 0);
    if (pair->growing && processes < pair->most_processes && random_chance(&pair->random, 20))
        add_process(pair);
    if (pair->growing && resources < pair->most_resources && random_chance(&pair->random, 20))
        add_resource(pair);
}

static void test_random(uint64_t seed, uint32_t processes, uint32_t resources, unsigned events,
                        bool growing)
{
    struct pair pair;
    open_pair(&pair, seed, processes, resources, growing);
    unsigned long before = test_failed;
    for (unsigned i = 0; i < events && test_failed == before; i++) {
        random_event(&pair);
        compare_deadlocked(&pair);
        compare_matrices(&pair);
    }
    CHECK_MSG(test_failed == before, "seed %llu, %ux%u", (unsigned long long)seed, processes,
              resources);
    CHECK(cuda_note(pair.gpu->state) == NULL);
    close_pair(&pair);
}

/* ------------------------------------------------------------------ chains */

/* p_i holds q_i and waits for q_i+1; the last closes it. Then a wait in the middle is given up,
 * and everybody goes, one by one. */
static void test_chain(uint32_t length, bool backwards)
{
    struct pair pair;
    /* A comparison takes long. */
    uint32_t every = length < 10 || test_scale() >= 100 ? 1 : length / 3;
    open_pair(&pair, length, length, length, false);
    for (uint32_t i = 0; i < length; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, i, i);
    for (uint32_t i = 0; i < length; i++) {
        uint32_t p = backwards ? length - 1 - i : i;
        gordian_outcome expected =
            i == length - 1 ? GORDIAN_OUTCOME_DEADLOCK : GORDIAN_OUTCOME_BLOCKED;
        CHECK(feed_simple(&pair, GORDIAN_OP_REQUEST, p, (p + 1) % length) == expected);
        if (i % every == 0 || i == length - 1)
            compare_matrices(&pair);
    }
    compare_deadlocked(&pair);
    add_process(&pair);
    CHECK(feed_simple(&pair, GORDIAN_OP_REQUEST, length, length / 2) == GORDIAN_OUTCOME_DOOMED);
    compare_matrices(&pair);
    feed_simple(&pair, GORDIAN_OP_CANCEL, length / 2, 0);
    compare_matrices(&pair);
    compare_deadlocked(&pair);
    for (uint32_t p = 0; p < length; p++) {
        feed_simple(&pair, GORDIAN_OP_EXIT, p, 0);
        if (p % every == 0)
            compare_matrices(&pair);
    }
    close_pair(&pair);
}

/* Rows longer than one tile of the kernel, more rows than a block's threads look at in one go. */
static void test_wide(void)
{
    struct pair pair;
    uint32_t many = test_scale() < 100 ? 100 : 200;
    open_pair(&pair, 5, many, many, false);
    for (uint32_t i = 0; i < many; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, i, i);
    for (uint32_t i = 0; i + 1 < many; i++)
        if (i != many / 2)
            feed_simple(&pair, GORDIAN_OP_REQUEST, i, i + 1);
    feed_simple(&pair, GORDIAN_OP_REQUEST, many / 2, many / 2 + 1);
    compare_matrices(&pair);
    feed_simple(&pair, GORDIAN_OP_CANCEL, many / 3, 0);
    compare_matrices(&pair);
    feed_simple(&pair, GORDIAN_OP_REQUEST, many / 3, many / 3 + 1);
    feed_simple(&pair, GORDIAN_OP_REQUEST, many - 1, 0);
    compare_matrices(&pair);
    feed_simple(&pair, GORDIAN_OP_EXIT, many / 4, 0);
    compare_matrices(&pair);
    compare_deadlocked(&pair);
    close_pair(&pair);
}

/* ------------------------------------------------------------------ what would deadlock */

static void test_what_if(void)
{
    struct pair pair;
    open_pair(&pair, 3, 20, 20, false);
    for (unsigned i = 0; i < 60; i++) {
        random_event(&pair);
        uint64_t one[20] = {0}, other[20] = {0}, one_doomed[1] = {0}, other_doomed[1] = {0};
        CHECK(gordian_what_if_all(pair.gpu, one, 1, one_doomed, NULL) == GORDIAN_OK);
        CHECK(gordian_what_if_all(pair.cpu, other, 1, other_doomed, NULL) == GORDIAN_OK);
        CHECK(memcmp(one, other, sizeof one) == 0 && one_doomed[0] == other_doomed[0]);
    }
    close_pair(&pair);
}

/* ------------------------------------------------------------------ the ring, and room */

/* More commands than the ring has slots, none of them waited for. */
static void test_stream(void)
{
    enum { PAIRS = 3000 };
    struct pair pair;
    open_pair(&pair, 1, 3, 3, false);
    gordian_event *events = calloc(2 * PAIRS, sizeof *events);
    gordian_result *results = calloc(2 * PAIRS, sizeof *results);
    REQUIRE(events && results);
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        events[i] = (gordian_event){.op = i % 2 ? GORDIAN_OP_RELEASE : GORDIAN_OP_REQUEST,
                                    .process = i / 2 % 3,
                                    .resource = i / 6 % 3,
                                    .to = GORDIAN_NONE,
                                    .units = 1};
    size_t done = 0;
    CHECK(gordian_feed_batch(pair.gpu, events, 2 * PAIRS, results, &done, NULL) == GORDIAN_OK);
    CHECK(done == 2 * PAIRS);
    for (uint32_t i = 0; i < 2 * PAIRS; i++)
        CHECK(results[i].outcome == (i % 2 ? GORDIAN_OUTCOME_RELEASED : GORDIAN_OUTCOME_GRANTED));
    compare_matrices(&pair);
    for (unsigned i = 0; i < 50; i++)
        random_event(&pair);
    compare_matrices(&pair);
    free(events);
    free(results);
    close_pair(&pair);
}

/* Too much for the device: said beforehand, and everything stays as it was. */
static void test_too_large(void)
{
    struct pair pair;
    REQUIRE(setenv("GORDIAN_EMULATOR_MEMORY", "100000000", 1) == 0);
    open_pair(&pair, 2, 5, 5, false);
    for (unsigned i = 0; i < 20; i++)
        random_event(&pair);
    gordian_error error = {0};
    CHECK(gordian_reserve(pair.gpu, 8, 1u << 21, &error) == GORDIAN_STATUS_MEMORY);
    CHECK_MSG(strstr(error.message, "MiB of device memory"), "%s", error.message);
    compare_matrices(&pair);
    for (unsigned i = 0; i < 20; i++)
        random_event(&pair);
    compare_matrices(&pair);
    CHECK(cuda_note(pair.gpu->state) == NULL);
    close_pair(&pair);
    REQUIRE(unsetenv("GORDIAN_EMULATOR_MEMORY") == 0);
}

/* A resource of several units comes: the other method takes over in the middle. */
static void test_model_grows(uint64_t seed, uint64_t fail_after)
{
    struct pair pair;
    open_pair(&pair, seed, 6, 6, false);
    for (unsigned i = 0; i < 40; i++)
        random_event(&pair);
    uint32_t one = 0, other = 0;
    if (fail_after)
        cuda_fail_after(pair.gpu->state, fail_after);
    CHECK(gordian_add_resource(pair.gpu, NULL, 2, &one, NULL) == GORDIAN_OK);
    CHECK(gordian_add_resource(pair.cpu, NULL, 2, &other, NULL) == GORDIAN_OK);
    unsigned long before = test_failed;
    for (unsigned i = 0; i < 60 && test_failed == before; i++) {
        random_event(&pair);
        compare_deadlocked(&pair);
        if (!cuda_note(pair.gpu->state)) {
            compare_matrix(&pair, GORDIAN_MATRIX_AR, 6);
            compare_matrix(&pair, GORDIAN_MATRIX_RP, 7);
        }
    }
    CHECK_MSG(test_failed == before, "seed %llu", (unsigned long long)seed);
    close_pair(&pair);
}

/* ------------------------------------------------------------------ failure */

/* The kernel ends after so many commands: everything is judged as if nothing had happened. */
static void test_failure(uint64_t seed, uint64_t after, bool growing)
{
    struct pair pair;
    open_pair(&pair, seed, 6, 6, growing);
    cuda_fail_after(pair.gpu->state, after);
    unsigned long before = test_failed;
    for (unsigned i = 0; i < 150 && test_failed == before; i++) {
        random_event(&pair);
        compare_deadlocked(&pair);
    }
    CHECK_MSG(test_failed == before, "seed %llu, failing after %llu", (unsigned long long)seed,
              (unsigned long long)after);
    CHECK(gordian_engine_note(pair.gpu) != NULL);
    CHECK(strcmp(gordian_engine_name(pair.gpu), engine) == 0);
    uint64_t value;
    CHECK(gordian_matrix_get(pair.gpu, GORDIAN_MATRIX_AG, 0, 0, &value, NULL) ==
          GORDIAN_STATUS_UNAVAILABLE);
    close_pair(&pair);
}

/* The n-th allocation fails, for every n until none does: a status, and nothing left behind. */
struct scarce {
    long left, live;
};

static void *scarce_resize(void *context, void *pointer, size_t size)
{
    struct scarce *scarce = context;
    if (size && __atomic_sub_fetch(&scarce->left, 1, __ATOMIC_RELAXED) < 0)
        return NULL;
    if (size && !pointer)
        __atomic_add_fetch(&scarce->live, 1, __ATOMIC_RELAXED);
    if (!size && pointer)
        __atomic_sub_fetch(&scarce->live, 1, __ATOMIC_RELAXED);
    if (size)
        return realloc(pointer, size);
    free(pointer);
    return NULL;
}

static gordian_status grow_and_run(gordian_system *system)
{
    for (uint32_t i = 0; i < 20; i++) {
        uint32_t id;
        gordian_outcome outcome;
        gordian_status status = gordian_add_process(system, NULL, &id, NULL);
        if (status == GORDIAN_OK)
            status = gordian_add_resource(system, NULL, 1, &id, NULL);
        if (status == GORDIAN_OK)
            status = gordian_request(system, i, i, 1, &outcome, NULL);
        if (status == GORDIAN_OK && i)
            status = gordian_request(system, i, i - 1, 1, &outcome, NULL);
        if (status != GORDIAN_OK)
            return status;
        CHECK(outcome == (i ? GORDIAN_OUTCOME_BLOCKED : GORDIAN_OUTCOME_GRANTED));
    }
    return GORDIAN_OK;
}

static void test_scarce_memory(void)
{
    gordian_status status = GORDIAN_STATUS_MEMORY;
    for (long n = 0; status && n < 2000; n += test_stride()) {
        struct scarce scarce = {.left = n};
        gordian_allocator allocator = {scarce_resize, &scarce};
        gordian_options options;
        gordian_options_init(&options);
        options.engine = engine;
        options.allocator = &allocator;
        gordian_system *system = NULL;
        status = gordian_open(&system, &options, NULL);
        if (status == GORDIAN_OK)
            status = grow_and_run(system);
        /* A device that fails for it while it starts is reported as such; later it is given up,
         * with the same answers. */
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY ||
                      status == GORDIAN_STATUS_IO,
                  "%s at allocation %ld", gordian_status_text(status), n);
        if (status == GORDIAN_OK && cuda_note(system->state))
            status = GORDIAN_STATUS_MEMORY;
        gordian_close(system);
        CHECK_MSG(scarce.live == 0, "%ld blocks left behind after allocation %ld failed",
                  scarce.live, n);
    }
    CHECK(status == GORDIAN_OK);
}

/* ------------------------------------------------------------------ blocks */

static uint64_t memory_used(const struct pair *pair)
{
    uint64_t bytes = 0, used = 0;
    CHECK(cuda_memory(pair->gpu->state, &bytes, &used, NULL) == GORDIAN_OK);
    CHECK(used <= bytes);
    return used;
}

/* Whatever was taken for a chain is given back with its last wait, in each of the ways in which it
 * can end, again and again; who holds takes nothing. */
static void test_given_back(uint32_t length)
{
    struct pair pair;
    open_pair(&pair, length, length, length, false);
    for (uint32_t i = 0; i < length; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, i, i);
    uint64_t empty = memory_used(&pair), full = 0;
    for (unsigned way = 0; way < 6; way++) {
        for (uint32_t i = 0; i + 1 < length; i++)
            feed_simple(&pair, GORDIAN_OP_REQUEST, way % 2 ? length - 2 - i : i,
                        way % 2 ? length - 1 - i : i + 1);
        if (way % 3 == 2) /* a cycle, made anew when it opens */
            feed_simple(&pair, GORDIAN_OP_REQUEST, length - 1, 0);
        compare_matrix(&pair, GORDIAN_MATRIX_RR, 1);
        uint64_t now = memory_used(&pair);
        CHECK(now > empty && (way % 3 == 2 || !full || now == full));
        full = way % 3 == 2 ? full : now;
        for (uint32_t i = 0; i < length; i += 3) /* in the middle first, or from one end */
            feed_simple(&pair, GORDIAN_OP_CANCEL, way < 3 ? i : i / 3, 0);
        compare_matrix(&pair, GORDIAN_MATRIX_RP, length);
        for (uint32_t i = 0; i < length; i++)
            feed_simple(&pair, GORDIAN_OP_CANCEL, i, 0);
        CHECK_MSG(memory_used(&pair) == empty, "way %u: %llu bytes, not %llu", way,
                  (unsigned long long)memory_used(&pair), (unsigned long long)empty);
    }
    for (uint32_t i = 0; i < length; i++)
        feed_simple(&pair, GORDIAN_OP_EXIT, i, 0);
    CHECK(memory_used(&pair) == empty);
    CHECK(cuda_note(pair.gpu->state) == NULL);
    close_pair(&pair);
}

/* Few wait among very many. */
enum { MANY = 3000, LINKS = 30 };

/* Row id[row] of RR and RP has id[row] to id[last], in a cycle beyond the end, and nothing else. */
static void check_scattered(struct pair *pair, const uint32_t *id, uint32_t row, uint32_t last)
{
    static const gordian_matrix both[] = {GORDIAN_MATRIX_RR, GORDIAN_MATRIX_RP};
    for (size_t m = 0; m < 2; m++) {
        const uint64_t *words = NULL;
        size_t count = 0;
        REQUIRE(gordian_matrix_row(pair->gpu, both[m], id[row], &words, &count, NULL) ==
                GORDIAN_OK);
        uint32_t bits = 0, right = 0;
        for (size_t i = 0; i < count; i++)
            bits += (uint32_t)__builtin_popcountll(words[i]);
        for (uint32_t i = row; i <= last; i++)
            right += bits_test(words, id[i % LINKS]);
        CHECK_MSG(bits == last - row + 1 && right == bits, "matrix %d, link %u: %u bits, %u right",
                  (int)both[m], row, bits, right);
    }
}

static void test_large(void)
{
    struct pair pair = {.gpu = open_system(engine), .cpu = open_system("sparse")};
    uint32_t id[LINKS];
    random_seed(&pair.random, 7);
    CHECK(gordian_reserve(pair.gpu, MANY, MANY, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < MANY; i++) {
        add_process(&pair);
        add_resource(&pair);
    }
    for (uint32_t i = 0; i < LINKS; i++) /* neighbours, and far apart */
        id[i] = (i * 7 % LINKS) * (MANY / LINKS) + below(&pair, i % 3 ? 2 : MANY / LINKS);
    for (uint32_t i = 0; i < LINKS; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, id[i], id[i]);
    for (uint32_t i = 0; i < LINKS; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, id[i], id[(i + 1) % LINKS]);
    compare_deadlocked(&pair);
    for (uint32_t i = 0; i < LINKS; i += 5)
        check_scattered(&pair, id, i, i + LINKS - 1);
    feed_simple(&pair, GORDIAN_OP_CANCEL, id[LINKS - 1], 0); /* made anew */
    for (uint32_t i = 0; i < LINKS; i += 5)
        check_scattered(&pair, id, i, LINKS - 1);
    feed_simple(&pair, GORDIAN_OP_CANCEL, id[LINKS / 2], 0); /* taken out */
    for (uint32_t i = 0; i < LINKS; i += 5)
        check_scattered(&pair, id, i, i <= LINKS / 2 ? LINKS / 2 : LINKS - 1);
    feed_simple(&pair, GORDIAN_OP_REQUEST, id[LINKS / 2], id[LINKS / 2 + 1]);
    feed_simple(&pair, GORDIAN_OP_RELEASE, id[LINKS - 1], id[LINKS - 1]); /* handed over */
    for (uint32_t i = 0; i + 1 < LINKS; i += 5)
        check_scattered(&pair, id, i, LINKS - 2);
    for (uint32_t i = 0; i < LINKS; i++)
        feed_simple(&pair, GORDIAN_OP_EXIT, id[i], 0);
    compare_deadlocked(&pair);
    CHECK(cuda_note(pair.gpu->state) == NULL);
    close_pair(&pair);
}

/* Memory ends in the middle: the answers stay the same, and the reason says how much was asked for.
 */
static void test_memory_ends(void)
{
    REQUIRE(setenv("GORDIAN_EMULATOR_MEMORY", "400000", 1) == 0);
    struct pair pair = {.gpu = open_system(engine), .cpu = open_system("matrix")};
    uint32_t length = 400;
    CHECK(gordian_reserve(pair.gpu, length, length, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < length; i++) {
        add_process(&pair);
        add_resource(&pair);
    }
    for (uint32_t i = 0; i < length; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, i, i);
    for (uint32_t i = 0; i + 1 < length; i++)
        feed_simple(&pair, GORDIAN_OP_REQUEST, i, i + 1);
    CHECK(feed_simple(&pair, GORDIAN_OP_REQUEST, length - 1, 0) == GORDIAN_OUTCOME_DEADLOCK);
    compare_deadlocked(&pair);
    const char *note = gordian_engine_note(pair.gpu);
    CHECK(note != NULL);
    CHECK_MSG(note && strstr(note, "KiB more are needed"), "%s", note);
    close_pair(&pair);
    REQUIRE(unsetenv("GORDIAN_EMULATOR_MEMORY") == 0);
}

static void test_blocks(void)
{
    test_given_back(10);
    if (test_is_short())
        return;
    test_given_back(test_scale() < 100 ? 40 : 66);
    test_large();
    test_memory_ends();
}

/* ------------------------------------------------------------------ the program */

static void test_emulated(void)
{
    if (strcmp(engine, "cuda-blocks") == 0)
        test_blocks();
    static const uint32_t sizes[][2] = {{1, 1}, {1, 4}, {4, 1},  {2, 2},  {3, 5},
                                        {5, 3}, {8, 8}, {17, 9}, {40, 40}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        test_random(i, sizes[i][0], sizes[i][1], test_scaled(120), false);
    for (uint64_t seed = 10; seed < 10 + test_scaled(4); seed++)
        test_random(seed, 40, 40, test_scaled(120), true);
    for (uint32_t length = 1; length <= (test_is_short() ? 17 : 33);
         length += length < 4 ? 1 : 13) {
        test_chain(length, false);
        test_chain(length, true);
    }
    test_wide();
    test_what_if();
    test_stream();
    test_too_large();
    test_scarce_memory();
    for (uint64_t seed = 0; seed < 6; seed++)
        test_model_grows(seed, seed % 3);
    for (uint64_t after = 0; after < 40; after += 3 * test_stride()) {
        test_failure(after, after, false);
        test_failure(100 + after, after, true);
    }
}

/* Random events on a real device; the matrices are compared now and then, they take longer. */
static void test_device(const struct osdda_run *run)
{
    struct pair pair;
    open_pair(&pair, run->seed, run->processes, run->resources, false);
    unsigned long before = test_failed;
    uint64_t every = run->events / 200 + 1;
    for (uint64_t i = 0; i < run->events && test_failed == before; i++) {
        random_event(&pair);
        if (i % every == 0) {
            compare_deadlocked(&pair);
            compare_matrices(&pair);
        }
    }
    compare_matrices(&pair);
    CHECK_MSG(cuda_note(pair.gpu->state) == NULL, "%s", cuda_note(pair.gpu->state));
    printf("%llu random events at %u x %u agree with engine matrix\n",
           (unsigned long long)run->events, run->processes, run->resources);
    close_pair(&pair);
}

int main(int argc, char **argv)
{
    struct osdda_run run;
    if (!osdda_arguments(argc, argv, &run)) {
        fprintf(stderr,
                "usage: %s [--engine cuda | cuda-blocks] [--device N [--events N] [--size PxQ] "
                "[--seed S] [--chain LONGEST]]\n",
                argv[0]);
        return 2;
    }
    engine = run.engine;
    if (run.device) {
        test_device(&run);
        if (strcmp(engine, "cuda-blocks") == 0)
            test_given_back(run.longest < 1000 ? run.longest : 1000);
        test_failed += osdda_device_chains(&run);
    } else {
        REQUIRE(setenv("GORDIAN_EMULATE_GPU", "1", 1) == 0);
        test_emulated();
    }
    return test_done();
}

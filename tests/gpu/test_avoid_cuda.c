/* The cuda engine of avoidance against the oracle, `dense`, and the state on the device against the
 * ledger.
 *
 *     test_avoid_cuda [--device N] [--steps COUNT] [--watched]
 *
 * --watched: small, for a slow memory checker. */
#include "alloc/failing.h"
#include "avoid_world.h"
#include "device.h"
#include "engines/avoid/cuda/banker_internal.h"
#include "engines/avoid/cuda/cuda.h"
#include "foundation/base/clock.h"

#include <string.h>

static int device;
static bool watched;
static uint64_t steps_asked;

/* A share of the long tests. */
static uint64_t scaled(uint64_t count)
{
    return test_scaled(watched ? count / 20 : count);
}

/* ------------------------------------------------------------------ the device's state */

static uint64_t unit_at(const void *units, bool wide, uint64_t i)
{
    return wide ? ((const uint64_t *)units)[i] : ((const uint32_t *)units)[i];
}

static void *download(struct banker *b, gpu_address from, size_t bytes)
{
    void *to = malloc(bytes);
    REQUIRE(to);
    DO(gpu_read(b->gpu, to, from, bytes, &error));
    return to;
}

/* Matrices and free units are the ledger's. */
static void check_matrices(struct banker *b, const struct ledger *ledger)
{
    const struct banker_parts *parts = &b->parts;
    size_t bytes = parts->process_room * parts->stride * banker_unit(parts->wide);
    void *need = download(b, parts->need, bytes), *held = download(b, parts->held, bytes);
    void *there = download(b, parts->free, parts->stride * banker_unit(parts->wide));
    unsigned long wrong = 0;
    for (uint32_t i = 0; i < parts->process_room; i++)
        for (uint32_t j = 0; j < parts->resource_room; j++) {
            const struct ledger_claim *claim =
                ledger_is_process(ledger, i) ? ledger_find(ledger, i, j) : NULL;
            uint64_t at = i * parts->stride + j;
            wrong += unit_at(need, parts->wide, at) != (claim ? claim->need : 0);
            wrong += unit_at(held, parts->wide, at) != (claim ? claim->held : 0);
        }
    for (uint32_t j = 0; j < ledger->resource_limit; j++)
        wrong += unit_at(there, parts->wide, j) != ledger->free[j];
    CHECK_MSG(wrong == 0, "%lu cells differ from the ledger", wrong);
    free(need);
    free(held);
    free(there);
}

/* Every order has everybody once, least need first, then by id. */
static void check_orders(struct banker *b, const struct ledger *ledger)
{
    const struct banker_parts *parts = &b->parts;
    uint64_t rows = parts->process_room, entries = rows * parts->resource_room;
    void *order = download(b, parts->order, entries * 2 * banker_unit(parts->wide));
    unsigned long wrong = 0;
    for (uint32_t j = 0; j < parts->resource_room; j++) {
        uint64_t last_need = 0, last = 0;
        for (uint64_t k = 0; k < rows; k++) {
            uint64_t at = 2 * (j * rows + k);
            /* 32 bits: one word with the need above */
            uint64_t need = unit_at(order, parts->wide, parts->wide ? at : at + 1);
            uint64_t process = unit_at(order, parts->wide, parts->wide ? at + 1 : at);
            const struct ledger_claim *claim =
                process < ledger->process_limit && ledger_is_process(ledger, (uint32_t)process)
                    ? ledger_find(ledger, (uint32_t)process, j)
                    : NULL;
            wrong += process >= rows || need != (claim ? claim->need : 0);
            wrong += k > 0 && (need < last_need || (need == last_need && process <= last));
            last_need = need;
            last = process;
        }
    }
    CHECK_MSG(wrong == 0, "%lu entries are out of order", wrong);
    free(order);
}

/* Brings it up to date first. */
static void check_state(struct world *world, struct banker *b)
{
    bool safe = false;
    DO(banker_safe(b, NULL, &safe, &error));
    CHECK(safe);
    if (b->ledger->process_limit == 0 || b->ledger->resource_limit == 0 || b->stale)
        return;
    check_matrices(b, &world->ledger);
    check_orders(b, &world->ledger);
}

/* ------------------------------------------------------------------ ways to judge */

/* Rounds only, searches only, either in turn; few blocks, few threads; both widths. */
static struct banker_tuning some_tuning(struct world *world, struct banker_tuning usual)
{
    static const uint32_t below[] = {0, 2, 8, UINT32_MAX / 2}, most[] = {0, 1, 128};
    static const unsigned threads[] = {0, 32, 64}, blocks[] = {0, 1, 2, 4};
    struct random *random = &world->random;
    usual.search_below = below[random_below(random, 4)];
    usual.search_most = most[random_below(random, 3)];
    usual.pass_cells = 1 + (uint32_t)random_below(random, 4096);
    usual.threads = threads[random_below(random, 3)];
    usual.blocks = blocks[random_below(random, 4)];
    usual.large_counts = random_chance(random, 30);
    usual.no_windows = random_chance(random, 20);
    usual.small_window = random_chance(random, 50);
    return usual;
}

static void check_sequence(struct world *world, struct banker *b)
{
    static uint32_t again[4096];
    const uint32_t count = world->ledger.process_count;
    DO(banker_sequence(b, world->sequence, &error));
    CHECK(world_order_is_good(world, world->sequence));
    struct banker_tuning usual = banker_tuning(b);
    banker_tune(b, some_tuning(world, usual));
    DO(banker_sequence(b, again, &error));
    CHECK(memcmp(again, world->sequence, count * sizeof *again) == 0); /* however it was found */
    banker_tune(b, usual);
}

/* Many loans at once, against the oracle one by one. */
static void check_each(struct world *world)
{
    enum { MOST = 40 };
    struct ledger_change changes[MOST];
    bool safe[MOST];
    gordian_error error = {0};
    size_t count = 0, wanted = random_below(&world->random, MOST), at = 0;
    for (size_t i = 0; i < wanted; i++)
        if (world_loan(world, &changes[count], at)) {
            at += changes[count].count;
            count++;
        }
    CHECK(avoid_cuda.safe_each(world->states[1], changes, count, safe, &error) == GORDIAN_OK);
    for (size_t i = 0; i < count; i++) {
        bool expected = avoid_dense.safe(world->states[0], &changes[i]);
        CHECK_MSG(safe[i] == expected, "request %zu of %zu: %d, the oracle says %d", i, count,
                  safe[i], expected);
    }
}

/* The engine answers some loans without its device: here the device answers all. */
static void ask_device(struct world *world, const struct ledger_change *change, bool expected)
{
    struct banker *b = cuda_engine_banker(world->states[1]);
    bool safe = !expected;
    if (!b)
        return;
    DO(banker_safe(b, change, &safe, &error));
    CHECK_MSG(safe == expected, "kind %d: the device says %d", change->kind, safe);
}

static void end(struct world *world)
{
    CHECK_MSG(world->wrong == 0, "%lu wrong answers", world->wrong);
    world_close(world);
}

/* ------------------------------------------------------------------ random events */

static unsigned long safe_answers, unsafe_answers;

static unsigned long random_world(struct world_shape shape, uint64_t seed, uint64_t steps)
{
    struct world world;
    REQUIRE(world_open(&world, &avoid_cuda, shape, seed, NULL));
    world.watch = ask_device;
    struct banker *b = cuda_engine_banker(world.states[1]);
    struct banker_tuning usual = banker_tuning(b);
    usual.wide = seed % 3 == 0;
    banker_tune(b, usual);
    for (uint64_t i = 0; i < steps; i++) {
        CHECK(world_step(&world));
        if (random_chance(&world.random, 10))
            banker_tune(b, some_tuning(&world, usual));
        if (random_chance(&world.random, 3))
            check_each(&world);
        if (random_chance(&world.random, 3))
            check_sequence(&world, b);
        if (random_chance(&world.random, 2))
            check_state(&world, b);
    }
    check_state(&world, b);
    CHECK(avoid_cuda.note(world.states[1]) == NULL);
    unsigned long asked = world.safe + world.unsafe;
    safe_answers += world.safe;
    unsafe_answers += world.unsafe;
    end(&world);
    return asked;
}

static void test_random(void)
{
    static const struct {
        struct world_shape shape;
        uint64_t steps;
    } worlds[] = {
        {{4, 3, 3, 80, 40}, 12000},
        {{12, 5, 6, 60, 60}, 12000},
        {{1, 1, 2, 90, 30}, 500},
        {{40, 3, 9, 70, 70}, 6000},
        {{9, 70, 4, 30, 50}, 5000},
        {{30, 40, 5, 10, 60}, 5000},
        {{12, 6, UINT64_C(1) << 34, 60, 60}, 5000},
        {{8, 4, UINT64_MAX / 2, 70, 50}, 4000},
    };
    unsigned long asked = 0;
    uint64_t seed = 1;
    for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
        asked += random_world(worlds[i].shape, seed++, scaled(worlds[i].steps));
    if (device >= 0 || steps_asked) {
        struct world_shape large = {400, 200, 9, 40, 70};
        while (asked < steps_asked) {
            for (size_t i = 0; i < sizeof worlds / sizeof *worlds; i++)
                asked += random_world(worlds[i].shape, seed++, 20000);
            asked += random_world(large, seed++, device < 0 ? 300 : 20000);
        }
    }
    printf("%lu questions: %lu safe, %lu unsafe\n", asked, safe_answers, unsafe_answers);
    CHECK(asked < 1000 || (safe_answers > asked / 20 && unsafe_answers > asked / 20));
}

/* ------------------------------------------------------------------ the worst case */

/* In which each round frees one process once one unit of each resource is taken; the next is always
 * the last one looked at. Only the last resource is short, or (`all`) every one is. */
static void build_chain(struct world *world, uint32_t processes, uint32_t resources, bool all)
{
    gordian_want *wants = calloc(resources, sizeof *wants);
    REQUIRE(wants);
    for (uint32_t j = 0; j < resources; j++)
        REQUIRE(world_add_resource(world, (uint64_t)processes + 3));
    for (uint32_t i = 0; i < processes; i++) {
        uint32_t turn = processes - 1 - i;
        for (uint32_t j = 0; j < resources; j++)
            wants[j] = (gordian_want){
                .resource = j, .units = 1 + (all || j == resources - 1 ? (uint64_t)turn + 2 : 1)};
        REQUIRE(world_add_process(world, wants, resources));
    }
    for (uint32_t i = 0; i < processes; i++) {
        for (uint32_t j = 0; j < resources; j++)
            wants[j] = (gordian_want){.resource = j, .units = 1};
        struct ledger_change lend = {
            .kind = CHANGE_LEND, .process = i, .wants = wants, .count = resources};
        ledger_lend(&world->ledger, i, wants, resources);
        for (size_t e = 0; e < 2; e++)
            world->engines[e]->took(world->states[e], &lend);
    }
    free(wants);
}

static void chain(uint32_t processes, uint32_t resources, bool all)
{
    struct world world;
    struct world_shape shape = {processes, resources, (uint64_t)processes + 3, 100, 100};
    gordian_want *wants = calloc(resources, sizeof *wants);
    REQUIRE(world_open(&world, &avoid_cuda, shape, 1, NULL));
    build_chain(&world, processes, resources, all);
    struct banker *b = cuda_engine_banker(world.states[1]);
    /* The one that finishes last asks for one of each, which is safe, or for two of the last. */
    for (uint64_t units = 1; units <= 2; units++) {
        for (uint32_t j = 0; j < resources; j++)
            wants[j] = (gordian_want){.resource = j, .units = j == resources - 1 ? units : 1};
        struct ledger_change change = {
            .kind = CHANGE_LEND, .process = 0, .wants = wants, .count = resources};
        bool safe = false;
        uint64_t start = clock_ns();
        DO(banker_safe(b, &change, &safe, &error));
        uint64_t took = clock_ns() - start;
        CHECK_MSG(safe == (units == 1 || processes < 3), "chain %u x %u, %llu units", processes,
                  resources, (unsigned long long)units);
        CHECK(processes < 9 || banker_effort(b).searches == (units == 1));
        if (device >= 0)
            printf("chain %u x %u, %s short, %llu units: %.3f ms\n", processes, resources,
                   all ? "all" : "one", (unsigned long long)units, (double)took / 1e6);
    }
    DO(banker_sequence(b, world.sequence, &error));
    CHECK(world_order_is_good(&world, world.sequence));
    free(wants);
    end(&world);
}

static void test_chains(void)
{
    static const uint32_t sizes[][2] = {{1, 1}, {2, 1}, {9, 3}, {70, 33}, {33, 70}, {200, 150}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int all = 0; all < 2; all++)
            chain(sizes[i][0], sizes[i][1], all);
    if (device < 0 || watched)
        return;
    chain(1024, 256, true);
    chain(1024, 3000, true);
    chain(8192, 1024, false);
    chain(8192, 1024, true);
}

/* ------------------------------------------------------------------ failures */

/* The device fails at each launch in turn: the answers stay the same. (A real one does so once: it
 * is gone for the rest of the process. A memory checker would count that as a finding.) */
static void test_device_fails(void)
{
    struct world_shape shape = {10, 5, 5, 60, 50};
    uint64_t first = device >= 0 ? 3 : 0, most = device >= 0 ? 4 : scaled(60);
    for (uint64_t launches = first; launches < most && !(watched && device >= 0); launches++) {
        struct world world;
        REQUIRE(world_open(&world, &avoid_cuda, shape, 7, NULL));
        for (unsigned i = 0; i < 40; i++)
            CHECK(world_step(&world));
        banker_fail_after(cuda_engine_banker(world.states[1]), launches);
        for (unsigned i = 0; i < 400; i++) {
            CHECK(world_step(&world));
            if (i % 40 == 0)
                check_each(&world);
            if (i % 30 == 0) {
                avoid_cuda.sequence(world.states[1], world.sequence);
                CHECK(world_order_is_good(&world, world.sequence));
            }
        }
        const char *why = avoid_cuda.note(world.states[1]);
        CHECK(why && strstr(why, "the device failed, the CPU is used instead"));
        CHECK(cuda_engine_banker(world.states[1]) == NULL);
        end(&world);
    }
}

/* Too little device memory is said beforehand, with the size needed; nothing has changed. */
static void test_device_memory(void)
{
    if (device >= 0)
        return;
    struct world world;
    struct world_shape shape = {8, 4, 4, 60, 50};
    gordian_error error = {0};
    REQUIRE(world_open(&world, &avoid_cuda, shape, 3, NULL));
    struct banker *b = cuda_engine_banker(world.states[1]);
    gpu_emulator_memory(b->gpu, 64 << 20);
    for (unsigned i = 0; i < 200; i++)
        CHECK(world_step(&world));
    CHECK(banker_bytes(8192, 1024, false) >> 20 == 144); /* 16 bytes a cell, and the sorting */
    gordian_status status = avoid_cuda.prepare(world.states[1], 8192, 1024, 0, &error);
    CHECK(status == GORDIAN_STATUS_MEMORY);
    CHECK_MSG(strstr(error.message, "8192 processes and 1024 resources take 144 MiB"), "%s",
              error.message);
    for (unsigned i = 0; i < 200; i++)
        CHECK(world_step(&world));
    /* A total that needs wide units when there is no memory for them: the CPU is used. */
    gpu_emulator_memory(b->gpu, 1);
    CHECK(avoid_cuda.note(world.states[1]) == NULL);
    uint32_t resource = 0;
    while (!ledger_is_resource(&world.ledger, resource))
        resource++;
    ledger_set_total(&world.ledger, resource, UINT64_C(1) << 40);
    for (size_t e = 0; e < 2; e++)
        world.engines[e]->resized(world.states[e], resource);
    for (unsigned i = 0; i < 400; i++)
        CHECK(world_step(&world));
    const char *why = avoid_cuda.note(world.states[1]);
    CHECK(why && strstr(why, "too little memory"));
    end(&world);
}

/* Every allocation on the host fails in turn (some of them, where opening the device takes long):
 * nothing leaks, nothing is half done. */
static void test_host_memory(void)
{
    struct world_shape shape = {12, 6, 5, 60, 40};
    for (size_t at = 1;; at += device >= 0 ? 17 : test_stride()) {
        struct failing failing = {.fail_at = at};
        gordian_allocator memory = {failing_resize, &failing};
        struct world world;
        bool opened = world_open(&world, &avoid_cuda, shape, 11, &memory);
        if (opened) {
            for (unsigned i = 0; i < 120; i++)
                world_step(&world);
            end(&world);
        }
        CHECK_MSG(failing.live_blocks == 0, "allocation %zu: %zu blocks left", at,
                  failing.live_blocks);
        if (failing.failures == 0 || (watched && at > 40))
            break;
    }
}

/* More requests than fit one launch. */
static void test_many_requests(void)
{
    enum { COUNT = 9000 };
    struct world world;
    struct world_shape shape = {6, 3, 4, 90, 70};
    struct ledger_change *changes = calloc(COUNT, sizeof *changes);
    bool *safe = calloc(COUNT, sizeof *safe);
    gordian_error error = {0};
    REQUIRE(changes && safe);
    REQUIRE(world_open(&world, &avoid_cuda, shape, 5, NULL));
    for (unsigned i = 0; i < 100 || world.ledger.process_count < 4; i++)
        CHECK(world_step(&world));
    size_t distinct = 0, at = 0, count = watched ? 100 : COUNT;
    for (unsigned i = 0; i < 50; i++)
        if (world_loan(&world, &changes[distinct], at))
            at += changes[distinct++].count;
    REQUIRE(distinct > 0);
    for (size_t i = distinct; i < count; i++)
        changes[i] = changes[i % distinct];
    CHECK(avoid_cuda.safe_each(world.states[1], changes, count, safe, &error) == GORDIAN_OK);
    unsigned long wrong = 0;
    for (size_t i = 0; i < count; i++)
        wrong += safe[i] != avoid_dense.safe(world.states[0], &changes[i]);
    CHECK_MSG(wrong == 0, "%lu of %zu differ", wrong, count);
    end(&world);
    free(changes);
    free(safe);
}

/* ------------------------------------------------------------------ through the public calls */

struct pair {
    gordian_bank *banks[2]; /* holt, cuda */
    gordian_answer answers[2];
    struct random random;
    uint32_t processes, resources;
};

static void compare_answers(const struct pair *pair, const char *what)
{
    const gordian_answer *a = &pair->answers[0], *b = &pair->answers[1];
    CHECK_MSG(a->verdict == b->verdict && a->reason == b->reason, "%s: %s, %s", what,
              gordian_verdict_text(a->verdict), gordian_verdict_text(b->verdict));
    CHECK(a->served_count == b->served_count && a->sequence_count == b->sequence_count);
    for (size_t i = 0; i < a->served_count && i < b->served_count; i++)
        CHECK(a->served[i] == b->served[i]);
    /* Who is left over does not depend on the order in which the others finish. */
    CHECK(a->stuck_count == b->stuck_count && a->lack_count == b->lack_count);
    for (size_t i = 0; i < a->stuck_count && i < b->stuck_count; i++)
        CHECK(a->stuck[i] == b->stuck[i]);
    for (size_t i = 0; i < a->lack_count && i < b->lack_count; i++)
        CHECK(a->lacks[i].units == b->lacks[i].units &&
              a->lacks[i].process == b->lacks[i].process &&
              a->lacks[i].resource == b->lacks[i].resource);
}

/* Can everybody finish in this order, by what the bank itself tells of claims and holdings? */
static void check_bank_sequence(gordian_bank *bank, const uint32_t *order, size_t count)
{
    uint64_t work[16];
    uint32_t resources = gordian_bank_resource_limit(bank);
    for (uint32_t j = 0; j < resources; j++)
        work[j] = gordian_bank_free_units(bank, j);
    for (size_t i = 0; i < count; i++)
        for (uint32_t j = 0; j < resources; j++) {
            uint64_t held = gordian_bank_held(bank, order[i], j);
            CHECK(gordian_bank_claim(bank, order[i], j) - held <= work[j]);
            work[j] += held;
        }
}

static size_t random_wants(struct pair *pair, gordian_want *wants, uint64_t most)
{
    size_t count = 0;
    for (uint32_t j = 0; j < pair->resources; j++)
        if (random_chance(&pair->random, 50))
            wants[count++] =
                (gordian_want){.resource = j, .units = 1 + random_below(&pair->random, most)};
    return count;
}

static void api_step(struct pair *pair)
{
    gordian_want wants[16];
    uint32_t process = (uint32_t)random_below(&pair->random, pair->processes);
    uint64_t kind = random_below(&pair->random, 20), total = 4 + random_below(&pair->random, 6);
    size_t count = random_wants(pair, wants, kind == 1 || kind == 2 ? 5 : 2);
    uint32_t resource = (uint32_t)random_below(&pair->random, pair->resources);
    gordian_error error = {0};
    for (size_t b = 0; b < 2; b++) {
        gordian_bank *bank = pair->banks[b];
        gordian_answer *answer = &pair->answers[b];
        gordian_status status =
            kind == 0   ? gordian_bank_exit(bank, process, answer, &error)
            : kind == 1 ? gordian_bank_add_process(bank, NULL, wants, count, NULL, answer, &error)
            : kind == 2 ? gordian_bank_set_claims(bank, process, wants, count, answer, &error)
            : kind == 3 ? gordian_bank_set_units(bank, resource, total, answer, &error)
            : kind < 8  ? gordian_bank_release(bank, process, wants, count, answer, &error)
                        : gordian_bank_request(bank, process, wants, count, answer, &error);
        CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
        check_bank_sequence(bank, answer->sequence, answer->sequence_count);
    }
    compare_answers(pair, "a call");
    pair->processes = gordian_bank_process_limit(pair->banks[0]);
    REQUIRE(pair->processes > 0);
}

static void api_what_if(struct pair *pair)
{
    enum { COUNT = 24 };
    gordian_want wants[COUNT][16];
    gordian_bank_request_item items[COUNT];
    gordian_verdict verdicts[2][COUNT];
    uint64_t slack[2] = {0, 1};
    for (size_t i = 0; i < COUNT; i++)
        items[i] = (gordian_bank_request_item){
            .process = (uint32_t)random_below(&pair->random, pair->processes),
            .wants = wants[i],
            .count = random_wants(pair, wants[i], 2)};
    for (size_t b = 0; b < 2; b++) {
        DO(gordian_bank_what_if(pair->banks[b], items, COUNT, verdicts[b], &error));
        DO(gordian_bank_slack(pair->banks[b], 0, &slack[b], &error));
    }
    for (size_t i = 0; i < COUNT; i++)
        CHECK_MSG(verdicts[0][i] == verdicts[1][i], "request %zu: %s, %s", i,
                  gordian_verdict_text(verdicts[0][i]), gordian_verdict_text(verdicts[1][i]));
    CHECK(slack[0] == slack[1]);
}

static void test_banks(void)
{
    static const char *const names[] = {"holt", "cuda"};
    struct pair pair = {.resources = 5};
    char note[200];
    random_seed(&pair.random, 17);
    for (size_t b = 0; b < 2; b++) {
        gordian_bank_options options;
        gordian_bank_options_init(&options);
        options.engine = names[b];
        options.queue = true;
        DO(gordian_bank_open(&pair.banks[b], &options, &error));
        REQUIRE(pair.banks[b]);
        gordian_answer_init(&pair.answers[b], GORDIAN_DETAIL_REASONS);
        for (uint32_t j = 0; j < pair.resources; j++)
            DO(gordian_bank_add_resource(pair.banks[b], NULL, 8, NULL, &error));
        gordian_want claim = {.resource = 0, .units = 3};
        DO(gordian_bank_add_process(pair.banks[b], NULL, &claim, 1, NULL, NULL, &error));
    }
    pair.processes = 1;
    for (uint64_t i = 0; i < scaled(3000); i++) {
        api_step(&pair);
        if (i % 25 == 0)
            api_what_if(&pair);
    }
    CHECK(gordian_bank_engine_note(pair.banks[1], note, sizeof note)[0] == '\0');
    for (size_t b = 0; b < 2; b++) {
        gordian_answer_free(&pair.answers[b]);
        gordian_bank_close(pair.banks[b]);
    }
}

int main(int argc, char **argv)
{
    device = device_wanted(argc, argv);
    for (int i = 1; i < argc; i++) {
        watched |= strcmp(argv[i], "--watched") == 0;
        if (strcmp(argv[i], "--steps") == 0 && i + 1 < argc)
            steps_asked = strtoull(argv[i + 1], NULL, 10);
    }
    char number[16];
    snprintf(number, sizeof number, "%d", device);
    if (device < 0)
        setenv("GORDIAN_EMULATE_GPU", "1", 1);
    else if (device > 0) /* the engine takes the first one it sees */
        setenv("CUDA_VISIBLE_DEVICES", number, 1);
    test_random();
    test_chains();
    test_device_memory();
    test_host_memory();
    test_many_requests();
    test_banks();
    test_device_fails(); /* nothing after this: a real device is gone then */
    return test_done();
}

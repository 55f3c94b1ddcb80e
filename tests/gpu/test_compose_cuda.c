/* Constraint automata on the device against the plainest engine, number by number. */
#include "../alloc/failing.h"
#include "compose/agree.h"
#include "device.h"
#include "engines/compose/cuda/cuda.h"
#include "engines/compose/graph/graph_sink.h"

#include <string.h>

static struct gpu *gpu;

static gordian_status on_device(const gordian_circuit *circuit,
                                const gordian_compose_options *options,
                                const gordian_compose_sink *sink, gordian_compose_result *result,
                                const void *tuning, gordian_error *error)
{
    return compose_cuda_on(gpu, tuning, circuit, options, sink, result, error);
}

/* In a bitmap; from a table into a bitmap; in a table that grows; rows in many blocks. */
static const struct compose_tuning tunings[] = {
    {.direct_bits = 20},
    {.direct_bits = 1, .share = 64, .slots = 16, .block_states = 1, .block_transitions = 4},
    {.no_bitmap = true, .slots = 4, .block_states = 512, .block_transitions = 1},
};

/* Without a sink only counts come. */
static void counts_only(const gordian_circuit *circuit, const gordian_compose_options *options,
                        const struct compose_tuning *tuning)
{
    gordian_compose_result with = {0}, without = {0};
    gordian_compose_options bare = *options;
    bare.count_transitions = false;
    DO(compose_cuda_on(gpu, tuning, circuit, options, NULL, &with, &error));
    DO(compose_cuda_on(gpu, tuning, circuit, &bare, NULL, &without, &error));
    CHECK(with.states == without.states && with.deadlocks == without.deadlocks);
    CHECK(without.transitions == 0);
    gordian_compose_result_free(&with);
    gordian_compose_result_free(&without);
}

static void compare_ways(const gordian_circuit *circuit, struct random *random)
{
    for (size_t t = 0; t < sizeof tunings / sizeof *tunings; t++) {
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        options.max_deadlocks = (uint32_t)random_below(random, 4);
        compare(on_device, circuit, &options, &tunings[t]);
        options.indivisible = true;
        compare(on_device, circuit, &options, &tunings[t]);
        options.indivisible = random_below(random, 2);
        options.full = true;
        compare(on_device, circuit, &options, &tunings[t]);
        counts_only(circuit, &options, &tunings[t]);
        options.max_states = 1 + random_below(random, 40);
        compare(on_device, circuit, &options, &tunings[t]);
    }
}

/* ------------------------------------------------------------------ tests */

static void test_references(struct random *random)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        gordian_circuit *circuit = read_circuit(library, r->main, r->data);
        REQUIRE(circuit);
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        for (size_t t = 0; t < sizeof tunings / sizeof *tunings; t++) {
            struct outcome outcome = run(on_device, circuit, &options, &tunings[t]);
            CHECK_MSG(outcome.result.states == r->states &&
                          outcome.result.transitions == r->transitions &&
                          outcome.result.deadlocks == r->deadlocks,
                      "%s: %llu states, %llu transitions, %llu deadlocks", r->main,
                      (unsigned long long)outcome.result.states,
                      (unsigned long long)outcome.result.transitions,
                      (unsigned long long)outcome.result.deadlocks);
            outcome_free(&outcome);
        }
        if (r->states <= 128)
            compare_ways(circuit, random);
        gordian_circuit_close(circuit);
    }
}

static void test_random(struct random *random, unsigned rounds)
{
    unsigned compared = 0;
    for (unsigned i = 0; i < rounds; i++) {
        gordian_circuit *circuit = random_circuit(random);
        const char *why = "";
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        if (circuit->whole <= 512 &&
            engine_usable(&compose_dense.about, &(struct compose_problem){circuit, &options},
                          &why)) {
            gpu_emulator_seed(gpu, i % 3 ? i : 0);
            compare_ways(circuit, random);
            compared++;
        }
        gordian_circuit_close(circuit);
    }
    gpu_emulator_seed(gpu, 0);
    CHECK(compared * 4 > rounds);
}

/* A stopped run keeps no more than it was allowed, and what it has is consistent. */
static void test_limits(void)
{
    gordian_circuit *circuit = read_circuit(library, "chain9", NULL);
    REQUIRE(circuit);
    for (uint64_t limit = 1; limit < 600; limit += 97) {
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        options.max_states = limit;
        struct outcome outcome = run(on_device, circuit, &options, &tunings[2]);
        uint64_t expected = limit < 512 ? limit : 512;
        CHECK(outcome.result.states == expected);
        CHECK((outcome.result.stop == GORDIAN_COMPOSE_STOP_STATES) == (limit < 512));
        REQUIRE(outcome.graph);
        CHECK(outcome.graph->state_count == expected);
        CHECK(outcome.graph->arc_count == outcome.result.transitions);
        outcome_free(&outcome);
    }
    gordian_circuit_close(circuit);
}

static bool stop_at_once(void *context, const gordian_compose_progress *progress)
{
    (void)progress;
    return ++*(unsigned *)context < 3;
}

static void test_stop(void)
{
    gordian_circuit *circuit = read_circuit(library, "chain9", NULL);
    gordian_compose_result result;
    gordian_compose_options options;
    gordian_error error = {0};
    unsigned calls = 0;
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    options.go_on = stop_at_once;
    options.context = &calls;
    REQUIRE(compose_cuda_on(gpu, &tunings[2], circuit, &options, NULL, &result, &error) ==
            GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STOPPED && result.states > 0 && result.states < 512);
    gordian_compose_result_free(&result);

    /* Little memory: what fits is found. */
    gordian_compose_options_init(&options);
    options.max_memory = 1 << 15;
    gordian_status status =
        compose_cuda_on(gpu, &(struct compose_tuning){.no_bitmap = true, .slots = 64}, circuit,
                        &options, NULL, &result, &error);
    CHECK(status == GORDIAN_STATUS_MEMORY || (status == GORDIAN_OK && result.memory <= 1 << 15));
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* A device with little memory: what fits is found and is consistent, or it says so. */
static void test_small_devices(void)
{
    gordian_circuit *circuit = read_circuit(library, "chain9", NULL);
    unsigned complete = 0, stopped = 0, refused = 0;
    REQUIRE(circuit);
    for (uint64_t bytes = 1 << 10; bytes <= 1 << 24; bytes *= 2) {
        struct compose_tuning tuning = {.no_bitmap = true, .slots = 16, .block_transitions = 64};
        gordian_compose_options options;
        gordian_compose_result result;
        gordian_error error = {0};
        struct gpu *small = device_open(-1);
        gpu_emulator_memory(small, bytes);
        gordian_compose_options_init(&options);
        gordian_status status =
            compose_cuda_on(small, &tuning, circuit, &options, NULL, &result, &error);
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY, "%s", error.message);
        if (status == GORDIAN_OK) {
            CHECK((result.stop == GORDIAN_COMPOSE_STOP_COMPLETE) == (result.states == 512));
            CHECK(result.stop == GORDIAN_COMPOSE_STOP_COMPLETE ||
                  result.stop == GORDIAN_COMPOSE_STOP_MEMORY);
            CHECK(result.states > 0 && result.states <= 512 && result.memory <= bytes);
            CHECK(result.stop != GORDIAN_COMPOSE_STOP_COMPLETE || result.transitions == 4244);
            complete += result.stop == GORDIAN_COMPOSE_STOP_COMPLETE;
            stopped += result.stop == GORDIAN_COMPOSE_STOP_MEMORY;
        }
        refused += status != GORDIAN_OK;
        gordian_compose_result_free(&result);
        gpu_close(small);
    }
    CHECK_MSG(complete > 0 && stopped + refused > 0, "%u complete, %u stopped, %u refused",
              complete, stopped, refused);
    gordian_circuit_close(circuit);
}

/* Every allocation of the host's fails once. */
static void test_allocations(const char *main, const struct compose_tuning *tuning)
{
    gordian_circuit *circuit = read_circuit(library, main, NULL);
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_error error = {0};
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    options.allocator = &allocator;
    for (size_t n = 1;; n++) {
        struct graph_sink sink;
        REQUIRE(graph_sink_open(&sink, NULL, &error) == GORDIAN_OK);
        failing = (struct failing){.fail_at = n};
        gordian_status status =
            compose_cuda_on(gpu, tuning, circuit, &options, &sink.sink, &result, &error);
        bool failed = failing.failures > 0;
        CHECK_MSG(status == (failed ? GORDIAN_STATUS_MEMORY : GORDIAN_OK),
                  "allocation %zu: status %d", n, (int)status);
        gordian_compose_result_free(&result);
        CHECK_MSG(failing.live_blocks == 0, "allocation %zu: %zu blocks leaked", n,
                  failing.live_blocks);
        graph_sink_abandon(&sink);
        if (!failed)
            break;
    }
    gordian_circuit_close(circuit);
}

/* The device fails at its first launch, at its second, ...: the CPU gives the same answer. */
static void test_failures(void)
{
    gordian_circuit *circuit = read_circuit(library, "stuck", NULL);
    gordian_compose_options options;
    unsigned fallen = 0;
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    setenv("GORDIAN_EMULATE_GPU", "1", 1);
    for (unsigned launches = 0; launches < 200; launches++) {
        gordian_compose_result result;
        gordian_error error = {0};
        char text[16];
        snprintf(text, sizeof text, "%u", launches);
        setenv("GORDIAN_GPU_FAIL_AFTER", text, 1);
        REQUIRE(compose_cuda.run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
        bool fell = strcmp(result.engine, "cpu") == 0;
        CHECK(result.states == 1 && result.deadlocks == 1 && result.found_count == 1);
        CHECK(fell == (result.note[0] != '\0'));
        gordian_compose_result_free(&result);
        fallen += fell;
        if (!fell)
            break;
    }
    CHECK(fallen > 3 && fallen < 200);
    unsetenv("GORDIAN_GPU_FAIL_AFTER");
    unsetenv("GORDIAN_EMULATE_GPU");
    gordian_circuit_close(circuit);
}

int main(int argc, char **argv)
{
    unsigned rounds = (unsigned)test_scaled(120);
    int wanted = device_wanted(argc, argv);
    struct random random;
    random_seed(&random, 7);
    gpu = device_open(wanted);
    test_references(&random);
    test_random(&random, wanted < 0 ? rounds : 10 * rounds);
    test_limits();
    test_stop();
    test_allocations("chain4", &tunings[0]);
    test_allocations("chain4", &tunings[1]);
    test_allocations("stuck", &tunings[2]);
    if (wanted < 0) {
        test_failures();
        test_small_devices();
    }
    gpu_close(gpu);
    return test_done();
}

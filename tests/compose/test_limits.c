/* Limits, stopping, sinks that fail, memory that runs out, firings too many to list. */
#include "../alloc/failing.h"
#include "random_circuit.h"

#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/enabled_firings.h"
#include "engines/compose/graph/graph_sink.h"

static const char source[] =
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "ring<k:int>() { fifofull<0>(a[0],a[1]) { fifo1(a[i],a[(i+1) % k]) | i:<1..k-1> } }\n"
    "apart<k:int>() { fifo1(a[i],b[i]) | i:<1..k> }\n"
    "loops<k:int>() { sync(a[i],b[i]) | i:<1..k> }\n"
    "stuck(a?) { fifo1(a,b) fifo1(b,c) fifo1(c,d) fifo1(d,e) syncdrain(e,f) fifo1(f,f) }\n";

static const struct compose_engine *engine_of(const char *name, const gordian_circuit *circuit)
{
    gordian_compose_options options;
    const struct compose_engine *engine = NULL;
    gordian_compose_options_init(&options);
    options.engine = name;
    REQUIRE(compose_choose(circuit, &options, &engine, NULL) == GORDIAN_OK);
    return engine;
}

/* ------------------------------------------------------------------ states */

static void check_states(const char *name, const char *main, uint64_t whole)
{
    gordian_circuit *circuit = read_circuit(source, main, NULL);
    const struct compose_engine *engine = engine_of(name, circuit);
    gordian_compose_result all;
    gordian_compose_options defaults;
    gordian_compose_options_init(&defaults);
    REQUIRE(engine->run(circuit, &defaults, NULL, &all, NULL) == GORDIAN_OK);
    CHECK(all.states == whole && all.stop == GORDIAN_COMPOSE_STOP_COMPLETE);
    for (uint64_t most = 1; most <= whole + 1; most += 1 + most / 3) {
        gordian_compose_options options;
        gordian_compose_result result;
        struct graph_sink sink;
        gordian_graph *graph = NULL;
        gordian_compose_options_init(&options);
        options.max_states = most;
        options.threads = 2;
        REQUIRE(graph_sink_open(&sink, NULL, NULL) == GORDIAN_OK);
        REQUIRE(engine->run(circuit, &options, &sink.sink, &result, NULL) == GORDIAN_OK);
        REQUIRE(graph_sink_close(&sink, &graph, NULL) == GORDIAN_OK);
        CHECK_MSG(result.stop ==
                      (most < whole ? GORDIAN_COMPOSE_STOP_STATES : GORDIAN_COMPOSE_STOP_COMPLETE),
                  "%s %s, most %llu", name, main, (unsigned long long)most);
        CHECK_MSG(
            result.states == (most < whole ? most : whole) && graph->state_count == result.states &&
                graph->arc_count == result.transitions && result.transitions <= all.transitions,
            "%s %s, most %llu: %llu/%llu, graph %u/%zu", name, main, (unsigned long long)most,
            (unsigned long long)result.states, (unsigned long long)result.transitions,
            graph->state_count, graph->arc_count);
        /* a state whose steps lead outside is not a deadlock */
        CHECK(result.deadlocks <= all.deadlocks &&
              (most < whole || result.deadlocks == all.deadlocks));
        gordian_graph_close(graph);
        gordian_compose_result_free(&result);
    }
    gordian_compose_result_free(&all);
    gordian_circuit_close(circuit);
}

/* The whole product, cut off. */
static void check_full(const char *name)
{
    gordian_circuit *circuit = read_circuit(source, "ring<6>", NULL);
    const struct compose_engine *engine = engine_of(name, circuit);
    for (uint64_t most = 0; most <= 65; most += 13) {
        gordian_compose_options options;
        gordian_compose_result result;
        gordian_compose_options_init(&options);
        options.full = true;
        options.max_states = most;
        REQUIRE(engine->run(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
        CHECK(result.states == (most && most < 64 ? most : 64));
        CHECK(result.stop ==
              (most && most < 64 ? GORDIAN_COMPOSE_STOP_STATES : GORDIAN_COMPOSE_STOP_COMPLETE));
        gordian_compose_result_free(&result);
    }
    gordian_circuit_close(circuit);
}

/* States of any width can be sorted: thousands of bytes each must not take as many calls. */
static void check_wide(void)
{
    gordian_circuit *circuit = read_circuit(source, "chain<30000>", NULL);
    const struct compose_engine *engine = engine_of("cpu", circuit);
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.max_states = 100;
    options.count_transitions = false;
    REQUIRE(engine->run(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(result.states == 100 && result.stop == GORDIAN_COMPOSE_STOP_STATES);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ memory */

static void check_memory(void)
{
    gordian_circuit *circuit = read_circuit(source, "ring<40>", NULL);
    const struct compose_engine *engine = engine_of("cpu", circuit);
    bool complete = false;
    for (uint64_t most = 1000; !complete && most < 100000000; most += most / 2) {
        gordian_compose_options options;
        gordian_compose_result result;
        gordian_error error = {0};
        gordian_compose_options_init(&options);
        options.max_memory = most;
        REQUIRE(engine->run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
        CHECK(result.memory <= most);
        CHECK(result.stop == GORDIAN_COMPOSE_STOP_MEMORY ||
              result.stop == GORDIAN_COMPOSE_STOP_COMPLETE);
        complete = result.stop == GORDIAN_COMPOSE_STOP_COMPLETE;
        CHECK(!complete || result.states == 40);
        gordian_compose_result_free(&result);
    }
    CHECK(complete);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ stopping */

struct watching {
    unsigned calls, stop_at;
    uint64_t states;
};

static bool go_on(void *context, const gordian_compose_progress *progress)
{
    struct watching *watching = context;
    watching->states = progress->states;
    return ++watching->calls < watching->stop_at;
}

/* Stopped at the third question: was that before so much memory was full? */
static bool is_stopped_below(gordian_circuit *circuit, uint64_t most)
{
    const struct compose_engine *engine = engine_of("cpu", circuit);
    struct watching watching = {.stop_at = 3};
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.go_on = go_on;
    options.context = &watching;
    options.max_memory = most;
    REQUIRE(engine->run(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    bool stopped = result.stop == GORDIAN_COMPOSE_STOP_STOPPED;
    CHECK_MSG(stopped || result.stop == GORDIAN_COMPOSE_STOP_MEMORY, "%d", result.stop);
    CHECK((!stopped || watching.calls >= 3) && result.states > 0);
    gordian_compose_result_free(&result);
    return stopped;
}

/* A fast machine has filled the memory before it is asked three times. */
static void check_stopping(void)
{
    gordian_circuit *circuit = read_circuit(source, "chain<34>", NULL);
    bool stopped = false;
    for (uint64_t most = 1 << 28; !stopped && most <= UINT64_C(1) << 34; most *= 4)
        stopped = is_stopped_below(circuit, most);
    CHECK(stopped);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ sinks that fail */

struct brittle {
    uint64_t rows, break_at;
};

static gordian_status begin(void *context, const gordian_circuit *circuit, uint64_t states,
                            uint64_t transitions, gordian_error *error)
{
    const struct brittle *brittle = context;
    (void)circuit;
    (void)states;
    (void)transitions;
    (void)error;
    return brittle->break_at == 0 ? GORDIAN_STATUS_IO : GORDIAN_OK;
}

static gordian_status row(void *context, const gordian_compose_row *here, gordian_error *error)
{
    struct brittle *brittle = context;
    (void)error;
    CHECK(here->number == brittle->rows);
    return ++brittle->rows == brittle->break_at ? GORDIAN_STATUS_IO : GORDIAN_OK;
}

/* At a sink that fails at some row of a chain with so many states. */
static void check_sinks(const char *name, const char *chain, uint64_t states)
{
    gordian_circuit *circuit = read_circuit(source, chain, NULL);
    const struct compose_engine *engine = engine_of(name, circuit);
    const uint64_t places[] = {0, 1, 2, 100, states - 1, states, states + 1000};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        struct brittle brittle = {.break_at = places[i]};
        gordian_compose_sink sink = {&brittle, begin, row};
        gordian_compose_options options;
        gordian_compose_result result;
        gordian_compose_options_init(&options);
        gordian_status status = engine->run(circuit, &options, &sink, &result, NULL);
        CHECK(status == (places[i] <= states ? GORDIAN_STATUS_IO : GORDIAN_OK));
        CHECK(status != GORDIAN_OK || brittle.rows == states);
        gordian_compose_result_free(&result);
    }
    gordian_circuit_close(circuit);
}

struct told {
    uint64_t begun, states, transitions, rows;
};

static gordian_status told_begin(void *context, const gordian_circuit *circuit, uint64_t states,
                                 uint64_t transitions, gordian_error *error)
{
    struct told *told = context;
    (void)circuit, (void)error;
    told->begun++;
    told->states = states;
    told->transitions = transitions;
    return GORDIAN_OK;
}

static gordian_status told_row(void *context, const gordian_compose_row *here, gordian_error *error)
{
    struct told *told = context;
    (void)here, (void)error;
    told->rows++;
    return GORDIAN_OK;
}

/* 2^70 joint firings a state: a run that --max-states stops does not go through them to see which
 * stay among the states found. */
static void check_left_out(void)
{
    gordian_circuit *circuit = read_circuit(source, "apart<70>", NULL);
    struct told told = {0};
    gordian_compose_sink sink = {&told, told_begin, told_row};
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.max_states = 1000;
    REQUIRE(engine_of("cpu", circuit)->run(circuit, &options, &sink, &result, NULL) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STATES && result.states == 1000);
    CHECK(result.uncounted && result.transitions == 0 && result.note[0]);
    CHECK(told.begun == 1 && told.states == 1000 && told.transitions == 0 && told.rows == 0);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* A single row of 2^40 transitions: ctrl-C ends it all the same. */
static void check_within_row(void)
{
    gordian_circuit *circuit = read_circuit(source, "loops<40>", NULL);
    struct told told = {0};
    struct watching watching = {.stop_at = 2};
    gordian_compose_sink sink = {&told, told_begin, told_row};
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.go_on = go_on;
    options.context = &watching;
    REQUIRE(engine_of("cpu", circuit)->run(circuit, &options, &sink, &result, NULL) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STOPPED && result.states == 1);
    CHECK(told.begun == 1 && told.rows == 0);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ every allocation fails once */

/* Runs the engine with an allocator that fails at its n-th call, for every n: it either says so or
 * stops, and leaks nothing. */
static void check_allocations(const char *name, const char *main, uint64_t max_states, bool full)
{
    gordian_circuit *circuit = read_circuit(source, main, NULL);
    const struct compose_engine *engine = engine_of(name, circuit);
    for (size_t at = 1;; at++) {
        struct failing failing = {.fail_at = at};
        gordian_allocator allocator = {failing_resize, &failing};
        gordian_compose_options options;
        gordian_compose_result result;
        struct graph_sink sink;
        gordian_graph *graph = NULL;
        gordian_error error = {0};
        gordian_compose_options_init(&options);
        options.allocator = &allocator;
        options.threads = 2;
        options.max_states = max_states;
        options.full = full;
        REQUIRE(graph_sink_open(&sink, NULL, NULL) == GORDIAN_OK);
        gordian_status status = engine->run(circuit, &options, &sink.sink, &result, &error);
        CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_MEMORY, "%s: %d", name, status);
        CHECK(status != GORDIAN_OK || failing.failures == 0 ||
              result.stop == GORDIAN_COMPOSE_STOP_MEMORY || result.states > 0);
        if (status == GORDIAN_OK && result.states > 0)
            REQUIRE(graph_sink_close(&sink, &graph, NULL) == GORDIAN_OK);
        else
            graph_sink_abandon(&sink);
        gordian_graph_close(graph);
        gordian_compose_result_free(&result);
        CHECK_MSG(failing.live_blocks == 0, "%s: %zu blocks leaked at %zu", name,
                  failing.live_blocks, at);
        if (failing.failures == 0)
            break;
    }
    gordian_circuit_close(circuit);
}

static void use_graph(const gordian_graph *graph, const gordian_hiding *hiding, unsigned what,
                      gordian_status *status)
{
    gordian_graph *out = NULL;
    gordian_difference difference = {0};
    gordian_livelock livelock = {0};
    gordian_graph_deadlocks deadlocks;
    bool equal;
    switch (what) {
    case 0:
        *status = gordian_graph_hide(&out, graph, hiding, NULL);
        break;
    case 1:
        *status = gordian_graph_minimise(&out, graph, NULL);
        break;
    case 2:
        *status = gordian_graph_livelock(graph, hiding, &livelock, NULL);
        if (*status == GORDIAN_OK)
            gordian_livelock_free(&livelock);
        break;
    case 3:
        *status = gordian_graph_find_deadlocks(graph, &deadlocks, NULL);
        gordian_graph_deadlocks_free(&deadlocks);
        break;
    default:
        *status = gordian_graph_hide(&out, graph, hiding, NULL);
        if (*status == GORDIAN_OK)
            *status = gordian_graph_equal(graph, out, &equal, &difference, NULL);
        if (*status == GORDIAN_OK)
            gordian_difference_free(&difference);
        break;
    }
    gordian_graph_close(out);
}

static void check_operations(void)
{
    gordian_circuit *circuit = read_circuit(source, "ring<5>", NULL);
    gordian_hiding inner = gordian_hide_inner(circuit);
    for (unsigned what = 0; what < 5; what++) {
        for (size_t at = 1;; at++) {
            struct failing failing = {0};
            gordian_allocator allocator = {failing_resize, &failing};
            gordian_graph *graph = NULL;
            gordian_status status;
            REQUIRE(plain_product(&graph, circuit, false, &allocator, NULL) == GORDIAN_OK);
            failing.fail_at = failing.calls + at;
            use_graph(graph, &inner, what, &status);
            CHECK(status == (failing.failures ? GORDIAN_STATUS_MEMORY : GORDIAN_OK));
            gordian_graph_close(graph);
            CHECK_MSG(failing.live_blocks == 0, "operation %u at %zu", what, at);
            if (failing.failures == 0)
                break;
        }
    }
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ firings one state at a time */

struct steps {
    gordian_graph *graph;
    uint64_t sum, count;
};

static bool add_up(void *context, const struct firing_view *view)
{
    struct steps *steps = context;
    uint64_t hash = 1;
    for (size_t w = 0; w < view->packing->words; w++)
        hash = (hash ^ view->to[w]) * 0x9e3779b97f4a7c15u;
    for (size_t w = 0; w < view->packing->circuit->label_words; w++)
        hash = (hash ^ view->label[w]) * 0xff51afd7ed558ccdu;
    steps->sum += hash ^ hash >> 31;
    steps->count++;
    return true;
}

/* Listed firings and those sought state by state are the same, and as many as are counted. */
static void check_sought(void)
{
    struct random random;
    gordian_allocator memory = memory_allocator(NULL);
    random_seed(&random, 40);
    for (unsigned long round = 0; round < test_scaled(400); round++) {
        gordian_circuit *circuit =
            round % 2 ? random_network(&random, 1 + (uint32_t)random_below(&random, 10))
                      : random_circuit(&random, 1 + (uint32_t)random_below(&random, 12), 100000);
        struct firings listed, none = {.memory = memory, .circuit = circuit};
        struct packing packings[2];
        struct firing_view views[2];
        REQUIRE(circuit);
        REQUIRE(firings_open(&listed, circuit, &memory, NULL) == GORDIAN_OK && listed.complete);
        for (int i = 0; i < 2; i++) {
            REQUIRE(packing_open(&packings[i], circuit, i ? &none : &listed, &memory, NULL) ==
                    GORDIAN_OK);
            REQUIRE(firing_view_open(&views[i], &packings[i], &memory, NULL) == GORDIAN_OK);
        }
        uint32_t *locals = malloc(circuit->factor_count * sizeof *locals);
        uint64_t state[8];
        for (int sample = 0; sample < 10; sample++) {
            struct steps steps[2] = {{0}};
            uint64_t counts[2];
            bool short_of_memory;
            for (uint32_t f = 0; f < circuit->factor_count; f++)
                locals[f] = (uint32_t)random_below(&random, factor_shape(circuit, f)->state_count);
            for (int i = 0; i < 2; i++) {
                pack_state(&packings[i], locals, state);
                CHECK(firing_view_find(&views[i], state) &&
                      firing_view_count(&views[i], &counts[i]));
                if (counts[i] < 100000)
                    CHECK(firing_view_each(&views[i], state, false, add_up, &steps[i],
                                           &short_of_memory) &&
                          counts[i] == steps[i].count);
            }
            CHECK_MSG(views[0].count == views[1].count && counts[0] == counts[1] &&
                          steps[0].sum == steps[1].sum,
                      "circuit %lu: %llu and %llu", round, (unsigned long long)counts[0],
                      (unsigned long long)counts[1]);
        }
        free(locals);
        for (int i = 0; i < 2; i++) {
            firing_view_close(&views[i]);
            packing_close(&packings[i]);
        }
        firings_free(&listed);
        gordian_circuit_close(circuit);
    }
}

static void check_dense(void)
{
    check_states("dense", "chain<6>", 64);
    check_full("dense");
    check_sinks("dense", "chain<10>", 1024);
    check_allocations("dense", "stuck", 0, false);
}

int main(void)
{
    check_states("cpu", "chain<6>", 64);
    check_states("cpu", "ring<70>", 70);
    check_states("cpu", "stuck", 16);
    check_full("cpu");
    check_wide();
    check_memory();
    check_stopping();
    check_left_out();
    check_within_row();
    check_sinks("cpu", "chain<12>", 4096);
    check_allocations("cpu", "chain<3>", 0, false);
    /* Long enough for everything to grow; a sanitized run has less time. */
    const char *growing = test_is_short()      ? "chain<9>"
                          : test_scale() < 100 ? "chain<11>"
                                               : "chain<13>";
    check_allocations("cpu", growing, 0, false);
    check_allocations("cpu", "stuck", 0, false);
    check_allocations("cpu", "stuck", 100, false);
    check_allocations("cpu", "stuck", 0, true);
    if (!TEST_THREADS_ONLY)
        check_dense();
    check_operations();
    check_sought();
    return test_done();
}

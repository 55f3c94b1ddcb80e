/* A deadlock that was found before a run was stopped is reported, whatever stops it and whichever
 * engine runs; and a run that was stopped never says that there is none. */
#include "compose.h"

#include "engines/compose/cpu/cpu.h"
#include "engines/compose/engine/engine.h"
#include "foundation/base/io/output.h"

#include <gordian/compose.h>
#include <stdlib.h>

/* The first step leads into a deadlock, or lets a chain of k buffers run: 2^k + 2 states, of which
 * the deadlock is among the first that any search finds. */
static gordian_circuit *read_gate(unsigned k)
{
    struct output out;
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    output_text(&out, "automaton gate (die, live, x0) { start* -> dead : {die} start -> run : "
                      "{live} run -> run : {x0} }\n");
    for (unsigned i = 0; i < k; i++)
        output_format(&out, "automaton b (x%u, x%u) { 0* -> 1 : {x%u} 1 -> 0 : {x%u} }\n", i, i + 1,
                      i, i + 1);
    output_char(&out, '\0');
    gordian_circuit *circuit = read_ca(out.buffer, NULL);
    output_close(&out);
    REQUIRE(circuit);
    return circuit;
}

typedef gordian_status run_engine(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  const gordian_compose_sink *sink, gordian_compose_result *result,
                                  gordian_error *error);

static bool describes_gate(const gordian_circuit *circuit, const gordian_compose_result *result)
{
    char text[32] = "";
    const gordian_compose_deadlock *found = result->found;
    if (result->found_count != 1)
        return false;
    gordian_circuit_state_text(circuit, 0, found->state[0], text, sizeof text);
    if (strcmp(text, "dead") != 0)
        return false;
    if (!found->labels)
        return found->step_count == 0 && result->stop != GORDIAN_COMPOSE_STOP_COMPLETE;
    gordian_circuit_label_text(circuit, found->labels, text, sizeof text);
    return found->step_count == 1 && strcmp(text, "die") == 0;
}

/* Runs it; what was found must be kept. */
static void check_run(const char *name, run_engine *run, const gordian_circuit *circuit,
                      const gordian_compose_options *options)
{
    gordian_compose_result result;
    gordian_error error = {0};
    gordian_status status = run(circuit, options, NULL, &result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s: %s", name, error.message);
    if (status != GORDIAN_OK)
        return;
    bool kept = result.deadlocks == 1 && describes_gate(circuit, &result);
    bool early = result.stop != GORDIAN_COMPOSE_STOP_COMPLETE && result.states < 4;
    CHECK_MSG(kept || (early && result.deadlocks == 0),
              "%s: stop %d, %llu states, %llu deadlocks, %zu described", name, (int)result.stop,
              (unsigned long long)result.states, (unsigned long long)result.deadlocks,
              result.found_count);
    gordian_compose_result_free(&result);
}

/* ------------------------------------------------------------------ ctrl-C */

struct patience {
    uint64_t states; /* so many are enough ... */
    unsigned calls;  /* ... or so many calls */
};

static bool go_on(void *context, const gordian_compose_progress *progress)
{
    struct patience *patience = context;
    if (progress->states >= patience->states)
        patience->calls = 1;
    if (patience->calls > 1)
        patience->calls--;
    return patience->calls > 1;
}

static void check_stopped(const char *name, run_engine *run, unsigned k, uint64_t states,
                          unsigned calls)
{
    gordian_circuit *circuit = read_gate(k);
    for (unsigned mode = 0; mode < 2; mode++) {
        struct patience patience = {states, calls};
        gordian_compose_options options;
        gordian_compose_options_init(&options);
        options.go_on = go_on;
        options.context = &patience;
        options.count_transitions = mode == 0;
        options.threads = 2 - mode;
        check_run(name, run, circuit, &options);
    }
    gordian_circuit_close(circuit);
}

static gordian_status run_named(const char *engine, const gordian_circuit *circuit,
                                const gordian_compose_options *options,
                                const gordian_compose_sink *sink, gordian_compose_result *result,
                                gordian_error *error)
{
    gordian_compose_options own = *options;
    own.engine = engine;
    return gordian_compose(circuit, &own, sink, result, error);
}

static gordian_status run_emulated(const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   const gordian_compose_sink *sink, gordian_compose_result *result,
                                   gordian_error *error)
{
    return run_named("cuda", circuit, options, sink, result, error);
}

static gordian_status run_dense(const gordian_circuit *circuit,
                                const gordian_compose_options *options,
                                const gordian_compose_sink *sink, gordian_compose_result *result,
                                gordian_error *error)
{
    return run_named("dense", circuit, options, sink, result, error);
}

static gordian_status run_words(const gordian_circuit *circuit,
                                const gordian_compose_options *options,
                                const gordian_compose_sink *sink, gordian_compose_result *result,
                                gordian_error *error)
{
    return run_named("cpu", circuit, options, sink, result, error);
}

static gordian_status run_reduced(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  const gordian_compose_sink *sink, gordian_compose_result *result,
                                  gordian_error *error)
{
    gordian_compose_options own = *options;
    own.reduce = true;
    return gordian_compose(circuit, &own, sink, result, error);
}

static void check_interrupted(void)
{
    bool quick = test_is_short();
    uint64_t many = quick ? 20000 : 1000000;
    check_stopped("words", run_words, 40, 10 * many, 10000);
    check_stopped("words", run_words, 40, UINT64_MAX, 2);
    check_stopped("bitmap", run_words, quick ? 20 : 28, quick ? 1 << 18 : 1 << 26, 10000);
    check_stopped("states", cpu_run_by_states, 40, many, 10000);
    check_stopped("wide states", run_words, 150, many, 10000);
    check_stopped("wide states", run_words, 70, UINT64_MAX, 2);
    check_stopped("reduced", run_reduced, 12, 100, 2);
    for (unsigned calls = 1; calls < 12; calls++)
        check_stopped("dense", run_dense, 7, UINT64_MAX, calls);
}

static void check_emulated(void)
{
    for (unsigned calls = 2; calls < 6; calls++) {
        check_stopped("emulator", run_emulated, 40, UINT64_MAX, calls);
        check_stopped("emulator, bitmap", run_emulated, 10, UINT64_MAX, calls);
    }
}

/* ------------------------------------------------------------------ limits */

static void check_limits(const char *name, run_engine *run, unsigned k)
{
    bool timed = run != cpu_run_by_states; /* the time limit is not an engine's matter */
    gordian_circuit *circuit = read_gate(k);
    gordian_compose_options options;
    gordian_compose_options_init(&options);
    options.threads = 2;
    for (unsigned mode = 0; mode < 2; mode++) {
        options.count_transitions = mode == 0;
        options.max_memory = 0;
        for (uint64_t most = 1; most < (test_is_short() ? 2000 : 100000); most = most * 3 + 1) {
            options.max_states = most;
            check_run(name, run, circuit, &options);
        }
        options.max_states = test_is_short() ? 2000 : 20000;
        for (uint64_t most = 1000; most < 40000000; most += test_is_short() ? 2 * most : most / 2) {
            options.max_memory = most;
            check_run(name, run, circuit, &options);
        }
    }
    options.max_states = options.max_memory = 0;
    options.max_ns = 1;
    if (timed)
        check_run(name, run, circuit, &options);
    gordian_circuit_close(circuit);
}

/* The graph does not fit, and the deadlock was found before that. */
static void check_graph(void)
{
    gordian_circuit *circuit = read_gate(10);
    gordian_graph *graph;
    gordian_compose_result result;
    struct meter meter;
    bool complete = false;
    for (uint64_t most = 1000; !complete; most += most / 2) {
        meter_open(&meter, NULL, most);
        gordian_status status =
            gordian_compose_graph(&graph, circuit, NULL, NULL, &meter.memory, &result, NULL);
        CHECK(status == GORDIAN_OK || (status == GORDIAN_STATUS_MEMORY && most < 10000));
        complete = status == GORDIAN_OK && result.stop == GORDIAN_COMPOSE_STOP_COMPLETE;
        if (status == GORDIAN_OK)
            CHECK(result.deadlocks == 1 && complete == (graph != NULL));
        gordian_graph_close(graph);
        gordian_compose_result_free(&result);
        meter_close(&meter);
    }
    gordian_circuit_close(circuit);
}

int main(void)
{
    setenv("GORDIAN_EMULATE_GPU", "1", 1);
    check_interrupted();
    check_limits("words", run_words, 40);
    check_limits("states", cpu_run_by_states, 40);
    check_limits("wide states", run_words, 70);
    check_limits("reduced", run_reduced, 12);
    if (!TEST_THREADS_ONLY) {
        check_emulated();
        check_limits("dense", run_dense, 7);
    }
    check_graph();
    return test_done();
}

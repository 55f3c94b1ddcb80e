/* Growth with the number of threads, with the length of the chain, with other circuits; and
 * operations on the finished product. */
#include "engines/compose/cpu/cpu.h"
#include "engines/compose/graph/graph_sink.h"
#include "foundation/base/error.h"
#include "lab/bench/compose/compose.h"

#include <stdio.h>

#define THREADS_MAX 64

static gordian_status time_side(struct bench *bench, struct compose_side *run, double seconds,
                                struct bench_side *side)
{
    struct bench_effort effort = {1, 3, 50, bench->options->quick ? seconds / 10 : seconds};
    *side = (struct bench_side){run, compose_side_run};
    return bench_measure(bench, side, 1, effort);
}

/* ------------------------------------------------------------------ threads */

static gordian_status add_threads_row(const struct compose_bench *compose, const char *kind,
                                      uint32_t size, unsigned threads,
                                      const struct bench_side *side, double alone)
{
    struct bench_row row =
        bench_measured(side, "ms", "compose/threads/%s-%u-%u/cpu", kind, size, threads);
    row.baseline = threads > 1 ? "1 thread" : NULL;
    row.baseline_value = alone / 1e6;
    bench_curve(&row, "Threads: reachable states (ms)", threads, "cpu, %s of %u", kind, size);
    if (threads == 16 && compose->cores >= 16 && !compose->bench->options->quick)
        bench_bar(&row, BAR_AT_LEAST, 10);
    return bench_add(compose->bench, &row);
}

/* Measures the same states on 1, 2, 4, ... threads. */
static gordian_status thread_rows(const struct compose_bench *compose, const char *kind,
                                  uint32_t size, uint64_t states)
{
    struct bench *bench = compose->bench;
    gordian_circuit *circuit;
    double alone = 0;
    char circuit_kind[32];
    snprintf(circuit_kind, sizeof circuit_kind, "circuit-%s", kind);
    gordian_status status = bench_circuit(&circuit, circuit_kind, size, 1, NULL, bench->error);
    for (unsigned threads = 1;
         threads <= compose->cores && threads <= THREADS_MAX && status == GORDIAN_OK;
         threads *= 2) {
        struct compose_side run = compose_side_of(compose_engine_named("cpu"), circuit);
        struct bench_side side;
        run.options.threads = threads;
        run.options.count_transitions = false;
        run.states = states;
        bench_progress(bench, "compose: %s of %u on %u threads", kind, size, threads);
        status = time_side(bench, &run, 3, &side);
        compose_side_free(&run);
        alone = threads == 1 ? side.median : alone;
        THEN(status, add_threads_row(compose, kind, size, threads, &side, alone));
    }
    gordian_circuit_close(circuit);
    return status;
}

/* ------------------------------------------------------------------ words and states */

static const struct compose_engine cpu_by_states = {.about = {.name = "cpu, by states"},
                                                    .run = cpu_run_by_states};

/* Measures one thread: a table of words of 64 neighbouring states against a table of states, in
 * turn. */
static gordian_status words_row(struct bench *bench, const char *kind, uint32_t size)
{
    gordian_circuit *circuit;
    struct bench_effort effort = {0, bench->options->quick ? 1 : 3, 15,
                                  bench->options->quick ? 0.5 : 5};
    TRY(bench_circuit(&circuit, kind, size, bench->options->seed, NULL, bench->error));
    struct compose_side words = compose_side_of(compose_engine_named("cpu"), circuit);
    words.options.count_transitions = false;
    words.options.threads = 1;
    struct compose_side states = words;
    states.engine = &cpu_by_states;
    struct bench_side sides[2] = {{&words, compose_side_run}, {&states, compose_side_run}};
    bench_progress(bench, "compose: %s of %u by words and by states", kind, size);
    gordian_status status = bench_measure(bench, sides, 2, effort);
    double count = (double)words.result.states;
    double memory = (double)words.result.memory / count,
           more = (double)states.result.memory / count;
    bool same = words.result.states == states.result.states;
    compose_side_free(&words);
    compose_side_free(&states);
    gordian_circuit_close(circuit);
    if (status == GORDIAN_OK && !same)
        status = fail(bench->error, GORDIAN_STATUS_INPUT, "%s of %u: other states", kind, size);
    TRY(status);
    struct bench_row row = bench_row("ns", "compose/words/%s-%u/cpu", kind + 8, size);
    bench_fill(&row, &sides[0], count);
    bench_against(&row, "a table of states", &sides[1]);
    bench_bar(&row, bench->options->quick ? BAR_NONE : BAR_AT_LEAST, 3);
    bench_note(&row, "per state, 1 thread; %.4g states, %.3g bytes each, baseline %.3g", count,
               memory, more);
    return bench_add(bench, &row);
}

/* ------------------------------------------------------------------ size */

/* Counts every joint transition: a chain has 2 Pell(n+1) - 2^n of them. */
static uint64_t chain_transitions(uint32_t size)
{
    uint64_t before = 0, pell = 1;
    for (uint32_t i = 0; i < size; i++) {
        uint64_t next = 2 * pell + before;
        before = pell;
        pell = next;
    }
    return 2 * pell - (UINT64_C(1) << size);
}

static gordian_status size_row(struct bench *bench, uint32_t size)
{
    gordian_circuit *circuit;
    struct bench_side side;
    TRY(bench_circuit(&circuit, "circuit-chain", size, 1, NULL, bench->error));
    struct compose_side run = compose_side_of(compose_engine_named("cpu"), circuit);
    run.states = UINT64_C(1) << size;
    run.transitions = chain_transitions(size);
    bench_progress(bench, "compose: chain of %u with all its transitions", size);
    gordian_status status = time_side(bench, &run, 1, &side);
    compose_side_free(&run);
    gordian_circuit_close(circuit);
    TRY(status);
    struct bench_row row = bench_measured(&side, "ms", "compose/joint/chain-%u/cpu", size);
    bench_curve(&row, "A chain's whole product, transitions counted (ms)", size, "cpu");
    bench_note(&row, "%.4g transitions, %.3g million a second", (double)run.transitions,
               (double)run.transitions / side.median * 1e3);
    return bench_add(bench, &row);
}

/* ------------------------------------------------------------------ other circuits */

static gordian_status kind_row(struct bench *bench, const char *kind, uint32_t size,
                               const char *data)
{
    gordian_circuit *circuit;
    struct bench_side side;
    TRY(bench_circuit(&circuit, kind, size, bench->options->seed, data, bench->error));
    struct compose_side run = compose_side_of(compose_engine_named("cpu"), circuit);
    run.options.count_transitions = false;
    bench_progress(bench, "compose: %s of %u", kind, size);
    gordian_status status = time_side(bench, &run, 1, &side);
    double states = (double)run.result.states;
    compose_side_free(&run);
    gordian_circuit_close(circuit);
    TRY(status);
    struct bench_row row =
        bench_row("ns", "compose/reach/%s-%u%s/cpu", kind + 8, size, data ? "-data" : "");
    bench_fill(&row, &side, states);
    bench_note(&row, "a state; %.4g states%s%s", states, data ? ", data " : "", data ? data : "");
    return bench_add(bench, &row);
}

gordian_status compose_scale_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    bool quick = bench->options->quick;
    if (!compose->cpu)
        return GORDIAN_OK;
    gordian_status status =
        thread_rows(compose, "chain", quick ? 18 : 28, UINT64_C(1) << (quick ? 18 : 28));
    THEN(status,
         thread_rows(compose, "dining", quick ? 9 : 14, quick ? 19682 : 4782968 /* 3^n - 1 */));
    THEN(status, words_row(bench, "circuit-dining", quick ? 9 : 12));
    THEN(status, words_row(bench, "circuit-ring", quick ? 26 : 40));
    for (uint32_t size = 4; size <= (quick ? 12u : 18u) && status == GORDIAN_OK; size += 2)
        status = size_row(bench, size);
    THEN(status, kind_row(bench, "circuit-dining", quick ? 8 : 11, NULL));
    THEN(status, kind_row(bench, "circuit-ring", quick ? 16 : 22, NULL));
    THEN(status, kind_row(bench, "circuit-chain", quick ? 9 : 13, "0,1,2"));
    THEN(status, kind_row(bench, "circuit-apart", quick ? 16 : 22, NULL));
    return status;
}

/* ------------------------------------------------------------------ operations on the product */

enum graph_work {
    WORK_HIDE,
    WORK_MINIMISE,
};

struct graph_side {
    const gordian_graph *graph;
    const gordian_circuit *circuit;
    enum graph_work work;
    uint32_t states; /* expected; 0: any */
};

static gordian_status graph_run(void *context, double *ns, gordian_error *error)
{
    struct graph_side *side = context;
    gordian_hiding hiding = gordian_hide_inner(side->circuit);
    gordian_graph *out = NULL;
    uint64_t start = clock_ns();
    gordian_status status = side->work == WORK_HIDE
                                ? gordian_graph_hide(&out, side->graph, &hiding, error)
                                : gordian_graph_minimise(&out, side->graph, error);
    *ns = (double)(clock_ns() - start);
    if (status == GORDIAN_OK && side->states && out->state_count != side->states)
        status = fail(error, GORDIAN_STATUS_INPUT, "%u states, expected %u", out->state_count,
                      side->states);
    gordian_graph_close(out);
    return status;
}

static gordian_status graph_row(struct bench *bench, const char *what, uint32_t size,
                                struct graph_side *work)
{
    struct bench_side side = {work, graph_run};
    struct bench_effort effort = {1, 3, 50, bench->options->quick ? 0.2 : 2};
    bench_progress(bench, "compose: %s, chain of %u", what, size);
    TRY(bench_measure(bench, &side, 1, effort));
    struct bench_row row = bench_measured(&side, "ms", "compose/%s/chain-%u", what, size);
    bench_note(&row, "of %u states and %zu transitions", work->graph->state_count,
               work->graph->arc_count);
    return bench_add(bench, &row);
}

static gordian_status product_graph(const gordian_circuit *circuit, gordian_graph **graph,
                                    gordian_error *error)
{
    struct graph_sink sink;
    gordian_compose_options options;
    gordian_compose_result result = {0};
    const struct compose_engine *engine;
    gordian_compose_options_init(&options);
    *graph = NULL;
    gordian_status status = compose_choose(circuit, &options, &engine, error);
    THEN(status, graph_sink_open(&sink, NULL, error));
    TRY(status);
    status = engine->run(circuit, &options, &sink.sink, &result, error);
    gordian_compose_result_free(&result);
    if (status == GORDIAN_OK)
        return graph_sink_close(&sink, graph, error);
    graph_sink_abandon(&sink);
    return status;
}

gordian_status compose_graph_rows(const struct compose_bench *compose)
{
    struct bench *bench = compose->bench;
    uint32_t size = bench->options->quick ? 8 : 11;
    gordian_circuit *circuit;
    gordian_graph *graph = NULL, *hidden = NULL;
    if (!compose->cpu)
        return GORDIAN_OK;
    gordian_status status = bench_circuit(&circuit, "circuit-chain", size, 1, NULL, bench->error);
    THEN(status, product_graph(circuit, &graph, bench->error));
    if (status == GORDIAN_OK) {
        struct graph_side work = {graph, circuit, WORK_HIDE, 0};
        status = graph_row(bench, "hide", size, &work);
    }
    if (status == GORDIAN_OK) {
        gordian_hiding hiding = gordian_hide_inner(circuit);
        status = gordian_graph_hide(&hidden, graph, &hiding, bench->error);
    }
    if (status == GORDIAN_OK) {
        struct graph_side work = {hidden, circuit, WORK_MINIMISE, size + 1};
        status = graph_row(bench, "minimise", size, &work);
    }
    gordian_graph_close(hidden);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    return status;
}

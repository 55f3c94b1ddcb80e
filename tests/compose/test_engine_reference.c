/* Known counts by every engine that is here: product, hidden, minimal, deadlocks. */
#include "compose.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph_sink.h"

#define ANY SIZE_MAX

struct expected {
    size_t states, transitions, deadlocks;
    size_t hidden_states, hidden_transitions; /* ANY: not checked */
    size_t minimal_states, minimal_transitions;
};

static char *read_file(const char *file)
{
    char path[1000];
    snprintf(path, sizeof path, "%s/%s", EXAMPLES, file);
    FILE *stream = fopen(path, "r");
    char *source = calloc(1, 20000);
    CHECK_MSG(stream, "%s", path);
    if (stream) {
        source[fread(source, 1, 19999, stream)] = '\0';
        fclose(stream);
    }
    return source;
}

static bool is(size_t found, size_t expected)
{
    return expected == ANY || found == expected;
}

static void check_hidden(const gordian_circuit *circuit, const gordian_graph *graph,
                         const struct expected *expected, const char *what)
{
    gordian_graph *hidden = NULL, *minimal = NULL;
    gordian_hiding inner = gordian_hide_inner(circuit);
    REQUIRE(gordian_graph_hide(&hidden, graph, &inner, NULL) == GORDIAN_OK);
    REQUIRE(gordian_graph_minimise(&minimal, hidden, NULL) == GORDIAN_OK);
    CHECK_MSG(is(hidden->state_count, expected->hidden_states) &&
                  is(hidden->arc_count, expected->hidden_transitions),
              "%s: hidden %u/%zu", what, hidden->state_count, hidden->arc_count);
    CHECK_MSG(is(minimal->state_count, expected->minimal_states) &&
                  is(minimal->arc_count, expected->minimal_transitions),
              "%s: minimal %u/%zu", what, minimal->state_count, minimal->arc_count);
    gordian_graph_close(hidden);
    gordian_graph_close(minimal);
}

static void check_engine(const struct compose_engine *engine, const gordian_circuit *circuit,
                         const struct expected *expected, const char *what)
{
    gordian_compose_options options;
    gordian_compose_result result;
    struct graph_sink sink;
    gordian_graph *graph = NULL;
    gordian_error error = {0};
    const char *why = "";
    gordian_compose_options_init(&options);
    REQUIRE(graph_sink_open(&sink, NULL, &error) == GORDIAN_OK);
    gordian_status status = engine->run(circuit, &options, &sink.sink, &result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s, %s: %s", what, engine->about.name, error.message);
    if (status != GORDIAN_OK) {
        graph_sink_abandon(&sink);
        return;
    }
    REQUIRE(graph_sink_close(&sink, &graph, &error) == GORDIAN_OK);
    CHECK_MSG(result.states == expected->states && result.transitions == expected->transitions &&
                  result.deadlocks == expected->deadlocks &&
                  graph->state_count == expected->states &&
                  graph->arc_count == expected->transitions,
              "%s, %s: %llu/%llu, %llu deadlocks", what, engine->about.name,
              (unsigned long long)result.states, (unsigned long long)result.transitions,
              (unsigned long long)result.deadlocks);
    CHECK(result.found_count == (expected->deadlocks > 0));
    for (size_t i = 0; i < result.found_count; i++)
        CHECK_MSG(compose_check_deadlock(circuit, &result.found[i], &why), "%s: %s", what, why);
    check_hidden(circuit, graph, expected, what);
    gordian_graph_close(graph);
    gordian_compose_result_free(&result);
}

/* By every engine that is here and can. */
static void check(const char *file, const char *main, const char *data, struct expected expected)
{
    char *source = read_file(file);
    gordian_circuit *circuit = read_circuit(source, main, data);
    gordian_compose_options options;
    unsigned ran = 0;
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    for (size_t i = 0; compose_family.engines[i]; i++) {
        const struct compose_engine *engine;
        options.engine = compose_family.engines[i]->name;
        if (compose_choose(circuit, &options, &engine, NULL) != GORDIAN_OK)
            continue;
        check_engine(engine, circuit, &expected, main ? main : file);
        ran++;
    }
    CHECK(ran >= 1);
    gordian_circuit_close(circuit);
    free(source);
}

static void check_chains(void)
{
    static const size_t hidden[][2] = {{2, 2}, {3, 5}, {6, 18}, {12, 60}, {24, 200}};
    size_t pell = 2, before = 1; /* Pell(2), Pell(1) */
    for (size_t k = 1; k <= 10; k++) {
        char main[20];
        size_t states = (size_t)1 << k, next = 2 * pell + before;
        snprintf(main, sizeof main, "chain<%zu>", k);
        check("chain.treo", main, NULL,
              (struct expected){states, 2 * pell - states, 0, k <= 5 ? hidden[k - 1][0] : ANY,
                                k <= 5 ? hidden[k - 1][1] : ANY, k + 1, 3 * k - 1});
        before = pell;
        pell = next;
    }
}

static void check_families(void)
{
    static const size_t alternators[][6] = {
        {2, 2, 2, 2, 2, 2}, {4, 4, 3, 3, 3, 3}, {8, 10, 5, 6, 4, 4}};
    static const size_t tables[][2] = {{8, 11}, {26, 76}, {80, 431}};
    char main[40];
    for (size_t n = 1; n <= 5; n++) {
        size_t states = (size_t)1 << n, transitions = states * states - states;
        snprintf(main, sizeof main, "parallel<%zu>", n);
        check("parallel.treo", main, NULL,
              (struct expected){states, transitions, 0, states, transitions, states, transitions});
        snprintf(main, sizeof main, "sequencer(p[1..%zu])", n);
        if (n >= 2)
            check("sequencer.treo", main, NULL, (struct expected){n, n, 0, n, n, n, n});
        snprintf(main, sizeof main, "xrouter(in,out[1..%zu])", n);
        check("router.treo", main, NULL, (struct expected){1, n, 0, 1, n, 1, n});
    }
    for (size_t n = 2; n <= 4; n++) {
        const size_t *a = alternators[n - 2];
        snprintf(main, sizeof main, "alternator<%zu>", n);
        check("alternator.treo", main, NULL,
              (struct expected){a[0], a[1], 0, a[2], a[3], a[4], a[5]});
        snprintf(main, sizeof main, "table<%zu>", n);
        check("philosophers.treo", main, NULL,
              (struct expected){tables[n - 2][0], tables[n - 2][1], 1, ANY, ANY, ANY, ANY});
    }
}

int main(void)
{
    check_chains();
    check_families();
    check("lossyfifo.treo", NULL, NULL, (struct expected){2, 5, 0, 2, 5, 2, 5});
    check("ring.treo", NULL, NULL, (struct expected){6, 10, 0, ANY, ANY, ANY, ANY});
    check("ring.treo", "full<4>", NULL, (struct expected){1, 0, 1, ANY, ANY, ANY, ANY});
    check("ring.treo", "empty<4>", NULL, (struct expected){1, 0, 1, ANY, ANY, ANY, ANY});
    /* two data values */
    check("chain.treo", "chain<2>", "0,1", (struct expected){9, 18, 0, 7, 16, ANY, ANY});
    check("lossyfifo.treo", NULL, "x,y", (struct expected){3, 14, 0, ANY, ANY, ANY, ANY});
    check("router.treo", "xrouter(in,out[1..2])", "0,1",
          (struct expected){1, 4, 0, ANY, ANY, ANY, ANY});
    return test_done();
}

/* <gordian/compose.h> as a stranger uses it: nothing of the inside is included. */
#include <gordian/compose.h>

#include "test.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char ring[] = "main(a?,c!) { fifo1(a,b) fifo1(b,c) }\n"
                           "stuck() { fifofull<0>(a,b) fifofull<0>(b,a) }\n"
                           "loop(p?) { fifofull<0>(a,b) fifo1(b,a) fifo1(p,q) syncdrain(q,r) }\n"
                           "crowd() { { fifo1(a[i],b[i]) | i:<1..60> } }\n";

static gordian_status read_into(gordian_circuit **out, gordian_format format, const char *text,
                                const gordian_circuit_options *options, gordian_fault *fault,
                                gordian_error *error)
{
    gordian_bytes bytes = {text, strlen(text)};
    gordian_source source = gordian_source_bytes(&bytes);
    return gordian_circuit_read(out, format, "test.treo", &source, options, fault, error);
}

static gordian_circuit *read_text(const char *text, const char *main, const char *data)
{
    gordian_circuit *circuit;
    gordian_circuit_options options;
    gordian_circuit_options_init(&options);
    options.main = main;
    options.data = data;
    REQUIRE(read_into(&circuit, GORDIAN_FORMAT_TREO, text, &options, NULL, NULL) == GORDIAN_OK);
    return circuit;
}

/* ------------------------------------------------------------------ memory to write to */

struct sheet {
    char *bytes;
    size_t size, limit; /* limit: where writing fails; 0: nowhere */
    unsigned rewritten;
};

static bool write_sheet(void *context, const char *bytes, size_t size)
{
    struct sheet *sheet = context;
    if (sheet->limit && sheet->size + size > sheet->limit) {
        errno = ENOSPC;
        return false;
    }
    sheet->bytes = realloc(sheet->bytes, sheet->size + size + 1);
    REQUIRE(sheet->bytes);
    memcpy(sheet->bytes + sheet->size, bytes, size);
    sheet->size += size;
    sheet->bytes[sheet->size] = '\0';
    return true;
}

static bool rewrite_sheet(void *context, uint64_t offset, const char *bytes, size_t size)
{
    struct sheet *sheet = context;
    REQUIRE(offset + size <= sheet->size);
    memcpy(sheet->bytes + offset, bytes, size);
    sheet->rewritten++;
    return true;
}

/* ------------------------------------------------------------------ reading */

static gordian_status give_import(void *context, const char *from, const char *path,
                                  gordian_import *import, gordian_error *error)
{
    static const char wrong[] = "pipe(a?,b!) { fifo1(a b) }",
                      right[] = "pipe(a?,b!) { fifo1(a,b) }";
    const char *wanted = context;
    CHECK(strcmp(from, "test.treo") == 0);
    if (strcmp(path, "lib/pipe.treo") != 0)
        return GORDIAN_STATUS_END;
    if (strcmp(wanted, "nothing") == 0)
        return GORDIAN_OK;
    const char *text = strcmp(wanted, "wrong") == 0 ? wrong : right;
    gordian_bytes bytes = {text, strlen(text)};
    gordian_source source = gordian_source_bytes(&bytes);
    if (strcmp(wanted, "twice") == 0) { /* the last one counts */
        gordian_bytes other = {wrong, strlen(wrong)};
        gordian_source first = gordian_source_bytes(&other);
        CHECK(gordian_import_read(import, "lib/other.treo", &first, error) == GORDIAN_OK);
    }
    return gordian_import_read(import, "lib/pipe.treo", &source, error);
}

static void check_import(const char *wanted, gordian_status expected, const char *message,
                         const char *file)
{
    static const char text[] = "import lib.pipe;\nmain(a?,b!) { pipe(a,b) }";
    gordian_circuit *circuit;
    gordian_circuit_options options;
    gordian_fault fault;
    gordian_error error = {0};
    gordian_circuit_options_init(&options);
    options.import = give_import;
    options.context = (void *)(uintptr_t)wanted;
    gordian_status status =
        read_into(&circuit, GORDIAN_FORMAT_TREO, text, &options, &fault, &error);
    CHECK_MSG(status == expected, "%s: %s", wanted, error.message);
    CHECK((status == GORDIAN_OK) == (circuit != NULL));
    if (message)
        CHECK_MSG(strstr(error.message, message) && strcmp(fault.file, file) == 0, "%s: %s: %s",
                  wanted, fault.file, error.message);
    gordian_circuit_close(circuit);
}

static void test_reading(void)
{
    gordian_circuit *circuit;
    gordian_fault fault;
    gordian_error error = {0};
    CHECK(read_into(&circuit, GORDIAN_FORMAT_TREO, "main() {\n    fifo1(a b)\n}", NULL, &fault,
                    &error) == GORDIAN_STATUS_INPUT);
    CHECK(!circuit && error.line == 2 && error.column == 13);
    CHECK(strcmp(fault.file, "test.treo") == 0 && strcmp(fault.line, "    fifo1(a b)") == 0 &&
          fault.caret == 12);
    CHECK(read_into(&circuit, GORDIAN_FORMAT_AUT, "", NULL, NULL, NULL) == GORDIAN_STATUS_INPUT);
    check_import("right", GORDIAN_OK, NULL, NULL);
    check_import("twice", GORDIAN_OK, NULL, NULL);
    check_import("wrong", GORDIAN_STATUS_INPUT, "expected", "lib/pipe.treo");
    check_import("nothing", GORDIAN_STATUS_INPUT, "nothing was read", "test.treo");
    CHECK(gordian_format_of("x.ca") == GORDIAN_FORMAT_CA);
    CHECK(gordian_format_of(".ca") == GORDIAN_FORMAT_NONE);
}

/* ------------------------------------------------------------------ what circuits tell */

static void test_texts(void)
{
    char whole[100], cut[8];
    gordian_circuit *circuit = read_text(ring, NULL, "0,1");
    gordian_circuit_info info;
    gordian_automaton_info automaton;
    gordian_circuit_describe(circuit, &info);
    CHECK(info.automaton_count == 2 && info.name_count == 3 && info.datum_count == 2);
    CHECK(info.combinations == 9 && info.initial == 1 && strcmp(info.title, "main") == 0);
    CHECK(gordian_circuit_automaton(circuit, 1, &automaton) == GORDIAN_OK);
    CHECK(automaton.state_count == 3 && automaton.transition_count == 4);
    CHECK(gordian_circuit_automaton(circuit, 2, &automaton) == GORDIAN_STATUS_END);
    CHECK(strcmp(gordian_circuit_name(circuit, 1), "b") == 0 && !gordian_circuit_name(circuit, 3));
    CHECK(gordian_circuit_is_port(circuit, 0) && !gordian_circuit_is_port(circuit, 1));
    CHECK(strcmp(gordian_circuit_datum(circuit, 1), "1") == 0);
    CHECK(!gordian_circuit_datum(circuit, 2) && gordian_circuit_is_routing(circuit));
    CHECK(gordian_circuit_automaton_text(circuit, 1, whole, sizeof whole) == 10 &&
          strcmp(whole, "fifo1(b,c)") == 0);
    for (size_t size = 1; size <= sizeof cut; size++) {
        memset(cut, '?', sizeof cut);
        CHECK(gordian_circuit_automaton_text(circuit, 1, cut, size) == 10);
        CHECK(strlen(cut) == size - 1 && strncmp(cut, whole, size - 1) == 0);
    }
    CHECK(gordian_circuit_automaton_text(circuit, 1, NULL, 0) == 10);
    CHECK(gordian_circuit_automaton_text(circuit, 9, whole, sizeof whole) == 0 && !whole[0]);
    CHECK(gordian_circuit_state_text(circuit, 0, 9, whole, sizeof whole) == 0);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ composing */

struct tally {
    uint64_t rows, transitions, initial, with_one;
    size_t words;
    gordian_status answer;
};

static gordian_status tally_begin(void *context, const gordian_circuit *circuit, uint64_t states,
                                  uint64_t transitions, gordian_error *error)
{
    struct tally *tally = context;
    gordian_circuit_info info;
    (void)states, (void)transitions, (void)error;
    gordian_circuit_describe(circuit, &info);
    tally->words = info.label_words;
    return GORDIAN_OK;
}

static gordian_status tally_row(void *context, const gordian_compose_row *row, gordian_error *error)
{
    struct tally *tally = context;
    (void)error;
    CHECK(row->number == tally->rows);
    tally->rows++;
    tally->transitions += row->count;
    tally->initial += row->initial;
    for (size_t i = 0; i < row->count; i++)
        tally->with_one += row->labels[i * tally->words] & 1; /* `a` fires */
    return tally->answer;
}

/* As rows, as a file and as a graph at once: it is the same product. */
static void test_products(void)
{
    static const gordian_format formats[] = {GORDIAN_FORMAT_AUT, GORDIAN_FORMAT_CA,
                                             GORDIAN_FORMAT_DOT};
    gordian_circuit *circuit = read_text(ring, NULL, NULL);
    gordian_graph *graph;
    gordian_compose_result result;
    struct tally tally = {0};
    gordian_compose_sink sink = {&tally, tally_begin, tally_row};
    REQUIRE(gordian_compose_graph(&graph, circuit, NULL, &sink, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(tally.rows == 4 && tally.transitions == 6 && tally.initial == 1 && tally.with_one == 3);
    CHECK(gordian_graph_states(graph) == 4 && gordian_graph_transitions(graph) == 6);
    CHECK(result.states == 4 && result.transitions == 6 && result.deadlocks == 0);
    gordian_compose_result_free(&result);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        struct sheet streamed = {0}, written = {0};
        gordian_writer to = {write_sheet, i == 0 ? rewrite_sheet : NULL, &streamed};
        tally = (struct tally){0};
        CHECK(gordian_compose_write(circuit, NULL, &sink, formats[i], &to, &result, NULL) ==
              GORDIAN_OK);
        CHECK(tally.rows == 4 && result.states == 4 && streamed.rewritten == (i == 0));
        gordian_compose_result_free(&result);
        to.context = &written;
        CHECK(gordian_graph_write(graph, "main", circuit, formats[i], &to, NULL) == GORDIAN_OK);
        CHECK(written.size > 0 && (i > 0 || strcmp(streamed.bytes, written.bytes) == 0));
        free(streamed.bytes);
        free(written.bytes);
    }
    tally = (struct tally){.answer = GORDIAN_STATUS_END};
    CHECK(gordian_compose(circuit, NULL, &sink, &result, NULL) == GORDIAN_STATUS_END);
    CHECK(tally.rows == 1 && result.states == 0 && !result.found);
    gordian_graph_close(graph);
    tally = (struct tally){.words = 1}; /* nobody has to be told of the beginning */
    sink.begin = NULL;
    CHECK(gordian_compose(circuit, NULL, &sink, &result, NULL) == GORDIAN_OK && tally.rows == 4);
    gordian_compose_result_free(&result);
    tally = (struct tally){.words = 1};
    REQUIRE(gordian_compose_graph(&graph, circuit, NULL, &sink, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(tally.rows == 4);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

static void test_bad_writers(void)
{
    gordian_circuit *circuit = read_text(ring, NULL, NULL);
    gordian_compose_result result;
    gordian_error error;
    struct sheet sheet = {.limit = 5};
    gordian_writer to = {write_sheet, NULL, &sheet};
    CHECK(gordian_compose_write(circuit, NULL, NULL, GORDIAN_FORMAT_AUT, &to, &result, &error) ==
          GORDIAN_STATUS_IO);
    CHECK(strstr(error.message, strerror(ENOSPC)) && result.states == 0 && sheet.size == 0);
    CHECK(gordian_circuit_write(circuit, GORDIAN_FORMAT_DOT, &to, &error) == GORDIAN_STATUS_IO);
    CHECK(gordian_circuit_write(circuit, GORDIAN_FORMAT_AUT, &to, &error) == GORDIAN_STATUS_INPUT);
    CHECK(gordian_compose_write(circuit, NULL, NULL, GORDIAN_FORMAT_NONE, &to, &result, &error) ==
          GORDIAN_STATUS_INPUT);
    gordian_circuit_close(circuit);
}

static bool stop_at_once(void *context, const gordian_compose_progress *progress)
{
    unsigned *asked = context;
    (void)progress;
    ++*asked;
    return false;
}

static bool never_stop(void *context, const gordian_compose_progress *progress)
{
    (void)context, (void)progress;
    return true;
}

/* A circuit that nobody can compose: what stops it is told. */
static void test_limits(void)
{
    gordian_circuit *circuit = read_text(ring, "crowd", NULL);
    gordian_graph *graph;
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_error error;
    unsigned asked = 0;
    gordian_compose_options_init(&options);
    options.engine = "cpu";
    options.count_transitions = false;
    options.max_ns = 1;
    CHECK(gordian_compose(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_TIME && strcmp(result.engine, "cpu") == 0);
    gordian_compose_result_free(&result);
    options.go_on = never_stop;
    CHECK(gordian_compose_graph(&graph, circuit, &options, NULL, NULL, &result, &error) ==
          GORDIAN_OK);
    CHECK(!graph && result.stop == GORDIAN_COMPOSE_STOP_TIME);
    gordian_compose_result_free(&result);
    options.max_ns = UINT64_MAX;
    options.go_on = stop_at_once;
    options.context = &asked;
    CHECK(gordian_compose(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STOPPED && asked > 0);
    gordian_compose_result_free(&result);
    options.go_on = NULL;
    options.max_states = 1000;
    CHECK(gordian_compose(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STATES);
    gordian_compose_result_free(&result);
    options.engine = "nosuch";
    CHECK(gordian_compose(circuit, &options, NULL, &result, &error) == GORDIAN_STATUS_UNAVAILABLE);
    uint32_t twice[60] = {0};
    options.engine = NULL;
    options.order = twice;
    CHECK(gordian_compose(circuit, &options, NULL, &result, &error) == GORDIAN_STATUS_INPUT);
    gordian_compose_stage stages[60];
    CHECK(gordian_compose_explain(circuit, twice, 10, stages, NULL, &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK(gordian_compose_explain(circuit, NULL, 10, stages, NULL, &error) == GORDIAN_OK);
    CHECK(stages[2].states == 8 && stages[59].states == UINT64_MAX);
    gordian_circuit_close(circuit);
}

static void test_deadlock(void)
{
    char text[40];
    gordian_circuit *circuit = read_text(ring, "stuck", NULL);
    gordian_graph *graph;
    gordian_compose_result result;
    gordian_graph_deadlocks found;
    REQUIRE(gordian_compose_graph(&graph, circuit, NULL, NULL, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(result.deadlocks == 1 && result.found_count == 1 && result.found[0].step_count == 0);
    gordian_circuit_state_text(circuit, 0, result.found[0].state[0], text, sizeof text);
    CHECK_MSG(strcmp(text, "m=0") == 0, "%s", text);
    CHECK(gordian_graph_find_deadlocks(graph, &found, NULL) == GORDIAN_OK);
    CHECK(found.states == 1 && found.transitions == 0 && found.deadlocks == 1);
    CHECK(found.state == 0 && found.path_count == 0);
    gordian_graph_deadlocks_free(&found);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ graphs */

static gordian_graph *read_graph(const char *text, bool *cut)
{
    gordian_graph *graph;
    gordian_bytes bytes = {text, strlen(text)};
    gordian_source source = gordian_source_bytes(&bytes);
    REQUIRE(gordian_graph_read(&graph, "test.aut", &source, NULL, cut, NULL, NULL) == GORDIAN_OK);
    return graph;
}

/* The nearest of two deadlocks, and nothing of what cannot be reached. */
static void test_graphs(void)
{
    bool cut;
    size_t count;
    gordian_graph_deadlocks found;
    gordian_graph *graph = read_graph("des (0,6,7)\n(0,\"a\",1)\n(1,\"b\",2)\n(2,\"c\",3)\n"
                                      "(1,\"d\",4)\n(4,\"e\",1)\n(5,\"f\",6)\n",
                                      &cut);
    CHECK(!cut && gordian_graph_states(graph) == 7 && gordian_graph_transitions(graph) == 6);
    CHECK(*gordian_graph_initial(graph, &count) == 0 && count == 1);
    const gordian_graph_arc *arcs = gordian_graph_arcs(graph, 1, &count);
    CHECK(count == 2 && strcmp(gordian_graph_label(graph, arcs[1].label), "d") == 0);
    CHECK(arcs[1].to == 4 && strcmp(gordian_graph_label(graph, 0), "tau") == 0);
    CHECK(!gordian_graph_label(graph, 99) && !gordian_graph_arcs(graph, 7, &count) && count == 0);
    CHECK(gordian_graph_find_deadlocks(graph, &found, NULL) == GORDIAN_OK);
    CHECK(found.states == 5 && found.transitions == 5 && found.deadlocks == 1 && found.state == 3);
    CHECK(found.path_count == 3 && found.path[0].to == 1 && found.path[2].to == 3);
    CHECK(strcmp(gordian_graph_label(graph, found.path[1].label), "b") == 0);
    gordian_graph_deadlocks_free(&found);
    gordian_graph_close(graph);
    graph = read_graph("des (0,2,2)\n(0,\"a\",1)\n", &cut);
    CHECK(cut && gordian_graph_transitions(graph) == 1);
    gordian_graph_close(graph);
}

/* Outside of the loop nothing shows: a livelock, and something else than the loop in full. */
static void test_operations(void)
{
    gordian_circuit *circuit = read_text(ring, "loop", NULL);
    gordian_graph *product, *hidden, *minimal;
    gordian_compose_result result;
    gordian_hiding inner = gordian_hide_inner(circuit);
    gordian_livelock livelock;
    gordian_difference difference;
    bool equal;
    REQUIRE(gordian_compose_graph(&product, circuit, NULL, NULL, NULL, &result, NULL) ==
            GORDIAN_OK);
    CHECK(gordian_graph_livelock(product, &inner, &livelock, NULL) == GORDIAN_OK);
    CHECK(livelock.states == 4 && livelock.path_count == 0 && livelock.cycle_count == 2);
    CHECK(livelock.cycle[1].to == livelock.state);
    gordian_livelock_free(&livelock);
    REQUIRE(gordian_graph_hide(&hidden, product, &inner, NULL) == GORDIAN_OK);
    REQUIRE(gordian_graph_minimise(&minimal, hidden, NULL) == GORDIAN_OK);
    CHECK(gordian_graph_states(minimal) <= gordian_graph_states(hidden));
    CHECK(gordian_graph_equal(hidden, minimal, &equal, &difference, NULL) == GORDIAN_OK && equal);
    CHECK(gordian_graph_equal(product, minimal, &equal, &difference, NULL) == GORDIAN_OK && !equal);
    CHECK(difference.count > 0 && difference.labels[difference.count - 1]);
    gordian_difference_free(&difference);
    gordian_graph_close(minimal);
    gordian_graph_close(hidden);
    gordian_graph_close(product);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* With one datum less, and with another circuit behind it. */
static void test_joining(void)
{
    gordian_circuit *one = read_text(ring, NULL, "0,1"), *lean, *joined;
    gordian_circuit *behind = read_text("main(c?,d!) { fifo1(c,b) fifo1(b,d) }", NULL, "0,1");
    const gordian_circuit *both[] = {one, behind};
    gordian_circuit_info info;
    REQUIRE(gordian_circuit_join(&lean, both, 1, gordian_circuit_datum(one, 0), NULL, NULL) ==
            GORDIAN_OK);
    gordian_circuit_describe(lean, &info);
    CHECK(info.datum_count == 1 && info.combinations == 4 && strcmp(info.title, "main") == 0);
    REQUIRE(gordian_circuit_join(&joined, both, 2, NULL, NULL, NULL) == GORDIAN_OK);
    gordian_circuit_describe(joined, &info);
    CHECK(info.automaton_count == 4 && info.name_count == 5);
    CHECK(strcmp(gordian_circuit_name(joined, 1), "b@1") == 0);
    gordian_circuit_close(joined);
    gordian_circuit_close(lean);
    gordian_circuit_close(behind);
    gordian_circuit_close(one);
}

int main(void)
{
    test_reading();
    test_texts();
    test_products();
    test_bad_writers();
    test_limits();
    test_deadlock();
    test_graphs();
    test_operations();
    test_joining();
    return test_done();
}

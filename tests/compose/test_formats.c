/* .ca, .aut and .dot: what is written is read back as the same. */
#include "compose.h"
#include "engines/compose/format/aut.h"
#include "engines/compose/format/dot.h"
#include "foundation/base/io/output.h"
#include "foundation/base/io/temporary.h"
#include "foundation/base/memory.h"
#include "foundation/base/meter.h"
#include "foundation/base/random.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static const struct {
    const char *text, *main, *data;
} circuits[] = {
    {"main(a[0]?,a[3]!) { fifo1(a[i],a[i+1]) | i:<0..2> }", NULL, NULL},
    {"main(a[0]?,a[2]!) { fifo1(a[i],a[i+1]) | i:<0..1> }", NULL, "0,1"},
    {"main(a?,b?,c!) { sync(a,c) fifofull<1>(b,c) }", NULL, "0,1,-1"},
    {"main(a?,b!) { filter<<0,2>>(a,x) transform<{[0,1] [2,2]}>(x,y) fifo1(y,b) }", NULL, "0,1,2"},
    {"main(a?,b!) { filter<\"even\">(a,x) transform<\"succ\">(x,b) }", NULL, "0,1,2"},
    {"k<f:t>(a?,b?,c!) { #RBA {a,b,c} c=f(a,b), !(a=b) || a=0 {a} a!=0 }",
     "k<{[[0,0],0] [[0,1],1] [[1,0],1]}>", "0,1"},
    {"main(a?,b!) { #CA q0* -> `q 1` : {a} $m'=a; `q 1` -> q0 : {b} b=$m, $m'=null; q0 -> q0 : "
     "{a,b} }",
     NULL, "x,y"},
    {"main() { fifofull<0>(x,x) fifo1(a,b) syncdrain(b,b) }", NULL, "0,1"},
    {"f() { fifo1(a[i],b[i]) | i:<1..5> }", NULL, NULL},
    {"main() { }", NULL, NULL},
    {"main(a?) { #CA q* -> r : {a} }", NULL, NULL},
};
#define CIRCUITS (sizeof circuits / sizeof *circuits)

/* Sends a graph made by the plain product through a sink, as an engine would. */
static gordian_status send(const gordian_circuit *circuit, gordian_compose_sink *sink,
                           uint64_t transitions, uint32_t states_at_most)
{
    gordian_graph *graph = product_of(circuit);
    gordian_error error = {0};
    REQUIRE(graph);
    size_t words = circuit->label_words;
    gordian_status status = sink->begin(sink->context, circuit, graph->state_count,
                                        transitions ? transitions : graph->arc_count, &error);
    uint64_t *labels = calloc(graph->arc_count + 1, words * sizeof *labels);
    uint64_t *to = calloc(graph->arc_count + 1, sizeof *to);
    uint32_t *state = calloc(circuit->factor_count + 1, sizeof *state);
    for (uint32_t s = 0; s < graph->state_count && s < states_at_most && status == GORDIAN_OK;
         s++) {
        size_t first = graph->first[s], count = graph->first[s + 1] - first;
        for (size_t i = 0; i < count; i++) {
            /* back from the text to bits */
            char *text = strdup(labels_text(&graph->labels, graph->arcs[first + i].label));
            memset(labels + i * words, 0, words * sizeof *labels);
            for (char *name = strtok(text, "|"); name; name = strtok(NULL, "|")) {
                char *value = strchr(name, '=');
                uint32_t datum = 0, number;
                if (value) {
                    *value++ = '\0';
                    datum = circuit->data
                                .index[names_find(&circuit->data.texts, value, strlen(value))] -
                            1;
                }
                number = names_find(&circuit->names, name, strlen(name));
                bits_set(labels + i * words, number);
                for (uint32_t b = 0; b < circuit->value_bits; b++)
                    if (datum >> b & 1)
                        bits_set(labels + i * words,
                                 circuit->name_count + number * circuit->value_bits + b);
            }
            free(text);
            to[i] = graph->arcs[first + i].to;
        }
        gordian_compose_row row = {s, state, s == 0, count, labels, to};
        status = sink->row(sink->context, &row, &error);
    }
    free(labels);
    free(to);
    free(state);
    gordian_graph_close(graph);
    return status;
}

static gordian_graph *read_aut_bytes(const char *bytes, size_t size, bool *cut)
{
    struct text text;
    gordian_graph *graph = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    REQUIRE(text_copy(&text, "test.aut", bytes, size, NULL, &error) == GORDIAN_OK);
    if (aut_read(&graph, &text, cut, NULL, &fault, &error) != GORDIAN_OK)
        fprintf(stderr, "test.aut:%d:%d: %s\n%s\n", (int)error.line, (int)error.column,
                error.message, fault.line);
    text_free(&text);
    return graph;
}

static gordian_graph *read_aut(const char *text, bool *cut)
{
    return read_aut_bytes(text, strlen(text), cut);
}

/* ------------------------------------------------------------------ .ca */

static void check_ca(size_t which)
{
    struct output out;
    uint32_t where;
    gordian_circuit *circuit =
        read_circuit(circuits[which].text, circuits[which].main, circuits[which].data);
    gordian_graph *expected = product_of(circuit);
    REQUIRE(expected && output_open(&out, -1));
    CHECK(ca_write_circuit(circuit, &out, NULL) == GORDIAN_OK);
    output_char(&out, '\0');
    if (circuit->factor_count > 0) {
        gordian_circuit *again = read_ca(out.buffer, NULL);
        gordian_graph *graph = product_of(again);
        bool same = false; /* names and factors keep their order, states of a factor may not */
        CHECK_MSG(graph && graph_isomorphic(expected, graph, &same, NULL) == GORDIAN_OK && same,
                  "%s\n%s", circuits[which].text, out.buffer);
        gordian_graph_close(graph);
        gordian_circuit_close(again);
    }
    /* the product as one automaton */
    struct ca_sink sink;
    out.used = 0;
    ca_sink_open(&sink, &out);
    CHECK(send(circuit, &sink.sink, 0, UINT32_MAX) == GORDIAN_OK);
    ca_sink_close(&sink, false);
    output_char(&out, '\0');
    gordian_circuit *one = read_ca(out.buffer, NULL);
    gordian_graph *graph = product_of(one);
    bool same = false;
    CHECK_MSG(graph && graph_isomorphic(expected, graph, &same, NULL) == GORDIAN_OK && same,
              "%s\n%s", circuits[which].text, out.buffer);
    (void)where;
    gordian_graph_close(graph);
    gordian_circuit_close(one);
    output_close(&out);
    gordian_graph_close(expected);
    gordian_circuit_close(circuit);
}

static void check_ca_network(void)
{
    gordian_circuit *circuit = read_ca("// two buffers in a row\n"
                                       "data 0, 1\n"
                                       "automaton one (a?, b!) {\n"
                                       "  memory m\n"
                                       "  e* -> f : {a} $m' = a\n"
                                       "  f -> e : {b} b = $m, $m' = null\n"
                                       "}\n"
                                       "automaton \"the other\" (b?, c!) {\n"
                                       "  e* -> f0 : {b} b = 0; e -> f1 : {b} b = 1\n"
                                       "  f0 -> e : {c} c = 0\n"
                                       "  f1 -> e : {c}, c = 1\n"
                                       "}\n",
                                       NULL);
    gordian_graph *graph = product_of(circuit);
    CHECK(graph && graph->state_count == 9 && graph->arc_count == 18);
    CHECK(circuit->boundary[0] && !circuit->boundary[1] && circuit->boundary[2]);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    circuit =
        read_ca("data 0 1 automaton x (a?) { q* -> q : {a} }", "0,1,2"); /* the caller is right */
    CHECK(circuit && circuit->data.domain_size == 3);
    gordian_circuit_close(circuit);
}

static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
} bad_ca[] = {
    {"", 0, 0, "no automaton"},
    {"fsm", 1, 1, "expected 'automaton'"},
    {"automaton", 1, 10, "expected a title"},
    {"automaton x", 1, 12, "the ports"},
    {"automaton x (a?) {\n q -> : {a} }", 2, 7, "expected a state"},
    {"automaton x (a?) {\n q -> r {a} }", 2, 9, "expected ':'"},
    {"automaton x (a?) {\n q -> r : {b} }", 2, 12, "'b' is not a port of 'x'"},
    {"automaton x (a?) {\n q -> r : {} }", 2, 2, "at least one port"},
    {"automaton x (a?) {\n q -> r : {a} b = a }", 2, 15, "neither a port"},
    {"automaton x (a?, a!) { }", 1, 18, "twice"},
    {"automaton x (a[1]?) { }", 1, 14, "without [ ]"},
    {"automaton x (a?) { q -> r : {a} a = 3 } data 0", 1, 41, "expected 'automaton'"},
    {"data 0 1\nautomaton x (a?) { q -> r : {a} a = 3 }", 2, 37, "'3' is not among"},
    {"automaton x (a?) { q -> r : {a} f(a) }", 1, 33, "no built-in predicate"},
    {"data automaton x (a?) { }", 1, 6, "expected a data value"},
};

static void check_bad_ca(void)
{
    for (size_t i = 0; i < sizeof bad_ca / sizeof *bad_ca; i++) {
        struct text text;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        REQUIRE(text_copy(&text, "bad.ca", bad_ca[i].text, strlen(bad_ca[i].text), NULL, &error) ==
                GORDIAN_OK);
        gordian_status status = ca_read(&circuit, &text, NULL, &fault, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && !circuit && error.line == bad_ca[i].line &&
                      error.column == bad_ca[i].column && strstr(error.message, bad_ca[i].message),
                  "%s: %d:%d: %s", bad_ca[i].text, (int)error.line, (int)error.column,
                  error.message);
        gordian_circuit_close(circuit);
        text_free(&text);
    }
}

/* ------------------------------------------------------------------ .aut */

static void check_aut(size_t which)
{
    struct output out;
    struct aut_sink sink;
    uint32_t where;
    bool cut;
    gordian_circuit *circuit =
        read_circuit(circuits[which].text, circuits[which].main, circuits[which].data);
    gordian_graph *expected = product_of(circuit);
    REQUIRE(expected && output_open(&out, -1));
    aut_write(expected, &out);
    gordian_graph *graph = read_aut_bytes(out.buffer, out.used, &cut);
    CHECK_MSG(graph && !cut && graph_same(expected, graph, &where), "%s", circuits[which].text);
    gordian_graph_close(graph);
    /* the stream writes the same bytes */
    char *copy = memcpy(malloc(out.used), out.buffer, out.used);
    size_t size = out.used;
    out.used = 0;
    aut_sink_open(&sink, &out);
    CHECK(!sink.in_place && send(circuit, &sink.sink, 0, UINT32_MAX) == GORDIAN_OK);
    CHECK(aut_sink_close(&sink, false));
    CHECK_MSG(out.used == size && memcmp(out.buffer, copy, size) == 0, "%.*s", (int)out.used,
              out.buffer);
    free(copy);
    output_close(&out);
    gordian_graph_close(expected);
    gordian_circuit_close(circuit);
}

static size_t slurp(const char *path, char *buffer, size_t size)
{
    FILE *file = fopen(path, "r");
    REQUIRE(file);
    size_t length = fread(buffer, 1, size, file);
    fclose(file);
    return length;
}

/* Into a file: when the run knows how many lines there will be, and when not; finished, and killed.
 */
static void check_in_place(void)
{
    static char bytes[4 << 20];
    char path[PATH_MAX];
    int fd;
    gordian_circuit *circuit =
        read_circuit("main() { fifo1(a[i],b[i]) | i:<1..8> }", NULL, NULL); /* 65280 transitions */
    gordian_graph *expected = product_of(circuit);
    REQUIRE(expected &&
            temporary_file("gordian-test", "", path, sizeof path, &fd, NULL) == GORDIAN_OK);
    for (int round = 0; round < 4; round++) {
        struct output out;
        struct aut_sink sink;
        bool cut, known = round % 2 == 0, killed = round >= 2;
        REQUIRE(ftruncate(fd, 0) == 0 && lseek(fd, 0, SEEK_SET) == 0);
        gordian_writer writer = gordian_writer_fd(&fd);
        REQUIRE(output_open_writer(&out, &writer));
        aut_sink_open(&sink, &out);
        CHECK(sink.in_place);
        CHECK(send(circuit, &sink.sink, known ? 0 : UINT64_MAX, killed ? 200 : UINT32_MAX) ==
              GORDIAN_OK);
        if (killed) /* what the buffer holds is lost */
            out.used = 0;
        else
            CHECK(aut_sink_close(&sink, false));
        size_t size = slurp(path, bytes, sizeof bytes);
        gordian_graph *graph = read_aut_bytes(bytes, size, &cut);
        CHECK(graph && cut == (killed || !known)); /* padding stays where nothing was known */
        uint32_t where = 0;
        if (!killed)
            CHECK(graph && graph_same(expected, graph, &where));
        else
            CHECK_MSG(graph && graph->state_count == expected->state_count &&
                          graph->arc_count > 10000 && graph->arc_count < expected->arc_count,
                      "%zu", graph ? graph->arc_count : 0);
        if (!killed && known)
            CHECK(strncmp(bytes, "des (0,65280,256)\n", 18) == 0);
        gordian_graph_close(graph);
        output_close(&out);
    }
    close(fd);
    /* appended to something: not in place */
    fd = open(path, O_WRONLY | O_APPEND | O_TRUNC);
    struct output out;
    struct aut_sink sink;
    REQUIRE(fd >= 0);
    gordian_writer writer = gordian_writer_fd(&fd);
    REQUIRE(output_open_writer(&out, &writer));
    aut_sink_open(&sink, &out);
    CHECK(!sink.in_place);
    CHECK(send(circuit, &sink.sink, UINT64_MAX, 1) == GORDIAN_STATUS_INPUT);
    output_close(&out);
    close(fd);
    /* a full disk */
    fd = open("/dev/full", O_WRONLY);
    if (fd >= 0) {
        writer = gordian_writer_fd(&fd);
        REQUIRE(output_open_writer(&out, &writer));
        aut_sink_open(&sink, &out);
        CHECK(send(circuit, &sink.sink, 0, UINT32_MAX) == GORDIAN_STATUS_IO);
        output_close(&out);
        close(fd);
    }
    unlink(path);
    gordian_graph_close(expected);
    gordian_circuit_close(circuit);
}

static const struct {
    const char *text;
    unsigned line, column;
    const char *message;
} bad_aut[] = {
    {"", 1, 1, "expected 'des"},
    {"des 0", 1, 5, "expected '('"},
    {"des (0,1)", 1, 9, "expected ','"},
    {"des (0,1,99999999999)", 1, 1, "too many states"},
    {"des (0,1,99999999999999999999999)", 1, 10, "too large"},
    {"des (3,0,2)", 1, 1, "first state"},
    {"des (0,1,2)\n(0,\"a,1)", 2, 4, "not terminated"},
    {"des (0,1,2)\n(0,\"a\",2)", 2, 8, "more states than the header"},
    {"des (0,1,2)\n(0,\"\",1)", 2, 4, "empty"},
    {"des (0,1,2)\n0,\"a\",1)", 2, 1, "expected '('"},
    {"des (0,1,2)\n(0 1)", 2, 4, "expected ','"},
};

static void check_reading_aut(void)
{
    bool cut;
    gordian_graph *graph =
        read_aut(" des ( 1 , 3 , 2 ) \n ( 0 , a b , 1 )\n\n(1,\"tau\",0)\r\n(0,x,y,0)", &cut);
    CHECK(graph && graph->state_count == 2 && graph->arc_count == 3 && graph->initial[0] == 1);
    CHECK(graph && labels_find(&graph->labels, "a b", 3) != GORDIAN_NONE &&
          labels_find(&graph->labels, "x,y", 3) != GORDIAN_NONE);
    CHECK(graph && graph->arcs[graph->first[1]].label == LABEL_TAU);
    gordian_graph_close(graph);
    graph = read_aut("des (0,2,1)\n(0,z\"a,b\",0)\n(0,\"c\"d\",0)", &cut); /* quotes inside */
    CHECK(graph && labels_find(&graph->labels, "z\"a,b\"", 6) != GORDIAN_NONE &&
          labels_find(&graph->labels, "c\"d", 3) != GORDIAN_NONE);
    gordian_graph_close(graph);
    graph = read_aut("des (0,9,2)\n(0,\"a\",1)\n", &cut); /* cut short */
    CHECK(graph && cut && graph->arc_count == 1);
    gordian_graph_close(graph);
    graph = read_aut("des (0,1,2)\n(0,\"a\",1)\n(0,\"b", &cut); /* a line begun */
    CHECK(graph && cut && graph->arc_count == 1);
    gordian_graph_close(graph);
    for (size_t i = 0; i < sizeof bad_aut / sizeof *bad_aut; i++) {
        struct text text;
        gordian_fault fault;
        gordian_error error = {0};
        REQUIRE(text_copy(&text, "bad.aut", bad_aut[i].text, strlen(bad_aut[i].text), NULL,
                          &error) == GORDIAN_OK);
        gordian_status status = aut_read(&graph, &text, NULL, NULL, &fault, &error);
        CHECK_MSG(
            status == GORDIAN_STATUS_INPUT && !graph && error.line == bad_aut[i].line &&
                error.column == bad_aut[i].column && strstr(error.message, bad_aut[i].message),
            "%s: %d:%d: %s", bad_aut[i].text, (int)error.line, (int)error.column, error.message);
        text_free(&text);
    }
}

/* ------------------------------------------------------------------ hostile numbers */

#define HOSTILE_MEMORY (UINT64_C(64) << 20)

/* Read or refused, within so much memory: what a text only promises takes none. */
static void check_within(gordian_format format, const char *text, size_t size)
{
    gordian_bytes bytes = {text, size};
    gordian_source source = gordian_source_bytes(&bytes);
    gordian_circuit_options options = {0};
    gordian_circuit *circuit = NULL;
    gordian_graph *graph = NULL;
    gordian_error error = {0};
    struct meter meter;
    meter_open(&meter, NULL, HOSTILE_MEMORY);
    options.allocator = &meter.memory;
    gordian_status status =
        format == GORDIAN_FORMAT_AUT
            ? gordian_graph_read(&graph, "x", &source, &meter.memory, NULL, NULL, &error)
            : gordian_circuit_read(&circuit, format, "x", &source, &options, NULL, &error);
    CHECK_MSG(status == GORDIAN_OK || status == GORDIAN_STATUS_INPUT, "%.*s: %s", (int)size, text,
              error.message);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    meter_close(&meter);
}

/* Every number of a text becomes every number that may hurt. */
static void check_hostile(gordian_format format, const char *text)
{
    static const char *const numbers[] = {"0",
                                          "1048577",
                                          "600000000",
                                          "2147483648",
                                          "4294967293",
                                          "4294967295",
                                          "18446744073709551615",
                                          "99999999999999999999"};
    for (const char *at = text; *at; at += strspn(at, "0123456789")) {
        at += strcspn(at, "0123456789");
        for (size_t i = 0; *at && i < sizeof numbers / sizeof *numbers; i++) {
            char changed[1000];
            int size = snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text,
                                numbers[i], at + strspn(at, "0123456789"));
            REQUIRE(size > 0 && size < (int)sizeof changed);
            check_within(format, changed, (size_t)size);
        }
    }
}

static void check_promises(void)
{
    static const char *const graphs[] = {
        "des (0,0,600000000)\n", "des (599999999,0,600000000)\n",
        "des (0,1,600000000)\n(0,\"a\",599999999)\n",
        "des (0,2,4294967293)\n(0,\"a\",4294967292)\n(4294967290,\"a\",1)\n",
        "des (0,4000000000,600000000)\t\n(0,\"a\",1)\n"};
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        check_within(GORDIAN_FORMAT_AUT, graphs[i], strlen(graphs[i]));
    check_hostile(GORDIAN_FORMAT_AUT, "des (0,2,3)\n(0,\"a\",1)\n(1,\"a\",2)\n");
    check_hostile(GORDIAN_FORMAT_CA, "data 0 1\nautomaton a (x) { memory m = 0\n"
                                     "0* -> 1 : {x} 3, $m = 0, $m' = 1\n1 -> 0 : {x} }\n");
    check_hostile(GORDIAN_FORMAT_PNML,
                  "<pnml><net id='n'><place id='p1'><initialMarking><text>1</text>"
                  "</initialMarking></place><transition id='t1'/><arc source='p1' target='t1'>"
                  "<inscription><text>1</text></inscription></arc></net></pnml>");
}

/* ------------------------------------------------------------------ .dot */

static size_t occurrences(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void check_dot(void)
{
    struct output out;
    struct dot_sink sink;
    gordian_circuit *circuit = read_circuit(circuits[1].text, NULL, "0,1");
    gordian_graph *graph = product_of(circuit);
    REQUIRE(graph && output_open(&out, -1));
    dot_write_graph(graph, "a \"title\"", &out);
    output_char(&out, '\0');
    CHECK(strstr(out.buffer, "digraph \"a \\\"title\\\"\" {"));
    CHECK(occurrences(out.buffer, "peripheries=2") == 1 &&
          occurrences(out.buffer, "fillcolor") == 0);
    CHECK(strstr(out.buffer, "label=\"a0=0|a2=1\""));
    out.used = 0;
    dot_sink_open(&sink, &out);
    CHECK(send(circuit, &sink.sink, 0, UINT32_MAX) == GORDIAN_OK);
    dot_sink_close(&sink, false);
    output_char(&out, '\0');
    CHECK(occurrences(out.buffer, " -> ") == 18 && strstr(out.buffer, "fifo1(a0,a1): m=null"));
    out.used = 0;
    dot_write_circuit(circuit, &out);
    output_char(&out, '\0');
    CHECK(occurrences(out.buffer, "shape=box") == 2 && occurrences(out.buffer, " -> ") == 4);
    output_close(&out);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

int main(void)
{
    for (size_t i = 0; i < CIRCUITS; i++) {
        check_ca(i);
        check_aut(i);
    }
    check_ca_network();
    check_bad_ca();
    check_in_place();
    check_reading_aut();
    check_promises();
    check_dot();
    return test_done();
}

/* Nets and processes: random nets against a plain reachability, nets that are not 1-safe, what is
 * written against what is read back, what other tools write, and hostile XML. */
#include "compose.h"

#include "engines/compose/format/pnml.h"
#include "engines/compose/format/process.h"
#include "foundation/base/io/output.h"
#include "foundation/base/random.h"

#include <gordian/compose.h>

/* ------------------------------------------------------------------ the plainest net there is */

#define PLACES      7u
#define TRANSITIONS 7u

struct plain_net {
    unsigned places, transitions, marking;
    unsigned takes[TRANSITIONS], puts[TRANSITIONS];
};

static struct plain_net random_net(struct random *random)
{
    struct plain_net net = {.places = 1 + (unsigned)random_below(random, PLACES),
                            .transitions = 1 + (unsigned)random_below(random, TRANSITIONS)};
    net.marking = (unsigned)random_below(random, 1u << net.places);
    for (unsigned t = 0; t < net.transitions; t++) {
        for (unsigned k = 0; k < 2; k++) {
            net.takes[t] |= 1u << random_below(random, net.places);
            net.puts[t] |= 1u << random_below(random, net.places);
        }
        if (random_below(random, 8) == 0)
            net.takes[t] = 0;
        if (random_below(random, 8) == 0)
            net.puts[t] = 0;
    }
    return net;
}

static bool is_enabled(const struct plain_net *net, unsigned t, unsigned marking)
{
    return (marking & net->takes[t]) == net->takes[t];
}

/* Of a transition that is enabled: would it put a second token into a place? */
static bool overflows(const struct plain_net *net, unsigned t, unsigned marking)
{
    return (marking & net->puts[t] & ~net->takes[t]) != 0;
}

/* *safe: no place ever gets a second token; otherwise the counts mean nothing. */
static void plain_reach(const struct plain_net *net, size_t *states, size_t *dead, bool *safe)
{
    static bool seen[1u << PLACES];
    static unsigned queue[1u << PLACES];
    size_t found = 1;
    memset(seen, 0, sizeof seen);
    seen[net->marking] = true;
    queue[0] = net->marking;
    *dead = 0;
    *safe = true;
    for (size_t at = 0; at < found && *safe; at++) {
        bool any = false;
        for (unsigned t = 0; t < net->transitions; t++) {
            if (!is_enabled(net, t, queue[at]))
                continue;
            *safe = *safe && !overflows(net, t, queue[at]);
            unsigned next = (queue[at] & ~net->takes[t]) | net->puts[t];
            any = true;
            if (!seen[next])
                queue[found++] = next;
            seen[next] = true;
        }
        *dead += !any;
    }
    *states = found;
}

/* ------------------------------------------------------------------ as PNML */

static void write_net(const struct plain_net *net, struct random *random, struct output *out)
{
    bool prefix = random_below(random, 2);
    const char *p = prefix ? "x:" : "";
    output_format(out,
                  "<?xml version=\"1.0\"?>\n<!-- a net -->\n<%spnml xmlns:x='u'><%snet id='n' "
                  "type=\"ptnet\">\n<%spage id=\"g\">",
                  p, p, p);
    for (unsigned i = 0; i < net->places; i++) {
        output_format(out, "<%splace id='p%u'>", p, i);
        if (random_below(random, 2))
            output_format(out, "<%sname><%stext>7 &lt; &#56;</%stext></%sname>", p, p, p, p);
        if (net->marking >> i & 1)
            output_format(out, "<%sinitialMarking><%stext> 1 </%stext></%sinitialMarking>", p, p, p,
                          p);
        output_format(out, "</%splace>\n", p);
    }
    for (unsigned t = 0; t < net->transitions; t++)
        for (unsigned i = 0; i < net->places; i++) {
            if (net->takes[t] >> i & 1)
                output_format(out, "<%sarc id='i%u_%u' source='p%u' target='t%u'/>", p, t, i, i, t);
            if (net->puts[t] >> i & 1)
                output_format(out,
                              "<%sarc id='o%u_%u' source='t%u' target='p%u'><%sinscription><%stext>"
                              "<![CDATA[1]]></%stext></%sinscription></%sarc>",
                              p, t, i, t, i, p, p, p, p, p);
        }
    for (unsigned t = 0; t < net->transitions; t++)
        output_format(out, "<%stransition id='t%u' />", p, t);
    output_format(out, "</%spage></%snet></%spnml>\n", p, p, p);
}

static gordian_circuit *read_pnml(const char *bytes, size_t size)
{
    struct text text;
    gordian_circuit *circuit = NULL;
    gordian_fault fault;
    gordian_error error = {0};
    REQUIRE(text_copy(&text, "x.pnml", bytes, size, NULL, &error) == GORDIAN_OK);
    CHECK_MSG(pnml_read(&circuit, &text, NULL, &fault, &error) == GORDIAN_OK, "%.*s: %s", (int)size,
              bytes, error.message);
    text_free(&text);
    return circuit;
}

static gordian_compose_result compose_net(const gordian_circuit *circuit, const char *engine)
{
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.engine = engine;
    options.threads = 1;
    options.count_transitions = false;
    CHECK(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    return result;
}

static void count_circuit(const gordian_circuit *circuit, uint64_t *states, uint64_t *dead)
{
    /* no threads: thousands of small runs */
    gordian_compose_result result = compose_net(circuit, "dense");
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_COMPLETE);
    *states = result.states;
    *dead = result.deadlocks;
    gordian_compose_result_free(&result);
}

/* Fires the way that was found, one transition after the other; the last one, and no other, puts a
 * second token into a place. */
static bool shows_second_token(const struct plain_net *net, const gordian_circuit *circuit,
                               const gordian_compose_deadlock *way)
{
    gordian_circuit_info info;
    unsigned marking = net->marking;
    bool fine = way->labels != NULL, second = false;
    gordian_circuit_describe(circuit, &info);
    for (size_t i = 0; i < way->step_count && fine; i++)
        for (uint32_t n = 0; n < info.name_count && fine; n++) {
            if (!(way->labels[i * info.label_words + n / 64] >> n % 64 & 1))
                continue;
            unsigned t = (unsigned)atoi(gordian_circuit_name(circuit, n) + 1);
            fine = !second && is_enabled(net, t, marking);
            second = overflows(net, t, marking);
            marking = (marking & ~net->takes[t]) | net->puts[t];
        }
    return fine && second;
}

static void check_unsafe(const struct plain_net *net, const gordian_circuit *circuit,
                         uint64_t number)
{
    gordian_compose_result result = compose_net(circuit, number % 2 ? "cpu" : "dense");
    CHECK_MSG(result.stop == GORDIAN_COMPOSE_STOP_UNSAFE && result.deadlocks == 0 &&
                  result.found_count == 1 && strstr(result.note, "second token"),
              "net %llu: stop %d", (unsigned long long)number, (int)result.stop);
    if (result.found_count == 1)
        CHECK_MSG(shows_second_token(net, circuit, &result.found[0]), "net %llu",
                  (unsigned long long)number);
    gordian_compose_result_free(&result);
}

/* Written as a net of its automata, which is 1-safe if each has one state at a time. */
static void check_again(const gordian_circuit *circuit, size_t states, size_t dead, uint64_t number)
{
    struct output out;
    gordian_error error = {0};
    uint64_t found, stuck;
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    CHECK(pnml_write_circuit(circuit, &out, &error) == GORDIAN_OK);
    gordian_circuit *again = read_pnml(out.buffer, out.used);
    count_circuit(again, &found, &stuck);
    CHECK_MSG(found == states && stuck == dead, "net %llu again", (unsigned long long)number);
    gordian_circuit_close(again);
    output_close(&out);
}

/* Read, composed, written as a net of its automata, read again. */
static void check_net(struct random *random, uint64_t number, uint64_t *unsafe)
{
    struct plain_net net = random_net(random);
    struct output out;
    size_t states, dead;
    uint64_t found, stuck;
    bool safe;
    plain_reach(&net, &states, &dead, &safe);
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    write_net(&net, random, &out);
    gordian_circuit *circuit = read_pnml(out.buffer, out.used);
    REQUIRE(circuit);
    *unsafe += !safe;
    if (!safe) {
        check_unsafe(&net, circuit, number);
    } else {
        count_circuit(circuit, &found, &stuck);
        CHECK_MSG(found == states && stuck == dead, "net %llu: %llu/%llu, not %zu/%zu",
                  (unsigned long long)number, (unsigned long long)found, (unsigned long long)stuck,
                  states, dead);
        if (net.places < 5)
            check_again(circuit, states, dead, number);
    }
    output_close(&out);
    gordian_circuit_close(circuit);
}

static void check_nets(void)
{
    struct random random;
    random_seed(&random, 23);
    uint64_t count = test_scaled(100000), unsafe = 0;
    for (uint64_t i = 0; i < count; i++)
        check_net(&random, i, &unsafe);
    CHECK(unsafe > 0 && unsafe < count);
}

/* ------------------------------------------------------------------ a second token far away */

#define DIGITS 15u

/* A counter of so many bits. When all are 1 it puts a token into a place that has one, unless that
 * is `safe`; with `rest` something else can fire there as well. The structure proves nothing. */
static gordian_circuit *read_counter(bool safe, bool rest)
{
    struct output out;
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    output_format(&out, "<pnml><net id='n'><place id='full'>%s</place><transition id='over'/>",
                  safe ? "" : "<initialMarking><text>1</text></initialMarking>");
    output_format(&out, "%s<arc source='over' target='full'/>",
                  safe ? "<transition id='out'/><arc source='full' target='out'/>" : "");
    for (unsigned i = 0; i < DIGITS; i++) {
        output_format(&out,
                      "<place id='z%u'><initialMarking><text>1</text></initialMarking></place>"
                      "<place id='o%u'/><transition id='t%u'/><arc source='z%u' target='t%u'/>"
                      "<arc source='t%u' target='o%u'/><arc source='o%u' target='over'/>",
                      i, i, i, i, i, i, i, i);
        output_format(
            &out, safe ? "<arc source='over' target='z%u'/>" : "<arc source='over' target='o%u'/>",
            i);
        for (unsigned j = 0; j < i; j++)
            output_format(&out, "<arc source='o%u' target='t%u'/><arc source='t%u' target='z%u'/>",
                          j, i, i, j);
    }
    if (rest)
        output_text(&out, "<transition id='rest'/><arc source='o0' target='rest'/>"
                          "<arc source='rest' target='o0'/>");
    output_text(&out, "</net></pnml>");
    gordian_circuit *circuit = read_pnml(out.buffer, out.used);
    output_close(&out);
    REQUIRE(circuit);
    return circuit;
}

static void check_counter(bool rest)
{
    gordian_circuit *circuit = read_counter(false, rest);
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_compose_options_init(&options);
    options.count_transitions = false;
    options.threads = 1;
    REQUIRE(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    CHECK_MSG(result.stop == GORDIAN_COMPOSE_STOP_UNSAFE && result.deadlocks == 0 &&
                  result.found_count == 1 && result.found[0].step_count == 1u << DIGITS,
              "stop %d, %zu steps", (int)result.stop,
              result.found_count ? result.found[0].step_count : 0);
    gordian_compose_result_free(&result);
    /* not that far: nothing is known */
    options.max_states = 1000;
    REQUIRE(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STATES && result.deadlocks == 0);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

static void check_far(void)
{
    check_counter(false);
    check_counter(true);
    gordian_circuit *circuit = read_counter(true, false);
    gordian_compose_result result = compose_net(circuit, "cpu");
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_UNSAFE); /* it counts twice before 'out' fires */
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ many unproved pairs */

#define WIDTH 66u /* its square is more than the pairs that one monitor has */

/* A token goes from x0 to x66. Transition ti needs a token in two places of these, so it never
 * fires; it would put a second token into WIDTH places. Unless `safe` a transition does that at the
 * end. The structure proves nothing. */
static gordian_circuit *read_wide(bool safe)
{
    struct output out;
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    output_text(&out, "<pnml><net id='n'><place id='x0'><initialMarking><text>1</text>"
                      "</initialMarking></place>");
    for (unsigned i = 0; i < WIDTH; i++)
        output_format(&out,
                      "<place id='x%u'/><transition id='r%u'/><arc source='x%u' target='r%u'/>"
                      "<arc source='r%u' target='x%u'/>"
                      "<place id='p%u'><initialMarking><text>1</text></initialMarking></place>"
                      "<transition id='t%u'/>"
                      "<arc source='x%u' target='t%u'/><arc source='x%u' target='t%u'/>",
                      i + 1, i, i, i, i, i + 1, i, i, i, i, i + 1, i);
    for (unsigned i = 0; i < WIDTH * WIDTH; i++)
        output_format(&out, "<arc source='t%u' target='p%u'/>", i / WIDTH, i % WIDTH);
    if (!safe)
        output_text(&out, "<transition id='over'/><arc source='x66' target='over'/>"
                          "<arc source='over' target='p7'/>");
    output_text(&out, "</net></pnml>");
    gordian_circuit *circuit = read_pnml(out.buffer, out.used);
    output_close(&out);
    REQUIRE(circuit);
    return circuit;
}

static void check_wide(void)
{
    gordian_circuit *circuit = read_wide(true);
    gordian_compose_result result = compose_net(circuit, "cpu");
    CHECK_MSG(result.stop == GORDIAN_COMPOSE_STOP_COMPLETE && result.states == WIDTH + 1 &&
                  result.deadlocks == 1 && result.found_count == 1 &&
                  result.found[0].step_count == WIDTH,
              "stop %d, %llu states", (int)result.stop, (unsigned long long)result.states);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
    circuit = read_wide(false);
    result = compose_net(circuit, "cpu");
    CHECK_MSG(result.stop == GORDIAN_COMPOSE_STOP_UNSAFE && result.deadlocks == 0 &&
                  result.found_count == 1 && result.found[0].step_count == WIDTH + 1 &&
                  strstr(result.note, "'over' puts a second token into the place 'p7'"),
              "stop %d: %s", (int)result.stop, result.note);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ graphs written for others */

/* A line "  + (s == F) -> L . P(T)" or, below "SF: if", "    :: printf("L\n") -> goto ST". */
static size_t count_steps(const gordian_graph *graph, const char *text, bool promela)
{
    size_t steps = 0;
    unsigned from = 0, to;
    for (const char *line = text; line && *line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char label[200] = "";
        bool step =
            promela ? sscanf(line, "    :: printf(\"%199[^\\]\\n\") -> goto S%u", label, &to) == 2
                    : sscanf(line, "  + (s == %u) -> %199s . P(%u)", &from, label, &to) == 3;
        if (promela)
            sscanf(line, "S%u: if", &from);
        if (!step)
            continue;
        bool found = false;
        for (size_t i = graph->first[from]; i < graph->first[from + 1]; i++)
            found |= graph->arcs[i].to == to &&
                     strcmp(labels_text(&graph->labels, graph->arcs[i].label), label) == 0;
        CHECK_MSG(found, "no step %s from %u to %u", label, from, to);
        steps += found;
    }
    return steps;
}

static void check_processes(const char *source, bool data)
{
    struct output out;
    gordian_error error = {0};
    bool same = false;
    gordian_graph *graph = product_of_text(source, NULL, data ? "0,1" : NULL);
    REQUIRE(graph && output_open(&out, OUTPUT_MEMORY));
    CHECK(treo_write(graph, "x", &out, &error) == GORDIAN_OK);
    output_char(&out, '\0');
    gordian_graph *again = product_of_text(out.buffer, NULL, data ? "0,1" : NULL);
    CHECK(again && graph_isomorphic(graph, again, &same, &error) == GORDIAN_OK);
    CHECK_MSG(same, "%s", out.buffer);
    gordian_graph_close(again);
    out.used = 0;
    CHECK(promela_write(graph, "x", &out, &error) == GORDIAN_OK);
    output_char(&out, '\0');
    CHECK_MSG(count_steps(graph, out.buffer, true) == graph->arc_count, "%s", out.buffer);
    out.used = 0;
    CHECK(mcrl2_write(graph, "x", &out, &error) == GORDIAN_OK);
    output_char(&out, '\0');
    if (!data)
        CHECK_MSG(count_steps(graph, out.buffer, false) == graph->arc_count, "%s", out.buffer);
    else
        CHECK(strstr(out.buffer, "sort D = struct d0 | d1;") && strstr(out.buffer, ": D;"));
    out.used = 0;
    CHECK(pnml_write_graph(graph, "x", &out, &error) == GORDIAN_OK);
    gordian_circuit *net = read_pnml(out.buffer, out.used);
    uint64_t states, dead;
    count_circuit(net, &states, &dead);
    CHECK(states == graph->state_count && dead == deadlocks_of(graph));
    gordian_circuit_close(net);
    output_close(&out);
    gordian_graph_close(graph);
}

/* ------------------------------------------------------------------ what is refused */

static void check_refused(void)
{
    static const struct {
        const char *text, *message;
        unsigned line;
    } cases[] = {
        {"", "no net", 1},
        {"nonsense", "no net", 1},
        {"<pnml/>", "no net", 1},
        {"<pnml><net>", "ends within", 1},
        {"<pnml><net></pnml>", "does not match", 1},
        {"<pnml><net id='a'/><net id='b'/></pnml>", "second net", 1},
        {"<pnml><net id='a'></net></pnml>", "no transition", 1},
        {"<!DOCTYPE x [<!ENTITY a 'b'>]><pnml/>", "document type", 1},
        {"<pnml>\n<net><place id='p'/>\n<place id='p'/></net></pnml>", "twice", 3},
        {"<pnml><net><place/></net></pnml>", "no id", 1},
        {"<pnml><net><place id='a b'/></net></pnml>", "blank", 1},
        {"<pnml><net><place id='&nothing;'/></net></pnml>", "no id", 1},
        {"<pnml><net><place id='p'><initialMarking><text>2</text></initialMarking></place></net>"
         "</pnml>",
         "0 or 1 tokens", 1},
        {"<pnml><net><place id='p'><initialMarking><text>x</text></initialMarking></place></net>"
         "</pnml>",
         "not a number of tokens", 1},
        {"<pnml><net><place id='p'><initialMarking>\n<graphics><offset x='1'/></graphics>"
         "<text>2</text></initialMarking></place></net></pnml>",
         "begins with 2 tokens", 2},
        {"<pnml><net><place id='p'><initialMarking><text>1<!-- x -->2</text></initialMarking>"
         "</place></net></pnml>",
         "begins with 12 tokens", 1},
        {"<pnml><net><place id='p'><initialMarking><value>Default,0,Red,1</value>"
         "</initialMarking></place></net></pnml>",
         "not a number of tokens", 1},
        {"<pnml><net><place id='p'/><transition id='t'/>\n<arc source='p' target='t'>"
         "<inscription><text>3</text></inscription></arc></net></pnml>",
         "an arc of weight 3", 2},
        {"<pnml><net><place id='p'/><transition id='t'/>\n<arc source='p' target='t'>"
         "<inscription><graphics><offset x='1' y='2'/></graphics><text>3</text></inscription></arc>"
         "</net></pnml>",
         "an arc of weight 3", 2},
        {"<pnml><net><place id='p'/><transition id='t'/>\n<arc source='p' target='t'/>\n"
         "<arc source='p' target='t'/></net></pnml>",
         "second arc", 3},
        {"<pnml><net><place id='p'/><transition id='t'/><arc source='p' target='t' "
         "type='inhibitor'/></net></pnml>",
         "type 'inhibitor'", 1},
        {"<pnml><net><place id='p'/><transition id='t'/><arc source='p' target='t'><type "
         "value='reset'/></arc></net></pnml>",
         "type 'reset'", 1},
        {"<pnml><net><place id='p'/><transition id='t'/><arc source='p' target='t'><type><text>"
         "read</text></type></arc></net></pnml>",
         "type 'read'", 1},
        {"<pnml><net><place id='p'/><transition id='t'/><arc source='p' target='t' "
         "type='transport'/></net></pnml>",
         "type 'transport'", 1},
        {"<pnml><net><place id='p' initialMarking='1'/></net></pnml>", "TAPAAL", 1},
        {"<pnml><net><place id='p'/><inputArc source='p' target='t'/></net></pnml>", "<inputArc>",
         1},
        {"<pnml><net><shared-place/></net></pnml>", "<shared-place>", 1},
        {"<pnml><net><place id='p'><capacity><value>1</value></capacity></place></net></pnml>",
         "<capacity>", 1},
        {"<pnml><net><transition id='t'><priority><value>3</value></priority></transition></net>"
         "</pnml>",
         "<priority>", 1},
        {"<pnml><net><place id='p'><type><structure/></type></place></net></pnml>", "coloured", 1},
        {"<pnml><net><place id='p'><hlinitialMarking/></place></net></pnml>", "coloured", 1},
        {"<pnml><net><declaration/></net></pnml>", "coloured", 1},
        {"<pnml><net type='http://www.pnml.org/version-2009/grammar/highlevelnet'/></pnml>",
         "coloured", 1},
        {"<pnml><net type='http://www.pnml.org/version-2009/grammar/pt-hlpng'/></pnml>", "coloured",
         1},
        {"<pnml><net><place id='p'/><transition id='t'/>\n\n<arc source='p' target='q'/></net>"
         "</pnml>",
         "from a place", 3},
        {"<pnml><net><arc source='p'/></net></pnml>", "a source and a target", 1},
        {"<pnml a=1/>", "no quotes", 1},
        {"<pnml a='1/>", "not terminated", 1},
        {"<pnml><!-- </pnml>", "not terminated", 1},
        {"<pnml><![CDATA[x</pnml>", "not terminated", 1},
        {"<pnml b/>", "expected name=", 1},
        {"< >", "expected the name", 1},
        {"<pnml></pnml", "'>' is missing", 1},
        {"<pnml><net type='symmetricnet'/></pnml>", "coloured", 1},
        {"<pnml><net><referencePlace id='r' ref='p'/></net></pnml>", "references", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        REQUIRE(text_copy(&text, "x.pnml", cases[i].text, strlen(cases[i].text), NULL, &error) ==
                GORDIAN_OK);
        gordian_status status = pnml_read(&circuit, &text, NULL, &fault, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && !circuit &&
                      strstr(error.message, cases[i].message) && error.line == cases[i].line,
                  "%s: %d: %s", cases[i].text, (int)error.line, error.message);
        text_free(&text);
    }
    /* nested too deep, and texts cut off anywhere */
    static char deep[2000];
    for (size_t i = 0; i < 300; i++)
        strcat(deep, "<a>");
    struct plain_net net = {.places = 2, .transitions = 1, .marking = 1, {1}, {2}};
    struct output out;
    struct random random;
    random_seed(&random, 5);
    REQUIRE(output_open(&out, OUTPUT_MEMORY));
    write_net(&net, &random, &out);
    for (size_t size = 0; size <= out.used; size++) {
        struct text text;
        gordian_circuit *circuit;
        gordian_fault fault;
        gordian_error error = {0};
        const char *bytes = size == out.used ? deep : out.buffer;
        REQUIRE(text_copy(&text, "x", bytes, size == out.used ? strlen(deep) : size, NULL,
                          &error) == GORDIAN_OK);
        gordian_status status = pnml_read(&circuit, &text, NULL, &fault, &error);
        CHECK(status == GORDIAN_STATUS_INPUT || size + 1 >= out.used);
        gordian_circuit_close(circuit);
        text_free(&text);
    }
    output_close(&out);
}

/* ------------------------------------------------------------------ what other tools write */

/* Two steps in a row: 3 states and one deadlock, however it is written. */
static void check_read(void)
{
    static const char *const texts[] = {
        "<pnml xmlns='u'><net id='n' type='http://www.pnml.org/version-2009/grammar/ptnet'>"
        "<name><text>9</text></name><page id='g'><name><text>8</text></name>"
        "<place id='p'><name><graphics><offset x='0' y='0'/></graphics><text>7</text></name>"
        "<initialMarking><graphics><offset x='0' y='0'/></graphics><text>1</text>"
        "</initialMarking></place><page id='h'><place id='q'/></page>"
        "<place id='r'><initialMarking><text>0</text></initialMarking></place>"
        "<transition id='a'/><transition id='b'/>"
        "<arc id='1' source='p' target='a'/><arc id='2' source='a' target='q'><inscription>"
        "<graphics/><text>1</text></inscription></arc>"
        "<arc id='3' source='q' target='b' type='normal'><type value='normal'/></arc>"
        "<arc id='4' source='b' target='r'/></page></net></pnml>",
        "<pnml><net id='n'><toolspecific tool='x' version='1'><place id='z'/><initialMarking><text>"
        "5</text></initialMarking></toolspecific><token id='Default'/>"
        "<place id='p'><initialMarking><toolspecific tool='x' version='1'><text>5</text>"
        "</toolspecific><wrapped><text>1</text></wrapped></initialMarking><capacity><value>0"
        "</value></capacity></place>"
        "<place id='q'><initialMarking><value>Default,0</value></initialMarking></place>"
        "<place id='r'><initialMarking/></place>"
        "<transition id='a'><rate><value>1.0</value></rate><timed><value>false</value></timed>"
        "<priority><value>1</value></priority></transition><transition id='b'/>"
        "<arc id='1' source='p' target='a'><arcpath/><type value='normal'/></arc>"
        "<arc id='2' source='a' target='q'><inscription><value>Default,1</value></inscription>"
        "</arc><arc id='3' source='q' target='b'/><arc id='4' source='b' target='r'/></net></pnml>",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        uint64_t states = 0, dead = 0;
        gordian_circuit *circuit = read_pnml(texts[i], strlen(texts[i]));
        if (circuit)
            count_circuit(circuit, &states, &dead);
        CHECK_MSG(states == 3 && dead == 1, "text %zu: %d states, %d deadlocks", i, (int)states,
                  (int)dead);
        gordian_circuit_close(circuit);
    }
}

int main(void)
{
    check_nets();
    check_far();
    check_wide();
    check_read();
    check_processes("main(a[0]?,a[2]!) { fifo1(a[0],a[1]) fifo1(a[1],a[2]) }", false);
    check_processes("main(a?,b!) { lossysync(a,x) fifo1(x,b) }", true);
    check_processes("main() { fifofull<0>(a,b) fifo1(b,c) sync(c,d) syncdrain(d,a) }", false);
    check_refused();
    return test_done();
}

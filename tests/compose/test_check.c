/* Formulas: random ones on random graphs against the plainest checker there is, the ways that are
 * shown, memory, and what is refused. */
#include "compose.h"

#include "foundation/base/random.h"

#include <gordian/compose.h>

#define STATES 8u
#define LONG   2000u

/* ------------------------------------------------------------------ the plainest checker */

/* A set of states is a number. */
struct plain {
    unsigned states;
    unsigned next[STATES];  /* successors */
    unsigned by[3][STATES]; /* by a, b, c */
};

static unsigned all_of(const struct plain *graph)
{
    return (1u << graph->states) - 1;
}

static unsigned dead_of(const struct plain *graph)
{
    unsigned set = 0;
    for (unsigned s = 0; s < graph->states; s++)
        set |= (graph->next[s] == 0) << s;
    return set;
}

static unsigned some_next(const struct plain *graph, const unsigned *next, unsigned to)
{
    unsigned set = 0;
    for (unsigned s = 0; s < graph->states; s++)
        set |= ((next[s] & to) != 0) << s;
    return set;
}

static unsigned every_next(const struct plain *graph, const unsigned *next, unsigned to)
{
    unsigned set = 0;
    for (unsigned s = 0; s < graph->states; s++)
        set |= ((next[s] & ~to) == 0) << s;
    return set;
}

/* Least and greatest sets that their own definition gives back, by going round until then. */
static unsigned fixed_until(const struct plain *graph, unsigned f, unsigned g, bool every)
{
    unsigned set = 0, before;
    do {
        before = set;
        unsigned on = every ? every_next(graph, graph->next, set) & ~dead_of(graph)
                            : some_next(graph, graph->next, set);
        set = g | (f & on);
    } while (set != before);
    return set;
}

static unsigned fixed_globally(const struct plain *graph, unsigned f, bool every)
{
    unsigned set = all_of(graph), before;
    do {
        before = set;
        unsigned on = every ? every_next(graph, graph->next, set)
                            : some_next(graph, graph->next, set) | dead_of(graph);
        set = f & on;
    } while (set != before);
    return set;
}

/* ------------------------------------------------------------------ random formulas */

/* Writes one and says in which states it holds. */
static unsigned random_formula(struct random *random, const struct plain *graph, unsigned depth,
                               char *text, size_t size)
{
    static const char names[] = "abc";
    char left[LONG] = "", right[LONG] = "";
    unsigned all = all_of(graph), n = (unsigned)random_below(random, 3);
    unsigned kind = (unsigned)random_below(random, depth == 0 ? 6 : 20);
    if (kind < 3) {
        snprintf(text, size, "%c", names[n]);
        return some_next(graph, graph->by[n], all);
    }
    if (kind < 6) {
        static const char *const words[] = {"true", "false", "deadlock"};
        snprintf(text, size, "%s", words[kind - 3]);
        return kind == 3 ? all : kind == 4 ? 0 : dead_of(graph);
    }
    unsigned f = random_formula(random, graph, depth - 1, left, sizeof left / 3), g = 0;
    if (kind >= 15)
        g = random_formula(random, graph, depth - 1, right, sizeof right / 3);
    switch (kind) {
    case 6:
        snprintf(text, size, "!(%s)", left);
        return all & ~f;
    case 7:
        snprintf(text, size, "EX (%s)", left);
        return some_next(graph, graph->next, f);
    case 8:
        snprintf(text, size, "AX(%s)", left);
        return every_next(graph, graph->next, f);
    case 9:
        snprintf(text, size, "EF (%s)", left);
        return fixed_until(graph, all, f, false);
    case 10:
        snprintf(text, size, "AF (%s)", left);
        return fixed_until(graph, all, f, true);
    case 11:
        snprintf(text, size, "EG (%s)", left);
        return fixed_globally(graph, f, false);
    case 12:
        snprintf(text, size, "AG (%s)", left);
        return fixed_globally(graph, f, true);
    case 13:
        snprintf(text, size, "<%c>(%s)", names[n], left);
        return some_next(graph, graph->by[n], f);
    case 14:
        snprintf(text, size, "[%c] (%s)", names[n], left);
        return every_next(graph, graph->by[n], f);
    case 15:
        snprintf(text, size, "(%s) && (%s)", left, right);
        return f & g;
    case 16:
        snprintf(text, size, "(%s)||(%s)", left, right);
        return f | g;
    case 17:
        snprintf(text, size, "(%s) -> (%s)", left, right);
        return (all & ~f) | g;
    case 18:
        snprintf(text, size, "E[(%s) U (%s)]", left, right);
        return fixed_until(graph, f, g, false);
    default:
        snprintf(text, size, "A [ (%s) U (%s) ]", left, right);
        return fixed_until(graph, f, g, true);
    }
}

/* ------------------------------------------------------------------ random graphs */

static gordian_graph *random_graph(struct random *random, struct plain *plain)
{
    static const char *const labels[] = {"a", "b", "c", "a|b", "a|c", "a|b|c", "tau", "b=1|c=2"};
    static const unsigned names[] = {1, 2, 4, 3, 5, 7, 0, 6};
    gordian_graph *graph = new_graph();
    *plain = (struct plain){.states = 1 + (unsigned)random_below(random, STATES)};
    for (unsigned s = 0; s < plain->states; s++) {
        REQUIRE(graph_state(graph, NULL) == GORDIAN_OK);
        for (unsigned k = (unsigned)random_below(random, 4); k > 0; k--) {
            unsigned to = (unsigned)random_below(random, plain->states);
            unsigned l = (unsigned)random_below(random, 8);
            put_arc(graph, labels[l], to);
            plain->next[s] |= 1u << to;
            for (unsigned n = 0; n < 3; n++)
                plain->by[n][s] |= (names[l] >> n & 1) << to;
        }
    }
    REQUIRE(graph_initial(graph, 0, NULL) == GORDIAN_OK);
    if (plain->states > 1 && random_chance(random, 20))
        REQUIRE(graph_initial(graph, plain->states - 1, NULL) == GORDIAN_OK);
    REQUIRE(graph_finish(graph, NULL) == GORDIAN_OK);
    return graph;
}

/* Are these steps of the graph? The state that they lead to. */
static uint32_t follow_arcs(const gordian_graph *graph, uint32_t state,
                            const gordian_graph_arc *arcs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t k = graph->first[state]; k < graph->first[state + 1]; k++)
            found |= graph->arcs[k].to == arcs[i].to && graph->arcs[k].label == arcs[i].label;
        CHECK(found);
        state = arcs[i].to;
    }
    return state;
}

static void check_way(const gordian_graph *graph, const gordian_check *check)
{
    uint32_t end = follow_arcs(graph, check->start, check->path, check->path_count);
    uint32_t back = follow_arcs(graph, end, check->cycle, check->cycle_count);
    CHECK(back == end);
    CHECK(!check->dead_end || graph_is_deadlock(graph, end));
}

static void check_random(struct random *random)
{
    struct plain plain;
    char text[LONG];
    gordian_check check;
    gordian_error error = {0};
    gordian_graph *graph = random_graph(random, &plain);
    unsigned wanted = random_formula(random, &plain, 3, text, sizeof text), count = 0;
    bool holds = wanted & 1;
    for (size_t i = 0; i < graph->initial_count; i++)
        holds &= wanted >> graph->initial[i] & 1;
    for (unsigned s = 0; s < plain.states; s++)
        count += wanted >> s & 1;
    gordian_status status = gordian_graph_check(graph, &(gordian_question){text}, &check, &error);
    CHECK_MSG(status == GORDIAN_OK && check.holds == holds && check.states == count,
              "%s: %s, %d/%llu, not %d/%u", text, error.message, check.holds,
              (unsigned long long)check.states, holds, count);
    check_way(graph, &check);
    gordian_check_free(&check);
    gordian_graph_close(graph);
}

/* The ways of the commonest formulas show what they should. */
static void check_shown(struct random *random)
{
    struct plain plain;
    gordian_check check;
    gordian_error error = {0};
    gordian_graph *graph = random_graph(random, &plain);
    unsigned a = some_next(&plain, plain.by[0], all_of(&plain));
    CHECK(gordian_graph_check(graph, &(gordian_question){"AG a"}, &check, &error) == GORDIAN_OK);
    uint32_t end = follow_arcs(graph, check.start, check.path, check.path_count);
    CHECK(check.holds || !(a >> end & 1));
    gordian_check_free(&check);
    CHECK(gordian_graph_check(graph, &(gordian_question){"EF a"}, &check, &error) == GORDIAN_OK);
    end = follow_arcs(graph, check.start, check.path, check.path_count);
    CHECK(!check.holds || (a >> end & 1));
    gordian_check_free(&check);
    CHECK(gordian_graph_check(graph, &(gordian_question){"AF a"}, &check, &error) == GORDIAN_OK);
    if (!check.holds) {
        uint32_t at = check.start;
        for (size_t i = 0; i <= check.path_count + check.cycle_count; i++) {
            CHECK(!(a >> at & 1));
            if (i < check.path_count + check.cycle_count)
                at = i < check.path_count ? check.path[i].to : check.cycle[i - check.path_count].to;
        }
        CHECK(check.cycle_count > 0 || check.dead_end);
    }
    gordian_check_free(&check);
    gordian_graph_close(graph);
}

/* ------------------------------------------------------------------ circuits */

static void check_circuit(const char *source, const char *formula, bool holds, size_t steps)
{
    gordian_circuit *circuit = read_circuit(source, NULL, "0,1");
    gordian_graph *graph = NULL;
    gordian_check check;
    gordian_compose_result result;
    gordian_compose_options options;
    gordian_error error = {0};
    gordian_compose_options_init(&options);
    options.engine = "cpu";
    options.threads = 1;
    REQUIRE(circuit);
    gordian_status status = gordian_compose_check(
        &graph, circuit, &options, &(gordian_question){formula}, NULL, &check, &result, &error);
    CHECK_MSG(status == GORDIAN_OK && check.holds == holds && check.path_count == steps,
              "%s: %s, %d, %zu steps", formula, error.message, check.holds, check.path_count);
    if (graph)
        check_way(graph, &check);
    gordian_check_free(&check);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

static void check_memory(void)
{
    static const char buffer[] = "main(a?,b!) { fifo1(a,b) }";
    static const char two[] = "main(a?,c!) { fifo1(a,b) fifo1(b,c) }";
    static const char states[] = "main(a?,b?) { #CA up* -> down : {a} down -> up : {b} }";
    static const char ring[] = "main() { fifofull<0>(x,y) fifofull<1>(y,x) }";
    check_circuit(buffer, "$m = null", true, 0);
    check_circuit(buffer, "AG ($m = null -> a)", true, 0);
    check_circuit(buffer, "AG ($m != null -> !a && b)", true, 0);
    check_circuit(buffer, "EF $m = 1", true, 1);
    check_circuit(buffer, "AG $m != 1", false, 1);
    check_circuit(buffer, "AG EF $m = null", true, 0);
    check_circuit(buffer, "AG ([a] $m != null)", true, 0);
    check_circuit(buffer, "[a] $m = 0", false, 1);
    check_circuit(two, "AG ($m#1 = 0 -> AF $m#2 = 0)", true, 0);
    check_circuit(two, "AG ($m#2 = 0 -> AX $m#2 = null)", false, 3);
    check_circuit(two, "E[$m#2 = null U $m#1 != null]", true, 1);
    check_circuit(states, "AG (@1 = up -> AX @1 = down)", true, 0);
    check_circuit(states, "AG @1 = up", false, 1);
    check_circuit(ring, "deadlock && $m#1 = 0 && $m#2 = \"1\"", true, 0);
    check_circuit(ring, "AF deadlock", true, 0);
    check_circuit(ring, "EG true", true, 0);
    check_circuit(ring, "EX true", false, 0);
}

static void check_refused(void)
{
    static const struct {
        const char *formula, *message;
        unsigned column;
    } cases[] = {
        {"", "expected a name", 1},       {"a b", "the end of the formula", 3},
        {"AG (a", "expected ')'", 6},     {"E[a]", "expected 'U'", 4},
        {"A[a U b", "expected ']'", 8},   {"q", "no name 'q'", 2},
        {"<q> a", "no name 'q'", 6},      {"$m = 0", "2 automata have a cell 'm'", 4},
        {"$k = 0", "0 automata have", 4}, {"$m#3 = 0", "numbered 1 to 2", 4},
        {"@0 = x", "numbered 1 to 2", 2}, {"$m#1 0", "expected '='", 6},
        {"a &&", "expected a name", 5},   {"`a", "expected a name", 1},
    };
    gordian_circuit *circuit = read_circuit("main(a?,c!) { fifo1(a,b) fifo1(b,c) }", NULL, NULL);
    REQUIRE(circuit);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gordian_graph *graph;
        gordian_check check;
        gordian_compose_result result;
        gordian_error error = {0};
        gordian_status status =
            gordian_compose_check(&graph, circuit, NULL, &(gordian_question){cases[i].formula},
                                  NULL, &check, &result, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && !graph &&
                      strstr(error.message, cases[i].message) && error.column == cases[i].column,
                  "%s: %d: %s", cases[i].formula, (int)error.column, error.message);
    }
    static char deep[3000];
    memset(deep, '(', sizeof deep - 1);
    gordian_graph *graph = product_of(circuit);
    gordian_check check;
    gordian_error error = {0};
    CHECK(gordian_graph_check(graph, &(gordian_question){deep}, &check, &error) ==
          GORDIAN_STATUS_INPUT);
    CHECK(strstr(error.message, "nested"));
    CHECK(gordian_graph_check(graph, &(gordian_question){"$m = 0"}, &check, &error) ==
          GORDIAN_STATUS_INPUT);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

int main(void)
{
    struct random random;
    random_seed(&random, 6);
    unsigned long count = test_scaled(100000);
    for (unsigned long i = 0; i < count; i++) {
        check_random(&random);
        if (i % 10 == 0)
            check_shown(&random);
    }
    check_memory();
    check_refused();
    return test_done();
}

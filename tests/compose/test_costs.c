/* What steps cost: random automata, whose product is made by trying every combination and whose
 * best ways are found by going round until nothing changes; and texts that keep costs. */
#include "compose.h"

#include "foundation/base/io/output.h"
#include "foundation/base/random.h"

#include <gordian/compose.h>

#define AUTOMATA 3u
#define STATES   3u
#define MOVES    5u
#define NAMES    4u
#define WHOLE    (STATES * STATES * STATES)

struct move {
    unsigned from, to, names; /* names: bits */
    double cost;              /* below 0: not said */
};

struct plain {
    unsigned names; /* that it has */
    struct move moves[MOVES];
    unsigned count;
};

static gordian_compose_options one_thread(void)
{
    gordian_compose_options options;
    gordian_compose_options_init(&options);
    options.engine = "cpu";
    options.threads = 1;
    return options;
}

/* ------------------------------------------------------------------ random circuits */

static const double cost_values[][5] = {
    [GORDIAN_SEMIRING_WEIGHTED] = {0, 1, 2.5, 7, 3},
    [GORDIAN_SEMIRING_FUZZY] = {0, 0.25, 0.5, 0.75, 1},
    [GORDIAN_SEMIRING_PROBABILITY] = {0, 0.25, 0.5, 0.125, 1},
};

static void random_automaton(struct random *random, struct plain *plain, gordian_semiring semiring)
{
    *plain = (struct plain){.names = 1 + (unsigned)random_below(random, (1u << NAMES) - 1)};
    plain->count = 1 + (unsigned)random_below(random, MOVES);
    for (unsigned m = 0; m < plain->count; m++) {
        struct move *move = &plain->moves[m];
        do
            move->names = (unsigned)random_below(random, 1u << NAMES) & plain->names;
        while (!move->names);
        move->from = (unsigned)random_below(random, STATES);
        move->to = (unsigned)random_below(random, STATES);
        move->cost =
            random_chance(random, 20) ? -1 : cost_values[semiring][random_below(random, 5)];
    }
}

static void write_names(struct output *text, unsigned names, bool ways)
{
    for (unsigned n = 0, any = 0; n < NAMES; n++)
        if (names >> n & 1)
            output_format(text, "%s%c%s", any++ ? "," : "", 'a' + n, ways ? "?" : "");
}

/* One component each, in the order of the text; "i" says which state is the first. */
static void write_circuit(struct output *text, const struct plain *plains)
{
    for (unsigned k = 0; k < AUTOMATA; k++) {
        output_format(text, "c%u(", k);
        write_names(text, plains[k].names, true);
        output_text(text, ") { #SCA s0 : initial\n");
        for (unsigned m = 0; m < plains[k].count; m++) {
            const struct move *move = &plains[k].moves[m];
            output_format(text, "s%u -> s%u : {", move->from, move->to);
            write_names(text, move->names, false);
            if (move->cost < 0)
                output_text(text, "}\n");
            else
                output_format(text, "}, %g\n", move->cost);
        }
        output_text(text, "}\n");
    }
    output_text(text, "main(a?,b?,c?,d?) {");
    for (unsigned k = 0; k < AUTOMATA; k++) {
        output_format(text, " c%u(", k);
        write_names(text, plains[k].names, false);
        output_text(text, ")");
    }
    output_text(text, " }\n");
    output_char(text, '\0');
}

/* ------------------------------------------------------------------ by brute force */

static double multiply_plainly(gordian_semiring semiring, double a, double b)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? a + b
           : semiring == GORDIAN_SEMIRING_FUZZY  ? (a < b ? a : b)
                                                 : a * b;
}

struct brute {
    const struct plain *plains;
    gordian_semiring semiring;
    bool there[WHOLE], moves[WHOLE];
    double best[WHOLE];
    bool changed;
    /* A step that is looked for: */
    unsigned wanted_names, wanted_to;
    double step; /* the best one; below 0: there is none */
};

static bool better_plainly(gordian_semiring semiring, double a, double b)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? a < b : a > b;
}

static void take_step(struct brute *brute, unsigned from, unsigned to, unsigned names, double cost)
{
    brute->moves[from] = true;
    if (names == brute->wanted_names && to == brute->wanted_to &&
        (brute->step < 0 || better_plainly(brute->semiring, cost, brute->step)))
        brute->step = cost;
    cost = multiply_plainly(brute->semiring, brute->best[from], cost);
    if (brute->semiring != GORDIAN_SEMIRING_WEIGHTED && cost == 0)
        return;
    if (brute->there[to] && !better_plainly(brute->semiring, cost, brute->best[to]))
        return;
    brute->there[to] = brute->changed = true;
    brute->best[to] = cost;
}

/* Every choice of automaton `k` and those after it. `decided`: names that somebody has decided on.
 */
static void try_all(struct brute *brute, unsigned from, unsigned k, unsigned decided,
                    unsigned names, unsigned to, double cost)
{
    static const unsigned weight[] = {1, STATES, STATES * STATES};
    if (k == AUTOMATA) {
        if (names)
            take_step(brute, from, to, names, cost);
        return;
    }
    const struct plain *plain = &brute->plains[k];
    unsigned local = from / weight[k] % STATES, shared = plain->names & decided;
    if (!(names & shared)) /* it stays */
        try_all(brute, from, k + 1, decided | plain->names, names, to + local * weight[k], cost);
    for (unsigned m = 0; m < plain->count; m++) {
        const struct move *move = &plain->moves[m];
        if (move->from != local || (move->names & decided) != (names & plain->names))
            continue;
        double priced = move->cost < 0 ? cost : multiply_plainly(brute->semiring, cost, move->cost);
        try_all(brute, from, k + 1, decided | plain->names, names | move->names,
                to + move->to * weight[k], priced);
    }
}

static double nothing_of(gordian_semiring semiring)
{
    return semiring == GORDIAN_SEMIRING_WEIGHTED ? 0 : 1;
}

/* What the best step from a state by these names to another costs; below 0: there is none. */
static double step_plainly(struct brute *brute, unsigned from, unsigned to, unsigned names)
{
    brute->wanted_names = names;
    brute->wanted_to = to;
    brute->step = -1;
    try_all(brute, from, 0, 0, 0, 0, nothing_of(brute->semiring));
    return brute->step;
}

/* The best way to a deadlock; below 0: none can be reached. */
static double best_plainly(struct brute *brute)
{
    double best = -1;
    brute->there[0] = true;
    brute->best[0] = nothing_of(brute->semiring);
    do {
        brute->changed = false;
        for (unsigned s = 0; s < WHOLE; s++)
            if (brute->there[s])
                try_all(brute, s, 0, 0, 0, 0, nothing_of(brute->semiring));
    } while (brute->changed);
    for (unsigned s = 0; s < WHOLE; s++)
        if (brute->there[s] && !brute->moves[s] &&
            (best < 0 || better_plainly(brute->semiring, brute->best[s], best)))
            best = brute->best[s];
    return best;
}

/* ------------------------------------------------------------------ against each other */

/* A state of the product as brute force numbers it: told by the names of local states. */
struct numbering {
    unsigned number[WHOLE];
};

static gordian_status number_row(void *context, const gordian_compose_row *row,
                                 gordian_error *error)
{
    struct numbering *numbering = context;
    (void)error;
    numbering->number[row->number] = 0;
    for (unsigned k = AUTOMATA; k-- > 0;)
        numbering->number[row->number] = numbering->number[row->number] * STATES + row->state[k];
    return GORDIAN_OK;
}

/* Local states as the text calls them: s0 to s2, in whatever order they came. */
static unsigned plain_number(const gordian_circuit *circuit, unsigned locals)
{
    static const unsigned weight[] = {1, STATES, STATES * STATES};
    unsigned number = 0;
    for (unsigned k = 0; k < AUTOMATA; k++, locals /= STATES) {
        char text[40];
        gordian_circuit_state_text(circuit, k, locals % STATES, text, sizeof text);
        number += (unsigned)(text[0] == 's' ? text[1] - '0' : 0) * weight[k];
    }
    return number;
}

static unsigned names_of(const char *label)
{
    unsigned names = 0;
    for (; *label; label++)
        names |= *label >= 'a' && *label < 'a' + (char)NAMES ? 1u << (*label - 'a') : 0;
    return names;
}

static void check_way(struct brute *brute, const gordian_circuit *circuit,
                      const gordian_graph *graph, const gordian_check *check)
{
    static struct numbering numbering;
    gordian_compose_sink sink = {&numbering, NULL, number_row};
    gordian_compose_options options = one_thread();
    gordian_compose_result result;
    gordian_error error = {0};
    REQUIRE(gordian_compose(circuit, &options, &sink, &result, &error) == GORDIAN_OK);
    gordian_compose_result_free(&result);
    unsigned at = check->start;
    double cost = nothing_of(brute->semiring);
    for (size_t i = 0; i < check->path_count; i++) {
        const gordian_graph_arc *arc = &check->path[i];
        double step = step_plainly(brute, plain_number(circuit, numbering.number[at]),
                                   plain_number(circuit, numbering.number[arc->to]),
                                   names_of(gordian_graph_label(graph, arc->label)));
        CHECK_MSG(step == check->costs[i], "step %zu costs %g, not %g", i, check->costs[i], step);
        cost = multiply_plainly(brute->semiring, cost, step);
        at = arc->to;
    }
    CHECK(cost == check->cost && graph_is_deadlock(graph, at));
}

static void check_random(struct random *random, gordian_semiring semiring)
{
    struct plain plains[AUTOMATA];
    struct brute brute = {.plains = plains, .semiring = semiring};
    struct output text;
    gordian_graph *graph = NULL;
    gordian_check check;
    gordian_compose_result result;
    gordian_error error = {0};
    gordian_compose_options options = one_thread();
    gordian_question question = {"deadlock", .semiring = semiring};
    bool priced = false;
    for (unsigned k = 0; k < AUTOMATA; k++) {
        random_automaton(random, &plains[k], semiring);
        for (unsigned m = 0; m < plains[k].count; m++)
            priced |= plains[k].moves[m].cost >= 0;
    }
    REQUIRE(output_open(&text, OUTPUT_MEMORY));
    write_circuit(&text, plains);
    gordian_circuit *circuit = read_circuit(text.buffer, NULL, NULL);
    REQUIRE(circuit);
    double best = best_plainly(&brute);
    gordian_status status =
        gordian_compose_check(&graph, circuit, &options, &question, NULL, &check, &result, &error);
    if (!priced) {
        CHECK(status == GORDIAN_STATUS_INPUT);
    } else {
        CHECK_MSG(status == GORDIAN_OK && check.holds == (best >= 0) &&
                      (best < 0 || check.cost == best),
                  "%s: %g, not %g in\n%s", error.message, check.holds ? check.cost : -1, best,
                  text.buffer);
        if (status == GORDIAN_OK && check.holds)
            check_way(&brute, circuit, graph, &check);
    }
    gordian_check_free(&check);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
    output_close(&text);
}

/* ------------------------------------------------------------------ texts */

static void check_best(gordian_circuit *circuit, const char *formula, gordian_semiring semiring,
                       double cost)
{
    gordian_graph *graph = NULL;
    gordian_check check;
    gordian_compose_result result;
    gordian_error error = {0};
    gordian_compose_options options = one_thread();
    gordian_question question = {formula, .semiring = semiring};
    REQUIRE(circuit);
    gordian_status status =
        gordian_compose_check(&graph, circuit, &options, &question, NULL, &check, &result, &error);
    CHECK_MSG(status == GORDIAN_OK && check.holds && check.cost == cost, "%s: %s, %g", formula,
              error.message, check.cost);
    gordian_check_free(&check);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

static void check_texts(void)
{
    static const char twice[] = /* the same step for two prices, one of them for nothing */
        "main(a?,b?) { #SCA p* -> q : {a}, 0.5 p -> q : {a}, 0.25 q -> r : {b}, 0.5 q -> r : {b} }";
    static const char merged[] = /* ports that are one name: written unfolded */
        "c(a?,b?) { #SCA p* -> q : {a,b}, 0.1 p -> q : {a}, 0.7 q -> r : {a,b}, 3 } main(x?) { "
        "c(x,x) }";
    static const char data[] = "main(a?,b!) { #SCA p* -> q : {a}, 2, a = 1 p -> q : {a}, 5, a = 0"
                               " q -> r : {b}, 1, b = 0 }";
    check_best(read_circuit(twice, NULL, NULL), "deadlock", GORDIAN_SEMIRING_WEIGHTED, 0.25);
    check_best(read_circuit(twice, NULL, NULL), "deadlock", GORDIAN_SEMIRING_PROBABILITY, 0.5);
    check_best(read_circuit(merged, NULL, NULL), "deadlock", GORDIAN_SEMIRING_WEIGHTED, 3.1);
    check_best(read_circuit(data, NULL, "0,1"), "@1 = q", GORDIAN_SEMIRING_WEIGHTED, 2);
    check_best(read_circuit(data, NULL, "0,1"), "@1 = r", GORDIAN_SEMIRING_WEIGHTED, 3);
    /* Joined with none, it goes through a .ca. */
    static const char *const texts[] = {twice, merged};
    static const double costs[] = {0.25, 3.1};
    for (unsigned i = 0; i < 2; i++) {
        gordian_circuit *circuit = read_circuit(texts[i], NULL, NULL), *again = NULL;
        gordian_error error = {0};
        const gordian_circuit *list[] = {circuit};
        REQUIRE(circuit);
        CHECK(gordian_circuit_join(&again, list, 1, NULL, NULL, &error) == GORDIAN_OK);
        gordian_circuit_close(circuit);
        check_best(again, "deadlock", GORDIAN_SEMIRING_WEIGHTED, costs[i]);
    }
}

int main(void)
{
    struct random random;
    random_seed(&random, 7);
    unsigned long count = test_scaled(2000);
    for (unsigned long i = 0; i < count; i++)
        check_random(&random, (gordian_semiring)(GORDIAN_SEMIRING_WEIGHTED + i % 3));
    check_texts();
    return test_done();
}

/* Formulas of LTL: random ones on random graphs, with every kind of fairness, against a checker of
 * another kind that guesses what holds from each step on; and the runs that are shown, on which the
 * formula is evaluated step by step. */
#include "compose.h"

#include "foundation/base/random.h"

#include <gordian/compose.h>

#define STATES 4u
#define ARCS   12u
#define TIMES  4u   /* temporal operators of a formula */
#define NODES  256u /* of the plain checker: a step, and what is guessed to hold from there on */
#define WORDS  (NODES / 64)
#define PARTS  64u
#define SHOWN  256u /* steps of a run that is shown */
#define LONG   4000u
#define NAMES  3u
#define TAU    8u /* a step that shows nothing counts as a name */

/* ------------------------------------------------------------------ formulas */

enum kind {
    K_TRUE,
    K_FALSE,
    K_DEADLOCK,
    K_CAN,   /* a name can fire */
    K_FIRES, /* it does */
    K_NOT,
    K_AND,
    K_OR,
    K_IMPLIES,
    K_IFF,
    K_NEXT, /* from here on: temporal */
    K_SOMETIME,
    K_ALWAYS,
    K_UNTIL,
    K_WEAK,
    K_RELEASE,
};

struct part {
    enum kind kind;
    unsigned name, left, right, time; /* time: number of the temporal operator */
};

/* Parts come after those they are made of. */
struct formula_text {
    struct part parts[PARTS];
    unsigned count, times;
    char text[LONG];
};

static unsigned add_part(struct formula_text *formula, enum kind kind, unsigned left,
                         unsigned right, unsigned name)
{
    struct part part = {kind, name, left, right, 0};
    if (kind >= K_NEXT)
        part.time = formula->times++;
    formula->parts[formula->count] = part;
    return formula->count++;
}

/* What has no time in it. */
static unsigned random_atom(struct random *random, struct formula_text *formula, char *text,
                            size_t size)
{
    static const char *const words[] = {"true", "false", "deadlock"};
    unsigned name = (unsigned)random_below(random, NAMES);
    unsigned kind = (unsigned)random_below(random, 10);
    if (kind < 4)
        snprintf(text, size, "%c", 'a' + name);
    else if (kind < 7)
        snprintf(text, size, "<%c>", 'a' + name);
    else
        snprintf(text, size, "%s", words[kind - 7]);
    return add_part(formula,
                    kind < 4   ? K_CAN
                    : kind < 7 ? K_FIRES
                               : (enum kind)(kind - 7),
                    0, 0, name);
}

static unsigned random_part(struct random *random, struct formula_text *formula, unsigned depth,
                            char *text, size_t size);

/* One operand: !, X, F, G in both spellings, and <a> f, [a] f. */
static unsigned random_unary(struct random *random, struct formula_text *formula, unsigned depth,
                             char *text, size_t size)
{
    static const char *const marks[] = {"!", "X", "F", "G", "<>", "[]"};
    static const enum kind kinds[] = {K_NOT, K_NEXT, K_SOMETIME, K_ALWAYS, K_SOMETIME, K_ALWAYS};
    char inner[LONG / 4];
    unsigned name = (unsigned)random_below(random, NAMES),
             which = (unsigned)random_below(random, 8);
    unsigned left = random_part(random, formula, depth - 1, inner, sizeof inner);
    if (which < 6) {
        snprintf(text, size, "%s (%s)", marks[which], inner);
        return add_part(formula, kinds[which], left, 0, 0);
    }
    unsigned fires = add_part(formula, K_FIRES, 0, 0, name);
    unsigned next = add_part(formula, K_NEXT, left, 0, 0);
    snprintf(text, size, which == 6 ? "<%c> (%s)" : "[%c] (%s)", 'a' + name, inner);
    return add_part(formula, which == 6 ? K_AND : K_IMPLIES, fires, next, 0);
}

static unsigned random_part(struct random *random, struct formula_text *formula, unsigned depth,
                            char *text, size_t size)
{
    static const char *const marks[] = {"&&", "||", "->", "<->", "U", "W", "R", "&", "|", "V"};
    static const enum kind kinds[] = {K_AND,  K_OR,      K_IMPLIES, K_IFF, K_UNTIL,
                                      K_WEAK, K_RELEASE, K_AND,     K_OR,  K_RELEASE};
    char left_text[LONG / 4], right_text[LONG / 4];
    if (depth == 0 || formula->times >= TIMES - 1 || random_chance(random, 10))
        return random_atom(random, formula, text, size);
    if (random_chance(random, 55))
        return random_unary(random, formula, depth, text, size);
    unsigned which = (unsigned)random_below(random, 10);
    unsigned left = random_part(random, formula, depth - 1, left_text, sizeof left_text);
    unsigned right = random_part(random, formula, depth - 1, right_text, sizeof right_text);
    snprintf(text, size, "(%s) %s (%s)", left_text, marks[which], right_text);
    return add_part(formula, kinds[which], left, right, 0);
}

/* With few enough temporal operators. */
static void random_formula(struct random *random, struct formula_text *formula)
{
    do {
        formula->count = formula->times = 0;
        random_part(random, formula, 3, formula->text, sizeof formula->text);
    } while (formula->times > TIMES);
}

/* ------------------------------------------------------------------ graphs */

/* A step; where nothing leads on, one that fires nothing and stays. */
struct step {
    unsigned from, to, names; /* names: bits, TAU among them */
};

struct plain {
    struct step steps[ARCS + STATES];
    unsigned step_count, states;
    unsigned can[STATES]; /* names that can fire */
    bool dead[STATES];
    unsigned initial; /* bits */
};

static const char *const label_texts[] = {"a", "b", "c", "a|b", "a|c", "tau", "b=1|c=2", "a"};
static const unsigned label_names[] = {1, 2, 4, 3, 5, TAU, 6, 1};

static gordian_graph *random_graph(struct random *random, struct plain *plain)
{
    gordian_graph *graph = new_graph();
    *plain = (struct plain){.states = 1 + (unsigned)random_below(random, STATES), .initial = 1};
    for (unsigned s = 0; s < plain->states; s++) {
        REQUIRE(graph_state(graph, NULL) == GORDIAN_OK);
        unsigned arcs = (unsigned)random_below(random, 4);
        plain->dead[s] = arcs == 0;
        for (unsigned k = 0; k < arcs; k++) {
            unsigned to = (unsigned)random_below(random, plain->states);
            unsigned l = (unsigned)random_below(random, 8);
            put_arc(graph, label_texts[l], to);
            plain->steps[plain->step_count++] = (struct step){s, to, label_names[l]};
            plain->can[s] |= label_names[l];
        }
        if (arcs == 0)
            plain->steps[plain->step_count++] = (struct step){s, s, 0};
    }
    REQUIRE(graph_initial(graph, 0, NULL) == GORDIAN_OK);
    if (plain->states > 1 && random_chance(random, 20)) {
        REQUIRE(graph_initial(graph, plain->states - 1, NULL) == GORDIAN_OK);
        plain->initial |= 1u << (plain->states - 1);
    }
    REQUIRE(graph_finish(graph, NULL) == GORDIAN_OK);
    return graph;
}

/* ------------------------------------------------------------------ the plain checker */

/* A node: a step, and for each temporal operator a bit that says that it holds from there on. */
struct guesses {
    const struct plain *plain;
    const struct formula_text *formula;
    unsigned count;
    uint64_t reach[NODES][WORDS]; /* in one step or more, through nodes that are allowed */
    uint64_t next[NODES][WORDS];
};

static const struct step *step_of(const struct guesses *guesses, unsigned node)
{
    return &guesses->plain->steps[node >> guesses->formula->times];
}

static bool guess_of(unsigned node, unsigned time)
{
    return node >> time & 1;
}

static bool atom_holds(const struct plain *plain, const struct part *part, const struct step *step)
{
    switch (part->kind) {
    case K_TRUE:
        return true;
    case K_DEADLOCK:
        return plain->dead[step->from];
    case K_CAN:
        return plain->can[step->from] >> part->name & 1;
    case K_FIRES:
        return step->names >> part->name & 1;
    default:
        return false;
    }
}

static bool holds_at(const struct guesses *guesses, unsigned number, unsigned node)
{
    const struct part *part = &guesses->formula->parts[number];
    switch (part->kind) {
    case K_NOT:
        return !holds_at(guesses, part->left, node);
    case K_AND:
        return holds_at(guesses, part->left, node) && holds_at(guesses, part->right, node);
    case K_OR:
        return holds_at(guesses, part->left, node) || holds_at(guesses, part->right, node);
    case K_IMPLIES:
        return !holds_at(guesses, part->left, node) || holds_at(guesses, part->right, node);
    case K_IFF:
        return holds_at(guesses, part->left, node) == holds_at(guesses, part->right, node);
    default:
        return part->kind >= K_NEXT ? guess_of(node, part->time)
                                    : atom_holds(guesses->plain, part, step_of(guesses, node));
    }
}

/* What a temporal formula is, by its operands now and itself (X: its operand) in the next step. */
static bool unfolds(enum kind kind, bool left, bool right, bool later)
{
    switch (kind) {
    case K_SOMETIME:
        return left || later;
    case K_ALWAYS:
        return left && later;
    case K_UNTIL:
    case K_WEAK:
        return right || (left && later);
    case K_RELEASE:
        return right && (left || later);
    default:
        return later;
    }
}

static bool may_follow(const struct guesses *guesses, unsigned node, unsigned after)
{
    if (step_of(guesses, node)->to != step_of(guesses, after)->from)
        return false;
    for (unsigned p = 0; p < guesses->formula->count; p++) {
        const struct part *part = &guesses->formula->parts[p];
        if (part->kind < K_NEXT)
            continue;
        bool binary = part->kind >= K_UNTIL;
        bool later = part->kind == K_NEXT ? holds_at(guesses, part->left, after)
                                          : guess_of(after, part->time);
        if (guess_of(node, part->time) != unfolds(part->kind, holds_at(guesses, part->left, node),
                                                  binary && holds_at(guesses, part->right, node),
                                                  later))
            return false;
    }
    return true;
}

/* Is the guess of a temporal operator, that it holds (or not) for ever, borne out in this node? */
static bool is_borne_out(const struct guesses *guesses, const struct part *part, unsigned node)
{
    bool guess = guess_of(node, part->time);
    switch (part->kind) {
    case K_SOMETIME:
        return !guess || holds_at(guesses, part->left, node);
    case K_ALWAYS:
        return guess || !holds_at(guesses, part->left, node);
    case K_UNTIL:
        return !guess || holds_at(guesses, part->right, node);
    case K_WEAK:
        return guess ||
               (!holds_at(guesses, part->left, node) && !holds_at(guesses, part->right, node));
    case K_RELEASE:
        return guess || !holds_at(guesses, part->right, node);
    default:
        return true;
    }
}

static bool has(const uint64_t *set, unsigned node)
{
    return set[node / 64] >> (node % 64) & 1;
}

/* Who reaches whom through nodes that are allowed: Warshall's way. */
static void close_reach(struct guesses *guesses, const bool *allowed)
{
    memset(guesses->reach, 0, sizeof guesses->reach);
    for (unsigned i = 0; i < guesses->count; i++)
        for (unsigned k = 0; k < guesses->count && allowed[i]; k++)
            if (allowed[k] && has(guesses->next[i], k))
                guesses->reach[i][k / 64] |= UINT64_C(1) << (k % 64);
    for (unsigned k = 0; k < guesses->count; k++)
        for (unsigned i = 0; i < guesses->count; i++)
            for (unsigned w = 0; w < WORDS && has(guesses->reach[i], k); w++)
                guesses->reach[i][w] |= guesses->reach[k][w];
}

/* Can the part that `node` is in be gone round for ever, all guesses borne out, fair to all? With
 * strong fairness `due` must fire, others cannot (their states are not allowed). */
static bool part_is_run(const struct guesses *guesses, unsigned node, gordian_fairness fairness,
                        unsigned due)
{
    unsigned fired = 0, always = ~0u;
    if (!has(guesses->reach[node], node))
        return false;
    for (unsigned p = 0; p <= guesses->formula->count; p++) {
        bool borne_out = p == guesses->formula->count || guesses->formula->parts[p].kind < K_NEXT;
        for (unsigned k = 0; k < guesses->count; k++) {
            if (!has(guesses->reach[node], k) || !has(guesses->reach[k], node))
                continue;
            fired |= step_of(guesses, k)->names;
            always &= guesses->plain->can[step_of(guesses, k)->from];
            borne_out = borne_out || is_borne_out(guesses, &guesses->formula->parts[p], k);
        }
        if (!borne_out)
            return false;
    }
    return fairness == GORDIAN_FAIRNESS_NONE   ? true
           : fairness == GORDIAN_FAIRNESS_WEAK ? !(always & ~fired)
                                               : !(due & ~fired);
}

/* Nodes on parts that make a run, of those whose states can fire `due` names at most. */
static void mark_runs(struct guesses *guesses, gordian_fairness fairness, unsigned due, bool *good)
{
    bool allowed[NODES];
    for (unsigned i = 0; i < guesses->count; i++)
        allowed[i] = fairness != GORDIAN_FAIRNESS_STRONG ||
                     !(guesses->plain->can[step_of(guesses, i)->from] & ~due);
    close_reach(guesses, allowed);
    for (unsigned i = 0; i < guesses->count; i++)
        good[i] |= part_is_run(guesses, i, fairness, due);
}

/* Does every fair run fulfil the formula? */
static bool plainly_holds(const struct plain *plain, const struct formula_text *formula,
                          gordian_fairness fairness)
{
    static struct guesses guesses;
    bool good[NODES] = {false}, all[NODES];
    guesses = (struct guesses){plain, formula, plain->step_count << formula->times, {{0}}, {{0}}};
    REQUIRE(guesses.count <= NODES);
    for (unsigned i = 0; i < guesses.count; i++) {
        all[i] = true;
        for (unsigned k = 0; k < guesses.count; k++)
            if (may_follow(&guesses, i, k))
                guesses.next[i][k / 64] |= UINT64_C(1) << (k % 64);
    }
    for (unsigned due = 0; due < (fairness == GORDIAN_FAIRNESS_STRONG ? 16u : 1u); due++)
        mark_runs(&guesses, fairness, due, good);
    close_reach(&guesses, all);
    for (unsigned i = 0; i < guesses.count; i++) {
        if (!(plain->initial >> step_of(&guesses, i)->from & 1) ||
            holds_at(&guesses, formula->count - 1, i))
            continue;
        for (unsigned k = 0; k < guesses.count; k++)
            if (good[k] && (i == k || has(guesses.reach[i], k)))
                return false;
    }
    return true;
}

/* ------------------------------------------------------------------ the run that is shown */

struct shown {
    struct step steps[SHOWN];
    unsigned count, loop; /* after the last comes step number `loop` */
};

static void add_shown(const struct plain *plain, struct shown *shown, unsigned *state,
                      const gordian_graph *graph, const gordian_graph_arc *arc)
{
    bool found = false;
    for (unsigned l = 0; l < 8 && !found; l++) {
        struct step step = {*state, arc->to, label_names[l]};
        if (strcmp(label_texts[l], gordian_graph_label(graph, arc->label)) != 0)
            continue;
        for (unsigned i = 0; i < plain->step_count; i++)
            found |= memcmp(&plain->steps[i], &step, sizeof step) == 0;
        REQUIRE(shown->count < SHOWN);
        shown->steps[shown->count++] = step;
    }
    CHECK(found);
    *state = arc->to;
}

/* What holds from each step of the run on; by going round until nothing changes, from the least or
 * the greatest. */
static bool shown_fulfils(const struct plain *plain, const struct formula_text *formula,
                          const struct shown *shown)
{
    static bool holds[PARTS][SHOWN];
    for (unsigned p = 0; p < formula->count; p++) {
        const struct part *part = &formula->parts[p];
        const bool *left = holds[part->left], *right = holds[part->right];
        bool greatest = part->kind == K_ALWAYS || part->kind == K_WEAK || part->kind == K_RELEASE;
        for (unsigned i = 0; i < shown->count; i++)
            holds[p][i] = greatest;
        for (unsigned round = 0; round <= shown->count; round++)
            for (unsigned i = shown->count; i-- > 0;) {
                unsigned after = i + 1 < shown->count ? i + 1 : shown->loop;
                const struct step *step = &shown->steps[i];
                holds[p][i] = part->kind == K_NOT       ? !left[i]
                              : part->kind == K_AND     ? left[i] && right[i]
                              : part->kind == K_OR      ? left[i] || right[i]
                              : part->kind == K_IMPLIES ? !left[i] || right[i]
                              : part->kind == K_IFF     ? left[i] == right[i]
                              : part->kind == K_NEXT    ? left[after]
                              : part->kind > K_NEXT
                                  ? unfolds(part->kind, left[i], right[i], holds[p][after])
                                  : atom_holds(plain, part, step);
            }
    }
    return holds[formula->count - 1][0];
}

static bool shown_is_fair(const struct plain *plain, const struct shown *shown,
                          gordian_fairness fairness)
{
    unsigned always = ~0u, ever = 0, fired = 0;
    for (unsigned i = shown->loop; i < shown->count; i++) {
        always &= plain->can[shown->steps[i].from];
        ever |= plain->can[shown->steps[i].from];
        fired |= shown->steps[i].names;
    }
    return fairness == GORDIAN_FAIRNESS_NONE   ? true
           : fairness == GORDIAN_FAIRNESS_WEAK ? !(always & ~fired)
                                               : !(ever & ~fired);
}

static void check_shown(const struct plain *plain, const gordian_graph *graph,
                        const struct formula_text *formula, gordian_fairness fairness,
                        const gordian_check *check)
{
    struct shown shown = {.count = 0};
    unsigned state = check->start;
    CHECK(plain->initial >> state & 1);
    for (size_t i = 0; i < check->path_count; i++)
        add_shown(plain, &shown, &state, graph, &check->path[i]);
    unsigned end = state;
    shown.loop = shown.count;
    for (size_t i = 0; i < check->cycle_count; i++)
        add_shown(plain, &shown, &state, graph, &check->cycle[i]);
    CHECK(state == end && check->dead_end == plain->dead[state]);
    CHECK(check->dead_end == (check->cycle_count == 0));
    if (check->dead_end)
        shown.steps[shown.count++] = (struct step){state, state, 0};
    CHECK_MSG(!shown_fulfils(plain, formula, &shown), "%s: the run that is shown fulfils it",
              formula->text);
    CHECK_MSG(shown_is_fair(plain, &shown, fairness), "%s: an unfair run is shown", formula->text);
}

static void check_random(struct random *random)
{
    static struct formula_text formula;
    struct plain plain;
    gordian_graph *graph = random_graph(random, &plain);
    random_formula(random, &formula);
    for (int fairness = GORDIAN_FAIRNESS_NONE; fairness <= GORDIAN_FAIRNESS_STRONG; fairness++) {
        gordian_check check;
        gordian_error error = {0};
        gordian_question question = {formula.text, true, (gordian_fairness)fairness};
        bool holds = plainly_holds(&plain, &formula, question.fairness);
        gordian_status status = gordian_graph_check(graph, &question, &check, &error);
        CHECK_MSG(status == GORDIAN_OK && check.holds == holds, "%s, fairness %d: %s, %d, not %d",
                  formula.text, fairness, error.message, check.holds, holds);
        if (status == GORDIAN_OK && !check.holds)
            check_shown(&plain, graph, &formula, question.fairness, &check);
        gordian_check_free(&check);
    }
    gordian_graph_close(graph);
}

/* ------------------------------------------------------------------ circuits */

static void check_circuit(const char *source, const char *formula, gordian_fairness fairness,
                          bool holds)
{
    gordian_circuit *circuit = read_circuit(source, NULL, NULL);
    gordian_graph *graph = NULL;
    gordian_check check;
    gordian_compose_result result;
    gordian_error error = {0};
    gordian_question question = {formula, true, fairness};
    REQUIRE(circuit);
    gordian_status status =
        gordian_compose_check(&graph, circuit, NULL, &question, NULL, &check, &result, &error);
    CHECK_MSG(status == GORDIAN_OK && check.holds == holds, "%s: %s, %d", formula, error.message,
              check.holds);
    gordian_check_free(&check);
    gordian_compose_result_free(&result);
    gordian_graph_close(graph);
    gordian_circuit_close(circuit);
}

static void check_circuits(void)
{
    static const char two[] = "main(a?,c!) { fifo1(a,b) fifo1(b,c) }";
    static const char apart[] = "main(a?,b!,c?,d!) { fifo1(a,b) fifo1(c,d) }";
    static const char router[] = "main(a?,b!,c!) { router(a,b,c) }";
    static const char tick[] = "main(a?,b!,t?,u?) { fifo1(a,b) syncdrain(t,u) }";
    static const char ring[] = "main() { fifofull<0>(x,y) fifofull<1>(y,x) }";
    check_circuit(two, "G (<a> -> F <c>)", GORDIAN_FAIRNESS_NONE, true);
    check_circuit(two, "G ($m#1 != null -> F $m#2 != null)", GORDIAN_FAIRNESS_NONE, true);
    check_circuit(two, "G ($m#2 != null -> X $m#2 = null)", GORDIAN_FAIRNESS_NONE, false);
    check_circuit(two, "<a> X <b> R true && !<c> W <a>", GORDIAN_FAIRNESS_NONE, true);
    check_circuit(apart, "[] (<a> -> <> <b>)", GORDIAN_FAIRNESS_NONE, false);
    check_circuit(apart, "[] (<a> -> <> <b>)", GORDIAN_FAIRNESS_WEAK, true);
    check_circuit(router, "G F <b>", GORDIAN_FAIRNESS_NONE, false);
    check_circuit(router, "G F <b>", GORDIAN_FAIRNESS_WEAK, true); /* it always can */
    check_circuit(tick, "G F <b>", GORDIAN_FAIRNESS_NONE, false);
    check_circuit(tick, "G F <b>", GORDIAN_FAIRNESS_STRONG, true);
    check_circuit(ring, "G deadlock && X X deadlock && !<x>", GORDIAN_FAIRNESS_STRONG, true);
    /* What can only now and then is what tells weak from strong. */
    static const char now_and_then[] =
        "main(a?,b?,c?) { #CA p* -> q : {a} q -> p : {b} q -> p : {c} }";
    check_circuit(now_and_then, "F <c>", GORDIAN_FAIRNESS_WEAK, false);
    check_circuit(now_and_then, "F <c>", GORDIAN_FAIRNESS_STRONG, true);
    check_circuit(now_and_then, "G (@1 = p -> X @1 = q)", GORDIAN_FAIRNESS_NONE, true);
}

static void check_refused(void)
{
    static char deep[3000], wide[6000];
    static const struct {
        const char *formula, *message;
        unsigned column;
    } cases[] = {
        {"", "expected a name", 1},    {"a U", "expected a name", 4},
        {"G (a", "expected ')'", 5},   {"<a", "expected '>'", 3},
        {"[a]", "expected a name", 4}, {"q", "no name 'q'", 2},
        {"EF a", "no name 'EF'", 3},   {"a b", "the end of the formula", 3},
        {deep, "nested", 0},           {wide, "different subformulas", 0},
    };
    gordian_circuit *circuit = read_circuit("main(a?,c!) { fifo1(a,b) fifo1(b,c) }", NULL, NULL);
    REQUIRE(circuit);
    for (size_t i = 0; i + 5 < sizeof deep; i += 4)
        memcpy(deep + i, "a U ", 5);
    size_t used = 0;
    for (unsigned i = 0; i < 2 * 150; i++) /* X a, X X a, ... and X b, X X b, ... */
        used += (size_t)snprintf(wide + used, sizeof wide - used, "%s",
                                 i == 149   ? "a || "
                                 : i == 299 ? "b"
                                            : "X ");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gordian_graph *graph;
        gordian_check check;
        gordian_compose_result result;
        gordian_error error = {0};
        gordian_question question = {cases[i].formula, true, GORDIAN_FAIRNESS_WEAK};
        gordian_status status =
            gordian_compose_check(&graph, circuit, NULL, &question, NULL, &check, &result, &error);
        CHECK_MSG(status == GORDIAN_STATUS_INPUT && !graph &&
                      strstr(error.message, cases[i].message) &&
                      (cases[i].column == 0 || error.column == cases[i].column),
                  "%.40s: %d: %s", cases[i].formula, (int)error.column, error.message);
    }
    gordian_circuit_close(circuit);
}

/* Words in any order, of both logics: a formula, or refused with a place in it. */
static void check_soup(struct random *random)
{
    static const char *const words[] = {
        "a",    "b",  "<a>", "[c]", "G",   "F",  "X", "U",  "W",  "R",      "V",
        "<>",   "[]", "<",   ">",   "[",   "]",  "(", ")",  "!",  "&&",     "||",
        "&",    "|",  "->",  "=",   "<->", "EF", "A", "E[", "AG", "EX",     "deadlock",
        "true", "$",  "@1",  "`",   "\"",  "#",  "-", ".",  "0",  "$m = 0", "@1 = p"};
    struct plain plain;
    gordian_graph *graph = random_graph(random, &plain);
    char text[400] = "";
    for (unsigned i = 1 + (unsigned)random_below(random, 12); i > 0; i--) {
        strcat(text, words[random_below(random, sizeof words / sizeof *words)]);
        strcat(text, random_chance(random, 80) ? " " : "");
    }
    for (int linear = 0; linear < 2; linear++) {
        gordian_check check;
        gordian_error error = {0};
        gordian_question question = {text, linear, GORDIAN_FAIRNESS_WEAK};
        gordian_status status = gordian_graph_check(graph, &question, &check, &error);
        CHECK_MSG(status == GORDIAN_OK || (status == GORDIAN_STATUS_INPUT && error.column > 0 &&
                                           error.column <= strlen(text) + 1),
                  "%s: %d %d", text, status, (int)error.column);
        gordian_check_free(&check);
    }
    gordian_graph_close(graph);
}

int main(void)
{
    struct random random;
    random_seed(&random, 23);
    unsigned long count = test_scaled(10000);
    for (unsigned long i = 0; i < count; i++)
        check_random(&random);
    for (unsigned long i = 0; i < 3 * count; i++)
        check_soup(&random);
    check_circuits();
    check_refused();
    return test_done();
}

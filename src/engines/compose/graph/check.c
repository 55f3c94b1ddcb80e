/* Model checking of CTL: evaluates a formula for all states, from the smallest subformulas up, then
 * finds a path that explains the result. For LTL see ltl_check.c, which uses the evaluated states.
 */
#include "engines/compose/graph/check.h"

#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/ltl_automaton.h"
#include "engines/compose/graph/step_costs.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

void gordian_check_free(gordian_check *check)
{
    memory_free_all(&check->allocator, check->path, check->cycle, check->costs);
    *check = (gordian_check){.allocator = check->allocator};
}

/* ------------------------------------------------------------------ sets */

/* Does a label have this name? */
static bool label_has(const char *label, const char *name)
{
    struct label_part part;
    while (label_next(&label, &part))
        if (label_part_is(&part, name))
            return true;
    return false;
}

uint8_t *check_labels_with(const gordian_graph *graph, const char *name)
{
    const struct label_table *labels = &graph->labels;
    uint8_t *with = memory_zeroed(&graph->memory, (size_t)labels->count + 1);
    for (uint32_t l = 1; with && l < labels->count; l++)
        with[l] = label_has(labels_text(labels, l), name);
    return with;
}

/* Finds the states with a step in which the name fires (NULL: any step) that leads to a state of
 * `to` (NULL: any state). */
static gordian_status find_steps(struct check *check, const char *name, const uint8_t *to,
                                 uint8_t *holds)
{
    const gordian_graph *graph = check->graph;
    uint8_t *with = name ? check_labels_with(graph, name) : NULL;
    if (name && !with)
        return fail_memory(check->error);
    for (uint32_t s = 0; s < graph->state_count; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            holds[s] |= (!with || with[graph->arcs[i].label]) && (!to || to[graph->arcs[i].to]);
    memory_free(&graph->memory, with);
    return GORDIAN_OK;
}

/* E[f U g]: searches backwards from g through f. */
static void find_until(struct check *check, const uint8_t *f, const uint8_t *g, uint8_t *holds)
{
    size_t found = 0;
    for (uint32_t s = 0; s < check->graph->state_count; s++)
        if (g[s]) {
            holds[s] = 1;
            check->queue[found++] = s;
        }
    for (size_t at = 0; at < found; at++) {
        uint32_t s = check->queue[at];
        for (size_t i = check->first_before[s]; i < check->first_before[s + 1]; i++) {
            uint32_t from = check->before[i];
            if (f[from] && !holds[from]) {
                holds[from] = 1;
                check->queue[found++] = from;
            }
        }
    }
}

/* EG f: removes states of f without a successor in f, until none is left. A deadlock in f stays,
 * because a path may end there. */
static void find_globally(struct check *check, const uint8_t *f, uint8_t *holds)
{
    const gordian_graph *graph = check->graph;
    size_t found = 0;
    for (uint32_t s = 0; s < graph->state_count; s++) {
        check->number[s] = 0;
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            check->number[s] += f[graph->arcs[i].to];
        holds[s] = f[s] && (graph_is_deadlock(graph, s) || check->number[s] > 0);
        if (f[s] && !holds[s])
            check->queue[found++] = s;
    }
    for (size_t at = 0; at < found; at++) {
        uint32_t s = check->queue[at];
        for (size_t i = check->first_before[s]; i < check->first_before[s + 1]; i++) {
            uint32_t from = check->before[i];
            if (holds[from] && --check->number[from] == 0) {
                holds[from] = 0;
                check->queue[found++] = from;
            }
        }
    }
}

static gordian_status evaluate_node(struct check *check, uint32_t number)
{
    const struct formula_node *node = &check->formula->nodes[number];
    uint8_t *holds = check->holds[number];
    const uint8_t *left = check->holds[node->left], *right = check->holds[node->right];
    uint32_t states = check->graph->state_count;
    switch ((enum formula_kind)node->kind) {
    case FORMULA_TRUE:
        memset(holds, 1, states);
        break;
    case FORMULA_DEADLOCK:
        for (uint32_t s = 0; s < states; s++)
            holds[s] = graph_is_deadlock(check->graph, s);
        break;
    case FORMULA_NAME:
        return find_steps(check, node->name, NULL, holds);
    case FORMULA_STEP:
        return find_steps(check, node->name, left, holds);
    case FORMULA_NOT:
        for (uint32_t s = 0; s < states; s++)
            holds[s] = !left[s];
        break;
    case FORMULA_AND:
        for (uint32_t s = 0; s < states; s++)
            holds[s] = left[s] & right[s];
        break;
    case FORMULA_OR:
        for (uint32_t s = 0; s < states; s++)
            holds[s] = left[s] | right[s];
        break;
    case FORMULA_EX:
        return find_steps(check, NULL, left, holds);
    case FORMULA_EG:
        find_globally(check, left, holds);
        break;
    case FORMULA_EU:
        find_until(check, left, right, holds);
        break;
    case FORMULA_FALSE:
    case FORMULA_LOCAL:
    case FORMULA_FIRES: /* these and the operators on runs have no value in a state */
    case FORMULA_NEXT:
    case FORMULA_UNTIL:
    case FORMULA_RELEASE:
        break;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ paths */

gordian_status check_add_arc(struct check *check, bool to_cycle, gordian_graph_arc arc)
{
    gordian_check *result = check->result;
    gordian_graph_arc **list = to_cycle ? &result->cycle : &result->path;
    size_t *count = to_cycle ? &result->cycle_count : &result->path_count;
    size_t *room = to_cycle ? &check->cycle_room : &check->path_room;
    if (!memory_grow(&result->allocator, list, room, *count + 1, sizeof **list))
        return fail_memory(check->error);
    (*list)[(*count)++] = arc;
    return GORDIAN_OK;
}

/* Appends the arcs in `by` from `start` to `end`. */
static gordian_status add_path(struct check *check, uint32_t start, uint32_t end)
{
    const gordian_graph *graph = check->graph;
    size_t length = 0;
    for (uint32_t s = end; s != start; length++)
        s = check->number[s];
    uint32_t *states = check->queue; /* no longer needed */
    for (uint32_t s = end, i = (uint32_t)length; i > 0; s = check->number[s])
        states[--i] = s;
    for (size_t i = 0; i < length; i++)
        TRY(check_add_arc(check, false, graph->arcs[check->by[states[i]] - 1]));
    return GORDIAN_OK;
}

/* Finds a shortest path from `start` to a state of g through states of f; *end: its last state. */
static gordian_status walk_until(struct check *check, uint32_t start, const uint8_t *f,
                                 const uint8_t *g, uint32_t *end)
{
    const gordian_graph *graph = check->graph;
    size_t found = 1;
    memset(check->by, 0, graph->state_count * sizeof *check->by);
    check->by[start] = SIZE_MAX;
    check->queue[0] = *end = start;
    for (size_t at = 0; at < found; at++) {
        uint32_t s = check->queue[at];
        if (g[s]) {
            *end = s;
            return add_path(check, start, s);
        }
        for (size_t i = graph->first[s]; i < graph->first[s + 1] && f[s]; i++) {
            uint32_t to = graph->arcs[i].to;
            if (check->by[to])
                continue;
            check->by[to] = i + 1;
            check->number[to] = s;
            check->queue[found++] = to;
        }
    }
    return GORDIAN_OK;
}

/* Finds an infinite path through states of `set`, or a path to a deadlock: follows the first
 * possible step until a state repeats. */
static gordian_status walk_globally(struct check *check, uint32_t start, const uint8_t *set)
{
    const gordian_graph *graph = check->graph;
    gordian_check *result = check->result;
    size_t begin = result->path_count;
    memset(check->by, 0, graph->state_count * sizeof *check->by);
    uint32_t s = start;
    for (size_t step = 1; !check->by[s]; step++) {
        check->by[s] = step;
        size_t i = graph->first[s];
        while (i < graph->first[s + 1] && !set[graph->arcs[i].to])
            i++;
        result->dead_end = i == graph->first[s + 1];
        if (result->dead_end)
            return GORDIAN_OK;
        TRY(check_add_arc(check, false, graph->arcs[i]));
        s = graph->arcs[i].to;
    }
    /* The path from the first visit of s on is the cycle. */
    size_t kept = begin + check->by[s] - 1;
    for (size_t i = kept; i < result->path_count; i++)
        TRY(check_add_arc(check, true, result->path[i]));
    result->path_count = kept;
    return GORDIAN_OK;
}

static gordian_status explain_node(struct check *check, uint32_t number, uint32_t state,
                                   bool wanted);

/* <a> f and EX f: the first step that satisfies it. */
static gordian_status explain_next(struct check *check, const struct formula_node *node,
                                   uint32_t state)
{
    const gordian_graph *graph = check->graph;
    const uint8_t *left = check->holds[node->left];
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++) {
        bool named = node->kind != FORMULA_STEP ||
                     label_has(labels_text(&graph->labels, graph->arcs[i].label), node->name);
        if (!named || !left[graph->arcs[i].to])
            continue;
        TRY(check_add_arc(check, false, graph->arcs[i]));
        return explain_node(check, node->left, graph->arcs[i].to, true);
    }
    return GORDIAN_OK;
}

/* Can a path explain part of the formula? */
static bool has_witness_path(const struct check *check, uint32_t number, bool wanted)
{
    const struct formula_node *node = &check->formula->nodes[number];
    switch ((enum formula_kind)node->kind) {
    case FORMULA_NOT:
        return has_witness_path(check, node->left, !wanted);
    case FORMULA_AND:
    case FORMULA_OR:
        return has_witness_path(check, node->left, wanted) ||
               has_witness_path(check, node->right, wanted);
    case FORMULA_EX:
    case FORMULA_EG:
    case FORMULA_EU:
    case FORMULA_STEP:
        return wanted;
    default:
        return false;
    }
}

/* If both operands decide the result, explains the operand that has a path. */
static gordian_status explain_pair(struct check *check, const struct formula_node *node,
                                   uint32_t state, bool wanted)
{
    bool both = (node->kind == FORMULA_AND) == wanted; /* both operands have the wanted value */
    bool left = check->holds[node->left][state] == wanted;
    uint32_t part = both ? (has_witness_path(check, node->right, wanted) ? node->right : node->left)
                    : left ? node->left
                           : node->right;
    return explain_node(check, part, state, wanted);
}

/* Explains by a path why the formula has this value in this state. */
static gordian_status explain_node(struct check *check, uint32_t number, uint32_t state,
                                   bool wanted)
{
    const struct formula_node *node = &check->formula->nodes[number];
    uint32_t end;
    gordian_status status;
    switch ((enum formula_kind)node->kind) {
    case FORMULA_NOT:
        return explain_node(check, node->left, state, !wanted);
    case FORMULA_AND:
    case FORMULA_OR:
        return explain_pair(check, node, state, wanted);
    case FORMULA_EX:
    case FORMULA_STEP:
        return wanted ? explain_next(check, node, state) : GORDIAN_OK;
    case FORMULA_EG:
        return wanted ? walk_globally(check, state, check->holds[number]) : GORDIAN_OK;
    case FORMULA_EU:
        if (!wanted)
            return GORDIAN_OK;
        status =
            walk_until(check, state, check->holds[node->left], check->holds[node->right], &end);
        return status == GORDIAN_OK ? explain_node(check, node->right, end, true) : status;
    default:
        return GORDIAN_OK;
    }
}

/* ------------------------------------------------------------------ entry points */

static gordian_status list_before(struct check *check)
{
    const gordian_graph *graph = check->graph;
    size_t states = graph->state_count;
    check->first_before = memory_zeroed(&graph->memory, (states + 2) * sizeof(size_t));
    check->before = memory_alloc(&graph->memory, (graph->arc_count + 1) * sizeof(uint32_t));
    check->queue = memory_alloc(&graph->memory, (states + 1) * sizeof(uint32_t));
    check->number = memory_alloc(&graph->memory, (states + 1) * sizeof(uint32_t));
    check->by = memory_alloc(&graph->memory, (states + 1) * sizeof(size_t));
    if (!check->first_before || !check->before || !check->queue || !check->number || !check->by)
        return fail_memory(check->error);
    size_t *next = check->first_before + 1; /* shifted by one: the counts become the starts */
    for (size_t i = 0; i < graph->arc_count; i++)
        next[graph->arcs[i].to + 1]++;
    for (size_t s = 1; s <= states; s++)
        next[s] += next[s - 1];
    for (uint32_t s = 0; s < states; s++)
        for (size_t i = graph->first[s]; i < graph->first[s + 1]; i++)
            check->before[next[graph->arcs[i].to]++] = s;
    return GORDIAN_OK;
}

static gordian_status decide(struct check *check)
{
    const gordian_graph *graph = check->graph;
    gordian_check *result = check->result;
    const uint8_t *top = check->holds[check->formula->top];
    result->holds = true;
    for (uint32_t s = 0; s < graph->state_count; s++)
        result->states += top[s];
    result->start = graph->initial[0];
    for (size_t i = graph->initial_count; i-- > 0;)
        if (!top[graph->initial[i]]) {
            result->holds = false;
            result->start = graph->initial[i];
        }
    return explain_node(check, check->formula->top, result->start, result->holds);
}

/* Evaluates the nodes that depend on a state only. `local` as below. */
static gordian_status evaluate_nodes(struct check *check, uint8_t *const *local)
{
    const gordian_graph *graph = check->graph;
    const struct formula *formula = check->formula;
    uint8_t *timeless = memory_alloc(&graph->memory, formula->count);
    check->holds = memory_zeroed(&graph->memory, formula->count * sizeof *check->holds);
    gordian_status status = GORDIAN_OK;
    if (!timeless || !check->holds)
        status = fail_memory(check->error);
    else
        linear_timeless(formula, timeless);
    for (uint32_t n = 0; n < formula->count && status == GORDIAN_OK; n++) {
        bool given = formula->nodes[n].kind == FORMULA_LOCAL;
        if (!timeless[n])
            continue;
        check->holds[n] =
            given ? local[n] : memory_zeroed(&graph->memory, (size_t)graph->state_count + 1);
        status = check->holds[n] ? evaluate_node(check, n) : fail_memory(check->error);
    }
    memory_free(&graph->memory, timeless);
    return status;
}

/* `local`, by node and state: where conditions on automata hold; NULL: there are none. `prices`:
 * for a question about costs. The caller frees the result. */
static gordian_status check_formula(const gordian_graph *graph, const struct formula *formula,
                                    const gordian_question *question, uint8_t *const *local,
                                    const struct prices *prices, gordian_check *result,
                                    gordian_error *error)
{
    struct check check = {.graph = graph, .formula = formula, .result = result, .error = error};
    *result = (gordian_check){.allocator = graph->memory};
    gordian_status status = question->linear ? GORDIAN_OK : list_before(&check);
    THEN(status, evaluate_nodes(&check, local));
    THEN(status, question->semiring ? prices_best(prices, &check)
                 : question->linear ? check_runs(&check, question->fairness)
                                    : decide(&check));
    for (uint32_t n = 0; check.holds && n < formula->count; n++)
        if (formula->nodes[n].kind != FORMULA_LOCAL)
            memory_free(&graph->memory, check.holds[n]);
    memory_free_all(&graph->memory, check.holds, check.first_before, check.before, check.queue,
                    check.number, check.by);
    if (status != GORDIAN_OK)
        gordian_check_free(result);
    return status;
}

gordian_status gordian_graph_check(const gordian_graph *graph, const gordian_question *question,
                                   gordian_check *result, gordian_error *error)
{
    struct formula formula;
    *result = (gordian_check){.allocator = graph->memory};
    if (question->semiring)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "a graph has no step costs: check the circuit instead");
    gordian_status status =
        formula_read(&formula, question->formula, question->linear, NULL, &graph->memory, error);
    THEN(status, check_formula(graph, &formula, question, NULL, NULL, result, error));
    formula_free(&formula);
    return status;
}

/* ------------------------------------------------------------------ circuits */

/* A sink that records in which states the formula's conditions on automata hold. */
struct watching {
    const struct formula *formula;
    gordian_allocator memory;
    uint8_t **local;      /* by node; NULL: not a condition on an automaton */
    struct prices prices; /* for a question about costs */
    bool priced;
};

static gordian_status begin_watching(void *context, const gordian_circuit *circuit, uint64_t states,
                                     uint64_t transitions, gordian_error *error)
{
    struct watching *watching = context;
    (void)circuit, (void)transitions;
    for (size_t n = 0; n < watching->formula->count; n++) {
        if (watching->formula->nodes[n].kind != FORMULA_LOCAL)
            continue;
        watching->local[n] = memory_zeroed(&watching->memory, (size_t)states + 1);
        if (!watching->local[n])
            return fail_memory(error);
    }
    return watching->priced ? prices_begin(&watching->prices, states, error) : GORDIAN_OK;
}

static gordian_status watch_row(void *context, const gordian_compose_row *row, gordian_error *error)
{
    struct watching *watching = context;
    for (size_t n = 0; n < watching->formula->count; n++) {
        const struct formula_node *node = &watching->formula->nodes[n];
        if (node->kind == FORMULA_LOCAL)
            watching->local[n][row->number] = node->states[row->state[node->factor]];
    }
    return watching->priced ? prices_row(&watching->prices, row, error) : GORDIAN_OK;
}

gordian_status gordian_compose_check(gordian_graph **out, const gordian_circuit *circuit,
                                     const gordian_compose_options *options,
                                     const gordian_question *question,
                                     const gordian_allocator *allocator, gordian_check *check,
                                     gordian_compose_result *result, gordian_error *error)
{
    struct formula formula;
    struct watching watching = {.formula = &formula, .memory = memory_allocator(allocator)};
    gordian_compose_sink sink = {&watching, begin_watching, watch_row};
    *out = NULL;
    *result = (gordian_compose_result){0};
    *check = (gordian_check){.allocator = watching.memory};
    gordian_status status = formula_read(&formula, question->formula, question->linear, circuit,
                                         &watching.memory, error);
    if (status == GORDIAN_OK) {
        watching.local = memory_zeroed(&watching.memory, (formula.count + 1) * sizeof(uint8_t *));
        status = watching.local ? GORDIAN_OK : fail_memory(error);
    }
    watching.priced = question->semiring != GORDIAN_SEMIRING_NONE;
    if (status == GORDIAN_OK && watching.priced)
        status =
            prices_open(&watching.prices, circuit, question->semiring, &watching.memory, error);
    THEN(status, compose_whole_graph(out, circuit, options, &sink, allocator, result, error));
    if (status == GORDIAN_OK && *out)
        status =
            check_formula(*out, &formula, question, watching.local, &watching.prices, check, error);
    for (size_t n = 0; watching.local && n < formula.count; n++)
        memory_free(&watching.memory, watching.local[n]);
    memory_free(&watching.memory, watching.local);
    formula_free(&formula);
    if (watching.priced)
        prices_close(&watching.prices);
    if (status != GORDIAN_OK) {
        gordian_graph_close(*out);
        *out = NULL;
        gordian_compose_result_free(result);
    }
    return status;
}

/* Model checking of LTL under fairness. The formula does not hold if the product of the graph with
 * the automaton of the negated formula (below) has a strongly connected component where everything
 * required can happen infinitely often: no until is promised by all edges, and every name that is
 * due fires. Strong fairness removes the states of a component in which a name is enabled that
 * never fires, and examines the rest. */
#include "engines/compose/graph/check.h"
#include "engines/compose/graph/ltl_automaton.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"
#include "foundation/base/scc.h"

#include <string.h>

/* ------------------------------------------------------------------ runs */

/*
 * The product of the graph and the automaton of the negated formula. An edge is a step of both. A
 * state without a successor has one edge that fires nothing and stays.
 */
#define RUNS_STAY UINT32_MAX /* label of the edge of a state without a successor */

struct run_node {
    uint32_t state, at; /* of the graph, of the automaton */
    uint32_t from, by;  /* a shortest path from an initial node: predecessor and edge; GORDIAN_NONE:
                           the node is initial */
};

struct run_edge {
    uint32_t arc; /* of the state: from graph->first[state] on; or RUNS_STAY */
    uint32_t move, to;
};

struct runs {
    gordian_allocator memory;
    const gordian_graph *graph;
    const struct check *check;
    struct linear linear;
    uint8_t **with; /* by part: for PART_FIRES, by label; otherwise NULL */

    /* In order of discovery (breadth-first). */
    struct run_node *nodes;
    uint32_t node_count, node_room;
    size_t *first; /* edges of node n: first[n] .. first[n + 1] - 1 */
    size_t first_room;
    struct run_edge *edges;
    size_t edge_count, edge_room;
    struct hash table;
};

static uint64_t node_hash(uint32_t state, uint32_t at)
{
    return hash_word((uint64_t)at << 32 | state);
}

static void refill_nodes(const void *context, struct hash *table)
{
    const struct runs *runs = context;
    for (uint32_t n = 0; n < runs->node_count; n++)
        hash_put(table, node_hash(runs->nodes[n].state, runs->nodes[n].at), n);
}

static gordian_status put_node(struct runs *runs, struct run_node node, uint32_t *number,
                               gordian_error *error)
{
    uint64_t hash = node_hash(node.state, node.at);
    struct hash_probe probe = hash_probe(&runs->table, hash);
    while (hash_meet(&runs->table, &probe)) {
        const struct run_node *other = &runs->nodes[probe.number];
        if (other->state == node.state && other->at == node.at) {
            *number = probe.number;
            return GORDIAN_OK;
        }
    }
    if (runs->node_count == GRAPH_STATES_MAX)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "more than %u states in the product with the formula", GRAPH_STATES_MAX);
    if (!hash_reserve(&runs->table, &runs->memory, runs->node_count + 1, runs->node_count + 1,
                      refill_nodes, runs) ||
        !memory_grow32(&runs->memory, &runs->nodes, &runs->node_room, runs->node_count + 1,
                       sizeof node))
        return fail_memory(error);
    *number = runs->node_count;
    runs->nodes[runs->node_count++] = node;
    hash_put(&runs->table, hash, *number);
    return GORDIAN_OK;
}

/* Do the literals of this kind hold, in a state or for a label (GORDIAN_NONE: nothing fires)? */
static bool literals_hold(const struct runs *runs, const struct linear_move *move,
                          enum part_kind kind, uint32_t of)
{
    for (uint32_t i = 0; i < LINEAR_PARTS / 64; i++)
        for (uint64_t word = move->literals.words[i]; word; word &= word - 1) {
            uint32_t number = i * 64 + (uint32_t)__builtin_ctzll(word);
            const struct part *part = &runs->linear.parts[number];
            if (part->kind != kind)
                continue;
            bool holds = kind == PART_STATE   ? runs->check->holds[part->node][of]
                         : of != GORDIAN_NONE ? runs->with[number][of]
                                              : false;
            if (holds == part->negated)
                return false;
        }
    return true;
}

static gordian_status put_run_edge(struct runs *runs, uint32_t from, uint32_t state,
                                   struct run_edge edge, gordian_error *error)
{
    struct run_node target = {.state = state,
                              .at = runs->linear.moves[edge.move].to,
                              .from = from,
                              .by = (uint32_t)runs->edge_count};
    TRY(put_node(runs, target, &edge.to, error));
    if (runs->edge_count == UINT32_MAX - 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "more than %u transitions in the product with the formula", UINT32_MAX - 1);
    if (!memory_extend(&runs->memory, runs->edges, runs->edge_room, runs->edge_count))
        return fail_memory(error);
    runs->edges[runs->edge_count++] = edge;
    return GORDIAN_OK;
}

/* Adds the edges of a node for one move of the automaton. */
static gordian_status follow_move(struct runs *runs, uint32_t from, uint32_t number,
                                  gordian_error *error)
{
    const gordian_graph *graph = runs->graph;
    const struct linear_move *move = &runs->linear.moves[number];
    uint32_t state = runs->nodes[from].state;
    if (!literals_hold(runs, move, PART_STATE, state))
        return GORDIAN_OK;
    if (graph_is_deadlock(graph, state))
        return literals_hold(runs, move, PART_FIRES, GORDIAN_NONE)
                   ? put_run_edge(runs, from, state, (struct run_edge){RUNS_STAY, number, 0}, error)
                   : GORDIAN_OK;
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++) {
        struct run_edge edge = {.arc = (uint32_t)(i - graph->first[state]), .move = number};
        if (literals_hold(runs, move, PART_FIRES, graph->arcs[i].label))
            TRY(put_run_edge(runs, from, graph->arcs[i].to, edge, error));
    }
    return GORDIAN_OK;
}

/* Explores the product. Call runs_close in any case. */
static gordian_status runs_open(struct runs *runs, const struct check *check, gordian_error *error)
{
    const gordian_graph *graph = check->graph;
    *runs = (struct runs){.memory = graph->memory, .graph = graph, .check = check};
    TRY(linear_open(&runs->linear, check->formula, &runs->memory, error));
    runs->with = memory_zeroed(&runs->memory, runs->linear.part_count * sizeof *runs->with);
    if (!runs->with)
        return fail_memory(error);
    for (size_t p = 0; p < runs->linear.part_count; p++) {
        const struct part *part = &runs->linear.parts[p];
        if (part->kind != PART_FIRES)
            continue;
        runs->with[p] = check_labels_with(graph, check->formula->nodes[part->node].name);
        if (!runs->with[p])
            return fail_memory(error);
    }
    const struct linear *linear = &runs->linear;
    uint32_t number;
    for (size_t i = 0; i < runs->graph->initial_count; i++)
        TRY(put_node(runs,
                     (struct run_node){.state = runs->graph->initial[i],
                                       .from = GORDIAN_NONE,
                                       .by = GORDIAN_NONE},
                     &number, error));
    for (uint32_t n = 0;; n++) {
        if (!memory_extend(&runs->memory, runs->first, runs->first_room, n))
            return fail_memory(error);
        runs->first[n] = runs->edge_count;
        if (n == runs->node_count)
            break;
        uint32_t at = runs->nodes[n].at;
        for (size_t m = linear->first[at]; m < linear->first[at + 1]; m++)
            TRY(follow_move(runs, n, (uint32_t)m, error));
    }
    return GORDIAN_OK;
}

static void runs_close(struct runs *runs)
{
    for (size_t p = 0; runs->with && p < runs->linear.part_count; p++)
        memory_free(&runs->memory, runs->with[p]);
    memory_free_all(&runs->memory, runs->with, runs->nodes, runs->first, runs->edges);
    hash_free(&runs->table, &runs->memory);
    linear_close(&runs->linear);
    *runs = (struct runs){.memory = runs->memory};
}

/* ------------------------------------------------------------------ search goals */

struct node_set {
    uint32_t *nodes; /* ascending in the first set */
    uint32_t count;
};

/* Accumulated properties of a set of states and edges. */
struct totals {
    size_t edges;
    struct part_set promised; /* by all edges: untils */
    uint64_t *all, *any;      /* names enabled in all of the states, in one of them */
    uint64_t *fired;          /* names fired by one of the edges */
};

/* Conditions that a cycle does not meet yet. */
struct goal {
    enum { GOAL_NONE, GOAL_UNTIL, GOAL_NAME, GOAL_NODE } kind;
    uint32_t number;
};

struct fair {
    struct runs runs;
    struct check *check;
    gordian_allocator memory;
    gordian_fairness fairness;
    size_t words;    /* of a set of names; 0: fairness is not requested */
    uint64_t *fires; /* by label: its names; label 0 is a hidden step */
    uint64_t *here;  /* names enabled in the current state */
    struct part_set untils;
    struct totals totals;
    uint32_t *place;          /* by node: 1 + its index in the current set; 0: not in it */
    struct node_set best;     /* a component with a counterexample; no nodes: none was found */
    struct node_set *pending; /* sets to examine */
    size_t pending_count, pending_room;
    uint32_t *cycle; /* edges */
    size_t cycle_count, cycle_room;
    gordian_error *error;
};

/* ------------------------------------------------------------------ names */

static gordian_status number_label_names(struct fair *fair, struct label_table *names)
{
    const struct label_table *labels = &fair->check->graph->labels;
    struct label_part part;
    uint32_t number;
    for (uint32_t l = 1; l < labels->count; l++)
        for (const char *at = labels_text(labels, l); label_next(&at, &part);)
            TRY(labels_put(names, part.name, part.name_length, &number, fair->error));
    return GORDIAN_OK;
}

/* Computes the names enabled in a node: fair->here. */
static void find_enabled_names(struct fair *fair, uint32_t node)
{
    const gordian_graph *graph = fair->check->graph;
    uint32_t state = fair->runs.nodes[node].state;
    if (fair->words == 0)
        return;
    memset(fair->here, 0, fair->words * sizeof *fair->here);
    for (size_t i = graph->first[state]; i < graph->first[state + 1]; i++)
        for (size_t w = 0; w < fair->words; w++)
            fair->here[w] |= fair->fires[graph->arcs[i].label * fair->words + w];
}

/* Returns the names that an edge fires; NULL: none. */
static const uint64_t *edge_fires(const struct fair *fair, uint32_t node,
                                  const struct run_edge *edge)
{
    const gordian_graph *graph = fair->check->graph;
    if (edge->arc == RUNS_STAY || fair->words == 0)
        return NULL;
    size_t arc = graph->first[fair->runs.nodes[node].state] + edge->arc;
    return fair->fires + graph->arcs[arc].label * fair->words;
}

/* ------------------------------------------------------------------ members of a set */

static void clear_totals(struct fair *fair)
{
    struct totals *totals = &fair->totals;
    totals->edges = 0;
    totals->promised = fair->untils;
    for (size_t w = 0; w < fair->words; w++) {
        totals->all[w] = ~UINT64_C(0);
        totals->any[w] = totals->fired[w] = 0;
    }
}

static void add_node_totals(struct fair *fair, uint32_t node)
{
    find_enabled_names(fair, node);
    for (size_t w = 0; w < fair->words; w++) {
        fair->totals.all[w] &= fair->here[w];
        fair->totals.any[w] |= fair->here[w];
    }
}

static void add_edge_totals(struct fair *fair, uint32_t node, const struct run_edge *edge)
{
    const struct part_set *promises = &fair->runs.linear.moves[edge->move].promises;
    const uint64_t *fires = edge_fires(fair, node, edge);
    fair->totals.edges++;
    for (size_t i = 0; i < LINEAR_PARTS / 64; i++)
        fair->totals.promised.words[i] &= promises->words[i];
    for (size_t w = 0; fires && w < fair->words; w++)
        fair->totals.fired[w] |= fires[w];
}

/* Returns something that the set does not have yet. */
static struct goal find_goal(const struct fair *fair)
{
    const struct totals *totals = &fair->totals;
    const uint64_t *due = fair->fairness == GORDIAN_FAIRNESS_STRONG ? totals->any : totals->all;
    for (uint32_t i = 0; i < LINEAR_PARTS / 64; i++)
        if (totals->promised.words[i])
            return (struct goal){GOAL_UNTIL,
                                 i * 64 + (uint32_t)__builtin_ctzll(totals->promised.words[i])};
    for (uint32_t w = 0; w < fair->words; w++)
        if (due[w] & ~totals->fired[w])
            return (struct goal){GOAL_NAME,
                                 w * 64 + (uint32_t)__builtin_ctzll(due[w] & ~totals->fired[w])};
    return (struct goal){GOAL_NONE, 0};
}

/* ------------------------------------------------------------------ sets of nodes */

static gordian_status push_set(struct fair *fair, const uint32_t *nodes, uint32_t count)
{
    struct node_set set = {memory_alloc(&fair->memory, (count + 1) * sizeof *nodes), count};
    if (!set.nodes ||
        !memory_extend(&fair->memory, fair->pending, fair->pending_room, fair->pending_count)) {
        memory_free(&fair->memory, set.nodes);
        return fail_memory(fair->error);
    }
    memcpy(set.nodes, nodes, count * sizeof *nodes);
    fair->pending[fair->pending_count++] = set;
    return GORDIAN_OK;
}

/* Strong fairness: keeps the nodes without an enabled name that never fires in the set. */
static gordian_status push_rest(struct fair *fair, uint32_t *nodes, uint32_t count)
{
    uint32_t left = 0;
    for (uint32_t i = 0; i < count; i++) {
        bool stays = true;
        find_enabled_names(fair, nodes[i]);
        for (size_t w = 0; w < fair->words; w++)
            stays &= !(fair->here[w] & fair->totals.any[w] & ~fair->totals.fired[w]);
        if (stays)
            nodes[left++] = nodes[i];
    }
    return left ? push_set(fair, nodes, left) : GORDIAN_OK;
}

static uint32_t first_of(const uint32_t *nodes, uint32_t count)
{
    uint32_t first = nodes[0];
    for (uint32_t i = 1; i < count; i++)
        if (nodes[i] < first)
            first = nodes[i];
    return first;
}

/* Examines a strongly connected component with the members `nodes`. */
static gordian_status judge_part(struct fair *fair, const struct scc *scc, uint32_t part,
                                 uint32_t *nodes, uint32_t count)
{
    const struct runs *runs = &fair->runs;
    clear_totals(fair);
    for (uint32_t i = 0; i < count; i++) {
        add_node_totals(fair, nodes[i]);
        for (size_t e = runs->first[nodes[i]]; e < runs->first[nodes[i] + 1]; e++) {
            uint32_t place = fair->place[runs->edges[e].to];
            if (place && scc_component(scc, place - 1) == part)
                add_edge_totals(fair, nodes[i], &runs->edges[e]);
        }
    }
    struct goal missing = find_goal(fair);
    if (fair->totals.edges == 0 || missing.kind == GOAL_UNTIL)
        return GORDIAN_OK;
    if (missing.kind == GOAL_NONE) {
        /* Keeps the component nearest to an initial node. */
        if (fair->best.nodes &&
            first_of(fair->best.nodes, fair->best.count) <= first_of(nodes, count))
            return GORDIAN_OK;
        uint32_t *copy = memory_alloc(&fair->memory, count * sizeof *nodes);
        if (!copy)
            return fail_memory(fair->error);
        memory_free(&fair->memory, fair->best.nodes);
        fair->best = (struct node_set){memcpy(copy, nodes, count * sizeof *nodes), count};
        return GORDIAN_OK;
    }
    return fair->fairness == GORDIAN_FAIRNESS_STRONG ? push_rest(fair, nodes, count) : GORDIAN_OK;
}

/* Lists the edges within a set for the search of components. `targets` NULL: only counts them. */
static size_t list_set_edges(const struct fair *fair, const struct node_set *set,
                             struct scc_node *nodes, uint32_t *targets)
{
    const struct runs *runs = &fair->runs;
    size_t count = 0;
    for (uint32_t i = 0; i < set->count; i++) {
        nodes[i].first = (uint32_t)count;
        for (size_t e = runs->first[set->nodes[i]]; e < runs->first[set->nodes[i] + 1]; e++) {
            uint32_t place = fair->place[runs->edges[e].to];
            if (place && targets)
                targets[count] = place - 1;
            count += place != 0;
        }
        nodes[i].end = (uint32_t)count;
    }
    return count;
}

static gordian_status judge_parts(struct fair *fair, const struct node_set *set, struct scc *scc)
{
    for (uint32_t c = 0; c < scc->count; c++) {
        uint32_t *members = scc->members + scc->starts[c];
        uint32_t count = scc->starts[c + 1] - scc->starts[c];
        for (uint32_t i = 0; i < count; i++)
            members[i] = set->nodes[members[i]];
        TRY(judge_part(fair, scc, c, members, count));
    }
    return GORDIAN_OK;
}

static void place_set(struct fair *fair, const struct node_set *set, bool there)
{
    for (uint32_t i = 0; i < set->count; i++)
        fair->place[set->nodes[i]] = there ? i + 1 : 0;
}

static gordian_status judge_set(struct fair *fair, const struct node_set *set)
{
    struct scc_node *nodes = memory_zeroed(&fair->memory, set->count * sizeof *nodes);
    uint32_t *targets = NULL;
    struct scc scc = {.memory = fair->memory};
    gordian_status status = nodes ? GORDIAN_OK : fail_memory(fair->error);
    place_set(fair, set, true);
    if (status == GORDIAN_OK) {
        size_t count = list_set_edges(fair, set, nodes, NULL);
        targets = memory_alloc(&fair->memory, (count + 1) * sizeof *targets);
        status = targets ? GORDIAN_OK : fail_memory(fair->error);
    }
    if (status == GORDIAN_OK) {
        list_set_edges(fair, set, nodes, targets);
        status = scc_open(&scc, &fair->memory, nodes, targets) && scc_run(&scc, NULL, set->count)
                     ? judge_parts(fair, set, &scc)
                     : fail_memory(fair->error);
        scc_close(&scc);
    }
    place_set(fair, set, false);
    memory_free_all(&fair->memory, nodes, targets);
    return status;
}

static gordian_status judge_runs(struct fair *fair)
{
    uint32_t count = fair->runs.node_count;
    struct node_set all = {memory_alloc(&fair->memory, (count + (size_t)1) * sizeof(uint32_t)),
                           count};
    gordian_status status = all.nodes ? GORDIAN_OK : fail_memory(fair->error);
    for (uint32_t n = 0; all.nodes && n < count; n++)
        all.nodes[n] = n;
    if (status == GORDIAN_OK && count > 0)
        status = judge_set(fair, &all);
    memory_free(&fair->memory, all.nodes);
    while (status == GORDIAN_OK && fair->pending_count > 0) {
        struct node_set set = fair->pending[--fair->pending_count];
        status = judge_set(fair, &set);
        memory_free(&fair->memory, set.nodes);
    }
    return status;
}

/* ------------------------------------------------------------------ the printed run */

static bool meets_goal(struct fair *fair, struct goal goal, uint32_t node,
                       const struct run_edge *edge)
{
    const uint64_t *fires = edge_fires(fair, node, edge);
    switch (goal.kind) {
    case GOAL_UNTIL:
        return !bits_test(fair->runs.linear.moves[edge->move].promises.words, goal.number);
    case GOAL_NODE:
        return edge->to == goal.number;
    case GOAL_NAME:
        if (fires && bits_test(fires, goal.number))
            return true;
        find_enabled_names(fair, node);
        return fair->fairness == GORDIAN_FAIRNESS_WEAK && !bits_test(fair->here, goal.number);
    default:
        return true;
    }
}

/* Appends edges to the cycle, from last to first. `by`: by index in the best component. */
static gordian_status append_path(struct fair *fair, const uint32_t *by, const uint32_t *from,
                                  uint32_t node, uint32_t last)
{
    size_t begin = fair->cycle_count, length = 1;
    for (uint32_t n = node; from[fair->place[n] - 1] != GORDIAN_NONE; n = from[fair->place[n] - 1])
        length++;
    if (!memory_grow(&fair->memory, &fair->cycle, &fair->cycle_room, begin + length,
                     sizeof *fair->cycle))
        return fail_memory(fair->error);
    fair->cycle_count = begin + length;
    for (size_t i = begin + length; i-- > begin;) {
        fair->cycle[i] = last;
        add_node_totals(fair, node);
        add_edge_totals(fair, node, &fair->runs.edges[last]);
        last = by[fair->place[node] - 1];
        if (i > begin)
            node = from[fair->place[node] - 1];
    }
    return GORDIAN_OK;
}

/* Finds a shortest path in the best component whose last edge meets the goal; *at: its start, then
 * its end. The arrays are buffers. */
static gordian_status walk_goal(struct fair *fair, struct goal goal, uint32_t *at, uint32_t *queue,
                                uint32_t *by, uint32_t *from)
{
    const struct runs *runs = &fair->runs;
    uint32_t found = 1;
    memset(by, 0xff, fair->best.count * sizeof *by);
    memset(from, 0xff, fair->best.count * sizeof *from);
    queue[0] = *at;
    for (uint32_t i = 0; i < found; i++) {
        uint32_t node = queue[i];
        for (size_t e = runs->first[node]; e < runs->first[node + 1]; e++) {
            uint32_t to = runs->edges[e].to;
            if (fair->place[to] == 0)
                continue;
            if (meets_goal(fair, goal, node, &runs->edges[e])) {
                *at = to;
                return append_path(fair, by, from, node, (uint32_t)e);
            }
            uint32_t place = fair->place[to] - 1;
            if (to == queue[0] || from[place] != GORDIAN_NONE)
                continue;
            from[place] = node;
            by[place] = (uint32_t)e;
            queue[found++] = to;
        }
    }
    return fail(fair->error, GORDIAN_STATUS_UNAVAILABLE,
                "internal error: no run found for the formula");
}

/* Makes a cycle from `start` through everything that must happen infinitely often. */
static gordian_status make_cycle(struct fair *fair, uint32_t start)
{
    size_t size = fair->best.count * sizeof(uint32_t);
    uint32_t *queue = memory_alloc(&fair->memory, size), *by = memory_alloc(&fair->memory, size);
    uint32_t *from = memory_alloc(&fair->memory, size), at = start;
    gordian_status status = queue && by && from ? GORDIAN_OK : fail_memory(fair->error);
    clear_totals(fair);
    while (status == GORDIAN_OK) {
        struct goal goal = find_goal(fair);
        if (goal.kind == GOAL_NONE && at == start && fair->cycle_count > 0)
            break;
        if (goal.kind == GOAL_NONE)
            goal = (struct goal){GOAL_NODE, start};
        status = walk_goal(fair, goal, &at, queue, by, from);
    }
    memory_free_all(&fair->memory, queue, by, from);
    return status;
}

static gordian_status show_edge(struct fair *fair, bool to_cycle, uint32_t node, uint32_t number)
{
    const gordian_graph *graph = fair->check->graph;
    const struct run_edge *edge = &fair->runs.edges[number];
    if (edge->arc == RUNS_STAY) {
        fair->check->result->dead_end = true;
        return GORDIAN_OK;
    }
    size_t arc = graph->first[fair->runs.nodes[node].state] + edge->arc;
    return check_add_arc(fair->check, to_cycle, graph->arcs[arc]);
}

/* Reports the path to the nearest node of the best component. */
static gordian_status show_path(struct fair *fair, uint32_t end)
{
    const struct run_node *nodes = fair->runs.nodes;
    size_t length = 0;
    for (uint32_t n = end; nodes[n].from != GORDIAN_NONE; n = nodes[n].from)
        length++;
    uint32_t *path = memory_alloc(&fair->memory, (length + 1) * sizeof *path);
    gordian_status status = path ? GORDIAN_OK : fail_memory(fair->error);
    for (size_t i = length + 1; path && i-- > 0;) {
        path[i] = end;
        end = nodes[end].from;
    }
    if (path)
        fair->check->result->start = nodes[path[0]].state;
    for (size_t i = 1; i <= length && status == GORDIAN_OK; i++)
        status = show_edge(fair, false, path[i - 1], nodes[path[i]].by);
    memory_free(&fair->memory, path);
    return status;
}

static gordian_status show_run(struct fair *fair)
{
    uint32_t start = first_of(fair->best.nodes, fair->best.count), node = start;
    place_set(fair, &fair->best, true);
    TRY(make_cycle(fair, start));
    TRY(show_path(fair, start));
    for (size_t i = 0; i < fair->cycle_count; i++) {
        TRY(show_edge(fair, true, node, fair->cycle[i]));
        node = fair->runs.edges[fair->cycle[i]].to;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ entry points */

/* Finds which names fire with each label. */
static gordian_status list_fired_names(struct fair *fair)
{
    const struct label_table *labels = &fair->check->graph->labels;
    struct label_table names;
    struct label_part part;
    TRY(labels_init(&names, &fair->memory, fair->error));
    gordian_status status = number_label_names(fair, &names);
    if (status == GORDIAN_OK) {
        fair->words = bits_words(names.count);
        fair->fires = memory_zeroed(&fair->memory, labels->count * fair->words * sizeof(uint64_t));
        status = fair->fires ? GORDIAN_OK : fail_memory(fair->error);
    }
    if (status == GORDIAN_OK)
        bits_set(fair->fires, LABEL_TAU);
    for (uint32_t l = 1; status == GORDIAN_OK && l < labels->count; l++)
        for (const char *at = labels_text(labels, l); label_next(&at, &part);)
            bits_set(fair->fires + l * fair->words,
                     labels_find(&names, part.name, part.name_length));
    labels_free(&names);
    return status;
}

static gordian_status open_fair(struct fair *fair)
{
    TRY(runs_open(&fair->runs, fair->check, fair->error));
    if (fair->fairness != GORDIAN_FAIRNESS_NONE)
        TRY(list_fired_names(fair));
    uint64_t *sets = memory_zeroed(&fair->memory, (4 * fair->words + 1) * sizeof *sets);
    fair->here = sets;
    fair->place =
        memory_zeroed(&fair->memory, (fair->runs.node_count + (size_t)1) * sizeof *fair->place);
    if (!sets || !fair->place)
        return fail_memory(fair->error);
    fair->totals.all = sets + fair->words;
    fair->totals.any = sets + 2 * fair->words;
    fair->totals.fired = sets + 3 * fair->words;
    for (uint32_t p = 0; p < fair->runs.linear.part_count; p++)
        if (fair->runs.linear.parts[p].kind == PART_UNTIL)
            bits_set(fair->untils.words, p);
    return GORDIAN_OK;
}

gordian_status check_runs(struct check *check, gordian_fairness fairness)
{
    struct fair fair = {.check = check,
                        .memory = check->graph->memory,
                        .fairness = fairness,
                        .error = check->error};
    gordian_status status = open_fair(&fair);
    THEN(status, judge_runs(&fair));
    if (status == GORDIAN_OK) {
        check->result->holds = !fair.best.nodes;
        check->result->start = check->graph->initial[0];
        status = fair.best.nodes ? show_run(&fair) : GORDIAN_OK;
    }
    while (fair.pending_count > 0)
        memory_free(&fair.memory, fair.pending[--fair.pending_count].nodes);
    memory_free_all(&fair.memory, fair.fires, fair.here, fair.place, fair.best.nodes, fair.pending,
                    fair.cycle);
    runs_close(&fair.runs);
    return status;
}

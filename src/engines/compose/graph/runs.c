#include "engines/compose/graph/runs.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

/* ------------------------------------------------------------------ nodes */

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
        return fail(error, GORDIAN_STATUS_INPUT, "more than %u states with those of the formula",
                    GRAPH_STATES_MAX);
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

/* ------------------------------------------------------------------ edges */

/* Does what the move says of this kind hold: of the state, or of the label (GORDIAN_NONE: nothing
 * fires)? */
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

static gordian_status put_edge(struct runs *runs, uint32_t from, uint32_t state,
                               struct run_edge edge, gordian_error *error)
{
    struct run_node target = {.state = state,
                              .at = runs->linear.moves[edge.move].to,
                              .from = from,
                              .by = (uint32_t)runs->edge_count};
    TRY(put_node(runs, target, &edge.to, error));
    if (runs->edge_count == UINT32_MAX - 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "more than %u transitions with those of the formula", UINT32_MAX - 1);
    if (!memory_grow(&runs->memory, &runs->edges, &runs->edge_room, runs->edge_count + 1,
                     sizeof edge))
        return fail_memory(error);
    runs->edges[runs->edge_count++] = edge;
    return GORDIAN_OK;
}

/* The steps of a node that follow one move of the automaton. */
static gordian_status follow_move(struct runs *runs, uint32_t from, uint32_t number,
                                  gordian_error *error)
{
    const gordian_graph *graph = runs->graph;
    const struct linear_move *move = &runs->linear.moves[number];
    uint32_t state = runs->nodes[from].state;
    gordian_status status = GORDIAN_OK;
    if (!literals_hold(runs, move, PART_STATE, state))
        return GORDIAN_OK;
    if (graph_is_deadlock(graph, state))
        return literals_hold(runs, move, PART_FIRES, GORDIAN_NONE)
                   ? put_edge(runs, from, state, (struct run_edge){RUNS_STAY, number, 0}, error)
                   : GORDIAN_OK;
    for (size_t i = graph->first[state]; i < graph->first[state + 1] && status == GORDIAN_OK; i++) {
        struct run_edge edge = {.arc = (uint32_t)(i - graph->first[state]), .move = number};
        if (literals_hold(runs, move, PART_FIRES, graph->arcs[i].label))
            status = put_edge(runs, from, graph->arcs[i].to, edge, error);
    }
    return status;
}

gordian_status runs_open(struct runs *runs, const struct check *check, gordian_error *error)
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
        if (!memory_grow(&runs->memory, &runs->first, &runs->first_room, (size_t)n + 1,
                         sizeof *runs->first))
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

void runs_close(struct runs *runs)
{
    for (size_t p = 0; runs->with && p < runs->linear.part_count; p++)
        memory_free(&runs->memory, runs->with[p]);
    memory_free_all(&runs->memory, runs->with, runs->nodes, runs->first, runs->edges);
    hash_free(&runs->table, &runs->memory);
    linear_close(&runs->linear);
    *runs = (struct runs){.memory = runs->memory};
}

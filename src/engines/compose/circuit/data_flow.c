#include "engines/compose/circuit/data_flow.h"

#include "engines/compose/circuit/union_find.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <string.h>

/* Place 0 is all ports, place 1 + c is cell c. */
#define NOWHERE UINT32_MAX

struct flow {
    const struct automaton *automaton;
    const struct data *data;
    uint32_t *parent;             /* union-find over the places */
    uint8_t *symbols, *functions; /* NULL in the first round, which only joins places */
};

static uint32_t flow_root(const struct flow *flow, uint32_t place)
{
    return place == NOWHERE ? NOWHERE : union_find_root(flow->parent, place);
}

static uint32_t join_places(struct flow *flow, uint32_t left, uint32_t right)
{
    left = flow_root(flow, left);
    right = flow_root(flow, right);
    if (left == NOWHERE || right == NOWHERE || left == right)
        return left == NOWHERE ? right : left;
    uint32_t low = left < right ? left : right; /* so that the ports stay a root */
    flow->parent[left + right - low] = low;
    return low;
}

/* A constant that stands against this place. */
static void note_symbol(struct flow *flow, uint32_t symbol, uint32_t place)
{
    if (flow->symbols && flow_root(flow, place) == 0)
        flow->symbols[symbol] = 1;
}

static uint32_t place_of(struct flow *flow, uint32_t term);

static void note_application(struct flow *flow, const struct guard_node *node, uint32_t place)
{
    const struct guard_node *nodes = flow->automaton->guards.nodes;
    if (flow->functions && flow_root(flow, place) == 0)
        flow->functions[node->symbol] = 1;
    if (function_is_arithmetic(flow->data->functions[node->symbol].kind))
        return; /* the numbers that are computed with are no data */
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right)
        if (nodes[nodes[list].left].kind == TERM_CONSTANT)
            note_symbol(flow, nodes[nodes[list].left].symbol, place);
}

/* The arguments of a function and what it gives are one place. */
static uint32_t place_of_application(struct flow *flow, const struct guard_node *node)
{
    const struct guard_node *nodes = flow->automaton->guards.nodes;
    /* Does it go by the data as they are listed, or compute with them? */
    uint32_t place = ((&flow->data->functions[node->symbol])->kind >= FUNCTION_SUCC) ? 0 : NOWHERE;
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right)
        place = join_places(flow, place, place_of(flow, nodes[list].left));
    note_application(flow, node, place);
    return place;
}

static uint32_t place_of(struct flow *flow, uint32_t term)
{
    const struct guard_node *node = &flow->automaton->guards.nodes[term];
    switch ((enum guard_kind)node->kind) {
    case TERM_PORT:
        return 0;
    case TERM_NOW:
    case TERM_NEXT:
        return 1 + node->symbol;
    case TERM_APPLY:
        return place_of_application(flow, node);
    default:
        return NOWHERE;
    }
}

static void follow_equality(struct flow *flow, const struct guard_node *node)
{
    const struct guard_node *nodes = flow->automaton->guards.nodes;
    uint32_t place = join_places(flow, place_of(flow, node->left), place_of(flow, node->right));
    if (nodes[node->left].kind == TERM_CONSTANT)
        note_symbol(flow, nodes[node->left].symbol, place);
    if (nodes[node->right].kind == TERM_CONSTANT)
        note_symbol(flow, nodes[node->right].symbol, place);
}

/* Every equality and predicate of the automaton; all nodes of all guards lie in one array. */
static void follow_guards(struct flow *flow)
{
    const struct guards *guards = &flow->automaton->guards;
    for (size_t i = 0; i < guards->count; i++) {
        if (guards->nodes[i].kind == GUARD_EQUAL)
            follow_equality(flow, &guards->nodes[i]);
        else if (guards->nodes[i].kind == GUARD_PREDICATE)
            place_of_application(flow, &guards->nodes[i]);
    }
}

gordian_status automaton_flow(struct automaton *automaton, const struct data *data,
                              uint8_t *symbols, uint8_t *functions, gordian_error *error)
{
    struct flow flow = {.automaton = automaton, .data = data};
    size_t places = 1 + automaton->cell_count;
    flow.parent = memory_alloc(&automaton->memory, places * sizeof *flow.parent);
    if (!flow.parent)
        return fail_memory(error);
    for (uint32_t p = 0; p < places; p++)
        flow.parent[p] = p;
    follow_guards(&flow);
    memset(symbols, 0, data->symbol_count);
    memset(functions, 0, data->function_count);
    flow.symbols = symbols;
    flow.functions = functions;
    follow_guards(&flow);
    for (uint32_t c = 0; c < automaton->cell_count; c++) {
        struct automaton_cell *cell = &automaton->cells[c];
        cell->own = flow_root(&flow, 1 + c) != 0;
        if (cell->initial != GORDIAN_NONE)
            note_symbol(&flow, cell->initial, 1 + c);
    }
    memory_free(&automaton->memory, flow.parent);
    return GORDIAN_OK;
}

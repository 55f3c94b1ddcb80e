/* Constraint automata: building them, and two analyses: data routing and data flow. */
#include "engines/compose/circuit/automaton.h"

#include "engines/compose/circuit/union_find.h"
#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#include <math.h>
#include <string.h>

gordian_status automaton_new(struct automaton **out, const char *title,
                             const gordian_allocator *memory, gordian_error *error)
{
    *out = NULL;
    struct automaton *automaton = memory_zeroed(memory, sizeof *automaton);
    if (!automaton)
        return fail_memory(error);
    automaton->memory = *memory;
    guards_init(&automaton->guards, memory);
    automaton->title = memory_copy_text(memory, title);
    /* Guard 0 is TRUE, so a guard of 0 can always be read. */
    if ((title && !automaton->title) ||
        guard_add(&automaton->guards, GUARD_TRUE, GUARD_NONE, GUARD_NONE, 0) == GUARD_NONE) {
        automaton_free(automaton);
        return fail_memory(error);
    }
    *out = automaton;
    return GORDIAN_OK;
}

void automaton_free(struct automaton *automaton)
{
    if (!automaton)
        return;
    gordian_allocator memory = automaton->memory;
    for (size_t i = 0; i < automaton->port_count; i++)
        memory_free(&memory, automaton->ports[i].name);
    for (size_t i = 0; i < automaton->cell_count; i++)
        memory_free(&memory, automaton->cells[i].name);
    for (size_t i = 0; i < automaton->state_count; i++)
        memory_free(&memory, automaton->states[i].name);
    memory_free_all(&memory, automaton->ports, automaton->cells, automaton->states,
                    automaton->transitions, automaton->fires);
    guards_free(&automaton->guards);
    memory_free_all(&memory, automaton->title, automaton);
}

gordian_status automaton_port(struct automaton *automaton, const char *name,
                              enum port_direction direction, uint32_t *port, gordian_error *error)
{
    bool fine = memory_extend(&automaton->memory, automaton->ports, automaton->port_room,
                              automaton->port_count);
    char *copy = fine ? memory_copy_text(&automaton->memory, name) : NULL;
    if (!fine || (name && !copy))
        return fail_memory(error);
    if (port)
        *port = (uint32_t)automaton->port_count;
    automaton->ports[automaton->port_count++] = (struct automaton_port){copy, (uint8_t)direction};
    return GORDIAN_OK;
}

gordian_status automaton_cell(struct automaton *automaton, const char *name, uint32_t initial,
                              uint32_t *cell, gordian_error *error)
{
    bool fine = memory_extend(&automaton->memory, automaton->cells, automaton->cell_room,
                              automaton->cell_count);
    char *copy = fine ? memory_copy_text(&automaton->memory, name) : NULL;
    if (!fine || (name && !copy))
        return fail_memory(error);
    if (cell)
        *cell = (uint32_t)automaton->cell_count;
    automaton->cells[automaton->cell_count++] =
        (struct automaton_cell){.name = copy, .initial = initial};
    return GORDIAN_OK;
}

gordian_status automaton_state(struct automaton *automaton, const char *name, bool initial,
                               uint32_t *state, gordian_error *error)
{
    bool fine = memory_extend(&automaton->memory, automaton->states, automaton->state_room,
                              automaton->state_count);
    char *copy = fine ? memory_copy_text(&automaton->memory, name) : NULL;
    if (!fine || (name && !copy))
        return fail_memory(error);
    if (state)
        *state = (uint32_t)automaton->state_count;
    automaton->states[automaton->state_count++] = (struct automaton_state){copy, initial};
    return GORDIAN_OK;
}

gordian_status automaton_transition(struct automaton *automaton, uint32_t from, uint32_t to,
                                    const uint64_t *fires, uint32_t guard, gordian_error *error)
{
    size_t words = automaton_words(automaton);
    if (guard == GUARD_NONE)
        return fail_memory(error);
    if (!bits_any(fires, words))
        return fail(error, GORDIAN_STATUS_INPUT, "a transition must fire at least one port");
    uint32_t stray = guard_stray_port(&automaton->guards, guard, fires);
    if (stray != GUARD_NONE)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the guard asks for the datum at '%s', which does not fire",
                    automaton->ports[stray].name);
    size_t count = automaton->transition_count;
    if (!memory_extend(&automaton->memory, automaton->transitions, automaton->transition_room,
                       count) ||
        !memory_grow(&automaton->memory, &automaton->fires, &automaton->fires_room,
                     (count + 1) * words, sizeof *automaton->fires))
        return fail_memory(error);
    automaton->transitions[count] =
        (struct automaton_transition){.from = from, .to = to, .guard = guard, .cost = NAN};
    memcpy(automaton->fires + count * words, fires, words * sizeof *fires);
    automaton->transition_count++;
    return GORDIAN_OK;
}

uint32_t automaton_find_cell(const struct automaton *automaton, const char *name, size_t length)
{
    for (size_t i = 0; i < automaton->cell_count; i++)
        if (strlen(automaton->cells[i].name) == length &&
            memcmp(automaton->cells[i].name, name, length) == 0)
            return (uint32_t)i;
    return GORDIAN_NONE;
}

/* ------------------------------------------------------------------ routing */

/* Union-find over the terms of one guard: ports, current and next values of cells. */
struct sources {
    const struct automaton *automaton;
    uint32_t *parent;
    uint8_t *count; /* of a root: sources of data in the class */
};

static uint32_t term_of(const struct automaton *automaton, uint32_t node)
{
    const struct guard_node *term = &automaton->guards.nodes[node];
    uint32_t ports = (uint32_t)automaton->port_count, cells = (uint32_t)automaton->cell_count;
    switch ((enum guard_kind)term->kind) {
    case TERM_PORT:
        return term->symbol;
    case TERM_NOW:
        return ports + term->symbol;
    case TERM_NEXT:
        return ports + cells + term->symbol;
    default:
        return GUARD_NONE;
    }
}

/* Merges the classes of both sides of an equality. Returns false if both have a source. */
static bool equate_sources(struct sources *sources, uint32_t left, uint32_t right)
{
    if (left == GUARD_NONE || right == GUARD_NONE)
        return false;
    left = union_find_root(sources->parent, left);
    right = union_find_root(sources->parent, right);
    if (left == right)
        return true;
    sources->parent[left] = right;
    sources->count[right] = (uint8_t)(sources->count[right] + sources->count[left]);
    return sources->count[right] <= 1;
}

static bool is_null_test(const struct automaton *automaton, const struct guard_node *node)
{
    const struct guard_node *nodes = automaton->guards.nodes;
    return node->kind == GUARD_EQUAL &&
           ((nodes[node->left].kind == TERM_NULL &&
             term_of(automaton, node->right) != GUARD_NONE) ||
            (nodes[node->right].kind == TERM_NULL && term_of(automaton, node->left) != GUARD_NONE));
}

static bool passes_on(struct sources *sources, uint32_t guard)
{
    const struct guard_node *nodes = sources->automaton->guards.nodes;
    while (nodes[guard].kind == GUARD_AND) {
        if (!passes_on(sources, nodes[guard].right))
            return false;
        guard = nodes[guard].left;
    }
    const struct guard_node *node = &nodes[guard];
    if (node->kind == GUARD_TRUE || node->kind == GUARD_FALSE ||
        is_null_test(sources->automaton, node))
        return true;
    if (node->kind == GUARD_NOT)
        return is_null_test(sources->automaton, &nodes[node->left]);
    return node->kind == GUARD_EQUAL &&
           equate_sources(sources, term_of(sources->automaton, node->left),
                          term_of(sources->automaton, node->right));
}

bool automaton_is_routing(const struct automaton *automaton)
{
    size_t ports = automaton->port_count, cells = automaton->cell_count;
    size_t terms = ports + 2 * cells;
    for (size_t p = 0; p < ports; p++)
        if (automaton->ports[p].direction != PORT_IN && automaton->ports[p].direction != PORT_OUT)
            return false;
    struct sources sources = {.automaton = automaton};
    sources.parent = memory_alloc(&automaton->memory, (terms + 1) * sizeof *sources.parent);
    sources.count = memory_alloc(&automaton->memory, terms + 1);
    bool routing = sources.parent && sources.count;
    for (size_t t = 0; routing && t < automaton->transition_count; t++) {
        for (uint32_t i = 0; i < terms; i++) {
            sources.parent[i] = i;
            sources.count[i] =
                i < ports ? automaton->ports[i].direction == PORT_IN : i < ports + cells;
        }
        routing = passes_on(&sources, automaton->transitions[t].guard);
    }
    memory_free_all(&automaton->memory, sources.parent, sources.count);
    return routing;
}

/* ------------------------------------------------------------------ data flow */

/*
 * Data flow analysis: finds which constants of the automaton a port can carry.
 *
 * A cell that counts ($m = 0 .. $m' = 3) and never meets a port has its own domain: the ports need
 * not range over its numbers. A cell meets a port if a guard compares the two with = or !=, or
 * passes both to one function, directly or through other cells. The built-in functions that depend
 * on the order of the data (succ) or compute with them (+) belong to the ports as well.
 */

/* Place 0 stands for all ports, place 1 + c for cell c. */
#define NOWHERE UINT32_MAX

struct flow {
    const struct automaton *automaton;
    const struct data *data;
    uint32_t *parent;             /* union-find over the places */
    uint8_t *symbols, *functions; /* NULL in the first round, which only merges places */
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
    uint32_t low = left < right ? left : right; /* keeps place 0 a root */
    flow->parent[left + right - low] = low;
    return low;
}

/* Records a constant that is compared with this place. */
static void note_symbol(struct flow *flow, uint32_t symbol, uint32_t place)
{
    if (flow->symbols && flow_root(flow, place) == 0)
        flow->symbols[symbol] = 1;
}

static uint32_t flow_place_of(struct flow *flow, uint32_t term);

static void note_application(struct flow *flow, const struct guard_node *node, uint32_t place)
{
    const struct guard_node *nodes = flow->automaton->guards.nodes;
    if (flow->functions && flow_root(flow, place) == 0)
        flow->functions[node->symbol] = 1;
    if (function_is_arithmetic(flow->data->functions[node->symbol].kind))
        return; /* the operands of arithmetic are not data */
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right)
        if (nodes[nodes[list].left].kind == TERM_CONSTANT)
            note_symbol(flow, nodes[nodes[list].left].symbol, place);
}

/* The arguments and the result of a function share one place. */
static uint32_t place_of_application(struct flow *flow, const struct guard_node *node)
{
    const struct guard_node *nodes = flow->automaton->guards.nodes;
    /* Does the function depend on the order of the data, or compute with them? */
    uint32_t place = flow->data->functions[node->symbol].kind >= FUNCTION_SUCC ? 0 : NOWHERE;
    for (uint32_t list = node->left; list != GUARD_NONE; list = nodes[list].right)
        place = join_places(flow, place, flow_place_of(flow, nodes[list].left));
    note_application(flow, node, place);
    return place;
}

static uint32_t flow_place_of(struct flow *flow, uint32_t term)
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

/* Visits every equality and predicate of the automaton. One array has the nodes of all guards. */
static void follow_guards(struct flow *flow)
{
    const struct guards *guards = &flow->automaton->guards;
    for (size_t i = 0; i < guards->count; i++) {
        const struct guard_node *node = &guards->nodes[i];
        if (node->kind == GUARD_PREDICATE)
            place_of_application(flow, node);
        if (node->kind != GUARD_EQUAL)
            continue;
        uint32_t sides[] = {node->left, node->right};
        uint32_t place =
            join_places(flow, flow_place_of(flow, sides[0]), flow_place_of(flow, sides[1]));
        for (size_t s = 0; s < 2; s++)
            if (guards->nodes[sides[s]].kind == TERM_CONSTANT)
                note_symbol(flow, guards->nodes[sides[s]].symbol, place);
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

/* Atomic components to automata: rules and transitions, with the names in them looked up. */
#include "compose/treo/inside.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define KEY_SIZE (TREO_NAME_MAX + TREO_INDEX_MAX * 24)

struct building {
    struct treo *treo;
    const struct atom *atom;
    const char *name;
    const struct place *place;
    struct automaton *automaton;
    struct label_table ports;  /* key to port */
    struct label_table states; /* name to state */
    uint64_t *fires, *blocked;
    unsigned depth;
    gordian_status status;
};

static void complain_at(struct building *building, const struct token *token, const char *what,
                        const char *name)
{
    if (building->status == GORDIAN_OK)
        building->status =
            treo_complain(building->treo, building->place->module, token, what, name);
}

static uint32_t guard_node(struct building *building, enum guard_kind kind, uint32_t left,
                           uint32_t right, uint32_t symbol)
{
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    uint32_t number = guard_add(&building->automaton->guards, kind, left, right, symbol);
    if (number == GUARD_NONE)
        building->status = fail_memory(building->treo->error);
    return number;
}

/* ------------------------------------------------------------------ data */

/* The symbol of a constant; when the domain is not listed it belongs to it from now on. */
static gordian_status use_symbol(struct treo *treo, uint32_t module, const struct token *token,
                                 const struct value *value, bool must_be_in, uint32_t *symbol)
{
    char text[TREO_NAME_MAX + 60];
    struct data *data = &treo->circuit->data;
    gordian_error why = {0};
    if (!value_text(value, text, sizeof text))
        return treo_complain(treo, module, token, "expected a datum");
    gordian_status status = data_symbol(data, text, strlen(text), symbol, &why);
    if (status == GORDIAN_OK && (must_be_in || !data->listed))
        status = data_use(data, *symbol, &why);
    if (status == GORDIAN_STATUS_INPUT)
        return treo_complain(treo, module, token, "%s", why.message);
    return status == GORDIAN_OK ? status : fail_memory(treo->error);
}

/* One row of a table: [a,b], [[a,b],c]; `width` symbols. */
static gordian_status table_row(struct treo *treo, uint32_t module, const struct token *token,
                                const struct value *row, size_t width, uint32_t *symbols)
{
    bool nested = row->count == 2 && row->items[0].kind == VALUE_LIST;
    size_t arguments = nested ? row->items[0].count : row->count - 1;
    gordian_status status = GORDIAN_OK;
    if (row->kind != VALUE_LIST || row->count < 2 || arguments + 1 != width)
        return treo_complain(treo, module, token,
                             "a table has rows such as [0,1], all of the same length");
    for (size_t i = 0; i < width && status == GORDIAN_OK; i++) {
        const struct value *value = i == arguments ? &row->items[row->count - 1]
                                    : nested       ? &row->items[0].items[i]
                                                   : &row->items[i];
        status = use_symbol(treo, module, token, value, false, &symbols[i]);
    }
    return status;
}

/* A predicate may also be a table whose results are true and false: keeps the rows that say true.
 */
static void keep_true_rows(const struct data *data, struct function *function)
{
    uint32_t kept = 0, arity = function->arity;
    for (uint32_t r = 0; r < function->row_count; r++) {
        const uint32_t *row = function->rows + (size_t)r * (arity + 1);
        const char *result = data_text(data, row[arity]);
        if (strcmp(result, "true") == 0)
            memmove(function->rows + (size_t)kept++ * arity, row, arity * sizeof *row);
    }
    function->row_count = kept;
    function->kind = FUNCTION_MEMBER;
}

static gordian_status table_function(struct treo *treo, uint32_t module, const struct token *token,
                                     const struct value *table, bool predicate, uint32_t *number)
{
    const struct value *first = table->count > 0 ? &table->items[0] : NULL;
    size_t width = 2;
    if (first && first->count > 0)
        width = first->count == 2 && first->items[0].kind == VALUE_LIST ? first->items[0].count + 1
                                                                        : first->count;
    if (width < 2 || width > FUNCTION_ARITY + 1)
        return treo_complain(treo, module, token, "a function takes 1 to %u arguments",
                             FUNCTION_ARITY);
    struct function function = {
        .kind = FUNCTION_TABLE, .arity = (uint8_t)(width - 1), .row_count = (uint32_t)table->count};
    function.rows = arena_alloc(&treo->arena, (table->count + 1) * width * sizeof *function.rows);
    if (!function.rows)
        return fail_memory(treo->error);
    for (size_t r = 0; r < table->count; r++) {
        gordian_status status =
            table_row(treo, module, token, &table->items[r], width, function.rows + r * width);
        if (status != GORDIAN_OK)
            return status;
    }
    if (predicate)
        keep_true_rows(&treo->circuit->data, &function);
    return data_function(&treo->circuit->data, &function, number, treo->error);
}

/* <0,2>: the predicate that holds for these. */
static gordian_status list_predicate(struct treo *treo, uint32_t module, const struct token *token,
                                     const struct value *list, uint32_t *number)
{
    struct function function = {
        .kind = FUNCTION_MEMBER, .arity = 1, .row_count = (uint32_t)list->count};
    function.rows = arena_alloc(&treo->arena, (list->count + 1) * sizeof *function.rows);
    if (!function.rows)
        return fail_memory(treo->error);
    for (size_t i = 0; i < list->count; i++) {
        gordian_status status =
            use_symbol(treo, module, token, &list->items[i], false, &function.rows[i]);
        if (status != GORDIAN_OK)
            return status;
    }
    return data_function(&treo->circuit->data, &function, number, treo->error);
}

gordian_status atom_function(struct treo *treo, const struct place *place,
                             const struct token *token, const struct value *value, bool predicate,
                             uint32_t *function)
{
    if (value->kind == VALUE_TABLE)
        return table_function(treo, place->module, token, value, predicate, function);
    if (value->kind == VALUE_LIST && predicate)
        return list_predicate(treo, place->module, token, value, function);
    if (value->kind == VALUE_NUMBER && predicate) {
        struct value item = *value;
        const struct value list = {.kind = VALUE_LIST, .items = &item, .count = 1};
        return list_predicate(treo, place->module, token, &list, function);
    }
    if (value->kind != VALUE_TEXT)
        return treo_complain(treo, place->module, token,
                             predicate
                                 ? "expected a predicate: a list of data, a table, or the name "
                                   "of a built-in one"
                                 : "expected a function: a table such as {[0,1] [1,0]}, or the "
                                   "name of a built-in one");
    gordian_status status =
        data_builtin(&treo->circuit->data, value->text, strlen(value->text), function, treo->error);
    if (status == GORDIAN_STATUS_END)
        return treo_complain(treo, place->module, token,
                             "there is no built-in %s '%.60s': even, odd, any, none, id, succ and "
                             "pred there are",
                             predicate ? "predicate" : "function", value->text);
    return status;
}

/* ------------------------------------------------------------------ names */

static uint32_t find_port(struct building *building, const struct expr *variable)
{
    char key[KEY_SIZE];
    if (building->status == GORDIAN_OK)
        building->status = value_key(building->treo, building->place, variable, key, sizeof key);
    if (building->status != GORDIAN_OK)
        return GORDIAN_NONE;
    uint32_t number = labels_find(&building->ports, key, strlen(key));
    return number;
}

/* The cell, new if need be: a cell comes into being by being mentioned. */
static uint32_t find_cell(struct building *building, const char *name)
{
    uint32_t cell = automaton_find_cell(building->automaton, name, strlen(name));
    if (cell == GORDIAN_NONE && building->status == GORDIAN_OK)
        building->status =
            automaton_cell(building->automaton, name, GORDIAN_NONE, &cell, building->treo->error);
    return cell;
}

static uint32_t find_state(struct building *building, const struct token *token)
{
    uint32_t label, state;
    if (building->status != GORDIAN_OK)
        return 0;
    label = labels_find(&building->states, token->text, token->length);
    if (label != GORDIAN_NONE)
        return label;
    char name[GORDIAN_NAME_MAX + 1];
    if (token->length > GORDIAN_NAME_MAX) {
        complain_at(building, token, "%s", "the name of this state is too long");
        return 0;
    }
    memcpy(name, token->text, token->length);
    name[token->length] = '\0';
    building->status =
        labels_put(&building->states, token->text, token->length, &label, building->treo->error);
    if (building->status == GORDIAN_OK)
        building->status =
            automaton_state(building->automaton, name, false, &state, building->treo->error);
    return building->status == GORDIAN_OK ? state : 0;
}

/* ------------------------------------------------------------------ guards */

static uint32_t constant_term(struct building *building, const struct token *token,
                              const struct value *value)
{
    uint32_t symbol = 0;
    if (building->status == GORDIAN_OK)
        building->status =
            use_symbol(building->treo, building->place->module, token, value, true, &symbol);
    return guard_node(building, TERM_CONSTANT, GUARD_NONE, GUARD_NONE, symbol);
}

static uint32_t make_term(struct building *building, const struct expr *expr);

/* Function and arguments of f(a, b). */
static uint32_t make_application(struct building *building, const struct expr *expr, bool predicate)
{
    uint32_t function = 0, list = GUARD_NONE, count = 0;
    const struct value *bound = scope_find(building->place->scope, expr->name);
    struct value name = {.kind = VALUE_TEXT, .text = expr->name};
    uint32_t terms[FUNCTION_ARITY];
    if (building->status == GORDIAN_OK)
        building->status = atom_function(building->treo, building->place, expr->token,
                                         bound ? bound : &name, predicate, &function);
    for (const struct expr *argument = expr->first; argument; argument = argument->next) {
        if (count == FUNCTION_ARITY)
            complain_at(building, argument->token, "too many arguments for '%s'", expr->name);
        if (building->status != GORDIAN_OK)
            return GUARD_NONE;
        terms[count++] = make_term(building, argument);
    }
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    if (count != building->treo->circuit->data.functions[function].arity)
        complain_at(building, expr->token, "'%s' is given the wrong number of arguments",
                    expr->name);
    while (count-- > 0)
        list = guard_node(building, TERM_LIST, terms[count], list, 0);
    return guard_node(building, predicate ? GUARD_PREDICATE : TERM_APPLY, list, GUARD_NONE,
                      function);
}

/* A name: a port, a parameter, or, where that is the custom, a cell. */
static uint32_t make_name(struct building *building, const struct expr *expr)
{
    char key[KEY_SIZE];
    uint32_t port = find_port(building, expr);
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    if (port != GORDIAN_NONE && !expr->primed)
        return guard_node(building, TERM_PORT, GUARD_NONE, GUARD_NONE, port);
    building->status = value_key(building->treo, building->place, expr, key, sizeof key);
    const struct value *bound =
        building->status == GORDIAN_OK ? scope_find(building->place->scope, key) : NULL;
    if (bound && !expr->primed)
        return constant_term(building, expr->token, bound);
    if (!building->atom->bare_cells) {
        complain_at(building, expr->token,
                    expr->primed ? "'%s'' is no memory cell: cells are written $m, $m'"
                                 : "'%s' is neither a port nor a parameter",
                    key);
        return GUARD_NONE;
    }
    return guard_node(building, expr->primed ? TERM_NEXT : TERM_NOW, GUARD_NONE, GUARD_NONE,
                      find_cell(building, expr->name));
}

static uint32_t make_term(struct building *building, const struct expr *expr)
{
    struct value value;
    switch ((enum expr_kind)expr->kind) {
    case EXPR_NULL:
        return guard_node(building, TERM_NULL, GUARD_NONE, GUARD_NONE, 0);
    case EXPR_CELL:
        return guard_node(building, expr->primed ? TERM_NEXT : TERM_NOW, GUARD_NONE, GUARD_NONE,
                          find_cell(building, expr->name));
    case EXPR_VARIABLE:
        return make_name(building, expr);
    case EXPR_APPLY:
        return make_application(building, expr, false);
    default:
        if (building->status == GORDIAN_OK)
            building->status = value_of(building->treo, building->place, expr, &value);
        return building->status == GORDIAN_OK ? constant_term(building, expr->token, &value)
                                              : GUARD_NONE;
    }
}

static uint32_t make_guard(struct building *building, const struct expr *expr);

static uint32_t make_equality(struct building *building, const struct expr *expr)
{
    uint32_t left = make_term(building, expr->first);
    uint32_t right = make_term(building, expr->second);
    uint32_t equal = guard_node(building, GUARD_EQUAL, left, right, 0);
    return expr->op == '=' ? equal : guard_node(building, GUARD_NOT, equal, GUARD_NONE, 0);
}

static uint32_t make_binary(struct building *building, const struct expr *expr)
{
    if (expr->op == '=' || expr->op == TOKEN_NE)
        return make_equality(building, expr);
    if (expr->op != TOKEN_AND && expr->op != TOKEN_OR) {
        complain_at(building, expr->token, "%s", "data are compared with = and != only");
        return GUARD_NONE;
    }
    uint32_t left = make_guard(building, expr->first);
    uint32_t right = make_guard(building, expr->second);
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    if (expr->op == TOKEN_OR)
        return guard_node(building, GUARD_OR, left, right, 0);
    uint32_t both = guard_and(&building->automaton->guards, left, right);
    if (both == GUARD_NONE)
        building->status = fail_memory(building->treo->error);
    return both;
}

static uint32_t make_guard(struct building *building, const struct expr *expr)
{
    const struct value *bound;
    if (!expr || building->status != GORDIAN_OK)
        return 0;
    switch ((enum expr_kind)expr->kind) {
    case EXPR_BOOL:
        return expr->number ? 0 : guard_node(building, GUARD_FALSE, GUARD_NONE, GUARD_NONE, 0);
    case EXPR_NOT:
        return guard_node(building, GUARD_NOT, make_guard(building, expr->first), GUARD_NONE, 0);
    case EXPR_BINARY:
        return make_binary(building, expr);
    case EXPR_APPLY:
        return make_application(building, expr, true);
    case EXPR_VARIABLE:
        bound = expr->indices ? NULL : scope_find(building->place->scope, expr->name);
        if (bound && bound->kind == VALUE_BOOL)
            return bound->number ? 0 : guard_node(building, GUARD_FALSE, GUARD_NONE, GUARD_NONE, 0);
        break;
    default:
        break;
    }
    complain_at(building, expr->token, "%s",
                "expected a condition such as a = b, $m != null or P(a)");
    return GUARD_NONE;
}

/* ------------------------------------------------------------------ rules */

struct firing {
    struct building *building;
    const struct rule_port *port;
};

static gordian_status add_firing(void *context, const char *key)
{
    struct firing *firing = context;
    struct building *building = firing->building;
    uint32_t number = labels_find(&building->ports, key, strlen(key));
    if (number == GORDIAN_NONE)
        return treo_complain(building->treo, building->place->module, firing->port->variable->token,
                             "'%s' is not a port of '%s'", key, building->name);
    uint64_t *set = firing->port->fires ? building->fires : building->blocked;
    uint64_t *other = firing->port->fires ? building->blocked : building->fires;
    if (bits_test(other, number))
        return treo_complain(building->treo, building->place->module, firing->port->variable->token,
                             "'%s' fires and does not fire in the same rule", key);
    bits_set(set, number);
    return GORDIAN_OK;
}

/* Ports that are not mentioned do not fire. */
static void make_rule(struct building *building, const struct rule *rule)
{
    struct treo *treo = building->treo;
    size_t size = (automaton_words(building->automaton) + 1) * sizeof(uint64_t);
    memset(building->fires, 0, size);
    memset(building->blocked, 0, size);
    for (const struct rule_port *port = rule->ports; port; port = port->next) {
        struct firing firing = {building, port};
        if (building->status == GORDIAN_OK)
            building->status =
                value_expand(treo, building->place, port->variable, add_firing, &firing);
    }
    uint32_t from = rule->from ? find_state(building, rule->from) : 0;
    uint32_t to = rule->to ? find_state(building, rule->to) : 0;
    uint32_t guard = make_guard(building, rule->guard);
    if (building->status != GORDIAN_OK)
        return;
    gordian_error why = {0};
    building->status =
        automaton_transition(building->automaton, from, to, building->fires, guard, &why);
    if (building->status == GORDIAN_STATUS_INPUT) {
        building->status =
            treo_complain(treo, building->place->module, rule->token, "%s", why.message);
    } else if (building->status == GORDIAN_STATUS_MEMORY) {
        fail_memory(treo->error);
    } else {
        struct automaton_transition *made =
            &building->automaton->transitions[building->automaton->transition_count - 1];
        made->line = rule->token->line;
        made->column = rule->token->column;
    }
}

/* $m = 0; q0 : initial */
static void make_start(struct building *building, const struct atom_start *start)
{
    char name[TREO_NAME_MAX + 1];
    uint32_t symbol = GORDIAN_NONE;
    struct value value;
    if (start->state) {
        uint32_t state = find_state(building, start->state);
        if (building->status == GORDIAN_OK)
            building->automaton->states[state].initial = true;
        return;
    }
    if (start->cell->length > TREO_NAME_MAX) {
        complain_at(building, start->cell, "%s", "the name of this cell is too long");
        return;
    }
    memcpy(name, start->cell->text, start->cell->length);
    name[start->cell->length] = '\0';
    if (automaton_find_cell(building->automaton, name, strlen(name)) != GORDIAN_NONE)
        complain_at(building, start->cell, "the cell '%s' has two initial values", name);
    uint32_t cell = find_cell(building, name);
    if (building->status == GORDIAN_OK && start->value && start->value->kind != EXPR_NULL) {
        building->status = value_of(building->treo, building->place, start->value, &value);
        if (building->status == GORDIAN_OK)
            building->status = use_symbol(building->treo, building->place->module,
                                          start->value->token, &value, true, &symbol);
    }
    if (building->status == GORDIAN_OK)
        building->automaton->cells[cell].initial = symbol;
}

static void make_ports(struct building *building, const struct atom_port *ports, size_t count)
{
    gordian_error *error = building->treo->error;
    for (size_t p = 0; p < count && building->status == GORDIAN_OK; p++) {
        uint32_t label;
        size_t length = strlen(ports[p].key);
        if (labels_find(&building->ports, ports[p].key, length) != GORDIAN_NONE) {
            building->status = fail(error, GORDIAN_STATUS_INPUT, "'%s' has two ports '%s'",
                                    building->name, ports[p].key);
            return;
        }
        building->status = labels_put(&building->ports, ports[p].key, length, &label, error);
        if (building->status == GORDIAN_OK)
            building->status = automaton_port(building->automaton, ports[p].key,
                                              (enum port_way)ports[p].way, NULL, error);
    }
}

static void make_everything(struct building *building, const struct atom_port *ports, size_t count)
{
    gordian_error *error = building->treo->error;
    const struct atom *atom = building->atom;
    make_ports(building, ports, count);
    size_t size = (bits_words(count) + 1) * sizeof(uint64_t);
    building->fires = arena_alloc(&building->treo->arena, size);
    building->blocked = arena_alloc(&building->treo->arena, size);
    if (building->status == GORDIAN_OK && (!building->fires || !building->blocked))
        building->status = fail_memory(error);
    if (building->status == GORDIAN_OK && atom->kind == ATOM_RULES)
        building->status = automaton_state(building->automaton, NULL, true, NULL, error);
    for (const struct atom_start *start = atom->starts; start && building->status == GORDIAN_OK;
         start = start->next)
        make_start(building, start);
    for (const struct rule *rule = atom->rules; rule && building->status == GORDIAN_OK;
         rule = rule->next)
        make_rule(building, rule);
    if (building->status == GORDIAN_OK && building->automaton->state_count == 0)
        building->status = automaton_state(building->automaton, NULL, true, NULL, error);
    if (building->status != GORDIAN_OK)
        return;
    /* Where nothing is said, the first state is the initial one. */
    for (size_t s = 0; s < building->automaton->state_count; s++)
        if (building->automaton->states[s].initial)
            return;
    building->automaton->states[0].initial = true;
}

gordian_status atom_build(struct treo *treo, const struct component *component, const char *name,
                          const struct place *place, const struct atom_port *ports,
                          size_t port_count, struct automaton **out)
{
    struct building building = {
        .treo = treo, .atom = component->atom, .name = name, .place = place};
    *out = NULL;
    building.status = automaton_new(&building.automaton, name, &treo->memory, treo->error);
    if (building.status != GORDIAN_OK)
        return building.status;
    building.ports.memory = building.states.memory = treo->memory;
    make_everything(&building, ports, port_count);
    labels_free(&building.ports);
    labels_free(&building.states);
    if (building.status != GORDIAN_OK) {
        automaton_free(building.automaton);
        return building.status;
    }
    *out = building.automaton;
    return GORDIAN_OK;
}

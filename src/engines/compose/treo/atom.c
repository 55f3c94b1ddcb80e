/* Converts atomic components to automata: rules and transitions, with their names resolved. */
#include "engines/compose/treo/treo_internal.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define FREE_PORTS_MAX 12u
#define CHANCES_MAX    64u
#define KEY_SIZE       (TREO_NAME_MAX + TREO_INDEX_MAX * 24)

struct building {
    struct treo *treo;
    const struct atom *atom;
    const char *name;
    const struct place *place;
    struct automaton *automaton;
    struct label_table ports;  /* key to port */
    struct label_table states; /* name to state */
    uint64_t *fires, *blocked;
    const uint64_t *free; /* ports that no rule fires; NULL: not known yet, or there are no rules */
    unsigned depth;
    struct mention *mentions; /* constants, in the order of the text */
    size_t mention_count, mention_room;
    gordian_status status;
    const struct token *cost; /* of the current rule; NULL: none */
};

/* A constant in a rule or in the table of a function. Only the complete automaton shows whether
 * ports can carry it. */
struct mention {
    uint32_t symbol;
    /* the function with this constant in its table; NONE: the rule itself has it */
    uint32_t function;
    const struct token *token;
};

static void complain_at(struct building *building, const struct token *token, const char *what,
                        const char *name)
{
    THEN(building->status, place_complain(building->place, token, what, name));
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

/* ------------------------------------------------------------------ constants */

static void mention_symbols(struct building *building, const struct mentions *found,
                            uint32_t function)
{
    for (size_t i = 0; i < found->count && building->status == GORDIAN_OK; i++) {
        struct treo *treo = building->treo;
        if (!memory_extend(&treo->memory, building->mentions, building->mention_room,
                           building->mention_count))
            building->status = fail_memory(treo->error);
        else
            building->mentions[building->mention_count++] =
                (struct mention){found->symbols[i], function, found->token};
    }
}

static uint32_t mention_constant(struct building *building, const struct token *token,
                                 const struct value *value)
{
    uint32_t symbol = 0;
    THEN(building->status,
         value_symbol(building->treo, building->place->module, token, value, &symbol));
    struct mentions found = {.symbols = &symbol, .count = 1, .token = token};
    mention_symbols(building, &found, GORDIAN_NONE);
    return symbol;
}

/* After the automaton is complete: constants that ports can carry are added to the domain, others
 * are kept for the cells. */
static void settle_mention(struct building *building, const struct mention *mention, bool at_ports)
{
    struct treo *treo = building->treo;
    struct data *data = &treo->circuit->data;
    gordian_error why = {0};
    gordian_status status = GORDIAN_OK;
    if (!at_ports)
        status = data_keep(data, mention->symbol, &why);
    else if (mention->function == GORDIAN_NONE || !data->listed)
        status = data_use(data, mention->symbol, &why);
    if (status == GORDIAN_STATUS_INPUT)
        building->status =
            treo_complain(treo, building->place->module, mention->token, "%s", why.message);
    else if (status != GORDIAN_OK)
        building->status = fail_memory(treo->error);
}

static void settle_data(struct building *building)
{
    struct treo *treo = building->treo;
    const struct data *data = &treo->circuit->data;
    uint8_t *symbols = memory_alloc(&treo->memory, (size_t)data->symbol_count + 1);
    uint8_t *functions = memory_alloc(&treo->memory, data->function_count + 1);
    if (!symbols || !functions)
        building->status = fail_memory(treo->error);
    THEN(building->status,
         automaton_flow(building->automaton, data, symbols, functions, treo->error));
    for (size_t i = 0; i < building->mention_count && building->status == GORDIAN_OK; i++) {
        const struct mention *mention = &building->mentions[i];
        bool given = mention->function != GORDIAN_NONE && functions[mention->function];
        settle_mention(building, mention, given || symbols[mention->symbol]);
    }
    memory_free_all(&treo->memory, symbols, functions);
}

/* ------------------------------------------------------------------ names */

static uint32_t find_port(struct building *building, const struct expr *variable)
{
    char key[KEY_SIZE];
    THEN(building->status, value_key(building->place, variable, key, sizeof key));
    if (building->status != GORDIAN_OK)
        return GORDIAN_NONE;
    return labels_find(&building->ports, key, strlen(key));
}

/* Returns the cell, and creates it if it is mentioned for the first time. */
static uint32_t find_cell(struct building *building, const char *name)
{
    uint32_t cell = automaton_find_cell(building->automaton, name, strlen(name));
    if (cell == GORDIAN_NONE && building->status == GORDIAN_OK)
        building->status =
            automaton_cell(building->automaton, name, GORDIAN_NONE, &cell, building->treo->error);
    return cell;
}

static uint32_t find_atom_state(struct building *building, const struct token *token)
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
    THEN(building->status,
         automaton_state(building->automaton, name, false, &state, building->treo->error));
    return building->status == GORDIAN_OK ? state : 0;
}

/* ------------------------------------------------------------------ probabilities */

/* [0.9 : a, 0.1 : null]: the probability of each outcome. The search is for possible behaviour, so
 * every outcome with a probability above 0 counts. */
static gordian_status no_chance(const struct place *place, const struct expr *expr)
{
    return place_complain(place, expr->token,
                          "expected a probability: a number from 0 to 1, such as 0.5");
}

static gordian_status chance_of(const struct place *place, const struct expr *expr, double *chance);

static gordian_status chance_operator(const struct place *place, const struct expr *expr,
                                      double *chance)
{
    double left, right;
    TRY(chance_of(place, expr->first, &left));
    TRY(chance_of(place, expr->second, &right));
    bool known = expr->op == '+' || expr->op == '-' || expr->op == '*';
    if (!known && (expr->op != '/' || right == 0))
        return no_chance(place, expr);
    *chance = expr->op == '+'   ? left + right
              : expr->op == '-' ? left - right
              : expr->op == '*' ? left * right
                                : left / right;
    return GORDIAN_OK;
}

static gordian_status chance_of(const struct place *place, const struct expr *expr, double *chance)
{
    struct value value;
    *chance = 0;
    if (expr->kind == EXPR_BINARY)
        return chance_operator(place, expr, chance);
    TRY(value_evaluate(place, expr, &value));
    if (value.kind == VALUE_NUMBER)
        *chance = (double)value.number;
    else if (value.kind != VALUE_TEXT || !decimal_read(value.text, strlen(value.text), chance))
        return no_chance(place, expr);
    return GORDIAN_OK;
}

static gordian_status chances_read(const struct place *place, const struct expr *chances,
                                   bool *possible, size_t most)
{
    double sum = 0;
    size_t count = 0;
    for (const struct expr *pair = chances->first; pair; pair = pair->next, count++) {
        double chance;
        if (count == most)
            return place_complain(place, pair->token, "more than %zu outcomes", most);
        TRY(chance_of(place, pair->second, &chance));
        /* 1 - 0.9 - 0.1 is not quite 0 */
        if (chance < -1e-9 || chance > 1 + 1e-9)
            return no_chance(place, pair->second);
        possible[count] = chance > 1e-9;
        sum += chance;
    }
    if (sum < 1 - 1e-6 || sum > 1 + 1e-6)
        return place_complain(place, chances->token, "the probabilities add up to %g, not to 1",
                              sum);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ guards */

static uint32_t constant_term(struct building *building, const struct token *token,
                              const struct value *value)
{
    uint32_t symbol = mention_constant(building, token, value);
    return guard_node(building, TERM_CONSTANT, GUARD_NONE, GUARD_NONE, symbol);
}

static uint32_t make_guard_term(struct building *building, const struct expr *expr);

/* The function and the arguments of f(a, b). */
static uint32_t make_application(struct building *building, const struct expr *expr, bool predicate)
{
    uint32_t function = 0, list = GUARD_NONE, count = 0;
    const struct value *bound = scope_find(building->place->scope, expr->name);
    struct value name = {.kind = VALUE_TEXT, .text = expr->name};
    uint32_t terms[FUNCTION_ARITY], arguments = 0;
    struct mentions found = {.token = expr->token};
    for (const struct expr *argument = expr->first; argument; argument = argument->next)
        arguments++;
    THEN(building->status,
         value_function(building->treo, building->place->module, bound ? bound : &name, predicate,
                        arguments, &function, &found));
    mention_symbols(building, &found, function);
    for (const struct expr *argument = expr->first; argument; argument = argument->next) {
        if (count == FUNCTION_ARITY)
            complain_at(building, argument->token, "too many arguments for '%s'", expr->name);
        if (building->status != GORDIAN_OK)
            return GUARD_NONE;
        terms[count++] = make_guard_term(building, argument);
    }
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    uint32_t arity = building->treo->circuit->data.functions[function].arity;
    if (count != arity)
        building->status =
            place_complain(building->place, expr->token, "'%s' takes %u argument%s, not %u",
                           expr->name, arity, arity == 1 ? "" : "s", count);
    while (count-- > 0)
        list = guard_node(building, TERM_LIST, terms[count], list, 0);
    return guard_node(building, predicate ? GUARD_PREDICATE : TERM_APPLY, list, GUARD_NONE,
                      function);
}

/* A name: a port, a parameter, or, if the language of the atom allows it, a cell. */
static uint32_t make_name(struct building *building, const struct expr *expr)
{
    char key[KEY_SIZE];
    uint32_t port = find_port(building, expr);
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    if (port != GORDIAN_NONE && !expr->primed)
        return guard_node(building, TERM_PORT, GUARD_NONE, GUARD_NONE, port);
    building->status = value_key(building->place, expr, key, sizeof key);
    const struct value *bound =
        building->status == GORDIAN_OK ? scope_find(building->place->scope, key) : NULL;
    if (bound && !expr->primed)
        return constant_term(building, expr->token, bound);
    if (!building->atom->bare_cells) {
        complain_at(building, expr->token,
                    expr->primed ? "'%s'' is not a memory cell: cells are written $m, $m'"
                                 : "'%s' is neither a port nor a parameter",
                    key);
        return GUARD_NONE;
    }
    return guard_node(building, expr->primed ? TERM_NEXT : TERM_NOW, GUARD_NONE, GUARD_NONE,
                      find_cell(building, expr->name));
}

/* Does the expression refer to a port or a cell, so that it has no value before the run? */
static bool has_data(struct building *building, const struct expr *expr)
{
    if (expr->kind == EXPR_CELL || expr->kind == EXPR_APPLY)
        return true;
    if (expr->kind == EXPR_VARIABLE)
        return find_port(building, expr) != GORDIAN_NONE || expr->primed ||
               (building->atom->bare_cells && !scope_find(building->place->scope, expr->name));
    return (expr->kind == EXPR_BINARY || expr->kind == EXPR_MINUS) &&
           (has_data(building, expr->first) || (expr->second && has_data(building, expr->second)));
}

/* a + 1, -$m */
static uint32_t make_arithmetic(struct building *building, const struct expr *expr)
{
    static const struct value zero = {.kind = VALUE_NUMBER};
    uint32_t function = 0;
    const char name[2] = {expr->kind == EXPR_MINUS ? '-' : (char)expr->op, '\0'};
    uint32_t left = expr->kind == EXPR_MINUS ? constant_term(building, expr->token, &zero)
                                             : make_guard_term(building, expr->first);
    uint32_t right =
        make_guard_term(building, expr->kind == EXPR_MINUS ? expr->first : expr->second);
    if (building->status != GORDIAN_OK)
        return GUARD_NONE;
    gordian_status status =
        data_builtin(&building->treo->circuit->data, name, 1, &function, building->treo->error);
    if (status == GORDIAN_STATUS_END)
        complain_at(building, expr->token, "'%s' is not supported for data", name);
    else
        building->status = status;
    uint32_t list = guard_node(building, TERM_LIST, right, GUARD_NONE, 0);
    list = guard_node(building, TERM_LIST, left, list, 0);
    return guard_node(building, TERM_APPLY, list, GUARD_NONE, function);
}

static uint32_t make_guard_term(struct building *building, const struct expr *expr)
{
    struct value value;
    if ((expr->kind == EXPR_BINARY || expr->kind == EXPR_MINUS) && has_data(building, expr))
        return make_arithmetic(building, expr);
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
        THEN(building->status, value_evaluate(building->place, expr, &value));
        return building->status == GORDIAN_OK ? constant_term(building, expr->token, &value)
                                              : GUARD_NONE;
    }
}

static uint32_t make_guard(struct building *building, const struct expr *expr);

/* $m' = [0.9 : a, 0.1 : null]: one of the possible outcomes. */
static uint32_t make_chances(struct building *building, const struct expr *term,
                             const struct expr *chances)
{
    bool possible[CHANCES_MAX] = {false};
    uint32_t any = GUARD_NONE, left = make_guard_term(building, term);
    size_t count = 0;
    THEN(building->status, chances_read(building->place, chances, possible, CHANCES_MAX));
    for (const struct expr *pair = chances->first; pair && building->status == GORDIAN_OK;
         pair = pair->next) {
        if (!possible[count++])
            continue;
        uint32_t right = make_guard_term(building, pair->first);
        uint32_t equal = guard_node(building, GUARD_EQUAL, left, right, 0);
        any = any == GUARD_NONE ? equal : guard_node(building, GUARD_OR, any, equal, 0);
    }
    return any;
}

static uint32_t make_equality(struct building *building, const struct expr *expr)
{
    bool left_chances = expr->first->kind == EXPR_CHANCES;
    if ((left_chances || expr->second->kind == EXPR_CHANCES) && expr->op == '=')
        return left_chances ? make_chances(building, expr->second, expr->first)
                            : make_chances(building, expr->first, expr->second);
    uint32_t left = make_guard_term(building, expr->first);
    uint32_t right = make_guard_term(building, expr->second);
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

static gordian_status add_rule_port(void *context, const char *key)
{
    struct firing *firing = context;
    struct building *building = firing->building;
    uint32_t number = labels_find(&building->ports, key, strlen(key));
    if (number == GORDIAN_NONE)
        return place_complain(building->place, firing->port->variable->token,
                              "'%s' is not a port of '%s'", key, building->name);
    uint64_t *set = firing->port->fires ? building->fires : building->blocked;
    uint64_t *other = firing->port->fires ? building->blocked : building->fires;
    if (bits_test(other, number))
        return place_complain(building->place, firing->port->variable->token,
                              "'%s' fires and does not fire in the same rule", key);
    bits_set(set, number);
    return GORDIAN_OK;
}

static void forget_firing(struct building *building)
{
    size_t size = (automaton_words(building->automaton) + 1) * sizeof(uint64_t);
    memset(building->fires, 0, size);
    memset(building->blocked, 0, size);
}

/* Reads which ports must fire in a rule, and which must not. */
static void read_firing(struct building *building, const struct rule *rule)
{
    forget_firing(building);
    if (rule->bare) {
        uint32_t guard = make_guard(building, rule->guard);
        if (building->status == GORDIAN_OK)
            bare_ports(building->automaton, guard, building->fires, building->blocked);
        return;
    }
    for (const struct rule_port *port = rule->ports; port; port = port->next) {
        struct firing firing = {building, port};
        THEN(building->status,
             value_expand(building->place, port->variable, add_rule_port, &firing));
    }
}

static void add_transition(struct building *building, const struct token *token, uint32_t from,
                           uint32_t to, const uint64_t *fires, uint32_t guard)
{
    struct treo *treo = building->treo;
    gordian_error why = {0};
    if (building->status != GORDIAN_OK)
        return;
    building->status = automaton_transition(building->automaton, from, to, fires, guard, &why);
    if (building->status == GORDIAN_STATUS_INPUT) {
        building->status = treo_complain(treo, building->place->module, token, "%s", why.message);
    } else if (building->status == GORDIAN_STATUS_MEMORY) {
        fail_memory(treo->error);
    } else {
        struct automaton_transition *made =
            &building->automaton->transitions[building->automaton->transition_count - 1];
        made->line = token->line;
        made->column = token->column;
        if (building->cost &&
            decimal_read(building->cost->text, building->cost->length, &made->cost))
            building->automaton->costs = true;
    }
}

/* Adds the rule alone, and with every choice of the free ports that it does not block. `from_set`:
 * the first choice; 1 omits the rule alone. */
static void add_choices(struct building *building, const struct token *token, uint32_t from,
                        uint32_t to, uint32_t guard, uint32_t from_set)
{
    uint32_t ports = (uint32_t)building->automaton->port_count, free[FREE_PORTS_MAX], count = 0;
    for (uint32_t p = 0; p < ports && building->free; p++)
        if (bits_test(building->free, p) && !bits_test(building->blocked, p))
            free[count++] = p;
    for (uint32_t set = from_set; set < UINT32_C(1) << count; set++) {
        for (uint32_t i = 0; i < count; i++) {
            bits_clear(building->fires, free[i]);
            if (set >> i & 1)
                bits_set(building->fires, free[i]);
        }
        add_transition(building, token, from, to, building->fires, guard);
    }
}

/* A rule without braces: one transition for every set of ports that may fire by its guard. */
static void make_bare_rule(struct building *building, const struct rule *rule)
{
    struct automaton *automaton = building->automaton;
    uint32_t guard = make_guard(building, rule->guard);
    if (building->status != GORDIAN_OK)
        return;
    uint32_t open = bare_open(automaton, guard);
    size_t words = automaton_words(automaton);
    if (open > BARE_OPEN_MAX)
        complain_at(building, rule->token, "%s",
                    "too many ports that this rule leaves free to fire");
    forget_firing(building);
    bare_ports(automaton, guard, building->fires, building->blocked);
    if (building->status == GORDIAN_OK && !bits_any(building->fires, words) &&
        !bits_any(building->blocked, words))
        complain_at(building, rule->token, "%s",
                    "this rule has no port: write the initial value of a cell as $m = 0;");
    for (uint32_t choice = 0; choice >> open == 0 && building->status == GORDIAN_OK; choice++) {
        if (!bare_choice(automaton, guard, choice, building->fires) ||
            !bits_any(building->fires, words))
            continue;
        uint32_t restricted = guard_restrict(&automaton->guards, guard, building->fires);
        if (restricted == GUARD_NONE)
            building->status = fail_memory(building->treo->error);
        add_choices(building, rule->token, 0, 0, restricted, 0);
    }
}

/* Ports that are not mentioned do not fire. */
static void make_rule(struct building *building, const struct rule *rule)
{
    if (rule->bare) {
        make_bare_rule(building, rule);
        return;
    }
    read_firing(building, rule);
    uint32_t from = rule->from ? find_atom_state(building, rule->from) : 0;
    uint32_t to = rule->to ? find_atom_state(building, rule->to) : 0;
    uint32_t guard = make_guard(building, rule->guard);
    building->cost = rule->cost;
    add_choices(building, rule->token, from, to, guard, 0);
    building->cost = NULL;
}

/* A port that rules mention only as not firing is free whenever no rule blocks it, because rules
 * only constrain the ports they mention. */
static void find_free(struct building *building)
{
    uint32_t ports = (uint32_t)building->automaton->port_count, count = 0;
    size_t size = (bits_words(ports) + 1) * sizeof(uint64_t);
    uint64_t *fires = arena_alloc(&building->treo->arena, size);
    uint64_t *blocked = arena_alloc(&building->treo->arena, size);
    if (!fires || !blocked) {
        building->status = fail_memory(building->treo->error);
        return;
    }
    memset(fires, 0, size);
    memset(blocked, 0, size);
    for (const struct rule *rule = building->atom->rules; rule; rule = rule->next) {
        read_firing(building, rule);
        for (size_t w = 0; w < bits_words(ports); w++) {
            fires[w] |= building->fires[w];
            blocked[w] |= building->blocked[w];
        }
    }
    for (uint32_t p = 0; p < ports; p++) {
        if (bits_test(fires, p))
            bits_clear(blocked, p);
        count += bits_test(blocked, p);
    }
    if (count > FREE_PORTS_MAX)
        complain_at(building, building->atom->rules->token, "%s",
                    "too many ports that no rule fires: at most 12 may be mentioned with ~ only");
    building->free = blocked;
}

static void make_rules(struct building *building)
{
    const struct atom *atom = building->atom;
    for (const struct rule *rule = atom->rules; rule; rule = rule->next)
        if (rule->bare && building->automaton->port_count > BARE_PORTS_MAX) {
            complain_at(building, rule->token, "%s",
                        "too many ports for a rule without the firing ports in braces");
            return;
        }
    if (atom->kind == ATOM_RULES)
        find_free(building);
    for (const struct rule *rule = atom->rules; rule && building->status == GORDIAN_OK;
         rule = rule->next)
        make_rule(building, rule);
    if (atom->kind != ATOM_RULES || !atom->rules || building->status != GORDIAN_OK)
        return;
    forget_firing(building);
    add_choices(building, atom->rules->token, 0, 0, 0, 1);
}

/* $m = 0; q0 : initial */
static void make_start(struct building *building, const struct atom_start *start)
{
    char name[TREO_NAME_MAX + 1];
    uint32_t symbol = GORDIAN_NONE;
    struct value value;
    if (start->state) {
        uint32_t state = find_atom_state(building, start->state);
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
        building->status = value_evaluate(building->place, start->value, &value);
        if (building->status == GORDIAN_OK)
            symbol = mention_constant(building, start->value->token, &value);
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
        THEN(building->status,
             automaton_port(building->automaton, ports[p].key,
                            (enum port_direction)ports[p].direction, NULL, error));
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
    if (building->status == GORDIAN_OK)
        make_rules(building);
    if (building->status == GORDIAN_OK && building->automaton->state_count == 0)
        building->status = automaton_state(building->automaton, NULL, true, NULL, error);
    if (building->status != GORDIAN_OK)
        return;
    /* Without a declaration the first state is initial. */
    for (size_t s = 0; s < building->automaton->state_count; s++)
        if (building->automaton->states[s].initial)
            return;
    building->automaton->states[0].initial = true;
}

gordian_status atom_build(const struct place *place, const struct component *component,
                          const char *name, const struct atom_port *ports, size_t port_count,
                          struct automaton **out)
{
    struct treo *treo = place->treo;
    struct building building = {
        .treo = place->treo, .atom = component->atom, .name = name, .place = place};
    *out = NULL;
    building.status = automaton_new(&building.automaton, name, &treo->memory, treo->error);
    if (building.status != GORDIAN_OK)
        return building.status;
    building.ports.memory = building.states.memory = treo->memory;
    make_everything(&building, ports, port_count);
    if (building.status == GORDIAN_OK)
        settle_data(&building);
    memory_free(&treo->memory, building.mentions);
    labels_free(&building.ports);
    labels_free(&building.states);
    if (building.status != GORDIAN_OK) {
        automaton_free(building.automaton);
        return building.status;
    }
    *out = building.automaton;
    return GORDIAN_OK;
}

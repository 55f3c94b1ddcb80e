/* The inside of atomic components: rules, or states and transitions, or a reference to code. */
#include "compose/treo/parse.h"

#include <string.h>

bool sees_atom(const struct parser *parser)
{
    const struct token *next = parser_ahead(parser, 1);
    return parser_sees(parser, '{') &&
           (next->kind == TOKEN_ATOM ||
            (next->kind == TOKEN_NAME && parser_ahead(parser, 2)->kind == ':' &&
             parser_ahead(parser, 3)->kind == TOKEN_STRING));
}

/* {a, ~b} */
static struct rule_port *parse_firing(struct parser *parser)
{
    struct rule_port *first = NULL, **last = &first;
    parser_expect(parser, '{', "'{' and the ports that fire");
    if (parser->status != GORDIAN_OK || parser_take(parser, '}'))
        return NULL;
    do {
        struct rule_port *port = parser_alloc(parser, sizeof *port);
        if (!port)
            return NULL;
        port->fires = !parser_take(parser, '~');
        port->variable = parse_variable(parser);
        if (!port->variable)
            return NULL;
        *last = port;
        last = &port->next;
    } while (parser_take(parser, ','));
    parser_expect(parser, '}', "',' or '}'");
    return first;
}

static struct atom_start *add_start(struct parser *parser, struct atom *atom)
{
    struct atom_start **last = &atom->starts;
    while (*last)
        last = &(*last)->next;
    *last = parser_alloc(parser, sizeof **last);
    return *last;
}

/* Every cell's value at the beginning: $m=0; */
static void parse_initial_value(struct parser *parser, struct atom *atom)
{
    struct atom_start *start = add_start(parser, atom);
    parser_take(parser, '$');
    const struct token *cell = parser_expect(parser, TOKEN_NAME, "the name of a memory cell");
    if (parser->status == GORDIAN_OK && parser_sees(parser, '\''))
        parser_complain(parser, parser_token(parser),
                        "an initial value is for the cell now: $m = .., not $m' = ..");
    parser_expect(parser, '=', "'=' and the initial value");
    if (parser->status != GORDIAN_OK)
        return;
    start->cell = cell;
    start->value = parse_expr(parser, LEVEL_TERM);
    if (!parser_take(parser, ';'))
        parser_take(parser, ',');
}

static struct rule *parse_rule(struct parser *parser)
{
    struct rule *rule = parser_alloc(parser, sizeof *rule);
    if (!rule)
        return NULL;
    rule->token = parser_token(parser);
    rule->ports = parse_firing(parser);
    parser_take(parser, ',');
    bool ends = parser_sees(parser, '{') || parser_sees(parser, '}') || parser_sees(parser, ';') ||
                parser_sees(parser, TOKEN_ATOM) || parser_sees(parser, '|');
    if (!ends)
        rule->guard = parse_formula(parser);
    parser_take(parser, ';');
    return parser->status == GORDIAN_OK ? rule : NULL;
}

static void parse_rules(struct parser *parser, struct atom *atom)
{
    struct rule **last = &atom->rules;
    while (parser->status == GORDIAN_OK && parser_sees(parser, '$'))
        parse_initial_value(parser, atom);
    while (parser->status == GORDIAN_OK && parser_sees(parser, '{')) {
        *last = parse_rule(parser);
        if (*last)
            last = &(*last)->next;
    }
}

/* ------------------------------------------------------------------ states */

static bool is_state(const struct token *token)
{
    return token->kind == TOKEN_NAME || token->kind == TOKEN_NUMBER || token->kind == TOKEN_STRING;
}

/* q0 -> .., q0* -> .., q0 : initial, memory m: what begins a line among states. */
static bool sees_line(const struct parser *parser)
{
    const struct token *token = parser_token(parser), *next = parser_ahead(parser, 1);
    if (!is_state(token))
        return false;
    if (next->kind == TOKEN_ARROW)
        return true;
    if (next->kind == '*')
        return parser_ahead(parser, 2)->kind == TOKEN_ARROW;
    if (next->kind == ':')
        return token_is(parser_ahead(parser, 2), "initial");
    return token_is(token, "memory") && next->kind == TOKEN_NAME;
}

static const struct token *parse_state(struct parser *parser, struct atom *atom)
{
    char shown[80];
    const struct token *state = parser_token(parser);
    if (parser->status != GORDIAN_OK)
        return NULL;
    if (!is_state(state)) {
        parser_complain(parser, state, "expected a state, not %s",
                        token_show(state, shown, sizeof shown));
        return NULL;
    }
    parser_take(parser, state->kind);
    if (parser_take(parser, '*')) {
        struct atom_start *start = add_start(parser, atom);
        if (start)
            start->state = state;
    }
    return state;
}

static struct rule *parse_transition(struct parser *parser, struct atom *atom)
{
    struct rule *rule = parser_alloc(parser, sizeof *rule);
    if (!rule)
        return NULL;
    rule->token = parser_token(parser);
    rule->from = parse_state(parser, atom);
    parser_expect(parser, TOKEN_ARROW, "'->'");
    rule->to = parse_state(parser, atom);
    parser_expect(parser, ':', "':'");
    rule->ports = parse_firing(parser);
    parser_take(parser, ',');
    bool ends = parser_sees(parser, '}') || parser_sees(parser, ';') ||
                parser_sees(parser, TOKEN_ATOM) || parser_sees(parser, '|') || sees_line(parser);
    if (parser->status == GORDIAN_OK && !ends)
        rule->guard = parse_formula(parser);
    parser_take(parser, ';');
    return parser->status == GORDIAN_OK ? rule : NULL;
}

/* memory m, memory m = 0 */
static void parse_memory(struct parser *parser, struct atom *atom)
{
    struct atom_start *start = add_start(parser, atom);
    parser_take(parser, TOKEN_NAME);
    if (!start)
        return;
    start->cell = parser_expect(parser, TOKEN_NAME, "the name of a memory cell");
    if (parser_take(parser, '='))
        start->value = parse_expr(parser, LEVEL_TERM);
    parser_take(parser, ';');
}

void parse_states(struct parser *parser, struct atom *atom)
{
    struct rule **last = &atom->rules;
    bool in_atom = parser->in_atom;
    parser->in_atom = true;
    while (*last)
        last = &(*last)->next;
    while (parser->status == GORDIAN_OK && sees_line(parser)) {
        if (token_is(parser_token(parser), "memory") &&
            parser_ahead(parser, 1)->kind == TOKEN_NAME) {
            parse_memory(parser, atom);
        } else if (parser_ahead(parser, 1)->kind == ':') {
            struct atom_start *start = add_start(parser, atom);
            const struct token *state = parse_state(parser, atom);
            parser_take(parser, ':');
            parser_take(parser, TOKEN_NAME);
            parser_take(parser, ';');
            if (start)
                start->state = state;
        } else {
            *last = parse_transition(parser, atom);
            if (*last)
                last = &(*last)->next;
        }
    }
    parser->in_atom = in_atom;
}

/* ------------------------------------------------------------------ atoms */

/* #JAVA "x", Java:"x", #PR identity(;a): up to the next atom or the end. */
static void skip_foreign(struct parser *parser)
{
    unsigned open = 0;
    do {
        open += parser_sees(parser, '{');
        if (parser_sees(parser, '}') && open > 0)
            open--;
        parser_take(parser, parser_token(parser)->kind);
    } while (parser->status == GORDIAN_OK && !parser_sees(parser, TOKEN_END) &&
             (open > 0 || (!parser_sees(parser, '}') && !parser_sees(parser, TOKEN_ATOM))));
}

static bool is_foreign(const struct token *token)
{
    static const char *const kinds[] = {"JAVA", "C", "PROMELA", "MAUDE"};
    if (token->kind != TOKEN_ATOM)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == token->length && memcmp(kinds[i], token->text, token->length) == 0)
            return true;
    return false;
}

static bool atom_named(const struct token *token, const char *name)
{
    return strlen(name) == token->length && memcmp(name, token->text, token->length) == 0;
}

/* One of them. Of several that say what the component does the first counts, the others are only
 * checked. */
static void parse_one(struct parser *parser, struct atom *atom)
{
    struct atom other = {0};
    const struct token *token = parser_token(parser);
    struct atom *target = atom->kind == ATOM_RULES || atom->kind == ATOM_STATES ? &other : atom;
    if (is_foreign(token)) {
        if (atom->kind == ATOM_NONE)
            atom->kind = ATOM_FOREIGN;
        skip_foreign(parser);
        return;
    }
    parser_take(parser, TOKEN_ATOM);
    parser->in_atom = true;
    if (atom_named(token, "RBA")) {
        target->kind = ATOM_RULES;
        parse_rules(parser, target);
    } else if (atom_named(token, "CA") || atom_named(token, "CAM") || atom_named(token, "PA")) {
        target->kind = ATOM_STATES;
        target->bare_cells = atom_named(token, "CAM");
        parse_states(parser, target);
    } else {
        atom->unsupported = token;
        skip_foreign(parser);
    }
    parser->in_atom = false;
}

struct atom *parse_atom(struct parser *parser)
{
    struct atom *atom = parser_alloc(parser, sizeof *atom);
    while (atom && parser->status == GORDIAN_OK &&
           (parser_sees(parser, TOKEN_ATOM) || parser_sees(parser, TOKEN_NAME) ||
            parser_sees(parser, '|'))) {
        if (parser_take(parser, '|'))
            continue;
        if (!parser_sees(parser, TOKEN_ATOM) && parser_ahead(parser, 1)->kind != ':')
            break;
        parse_one(parser, atom);
    }
    return parser->status == GORDIAN_OK ? atom : NULL;
}

/* Parses atomic components: rules, states and transitions, or a reference to code. */
#include "engines/compose/treo/parse.h"

#include <string.h>
#include <strings.h>

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

/* The initial value of a cell: $m=0; */
static void parse_initial_value(struct parser *parser, struct atom *atom)
{
    struct atom_start *start = add_start(parser, atom);
    parser_take(parser, '$');
    const struct token *cell = parser_expect(parser, TOKEN_NAME, "the name of a memory cell");
    parser_expect(parser, '=', "'=' and the initial value");
    if (parser->status != GORDIAN_OK)
        return;
    start->cell = cell;
    start->value = parse_expr(parser, LEVEL_TERM);
    if (!parser_take(parser, ';'))
        parser_take(parser, ',');
}

static struct rule *finish_rule(struct parser *parser, struct rule *rule)
{
    parser_take(parser, ';');
    return parser->status == GORDIAN_OK ? rule : NULL;
}

/* {a, ~b} guard; or only a guard, which also decides which ports fire. */
static struct rule *parse_rule(struct parser *parser)
{
    struct rule *rule = parser_alloc(parser, sizeof *rule);
    bool ends = false;
    if (!rule)
        return NULL;
    rule->token = parser_token(parser);
    rule->bare = !parser_sees(parser, '{');
    if (!rule->bare) {
        rule->ports = parse_firing(parser);
        parser_take(parser, ',');
        ends = parser_sees(parser, '{') || parser_sees(parser, '}') || parser_sees(parser, ';') ||
               parser_sees(parser, TOKEN_ATOM) || parser_sees(parser, '|');
    }
    if (!ends)
        rule->guard = parse_formula(parser);
    return finish_rule(parser, rule);
}

/* Does an initial value follow ($m = 0;), and not a rule ($m = 0, b = $m)? After an initial value
 * comes ';', another one, or a rule in braces. */
static bool sees_initial_value(const struct parser *parser)
{
    size_t at = 3;
    uint16_t kind = TOKEN_END;
    if (!parser_sees(parser, '$') || parser_ahead(parser, 1)->kind != TOKEN_NAME ||
        parser_ahead(parser, 2)->kind != '=')
        return false;
    for (;; at++) {
        kind = parser_ahead(parser, at)->kind;
        bool value = kind == TOKEN_NAME || kind == TOKEN_NUMBER || kind == TOKEN_DECIMAL ||
                     kind == TOKEN_STRING || kind == '-' || kind == '*' || kind == '.' ||
                     kind == '[' || kind == ']' || kind == '(' || kind == ')' || kind == '+';
        if (!value)
            break;
    }
    if (kind == ',')
        kind = parser_ahead(parser, at + 1)->kind == '{' ? '{' : ',';
    return kind == ';' || kind == '{' || kind == '$';
}

/* Does a rule without braces follow: a = b, $m' = *? */
static bool sees_bare_rule(const struct parser *parser)
{
    switch (parser_token(parser)->kind) {
    case TOKEN_NAME: /* Java:"x" begins another atom */
        return parser_ahead(parser, 1)->kind != ':';
    case '$':
    case '(':
    case '!':
    case '*':
    case TOKEN_NUMBER:
    case TOKEN_STRING:
        return true;
    default:
        return false;
    }
}

/* ------------------------------------------------------------------ states */

static bool is_state(const struct token *token)
{
    return token->kind == TOKEN_NAME || token->kind == TOKEN_NUMBER || token->kind == TOKEN_STRING;
}

/* Does a line among states follow: q0 -> .., q0* -> .., q0 : initial, memory m? */
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
    uint16_t next = parser_ahead(parser, 1)->kind;
    /* {a}, 3: the cost of a step, which a guard may follow; but not 3 = $m. */
    if (parser->status == GORDIAN_OK && !ends && next != '=' && next != TOKEN_NE &&
        (parser_sees(parser, TOKEN_NUMBER) || parser_sees(parser, TOKEN_DECIMAL))) {
        rule->cost = parser_token(parser);
        parser_take(parser, rule->cost->kind);
        ends = !parser_take(parser, ',');
    }
    if (parser->status == GORDIAN_OK && !ends)
        rule->guard = parse_formula(parser);
    return finish_rule(parser, rule);
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

/* Skips #JAVA "x", Java:"x", #PR identity(;a), up to the next atom or the end. */
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

static bool is_foreign_atom(const struct token *token)
{
    static const char *const kinds[] = {"JAVA", "C", "PROMELA", "MAUDE"};
    if (token->kind != TOKEN_ATOM)
        return true;
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strlen(kinds[i]) == token->length &&
            strncasecmp(kinds[i], token->text, token->length) == 0)
            return true;
    return false;
}

static bool atom_named(const struct token *token, const char *name)
{
    return strlen(name) == token->length && memcmp(name, token->text, token->length) == 0;
}

/* Fifo[1](a;b): names of ports, inputs before the ';'. */
static struct expr *parse_built_in_ports(struct parser *parser)
{
    struct expr *first = NULL, **last = &first;
    parser_expect(parser, '(', "'(' and the ports");
    while (parser->status == GORDIAN_OK && !parser_take(parser, ')')) {
        if (parser_take(parser, ',') || parser_take(parser, ';'))
            continue;
        *last = parse_variable(parser);
        if (!*last)
            return NULL;
        last = &(*last)->next;
    }
    return first;
}

/* {a}, x <= 5, {x}: the progress that jobs must have reached, and the jobs that restart. */
static void parse_jobs(struct parser *parser, struct atom *atom, struct rule *rule)
{
    if (parser->status != GORDIAN_OK || !parser_take(parser, ','))
        return;
    struct expr *jobs = parse_expr(parser, LEVEL_FORMULA);
    if (!jobs)
        return;
    atom->timed |= jobs->kind != EXPR_BOOL;
    if (jobs->kind == EXPR_BOOL && !jobs->number)
        rule->guard = jobs; /* never NULL */
    if (parser_take(parser, ','))
        parse_firing(parser);
}

/* q0* : x <= 5, or q0 -> q1 : {a}, x == 5, {x} */
static void parse_work(struct parser *parser, struct atom *atom)
{
    struct rule **last = &atom->rules;
    while (*last)
        last = &(*last)->next;
    while (
        parser->status == GORDIAN_OK && parser_sees(parser, TOKEN_NAME) &&
        !(parser_ahead(parser, 1)->kind == ':' && parser_ahead(parser, 2)->kind == TOKEN_STRING)) {
        struct rule *rule = parser_alloc(parser, sizeof *rule);
        if (!rule)
            return;
        rule->token = parser_token(parser);
        rule->from = parse_state(parser, atom);
        if (parser_take(parser, ':')) {
            parse_expr(parser, LEVEL_FORMULA);
            atom->timed = true;
            continue;
        }
        parser_expect(parser, TOKEN_ARROW, "'->' or ':'");
        rule->to = parse_state(parser, atom);
        parser_expect(parser, ':', "':'");
        rule->ports = parse_firing(parser);
        parse_jobs(parser, atom, rule);
        *last = rule;
        last = &rule->next;
    }
}

/* Parses one atom. If several define the component, the first one counts and the others are only
 * checked. */
static void parse_one(struct parser *parser, struct atom *atom)
{
    struct atom other = {0};
    const struct token *token = parser_token(parser);
    bool taken = atom->kind != ATOM_NONE && atom->kind != ATOM_FOREIGN;
    struct atom *target = taken ? &other : atom;
    if (is_foreign_atom(token)) {
        if (atom->kind == ATOM_NONE)
            atom->kind = ATOM_FOREIGN;
        skip_foreign(parser);
        return;
    }
    parser_take(parser, TOKEN_ATOM);
    parser->in_atom = true;
    if (atom_named(token, "RBA") || atom_named(token, "P")) {
        target->kind = ATOM_RULES;
        parser->in_predicate = atom_named(token, "P");
        struct rule **last = &target->rules;
        while (parser->status == GORDIAN_OK && sees_initial_value(parser))
            parse_initial_value(parser, target);
        while (parser->status == GORDIAN_OK &&
               (parser_sees(parser, '{') || sees_bare_rule(parser))) {
            *last = parse_rule(parser);
            if (*last)
                last = &(*last)->next;
        }
        parser->in_predicate = false;
    } else if (atom_named(token, "CA") || atom_named(token, "CAM") || atom_named(token, "PA") ||
               atom_named(token, "SCA")) {
        target->kind = ATOM_STATES;
        target->bare_cells = atom_named(token, "CAM");
        parse_states(parser, target);
    } else if (atom_named(token, "WA")) {
        target->kind = ATOM_STATES;
        parse_work(parser, target);
    } else if (atom_named(token, "PR")) {
        target->kind = ATOM_BUILT_IN;
        target->name = parser_expect(parser, TOKEN_NAME, "the name of a built-in component");
        if (parser_take(parser, '[')) {
            parser->in_atom = false;
            target->argument = parse_expr(parser, LEVEL_TERM);
            parser->in_atom = true;
            parser_expect(parser, ']', "']'");
        }
        if (parser_sees(parser, '('))
            target->ports = parse_built_in_ports(parser);
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

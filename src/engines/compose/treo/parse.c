/* Parses files, components and sets of instances. */
#include "engines/compose/treo/parse.h"

#include <string.h>

static struct set *parse_set(struct parser *parser);

/* ------------------------------------------------------------------ signatures */

/* Skips a type: String, $x, (int*int)^nat. */
static void skip_type(struct parser *parser)
{
    do {
        parser_deepen(parser);
        if (parser_take(parser, '(')) {
            skip_type(parser);
            parser_expect(parser, ')', "')'");
        } else {
            parser_take(parser, '$');
            parser_expect(parser, TOKEN_NAME, "a type");
        }
        parser->depth--;
    } while (parser_take(parser, '*') || parser_take(parser, '^'));
}

static enum port_direction take_direction(struct parser *parser)
{
    if (parser_take(parser, '?'))
        return PORT_IN;
    if (parser_take(parser, '!'))
        return PORT_OUT;
    return parser_take(parser, ':') ? PORT_MIXED : PORT_UNKNOWN;
}

/* The common beginning of ports and parameters. */
static struct formal *parse_formal(struct parser *parser)
{
    struct formal *formal = parser_alloc(parser, sizeof *formal);
    if (!formal)
        return NULL;
    formal->token = parser_token(parser);
    if (parser_sees(parser, TOKEN_NAME))
        formal->variable = parse_variable(parser);
    return formal;
}

static struct formal *parse_port(struct parser *parser)
{
    struct formal *formal = parse_formal(parser);
    if (!formal)
        return NULL;
    formal->direction = (uint8_t)take_direction(parser);
    if (!formal->variable && formal->direction == PORT_UNKNOWN)
        parser_complain(parser, formal->token, "expected a port such as a?, b! or c:");
    if (formal->direction != PORT_UNKNOWN &&
        (parser_sees(parser, TOKEN_NAME) || parser_sees(parser, '$') || parser_sees(parser, '(')))
        skip_type(parser);
    return parser->status == GORDIAN_OK ? formal : NULL;
}

/* Parses a list with commas, up to `end`. */
static struct formal *parse_formals(struct parser *parser,
                                    struct formal *(*each)(struct parser *parser), uint16_t end,
                                    const char *expected)
{
    struct formal *first = NULL, **last = &first;
    do {
        *last = each(parser);
        if (!*last)
            return NULL;
        last = &(*last)->next;
    } while (parser_take(parser, ','));
    parser_expect(parser, end, expected);
    return first;
}

struct formal *parse_ports(struct parser *parser)
{
    parser_expect(parser, '(', "'(' and the ports");
    if (parser->status != GORDIAN_OK || parser_take(parser, ')'))
        return NULL;
    return parse_formals(parser, parse_port, ')', "',' or ')'");
}

static struct formal *parse_parameters(struct parser *parser);

/* <k:int>, <f(?,!)>, <f[1..n]<k:int>(?,!)> */
static struct formal *parse_parameter(struct parser *parser)
{
    struct formal *formal = parse_formal(parser);
    if (!formal)
        return NULL;
    if (parser_sees(parser, '<') || parser_sees(parser, '(')) {
        parser_deepen(parser);
        formal->component = true;
        parse_parameters(parser);
        parse_ports(parser);
        parser->depth--;
    } else if (parser_take(parser, ':')) {
        skip_type(parser);
    } else if (!formal->variable) {
        parser_complain(parser, formal->token, "expected a parameter such as k:int");
    }
    return parser->status == GORDIAN_OK ? formal : NULL;
}

static struct formal *parse_parameters(struct parser *parser)
{
    if (!parser_take(parser, '<') || parser_take(parser, '>'))
        return NULL;
    return parse_formals(parser, parse_parameter, '>', "',' or '>'");
}

/* ------------------------------------------------------------------ components */

bool sees_component(const struct parser *parser)
{
    size_t at = 1;
    uint16_t kind = parser_ahead(parser, 1)->kind;
    if (parser_sees(parser, '<'))
        return kind == TOKEN_NAME && parser_ahead(parser, 2)->kind == ':';
    if (!parser_sees(parser, '('))
        return false;
    if (kind == ')' || kind == '?' || kind == '!' || kind == ':')
        return true;
    if (kind != TOKEN_NAME)
        return false;
    unsigned open = 0;
    for (at = 2; parser_ahead(parser, at)->kind == '[' || open > 0; at++) {
        kind = parser_ahead(parser, at)->kind;
        if (kind == TOKEN_END)
            return false;
        open += kind == '[';
        open -= kind == ']';
    }
    kind = parser_ahead(parser, at)->kind;
    return kind == '?' || kind == '!' || (kind == ':' && parser_ahead(parser, at + 1)->kind != '<');
}

struct component *parse_component(struct parser *parser)
{
    struct component *component = parser_alloc(parser, sizeof *component);
    if (!component)
        return NULL;
    component->token = parser_token(parser);
    component->parameters = parse_parameters(parser);
    component->ports = parse_ports(parser);
    if (parser->status != GORDIAN_OK)
        return NULL;
    if (sees_atom(parser)) {
        parser_take(parser, '{');
        component->atom = parse_atom(parser);
        parser_expect(parser, '}', "a rule, another atom or '}'");
    } else {
        component->body = parse_set(parser);
    }
    return parser->status == GORDIAN_OK ? component : NULL;
}

static struct component *parse_named(struct parser *parser)
{
    struct component *component = parser_alloc(parser, sizeof *component);
    if (!component)
        return NULL;
    component->token = parser_token(parser);
    component->variable = parse_variable(parser);
    return component->variable ? component : NULL;
}

/* ------------------------------------------------------------------ instances */

static struct expr *parse_actual_port(struct parser *parser)
{
    if (parser_sees(parser, '+') || parser_sees(parser, '&'))
        parser_complain(parser, parser_token(parser), "ports with a priority are not supported");
    return parse_variable(parser);
}

static struct set *new_set(struct parser *parser, enum set_kind kind)
{
    struct set *set = parser_alloc(parser, sizeof *set);
    if (set) {
        set->kind = (uint8_t)kind;
        set->token = parser_token(parser);
    }
    return set;
}

static struct set *parse_instance(struct parser *parser, bool ports_needed)
{
    struct set *set = new_set(parser, SET_INSTANCE);
    if (!set)
        return NULL;
    set->component =
        parser_sees(parser, TOKEN_NAME) ? parse_named(parser) : parse_component(parser);
    if (parser_sees(parser, '<'))
        set->arguments = parse_list(parser);
    if (ports_needed || parser_sees(parser, '(')) {
        parser_expect(parser, '(', "'(' and the ports");
        set->ports = parse_separated(parser, parse_actual_port, ')', "',' or ')'");
    }
    return parser->status == GORDIAN_OK ? set : NULL;
}

gordian_status parse_instance_only(struct parser *parser, struct set **instance)
{
    *instance = parse_instance(parser, false);
    parser_expect(parser, TOKEN_END, "the end");
    return parser->status;
}

/* ------------------------------------------------------------------ sets */

static struct set *parse_group(struct parser *parser)
{
    struct set *group = new_set(parser, SET_GROUP);
    if (!group)
        return NULL;
    struct set **last = &group->members;
    parser_expect(parser, '{', "'{'");
    while (parser->status == GORDIAN_OK && !parser_sees(parser, '}') && !parser_sees(parser, '|')) {
        *last = parse_set(parser);
        if (!*last)
            return NULL;
        last = &(*last)->next;
        /* a;b and a*b are parallel composition */
        if (!parser_take(parser, ';'))
            parser_take(parser, '*');
        if (parser_sees(parser, '+'))
            parser_complain(parser, parser_token(parser), "the sum of instances is not supported");
    }
    if (parser_take(parser, '|'))
        group->formula = parse_formula(parser);
    parser_expect(parser, '}', "a component, '|' or '}'");
    return parser->status == GORDIAN_OK ? group : NULL;
}

static struct set *parse_for(struct parser *parser)
{
    struct set *set = new_set(parser, SET_FOR);
    parser_take(parser, TOKEN_NAME);
    const struct token *name = parser_expect(parser, TOKEN_NAME, "a variable");
    parser_expect(parser, '=', "'='");
    if (parser->status != GORDIAN_OK)
        return NULL;
    set->name = parser_text(parser, name);
    set->first = parse_expr(parser, LEVEL_SUM);
    parser_expect(parser, TOKEN_RANGE, "'..'");
    set->last = parse_expr(parser, LEVEL_SUM);
    set->members = parse_set(parser);
    return parser->status == GORDIAN_OK ? set : NULL;
}

/* After `if`, or after an `else` that a formula follows. */
static struct set *parse_if(struct parser *parser)
{
    struct set *set = new_set(parser, SET_IF);
    if (!set)
        return NULL;
    set->formula = parse_formula(parser);
    set->members = parse_set(parser);
    if (parser->status == GORDIAN_OK && token_is(parser_token(parser), "else")) {
        parser_take(parser, TOKEN_NAME);
        parser_deepen(parser);
        /* else {..}, else for .., else if .., else name(..) begin a set; else a formula follows. */
        const struct token *token = parser_token(parser);
        bool is_set = parser_sees(parser, '{') || token_is(token, "for") || token_is(token, "if") ||
                      (parser_sees(parser, TOKEN_NAME) && parser_ahead(parser, 1)->kind == '(');
        set->otherwise = is_set ? parse_set(parser) : parse_if(parser);
        parser->depth--;
    }
    return parser->status == GORDIAN_OK ? set : NULL;
}

static struct set *parse_set(struct parser *parser)
{
    struct set *set = NULL;
    char shown[80];
    const struct token *token = parser_token(parser);
    if (parser->status != GORDIAN_OK)
        return NULL;
    parser_deepen(parser);
    if (parser->status != GORDIAN_OK)
        set = NULL;
    else if (parser_sees(parser, '{'))
        set = parse_group(parser);
    else if (token_is(token, "for"))
        set = parse_for(parser);
    else if (token_is(token, "if") && parser_take(parser, TOKEN_NAME))
        set = parse_if(parser);
    else if (parser_sees(parser, TOKEN_NAME) || sees_component(parser))
        set = parse_instance(parser, true);
    else
        parser_complain(parser, token, "expected a component, not %s",
                        token_show(token, shown, sizeof shown));
    parser->depth--;
    return set;
}

/* ------------------------------------------------------------------ files */

/* section a.b;  import a.b.c; */
static const char *parse_dotted_path(struct parser *parser)
{
    parser_take(parser, TOKEN_NAME);
    struct expr *path = parse_variable(parser);
    if (path && path->indices)
        parser_complain(parser, path->token, "expected a name without [ ]");
    parser_expect(parser, ';', "';'");
    return parser->status == GORDIAN_OK ? path->name : NULL;
}

static struct import *parse_import(struct parser *parser)
{
    struct import *import = parser_alloc(parser, sizeof *import);
    if (!import)
        return NULL;
    import->token = parser_ahead(parser, 1);
    import->name = parse_dotted_path(parser);
    import->module = GORDIAN_NONE;
    return import->name ? import : NULL;
}

static struct definition *parse_definition(struct parser *parser)
{
    struct definition *definition = parser_alloc(parser, sizeof *definition);
    const struct token *name = parser_expect(parser, TOKEN_NAME, "the definition of a component");
    if (!definition || !name)
        return NULL;
    definition->token = name;
    definition->name = parser_text(parser, name);
    bool alias = parser_take(parser, '=') && parser_sees(parser, TOKEN_NAME);
    definition->component = alias ? parse_named(parser) : parse_component(parser);
    return parser->status == GORDIAN_OK ? definition : NULL;
}

gordian_status parse_file(struct parser *parser, struct file *file)
{
    *file = (struct file){0};
    struct import **last_import = &file->imports;
    struct definition **last = &file->definitions;
    if (token_is(parser_token(parser), "section"))
        file->section = parse_dotted_path(parser);
    while (parser->status == GORDIAN_OK && token_is(parser_token(parser), "import")) {
        *last_import = parse_import(parser);
        if (*last_import)
            last_import = &(*last_import)->next;
    }
    while (parser->status == GORDIAN_OK && !parser_sees(parser, TOKEN_END)) {
        *last = parse_definition(parser);
        if (!*last)
            break;
        last = &(*last)->next;
    }
    return parser->status;
}

/* Parses expressions: terms and formulas, with one grammar for both. */
#include "engines/compose/treo/parse.h"

#include "foundation/base/io/reader.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void parser_open(struct parser *parser, const struct tokens *tokens, struct arena *arena,
                 gordian_fault *fault, gordian_error *error)
{
    *parser = (struct parser){.tokens = tokens, .arena = arena, .fault = fault, .error = error};
}

const struct token *parser_ahead(const struct parser *parser, size_t by)
{
    size_t last = parser->tokens->count - 1;
    return &parser->tokens->list[last - parser->at < by ? last : parser->at + by];
}

const struct token *parser_token(const struct parser *parser)
{
    return &parser->tokens->list[parser->at];
}

bool parser_sees(const struct parser *parser, uint16_t kind)
{
    return parser_token(parser)->kind == kind;
}

/* Consumes the current token. The last token is never consumed. */
static const struct token *consume_token(struct parser *parser)
{
    const struct token *token = parser_token(parser);
    if (token->kind != TOKEN_END)
        parser->at++;
    return token;
}

bool parser_take(struct parser *parser, uint16_t kind)
{
    if (parser->status != GORDIAN_OK || !parser_sees(parser, kind))
        return false;
    consume_token(parser);
    return true;
}

void parser_complain(struct parser *parser, const struct token *token, const char *format, ...)
{
    va_list arguments;
    if (parser->status != GORDIAN_OK)
        return;
    text_point(parser->tokens->text, token->line, token->column, parser->fault);
    va_start(arguments, format);
    parser->status = fail_at_list(parser->error, GORDIAN_STATUS_INPUT, token->line, token->column,
                                  format, arguments);
    va_end(arguments);
}

const struct token *parser_expect(struct parser *parser, uint16_t kind, const char *what)
{
    char shown[80];
    if (parser->status != GORDIAN_OK)
        return NULL;
    if (parser_sees(parser, kind))
        return consume_token(parser);
    parser_complain(parser, parser_token(parser), "expected %s, not %s", what,
                    token_show(parser_token(parser), shown, sizeof shown));
    return NULL;
}

void parser_deepen(struct parser *parser)
{
    if (++parser->depth > PARSE_DEPTH_MAX)
        parser_complain(parser, parser_token(parser), "nested more than %u deep", PARSE_DEPTH_MAX);
}

void *parser_alloc(struct parser *parser, size_t size)
{
    if (parser->status != GORDIAN_OK)
        return NULL;
    void *memory = arena_alloc(parser->arena, size);
    if (!memory)
        parser->status = fail_memory(parser->error);
    return memory;
}

const char *parser_text(struct parser *parser, const struct token *token)
{
    char *text = parser_alloc(parser, (size_t)token->length + 1);
    if (text)
        memcpy(text, token->text, token->length);
    return text;
}

static struct expr *new_expr(struct parser *parser, enum expr_kind kind, const struct token *token)
{
    struct expr *expr = parser_alloc(parser, sizeof *expr);
    if (expr) {
        expr->kind = (uint8_t)kind;
        expr->token = token;
    }
    return expr;
}

/* ------------------------------------------------------------------ pieces */

/* Consumes a.b.c and returns it as one text. */
static const char *take_path(struct parser *parser)
{
    const struct token *first = parser_expect(parser, TOKEN_NAME, "a name");
    const struct token *last = first;
    while (first && parser_sees(parser, '.') && parser_ahead(parser, 1)->kind == TOKEN_NAME) {
        consume_token(parser);
        last = consume_token(parser);
    }
    if (!first)
        return NULL;
    /* Blanks inside a dotted name are not allowed. */
    struct token whole = *first;
    whole.length = (uint32_t)(last->text - first->text) + last->length;
    for (uint32_t i = 0; first != last && i < whole.length; i++)
        if (strchr(" \t\r\n/`", whole.text[i])) {
            parser_complain(parser, first, "a dotted name has no blanks in it");
            return NULL;
        }
    return parser_text(parser, &whole);
}

struct expr *parse_variable(struct parser *parser)
{
    struct expr *variable = new_expr(parser, EXPR_VARIABLE, parser_token(parser));
    const char *name = take_path(parser);
    if (!variable || !name)
        return NULL;
    variable->name = name;
    struct expr **last = &variable->indices;
    while (parser_take(parser, '[')) {
        *last = parse_expr(parser, LEVEL_TERM);
        parser_expect(parser, ']', "']'");
        if (parser->status != GORDIAN_OK)
            return NULL;
        last = &(*last)->next;
    }
    return parser->status == GORDIAN_OK ? variable : NULL;
}

struct expr *parse_separated(struct parser *parser, struct expr *(*each)(struct parser *parser),
                             uint16_t close, const char *what)
{
    struct expr *first = NULL, **last = &first;
    if (parser->status != GORDIAN_OK || parser_take(parser, close))
        return NULL;
    do {
        *last = each(parser);
        if (!*last)
            return NULL;
        last = &(*last)->next;
    } while (parser_take(parser, ','));
    parser_expect(parser, close, what);
    return first;
}

static struct expr *parse_term(struct parser *parser)
{
    return parse_expr(parser, LEVEL_TERM);
}

struct expr *parse_list(struct parser *parser)
{
    struct expr *list = new_expr(parser, EXPR_LIST, parser_token(parser));
    parser_expect(parser, '<', "'<'");
    struct expr *elements = parse_separated(parser, parse_term, '>', "',' or '>'");
    if (parser->status != GORDIAN_OK)
        return NULL;
    list->first = elements;
    return list;
}

/* [0.9 : a, 0.1 : null], after the first probability. */
static struct expr *parse_chances(struct parser *parser, struct expr *chance)
{
    struct expr *chances = new_expr(parser, EXPR_CHANCES, chance->token);
    struct expr **last = chances ? &chances->first : NULL;
    while (chances) {
        parser_expect(parser, ':', "':' and the outcome with this probability");
        struct expr *outcome = parse_expr(parser, LEVEL_TERM);
        if (!outcome)
            return NULL;
        /* A separate node, because the outcome may be an operator with a second operand. */
        struct expr *pair = new_expr(parser, EXPR_CHANCES, outcome->token);
        if (!pair)
            return NULL;
        pair->first = outcome;
        pair->second = chance;
        *last = pair;
        last = &pair->next;
        if (!parser_take(parser, ','))
            break;
        chance = parse_expr(parser, LEVEL_TERM);
        if (!chance)
            return NULL;
    }
    parser_expect(parser, ']', "',' or ']'");
    return parser->status == GORDIAN_OK ? chances : NULL;
}

static struct expr *parse_tuple(struct parser *parser)
{
    struct expr *tuple = new_expr(parser, EXPR_TUPLE, parser_token(parser));
    parser_expect(parser, '[', "'['");
    if (parser->in_atom && !parser_sees(parser, ']')) {
        size_t start = parser->at;
        struct expr *first = parse_expr(parser, LEVEL_TERM);
        if (!first)
            return NULL;
        if (parser_sees(parser, ':'))
            return parse_chances(parser, first);
        parser->at = start;
    }
    struct expr *elements = parse_separated(parser, parse_term, ']', "',' or ']'");
    if (parser->status != GORDIAN_OK)
        return NULL;
    tuple->first = elements;
    return tuple;
}

/* {[0,1] [1,0]} */
static struct expr *parse_table(struct parser *parser)
{
    struct expr *table = new_expr(parser, EXPR_TABLE, parser_token(parser));
    parser_expect(parser, '{', "'{'");
    if (parser->status != GORDIAN_OK)
        return NULL;
    struct expr **last = &table->first;
    while (!parser_take(parser, '}')) {
        *last = parse_tuple(parser);
        if (!*last)
            return NULL;
        last = &(*last)->next;
        parser_take(parser, ',');
    }
    return table;
}

static struct expr *parse_quantifier(struct parser *parser, enum expr_kind kind)
{
    struct expr *expr = new_expr(parser, kind, consume_token(parser));
    const struct token *name = parser_expect(parser, TOKEN_NAME, "a variable");
    parser_expect(parser, ':', "':' and a list");
    struct expr *list = parse_list(parser);
    struct expr *body = list ? parse_expr(parser, LEVEL_FORMULA) : NULL;
    if (!expr || !name || !body)
        return NULL;
    expr->name = parser_text(parser, name);
    expr->first = list;
    expr->second = body;
    return expr;
}

static struct expr *parse_number(struct parser *parser)
{
    const struct token *token = consume_token(parser);
    struct expr *expr = new_expr(parser, EXPR_NUMBER, token);
    const char *why;
    if (expr && !parse_i64(token->text, token->length, &expr->number, &why))
        parser_complain(parser, token, "'%.*s' %s", token->length > 40 ? 40 : (int)token->length,
                        token->text, why);
    return parser->status == GORDIAN_OK ? expr : NULL;
}

static struct expr *parse_cell(struct parser *parser)
{
    struct expr *cell = new_expr(parser, EXPR_CELL, consume_token(parser));
    const struct token *name = parser_expect(parser, TOKEN_NAME, "the name of a memory cell");
    if (!cell || !name)
        return NULL;
    cell->name = parser_text(parser, name);
    cell->primed = parser_take(parser, '\'');
    return cell;
}

/* f(a, b) in an atom; m' where cells have no $. */
static struct expr *parse_atom_name(struct parser *parser)
{
    struct expr *variable = parse_variable(parser);
    if (!variable)
        return NULL;
    if (parser_take(parser, '\'')) {
        variable->primed = true;
    } else if (parser_sees(parser, '(') && !variable->indices) {
        consume_token(parser);
        variable->kind = EXPR_APPLY;
        variable->first = parse_separated(parser, parse_term, ')', "',' or ')'");
    }
    return parser->status == GORDIAN_OK ? variable : NULL;
}

static struct expr *parse_name(struct parser *parser)
{
    const struct token *token = parser_token(parser), *next = parser_ahead(parser, 1);
    if (token_is(token, "true") || token_is(token, "false")) {
        struct expr *expr = new_expr(parser, EXPR_BOOL, consume_token(parser));
        if (expr)
            expr->number = token_is(token, "true");
        return expr;
    }
    if (parser->in_atom)
        return token_is(token, "null") ? new_expr(parser, EXPR_NULL, consume_token(parser))
                                       : parse_atom_name(parser);
    if (token_is(token, "forall"))
        return parse_quantifier(parser, EXPR_FORALL);
    if (token_is(token, "exists"))
        return parse_quantifier(parser, EXPR_EXISTS);
    bool parameters = next->kind == '<' && parser_ahead(parser, 2)->kind == TOKEN_NAME &&
                      parser_ahead(parser, 3)->kind == ':';
    struct expr *expr = parse_variable(parser);
    if (!expr)
        return NULL;
    if (parser_sees(parser, ':') && !expr->indices) {
        consume_token(parser);
        expr->kind = EXPR_MEMBER;
        expr->first = parse_list(parser);
    } else if (parser_sees(parser, '(') || parameters) {
        expr->kind = EXPR_DEFINE;
        expr->component = parse_component(parser);
    }
    return parser->status == GORDIAN_OK ? expr : NULL;
}

static struct expr *parse_brackets(struct parser *parser)
{
    if (!parser->in_atom && sees_component(parser)) {
        struct expr *expr = new_expr(parser, EXPR_COMPONENT, parser_token(parser));
        if (expr)
            expr->component = parse_component(parser);
        return parser->status == GORDIAN_OK ? expr : NULL;
    }
    consume_token(parser);
    struct expr *inner = parse_formula(parser);
    parser_expect(parser, ')', "')'");
    return parser->status == GORDIAN_OK ? inner : NULL;
}

static struct expr *parse_prefix(struct parser *parser, enum expr_kind kind, int level)
{
    struct expr *expr = new_expr(parser, kind, consume_token(parser));
    struct expr *operand = parse_expr(parser, level);
    if (!expr || !operand)
        return NULL;
    expr->first = operand;
    return expr;
}

static struct expr *parse_primary(struct parser *parser)
{
    char shown[80];
    const struct token *token = parser_token(parser);
    switch (token->kind) {
    case TOKEN_NUMBER:
        return parse_number(parser);
    case TOKEN_STRING:
    case TOKEN_DECIMAL: {
        struct expr *expr = new_expr(parser, EXPR_TEXT, consume_token(parser));
        if (expr)
            expr->name = parser_text(parser, token);
        return parser->status == GORDIAN_OK ? expr : NULL;
    }
    case TOKEN_NAME:
        return parse_name(parser);
    case '$':
        if (parser->in_atom)
            return parse_cell(parser);
        break;
    case '(':
        return parse_brackets(parser);
    case '<':
        return !parser->in_atom && sees_component(parser) ? parse_brackets(parser)
                                                          : parse_list(parser);
    case '[':
        return parse_tuple(parser);
    case '{':
        return parse_table(parser);
    case '*':
        if (parser->in_atom)
            return new_expr(parser, EXPR_NULL, consume_token(parser));
        if (parser_ahead(parser, 1)->kind == ',' || parser_ahead(parser, 1)->kind == ']')
            return new_expr(parser, EXPR_ANY, consume_token(parser));
        break;
    case '-':
        return parse_prefix(parser, EXPR_MINUS, 8);
    case '!':
        return parse_prefix(parser, EXPR_NOT, 4);
    default:
        break;
    }
    parser_complain(parser, token, "expected an expression, not %s",
                    token_show(token, shown, sizeof shown));
    return NULL;
}

/* ------------------------------------------------------------------ operators */

/* The precedence of an operator; 0: not an operator. */
static int operator_level(const struct parser *parser, uint16_t kind)
{
    switch (kind) {
    case TOKEN_ARROW:
        return parser->in_atom ? 0 : 1;
    case '|':
        return parser->in_predicate ? 2 : 0;
    case TOKEN_OR:
        return 2;
    case '&':
        return parser->in_predicate ? 3 : 0;
    case TOKEN_AND:
        return 3;
    case '=':
    case TOKEN_NE:
    case '<':
    case TOKEN_LE:
    case '>':
    case TOKEN_GE:
        return 4;
    case TOKEN_RANGE:
        return 5;
    case '+':
    case '-':
        return 6;
    case '*':
    case '/':
    case '%':
        return 7;
    case '^':
        return 9;
    default:
        return 0;
    }
}

static struct expr *parse_operators(struct parser *parser, int level)
{
    struct expr *left = parse_primary(parser);
    while (left) {
        const struct token *token = parser_token(parser);
        int binds = operator_level(parser, token->kind);
        if (binds == 0 || binds < level)
            return left;
        /* In an atom, a * before one of these is not a multiplication: q0* -> q1 is the next
         * transition, * = f(a) the next rule. */
        uint16_t next = parser_ahead(parser, 1)->kind;
        if (parser->in_atom && token->kind == '*' &&
            (next == TOKEN_ARROW || next == '=' || next == TOKEN_NE || next == ':'))
            return left;
        struct expr *expr = new_expr(parser, EXPR_BINARY, consume_token(parser));
        bool to_the_right = token->kind == '^' || token->kind == TOKEN_ARROW;
        struct expr *right = parse_expr(parser, to_the_right ? binds : binds + 1);
        if (!expr || !right)
            return NULL;
        expr->op = token->kind == '&' ? TOKEN_AND : token->kind == '|' ? TOKEN_OR : token->kind;
        expr->first = left;
        expr->second = right;
        left = expr;
    }
    return NULL;
}

struct expr *parse_expr(struct parser *parser, int level)
{
    if (parser->status != GORDIAN_OK)
        return NULL;
    parser_deepen(parser);
    struct expr *expr = parser->status == GORDIAN_OK ? parse_operators(parser, level) : NULL;
    parser->depth--;
    return expr;
}

struct expr *parse_formula(struct parser *parser)
{
    struct expr *left = parse_expr(parser, LEVEL_FORMULA);
    while (left && parser_sees(parser, ',')) {
        struct expr *expr = new_expr(parser, EXPR_BINARY, consume_token(parser));
        struct expr *right = parse_expr(parser, LEVEL_FORMULA);
        if (!expr || !right)
            return NULL;
        expr->op = TOKEN_AND;
        expr->first = left;
        expr->second = right;
        left = expr;
    }
    return left;
}

/* The parser of .treo, partly shared with .ca: tokens to trees. */
#pragma once

#include "engines/compose/treo/tree.h"
#include "foundation/base/arena.h"

#define PARSE_DEPTH_MAX 200u /* nesting depth */

/* A parser stops at its first error: `status` keeps it, and every function returns NULL
 * afterwards. */
struct parser {
    const struct tokens *tokens;
    size_t at;
    struct arena *arena;
    unsigned depth;
    bool in_atom;      /* names may have arguments, $ and null are known, -> is not an operator */
    bool in_predicate; /* #P: & and | are and, or */
    gordian_status status;
    gordian_fault *fault;
    gordian_error *error;
};

void parser_open(struct parser *parser, const struct tokens *tokens, struct arena *arena,
                 gordian_fault *fault, gordian_error *error);

/* A whole .treo text. */
gordian_status parse_file(struct parser *parser, struct file *file);
/* One instance and nothing else, with or without ports: chain<3>, merger(a[1..3],c). */
gordian_status parse_instance_only(struct parser *parser, struct set **instance);

/* ------------------------------------------------------------------ pieces */

const struct token *parser_token(const struct parser *parser);
const struct token *parser_ahead(const struct parser *parser, size_t by);
bool parser_sees(const struct parser *parser, uint16_t kind);
/* Consumes the token if it is of this kind. */
bool parser_take(struct parser *parser, uint16_t kind);
/* Consumes a token of this kind, or reports that `what` was expected. */
const struct token *parser_expect(struct parser *parser, uint16_t kind, const char *what);
void parser_complain(struct parser *parser, const struct token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Enters a nesting level, if the limit allows; the caller leaves it with `depth--`. */
void parser_deepen(struct parser *parser);
void *parser_alloc(struct parser *parser, size_t size);
const char *parser_text(struct parser *parser, const struct token *token);

/* The minimum precedence of operators in an expression. */
enum {
    LEVEL_FORMULA = 1, /* everything */
    LEVEL_TERM = 5,    /* no comparisons: elements of lists, bounds */
    LEVEL_SUM = 6,     /* no ranges */
};
struct expr *parse_expr(struct parser *parser, int level);
/* Parses a list with commas, up to the closing token; `what` was expected otherwise. */
struct expr *parse_separated(struct parser *parser, struct expr *(*each)(struct parser *parser),
                             uint16_t close, const char *what);
/* Expressions joined by ',': their conjunction. */
struct expr *parse_formula(struct parser *parser);
/* name[index]..[index] */
struct expr *parse_variable(struct parser *parser);
struct expr *parse_list(struct parser *parser); /* <a, b> */

/* A component definition: <k:int>(a?,b!) { .. } */
struct component *parse_component(struct parser *parser);
bool sees_component(const struct parser *parser);
/* (a?, b!) */
struct formal *parse_ports(struct parser *parser);

/* The contents of the braces of an atom, up to '}'. */
struct atom *parse_atom(struct parser *parser);
bool sees_atom(const struct parser *parser);
/* Parses from -> to : {..} guard, and similar lines, up to '}' or the next #. `bare_cells`: see
 * struct atom. */
void parse_states(struct parser *parser, struct atom *atom);

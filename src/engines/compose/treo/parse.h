/* Tokens to trees: the grammar of .treo, and what .ca shares with it. */
#pragma once

#include "engines/compose/treo/tree.h"
#include "foundation/base/arena.h"

#define PARSE_DEPTH_MAX 200u /* brackets within brackets */

/* A parser stops at its first fault: `status` stays, and every function returns NULL from then on.
 */
struct parser {
    const struct tokens *tokens;
    size_t at;
    struct arena *arena;
    unsigned depth;
    bool in_atom; /* names may be applied to arguments, $ and null are known, -> is no operator */
    bool in_predicate; /* #P: & and | are and, or */
    gordian_status status;
    gordian_fault *fault;
    gordian_error *error;
};

void parser_open(struct parser *parser, const struct tokens *tokens, struct arena *arena,
                 gordian_fault *fault, gordian_error *error);

/* A whole .treo text. */
gordian_status parse_file(struct parser *parser, struct file *file);
/* One instance and nothing more, the ports left out or not: chain<3>, merger(a[1..3],c). */
gordian_status parse_instance_only(struct parser *parser, struct set **instance);

/* ------------------------------------------------------------------ pieces */

const struct token *parser_token(const struct parser *parser);
const struct token *parser_ahead(const struct parser *parser, size_t by);
bool parser_sees(const struct parser *parser, uint16_t kind);
/* Takes the token if it is of this kind. */
bool parser_take(struct parser *parser, uint16_t kind);
/* Takes a token of this kind or complains that `what` was expected. */
const struct token *parser_expect(struct parser *parser, uint16_t kind, const char *what);
void parser_complain(struct parser *parser, const struct token *token, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* One level deeper, where that is allowed; the caller goes back with `depth--`. */
void parser_deepen(struct parser *parser);
void *parser_alloc(struct parser *parser, size_t size);
const char *parser_text(struct parser *parser, const struct token *token);

/* An expression of operators that bind at least as tight as `level`. */
enum {
    LEVEL_FORMULA = 1, /* everything */
    LEVEL_TERM = 5,    /* no comparisons: elements of lists, bounds */
    LEVEL_SUM = 6,     /* no ranges */
};
struct expr *parse_expr(struct parser *parser, int level);
/* What `each` reads, with commas between, up to the closing token; `what` is expected else. */
struct expr *parse_separated(struct parser *parser, struct expr *(*each)(struct parser *parser),
                             uint16_t close, const char *what);
/* Expressions joined by ',': their conjunction. */
struct expr *parse_formula(struct parser *parser);
/* name[index]..[index] */
struct expr *parse_variable(struct parser *parser);
struct expr *parse_list(struct parser *parser); /* <a, b> */

struct component *parse_component(struct parser *parser); /* written out: <k:int>(a?,b!) { .. } */
bool sees_component(const struct parser *parser);
/* (a?, b!) */
struct formal *parse_ports(struct parser *parser);

/* What is between the braces of an atom; stops at '}'. */
struct atom *parse_atom(struct parser *parser);
bool sees_atom(const struct parser *parser);
/* from -> to : {..} guard, and the like, up to '}' or the next #. `bare_cells`: see struct atom. */
void parse_states(struct parser *parser, struct atom *atom);

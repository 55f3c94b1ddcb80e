/*
 * Data: the symbols that texts mention, the finite domain D among them, and functions on D.
 *
 * A symbol is any text: 0, 1, token. Numbers are symbols, too. D is what the user lists (--data),
 * or, if nothing is listed, every symbol a circuit mentions as a constant; {0} if there is none.
 * D is fixed by data_close, once the circuit has been read; before, symbols only collect.
 *
 * D is what ports carry. Cells whose values no port ever has (automaton_flow) may have others:
 * these come behind, and only such cells range over them.
 *
 * Functions and predicates take and give elements of D. A table is a list of rows; what it does
 * not list is undefined, and a transition whose guard asks for it does not exist. The built-in ones
 * are the predicates even, odd (of numbers), any, none, and the functions id, succ, pred (along D
 * as listed, the ends joined), add, sub, mul, div, mod (of two numbers, where the result is in D).
 */
#pragma once

#include "foundation/base/names/interner.h"

#define DATA_MAX       65535u /* elements of D */
#define FUNCTION_ARITY 8u     /* arguments at most */

enum function_kind {
    FUNCTION_TABLE,  /* rows of arity + 1 symbols: arguments, result */
    FUNCTION_MEMBER, /* a predicate: rows of arity symbols for which it holds */
    FUNCTION_EVEN,
    FUNCTION_ODD,
    FUNCTION_ANY,
    FUNCTION_NONE,
    FUNCTION_ID,
    FUNCTION_SUCC,
    FUNCTION_PRED,
    FUNCTION_ADD, /* of two numbers, as are the rest */
    FUNCTION_SUBTRACT,
    FUNCTION_MULTIPLY,
    FUNCTION_DIVIDE,
    FUNCTION_MODULO,
};

static inline bool function_is_arithmetic(uint8_t kind)
{
    return kind >= FUNCTION_ADD;
}

#define FUNCTION_ANY_DATUM UINT32_MAX /* in a row of a table: whatever it is */

struct function {
    uint8_t kind; /* enum function_kind */
    uint8_t arity;
    uint32_t row_count;
    uint32_t *rows; /* symbols; the first row that fits counts */
};

struct data {
    gordian_allocator memory;
    struct names texts; /* symbol <-> text */
    uint32_t symbol_count;
    uint32_t *index; /* of a symbol in D, 1-based as a value (guard.h); 0: not in D */
    size_t index_room;
    uint32_t *domain; /* the symbols of D, in order, then those that only cells have */
    size_t domain_room;
    uint32_t domain_size;
    uint32_t port_size; /* after data_close: of D alone */
    uint32_t *kept;     /* before it: what only cells have */
    size_t kept_count, kept_room;
    bool listed; /* by the user: then a constant outside is an error */
    struct function *functions;
    size_t function_count, function_room;
};

void data_init(struct data *data, const gordian_allocator *memory);
void data_free(struct data *data);

/* The symbol of a text, new if need be. A text is any but for quotes and control characters, of up
 * to 255 bytes. */
gordian_status data_symbol(struct data *data, const char *text, size_t length, uint32_t *symbol,
                           gordian_error *error);
/* Puts a symbol into D (nothing happens if it is there). A constant of a text calls it when D is
 * not listed; when it is, fails for what is not in it. */
gordian_status data_use(struct data *data, uint32_t symbol, gordian_error *error);
/* A symbol that a cell may have, but no port. */
gordian_status data_keep(struct data *data, uint32_t symbol, gordian_error *error);
/* D as the user wrote it: 0,1,token,"with blanks". */
gordian_status data_list(struct data *data, const char *text, gordian_error *error);
/* No more symbols come into D; puts 0 into it if it is empty. Then come those that were kept. */
gordian_status data_close(struct data *data, gordian_error *error);

/* Adds a function, unless there is the same; copies the rows. */
gordian_status data_function(struct data *data, const struct function *function, uint32_t *number,
                             gordian_error *error);
/* The built-in one of that name; GORDIAN_STATUS_END: there is none. */
gordian_status data_builtin(struct data *data, const char *name, size_t length, uint32_t *number,
                            gordian_error *error);

/* The first name of a built-in one; NULL: it is a table. */
const char *data_builtin_name(uint8_t kind);

const char *data_text(const struct data *data, uint32_t symbol);
/* The text of a value; "null" for VALUE_NULL. */
const char *data_value_text(const struct data *data, uint32_t value);

struct output;

/* As labels and reports have it: as it is, or, if it is empty or has blanks, ',', '|', '=' or '#'
 * in it, between ' ', with those among ' | % that it has as %27, %7c, %25. */
void data_show(const char *text, struct output *out);
/* Back from there: the bytes, of which there are at most `length`. */
size_t data_read_shown(const char *text, size_t length, char *buffer, size_t size);

/* Applies a function to values of D (none of them null): the result's value, 1 for a predicate that
 * holds, 0 for one that does not and for a function that is not defined there. */
uint32_t function_apply(const struct data *data, uint32_t function, const uint32_t *arguments);

/* Arithmetic goes through numbers, which need not be data but in the end: the number that a text
 * is, the value of a number that ports can have (0: they cannot), and two numbers computed. */
bool data_number(const char *text, int64_t *number);
uint32_t data_value_of(const struct data *data, int64_t number);
bool function_compute(const struct function *function, int64_t left, int64_t right,
                      int64_t *result);

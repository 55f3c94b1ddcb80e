/*
 * Data: the symbols of a text, the finite domain D, and functions on D.
 *
 * A symbol is any text: 0, 1, token. Numbers are symbols as well. D is the list of the user
 * (--data). Without a list, D has every symbol that the circuit mentions as a constant, or {0} if
 * there is none. data_close fixes D once the circuit has been read; until then symbols are only
 * collected.
 *
 * Ports carry elements of D. Cells whose values never reach a port (automaton_flow) may have other
 * symbols. These follow the elements of D, and only such cells range over them.
 *
 * Functions and predicates map elements of D to elements of D. A table is a list of rows. A
 * function is undefined for arguments without a row, and a transition whose guard needs it does not
 * exist. Built-in predicates: even, odd (of numbers), any, none. Built-in functions: id, succ, pred
 * (in the listed order of D, which wraps around), add, sub, mul, div, mod (of two numbers, if the
 * result is in D).
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
    FUNCTION_ADD, /* this and all below: arithmetic on two numbers */
    FUNCTION_SUBTRACT,
    FUNCTION_MULTIPLY,
    FUNCTION_DIVIDE,
    FUNCTION_MODULO,
};

static inline bool function_is_arithmetic(uint8_t kind)
{
    return kind >= FUNCTION_ADD;
}

#define FUNCTION_ANY_DATUM UINT32_MAX /* in a row of a table: matches any datum */

struct function {
    uint8_t kind; /* enum function_kind */
    uint8_t arity;
    uint32_t row_count;
    uint32_t *rows; /* symbols; the first matching row counts */
};

struct data {
    gordian_allocator memory;
    struct names texts; /* symbol <-> text */
    uint32_t symbol_count;
    uint32_t *index; /* of a symbol in D, as a value from 1 (guard.h); 0: not in D */
    size_t index_room;
    uint32_t *domain; /* the symbols of D, in order, then symbols that only cells have */
    size_t domain_room;
    uint32_t domain_size;
    uint32_t port_size; /* elements of D; set by data_close */
    uint32_t *kept;     /* before data_close: symbols of cells only */
    size_t kept_count, kept_room;
    bool listed; /* the user listed D: other constants are errors */
    struct function *functions;
    size_t function_count, function_room;
};

void data_init(struct data *data, const gordian_allocator *memory);
void data_free(struct data *data);

/* Returns the symbol of a text, and adds it if it is new. A text has at most 255 bytes and no
 * quotes or control characters. */
gordian_status data_symbol(struct data *data, const char *text, size_t length, uint32_t *symbol,
                           gordian_error *error);
/* Adds a symbol to D unless D contains it. The readers call it for constants if the user has not
 * listed D. With a list it fails for a symbol that is not in the list. */
gordian_status data_use(struct data *data, uint32_t symbol, gordian_error *error);
/* Adds a symbol that cells may have, but not ports. */
gordian_status data_keep(struct data *data, uint32_t symbol, gordian_error *error);
/* Reads D as the user wrote it: 0,1,token,"with blanks". */
gordian_status data_list(struct data *data, const char *text, gordian_error *error);
/* Fixes D. Adds 0 if D is empty, then the symbols of cells only. */
gordian_status data_close(struct data *data, gordian_error *error);

/* Adds a function unless an equal one exists. Copies the rows. */
gordian_status data_function(struct data *data, const struct function *function, uint32_t *number,
                             gordian_error *error);
/* Returns the built-in function of that name; GORDIAN_STATUS_END: there is none. */
gordian_status data_builtin(struct data *data, const char *name, size_t length, uint32_t *number,
                            gordian_error *error);

/* The first name of a built-in function; NULL: it is a table. */
const char *data_builtin_name(uint8_t kind);

const char *data_text(const struct data *data, uint32_t symbol);
/* The text of a value; "null" for VALUE_NULL. */
const char *data_value_text(const struct data *data, uint32_t value);

struct output;

/* Writes a datum for labels and reports. A text that is empty, or contains a blank, ',', '|', '='
 * or '#', is quoted with ' '; inside, ' | % are written as %27, %7c, %25. */
void data_show(const char *text, struct output *out);
/* The inverse: at most `length` bytes. */
size_t data_read_shown(const char *text, size_t length, char *buffer, size_t size);

/* Applies a function to values of D, none of them null. Returns the value of the result, 1 for a
 * predicate that holds, and 0 for one that does not hold or a function that is undefined there. */
uint32_t function_apply(const struct data *data, uint32_t function, const uint32_t *arguments);

/* Arithmetic works on numbers, and only the result must be a datum. data_number: the number of a
 * text. data_value_of: the value of a number that ports can carry; 0: they cannot.
 * function_compute: the result for two numbers. */
bool data_number(const char *text, int64_t *number);
uint32_t data_value_of(const struct data *data, int64_t number);
bool function_compute(const struct function *function, int64_t left, int64_t right,
                      int64_t *result);

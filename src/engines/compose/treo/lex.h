/* Tokens of .treo and .ca texts. */
#pragma once

#include "engines/compose/circuit/text_fault.h"

/* A token of one character has that character as its kind. */
enum token_kind {
    TOKEN_END = 256,
    TOKEN_NAME,    /* fifo1; `any bytes` without the quotes */
    TOKEN_NUMBER,  /* 12 */
    TOKEN_DECIMAL, /* 1.5 */
    TOKEN_STRING,  /* "text" without the quotes */
    TOKEN_ATOM,    /* #RBA without the # */
    TOKEN_RANGE,   /* .. */
    TOKEN_LE,      /* <= */
    TOKEN_GE,      /* >= */
    TOKEN_NE,      /* != */
    TOKEN_AND,     /* && */
    TOKEN_OR,      /* || */
    TOKEN_ARROW,   /* -> */
};

struct token {
    uint16_t kind;
    uint32_t length;
    const char *text; /* in the text, not NUL-terminated */
    uint32_t line, column;
};

struct tokens {
    gordian_allocator memory;
    const struct text *text; /* must outlive the tokens */
    struct token *list;      /* the last one is TOKEN_END */
    size_t count, room;
};

/* Comments are // to the end of the line and slash-star to star-slash. */
gordian_status tokens_read(struct tokens *tokens, const struct text *text,
                           const gordian_allocator *memory, gordian_fault *fault,
                           gordian_error *error);
void tokens_free(struct tokens *tokens);

/* Reads 12.5, independent of the locale, unlike the C library. */
bool decimal_read(const char *text, size_t length, double *number);

bool token_is(const struct token *token, const char *text);

/* The token in a message: "'fifo1'", "the end of the text". */
const char *token_show(const struct token *token, char *buffer, size_t size);

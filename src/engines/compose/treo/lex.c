/* The lexer for Treo: blanks, comments, names, numbers and operators (lex.h). */
#include "engines/compose/treo/lex.h"

#include <stdio.h>
#include <string.h>

static bool is_ascii_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool is_ascii_digit(char c)
{
    return c >= '0' && c <= '9';
}

static gordian_status skip_treo_comment(struct text_scan *lexer)
{
    struct text_scan start = *lexer;
    if (lexer->at[1] == '/') {
        while (lexer->at < lexer->end && *lexer->at != '\n')
            lexer->at++;
        return GORDIAN_OK;
    }
    for (lexer->at += 2; lexer->at < lexer->end; lexer->at++) {
        if (lexer->at[0] == '*' && lexer->at[1] == '/') {
            lexer->at += 2;
            return GORDIAN_OK;
        }
        if (*lexer->at == '\n')
            scan_new_line(lexer);
    }
    return scan_complain(&start, start.at, "this comment is not terminated");
}

/* Skips blanks and comments. */
static gordian_status skip_treo_blanks(struct text_scan *lexer)
{
    while (lexer->at < lexer->end) {
        char c = *lexer->at;
        if (c == '/' && (lexer->at[1] == '/' || lexer->at[1] == '*')) {
            TRY(skip_treo_comment(lexer));
            continue;
        }
        if (c != ' ' && c != '\t' && c != '\r' && c != '\n')
            break;
        if (c == '\n')
            scan_new_line(lexer);
        lexer->at++;
    }
    return GORDIAN_OK;
}

static void lex_word(struct text_scan *lexer)
{
    while (is_ascii_letter(*lexer->at) || is_ascii_digit(*lexer->at) || *lexer->at == '_')
        lexer->at++;
}

static uint16_t lex_number(struct text_scan *lexer)
{
    while (is_ascii_digit(*lexer->at))
        lexer->at++;
    if (*lexer->at != '.' || !is_ascii_digit(lexer->at[1]))
        return TOKEN_NUMBER;
    for (lexer->at++; is_ascii_digit(*lexer->at);)
        lexer->at++;
    return TOKEN_DECIMAL;
}

static const struct {
    char text[3];
    uint16_t kind;
} pairs[] = {
    {"..", TOKEN_RANGE}, {"<=", TOKEN_LE}, {">=", TOKEN_GE},    {"!=", TOKEN_NE},
    {"&&", TOKEN_AND},   {"||", TOKEN_OR}, {"->", TOKEN_ARROW}, {"==", '='},
};

static gordian_status lex_symbol(struct text_scan *lexer, struct token *token)
{
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        if (lexer->at[0] == pairs[i].text[0] && lexer->at[1] == pairs[i].text[1]) {
            token->kind = pairs[i].kind;
            lexer->at += 2;
            return GORDIAN_OK;
        }
    }
    if (!strchr("{}()[]<>,;:?!~$'|&+-*/%^=.", *lexer->at)) {
        char what[64];
        unsigned char c = (unsigned char)*lexer->at;
        if (c > 127)
            return scan_complain(lexer, lexer->at,
                                 "letters other than a to z go in backquotes: `\u00e9`");
        snprintf(what, sizeof what,
                 c > ' ' && c < 127 ? "'%c' is not part of the language"
                                    : "a character that is not part of the language",
                 c);
        return scan_complain(lexer, lexer->at, what);
    }
    token->kind = (unsigned char)*lexer->at++;
    return GORDIAN_OK;
}

static gordian_status lex_token(struct text_scan *lexer, struct token *token)
{
    const char *start = lexer->at;
    *token = (struct token){
        .text = start, .line = lexer->line, .column = (uint32_t)(start - lexer->line_start) + 1};
    if (start == lexer->end) {
        token->kind = TOKEN_END;
        return GORDIAN_OK;
    }
    if (is_ascii_letter(*start) || *start == '_') {
        lex_word(lexer);
        token->kind = TOKEN_NAME;
    } else if (is_ascii_digit(*start)) {
        token->kind = lex_number(lexer);
    } else if (*start == '"' || *start == '`') {
        /* "text" is a string, `text` is a name. */
        const char *quote = lexer->at++;
        token->text = lexer->at;
        while (lexer->at < lexer->end && *lexer->at != *quote && *lexer->at != '\n')
            lexer->at++;
        if (lexer->at == lexer->end || *lexer->at == '\n')
            return scan_complain(lexer, quote, "this quote is not terminated");
        token->kind = *quote == '"' ? TOKEN_STRING : TOKEN_NAME;
        if (token->kind == TOKEN_NAME && lexer->at == token->text)
            return scan_complain(lexer, quote, "a name cannot be empty");
        token->length = (uint32_t)(lexer->at - token->text);
        lexer->at++;
        return GORDIAN_OK;
    } else if (*start == '#' && is_ascii_letter(start[1])) {
        lexer->at++;
        lex_word(lexer);
        token->kind = TOKEN_ATOM;
        token->text++;
        token->length = (uint32_t)(lexer->at - start) - 1;
        return GORDIAN_OK;
    } else {
        TRY(lex_symbol(lexer, token));
    }
    token->length = (uint32_t)(lexer->at - start);
    return GORDIAN_OK;
}

gordian_status tokens_read(struct tokens *tokens, const struct text *text,
                           const gordian_allocator *memory, gordian_fault *fault,
                           gordian_error *error)
{
    *tokens = (struct tokens){.memory = memory_allocator(memory), .text = text};
    struct text_scan lexer = scan_begin(text, fault, error);
    for (;;) {
        gordian_status status = skip_treo_blanks(&lexer);
        if (status == GORDIAN_OK &&
            !memory_extend(&tokens->memory, tokens->list, tokens->room, tokens->count))
            status = fail_memory(error);
        THEN(status, lex_token(&lexer, &tokens->list[tokens->count]));
        if (status != GORDIAN_OK) {
            tokens_free(tokens);
            return status;
        }
        if (tokens->list[tokens->count++].kind == TOKEN_END)
            return GORDIAN_OK;
    }
}

void tokens_free(struct tokens *tokens)
{
    memory_free(&tokens->memory, tokens->list);
    tokens->list = NULL;
    tokens->count = tokens->room = 0;
}

bool token_is(const struct token *token, const char *text)
{
    return strlen(text) == token->length && memcmp(token->text, text, token->length) == 0 &&
           token->kind != TOKEN_STRING && token->kind != TOKEN_ATOM && token->kind != TOKEN_END;
}

const char *token_show(const struct token *token, char *buffer, size_t size)
{
    int length = token->length > 40 ? 40 : (int)token->length;
    if (token->kind == TOKEN_END)
        snprintf(buffer, size, "the end of the text");
    else if (token->kind == TOKEN_STRING)
        snprintf(buffer, size, "\"%.*s\"", length, token->text);
    else if (token->kind == TOKEN_ATOM)
        snprintf(buffer, size, "'#%.*s'", length, token->text);
    else
        snprintf(buffer, size, "'%.*s'", length, token->text);
    return buffer;
}

bool decimal_read(const char *text, size_t length, double *number)
{
    double scale = 0;
    *number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '.' && scale == 0) {
            scale = 1;
        } else if (text[i] >= '0' && text[i] <= '9') {
            *number = *number * 10 + (text[i] - '0');
            scale *= 10;
        } else {
            return false;
        }
    }
    if (scale > 0)
        *number /= scale;
    return true;
}

/* Tokenizes PTX into words, strings and marks. */
#include "engines/ptx/ptx_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct lexer {
    gordian_ptx *ptx;
    const char *at;
    uint32_t line;
};

gordian_status ptx_fail(const gordian_ptx *ptx, uint32_t token, gordian_error *error,
                        const char *format, ...)
{
    va_list arguments;
    uint32_t at = ptx->tokens[token].at, start = at;
    while (start > 0 && ptx->text.bytes[start - 1] != '\n')
        start--;
    va_start(arguments, format);
    fail_at_list(error, GORDIAN_STATUS_INPUT, ptx->tokens[token].line, at - start + 1, format,
                 arguments);
    va_end(arguments);
    return GORDIAN_STATUS_INPUT;
}

static bool is_ptx_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '$' || c == '%' || c == '.';
}

static bool push_token(struct lexer *lexer, const char *start, size_t length, enum ptx_kind kind)
{
    gordian_ptx *ptx = lexer->ptx;
    if (ptx->token_count == ptx->token_room &&
        !memory_grow(&ptx->memory, &ptx->tokens, &ptx->token_room, ptx->token_count + 1,
                     sizeof *ptx->tokens))
        return false;
    ptx->tokens[ptx->token_count++] = (struct ptx_token){
        .at = (uint32_t)(start - ptx->text.bytes),
        .length = (uint32_t)length,
        .line = lexer->line,
        .kind = kind,
    };
    return true;
}

/* Length of a word. An opcode is one word, including scopes and sizes: ".shared::cluster",
 * ".L2::128B". A directive ends before the next one: ".reg.b16" is two words. */
static size_t ptx_word_length(const char *at)
{
    size_t length = 0;
    if (*at == '.') {
        do
            length++;
        while (at[length] != '.' && is_ptx_word_byte(at[length]));
        return length;
    }
    for (;;) {
        while (is_ptx_word_byte(at[length]))
            length++;
        if (length == 0 || at[length] != ':' || at[length + 1] != ':' ||
            !is_ptx_word_byte(at[length + 2]))
            return length;
        length += 2;
    }
}

/* Skips a comment. False: it does not end. */
static bool skip_ptx_comment(struct lexer *lexer)
{
    if (lexer->at[1] == '/') {
        lexer->at += strcspn(lexer->at, "\n");
        return true;
    }
    for (lexer->at += 2; *lexer->at; lexer->at++) {
        if (lexer->at[0] == '*' && lexer->at[1] == '/') {
            lexer->at += 2;
            return true;
        }
        lexer->line += *lexer->at == '\n';
    }
    return false;
}

static gordian_status fail_here(struct lexer *lexer, const char *what, gordian_error *error)
{
    if (!push_token(lexer, lexer->at, 0, PTX_END))
        return fail_memory(error);
    return ptx_fail(lexer->ptx, (uint32_t)lexer->ptx->token_count - 1, error, "%s", what);
}

static gordian_status take_token(struct lexer *lexer, gordian_error *error)
{
    const char *at = lexer->at;
    size_t length = ptx_word_length(at);
    if (length > 0) {
        lexer->at += length;
        return push_token(lexer, at, length, PTX_WORD) ? GORDIAN_OK : fail_memory(error);
    }
    if (*at == '"') {
        length = strcspn(at + 1, "\"\n") + 1;
        if (at[length] != '"')
            return fail_here(lexer, "this string does not end on its line", error);
        lexer->at += length + 1;
        return push_token(lexer, at + 1, length - 1, PTX_STRING) ? GORDIAN_OK : fail_memory(error);
    }
    if (!strchr(",;:[](){}@!+-*/|&^~<>=?#", *at))
        return fail_here(lexer, "this character is not allowed in PTX", error);
    lexer->at++;
    return push_token(lexer, at, 1, PTX_MARK) ? GORDIAN_OK : fail_memory(error);
}

gordian_status ptx_lex(gordian_ptx *ptx, gordian_error *error)
{
    struct lexer lexer = {.ptx = ptx, .at = ptx->text.bytes, .line = 1};
    while (*lexer.at) {
        char c = *lexer.at;
        if (c == '\n' || c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v') {
            lexer.line += c == '\n';
            lexer.at++;
        } else if (c == '/' && (lexer.at[1] == '/' || lexer.at[1] == '*')) {
            uint32_t line = lexer.line;
            const char *start = lexer.at;
            if (!skip_ptx_comment(&lexer)) {
                lexer.at = start;
                lexer.line = line;
                return fail_here(&lexer, "this comment is not terminated", error);
            }
        } else
            TRY(take_token(&lexer, error));
    }
    /* Several, so that lookahead never leaves the list. */
    for (int i = 0; i < 4; i++)
        if (!push_token(&lexer, lexer.at, 0, PTX_END))
            return fail_memory(error);
    return GORDIAN_OK;
}

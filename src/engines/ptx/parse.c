/* Parses the top level of a PTX module: directives, variables, functions, source locations. */
#include "engines/ptx/ptx_internal.h"

#include "foundation/base/io/reader.h"

#include <stdio.h>
#include <string.h>

#define FILES_MAX 100000u

static bool token_starts_with(const gordian_ptx *ptx, uint32_t token, char c)
{
    return ptx->tokens[token].kind == PTX_WORD && *ptx_text(ptx, token) == c;
}

static bool statement_ended(const gordian_ptx *ptx, uint32_t token)
{
    return ptx->tokens[token].kind == PTX_END;
}

gordian_status ptx_skip_declaration(const gordian_ptx *ptx, uint32_t *next, gordian_error *error)
{
    uint32_t first = *next, braces = 0;
    for (; !statement_ended(ptx, *next); ++*next) {
        if (ptx_is_mark(ptx, *next, '{'))
            braces++;
        else if (ptx_is_mark(ptx, *next, '}') && braces-- == 0)
            break;
        else if (ptx_is_mark(ptx, *next, ';') && braces == 0) {
            ++*next;
            return GORDIAN_OK;
        }
    }
    return ptx_fail(ptx, first, error, "a ';' is missing after this declaration");
}

static void skip_line(const gordian_ptx *ptx, uint32_t *next)
{
    uint32_t line = ptx->tokens[*next].line;
    while (!statement_ended(ptx, *next) && ptx->tokens[*next].line == line)
        ++*next;
}

/* ------------------------------------------------------------------ places */

static bool number_at(const gordian_ptx *ptx, uint32_t token, uint32_t *number)
{
    uint64_t value;
    const char *why;
    const struct ptx_token *at = &ptx->tokens[token];
    if (at->kind != PTX_WORD || !parse_u64(ptx_text(ptx, token), at->length, &value, &why) ||
        value > UINT32_MAX)
        return false;
    *number = (uint32_t)value;
    return true;
}

/* Reads "FILE LINE COLUMN" at *next. */
static gordian_status read_three(const gordian_ptx *ptx, uint32_t *next, struct ptx_place *place,
                                 gordian_error *error)
{
    uint32_t column;
    if (!number_at(ptx, *next, &place->file) || !number_at(ptx, *next + 1, &place->line) ||
        !number_at(ptx, *next + 2, &column))
        return ptx_fail(ptx, *next, error,
                        "a source location has three numbers: file, line and column");
    *next += 3;
    return GORDIAN_OK;
}

/* `line`: the token of the line number. */
static gordian_status add_place(gordian_ptx *ptx, const struct ptx_place *place, uint32_t line,
                                uint32_t *index, gordian_error *error)
{
    if (!memory_grow(&ptx->memory, &ptx->places, &ptx->place_room, ptx->place_count + 1,
                     sizeof *ptx->places) ||
        !ptx_names_put(&ptx->latest, place->file, ptx_text(ptx, line), ptx->tokens[line].length,
                       (uint32_t)ptx->place_count))
        return fail_memory(error);
    *index = (uint32_t)ptx->place_count;
    ptx->places[ptx->place_count++] = *place;
    return GORDIAN_OK;
}

/* Reads a .loc directive. The location that code was inlined at is the latest one with the same
 * file and line: the location of the call precedes the code that it inlines. */
gordian_status ptx_read_loc(gordian_ptx *ptx, uint32_t *next, uint32_t *index, gordian_error *error)
{
    uint32_t first = *next, line = ptx->tokens[first].line;
    struct ptx_place place = {.function = PTX_NONE, .outer = PTX_NONE};
    ++*next;
    TRY(read_three(ptx, next, &place, error));
    while (!statement_ended(ptx, *next) && ptx->tokens[*next].line == line) {
        if (ptx_is(ptx, *next, "function_name") && !statement_ended(ptx, *next + 1)) {
            place.function = *next + 1;
            *next += 2;
        } else if (ptx_is(ptx, *next, "inlined_at")) {
            struct ptx_place outer = {0};
            uint32_t at = *next + 2;
            ++*next;
            TRY(read_three(ptx, next, &outer, error));
            place.outer =
                ptx_names_find(&ptx->latest, outer.file, ptx_text(ptx, at), ptx->tokens[at].length);
        } else {
            ++*next;
        }
    }
    return add_place(ptx, &place, first + 2, index, error);
}

gordian_status ptx_read_file(gordian_ptx *ptx, uint32_t *next, gordian_error *error)
{
    uint32_t number;
    if (!number_at(ptx, *next + 1, &number) || ptx->tokens[*next + 2].kind != PTX_STRING)
        return ptx_fail(ptx, *next, error, "expected a number and a name in quotes after .file");
    if (number >= FILES_MAX)
        return ptx_fail(ptx, *next + 1, error, "file numbers are at most %u", FILES_MAX - 1);
    if (!memory_grow_zeroed(&ptx->memory, &ptx->files, &ptx->file_room, number + 1,
                            sizeof *ptx->files))
        return fail_memory(error);
    ptx->files[number] = *next + 2;
    skip_line(ptx, next);
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ sections */

void ptx_read_string(const gordian_ptx *ptx, uint32_t name, char *buffer, size_t size)
{
    size_t used = 0;
    uint32_t at = ptx_names_find(&ptx->strings, 0, ptx_text(ptx, name), ptx->tokens[name].length);
    for (; at != PTX_NONE && used + 1 < size && !statement_ended(ptx, at); at++) {
        uint32_t value;
        if (ptx_is(ptx, at, ".b8") || ptx_is_mark(ptx, at, ','))
            continue;
        if (!number_at(ptx, at, &value) || value == 0 || value > 255)
            break;
        buffer[used++] = (char)value;
    }
    buffer[used] = '\0';
}

/* ------------------------------------------------------------------ functions */

/* Names of parameters: the last word before a '[', ',' or ')'. */
static gordian_status read_parameters(gordian_ptx *ptx, struct ptx_function *function,
                                      uint32_t *next, gordian_error *error)
{
    uint32_t open = *next, depth = 0, name = 0;
    for (; !statement_ended(ptx, *next); ++*next) {
        bool shut = ptx_is_mark(ptx, *next, ')'), comma = ptx_is_mark(ptx, *next, ',');
        if (ptx_is_mark(ptx, *next, '('))
            depth++;
        if (ptx_is_mark(ptx, *next, '{') || ptx_is_mark(ptx, *next, ';'))
            break;
        if (ptx->tokens[*next].kind == PTX_WORD && *ptx_text(ptx, *next) != '.' &&
            !ptx_is_mark(ptx, *next - 1, '['))
            name = *next;
        if (((comma && depth == 1) || (shut && depth == 1)) && name) {
            if (!memory_grow(&ptx->memory, &function->parameters, &function->parameter_room,
                             function->parameter_count + 1, sizeof *function->parameters))
                return fail_memory(error);
            function->parameters[function->parameter_count++] = name;
            name = 0;
        }
        if (shut && --depth == 0) {
            ++*next;
            return GORDIAN_OK;
        }
    }
    return ptx_fail(ptx, open, error, "a ')' is missing after these parameters");
}

/* Skips everything between the parameters and the body. */
static gordian_status skip_attributes(const gordian_ptx *ptx, uint32_t *next, gordian_error *error)
{
    while (!statement_ended(ptx, *next) && !ptx_is_mark(ptx, *next, '{') &&
           !ptx_is_mark(ptx, *next, ';')) {
        if (ptx_is(ptx, *next, ".pragma")) {
            TRY(ptx_skip_declaration(ptx, next, error));
            continue;
        }
        if (ptx_is_mark(ptx, *next, '}'))
            break;
        ++*next;
    }
    if (!ptx_is_mark(ptx, *next, '{') && !ptx_is_mark(ptx, *next, ';'))
        return ptx_fail(ptx, *next, error, "expected the function's body: '{', or ';'");
    return GORDIAN_OK;
}

/* Returns the entry of this function, which may have been declared before. */
static gordian_status find_declared_function(gordian_ptx *ptx, uint32_t name,
                                             struct ptx_function **out, gordian_error *error)
{
    const char *text = ptx_text(ptx, name);
    size_t length = ptx->tokens[name].length;
    uint32_t index = ptx_names_find(&ptx->function_names, 0, text, length);
    if (index == PTX_NONE) {
        index = (uint32_t)ptx->function_count;
        if (!memory_grow_zeroed(&ptx->memory, &ptx->functions, &ptx->function_room,
                                ptx->function_count + 1, sizeof *ptx->functions) ||
            !ptx_names_put(&ptx->function_names, 0, text, length, index))
            return fail_memory(error);
        ptx->function_count++;
        struct ptx_function *made = &ptx->functions[index];
        *made = (struct ptx_function){.name = name};
        made->label_names.memory = made->registers.memory = made->used.memory = ptx->memory;
    }
    *out = &ptx->functions[index];
    return GORDIAN_OK;
}

static gordian_status read_function(gordian_ptx *ptx, uint32_t *next, gordian_error *error)
{
    bool entry = ptx_is(ptx, *next, ".entry");
    struct ptx_function *function = NULL, results = {0};
    gordian_status status = GORDIAN_OK;
    ++*next;
    while (token_starts_with(ptx, *next, '.')) { /* .noreturn, .attribute(...) */
        uint32_t at = ++*next;
        if (ptx_is_mark(ptx, at, '('))
            status = read_parameters(ptx, &results, next, error);
    }
    if (status == GORDIAN_OK && ptx_is_mark(ptx, *next, '('))
        status = read_parameters(ptx, &results, next, error);
    memory_free(&ptx->memory, results.parameters);
    TRY(status);
    uint32_t name = *next;
    if (ptx->tokens[name].kind != PTX_WORD)
        return ptx_fail(ptx, name, error, "expected the function's name");
    TRY(find_declared_function(ptx, name, &function, error));
    ++*next;
    if (ptx_is_mark(ptx, *next, '(')) {
        function->parameter_count = 0;
        TRY(read_parameters(ptx, function, next, error));
    }
    TRY(skip_attributes(ptx, next, error));
    if (ptx_is_mark(ptx, (*next)++, ';'))
        return GORDIAN_OK;
    if (function->defined)
        return ptx_fail(ptx, name, error, "a second body for '%.*s'", (int)ptx->tokens[name].length,
                        ptx_text(ptx, name));
    function->defined = true;
    function->entry = entry;
    return ptx_read_body(ptx, function, next, error);
}

/* ------------------------------------------------------------------ the module */

static gordian_status read_statement(gordian_ptx *ptx, uint32_t *next, gordian_error *error)
{
    static const char *const linking[] = {".visible", ".extern", ".weak", ".common", NULL};
    static const char *const whole_lines[] = {".version", ".target", ".address_size", NULL};
    static const char *const variables[] = {
        ".global",  ".const",  ".shared", ".local", ".param", ".tex",  ".samplerref",
        ".surfref", ".texref", ".pragma", ".alias", ".reg",   ".sreg", NULL};
    uint32_t token = *next, place;
    if (ptx_is_any(ptx, token, linking)) {
        ++*next;
        return GORDIAN_OK;
    }
    if (ptx_is_any(ptx, token, whole_lines)) {
        skip_line(ptx, next);
        return GORDIAN_OK;
    }
    if (ptx_is(ptx, token, ".entry") || ptx_is(ptx, token, ".func"))
        return read_function(ptx, next, error);
    if (ptx_is(ptx, token, ".file"))
        return ptx_read_file(ptx, next, error);
    if (ptx_is(ptx, token, ".loc"))
        return ptx_read_loc(ptx, next, &place, error);
    if (ptx_is(ptx, token, ".section")) {
        uint32_t first = *next, braces = 0;
        bool strings = ptx_is(ptx, *next + 1, ".debug_str");
        for (++*next; !statement_ended(ptx, *next); ++*next) {
            if (ptx_is_mark(ptx, *next, '{')) {
                braces++;
            } else if (ptx_is_mark(ptx, *next, '}') && --braces == 0) {
                ++*next;
                return GORDIAN_OK;
            } else if (strings && token_starts_with(ptx, *next, '$') &&
                       ptx_is_mark(ptx, *next + 1, ':') &&
                       ptx_names_find(&ptx->strings, 0, ptx_text(ptx, *next),
                                      ptx->tokens[*next].length) == PTX_NONE &&
                       !ptx_names_put(&ptx->strings, 0, ptx_text(ptx, *next),
                                      ptx->tokens[*next].length, *next + 2)) {
                return fail_memory(error);
            }
            if (braces == UINT32_MAX)
                break;
        }
        return ptx_fail(ptx, first, error, "this section has no braces");
    }
    if (ptx_is_any(ptx, token, variables))
        return ptx_skip_declaration(ptx, next, error);
    return ptx_fail(ptx, token, error,
                    "expected a directive (.entry, .func, .global, ...), not '%.*s'",
                    (int)(ptx->tokens[token].length < 40 ? ptx->tokens[token].length : 40),
                    ptx_text(ptx, token));
}

/* Takes ownership of the text, also on failure. */
static gordian_status read_module(gordian_ptx **out, struct text *text, gordian_error *error)
{
    gordian_allocator from = text->memory;
    gordian_ptx *ptx = memory_zeroed(&from, sizeof *ptx);
    if (!ptx) {
        text_free(text);
        return fail_memory(error);
    }
    ptx->memory = ptx->function_names.memory = ptx->strings.memory = ptx->latest.memory = from;
    ptx->text = *text;
    gordian_status status = ptx_lex(ptx, error);
    uint32_t next = 0;
    while (status == GORDIAN_OK && !statement_ended(ptx, next))
        status = read_statement(ptx, &next, error);
    size_t length;
    if (status == GORDIAN_OK && !gordian_ptx_entry(ptx, 0, &length))
        status = ptx_fail(ptx, next, error, "there is no kernel here: no .entry with a body");
    if (status == GORDIAN_OK)
        *out = ptx;
    else
        gordian_ptx_close(ptx);
    return status;
}

gordian_status gordian_ptx_open(gordian_ptx **out, const char *text, size_t size,
                                const gordian_allocator *allocator, gordian_error *error)
{
    struct text copy;
    *out = NULL;
    TRY(text_copy(&copy, "", text, size, allocator, error));
    return read_module(out, &copy, error);
}

gordian_status gordian_ptx_read(gordian_ptx **out, const gordian_source *source,
                                const gordian_allocator *allocator, gordian_error *error)
{
    struct text text;
    *out = NULL;
    TRY(text_read(&text, "", source, allocator, error));
    return read_module(out, &text, error);
}

void gordian_ptx_close(gordian_ptx *ptx)
{
    if (!ptx)
        return;
    for (size_t i = 0; i < ptx->function_count; i++) {
        struct ptx_function *function = &ptx->functions[i];
        memory_free_all(&ptx->memory, function->code, function->labels, function->targets,
                        function->parents, function->parameters);
        ptx_names_free(&function->label_names);
        ptx_names_free(&function->registers);
        ptx_names_free(&function->used);
    }
    memory_free_all(&ptx->memory, ptx->functions, ptx->tokens, ptx->places, ptx->files,
                    ptx->lists.letters, ptx->lists.lines, ptx->lists.notes);
    text_free(&ptx->text);
    ptx_names_free(&ptx->function_names);
    ptx_names_free(&ptx->strings);
    ptx_names_free(&ptx->latest);
    gordian_allocator memory = ptx->memory;
    memory_free(&memory, ptx);
}

const char *gordian_ptx_entry(const gordian_ptx *ptx, size_t index, size_t *length)
{
    for (size_t i = 0; i < ptx->function_count; i++) {
        const struct ptx_function *function = &ptx->functions[i];
        if (!function->entry || index-- > 0)
            continue;
        *length = ptx->tokens[function->name].length;
        return ptx_text(ptx, function->name);
    }
    return NULL;
}

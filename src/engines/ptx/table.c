/* The table of units: patterns of instructions with their letters. The first match counts. */
#include "engines/ptx/ptx_internal.h"
#include "foundation/base/io/reader.h"

#include <string.h>

#define LETTERS_MAX 1024u /* of an instruction */

struct line {
    char *pattern; /* "ld.*"; the letters follow after its NUL */
    const char *letters;
};

struct gordian_ptx_table {
    gordian_allocator memory;
    struct line *lines;
    size_t count, room;
};

/* '*' matches any characters, including none. */
static bool pattern_matches(const char *pattern, const char *name, size_t length)
{
    const char *star = NULL;
    size_t at = 0, back = 0;
    while (at < length) {
        if (*pattern == '*') {
            star = pattern++;
            back = at;
        } else if (*pattern == name[at]) {
            pattern++;
            at++;
        } else if (star) {
            pattern = star + 1;
            at = ++back;
        } else {
            return false;
        }
    }
    while (*pattern == '*')
        pattern++;
    return *pattern == '\0';
}

const char *ptx_table_find(const gordian_ptx_table *table, const char *name, size_t length)
{
    for (size_t i = 0; i < table->count; i++)
        if (pattern_matches(table->lines[i].pattern, name, length))
            return table->lines[i].letters;
    return NULL;
}

gordian_status gordian_ptx_letters(const char *text, size_t length, size_t most, char *letters,
                                   size_t *count, gordian_error *error)
{
    *count = 0;
    for (size_t i = 0; i < length;) {
        char letter = text[i++];
        uint64_t times = 1;
        size_t digits = i;
        const char *why;
        if (letter < 'A' || letter > 'Z')
            return fail(error, GORDIAN_STATUS_INPUT, "units are letters A to Z, not '%c'",
                        letter > ' ' && letter < 127 ? letter : '?');
        while (i < length && text[i] >= '0' && text[i] <= '9')
            i++;
        if (i > digits && (!parse_u64(text + digits, i - digits, &times, &why) || times == 0))
            return fail(error, GORDIAN_STATUS_INPUT, "'%c%.*s': the repeat count is 0 or too large",
                        letter, (int)(i - digits < 20 ? i - digits : 20), text + digits);
        if (times > most - *count)
            return fail(error, GORDIAN_STATUS_INPUT, "more than %zu letters", most);
        if (letters)
            memset(letters + *count, letter, (size_t)times);
        *count += (size_t)times;
    }
    return GORDIAN_OK;
}

/* Inserts a line before line `at`. */
static gordian_status insert_line(gordian_ptx_table *table, size_t at, const char *pattern,
                                  size_t pattern_length, const char *text, size_t length,
                                  gordian_error *error)
{
    char letters[LETTERS_MAX];
    size_t count = 0;
    bool none = length == 1 && *text == '-';
    if (length == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "expected letters of units, or '-' for none");
    if (pattern_length == 0)
        return fail(error, GORDIAN_STATUS_INPUT, "an empty pattern");
    TRY(none ? GORDIAN_OK
             : gordian_ptx_letters(text, length, sizeof letters, letters, &count, error));
    char *made = memory_alloc(&table->memory, pattern_length + count + 2);
    if (!made || !memory_grow(&table->memory, &table->lines, &table->room, table->count + 1,
                              sizeof *table->lines)) {
        memory_free(&table->memory, made);
        return fail_memory(error);
    }
    memcpy(made, pattern, pattern_length);
    made[pattern_length] = '\0';
    memcpy(made + pattern_length + 1, letters, count);
    made[pattern_length + 1 + count] = '\0';
    memmove(&table->lines[at + 1], &table->lines[at], (table->count - at) * sizeof *table->lines);
    table->lines[at] = (struct line){made, made + pattern_length + 1};
    table->count++;
    return GORDIAN_OK;
}

gordian_status gordian_ptx_table_add(gordian_ptx_table *table, const char *pattern,
                                     const char *letters, gordian_error *error)
{
    return insert_line(table, 0, pattern, strlen(pattern), letters, strlen(letters), error);
}

gordian_status gordian_ptx_table_read(gordian_ptx_table *table, const gordian_source *source,
                                      gordian_error *error)
{
    struct reader reader;
    size_t at = 0;
    gordian_status status = reader_open(&reader, source, &table->memory, error);
    if (status != GORDIAN_OK)
        return status;
    while ((status = reader_next(&reader, error)) == GORDIAN_OK) {
        if (reader.word_count != 2) {
            status = fail_at(error, GORDIAN_STATUS_INPUT, reader.line, reader.words[0].column,
                             "expected a pattern and its letters: two words");
            break;
        }
        gordian_error why = {0};
        status = insert_line(table, at++, reader.words[0].text, reader.words[0].length,
                             reader.words[1].text, reader.words[1].length, &why);
        if (status == GORDIAN_STATUS_INPUT)
            fail_at(error, status, reader.line, reader.words[1].column, "%s", why.message);
        else if (status != GORDIAN_OK)
            fail_memory(error);
        if (status != GORDIAN_OK)
            break;
    }
    reader_close(&reader);
    return status == GORDIAN_STATUS_END ? GORDIAN_OK : status;
}

/* The built-in table as a source; the context is the number of bytes read. */
static ptrdiff_t read_built_in(void *context, char *buffer, size_t size)
{
    size_t *next = context, left = ptx_units_size - *next;
    if (size > left)
        size = left;
    memcpy(buffer, ptx_units + *next, size);
    *next += size;
    return (ptrdiff_t)size;
}

gordian_status gordian_ptx_table_open(gordian_ptx_table **out, const gordian_allocator *memory,
                                      gordian_error *error)
{
    gordian_allocator from = memory_allocator(memory);
    gordian_ptx_table *table = memory_zeroed(&from, sizeof *table);
    *out = NULL;
    if (!table)
        return fail_memory(error);
    table->memory = from;
    size_t next = 0;
    gordian_source source = {read_built_in, &next};
    gordian_status status = gordian_ptx_table_read(table, &source, error);
    if (status == GORDIAN_OK)
        *out = table;
    else
        gordian_ptx_table_close(table);
    return status;
}

void gordian_ptx_table_close(gordian_ptx_table *table)
{
    if (!table)
        return;
    for (size_t i = 0; i < table->count; i++)
        memory_free(&table->memory, table->lines[i].pattern);
    memory_free(&table->memory, table->lines);
    gordian_allocator memory = table->memory;
    memory_free(&memory, table);
}

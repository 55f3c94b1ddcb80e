#include "base/reader.h"

#include "base/error.h"
#include "base/memory.h"

#include <errno.h>
#include <string.h>

#define BUFFER_START (128u << 10)

/* Everything else is part of a word. A newline ends every line in the buffer: the last
 * one gets its own if the text lacks it. */
enum byte_class { WORD = 0, BLANK, END };

static const unsigned char class_of[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = END, ['#'] = END, ['\0'] = END,
};

gordian_status reader_open(struct reader *reader, const gordian_source *source,
                           const gordian_allocator *memory, gordian_error *error)
{
    *reader = (struct reader){.memory = *memory, .source = *source};
    if (!memory_grow(memory, &reader->buffer, &reader->room, BUFFER_START, 1))
        return fail_memory(error);
    return GORDIAN_OK;
}

void reader_close(struct reader *reader)
{
    memory_free(&reader->memory, reader->buffer);
    memory_free(&reader->memory, reader->words);
    reader->buffer = NULL;
    reader->words = NULL;
    reader->room = reader->word_room = reader->word_count = reader->start = reader->end = 0;
    reader->at_end = true;
}

/* Reads on behind the unread bytes, which move to the front of the buffer first. One byte
 * always stays free for a newline of our own. */
static gordian_status refill_buffer(struct reader *reader, gordian_error *error)
{
    size_t unread = reader->end - reader->start;
    if (unread > READER_LINE_MAX)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line + 1, READER_LINE_MAX + 1,
                       "a line of more than %u bytes", READER_LINE_MAX);
    if (reader->start > 0) {
        memmove(reader->buffer, reader->buffer + reader->start, unread);
        reader->start = 0;
        reader->end = unread;
    }
    if (reader->room - unread < 2 &&
        !memory_grow(&reader->memory, &reader->buffer, &reader->room, unread * 2, 1))
        return fail_memory(error);
    size_t space = reader->room - unread - 1;
    ptrdiff_t count = reader->source.read(reader->source.context, reader->buffer + unread, space);
    if (count < 0)
        return fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
    if ((size_t)count > space)
        return fail(error, GORDIAN_STATUS_IO, "reading failed: the source wrote beyond its buffer");
    reader->end += (size_t)count;
    reader->at_end = count == 0;
    return GORDIAN_OK;
}

/* Finds the end of the line that starts at `start`, reading as much as it takes. */
static gordian_status find_line(struct reader *reader, char **newline, gordian_error *error)
{
    size_t looked_at = 0; /* bytes of this line known to hold no newline */
    for (;;) {
        size_t unread = reader->end - reader->start;
        char *line = reader->buffer + reader->start;
        *newline = unread > looked_at ? memchr(line + looked_at, '\n', unread - looked_at) : NULL;
        if (*newline)
            break;
        looked_at = unread;
        if (reader->at_end) {
            if (unread == 0)
                return GORDIAN_STATUS_END;
            *newline = line + unread;
            **newline = '\n';
            reader->end++;
            break;
        }
        gordian_status status = refill_buffer(reader, error);
        if (status != GORDIAN_OK)
            return status;
    }
    if (*newline - (reader->buffer + reader->start) > (ptrdiff_t)READER_LINE_MAX)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line + 1, READER_LINE_MAX + 1,
                       "a line of more than %u bytes", READER_LINE_MAX);
    return GORDIAN_OK;
}

/* Splits line[0..] up to its newline or comment into words. */
static gordian_status split_words(struct reader *reader, const char *line, const char *newline,
                                  gordian_error *error)
{
    const unsigned char *at = (const unsigned char *)line;
    size_t count = 0;
    for (;;) {
        while (class_of[*at] == BLANK)
            at++;
        if (class_of[*at] == END)
            break;
        const unsigned char *start = at;
        do {
            at++;
        } while (class_of[*at] == WORD);
        if (count == reader->word_room &&
            !memory_grow(&reader->memory, &reader->words, &reader->word_room, count + 1,
                         sizeof *reader->words))
            return fail_memory(error);
        reader->words[count++] = (gordian_word){
            .text = (const char *)start,
            .length = (uint32_t)(at - start),
            .column = (uint32_t)((const char *)start - line) + 1,
        };
    }
    reader->word_count = count;
    const char *rest = (const char *)at;
    const char *nul = rest < newline ? memchr(rest, '\0', (size_t)(newline - rest)) : NULL;
    if (nul)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line, (uint64_t)(nul - line) + 1,
                       "a NUL byte: this is not text");
    return GORDIAN_OK;
}

gordian_status reader_next(struct reader *reader, gordian_error *error)
{
    do {
        char *newline;
        gordian_status status = find_line(reader, &newline, error);
        if (status != GORDIAN_OK)
            return status;
        const char *line = reader->buffer + reader->start;
        reader->start = (size_t)(newline + 1 - reader->buffer);
        reader->line++;
        status = split_words(reader, line, newline, error);
        if (status != GORDIAN_OK)
            return status;
    } while (reader->word_count == 0);
    return GORDIAN_OK;
}

bool word_is(const gordian_word *word, const char *text)
{
    size_t length = strlen(text);
    return word->length == length && memcmp(word->text, text, length) == 0;
}

void word_split(const gordian_word *word, gordian_word *name, gordian_word *value)
{
    const char *equals = memchr(word->text, '=', word->length);
    *name = *word;
    *value = (gordian_word){0};
    if (!equals)
        return;
    name->length = (uint32_t)(equals - word->text);
    value->text = equals + 1;
    value->length = word->length - name->length - 1;
    value->column = word->column + name->length + 1;
}

static bool all_digits(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return length > 0;
}

bool parse_u64(const char *text, size_t length, uint64_t *value, const char **why)
{
    if (!all_digits(text, length)) {
        bool negative = length > 1 && text[0] == '-' && all_digits(text + 1, length - 1);
        *why = length == 0 ? "is empty" : negative ? "is negative" : "is not a whole number";
        return false;
    }
    uint64_t number = 0;
    for (size_t i = 0; i < length; i++) {
        if (__builtin_mul_overflow(number, 10, &number) ||
            __builtin_add_overflow(number, (uint64_t)(text[i] - '0'), &number)) {
            *why = "is too large";
            return false;
        }
    }
    *value = number;
    return true;
}

bool parse_i64(const char *text, size_t length, int64_t *value, const char **why)
{
    bool negative = length > 1 && text[0] == '-';
    uint64_t magnitude;
    if (negative && !all_digits(text + 1, length - 1)) {
        *why = "is not a whole number";
        return false;
    }
    if (!parse_u64(text + negative, length - negative, &magnitude, why)) {
        if (negative)
            *why = "is too small";
        return false;
    }
    if (magnitude > (uint64_t)INT64_MAX + negative) {
        *why = negative ? "is too small" : "is too large";
        return false;
    }
    *value = negative ? (int64_t)(0 - magnitude) : (int64_t)magnitude;
    return true;
}

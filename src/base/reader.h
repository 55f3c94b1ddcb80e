/* The one text reader: lines of words from a stream, in bounded memory. Blanks
 * are space, tab and carriage return; '#' starts a comment; lines without words
 * are passed over. A NUL byte or a line over READER_LINE_MAX bytes is an error with its
 * place. */
#ifndef GORDIAN_BASE_READER_H
#define GORDIAN_BASE_READER_H

#include <gordian/gordian.h>

#define READER_LINE_MAX (16u << 20)

struct reader {
    gordian_allocator memory;
    gordian_source source;
    char *buffer;
    size_t room, start, end; /* unread bytes: buffer[start..end) */
    bool at_end;
    uint64_t line;       /* number of the current line, from 1 */
    gordian_word *words; /* words of the current line */
    size_t word_room, word_count;
};

gordian_status reader_open(struct reader *reader, const gordian_source *source,
                           const gordian_allocator *memory, gordian_error *error);
void reader_close(struct reader *reader);
/* The next line with words; GORDIAN_STATUS_END after the last. Words stay valid until
 * the next call. */
gordian_status reader_next(struct reader *reader, gordian_error *error);

bool word_is(const gordian_word *word, const char *text);

/* Splits "name=value" at the first '='; value.text NULL if there is none. */
void word_split(const gordian_word *word, gordian_word *name, gordian_word *value);

/* A decimal number without sign, or with a '-' for the signed one; false and
 * *why ("is not a number", "is too large", ...) otherwise. */
bool parse_u64(const char *text, size_t length, uint64_t *value, const char **why);
bool parse_i64(const char *text, size_t length, int64_t *value, const char **why);

#endif

/* The one text reader: lines of words from a stream, in bounded memory. Blanks
 * are space, tab and carriage return; '#' starts a comment; lines without words
 * are passed over. A NUL byte or a line over READER_LINE_MAX bytes is an error with its
 * place.
 *
 * The text is read in blocks. Of what has come, the ends of the next lines and the edges of their
 * words are found many bytes at a time (foundation/base/io/scan.h): they are *ahead*. Lines that
 * this does not suit (very long, with a NUL byte, not complete yet) are taken one by one. Who wants
 * to know what lies ahead, to have the memory it will need fetched in time, looks at it
 * (reader_look). Behind every word READER_SLACK bytes can be read. */
#pragma once

#include <gordian/gordian.h>

#define READER_LINE_MAX (16u << 20)
/* What foundation/base/io/scan.h looks at at once; its intrinsics are long to compile, and for
 * reader.c alone. */
#define READER_SLACK 64
/* What is looked ahead at most. */
#define READER_AHEAD_LINES 64
#define READER_AHEAD_EDGES 1024
#define READER_BEYOND      7 /* edges behind the last: UINT32_MAX */

/* Lines found but not taken yet. Places are offsets from `text`. */
struct reader_ahead {
    const char *text;
    uint32_t line, line_count;                             /* the next one; all */
    uint32_t edge;                                         /* the first of the next line */
    uint32_t ends[2 * READER_SLACK + READER_AHEAD_LINES];  /* of lines: where the newline is */
    uint32_t edges[2 * READER_SLACK + READER_AHEAD_EDGES]; /* where words start and end, in turn */
    bool equals;                                           /* there may be an '=' in one of them */
    uint64_t serial; /* how many times lines have been looked for */
};

struct reader {
    gordian_allocator memory;
    gordian_source source;
    char *buffer;
    size_t room, start, end; /* unread bytes: buffer[start..end) */
    bool at_end;
    uint64_t line;       /* number of the current line, from 1 */
    gordian_word *words; /* words of the current line */
    size_t word_room, word_count;
    bool equals; /* there may be an '=' in one of them */
    struct reader_ahead *ahead;
};

gordian_status reader_open(struct reader *reader, const gordian_source *source,
                           const gordian_allocator *memory, gordian_error *error);
void reader_close(struct reader *reader);
/* The next line with words; GORDIAN_STATUS_END after the last. Words stay valid until
 * the next call. */
gordian_status reader_next(struct reader *reader, gordian_error *error);

/* Begins anew: what was read and not taken is forgotten, and line `line` + 1 comes next. */
void reader_restart(struct reader *reader, uint64_t line);

/* Finds lines in text[0..limit), as many as suit; READER_SLACK bytes can be read behind it. */
void reader_scan(struct reader_ahead *ahead, const char *text, size_t limit);
/* Looks ahead, unless lines lie ahead already; false: none do. */
bool reader_look(struct reader *reader);
/* Passes the next `count` of the lines ahead by, unread: `edge` is the first of the one behind
 * them. */
static inline void reader_pass(struct reader *reader, uint32_t count, uint32_t edge)
{
    reader->ahead->edge = edge;
    reader->ahead->line += count;
    reader->line += count;
}

/* Ends a word of a line ahead, which will not be read again, with a NUL. */
static inline const char *reader_text(const struct reader *reader, const char *word,
                                      uint32_t length)
{
    reader->buffer[word - reader->buffer + length] = '\0';
    return word;
}

/* Where a line ahead begins. */
static inline uint32_t reader_begin(const struct reader_ahead *ahead, uint32_t line)
{
    return line == 0 ? 0 : ahead->ends[line - 1] + 1;
}

bool word_is(const gordian_word *word, const char *text);

/* Splits "name=value" at the first '='; value.text NULL if there is none. */
void word_split(const gordian_word *word, gordian_word *name, gordian_word *value);

/* A decimal number without sign, or with a '-' for the signed one; false and
 * *why ("is not a number", "is too large", ...) otherwise. */
bool parse_u64(const char *text, size_t length, uint64_t *value, const char **why);
bool parse_i64(const char *text, size_t length, int64_t *value, const char **why);

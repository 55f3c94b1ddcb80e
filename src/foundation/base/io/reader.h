/* Text reader: lines of words from a stream, in bounded memory. Blanks are space, tab and carriage
 * return; '#' starts a comment; lines without words are skipped. A NUL byte, or a line of more than
 * READER_LINE_MAX bytes, is an error with its position.
 *
 * The text is read in blocks. A scan *ahead* finds the ends of the next lines and the edges of
 * their words many bytes at a time (foundation/base/io/scan.h). Other lines (very long, with a NUL
 * byte, incomplete) are processed one by one. reader_scan_ahead shows the lines ahead, so that the
 * caller can prefetch memory. READER_SLACK bytes behind every word are readable. */
#pragma once

#include <gordian/gordian.h>

#define READER_LINE_MAX (16u << 20)
/* The bytes that foundation/base/io/scan.h processes per step. Defined here because its intrinsics
 * are slow to compile. */
#define READER_SLACK 64
/* Limits of a scan ahead. */
#define READER_AHEAD_LINES 64
#define READER_AHEAD_EDGES 1024
#define READER_BEYOND      7 /* sentinels behind the last edge: UINT32_MAX */

/* Lines that were found and not taken yet. Offsets are relative to `text`. */
struct reader_ahead {
    const char *text;
    uint32_t line, line_count; /* the next line, and the number of lines */
    uint32_t edge;             /* the first edge of the next line */
    uint32_t ends[2 * READER_SLACK + READER_AHEAD_LINES];  /* offset of the newline of each line */
    uint32_t edges[2 * READER_SLACK + READER_AHEAD_EDGES]; /* of words, in turn */
    bool equals;                                           /* one of the lines may have an '=' */
    uint64_t serial;                                       /* number of scans so far */
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
    bool equals; /* one of them may have an '=' */
    struct reader_ahead *ahead;
};

gordian_status reader_open(struct reader *reader, const gordian_source *source,
                           const gordian_allocator *memory, gordian_error *error);
void reader_close(struct reader *reader);
/* Reads the next line that has words; GORDIAN_STATUS_END after the last. Words are valid until the
 * next call. */
gordian_status reader_next(struct reader *reader, gordian_error *error);

/* Discards what was read. The next line gets the number `line` + 1. */
void reader_restart(struct reader *reader, uint64_t line);

/* Scans text[0..limit) for lines. READER_SLACK bytes behind it must be readable. */
void reader_scan(struct reader_ahead *ahead, const char *text, size_t limit);
/* Scans ahead unless lines are ready; false: none are. */
bool reader_scan_ahead(struct reader *reader);
/* Skips the next `count` lines that were scanned ahead. `edge` is the first edge of the line after
 * them. */
static inline void reader_pass(struct reader *reader, uint32_t count, uint32_t edge)
{
    reader->ahead->edge = edge;
    reader->ahead->line += count;
    reader->line += count;
}

/* Ends a word of a line scanned ahead with a NUL. The line must not be read again. */
static inline const char *reader_text(const struct reader *reader, const char *word,
                                      uint32_t length)
{
    reader->buffer[word - reader->buffer + length] = '\0';
    return word;
}

/* Offset at which a line scanned ahead begins. */
static inline uint32_t reader_begin(const struct reader_ahead *ahead, uint32_t line)
{
    return line == 0 ? 0 : ahead->ends[line - 1] + 1;
}

bool word_is(const gordian_word *word, const char *text);

/* Splits "name=value" at the first '='. value.text is NULL if there is none. */
void word_split(const gordian_word *word, gordian_word *name, gordian_word *value);

/* Parses a decimal number; the signed version accepts '-'. False: *why has the reason ("is not a
 * number", "is too large", ...). */
bool parse_u64(const char *text, size_t length, uint64_t *value, const char **why);
bool parse_i64(const char *text, size_t length, int64_t *value, const char **why);

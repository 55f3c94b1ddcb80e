#include "foundation/base/io/reader.h"

#include "foundation/base/error.h"
#include "foundation/base/io/scan.h"
#include "foundation/base/memory.h"

#include <errno.h>
#include <string.h>

#define BUFFER_START (128u << 10)
/* Lines are scanned ahead within this many bytes. A longer line is read by itself. */
#define AHEAD_BYTES (64u << 10)
/* Words and lines that are extracted per step of SCAN_BYTES, see scan_flatten. */
#define EDGE_STEP 12
#define LINE_STEP 6

_Static_assert(READER_SLACK == SCAN_BYTES,
               "what can be read behind a word is what is looked at at once");

/* All other bytes are part of a word. Every line in the buffer ends in a newline; one is added
 * after the last line if needed. */
enum byte_class { WORD = 0, BLANK, END };

static const unsigned char class_of[256] = {
    [' '] = BLANK, ['\t'] = BLANK, ['\r'] = BLANK, ['\n'] = END, ['#'] = END, ['\0'] = END,
};

gordian_status reader_open(struct reader *reader, const gordian_source *source,
                           const gordian_allocator *memory, gordian_error *error)
{
    *reader = (struct reader){.memory = *memory, .source = *source};
    reader->ahead = memory_zeroed(memory, sizeof *reader->ahead);
    if (!reader->ahead || !memory_grow(memory, &reader->buffer, &reader->room, BUFFER_START, 1)) {
        reader_close(reader);
        return fail_memory(error);
    }
    return GORDIAN_OK;
}

void reader_close(struct reader *reader)
{
    memory_free_all(&reader->memory, reader->buffer, reader->words, reader->ahead);
    reader->buffer = NULL;
    reader->words = NULL;
    reader->ahead = NULL;
    reader->room = reader->word_room = reader->word_count = reader->start = reader->end = 0;
    reader->at_end = true;
}

void reader_restart(struct reader *reader, uint64_t line)
{
    reader->start = reader->end = 0;
    reader->ahead->line = reader->ahead->line_count = 0;
    reader->at_end = false;
    reader->line = line;
}

/* ---- single lines */

/* Reads more bytes, after moving the unread ones to the front of the buffer. Leaves capacity for an
 * added newline and the slack. */
static gordian_status refill_buffer(struct reader *reader, gordian_error *error)
{
    size_t unread = reader->end - reader->start;
    if (unread > READER_LINE_MAX)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line + 1, READER_LINE_MAX + 1,
                       "a line is longer than %u bytes", READER_LINE_MAX);
    if (reader->start > 0) {
        memmove(reader->buffer, reader->buffer + reader->start, unread);
        reader->start = 0;
        reader->end = unread;
    }
    if (reader->room - unread < 2 + READER_SLACK &&
        !memory_grow(&reader->memory, &reader->buffer, &reader->room, unread * 2 + READER_SLACK, 1))
        return fail_memory(error);
    size_t space = reader->room - unread - 1 - READER_SLACK;
    ptrdiff_t count = reader->source.read(reader->source.context, reader->buffer + unread, space);
    if (count < 0)
        return fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
    if ((size_t)count > space)
        return fail(error, GORDIAN_STATUS_IO, "reading failed: the source wrote beyond its buffer");
    reader->end += (size_t)count;
    reader->at_end = count == 0;
    memset(reader->buffer + reader->end, 0, READER_SLACK);
    return GORDIAN_OK;
}

/* Finds the end of the line at `start`, and reads as much as that takes. */
static gordian_status find_line(struct reader *reader, char **newline, gordian_error *error)
{
    size_t looked_at = 0; /* bytes of this line without a newline */
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
        TRY(refill_buffer(reader, error));
    }
    if (*newline - (reader->buffer + reader->start) > (ptrdiff_t)READER_LINE_MAX)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line + 1, READER_LINE_MAX + 1,
                       "a line is longer than %u bytes", READER_LINE_MAX);
    return GORDIAN_OK;
}

static inline bool add_word(struct reader *reader, size_t count, const char *line,
                            const char *start, const char *end)
{
    if (count == reader->word_room &&
        !memory_grow(&reader->memory, &reader->words, &reader->word_room, count + 1,
                     sizeof *reader->words))
        return false;
    reader->words[count] = (gordian_word){
        .text = start,
        .length = (uint32_t)(end - start),
        .column = (uint32_t)(start - line) + 1,
    };
    return true;
}

/* Reads the next line, whatever its length. */
static gordian_status take_alone(struct reader *reader, gordian_error *error)
{
    char *newline;
    TRY(find_line(reader, &newline, error));
    const char *line = reader->buffer + reader->start;
    reader->start = (size_t)(newline + 1 - reader->buffer);
    reader->line++;
    reader->equals = true;
    /* Split the line, up to its newline or comment, into words. */
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
        if (!add_word(reader, count++, line, (const char *)start, (const char *)at))
            return fail_memory(error);
    }
    reader->word_count = count;
    const char *rest = (const char *)at;
    const char *nul = rest < newline ? memchr(rest, '\0', (size_t)(newline - rest)) : NULL;
    if (nul)
        return fail_at(error, GORDIAN_STATUS_INPUT, reader->line, (uint64_t)(nul - line) + 1,
                       "NUL byte: this is not a text file");
    return GORDIAN_OK;
}

/* ---- lines scanned ahead */

static uint64_t bits_below(uint64_t bit)
{
    return bit - 1;
}

static uint64_t lowest_bit(uint64_t bits)
{
    return bits & (~bits + 1);
}

/* Returns the word bits without those in comments. *inside: the text begins in a comment, and on
 * return whether it ends in one. */
static uint64_t drop_comments(const struct scan *scan, bool *inside)
{
    uint64_t word = scan->word, comment = scan->comment;
    uint64_t from = *inside ? 1 : lowest_bit(comment);
    while (from) {
        uint64_t end = lowest_bit(scan->newline & ~bits_below(from));
        *inside = end == 0;
        if (end == 0)
            return word & bits_below(from);
        word &= ~(bits_below(end) & ~bits_below(from));
        from = lowest_bit(comment & ~bits_below(end));
    }
    return word;
}

/* Clears all bits at and above byte `count`. */
static void cut_scan(struct scan *scan, uint64_t below)
{
    scan->word &= below;
    scan->newline &= below;
    scan->comment &= below;
    scan->equals &= below;
}

/* Writes the offsets at which words begin and end, and returns their number. *before: the last byte
 * was part of a word. *owed: a word ended at the very last byte, which is left to the next call.
 * Most words are one byte apart. In that case the beginning of a word gives the end of the previous
 * one. */
static inline uint32_t find_edges(uint64_t word, uint32_t at, uint32_t *edges, uint64_t *before,
                                  uint64_t *owed)
{
    uint64_t shifted = word << 1 | *before, starts = word & ~shifted, ends = shifted & ~word;
    uint64_t ends_before = ends << 1 | *owed;
    bool first = *owed;
    *before = word >> 63;
    *owed = ends >> 63;
    if (ends_before == starts)
        return scan_flatten_pairs(starts, at, edges, EDGE_STEP);
    if (first)
        *edges++ = at - 1;
    return first + scan_flatten((starts | ends) & (UINT64_MAX >> *owed), at, edges, EDGE_STEP);
}

/* Scans the bytes from `at` on, up to the limit and the first NUL. */
static inline struct scan scan_part(const char *text, size_t at, size_t limit)
{
    struct scan scan = {0};
    if (at >= limit)
        return scan;
    scan = scan_text(text + at);
    if (limit - at < SCAN_BYTES) {
        uint64_t below = bits_below(UINT64_C(1) << (limit - at));
        scan.nul &= below;
        cut_scan(&scan, below);
    }
    if (scan.nul)
        cut_scan(&scan, bits_below(lowest_bit(scan.nul)));
    return scan;
}

/* The next part is scanned while the current one is processed, so that neither waits for the other.
 */
void reader_scan(struct reader_ahead *ahead, const char *text, size_t limit)
{
    struct scan next = scan_part(text, 0, limit);
    uint32_t lines = 0, edges = 0;
    uint64_t before = 0, owed = 0, equals = 0;
    bool comment = false, nul = false;
    size_t at = 0;
    for (; at < limit && lines < READER_AHEAD_LINES && edges < READER_AHEAD_EDGES && !nul;
         at += SCAN_BYTES) {
        struct scan scan = next;
        next = scan_part(text, at + SCAN_BYTES, limit);
        nul = scan.nul != 0;
        uint64_t word = scan.word;
        if (scan.comment | comment)
            word = drop_comments(&scan, &comment);
        edges += find_edges(word, (uint32_t)at, ahead->edges + edges, &before, &owed);
        lines += scan_flatten(scan.newline, (uint32_t)at, ahead->ends + lines, LINE_STEP);
        equals |= scan.equals;
    }
    if (owed)
        ahead->edges[edges++] = (uint32_t)at - 1;
    ahead->text = text;
    ahead->line = ahead->edge = 0;
    /* Sentinels for the words of a line: larger than any line's end. */
    for (uint32_t i = 0; i < READER_BEYOND; i++)
        ahead->edges[edges + i] = UINT32_MAX;
    ahead->line_count = lines < READER_AHEAD_LINES ? lines : READER_AHEAD_LINES;
    ahead->equals = equals != 0;
}

/* Scans ahead in the bytes that were read; false: they contain no complete, suitable line. */
static bool scan_ahead(struct reader *reader)
{
    struct reader_ahead *ahead = reader->ahead;
    size_t unread = reader->end - reader->start;
    reader_scan(ahead, reader->buffer + reader->start, unread < AHEAD_BYTES ? unread : AHEAD_BYTES);
    if (ahead->line_count == 0)
        return false;
    reader->start += (size_t)ahead->ends[ahead->line_count - 1] + 1;
    ahead->serial++;
    return true;
}

/* Takes the next line that was scanned ahead. There must be one. */
static gordian_status take_ahead(struct reader *reader, gordian_error *error)
{
    struct reader_ahead *ahead = reader->ahead;
    const char *text = ahead->text, *line = text + reader_begin(ahead, ahead->line);
    uint32_t end = ahead->ends[ahead->line], edge = ahead->edge;
    size_t count = 0;
    for (; ahead->edges[edge] < end; edge += 2)
        if (!add_word(reader, count++, line, text + ahead->edges[edge],
                      text + ahead->edges[edge + 1]))
            return fail_memory(error);
    ahead->edge = edge;
    ahead->line++;
    reader->word_count = count;
    reader->equals = ahead->equals;
    reader->line++;
    return GORDIAN_OK;
}

bool reader_scan_ahead(struct reader *reader)
{
    return reader->ahead->line < reader->ahead->line_count || scan_ahead(reader);
}

gordian_status reader_next(struct reader *reader, gordian_error *error)
{
    do
        TRY((reader_scan_ahead(reader) ? take_ahead : take_alone)(reader, error));
    while (reader->word_count == 0);
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

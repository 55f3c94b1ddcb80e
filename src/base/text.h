/*
 * Texts of the composition family: a whole file in memory, and what is wrong with it where.
 *
 * gordian_error has the message, line and column. A fault adds what a person wants to see: which
 * file (a text may import others) and the line itself with a place for a caret.
 */
#ifndef GORDIAN_BASE_TEXT_H
#define GORDIAN_BASE_TEXT_H

#include "base/error.h"
#include "base/memory.h"

#define TEXT_MAX ((size_t)1 << 31)

struct fault {
    char file[256]; /* "" if the place is not in a file */
    char line[160]; /* the line, or the part of it around the place; tabs as blanks */
    uint32_t caret; /* characters of `line` before the place; a caret below goes there */
};

struct text {
    gordian_allocator memory;
    char *name;  /* of the file, for messages */
    char *bytes; /* a NUL follows the last */
    size_t size;
};

/* Reads all of a source. GORDIAN_STATUS_INPUT: more than TEXT_MAX bytes, or a NUL byte in it. */
gordian_status text_read(struct text *text, const char *name, const gordian_source *source,
                         const gordian_allocator *memory, gordian_error *error);
/* The same from memory; copies. */
gordian_status text_copy(struct text *text, const char *name, const char *bytes, size_t size,
                         const gordian_allocator *memory, gordian_error *error);
void text_free(struct text *text);

/* Fills the fault (if not NULL) for a place in the text, line and column from 1. */
void text_point(const struct text *text, uint64_t line, uint64_t column, struct fault *fault);

/* Reading a text character by character. */
struct text_scan {
    const struct text *text;
    const char *at, *end, *line_start;
    uint32_t line;
    struct fault *fault; /* or NULL */
    gordian_error *error;
};

struct text_scan scan_begin(const struct text *text, struct fault *fault, gordian_error *error);
/* What is wrong at a place of the line at hand: GORDIAN_STATUS_INPUT. */
gordian_status scan_complain(const struct text_scan *scan, const char *where, const char *what);

/* At the end of a line. */
static inline void scan_new_line(struct text_scan *scan)
{
    scan->line++;
    scan->line_start = scan->at + 1;
}

#endif

/* The position of an error in a text. gordian_error has the message, line and column. A fault
 * adds the name of the text (texts may import others) and the line itself with a position for a
 * caret. */
#pragma once

#include "foundation/base/io/text.h"

#include <gordian/compose.h>

#define TEXT_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define TEXT_DIGITS  "0123456789"

/* Fills the fault (if not NULL) for a position in the text; line and column count from 1. */
void text_point(const struct text *text, uint64_t line, uint64_t column, gordian_fault *fault);

/* Reading a text character by character. */
struct text_scan {
    const struct text *text;
    const char *at, *end, *line_start;
    uint32_t line;
    gordian_fault *fault; /* may be NULL */
    gordian_error *error;
};

struct text_scan scan_begin(const struct text *text, gordian_fault *fault, gordian_error *error);
/* Reports an error at a position of the current line: GORDIAN_STATUS_INPUT. */
gordian_status scan_complain(const struct text_scan *scan, const char *where, const char *what);

/* Call it at the end of a line. */
static inline void scan_new_line(struct text_scan *scan)
{
    scan->line++;
    scan->line_start = scan->at + 1;
}

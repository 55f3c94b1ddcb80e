/* Positions of errors in a text, with the line and a caret (text_fault.h). */
#include "engines/compose/circuit/text_fault.h"

#include <string.h>

void text_point(const struct text *text, uint64_t line, uint64_t column, gordian_fault *fault)
{
    if (!fault)
        return;
    *fault = (gordian_fault){0};
    size_t length = strlen(text->name), room = sizeof fault->file - 1;
    memcpy(fault->file, text->name + (length > room ? length - room : 0),
           length > room ? room : length);
    if (line == 0)
        return;
    const char *start = text->bytes, *end = text->bytes + text->size;
    for (uint64_t at = 1; at < line && start < end; at++) {
        const char *newline = memchr(start, '\n', (size_t)(end - start));
        start = newline ? newline + 1 : end;
    }
    const char *stop = memchr(start, '\n', (size_t)(end - start));
    size_t width = (size_t)((stop ? stop : end) - start), place = column > 0 ? column - 1 : 0;
    if (place > width)
        place = width;
    room = sizeof fault->line - 1;
    size_t skip = place > room / 2 && width > room ? place - room / 2 : 0;
    size_t shown = width - skip < room ? width - skip : room;
    for (size_t i = 0; i < shown; i++)
        fault->line[i] = (unsigned char)start[skip + i] < ' ' ? ' ' : start[skip + i];
    for (size_t i = skip; i < place;
         i++) /* continuation bytes of a UTF-8 character take no column */
        fault->caret += ((unsigned char)start[i] & 0xc0) != 0x80;
}

struct text_scan scan_begin(const struct text *text, gordian_fault *fault, gordian_error *error)
{
    return (struct text_scan){.text = text,
                              .at = text->bytes,
                              .end = text->bytes + text->size,
                              .line_start = text->bytes,
                              .line = 1,
                              .fault = fault,
                              .error = error};
}

gordian_status scan_complain(const struct text_scan *scan, const char *where, const char *what)
{
    uint64_t column = (uint64_t)(where - scan->line_start) + 1;
    text_point(scan->text, scan->line, column, scan->fault);
    return fail_at(scan->error, GORDIAN_STATUS_INPUT, scan->line, column, "%s", what);
}

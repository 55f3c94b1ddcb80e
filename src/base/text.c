#include "base/text.h"

#include <errno.h>
#include <string.h>

#define CHUNK (64u << 10)

/* The text's NUL bytes make it no text: says where. */
static gordian_status refuse_nul(const struct text *text, gordian_error *error)
{
    const char *nul = memchr(text->bytes, '\0', text->size);
    if (!nul)
        return GORDIAN_OK;
    uint64_t line = 1;
    const char *start = text->bytes;
    for (const char *c = text->bytes; c < nul; c++) {
        if (*c == '\n') {
            line++;
            start = c + 1;
        }
    }
    return fail_at(error, GORDIAN_STATUS_INPUT, line, (uint64_t)(nul - start) + 1, "a NUL byte");
}

static gordian_status begin(struct text *text, const char *name, const gordian_allocator *memory,
                            gordian_error *error)
{
    size_t size = strlen(name) + 1;
    *text = (struct text){.memory = memory_allocator(memory)};
    text->name = memory_alloc(&text->memory, size);
    if (!text->name)
        return fail_memory(error);
    memcpy(text->name, name, size);
    return GORDIAN_OK;
}

static gordian_status end(struct text *text, gordian_status status, gordian_error *error)
{
    static const char mark[] = "\xef\xbb\xbf"; /* some editors begin UTF-8 with it */
    const size_t width = sizeof mark - 1;
    if (status == GORDIAN_OK && text->size >= width && memcmp(text->bytes, mark, width) == 0)
        memmove(text->bytes, text->bytes + width, text->size -= width);
    if (status == GORDIAN_OK) {
        text->bytes[text->size] = '\0';
        status = refuse_nul(text, error);
    }
    if (status != GORDIAN_OK)
        text_free(text);
    return status;
}

gordian_status text_read(struct text *text, const char *name, const gordian_source *source,
                         const gordian_allocator *memory, gordian_error *error)
{
    size_t room = 0;
    gordian_status status = begin(text, name, memory, error);
    while (status == GORDIAN_OK) {
        if (!memory_grow(&text->memory, &text->bytes, &room, text->size + CHUNK + 1, 1)) {
            status = fail_memory(error);
            break;
        }
        ptrdiff_t count = source->read(source->context, text->bytes + text->size, CHUNK);
        if (count < 0)
            status = fail(error, GORDIAN_STATUS_IO, "reading failed: %s", strerror(errno));
        if (count <= 0)
            break;
        text->size += (size_t)count;
        if (text->size > TEXT_MAX)
            status =
                fail(error, GORDIAN_STATUS_INPUT, "the text is longer than %zu bytes", TEXT_MAX);
    }
    return end(text, status, error);
}

gordian_status text_copy(struct text *text, const char *name, const char *bytes, size_t size,
                         const gordian_allocator *memory, gordian_error *error)
{
    gordian_status status = begin(text, name, memory, error);
    if (status == GORDIAN_OK) {
        text->bytes = memory_alloc(&text->memory, size + 1);
        if (!text->bytes)
            status = fail_memory(error);
    }
    if (status == GORDIAN_OK && size > 0)
        memcpy(text->bytes, bytes, size);
    text->size = size;
    return end(text, status, error);
}

void text_free(struct text *text)
{
    memory_free(&text->memory, text->name);
    memory_free(&text->memory, text->bytes);
    *text = (struct text){.memory = text->memory};
}

void text_point(const struct text *text, uint64_t line, uint64_t column, struct fault *fault)
{
    if (!fault)
        return;
    *fault = (struct fault){0};
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
    for (size_t i = skip; i < place; i++) /* what continues a character takes no room */
        fault->caret += ((unsigned char)start[i] & 0xc0) != 0x80;
}

struct text_scan scan_begin(const struct text *text, struct fault *fault, gordian_error *error)
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

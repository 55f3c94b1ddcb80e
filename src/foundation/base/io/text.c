#include "foundation/base/io/text.h"

#include "foundation/base/io/magic.h"

#include <errno.h>
#include <string.h>

#define CHUNK (64u << 10)

/* Reports where the first NUL byte is: then it is no text. */
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

static gordian_status text_begin(struct text *text, const char *name,
                                 const gordian_allocator *memory, gordian_error *error)
{
    size_t size = strlen(name) + 1;
    *text = (struct text){.memory = memory_allocator(memory)};
    text->name = memory_alloc(&text->memory, size);
    if (!text->name)
        return fail_memory(error);
    memcpy(text->name, name, size);
    return GORDIAN_OK;
}

static gordian_status text_end(struct text *text, gordian_status status, gordian_error *error)
{
    const struct magic *magic = magic_find(text->bytes, status == GORDIAN_OK ? text->size : 0);
    if (magic->kind == MAGIC_BOM) /* some editors write it before UTF-8 */
        memmove(text->bytes, text->bytes + magic->length, text->size -= magic->length);
    if (magic->kind == MAGIC_COMPRESSED)
        status = fail_at(error, GORDIAN_STATUS_INPUT, 1, 1, MAGIC_REFUSAL, magic->format,
                         magic->command);
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
    gordian_status status = text_begin(text, name, memory, error);
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
    return text_end(text, status, error);
}

gordian_status text_copy(struct text *text, const char *name, const char *bytes, size_t size,
                         const gordian_allocator *memory, gordian_error *error)
{
    gordian_status status = text_begin(text, name, memory, error);
    if (status == GORDIAN_OK) {
        text->bytes = memory_alloc(&text->memory, size + 1);
        if (!text->bytes)
            status = fail_memory(error);
    }
    if (status == GORDIAN_OK && size > 0)
        memcpy(text->bytes, bytes, size);
    text->size = size;
    return text_end(text, status, error);
}

void text_free(struct text *text)
{
    memory_free_all(&text->memory, text->name, text->bytes);
    *text = (struct text){.memory = text->memory};
}

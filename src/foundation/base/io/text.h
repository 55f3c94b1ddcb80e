/*
 * A whole file in memory.
 */
#pragma once

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

#define TEXT_MAX ((size_t)1 << 31)

struct text {
    gordian_allocator memory;
    char *name;  /* of the file, for messages */
    char *bytes; /* a NUL follows the last byte */
    size_t size;
};

/* Reads a source to its end. GORDIAN_STATUS_INPUT: more than TEXT_MAX bytes, or a NUL byte. */
gordian_status text_read(struct text *text, const char *name, const gordian_source *source,
                         const gordian_allocator *memory, gordian_error *error);
/* The same for bytes in memory, which are copied. */
gordian_status text_copy(struct text *text, const char *name, const char *bytes, size_t size,
                         const gordian_allocator *memory, gordian_error *error);
void text_free(struct text *text);

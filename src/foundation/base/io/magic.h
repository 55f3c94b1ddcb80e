/* Magic bytes: the first bytes of a file identify a UTF-8 byte order mark, a packed file of
 * ours, or a compressed file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum magic_kind {
    MAGIC_NONE,
    MAGIC_BOM,        /* UTF-8 text follows */
    MAGIC_PACKED,     /* a packed trace or snapshot (foundation/base/packed/packed.h) */
    MAGIC_COMPRESSED, /* compressed by another program */
};

/* The first bytes of every packed file of ours. */
#define PACKED_MAGIC       "\x89GRD\r\n\x1a\n"
#define PACKED_MAGIC_BYTES 8

struct magic {
    enum magic_kind kind;
    size_t length;     /* of the first bytes */
    const char *bytes; /* the bytes */
    /* MAGIC_COMPRESSED: "gzip", and the command that decompresses to standard output */
    const char *format, *command;
};

/* The message for a compressed input: its format and the command. */
#define MAGIC_REFUSAL                                                                              \
    "a file compressed with %s: decompress it first, for instance '%s FILE | gordian ...'"

/* Finds the magic bytes at the start of `bytes`. MAGIC_NONE: text, or unknown. */
const struct magic *magic_find(const void *bytes, size_t size);
/* Can more bytes still complete magic bytes? */
bool magic_may_follow(const void *bytes, size_t size);

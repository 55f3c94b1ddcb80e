/* The first bytes of a file that say what it is: a UTF-8 byte order mark, a packed file of ours, a
 * compressed file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum magic_kind {
    MAGIC_NONE,
    MAGIC_BOM,        /* UTF-8 text follows */
    MAGIC_PACKED,     /* a packed trace or snapshot (foundation/base/packed/packed.h) */
    MAGIC_COMPRESSED, /* by another program */
};

/* Every packed file of ours begins with these. */
#define PACKED_MAGIC       "\x89GRD\r\n\x1a\n"
#define PACKED_MAGIC_BYTES 8

struct magic {
    enum magic_kind kind;
    size_t length;     /* of the first bytes */
    const char *bytes; /* which they are */
    /* MAGIC_COMPRESSED: "gzip", and the command that decompresses to standard output */
    const char *format, *command;
};

/* The message about a compressed input: its format and the command. */
#define MAGIC_REFUSAL                                                                              \
    "a file compressed with %s: decompress it first, for instance '%s FILE | gordian ...'"

/* What `bytes` begins with; kind MAGIC_NONE: text, or nothing that is known. */
const struct magic *magic_find(const void *bytes, size_t size);
/* May more bytes still make it something that is known? */
bool magic_may_follow(const void *bytes, size_t size);

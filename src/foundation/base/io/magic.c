#include "foundation/base/io/magic.h"

#include <string.h>

#define COMPRESSED(bytes, format, command)                                                         \
    {                                                                                              \
        MAGIC_COMPRESSED, sizeof bytes - 1, bytes, format, command                                 \
    }

static const struct magic magics[] = {
    {MAGIC_BOM, 3, "\xef\xbb\xbf", NULL, NULL},
    {MAGIC_PACKED, PACKED_MAGIC_BYTES, PACKED_MAGIC, NULL, NULL},
    COMPRESSED("\x1f\x8b\x08", "gzip", "gzip -dc"),
    COMPRESSED("\xfd"
               "7zXZ\0",
               "xz", "xz -dc"),
    COMPRESSED("\x28\xb5\x2f\xfd", "zstd", "zstd -dc"),
    COMPRESSED("BZh", "bzip2", "bzip2 -dc"),
    COMPRESSED("\x04\x22\x4d\x18", "lz4", "lz4 -dc"),
    COMPRESSED("PK\x03\x04", "zip", "unzip -p"),
    {MAGIC_NONE, 0, "", NULL, NULL},
};

const struct magic *magic_find(const void *bytes, size_t size)
{
    const struct magic *magic = magics;
    while (magic->length > 0 &&
           (size < magic->length || memcmp(bytes, magic->bytes, magic->length) != 0))
        magic++;
    return magic;
}

bool magic_may_follow(const void *bytes, size_t size)
{
    for (const struct magic *magic = magics; magic->kind != MAGIC_NONE; magic++)
        if (size < magic->length && memcmp(bytes, magic->bytes, size) == 0)
            return true;
    return false;
}

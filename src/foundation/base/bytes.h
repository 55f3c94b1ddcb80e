/* Encoding to bytes and decoding them: varints (7 bits per byte, low bits first) and texts that
 * follow their length. Encoder and decoder remember the first failure and then do nothing, so the
 * caller checks once, at the end.
 *
 *     struct bytes out;
 *     bytes_init(&out, &memory);
 *     bytes_u64(&out, 42);
 *     bytes_text(&out, "name", 4);
 *     if (out.failed) ...
 *
 *     struct bytes_in in = {.at = image, .end = image + length};
 *     uint64_t answer = bytes_take_u64(&in);
 *     const char *name = bytes_take_text(&in, &length);
 *     if (in.bad) ... */
#pragma once

#include "foundation/base/memory.h"

#include <string.h>

struct bytes {
    gordian_allocator memory;
    uint8_t *data;
    size_t used, room;
    bool failed; /* out of memory: the data is incomplete */
};

static inline void bytes_init(struct bytes *bytes, const gordian_allocator *memory)
{
    *bytes = (struct bytes){.memory = *memory};
}

static inline void bytes_free(struct bytes *bytes)
{
    memory_free(&bytes->memory, bytes->data);
    *bytes = (struct bytes){.memory = bytes->memory};
}

/* Reserves capacity for `count` more bytes; false: out of memory. */
static inline bool bytes_room(struct bytes *bytes, size_t count)
{
    if (bytes->room - bytes->used >= count)
        return true;
    if (bytes->failed || count > SIZE_MAX - bytes->used ||
        !memory_grow(&bytes->memory, &bytes->data, &bytes->room, bytes->used + count, 1))
        bytes->failed = true;
    return !bytes->failed;
}

static inline void bytes_put(struct bytes *bytes, const void *data, size_t count)
{
    if (count == 0 || !bytes_room(bytes, count) || !bytes->data)
        return;
    memcpy(bytes->data + bytes->used, data, count);
    bytes->used += count;
}

static inline void bytes_u64(struct bytes *bytes, uint64_t value)
{
    if (!bytes_room(bytes, 10))
        return;
    for (; value >= 0x80; value >>= 7)
        bytes->data[bytes->used++] = (uint8_t)(value | 0x80);
    bytes->data[bytes->used++] = (uint8_t)value;
}

/* Zigzag encoding: small numbers of either sign stay short. */
static inline void bytes_i64(struct bytes *bytes, int64_t value)
{
    bytes_u64(bytes, (uint64_t)value << 1 ^ (value < 0 ? UINT64_MAX : 0));
}

static inline void bytes_text(struct bytes *bytes, const char *text, size_t length)
{
    bytes_u64(bytes, length);
    bytes_put(bytes, text, length);
}

/* ---- decoding */

struct bytes_in {
    const uint8_t *at, *end;
    bool bad; /* the data is cut short or malformed */
};

static inline size_t bytes_left(const struct bytes_in *in)
{
    return (size_t)(in->end - in->at);
}

static inline uint64_t bytes_take_u64(struct bytes_in *in)
{
    uint64_t value = 0;
    for (unsigned shift = 0; !in->bad && in->at < in->end; shift += 7) {
        uint8_t byte = *in->at++;
        if (shift == 63 && byte > 1) /* more than 64 bits */
            break;
        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80)
            return value;
    }
    in->bad = true;
    return 0;
}

static inline int64_t bytes_take_i64(struct bytes_in *in)
{
    uint64_t folded = bytes_take_u64(in);
    return (int64_t)(folded >> 1 ^ (folded & 1 ? UINT64_MAX : 0));
}

/* Returns a number of at most `most`. A larger one sets `bad` and returns 0. */
static inline uint64_t bytes_take_upto(struct bytes_in *in, uint64_t most)
{
    uint64_t value = bytes_take_u64(in);
    if (value <= most)
        return value;
    in->bad = true;
    return 0;
}

/* Returns a count of items of at least one byte each. It is at most the number of bytes left. */
static inline uint64_t bytes_take_count(struct bytes_in *in)
{
    uint64_t value = bytes_take_u64(in);
    if (value <= bytes_left(in))
        return value;
    in->bad = true;
    return 0;
}

static inline const uint8_t *bytes_take(struct bytes_in *in, size_t count)
{
    if (in->bad || bytes_left(in) < count) {
        in->bad = true;
        return NULL;
    }
    in->at += count;
    return in->at - count;
}

/* Returns a text without a terminating NUL; NULL: malformed. */
static inline const char *bytes_take_text(struct bytes_in *in, size_t *length)
{
    uint64_t count = bytes_take_count(in);
    *length = (size_t)count;
    return (const char *)bytes_take(in, (size_t)count);
}

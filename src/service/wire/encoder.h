/* Encodes and decodes the bodies of frames, field by field. Used by wire.c only. */
#pragma once

#include "service/wire/wire.h"

#include <string.h>

/* ------------------------------------------------------------------ writing */

/* Counts the bytes written, and writes them while they fit into `room`. */
struct encoder {
    unsigned char *to;
    size_t room, used;
};

static inline unsigned char *encoder_reserve(struct encoder *encoder, size_t size)
{
    size_t at = encoder->used;
    encoder->used += size;
    return encoder->used <= encoder->room ? encoder->to + at : NULL;
}

static inline void encode_bytes(struct encoder *encoder, const void *bytes, size_t size)
{
    unsigned char *to = encoder_reserve(encoder, size);
    if (to && size)
        memcpy(to, bytes, size);
}

static inline void encode_u8(struct encoder *encoder, uint8_t value)
{
    encode_bytes(encoder, &value, 1);
}

static inline void encode_u16(struct encoder *encoder, uint16_t value)
{
    unsigned char *to = encoder_reserve(encoder, 2);
    if (to)
        wire_store16(to, value);
}

static inline void encode_u32(struct encoder *encoder, uint32_t value)
{
    unsigned char *to = encoder_reserve(encoder, 4);
    if (to)
        wire_store32(to, value);
}

static inline void encode_u64(struct encoder *encoder, uint64_t value)
{
    unsigned char *to = encoder_reserve(encoder, 8);
    if (to)
        wire_store64(to, value);
}

/* A text longer than its length field can express is cut. Callers check names before. */
static inline void encode_text8(struct encoder *encoder, struct wire_text text)
{
    uint8_t length = (uint8_t)(text.length < UINT8_MAX ? text.length : UINT8_MAX);
    encode_u8(encoder, length);
    encode_bytes(encoder, text.text, length);
}

static inline void encode_text16(struct encoder *encoder, struct wire_text text)
{
    uint16_t length = (uint16_t)(text.length < UINT16_MAX ? text.length : UINT16_MAX);
    encode_u16(encoder, length);
    encode_bytes(encoder, text.text, length);
}

static inline void encode_want(struct encoder *encoder, uint32_t resource, uint64_t units)
{
    encode_u32(encoder, resource);
    encode_u64(encoder, units);
}

static inline struct encoder encoder_begin(void *to, size_t room, uint8_t kind)
{
    struct encoder encoder = {.to = to, .room = room};
    encode_u32(&encoder, 0);
    encode_u8(&encoder, kind);
    return encoder;
}

static inline size_t encoder_end(struct encoder *encoder)
{
    if (encoder->used <= encoder->room)
        wire_store32(encoder->to, (uint32_t)(encoder->used - 4));
    return encoder->used;
}

/* ------------------------------------------------------------------ reading */

/* The unread rest of a body. Reading past the end gives zeros and sets `bad`. */
struct decoder {
    const unsigned char *at, *end;
    bool bad;
};

static inline struct decoder decoder_of(const struct wire_frame *frame)
{
    return (struct decoder){.at = frame->body, .end = frame->body + frame->size};
}

static inline const unsigned char *decode_bytes(struct decoder *decoder, size_t size)
{
    if ((size_t)(decoder->end - decoder->at) < size) {
        decoder->bad = true;
        return NULL;
    }
    const unsigned char *at = decoder->at;
    decoder->at += size;
    return at;
}

static inline uint8_t decode_u8(struct decoder *decoder)
{
    const unsigned char *at = decode_bytes(decoder, 1);
    return at ? *at : 0;
}

static inline uint16_t decode_u16(struct decoder *decoder)
{
    const unsigned char *at = decode_bytes(decoder, 2);
    return at ? wire_load16(at) : 0;
}

static inline uint32_t decode_u32(struct decoder *decoder)
{
    const unsigned char *at = decode_bytes(decoder, 4);
    return at ? wire_load32(at) : 0;
}

static inline uint64_t decode_u64(struct decoder *decoder)
{
    const unsigned char *at = decode_bytes(decoder, 8);
    return at ? wire_load64(at) : 0;
}

static inline struct wire_text decode_text(struct decoder *decoder, size_t length)
{
    const unsigned char *at = decode_bytes(decoder, length);
    return (struct wire_text){at ? (const char *)at : "", at ? length : 0};
}

/* Returns true if all of the body was read and nothing was missing. */
static inline bool decoder_done(const struct decoder *decoder)
{
    return !decoder->bad && decoder->at == decoder->end;
}

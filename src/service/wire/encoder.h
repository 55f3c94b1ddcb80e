/* Writing the body of a frame, number by number, and reading one: what wire.c is made of. */
#pragma once

#include "service/wire/wire.h"

#include <string.h>

/* ------------------------------------------------------------------ writing */

/* Counts what is written, and writes as long as it fits. */
struct pen {
    unsigned char *to;
    size_t room, used;
};

static inline unsigned char *pen_take(struct pen *pen, size_t size)
{
    size_t at = pen->used;
    pen->used += size;
    return pen->used <= pen->room ? pen->to + at : NULL;
}

static inline void pen_bytes(struct pen *pen, const void *bytes, size_t size)
{
    unsigned char *to = pen_take(pen, size);
    if (to && size)
        memcpy(to, bytes, size);
}

static inline void pen_u8(struct pen *pen, uint8_t value)
{
    pen_bytes(pen, &value, 1);
}

static inline void pen_u16(struct pen *pen, uint16_t value)
{
    unsigned char *to = pen_take(pen, 2);
    if (to)
        wire_store16(to, value);
}

static inline void pen_u32(struct pen *pen, uint32_t value)
{
    unsigned char *to = pen_take(pen, 4);
    if (to)
        wire_store32(to, value);
}

static inline void pen_u64(struct pen *pen, uint64_t value)
{
    unsigned char *to = pen_take(pen, 8);
    if (to)
        wire_store64(to, value);
}

/* Longer texts than their length can say are cut: callers check names beforehand. */
static inline void pen_text8(struct pen *pen, struct wire_text text)
{
    uint8_t length = (uint8_t)(text.length < UINT8_MAX ? text.length : UINT8_MAX);
    pen_u8(pen, length);
    pen_bytes(pen, text.text, length);
}

static inline void pen_text16(struct pen *pen, struct wire_text text)
{
    uint16_t length = (uint16_t)(text.length < UINT16_MAX ? text.length : UINT16_MAX);
    pen_u16(pen, length);
    pen_bytes(pen, text.text, length);
}

static inline void pen_want(struct pen *pen, uint32_t resource, uint64_t units)
{
    pen_u32(pen, resource);
    pen_u64(pen, units);
}

static inline struct pen pen_begin(void *to, size_t room, uint8_t kind)
{
    struct pen pen = {.to = to, .room = room};
    pen_u32(&pen, 0);
    pen_u8(&pen, kind);
    return pen;
}

static inline size_t pen_end(struct pen *pen)
{
    if (pen->used <= pen->room)
        wire_store32(pen->to, (uint32_t)(pen->used - 4));
    return pen->used;
}

/* ------------------------------------------------------------------ reading */

/* What is left of a body. Reading past its end gives zeros and sets `bad`. */
struct eye {
    const unsigned char *at, *end;
    bool bad;
};

static inline struct eye eye_of(const struct wire_frame *frame)
{
    return (struct eye){.at = frame->body, .end = frame->body + frame->size};
}

static inline const unsigned char *eye_take(struct eye *eye, size_t size)
{
    if ((size_t)(eye->end - eye->at) < size) {
        eye->bad = true;
        return NULL;
    }
    const unsigned char *at = eye->at;
    eye->at += size;
    return at;
}

static inline uint8_t eye_u8(struct eye *eye)
{
    const unsigned char *at = eye_take(eye, 1);
    return at ? *at : 0;
}

static inline uint16_t eye_u16(struct eye *eye)
{
    const unsigned char *at = eye_take(eye, 2);
    return at ? wire_load16(at) : 0;
}

static inline uint32_t eye_u32(struct eye *eye)
{
    const unsigned char *at = eye_take(eye, 4);
    return at ? wire_load32(at) : 0;
}

static inline uint64_t eye_u64(struct eye *eye)
{
    const unsigned char *at = eye_take(eye, 8);
    return at ? wire_load64(at) : 0;
}

static inline struct wire_text eye_text(struct eye *eye, size_t length)
{
    const unsigned char *at = eye_take(eye, length);
    return (struct wire_text){at ? (const char *)at : "", at ? length : 0};
}

/* Everything was read, and nothing was missing. */
static inline bool eye_done(const struct eye *eye)
{
    return !eye->bad && eye->at == eye->end;
}

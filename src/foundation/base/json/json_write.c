#include "foundation/base/json/json_write.h"

#include "foundation/base/names/short_name.h"

#include <assert.h>
#include <math.h>
#include <string.h>

static const char replacement[] = "\xef\xbf\xbd"; /* U+FFFD */

static bool is_tail(unsigned char byte)
{
    return (byte & 0xc0) == 0x80;
}

size_t utf8_length(const unsigned char *at)
{
    if (at[0] < 0x80)
        return 1;
    if (at[0] < 0xc2 || at[0] > 0xf4 || !is_tail(at[1]))
        return 0;
    if (at[0] < 0xe0)
        return 2;
    if (at[0] < 0xf0) {
        bool bad = (at[0] == 0xe0 && at[1] < 0xa0) || (at[0] == 0xed && at[1] > 0x9f);
        return !bad && is_tail(at[2]) ? 3 : 0;
    }
    bool bad = (at[0] == 0xf0 && at[1] < 0x90) || (at[0] == 0xf4 && at[1] > 0x8f);
    return !bad && is_tail(at[2]) && is_tail(at[3]) ? 4 : 0;
}

static void write_escape(struct output *out, unsigned char byte)
{
    static const char short_form[] = "\"\"\\\\\nn\tt\rr\bb\ff";
    for (size_t i = 0; short_form[i]; i += 2) {
        if ((unsigned char)short_form[i] == byte) {
            output_char(out, '\\');
            output_char(out, short_form[i + 1]);
            return;
        }
    }
    static const char hex[] = "0123456789abcdef";
    output_text(out, "\\u00");
    output_char(out, hex[byte >> 4]);
    output_char(out, hex[byte & 15]);
}

/* Writes the rest of a string, after the opening quote. */
static void write_rest(struct output *out, const char *text)
{
    const unsigned char *at = (const unsigned char *)text;
    while (*at) {
        const unsigned char *start = at;
        while (*at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\')
            at++;
        output_bytes(out, (const char *)start, (size_t)(at - start));
        if (!*at)
            break;
        size_t length = utf8_length(at);
        if (length == 0)
            output_text(out, replacement);
        else if (length == 1)
            write_escape(out, *at);
        else
            output_bytes(out, (const char *)at, length);
        at += length ? length : 1;
    }
    output_char(out, '"');
}

/* The high bit of each byte of a word: is the byte 0? Only the lowest such bit is reliable. */
#define EVERY_BYTE(byte) (UINT64_C(0x0101010101010101) * (byte))
#define ZERO_BYTES(word) (((word)-EVERY_BYTE(1)) & ~(word)&EVERY_BYTE(0x80))

/* Can all bytes be written without an escape? */
static inline bool all_plain(uint64_t word)
{
    uint64_t low = (word - EVERY_BYTE(0x20)) & EVERY_BYTE(0x80); /* some byte is below ' ' */
    return ((word & EVERY_BYTE(0x80)) | low | ZERO_BYTES(word ^ EVERY_BYTE('"')) |
            ZERO_BYTES(word ^ EVERY_BYTE('\\'))) == 0;
}

/* Writes a short text with its quotes. `to` has space for a few bytes more. False: it needs
 * escapes. */
static bool write_short(char *to, const char *text, size_t length)
{
    struct short_name name = short_load(text, length), mask = short_mask(length);
    if (!all_plain(name.low | (~mask.low & EVERY_BYTE('a'))) ||
        !all_plain(name.high | (~mask.high & EVERY_BYTE('a'))))
        return false;
    to[0] = '"';
    short_store(to + 1, name);
    to[1 + length] = '"';
    return true;
}

/* Fast path: most strings fit the buffer and need no escapes. */
void json_quote(struct output *out, const char *text)
{
    size_t length = strlen(text);
    if (length <= SHORT_MAX && output_has(out, SHORT_MAX + 2) &&
        write_short(out->buffer + out->used, text, length)) {
        out->used += length + 2;
        return;
    }
    output_char(out, '"');
    write_rest(out, text);
}

/* Writes the comma before an element, if needed, and its key. */
static inline struct output *add_element(struct json *json, const char *key, size_t length)
{
    struct output *out = json->out;
    if (key && output_has(out, length + 4)) {
        char *to = out->buffer + out->used;
        *to = ',';
        to += json->comma;
        *to++ = '"';
        memcpy(to, key, length);
        memcpy(to + length, "\":", 2);
        out->used = (size_t)(to + length + 2 - out->buffer);
        json->comma = true;
        return out;
    }
    if (json->comma)
        output_char(out, ',');
    json->comma = true;
    if (key) {
        output_char(out, '"');
        output_bytes(out, key, length);
        output_bytes(out, "\":", 2);
    }
    return out;
}

static struct output *json_element(struct json *json, const char *key)
{
    return add_element(json, key, key ? strlen(key) : 0);
}

void json_begin(struct json *json, struct output *out)
{
    json->out = out;
    json->comma = false;
    json->depth = 0;
    json_open(json, NULL, '{');
}

void json_end(struct json *json)
{
    while (json->depth > 0)
        json_shut(json);
    output_char(json->out, '\n');
    json->comma = false;
}

void json_open(struct json *json, const char *key, char bracket)
{
    assert(json->depth < sizeof json->closers);
    output_char(json_element(json, key), bracket);
    json->closers[json->depth++] = bracket == '{' ? '}' : ']';
    json->comma = false;
}

void json_shut(struct json *json)
{
    assert(json->depth > 0);
    output_char(json->out, json->closers[--json->depth]);
    json->comma = true;
}

void json_add_text(struct json *json, const char *key, size_t length, const char *value)
{
    json_quote(add_element(json, key, length), value);
}

void json_add_plain(struct json *json, const char *key, size_t length, const char *value)
{
    struct output *out = add_element(json, key, length);
    output_char(out, '"');
    output_bytes(out, value, strlen(value));
    output_char(out, '"');
}

void json_add_u64(struct json *json, const char *key, size_t length, uint64_t value)
{
    output_u64(add_element(json, key, length), value);
}

void json_name_u64(struct json *json, const char *name, uint64_t value)
{
    json_quote(json_element(json, NULL), name);
    output_char(json->out, ':');
    output_u64(json->out, value);
}

void json_key_i64(struct json *json, const char *key, int64_t value)
{
    output_i64(json_element(json, key), value);
}

void json_key_bool(struct json *json, const char *key, bool value)
{
    output_text(json_element(json, key), value ? "true" : "false");
}

void json_key_number(struct json *json, const char *key, double value)
{
    if (isfinite(value))
        output_format(json_element(json, key), "%.6g", value);
    else
        json_key_null(json, key);
}

void json_key_json(struct json *json, const char *key, const char *value)
{
    output_text(json_element(json, key), *value ? value : "null");
}

void json_key_null(struct json *json, const char *key)
{
    output_text(json_element(json, key), "null");
}

void json_text(struct json *json, const char *value)
{
    json_key_text(json, NULL, value);
}

void json_u64(struct json *json, uint64_t value)
{
    json_key_u64(json, NULL, value);
}

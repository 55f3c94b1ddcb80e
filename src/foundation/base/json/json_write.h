/* JSON writer: one object per line. The writer adds the commas. Keys are plain ASCII
 * literals; strings are escaped, and bytes that are not UTF-8 become U+FFFD.
 *
 *     struct json json;
 *     json_begin(&json, out);                // {
 *     json_key_text(&json, "op", "request"); // "op":"request"
 *     json_open(&json, "names", '[');        // ,"names":[
 *     json_text(&json, "p0");
 *     json_shut(&json);                      // ]
 *     json_end(&json);                       // }\n */
#pragma once

#include "foundation/base/io/output.h"

#include <string.h>

struct json {
    struct output *out;
    bool comma; /* there is an earlier element on this level */
    unsigned depth;
    char closers[32]; /* '}' or ']' of every open level */
};

/* Returns the length of the UTF-8 character at `at` (NUL-terminated text). 0 if malformed: stray
 * continuation bytes, overlong forms, surrogates, and characters above U+10FFFF. */
size_t utf8_length(const unsigned char *at);

void json_begin(struct json *json, struct output *out);
void json_end(struct json *json); /* closes all open levels and ends the line */

/* Opens a nested '{' or '['. `key` is NULL inside an array. */
void json_open(struct json *json, const char *key, char bracket);
void json_shut(struct json *json);

/* The most frequent calls, with the key's length, which the compiler knows. */
void json_add_text(struct json *json, const char *key, size_t length, const char *value);
void json_add_plain(struct json *json, const char *key, size_t length, const char *value);
void json_add_u64(struct json *json, const char *key, size_t length, uint64_t value);

static inline void json_key_text(struct json *json, const char *key, const char *value)
{
    json_add_text(json, key, key ? strlen(key) : 0, value);
}

/* A text that is known to need no escapes. */
static inline void json_key_plain(struct json *json, const char *key, const char *value)
{
    json_add_plain(json, key, strlen(key), value);
}

static inline void json_key_u64(struct json *json, const char *key, uint64_t value)
{
    json_add_u64(json, key, key ? strlen(key) : 0, value);
}

void json_name_u64(struct json *json, const char *name,
                   uint64_t value); /* the key may be any text */
void json_key_i64(struct json *json, const char *key, int64_t value);
void json_key_bool(struct json *json, const char *key, bool value);
void json_key_number(struct json *json, const char *key,
                     double value); /* %.6g; null if not finite */
void json_key_null(struct json *json, const char *key);
void json_key_json(struct json *json, const char *key,
                   const char *value); /* JSON already; "" is null */
/* A single text in quotes. */
void json_quote(struct output *out, const char *text);
/* Elements of an array. */
void json_text(struct json *json, const char *value);
void json_u64(struct json *json, uint64_t value);

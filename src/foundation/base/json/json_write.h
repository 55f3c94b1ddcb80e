/* The one JSON writer: one object a line, commas kept by the writer. Keys are
 * plain ASCII literals; strings are escaped, bytes that are not UTF-8 become
 * U+FFFD.
 *
 *     struct json json;
 *     json_begin(&json, out);                // {
 *     json_key_text(&json, "op", "request"); // "op":"request"
 *     json_open(&json, "names", '[');        // ,"names":[
 *     json_text(&json, "p0");
 *     json_shut(&json);                      // ]
 *     json_end(&json);                       // }\n
 */
#pragma once

#include "foundation/base/io/output.h"

#include <string.h>

struct json {
    struct output *out;
    bool comma; /* an element precedes on this level */
    unsigned depth;
    char closers[32]; /* '}' or ']' for every open level */
};

/* Bytes of the well-formed UTF-8 character at `at` (NUL-terminated text), 0 if there is none:
 * stray tails, overlong forms, surrogates and what lies above U+10FFFF do not count. */
size_t utf8_length(const unsigned char *at);

void json_begin(struct json *json, struct output *out);
void json_end(struct json *json); /* closes every open level and ends the line */

/* Opens a nested '{' or '['; `key` NULL inside an array. */
void json_open(struct json *json, const char *key, char bracket);
void json_shut(struct json *json);

/* The most frequent ones; with the key's length, which the compiler knows. */
void json_add_text(struct json *json, const char *key, size_t length, const char *value);
void json_add_plain(struct json *json, const char *key, size_t length, const char *value);
void json_add_u64(struct json *json, const char *key, size_t length, uint64_t value);

static inline void json_key_text(struct json *json, const char *key, const char *value)
{
    json_add_text(json, key, key ? strlen(key) : 0, value);
}

/* A text of which it is known that nothing in it must be escaped. */
static inline void json_key_plain(struct json *json, const char *key, const char *value)
{
    json_add_plain(json, key, strlen(key), value);
}

static inline void json_key_u64(struct json *json, const char *key, uint64_t value)
{
    json_add_u64(json, key, key ? strlen(key) : 0, value);
}

void json_name_u64(struct json *json, const char *name, uint64_t value); /* the key: any text */
void json_key_i64(struct json *json, const char *key, int64_t value);
void json_key_bool(struct json *json, const char *key, bool value);
void json_key_number(struct json *json, const char *key,
                     double value); /* %.6g; null if not finite */
void json_key_null(struct json *json, const char *key);
void json_key_json(struct json *json, const char *key,
                   const char *value); /* that is JSON already; "" is null */
/* A text alone, in quotes. */
void json_quote(struct output *out, const char *text);
/* Elements of an array. */
void json_text(struct json *json, const char *value);
void json_u64(struct json *json, uint64_t value);

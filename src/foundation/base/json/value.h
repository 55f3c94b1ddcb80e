/* Values of a document, from JSON (foundation/base/json/json_read.h) or other plain data.
 *
 * They are in an arena and are not changed. Texts have no terminating NUL and may point into the
 * input, which must outlive them. Some formats can refer to an earlier list: a value may occur in
 * several places, and in a malicious file even within itself. A reader therefore descends only as
 * deep as the structure it expects. */
#pragma once

#include "foundation/base/arena.h"

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INTEGER,
    VALUE_REAL,
    VALUE_TEXT,
    VALUE_LIST, /* and tuples */
    VALUE_DICT,
};

struct value {
    uint8_t kind;   /* enum value_kind */
    uint8_t mark;   /* for the reader; 0 at first */
    uint32_t count; /* bytes of a text, items of a list, or pairs of a dictionary */
    uint32_t room;  /* capacity of `items` */
    union {
        int64_t integer; /* a bool: 0 or 1 */
        double real;
        const char *text;
        struct value **items; /* of a dictionary: key, value, key, ... */
    };
};

struct value *value_new(struct arena *arena, enum value_kind kind); /* NULL: out of memory */
/* Adds an item of a list, or half of a pair of a dictionary. `used` items exist. */
bool value_push(struct arena *arena, struct value *value, uint32_t used, struct value *item);

static inline bool value_is(const struct value *value, enum value_kind kind)
{
    return value && value->kind == kind;
}

static inline bool value_says(const struct value *value, const char *text)
{
    return value_is(value, VALUE_TEXT) && value->count == strlen(text) &&
           memcmp(value->text, text, value->count) == 0;
}

static inline bool value_is_true(const struct value *value)
{
    return value_is(value, VALUE_BOOL) && value->integer;
}

/* Returns the text; NULL: not a text. It ends in NUL if json_read_strictly read it. */
static inline const char *value_text(const struct value *value)
{
    return value_is(value, VALUE_TEXT) ? value->text : NULL;
}

/* The items of a list; 0 and NULL for other values and beyond the end. */
static inline uint32_t value_count(const struct value *list)
{
    return value_is(list, VALUE_LIST) ? list->count : 0;
}

static inline const struct value *value_item(const struct value *list, size_t i)
{
    return i < value_count(list) ? list->items[i] : NULL;
}

/* Finds the value of a key. NULL: no such key, or not a dictionary. */
const struct value *value_find(const struct value *dict, const char *key);
/* Returns a whole number, also from a text; `otherwise` if it is neither. */
int64_t value_integer(const struct value *value, int64_t otherwise);

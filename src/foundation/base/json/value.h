/* Values of a document: what JSON (foundation/base/json/json_read.h) and other forms of plain data
 * have in common.
 *
 * They live in an arena and are read, not changed. Texts are not ended by a NUL; they may lie in
 * the bytes that were read, which must last as long. Some forms can say "that list again": a value
 * may stand in several places, and in a file that was made to do harm even in itself. Who walks
 * through one goes as deep as he knows what to expect, and no deeper. */
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
    uint8_t mark;   /* the reader's own; 0 at first */
    uint32_t count; /* bytes of a text, items of a list, pairs of a dictionary */
    uint32_t room;  /* of `items` */
    union {
        int64_t integer; /* a bool: 0 or 1 */
        double real;
        const char *text;
        struct value **items; /* of a dictionary key, value, key, ... */
    };
};

struct value *value_new(struct arena *arena, enum value_kind kind); /* NULL: out of memory */
/* Another item of a list, or half a pair of a dictionary; `used` are there. */
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

/* NULL: it is no text. It ends in NUL if json_read_strictly has read it. */
static inline const char *value_text(const struct value *value)
{
    return value_is(value, VALUE_TEXT) ? value->text : NULL;
}

/* The items of a list; 0 and NULL for anything else, and beyond its end. */
static inline uint32_t value_count(const struct value *list)
{
    return value_is(list, VALUE_LIST) ? list->count : 0;
}

static inline const struct value *value_item(const struct value *list, size_t i)
{
    return i < value_count(list) ? list->items[i] : NULL;
}

/* What a dictionary has for a key; NULL: it has none, or is no dictionary. */
const struct value *value_find(const struct value *dict, const char *key);
/* A whole number, from a number or a text that is one; `otherwise` if it is neither. */
int64_t value_integer(const struct value *value, int64_t otherwise);

#include "foundation/base/json/value.h"

#define ROOM_FIRST 8

struct value *value_new(struct arena *arena, enum value_kind kind)
{
    struct value *value = arena_alloc(arena, sizeof *value);
    if (value)
        value->kind = (uint8_t)kind;
    return value;
}

bool value_push(struct arena *arena, struct value *value, uint32_t used, struct value *item)
{
    if (used == value->room) {
        if (used > UINT32_MAX / 4)
            return false;
        uint32_t room = used ? 2 * used : ROOM_FIRST;
        struct value **items = arena_alloc(arena, room * sizeof *items);
        if (!items)
            return false;
        if (used)
            memcpy(items, value->items, used * sizeof *items);
        value->items = items;
        value->room = room;
    }
    value->items[used] = item;
    return true;
}

const struct value *value_find(const struct value *dict, const char *key)
{
    if (!value_is(dict, VALUE_DICT))
        return NULL;
    for (uint32_t i = 0; i < dict->count; i++)
        if (value_says(dict->items[2 * i], key))
            return dict->items[2 * i + 1];
    return NULL;
}

static int64_t integer_of_text(const struct value *value, int64_t otherwise)
{
    uint32_t at = value->count && value->text[0] == '-';
    int64_t number = 0;
    if (at == value->count || value->count - at > 18)
        return otherwise;
    for (uint32_t i = at; i < value->count; i++) {
        if (value->text[i] < '0' || value->text[i] > '9')
            return otherwise;
        number = 10 * number + (value->text[i] - '0');
    }
    return at ? -number : number;
}

int64_t value_integer(const struct value *value, int64_t otherwise)
{
    if (value_is(value, VALUE_INTEGER) || value_is(value, VALUE_BOOL))
        return value->integer;
    if (value_is(value, VALUE_REAL) && value->real > -9e18 && value->real < 9e18)
        return (int64_t)value->real;
    return value_is(value, VALUE_TEXT) ? integer_of_text(value, otherwise) : otherwise;
}

#include "sources/run/state/text.h"

#include <string.h>

void text_open(struct text *text, char *buffer, size_t room)
{
    *text = (struct text){buffer, 0, room};
    buffer[0] = '\0';
}

void text_add(struct text *text, const char *more)
{
    size_t length = strlen(more), left = text->room - 1 - text->used;
    if (length > left)
        length = left;
    memcpy(text->at + text->used, more, length);
    text->used += length;
    text->at[text->used] = '\0';
}

void text_add_list(struct text *text, const char *const *pieces)
{
    for (; *pieces; pieces++)
        text_add(text, *pieces);
}

static void add_digits(struct text *text, uint64_t value, unsigned base)
{
    char buffer[24];
    size_t at = sizeof buffer;
    buffer[--at] = '\0';
    do {
        buffer[--at] = "0123456789abcdef"[value % base];
        value /= base;
    } while (value);
    text_add(text, buffer + at);
}

void text_decimal(struct text *text, uint64_t value)
{
    add_digits(text, value, 10);
}

void text_hex(struct text *text, uint64_t value)
{
    text_add(text, "0x");
    add_digits(text, value, 16);
}

uint64_t text_take_hex(const char **at)
{
    uint64_t value = 0;
    for (; (**at >= '0' && **at <= '9') || (**at >= 'a' && **at <= 'f'); ++*at)
        value = value << 4 | (uint64_t)(**at <= '9' ? **at - '0' : **at - 'a' + 10);
    return value;
}

void text_join(char *buffer, size_t room, const char *before, uint64_t number, const char *after)
{
    struct text text;
    text_open(&text, buffer, room);
    text_add(&text, before);
    text_decimal(&text, number);
    text_add(&text, after);
}

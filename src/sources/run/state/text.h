/* Text formatting without printf, which may allocate. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A line being built. Text that does not fit is truncated. Always ends with NUL. */
struct text {
    char *at;
    size_t used, room;
};

void text_open(struct text *text, char *buffer, size_t room);
void text_add(struct text *text, const char *more);
/* Adds each of the texts: text_add_all(&text, "a", "b", "c"). */
#define text_add_all(text, ...) text_add_list((text), (const char *[]){__VA_ARGS__, NULL})
void text_add_list(struct text *text, const char *const *pieces);
void text_decimal(struct text *text, uint64_t value);
void text_hex(struct text *text, uint64_t value);

/* Parses a lower-case hexadecimal number at *at, and advances *at. */
uint64_t text_take_hex(const char **at);

/* Writes before + number + after: a path under /proc. */
void text_join(char *buffer, size_t room, const char *before, uint64_t number, const char *after);

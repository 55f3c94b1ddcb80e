/* Style of text: colours, box-drawing characters or ASCII, and escaping of names. */
#pragma once

#include "foundation/base/io/output.h"

#include <stdbool.h>
#include <stdio.h>

enum color {
    COLOR_PLAIN,
    COLOR_PROCESS,
    COLOR_RESOURCE,
    COLOR_BAD,   /* a deadlock */
    COLOR_GOOD,  /* granted, no deadlock */
    COLOR_FAINT, /* less important words */
    COLOR_STRONG,
};

struct style {
    bool color;
    bool utf8;
};

/* With or without colours. Uses UTF-8 unless the locale has another character set. */
struct style style_make(bool color);

/* Switches the colour; COLOR_PLAIN resets it. */
void style_color(const struct style *style, struct output *out, enum color color);
void style_text(const struct style *style, struct output *out, enum color color, const char *text);

/* Prints a name. Characters that cannot be printed become \xNN, so that no input can send control
 * sequences to the terminal. */
void style_name(const struct style *style, struct output *out, enum color color, const char *name);
/* Returns the columns that style_name uses. */
size_t style_width(const struct style *style, const char *name);

/* Prints a name for files, as UTF-8 and without colours. `escape` returns the replacement of a
 * character, or NULL. style_xml: for an SVG. */
void style_escaped(struct output *out, const char *text, const char *(*escape)(char c));
void style_xml(struct output *out, const char *text);

/* Prints a message on stderr with the same escaping. */
void print_safely(FILE *to, const char *text);

/* How text looks: colours, box-drawing characters or plain ASCII, and names made harmless. */
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
    COLOR_FAINT, /* lines and words around what matters */
    COLOR_STRONG,
};

struct style {
    bool color;
    bool utf8;
};

/* With colours or without; UTF-8 unless the locale has another character set. */
struct style style_make(bool color);

/* Switches the colour; COLOR_PLAIN ends it. */
void style_color(const struct style *style, struct output *out, enum color color);
void style_text(const struct style *style, struct output *out, enum color color, const char *text);

/* A name: what is not printable here becomes \xNN, so that no input can play with the terminal. */
void style_name(const struct style *style, struct output *out, enum color color, const char *name);
/* How many columns style_name takes. */
size_t style_width(const struct style *style, const char *name);

/* The same for files, as UTF-8 and without colours; `escape` gives what stands for a character, or
 * NULL for itself. style_xml: in an SVG. */
void style_escaped(struct output *out, const char *text, const char *(*escape)(char c));
void style_xml(struct output *out, const char *text);

/* The same care for messages on stderr. */
void print_safely(FILE *to, const char *text);

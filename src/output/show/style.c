/* Colours, character sets and escaping of names. */
#include "output/show/style.h"

#include <langinfo.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const codes[] = {
    [COLOR_PLAIN] = "\033[0m",  [COLOR_PROCESS] = "\033[1;36m", [COLOR_RESOURCE] = "\033[33m",
    [COLOR_BAD] = "\033[1;31m", [COLOR_GOOD] = "\033[32m",      [COLOR_FAINT] = "\033[2m",
    [COLOR_STRONG] = "\033[1m",
};

/* Returns the locale set by the user, or NULL. */
static const char *locale_set(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        const char *value = getenv(variables[i]);
        if (value && *value)
            return value;
    }
    return NULL;
}

static bool locale_is_utf8(void)
{
    const char *set = locale_set();
    if (!set)
        return false; /* the C locale */
    if (setlocale(LC_CTYPE, ""))
        return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
    /* The locale is not installed; only its name is known. */
    const char *dot = strchr(set, '.');
    return dot && (strncasecmp(dot, ".utf-8", 6) == 0 || strncasecmp(dot, ".utf8", 5) == 0);
}

struct style style_make(bool color)
{
    return (struct style){.color = color, .utf8 = locale_is_utf8()};
}

void style_color(const struct style *style, struct output *out, enum color color)
{
    if (style->color)
        output_text(out, codes[color]);
}

static void begin_color(const struct style *style, struct output *out, enum color color)
{
    if (color != COLOR_PLAIN)
        style_color(style, out, color);
}

static void end_color(const struct style *style, struct output *out, enum color color)
{
    if (color != COLOR_PLAIN)
        style_color(style, out, COLOR_PLAIN);
}

void style_text(const struct style *style, struct output *out, enum color color, const char *text)
{
    begin_color(style, out, color);
    output_text(out, text);
    end_color(style, out, color);
}

/* Returns the length of the valid, printable character at the start, or 0. */
static size_t printable_length(const char *text, bool utf8)
{
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 0x80)
        return c[0] >= 0x20 && c[0] != 0x7f;
    if (!utf8 || c[0] < 0xc2 || c[0] > 0xf4)
        return 0;
    size_t length = c[0] < 0xe0 ? 2 : c[0] < 0xf0 ? 3 : 4;
    for (size_t i = 1; i < length; i++)
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    bool overlong = (c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xf0 && c[1] < 0x90);
    bool beyond = (c[0] == 0xed && c[1] >= 0xa0) || (c[0] == 0xf4 && c[1] >= 0x90);
    bool control = c[0] == 0xc2 && c[1] < 0xa0;
    return overlong || beyond || control ? 0 : length;
}

void style_name(const struct style *style, struct output *out, enum color color, const char *name)
{
    begin_color(style, out, color);
    while (*name) {
        size_t length = printable_length(name, style->utf8);
        if (length)
            output_bytes(out, name, length);
        else
            output_format(out, "\\x%02x", (unsigned char)*name);
        name += length ? length : 1;
    }
    end_color(style, out, color);
}

size_t style_width(const struct style *style, const char *name)
{
    size_t width = 0;
    while (*name) {
        size_t length = printable_length(name, style->utf8);
        width += length ? 1 : 4;
        name += length ? length : 1;
    }
    return width;
}

void style_escaped(struct output *out, const char *text, const char *(*escape)(char c))
{
    const struct style plain = {.color = false, .utf8 = true};
    struct output safe;
    if (!output_open(&safe, OUTPUT_MEMORY))
        return;
    style_name(&plain, &safe, COLOR_PLAIN, text);
    for (size_t i = 0; i < safe.used; i++) {
        const char *other = escape(safe.buffer[i]);
        if (other)
            output_text(out, other);
        else
            output_char(out, safe.buffer[i]);
    }
    output_close(&safe);
}

static const char *xml_entity(char c)
{
    return c == '<' ? "&lt;" : c == '&' ? "&amp;" : c == '"' ? "&quot;" : NULL;
}

void style_xml(struct output *out, const char *text)
{
    style_escaped(out, text, xml_entity);
}

void print_safely(FILE *to, const char *text)
{
    while (*text) {
        size_t length = printable_length(text, true);
        if (length)
            fwrite(text, 1, length, to);
        else
            fprintf(to, "\\x%02x", (unsigned char)*text);
        text += length ? length : 1;
    }
}

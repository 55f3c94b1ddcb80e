#include "lab/papers/flat.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct flat flat_open(const char *text, size_t size)
{
    return (struct flat){.at = text, .end = text + size};
}

static bool give_up(struct flat *flat, const char *why)
{
    flat->why = why;
    return false;
}

static void skip_blanks(struct flat *flat)
{
    while (flat->at < flat->end && strchr(" \t\r\n", *flat->at) && *flat->at)
        flat->at++;
}

/* Takes the character if it is next. */
static bool take_char(struct flat *flat, char wanted)
{
    skip_blanks(flat);
    if (flat->at == flat->end || *flat->at != wanted)
        return false;
    flat->at++;
    return true;
}

/* The four digits of \u, below U+0800 or as they are in UTF-8; pairs of surrogates do not occur in
 * what this program writes. */
static bool take_code(struct flat *flat, char *out, size_t *used)
{
    unsigned code = 0;
    for (int i = 0; i < 4; i++, flat->at++) {
        const char *digits = "0123456789abcdef", *digit;
        if (flat->at == flat->end || *flat->at == '\0')
            return give_up(flat, "a text ends within \\u");
        digit = strchr(digits, *flat->at | 0x20);
        if (!digit)
            return give_up(flat, "\\u needs four digits");
        code = code * 16 + (unsigned)(digit - digits);
    }
    if (code >= 0xd800 && code < 0xe000)
        return give_up(flat, "\\u with half of a character");
    if (code >= 0x800) {
        out[(*used)++] = (char)(0xe0 | code >> 12);
        out[(*used)++] = (char)(0x80 | (code >> 6 & 0x3f));
    } else if (code >= 0x80) {
        out[(*used)++] = (char)(0xc0 | code >> 6);
    }
    out[(*used)++] = (char)(code < 0x80 ? code : 0x80 | (code & 0x3f));
    return true;
}

static bool take_escape(struct flat *flat, char *out, size_t *used)
{
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    if (flat->at == flat->end)
        return give_up(flat, "a text without an end");
    char c = *flat->at++;
    if (c == 'u')
        return take_code(flat, out, used);
    const char *found = c ? strchr(from, c) : NULL;
    if (!found)
        return give_up(flat, "an unknown escape in a text");
    out[(*used)++] = to[found - from];
    return true;
}

static bool take_text(struct flat *flat, char *out, size_t room)
{
    size_t used = 0;
    if (!take_char(flat, '"'))
        return give_up(flat, "a text was expected");
    while (flat->at < flat->end && *flat->at != '"') {
        if (used + 4 > room)
            return give_up(flat, "a text that is too long");
        char c = *flat->at++;
        if (c != '\\')
            out[used++] = c;
        else if (!take_escape(flat, out, &used))
            return false;
    }
    out[used] = '\0';
    return take_char(flat, '"') || give_up(flat, "a text without an end");
}

/* A number, true, false or null. */
static bool take_word(struct flat *flat, struct flat_member *member)
{
    size_t used = 0;
    skip_blanks(flat);
    while (flat->at < flat->end && !strchr(",} \t\r\n", *flat->at) && used + 1 < FLAT_TEXT_MOST)
        member->text[used++] = *flat->at++;
    member->text[used] = '\0';
    if (strcmp(member->text, "true") == 0 || strcmp(member->text, "false") == 0 ||
        strcmp(member->text, "null") == 0)
        return true;
    char *end;
    member->number = strtod(member->text, &end);
    if (used == 0 || *end || !isfinite(member->number)) {
        member->number = NAN;
        return give_up(flat, "neither a text nor a number");
    }
    return true;
}

/* Up to the next member's key: false at the end of the object, or if it has none. */
static bool reach_member(struct flat *flat)
{
    const bool first = !flat->begun;
    if (flat->ended)
        return false;
    if (first && !take_char(flat, '{'))
        return give_up(flat, "an object was expected");
    flat->begun = true;
    if (take_char(flat, '}')) {
        flat->ended = true;
        skip_blanks(flat);
        return flat->at < flat->end && give_up(flat, "something behind the object");
    }
    return first || take_char(flat, ',') || give_up(flat, "',' or '}' was expected");
}

bool flat_next(struct flat *flat, struct flat_member *member)
{
    if (flat->why || !reach_member(flat))
        return false;
    member->number = NAN;
    if (!take_text(flat, member->key, sizeof member->key))
        return false;
    if (!take_char(flat, ':'))
        return give_up(flat, "':' was expected");
    skip_blanks(flat);
    if (flat->at < flat->end && *flat->at == '"')
        return take_text(flat, member->text, sizeof member->text);
    return take_word(flat, member);
}

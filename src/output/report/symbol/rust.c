/* Demangles names of Rust in the v0 format, which begins with _R: nested paths of identifiers with
 * back references. Only the path is written, not the generic arguments. */
#include "output/report/symbol/rust.h"

#include <string.h>

#define DEPTH_MOST 64
#define NAME_MOST  RUST_NAME_MOST

struct reader {
    const char *begin, *at;
    char *to;
    size_t used;
    unsigned depth;
    unsigned muted; /* above 0: parse without output */
    bool failed;
};

static void read_path(struct reader *reader);
static void read_type(struct reader *reader);

static void put_text(struct reader *reader, const char *text, size_t length)
{
    if (reader->muted || reader->failed)
        return;
    reader->failed = reader->used + length + 1 > NAME_MOST;
    if (reader->failed)
        return;
    memcpy(reader->to + reader->used, text, length);
    reader->used += length;
}

static bool take_letter(struct reader *reader, char letter)
{
    if (reader->failed || *reader->at != letter)
        return false;
    reader->at++;
    return true;
}

/* Reads a number in base 62 that ends with "_". "_" alone is 0, "0_" is 1. */
static size_t take_number(struct reader *reader)
{
    static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t value = 0;
    if (take_letter(reader, '_'))
        return 0;
    while (!reader->failed && !take_letter(reader, '_')) {
        const char *digit = *reader->at ? strchr(digits, *reader->at) : NULL;
        reader->failed = !digit; /* larger numbers only occur in disambiguators */
        if (reader->failed)
            return 0;
        value = value * 62 + (size_t)(digit - digits);
        reader->at++;
    }
    return value + 1;
}

static void skip_disambiguator(struct reader *reader)
{
    if (take_letter(reader, 's'))
        take_number(reader);
}

/* Reads "14lock_contended". */
static void take_identifier(struct reader *reader)
{
    size_t length = 0;
    skip_disambiguator(reader);
    reader->failed = reader->failed || *reader->at < '0' || *reader->at > '9';
    while (!reader->failed && *reader->at >= '0' && *reader->at <= '9' && length < NAME_MOST)
        length = length * 10 + (size_t)(*reader->at++ - '0');
    take_letter(reader, '_');
    reader->failed = reader->failed || length > strlen(reader->at);
    if (reader->failed)
        return;
    put_text(reader, reader->at, length);
    reader->at += length;
}

/* Reads an earlier part of the name again. */
static void follow_reference(struct reader *reader, void (*read)(struct reader *))
{
    size_t place = take_number(reader);
    const char *back = reader->at;
    reader->failed = reader->failed || place >= (size_t)(back - reader->begin);
    if (reader->failed)
        return;
    reader->at = reader->begin + place;
    read(reader);
    reader->at = back;
}

/* Reads <T as P> or <T>. */
static void read_implementation(struct reader *reader, char tag)
{
    if (tag != 'Y') {
        skip_disambiguator(reader);
        reader->muted++;
        read_path(reader);
        reader->muted--;
    }
    if (tag != 'M')
        put_text(reader, "<", 1);
    read_type(reader);
    if (tag == 'M')
        return;
    put_text(reader, " as ", 4);
    read_path(reader);
    put_text(reader, ">", 1);
}

/* Skips arguments. Lifetimes are supported; constants are not. */
static void read_arguments(struct reader *reader)
{
    reader->muted++;
    while (!reader->failed && !take_letter(reader, 'E')) {
        if (take_letter(reader, 'L'))
            take_number(reader);
        else
            read_type(reader);
    }
    reader->muted--;
}

static void read_nested(struct reader *reader)
{
    char space = *reader->at;
    reader->failed = reader->failed || !space;
    if (reader->failed)
        return;
    reader->at++;
    read_path(reader);
    put_text(reader, "::", 2);
    size_t before = reader->used;
    take_identifier(reader);
    if (space == 'C' && reader->used == before)
        put_text(reader, "{closure}", 9);
}

static void read_path(struct reader *reader)
{
    char tag = *reader->at;
    reader->failed = reader->failed || ++reader->depth > DEPTH_MOST || !tag;
    if (reader->failed)
        return;
    reader->at++;
    switch (tag) {
    case 'C':
        take_identifier(reader);
        break;
    case 'N':
        read_nested(reader);
        break;
    case 'M':
    case 'X':
    case 'Y':
        read_implementation(reader, tag);
        break;
    case 'I':
        read_path(reader);
        read_arguments(reader);
        break;
    case 'B':
        follow_reference(reader, read_path);
        break;
    default:
        reader->failed = true;
    }
    reader->depth--;
}

static void read_type(struct reader *reader)
{
    char tag = *reader->at;
    if (reader->failed || ++reader->depth > DEPTH_MOST) {
        reader->failed = true;
        return;
    }
    if (tag && strchr("CNMXYI", tag)) {
        read_path(reader);
    } else if (take_letter(reader, 'B')) {
        follow_reference(reader, read_type);
    } else if (tag && strchr("RQPOS", tag)) { /* references, pointers, slices */
        reader->at++;
        if (take_letter(reader, 'L'))
            take_number(reader);
        put_text(reader, "&", tag == 'R' || tag == 'Q');
        read_type(reader);
    } else if (take_letter(reader, 'T')) {
        put_text(reader, "()", 2);
        read_arguments(reader);
    } else if (tag >= 'a' && tag <= 'z') {
        put_text(reader, &tag, 1);
        reader->at++;
    } else {
        reader->failed = true;
    }
    reader->depth--;
}

bool rust_demangle(const char *name, char to[RUST_NAME_MOST])
{
    struct reader reader = {.begin = name + 2, .at = name + 2, .to = to};
    if (strncmp(name, "_R", 2) != 0)
        return false;
    read_path(&reader);
    to[reader.failed ? 0 : reader.used] = '\0';
    return !reader.failed && reader.used;
}

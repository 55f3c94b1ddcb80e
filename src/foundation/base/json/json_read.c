#include "foundation/base/json/json_read.h"

#include "foundation/base/error.h"
#include "foundation/base/json/json_write.h"

#include <math.h>
#include <stdlib.h>

struct json_reader {
    struct arena *arena;
    const char *start, *at, *end;
    char *copy;  /* copy of the bytes, in which texts are ended by a NUL; NULL: the caller's bytes
                    are used */
    bool unique; /* keys must be unique */
    unsigned depth;
    gordian_error *error;
    gordian_status status; /* of the first error */
};

static struct value *json_value(struct json_reader *reader);

/* Reports an error and where it is. Returns NULL, for the callers. */
static struct value *json_fault(struct json_reader *reader, const char *what)
{
    uint64_t line = 1;
    const char *begin = reader->start;
    if (reader->status != GORDIAN_OK)
        return NULL;
    for (const char *c = reader->start; c < reader->at; c++) {
        if (*c == '\n') {
            line++;
            begin = c + 1;
        }
    }
    reader->status = fail_at(reader->error, GORDIAN_STATUS_INPUT, line,
                             (uint64_t)(reader->at - begin) + 1, "%s", what);
    return NULL;
}

static struct value *json_no_memory(struct json_reader *reader)
{
    if (reader->status == GORDIAN_OK)
        reader->status = fail_memory(reader->error);
    return NULL;
}

static void pass_blanks(struct json_reader *reader)
{
    while (reader->at < reader->end && (*reader->at == ' ' || *reader->at == '\n' ||
                                        *reader->at == '\r' || *reader->at == '\t'))
        reader->at++;
}

/* Skips blanks and then `c`; false: the next character is another. */
static bool pass_char(struct json_reader *reader, char c)
{
    pass_blanks(reader);
    if (reader->at == reader->end || *reader->at != c)
        return false;
    reader->at++;
    return true;
}

/* ------------------------------------------------------------------ strings */

static char *write_utf8(char *to, uint32_t code)
{
    if (code < 0x80) {
        *to++ = (char)code;
    } else if (code < 0x800) {
        *to++ = (char)(0xc0 | code >> 6);
        *to++ = (char)(0x80 | (code & 63));
    } else if (code < 0x10000) {
        *to++ = (char)(0xe0 | code >> 12);
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    } else {
        *to++ = (char)(0xf0 | code >> 18);
        *to++ = (char)(0x80 | (code >> 12 & 63));
        *to++ = (char)(0x80 | (code >> 6 & 63));
        *to++ = (char)(0x80 | (code & 63));
    }
    return to;
}

/* Parses four hexadecimal digits at `at`; -1: malformed. */
static int32_t hex_digits(const char *at, const char *end)
{
    int32_t code = 0;
    if (end - at < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = at[i];
        int digit = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : -1;
        if (digit < 0)
            return -1;
        code = code << 4 | digit;
    }
    return code;
}

/* Decodes \uXXXX, or a surrogate pair of two. Moves *at behind it. */
static int32_t escaped_code(const char **at, const char *end, bool strict)
{
    int32_t code = hex_digits(*at, end);
    if (code < 0 || (strict && code == 0))
        return -1;
    *at += 4;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    int32_t low =
        end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u' ? hex_digits(*at + 2, end) : -1;
    if (code > 0xdbff || low < 0xdc00 || low > 0xdfff)
        return strict ? -1 : 0xfffd; /* half of a surrogate pair */
    *at += 6;
    return 0x10000 + (code - 0xd800) * 0x400 + (low - 0xdc00);
}

/* Decodes the escapes between `from` and `to`. The text never gets longer. */
static struct value *unescape_text(struct json_reader *reader, struct value *value,
                                   const char *from, const char *to)
{
    static const char letters[] = "\"\\/bfnrt", stand[] = "\"\\/\b\f\n\r\t";
    char *text = arena_alloc(reader->arena, (size_t)(to - from) + 1), *end = text;
    if (!text)
        return json_no_memory(reader);
    while (from < to) {
        if (*from != '\\') {
            *end++ = *from++;
            continue;
        }
        const char *letter = memchr(letters, from[1], sizeof letters - 1);
        from += 2;
        if (letter) {
            *end++ = stand[letter - letters];
            continue;
        }
        int32_t code = from[-1] == 'u' ? escaped_code(&from, to, reader->copy) : -1;
        if (code < 0) {
            reader->at = from - 2;
            return json_fault(reader, "unknown escape sequence");
        }
        end = write_utf8(end, (uint32_t)code);
    }
    value->text = text;
    value->count = (uint32_t)(end - text);
    return value;
}

static bool is_utf8(const char *from, const char *to)
{
    while (from < to) {
        size_t length = utf8_length((const unsigned char *)from);
        if (length == 0)
            return false;
        from += length;
    }
    return true;
}

/* Reads a string. The first quote was read. */
static struct value *json_string(struct json_reader *reader)
{
    const char *from = reader->at, *c = from;
    bool escapes = false;
    while (c < reader->end && *c != '"' && (unsigned char)*c >= ' ') {
        escapes |= *c == '\\';
        c += *c == '\\' && c + 1 < reader->end ? 2 : 1;
    }
    if (c >= reader->end || *c != '"') {
        reader->at = c < reader->end ? c : reader->end;
        return json_fault(reader, "unterminated string");
    }
    struct value *value = value_new(reader->arena, VALUE_TEXT);
    if (!value || c - from > UINT32_MAX / 2)
        return json_no_memory(reader);
    value->text = from;
    value->count = (uint32_t)(c - from);
    if (reader->copy && !is_utf8(from, c))
        return json_fault(reader, "string is not UTF-8");
    if (escapes && !unescape_text(reader, value, from, c))
        return NULL;
    if (reader->copy)
        reader->copy[c - reader->start] = '\0';
    reader->at = c + 1;
    return value;
}

/* ------------------------------------------------------------------ the rest */

static const char *pass_digits(const char *c)
{
    while (*c >= '0' && *c <= '9')
        c++;
    return c;
}

/* Skips a fraction and an exponent: .5, e-3. A NUL ends the bytes, so nothing is read beyond them.
 */
static const char *pass_fraction(const char *c)
{
    if (*c == '.')
        c = pass_digits(c + 1);
    if (*c == 'e' || *c == 'E') {
        c += c[1] == '+' || c[1] == '-' ? 2 : 1;
        c = pass_digits(c);
    }
    return c;
}

/* Converts the digits; false: 2^63 or more. */
static bool whole_number(const char *digits, const char *end, int64_t *number)
{
    uint64_t value = 0;
    if (end - digits > 19)
        return false;
    for (const char *c = digits; c < end; c++)
        value = 10 * value + (uint64_t)(*c - '0');
    *number = (int64_t)value;
    return value <= INT64_MAX;
}

static struct value *json_number(struct json_reader *reader)
{
    const char *from = reader->at, *digits = from + (*from == '-');
    const char *whole = pass_digits(digits), *to = pass_fraction(whole);
    if (whole == digits || (*digits == '0' && whole > digits + 1) ||
        (to > whole && !(to[-1] >= '0' && to[-1] <= '9')))
        return json_fault(reader, "expected a value");
    struct value *value = value_new(reader->arena, VALUE_INTEGER);
    if (!value)
        return json_no_memory(reader);
    reader->at = to;
    if (to > whole || !whole_number(digits, whole, &value->integer)) {
        value->kind = VALUE_REAL;
        value->real = strtod(from, NULL);
        if (reader->copy && isinf(value->real))
            return json_fault(reader, "number is too large");
    } else if (digits > from) {
        value->integer = -value->integer;
    }
    return value;
}

static struct value *json_word(struct json_reader *reader)
{
    static const struct {
        const char *word;
        uint8_t kind;
        double real;
    } words[] = {
        {"null", VALUE_NONE, 0},
        {"true", VALUE_BOOL, 1},
        {"false", VALUE_BOOL, 0},
        {"NaN", VALUE_REAL, NAN},
        {"Infinity", VALUE_REAL, INFINITY},
        {"-Infinity", VALUE_REAL, -INFINITY},
    };
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t length = strlen(words[i].word);
        if ((reader->copy && words[i].kind == VALUE_REAL) ||
            (size_t)(reader->end - reader->at) < length ||
            memcmp(reader->at, words[i].word, length) != 0)
            continue;
        struct value *value = value_new(reader->arena, words[i].kind);
        if (!value)
            return json_no_memory(reader);
        if (value->kind == VALUE_REAL)
            value->real = words[i].real;
        else
            value->integer = words[i].real != 0;
        reader->at += length;
        return value;
    }
    return json_number(reader);
}

/* Is the key different from all earlier ones? */
static bool is_new_key(const struct value *dict, const struct value *key)
{
    if (dict->count >= JSON_UNIQUE_MOST)
        return false;
    for (uint32_t i = 0; i < dict->count; i++) {
        const struct value *other = dict->items[2 * i];
        if (other->count == key->count && memcmp(other->text, key->text, key->count) == 0)
            return false;
    }
    return true;
}

/* Reads one item of a list, or one pair of an object. */
static bool json_element(struct json_reader *reader, struct value *value)
{
    bool dict = value->kind == VALUE_DICT;
    struct value *key = NULL;
    uint32_t used = dict ? 2 * value->count : value->count;
    if (dict) {
        if (!pass_char(reader, '"'))
            return json_fault(reader, "expected a key");
        key = json_string(reader);
        if (key && !pass_char(reader, ':'))
            return json_fault(reader, "expected ':' after a key");
        if (!key)
            return false;
        if (reader->unique && !is_new_key(value, key))
            return json_fault(reader, "duplicate key, or too many keys");
    }
    struct value *item = json_value(reader);
    if (!item)
        return false;
    if ((key && !value_push(reader->arena, value, used++, key)) ||
        !value_push(reader->arena, value, used, item))
        return json_no_memory(reader);
    value->count++;
    return true;
}

static struct value *json_list(struct json_reader *reader, enum value_kind kind, char closer)
{
    struct value *value = value_new(reader->arena, kind);
    if (!value)
        return json_no_memory(reader);
    if (++reader->depth > JSON_DEPTH_MOST)
        return json_fault(reader, "lists and objects are nested too deeply");
    if (!pass_char(reader, closer)) {
        do {
            if (!json_element(reader, value))
                return NULL;
        } while (pass_char(reader, ','));
        if (!pass_char(reader, closer))
            return json_fault(reader,
                              kind == VALUE_LIST ? "expected ',' or ']'" : "expected ',' or '}'");
    }
    reader->depth--;
    return value;
}

static struct value *json_value(struct json_reader *reader)
{
    pass_blanks(reader);
    if (reader->at == reader->end)
        return json_fault(reader, "unexpected end of the text");
    switch (*reader->at) {
    case '{':
        reader->at++;
        return json_list(reader, VALUE_DICT, '}');
    case '[':
        reader->at++;
        return json_list(reader, VALUE_LIST, ']');
    case '"':
        reader->at++;
        return json_string(reader);
    default:
        return json_word(reader);
    }
}

static gordian_status read_document(const struct value **out, struct json_reader *reader)
{
    struct value *value = json_value(reader);
    pass_blanks(reader);
    if (value && reader->at != reader->end)
        value = json_fault(reader, "unexpected text after the end");
    if (value)
        *out = value;
    return reader->status;
}

gordian_status json_read(const struct value **out, struct arena *arena, const char *bytes,
                         size_t size, gordian_error *error)
{
    struct json_reader reader = {
        .arena = arena, .start = bytes, .at = bytes, .end = bytes + size, .error = error};
    return read_document(out, &reader);
}

gordian_status json_read_strictly(const struct value **out, struct arena *arena, const char *bytes,
                                  size_t size, bool unique, gordian_error *error)
{
    char *copy = arena_text(arena, bytes, size);
    struct json_reader reader = {.arena = arena,
                                 .start = copy,
                                 .at = copy,
                                 .end = copy + size,
                                 .copy = copy,
                                 .unique = unique,
                                 .error = error};
    return copy ? read_document(out, &reader) : fail_memory(error);
}

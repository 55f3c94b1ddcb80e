#include "cli/service/json_read.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blanks(struct json_value *rest)
{
    while (rest->length > 0 && is_blank(*rest->text)) {
        rest->text++;
        rest->length--;
    }
}

static void skip(struct json_value *rest, size_t count)
{
    rest->text += count;
    rest->length -= count;
}

/* The length of the string at the start, quotes included; 0: it does not end. */
static size_t string_length(struct json_value rest)
{
    for (size_t i = 1; i < rest.length; i++) {
        if (rest.text[i] == '\\')
            i++;
        else if (rest.text[i] == '"')
            return i + 1;
    }
    return 0;
}

/* The length of the object or array at the start; 0: it does not end. */
static size_t nest_length(struct json_value rest)
{
    size_t depth = 0;
    for (size_t i = 0; i < rest.length; i++) {
        char c = rest.text[i];
        if (c == '"') {
            size_t length = string_length((struct json_value){rest.text + i, rest.length - i});
            if (length == 0)
                return 0;
            i += length - 1;
        } else if (c == '{' || c == '[') {
            depth++;
        } else if ((c == '}' || c == ']') && --depth == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Takes the value at the start. */
static bool take_value(struct json_value *rest, struct json_value *value)
{
    skip_blanks(rest);
    if (rest->length == 0)
        return false;
    size_t length = 0;
    if (*rest->text == '"')
        length = string_length(*rest);
    else if (*rest->text == '{' || *rest->text == '[')
        length = nest_length(*rest);
    else
        while (length < rest->length && !is_blank(rest->text[length]) &&
               !memchr(",:]}", rest->text[length], 4))
            length++;
    if (length == 0)
        return false;
    *value = (struct json_value){rest->text, length};
    skip(rest, length);
    skip_blanks(rest);
    return true;
}

static bool take_char(struct json_value *rest, char c)
{
    skip_blanks(rest);
    if (rest->length == 0 || *rest->text != c)
        return false;
    skip(rest, 1);
    return true;
}

struct json_value json_line(const char *text, size_t length)
{
    struct json_value rest = {text, length}, value = {text, 0};
    take_value(&rest, &value);
    return value;
}

bool json_member(struct json_value object, const char *key, struct json_value *value)
{
    struct json_value name, found;
    size_t length = strlen(key);
    if (!take_char(&object, '{'))
        return false;
    while (take_value(&object, &name) && take_char(&object, ':') && take_value(&object, &found)) {
        if (name.length == length + 2 && memcmp(name.text + 1, key, length) == 0) {
            *value = found;
            return true;
        }
        if (!take_char(&object, ','))
            return false;
    }
    return false;
}

struct json_value json_items(struct json_value array)
{
    if (array.length < 2 || array.text[0] != '[' || array.text[array.length - 1] != ']')
        return (struct json_value){array.text, 0};
    return (struct json_value){array.text + 1, array.length - 2};
}

bool json_item(struct json_value *rest, struct json_value *item)
{
    if (!take_value(rest, item))
        return false;
    if (rest->length > 0 && !take_char(rest, ','))
        rest->length = 0;
    return true;
}

/* Four hexadecimal digits; -1: they are not. */
static long take_hex(const char *text, size_t left)
{
    long code = 0;
    if (left < 4)
        return -1;
    for (int i = 0; i < 4; i++) {
        char c = text[i];
        if (!memchr("0123456789abcdefABCDEF", c, 22))
            return -1;
        code = code * 16 + (c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
    }
    return code;
}

/* The bytes of a code point; how many. */
static size_t put_utf8(char *to, long code)
{
    if (code < 0x80) {
        to[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        to[0] = (char)(0xc0 | code >> 6);
        to[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        to[0] = (char)(0xe0 | code >> 12);
        to[1] = (char)(0x80 | (code >> 6 & 63));
        to[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    to[0] = (char)(0xf0 | code >> 18);
    to[1] = (char)(0x80 | (code >> 12 & 63));
    to[2] = (char)(0x80 | (code >> 6 & 63));
    to[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* One character after a backslash, at text[0]; *used of it. Returns the bytes it stands for. */
static size_t unescape(const char *text, size_t left, size_t *used, char to[4])
{
    static const char from[] = "bfnrt", meant[] = "\b\f\n\r\t";
    const char *found = memchr(from, text[0], sizeof from - 1);
    *used = 1;
    if (found) {
        to[0] = meant[found - from];
        return 1;
    }
    if (text[0] != 'u') {
        to[0] = text[0];
        return 1;
    }
    long code = take_hex(text + 1, left - 1);
    if (code < 0)
        return 0;
    *used = 5;
    if (code >= 0xd800 && code < 0xdc00 && left >= 11 && text[5] == '\\' && text[6] == 'u') {
        long low = take_hex(text + 7, left - 7);
        if (low >= 0xdc00 && low < 0xe000) {
            code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
            *used = 11;
        }
    }
    return put_utf8(to, code);
}

bool json_string(struct json_value value, char *buffer, size_t size)
{
    size_t used = 0;
    buffer[0] = '\0';
    if (value.length < 2 || value.text[0] != '"' || value.text[value.length - 1] != '"')
        return false;
    for (size_t i = 1; i < value.length - 1;) {
        char bytes[4] = {value.text[i]};
        size_t count = 1, taken = 1;
        if (value.text[i] == '\\' && i + 1 < value.length - 1) {
            count = unescape(value.text + i + 1, value.length - 2 - i, &taken, bytes);
            taken++;
        }
        if (used + count >= size)
            break;
        memcpy(buffer + used, bytes, count);
        used += count;
        i += taken;
    }
    buffer[used] = '\0';
    return true;
}

bool json_number(struct json_value value, uint64_t *number)
{
    *number = 0;
    for (size_t i = 0; i < value.length; i++) {
        if (value.text[i] < '0' || value.text[i] > '9' ||
            __builtin_mul_overflow(*number, 10, number) ||
            __builtin_add_overflow(*number, (uint64_t)(value.text[i] - '0'), number))
            return false;
    }
    return value.length > 0;
}

bool json_is(struct json_value value, const char *word)
{
    return value.length == strlen(word) && memcmp(value.text, word, value.length) == 0;
}

bool json_member_string(struct json_value object, const char *key, char *buffer, size_t size)
{
    struct json_value value;
    buffer[0] = '\0';
    return json_member(object, key, &value) && json_string(value, buffer, size);
}

bool json_member_number(struct json_value object, const char *key, uint64_t *number)
{
    struct json_value value;
    *number = 0;
    return json_member(object, key, &value) && json_number(value, number);
}

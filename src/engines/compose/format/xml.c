/* A small XML parser (xml.h). */
#include "engines/compose/format/xml.h"

#include <string.h>

void xml_open(struct xml *xml, const struct text *text, gordian_fault *fault, gordian_error *error)
{
    *xml = (struct xml){.scan = scan_begin(text, fault, error)};
    xml->place = xml->scan.at;
}

gordian_status xml_complain(const struct xml *xml, const char *what)
{
    struct text_scan at = scan_begin(xml->scan.text, xml->scan.fault, xml->scan.error);
    for (; at.at < xml->place; at.at++)
        if (*at.at == '\n')
            scan_new_line(&at);
    return scan_complain(&at, xml->place, what);
}

static size_t left_of(const struct xml *xml)
{
    return (size_t)(xml->scan.end - xml->scan.at);
}

static bool sees_text(const struct xml *xml, const char *wanted)
{
    size_t length = strlen(wanted);
    return left_of(xml) >= length && memcmp(xml->scan.at, wanted, length) == 0;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_xml_blanks(struct xml *xml)
{
    while (xml->scan.at < xml->scan.end && is_blank(*xml->scan.at))
        xml->scan.at++;
}

/* Advances behind the end mark. *inside: the text before it. */
static gordian_status skip_past(struct xml *xml, const char *end, struct xml_slice *inside)
{
    size_t length = strlen(end);
    const char *start = xml->scan.at;
    for (; left_of(xml) >= length; xml->scan.at++) {
        if (memcmp(xml->scan.at, end, length) != 0)
            continue;
        if (inside)
            *inside = (struct xml_slice){start, (size_t)(xml->scan.at - start)};
        xml->scan.at += length;
        return GORDIAN_OK;
    }
    return xml_complain(xml, "this is not terminated");
}

static struct xml_slice read_xml_name(struct xml *xml)
{
    struct xml_slice name = {xml->scan.at, 0};
    for (; xml->scan.at < xml->scan.end; xml->scan.at++) {
        char c = *xml->scan.at;
        if (!((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || c == '-' || c == '.' || c == ':' || (unsigned char)c >= 0x80))
            break;
    }
    name.length = (size_t)(xml->scan.at - name.text);
    return name;
}

/* pnml:place becomes place. */
static struct xml_slice without_prefix(struct xml_slice name)
{
    const char *colon = name.length ? memchr(name.text, ':', name.length) : NULL;
    size_t skip = colon ? (size_t)(colon + 1 - name.text) : 0;
    return (struct xml_slice){name.text + skip, name.length - skip};
}

static gordian_status read_xml_attribute(struct xml *xml)
{
    struct xml_slice name = read_xml_name(xml), value;
    skip_xml_blanks(xml);
    if (name.length == 0 || !sees_text(xml, "="))
        return xml_complain(xml, "expected name=\"value\" or '>' in this element");
    xml->scan.at++;
    skip_xml_blanks(xml);
    if (!sees_text(xml, "\"") && !sees_text(xml, "'"))
        return xml_complain(xml, "a value in this element has no quotes");
    const char quote[2] = {*xml->scan.at++, '\0'};
    TRY(skip_past(xml, quote, &value));
    if (xml->attribute_count == XML_ATTRIBUTES_MAX)
        return xml_complain(xml, "too many attributes");
    xml->attributes[xml->attribute_count].name = without_prefix(name);
    xml->attributes[xml->attribute_count++].value = value;
    return GORDIAN_OK;
}

static gordian_status read_xml_close(struct xml *xml)
{
    xml->scan.at += 2;
    struct xml_slice name = read_xml_name(xml);
    skip_xml_blanks(xml);
    if (!sees_text(xml, ">"))
        return xml_complain(xml, "'>' is missing");
    xml->scan.at++;
    if (xml->depth == 0 || xml->open[xml->depth - 1].length != name.length ||
        memcmp(xml->open[xml->depth - 1].text, name.text, name.length) != 0)
        return xml_complain(xml, "this end tag does not match the element that was opened last");
    xml->depth--;
    xml->name = without_prefix(name);
    return GORDIAN_OK;
}

static void read_xml_text(struct xml *xml)
{
    const char *start = xml->scan.at;
    const char *end = memchr(start, '<', left_of(xml));
    xml->scan.at = end ? end : xml->scan.end;
    xml->text = (struct xml_slice){start, (size_t)(xml->scan.at - start)};
    xml->plain = false;
}

/* Skips comments and processing instructions. */
static gordian_status skip_others(struct xml *xml)
{
    for (;;) {
        bool comment = sees_text(xml, "<!--");
        xml->place = xml->scan.at;
        if (!comment && !sees_text(xml, "<?"))
            return GORDIAN_OK;
        xml->scan.at += comment ? 4 : 2;
        TRY(skip_past(xml, comment ? "-->" : "?>", NULL));
    }
}

gordian_status xml_next(struct xml *xml, enum xml_event *event)
{
    if (xml->empty) {
        xml->empty = false;
        xml->name = without_prefix(xml->open[--xml->depth]);
        *event = XML_CLOSE;
        return GORDIAN_OK;
    }
    TRY(skip_others(xml));
    if (xml->scan.at == xml->scan.end) {
        *event = XML_END;
        return xml->depth ? xml_complain(xml, "the text ends within an element") : GORDIAN_OK;
    }
    if (sees_text(xml, "<![CDATA[")) {
        xml->scan.at += 9;
        *event = XML_TEXT;
        xml->plain = true;
        return skip_past(xml, "]]>", &xml->text);
    }
    if (sees_text(xml, "<!"))
        return xml_complain(xml, "document type declarations are not supported");
    if (sees_text(xml, "</")) {
        *event = XML_CLOSE;
        return read_xml_close(xml);
    }
    if (sees_text(xml, "<")) {
        *event = XML_OPEN;
        xml->scan.at++;
        struct xml_slice name = read_xml_name(xml);
        xml->attribute_count = 0;
        if (name.length == 0)
            return xml_complain(xml, "expected the name of an element after '<'");
        if (xml->depth == XML_DEPTH_MAX)
            return xml_complain(xml, "elements are nested too deep");
        for (;;) {
            skip_xml_blanks(xml);
            xml->empty = sees_text(xml, "/>");
            if (xml->empty || sees_text(xml, ">"))
                break;
            TRY(read_xml_attribute(xml));
        }
        xml->scan.at += xml->empty ? 2 : 1;
        xml->open[xml->depth++] = name;
        xml->name = without_prefix(name);
        return GORDIAN_OK;
    }
    *event = XML_TEXT;
    read_xml_text(xml);
    return GORDIAN_OK;
}

bool xml_is(const struct xml *xml, const char *name)
{
    return xml->name.length == strlen(name) && memcmp(xml->name.text, name, xml->name.length) == 0;
}

/* ------------------------------------------------------------------ text expansion */

static size_t encode_utf8(uint32_t code, char bytes[4])
{
    if (code < 0x80) {
        bytes[0] = (char)code;
        return 1;
    }
    size_t more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
    static const uint8_t marks[] = {0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (char)(marks[more] | code >> (6 * more));
    for (size_t i = 1; i <= more; i++)
        bytes[i] = (char)(0x80 | (code >> (6 * (more - i)) & 0x3f));
    return more + 1;
}

/* &#65; and &#x41;. Returns 0 if it is not a character reference. */
static uint32_t numbered_character(const char *text, size_t length)
{
    uint32_t code = 0, base = length > 1 && text[1] == 'x' ? 16 : 10;
    for (size_t i = base == 16 ? 2 : 1; i < length; i++) {
        char c = text[i];
        uint32_t digit = c >= '0' && c <= '9'   ? (uint32_t)(c - '0')
                         : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                         : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                                : 99;
        if (digit >= base)
            return 0;
        code = code * base + digit;
        if (code > 0x10ffff)
            return 0;
    }
    return code;
}

/* Decodes the entity at text[0]; *used: its length. Returns the number of bytes, 0: no entity. */
static size_t decode_entity(const char *text, size_t length, char bytes[4], size_t *used)
{
    static const struct {
        const char *name;
        char byte;
    } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    const char *end = memchr(text, ';', length < 12 ? length : 12);
    if (!end)
        return 0;
    size_t inside = (size_t)(end - text) - 1;
    *used = inside + 2;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strlen(known[i].name) == inside && memcmp(text + 1, known[i].name, inside) == 0) {
            bytes[0] = known[i].byte;
            return 1;
        }
    uint32_t code = inside > 1 && text[1] == '#' ? numbered_character(text + 1, inside) : 0;
    return code ? encode_utf8(code, bytes) : 0;
}

static bool decode_slice(struct xml_slice slice, bool plain, char *buffer, size_t size)
{
    size_t used = 0;
    for (size_t i = 0; i < slice.length;) {
        char bytes[4] = {slice.text[i]};
        size_t count = 1, taken = 1;
        if (slice.text[i] == '&' && !plain)
            count = decode_entity(slice.text + i, slice.length - i, bytes, &taken);
        if (count == 0 || used + count + 1 > size)
            return false;
        memcpy(buffer + used, bytes, count);
        used += count;
        i += taken;
    }
    buffer[used] = '\0';
    return true;
}

static const struct xml_slice *find_attribute(const struct xml *xml, const char *name)
{
    for (size_t i = 0; i < xml->attribute_count; i++)
        if (xml->attributes[i].name.length == strlen(name) &&
            memcmp(xml->attributes[i].name.text, name, strlen(name)) == 0)
            return &xml->attributes[i].value;
    return NULL;
}

bool xml_has(const struct xml *xml, const char *name)
{
    return find_attribute(xml, name) != NULL;
}

bool xml_attribute(const struct xml *xml, const char *name, char *buffer, size_t size)
{
    const struct xml_slice *value = find_attribute(xml, name);
    return value && decode_slice(*value, false, buffer, size);
}

bool xml_text(const struct xml *xml, char *buffer, size_t size)
{
    struct xml_slice slice = xml->text;
    while (slice.length > 0 && is_blank(*slice.text)) {
        slice.text++;
        slice.length--;
    }
    while (slice.length > 0 && is_blank(slice.text[slice.length - 1]))
        slice.length--;
    return decode_slice(slice, xml->plain, buffer, size);
}

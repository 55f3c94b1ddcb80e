/* Parses the head of an HTTP request. */
#include "foundation/http/request.h"

#include <string.h>
#include <strings.h>

/* ------------------------------------------------------------------ the end of the head */

bool http_may_begin(const char *bytes, size_t length)
{
    while (length > 0 && (*bytes == '\r' || *bytes == '\n')) {
        bytes++;
        length--;
    }
    if (length > 0 && (*bytes <= ' ' || *bytes > '~'))
        return false;
    const char *end = memchr(bytes, '\n', length), version[] = " HTTP/";
    if (!end)
        return true;
    for (size_t size = sizeof version - 1; (size_t)(end - bytes) >= size; bytes++)
        if (memcmp(bytes, version, size) == 0)
            return true;
    return false;
}

size_t http_head_end(const char *bytes, size_t length, size_t *seen)
{
    size_t at = *seen > 3 ? *seen - 3 : 0;
    while (at + 4 <= length) {
        const char *found = memchr(bytes + at, '\r', length - 3 - at);
        if (!found)
            break;
        if (memcmp(found, "\r\n\r\n", 4) == 0)
            return (size_t)(found - bytes) + 4;
        at = (size_t)(found - bytes) + 1;
    }
    *seen = length;
    return 0;
}

/* ------------------------------------------------------------------ characters */

/* Characters of methods and header names: token in RFC 9110. */
static bool is_token(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           (c && strchr("!#$%&'*+-.^_`|~", c));
}

static int hex_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Copies text[0..length) to *out, percent-decoded and NUL-terminated. Returns NULL if it is
 * malformed. */
static const char *decode_percent(const char *text, size_t length, bool plus_is_blank, char **out)
{
    char *start = *out, *to = start;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        if (c == '%') {
            int high = length - i > 2 ? hex_value(text[i + 1]) : -1;
            int low = length - i > 2 ? hex_value(text[i + 2]) : -1;
            if (high < 0 || low < 0 || high * 16 + low == 0)
                return NULL;
            c = (char)(high * 16 + low);
            i += 2;
        } else if (c == '+' && plus_is_blank) {
            c = ' ';
        }
        *to++ = c;
    }
    *to++ = '\0';
    *out = to;
    return start;
}

/* ------------------------------------------------------------------ the first line */

static int parse_query(struct http_request *request, const char *text, char **out)
{
    while (*text) {
        size_t length = strcspn(text, "&");
        size_t key = strcspn(text, "=&");
        if (length > 0) {
            if (request->query_count == HTTP_QUERY_MAX)
                return 400;
            struct http_pair *pair = &request->query[request->query_count++];
            size_t skip = key < length ? key + 1 : length;
            pair->key = decode_percent(text, key, true, out);
            pair->value = decode_percent(text + skip, length - skip, true, out);
            if (!pair->key || !pair->value)
                return 400;
        }
        text += length + (text[length] == '&');
    }
    return 0;
}

static int parse_path(struct http_request *request, const char *path, char **out)
{
    if (*path != '/')
        return 400;
    request->path = path;
    while (*path == '/') {
        size_t length = strcspn(++path, "/");
        if (length == 0 && !path[length])
            break; /* "/", or a trailing slash */
        if (request->segment_count == HTTP_SEGMENTS_MAX)
            return 414;
        const char *segment = decode_percent(path, length, false, out);
        if (!segment)
            return 400;
        request->segments[request->segment_count++] = segment;
        path += length;
    }
    return 0;
}

static enum http_method method_of(const char *text)
{
    if (strcmp(text, "GET") == 0)
        return HTTP_GET;
    if (strcmp(text, "HEAD") == 0)
        return HTTP_HEAD;
    return strcmp(text, "POST") == 0 ? HTTP_POST : HTTP_OTHER;
}

/* Splits "GET /path?query HTTP/1.1" (NUL-terminated) in place. */
static int parse_first_line(struct http_request *request, char *line, char **out)
{
    char *target = strchr(line, ' ');
    char *version = target ? strchr(target + 1, ' ') : NULL;
    if (!version || target == line)
        return 400;
    *target++ = '\0';
    *version++ = '\0';
    for (const char *c = line; *c; c++)
        if (!is_token(*c))
            return 400;
    for (const char *c = target; *c; c++)
        if (*c <= ' ' || *c > '~')
            return 400;
    if (strcmp(version, "HTTP/1.0") == 0)
        request->version_1_0 = true;
    else if (strcmp(version, "HTTP/1.1") != 0)
        return strncmp(version, "HTTP/", 5) == 0 ? 505 : 400;
    request->keep_alive = !request->version_1_0;
    request->method = method_of(line);
    char *question = strchr(target, '?');
    if (question)
        *question++ = '\0';
    int status = parse_path(request, target, out);
    return status || !question ? status : parse_query(request, question, out);
}

/* ------------------------------------------------------------------ headers */

static int take_length(struct http_request *request, const char *value, bool *seen)
{
    uint64_t length = 0;
    if (*seen || !*value)
        return 400;
    *seen = true;
    for (; *value; value++) {
        if (*value < '0' || *value > '9' || length > UINT64_MAX / 10 - 1)
            return 400;
        length = length * 10 + (uint64_t)(*value - '0');
    }
    request->content_length = length;
    return 0;
}

/* Is the word an item of the comma-separated list? */
static bool lists_token(const char *value, const char *word)
{
    size_t length = strlen(word);
    while (*value) {
        value += strspn(value, " \t,");
        size_t size = strcspn(value, " \t,");
        if (size == length && strncasecmp(value, word, length) == 0)
            return true;
        value += size;
    }
    return false;
}

static int take_header(struct http_request *request, const char *name, const char *value,
                       bool *length_seen)
{
    struct {
        const char *name;
        const char **slot;
    } kept[] = {
        {"Host", &request->host},
        {"Authorization", &request->authorization},
        {"Cookie", &request->cookie},
        {"Content-Type", &request->content_type},
        {"Origin", &request->origin},
        {"Accept-Encoding", &request->accept_encoding},
        {"If-None-Match", &request->if_none_match},
        {"Last-Event-ID", &request->last_event_id},
        {"Sec-Fetch-Site", &request->fetch_site},
        {"Sec-Fetch-Dest", &request->fetch_dest},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (strcasecmp(name, kept[i].name) == 0) {
            if (*kept[i].slot)
                return 400; /* sent twice */
            *kept[i].slot = value;
            return 0;
        }
    if (strcasecmp(name, "Content-Length") == 0)
        return take_length(request, value, length_seen);
    if (strcasecmp(name, "Transfer-Encoding") == 0)
        return 411; /* bodies are small: require a length */
    if (strcasecmp(name, "Connection") == 0) {
        if (lists_token(value, "close"))
            request->keep_alive = false;
        else if (lists_token(value, "keep-alive"))
            request->keep_alive = true;
    } else if (strcasecmp(name, "Expect") == 0) {
        if (strcasecmp(value, "100-continue") != 0)
            return 417;
        request->expects_continue = true;
    }
    return 0;
}

/* Parses "Name: value" (NUL-terminated). */
static int parse_header(struct http_request *request, char *line, bool *length_seen)
{
    char *colon = line;
    while (is_token(*colon))
        colon++;
    if (*colon != ':' || colon == line)
        return 400;
    *colon = '\0';
    char *value = colon + 1 + strspn(colon + 1, " \t");
    size_t length = strlen(value);
    while (length > 0 && (value[length - 1] == ' ' || value[length - 1] == '\t'))
        value[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)value[i] < ' ' ? value[i] != '\t' : value[i] == 127)
            return 400;
    return take_header(request, line, value, length_seen);
}

int http_parse(struct http_request *request, const char *bytes, size_t length)
{
    if (length > HTTP_HEAD_MAX)
        return 431;
    memset(request, 0, offsetof(struct http_request, buffer));
    memcpy(request->buffer, bytes, length);
    request->buffer[length] = '\0';
    if (memchr(bytes, '\0', length))
        return 400;
    char *out = request->buffer + length + 1;
    char *line = request->buffer;
    bool first = true, length_seen = false;
    while (*line) {
        char *end = strchr(line, '\n');
        if (!end || end == line || end[-1] != '\r')
            return 400;
        end[-1] = '\0';
        if (strchr(line, '\r'))
            return 400;
        if (!*line) {
            if (first)
                return 400;
            break; /* the empty line */
        }
        int status = first ? parse_first_line(request, line, &out)
                           : parse_header(request, line, &length_seen);
        if (status)
            return status;
        first = false;
        line = end + 1;
    }
    if (!request->host && !request->version_1_0)
        return 400;
    return 0;
}

int http_take_head(struct http_request *request, const char *bytes, size_t length, size_t most,
                   size_t *seen, size_t *head)
{
    *head = http_head_end(bytes, length, seen);
    if (*head > 0)
        return http_parse(request, bytes, *head);
    if (length >= most)
        return 431;
    return http_may_begin(bytes, length) ? HTTP_MORE : 400;
}

/* ------------------------------------------------------------------ accessors */

const char *http_query(const struct http_request *request, const char *key)
{
    for (size_t i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].key, key) == 0)
            return request->query[i].value;
    return NULL;
}

const char *http_cookie(const char *header, const char *name, size_t *length)
{
    size_t name_length = strlen(name);
    while (header && *header) {
        header += strspn(header, " \t;");
        size_t size = strcspn(header, ";");
        if (size > name_length && memcmp(header, name, name_length) == 0 &&
            header[name_length] == '=') {
            *length = size - name_length - 1;
            return header + name_length + 1;
        }
        header += size;
    }
    return NULL;
}

const char *http_bearer(const char *authorization)
{
    if (!authorization || strncasecmp(authorization, "Bearer ", 7) != 0)
        return NULL;
    return authorization + 7 + strspn(authorization + 7, " ");
}

bool http_is_json(const char *content_type)
{
    static const char json[] = "application/json";
    if (!content_type || strncasecmp(content_type, json, sizeof json - 1) != 0)
        return false;
    char next = content_type[sizeof json - 1];
    return next == '\0' || next == ';' || next == ' ';
}

bool http_host_name(const char *host, char *name, size_t size)
{
    size_t length;
    if (*host == '[') {
        length = strcspn(++host, "]");
        if (!host[length])
            return false;
    } else {
        length = strcspn(host, ":");
    }
    if (length == 0 || length >= size)
        return false;
    memcpy(name, host, length);
    name[length] = '\0';
    return true;
}

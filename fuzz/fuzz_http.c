/* Any bytes as the head of an HTTP request: whatever the parser accepts keeps to its own buffer,
 * and reads the same when it comes in pieces. */
#include "fuzz.h"

#include "foundation/http/request.h"

#include <string.h>

static struct http_request request, again;

/* A text of the request's, with its NUL, lies in the request's buffer. */
static void check_text(const char *text)
{
    const char *end = request.buffer + sizeof request.buffer;
    DEMAND(!text || (text >= request.buffer && text < end && memchr(text, 0, (size_t)(end - text))),
           "a text outside of the buffer");
}

static void check_request(void)
{
    const char *const headers[] = {
        request.host,   request.authorization,   request.cookie,        request.content_type,
        request.origin, request.accept_encoding, request.if_none_match, request.last_event_id};
    size_t length;
    char name[64];
    for (size_t i = 0; i < sizeof headers / sizeof *headers; i++)
        check_text(headers[i]);
    for (size_t i = 0; i < request.segment_count; i++)
        check_text(request.segments[i]);
    for (size_t i = 0; i < request.query_count; i++) {
        check_text(request.query[i].key);
        check_text(request.query[i].value);
        DEMAND(http_query(&request, request.query[i].key), "a key that is not found");
    }
    DEMAND(request.path[0] == '/', "a path that does not start at the root");
    DEMAND(request.host || request.version_1_0, "no host");
    check_text(http_bearer(request.authorization));
    const char *cookie = http_cookie(request.cookie, "gordian_session", &length);
    DEMAND(!cookie || strlen(cookie) >= length, "a cookie beyond its header");
    http_is_json(request.content_type);
    if (request.host && http_host_name(request.host, name, sizeof name))
        DEMAND(strstr(request.host, name), "a name that is not the host's");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *bytes = (const char *)data;
    size_t seen = 0, whole = http_head_end(bytes, size, &seen);
    size_t in_pieces = 0;
    seen = 0;
    for (size_t length = 0; length <= size && !in_pieces; length++)
        in_pieces = http_head_end(bytes, length, &seen);
    DEMAND(whole == in_pieces, "heads of different lengths: %zu, %zu", whole, in_pieces);
    if (!whole)
        return 0;
    int status = http_parse(&request, bytes, whole);
    DEMAND(status == 0 || (status >= 400 && status < 600), "status %d", status);
    DEMAND(http_parse(&again, bytes, whole) == status, "not the same twice");
    if (status == 0)
        check_request();
    return 0;
}

/* The head of an HTTP/1.x request, taken apart. Pure functions on bytes: no I/O, nothing allocated.
 *
 * Strict where leniency has been the way into servers: lines end in CR LF, no folded headers, no
 * blank before a colon, no header that frames the message twice, no control characters. A request's
 * texts point into its own buffer and end in NUL.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define HTTP_HEAD_MAX     (16u << 10)
#define HTTP_SEGMENTS_MAX 8
#define HTTP_QUERY_MAX    16

enum http_method {
    HTTP_GET,
    HTTP_HEAD,
    HTTP_POST,
    HTTP_OTHER, /* a method, but none that is served */
};

struct http_pair {
    const char *key, *value;
};

struct http_request {
    enum http_method method;
    bool version_1_0;
    bool keep_alive;                         /* the client wants to go on */
    const char *path;                        /* as it came, without the query, not decoded */
    const char *segments[HTTP_SEGMENTS_MAX]; /* between its slashes, decoded */
    size_t segment_count;
    struct http_pair query[HTTP_QUERY_MAX]; /* decoded */
    size_t query_count;
    /* Headers; NULL: not there. */
    const char *host, *authorization, *cookie, *content_type, *origin;
    const char *accept_encoding, *if_none_match, *last_event_id;
    const char *fetch_site, *fetch_dest; /* Sec-Fetch-..., from browsers */
    bool expects_continue;
    uint64_t content_length;             /* 0: no body */
    char buffer[2 * HTTP_HEAD_MAX + 64]; /* the head, and the decoded path and query */
};

/* Where the head ends in these bytes (behind the empty line), or 0: not yet. Looks from *seen on
 * and moves it, so that a head that comes byte by byte is not searched again and again. */
size_t http_head_end(const char *bytes, size_t length, size_t *seen);

/* Can a request begin like this? No: somebody speaks another protocol, and need not be waited for.
 */
bool http_may_begin(const char *bytes, size_t length);

#define HTTP_MORE (-1)
/* A head as it arrives: looks for its end in the bytes that are there, and takes it apart. 0: it is
 * *head bytes long; HTTP_MORE: it is not there yet; otherwise the status to answer with, which is
 * 431 from `most` bytes on. *seen as above. */
int http_take_head(struct http_request *request, const char *bytes, size_t length, size_t most,
                   size_t *seen, size_t *head);

/* Takes the head apart: bytes[0..length) as http_head_end found it. 0, or the status to answer
 * with: 400, 411, 414, 417, 431, 501, 505. */
int http_parse(struct http_request *request, const char *bytes, size_t length);

/* The value of a key of the query, or NULL. */
const char *http_query(const struct http_request *request, const char *key);
/* One cookie of a header Cookie: its value and *length, or NULL. */
const char *http_cookie(const char *header, const char *name, size_t *length);
/* "Bearer xyz": where xyz begins, or NULL. */
const char *http_bearer(const char *authorization);
/* Is this a JSON body? "application/json", with or without parameters. */
bool http_is_json(const char *content_type);
/* The name in "name:port", "[::1]:port" or "name"; false if it is none or does not fit. */
bool http_host_name(const char *host, char *name, size_t size);

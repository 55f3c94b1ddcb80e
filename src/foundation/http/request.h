/* Parses the head of an HTTP/1.x request. Pure functions on bytes: no I/O, no allocation.
 *
 * The parser is strict because lenient parsing enables request smuggling: lines end in CR LF;
 * folded headers, blanks before a colon, repeated framing headers and control characters are
 * refused. The strings of a request point into its own buffer and end in NUL.
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
    HTTP_OTHER, /* any other method: not served */
};

struct http_pair {
    const char *key, *value;
};

struct http_request {
    enum http_method method;
    bool version_1_0;
    bool keep_alive;                         /* the client wants to keep the connection */
    const char *path;                        /* as received, without the query, not decoded */
    const char *segments[HTTP_SEGMENTS_MAX]; /* the parts between slashes, decoded */
    size_t segment_count;
    struct http_pair query[HTTP_QUERY_MAX]; /* decoded */
    size_t query_count;
    /* Headers; NULL if absent. */
    const char *host, *authorization, *cookie, *content_type, *origin;
    const char *accept_encoding, *if_none_match, *last_event_id;
    const char *fetch_site, *fetch_dest; /* Sec-Fetch-... headers of browsers */
    bool expects_continue;
    uint64_t content_length;             /* 0: no body */
    char buffer[2 * HTTP_HEAD_MAX + 64]; /* the head, then the decoded path and query */
};

/* Returns the length of the head including the empty line, or 0 if it is not complete. Starts at
 * *seen and advances it, so that a head that arrives byte by byte is not searched again and again.
 */
size_t http_head_end(const char *bytes, size_t length, size_t *seen);

/* Can a request begin like this? If not, the peer speaks another protocol, and waiting for more is
 * pointless. */
bool http_may_begin(const char *bytes, size_t length);

#define HTTP_MORE (-1)
/* Parses a head while it arrives. Returns 0 when it is complete (*head is its length), HTTP_MORE
 * when more bytes are needed, otherwise the HTTP status of the refusal. A head of `most` bytes or
 * more is refused with 431. *seen is as above. */
int http_take_head(struct http_request *request, const char *bytes, size_t length, size_t most,
                   size_t *seen, size_t *head);

/* Parses a complete head of the length that http_head_end returned. Returns 0, or the HTTP status
 * of the refusal: 400, 411, 414, 417, 431, 501, 505. */
int http_parse(struct http_request *request, const char *bytes, size_t length);

/* Returns the value of a key of the query, or NULL. */
const char *http_query(const struct http_request *request, const char *key);
/* Returns the value of one cookie of a Cookie header and its *length, or NULL. */
const char *http_cookie(const char *header, const char *name, size_t *length);
/* Returns where the token of "Bearer TOKEN" begins, or NULL. */
const char *http_bearer(const char *authorization);
/* Is the content type "application/json", with or without parameters? */
bool http_is_json(const char *content_type);
/* Copies the name of "name:port", "[::1]:port" or "name". Returns false if the form is wrong or it
 * does not fit. */
bool http_host_name(const char *host, char *name, size_t size);

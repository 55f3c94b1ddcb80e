/* HTTP/1.x request parser, for the head of a request. Pure functions on bytes: no I/O, no
 * allocation.
 *
 * Strict where leniency has led to attacks: lines end in CR LF, no folded headers, no blank before
 * a
 * colon, no header that frames the message twice, no control characters. The texts of a request
 * point into its own buffer and end in NUL. */
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
    HTTP_OTHER, /* a method that is not supported */
};

struct http_pair {
    const char *key, *value;
};

struct http_request {
    enum http_method method;
    bool version_1_0;
    bool keep_alive;                         /* the client keeps the connection open */
    const char *path;                        /* as received, without the query, not decoded */
    const char *segments[HTTP_SEGMENTS_MAX]; /* parts of the path between slashes, decoded */
    size_t segment_count;
    struct http_pair query[HTTP_QUERY_MAX]; /* decoded */
    size_t query_count;
    /* Headers; NULL: not there. */
    const char *host, *authorization, *cookie, *content_type, *origin;
    const char *accept_encoding, *if_none_match, *last_event_id;
    const char *fetch_site, *fetch_dest; /* Sec-Fetch-* of browsers */
    bool expects_continue;
    uint64_t content_length;             /* 0: no body */
    char buffer[2 * HTTP_HEAD_MAX + 64]; /* the head, and the decoded path and query */
};

/* Returns the end of the head (after the empty line); 0: incomplete. Searches from *seen and moves
 * it, so that no byte is searched twice. */
size_t http_head_end(const char *bytes, size_t length, size_t *seen);

/* Can a request begin like this? If not, the peer uses another protocol. */
bool http_may_begin(const char *bytes, size_t length);

/* Parses the head bytes[0..length), as found by http_head_end. Returns 0, or the status for the
 * response: 400, 411, 414, 417, 431, 501, 505. */
int http_parse(struct http_request *request, const char *bytes, size_t length);

/* Returns the value of a query key, or NULL. */
const char *http_query(const struct http_request *request, const char *key);
/* Finds a cookie in a Cookie header: returns its value and *length, or NULL. */
const char *http_cookie(const char *header, const char *name, size_t *length);
/* Returns the token of "Bearer TOKEN", or NULL. */
const char *http_bearer(const char *authorization);
/* Is this a JSON body? "application/json", with or without parameters. */
bool http_is_json(const char *content_type);
/* Extracts the name from "name:port", "[::1]:port" or "name"; false: malformed or too long. */
bool http_host_name(const char *host, char *name, size_t size);

/* Writes the head of an HTTP/1.1 response. */
#pragma once

#include "foundation/base/io/output.h"

/* Writes the status line and the headers, including the empty line. `type`: Content-Type, or NULL.
 * `headers`: more header lines, each with CR LF, or NULL. `length`: Content-Length; SIZE_MAX if
 * unknown, then the body ends with the connection. */
void http_write_head(struct output *out, int status, const char *type, const char *headers,
                     size_t length, bool keep_alive);

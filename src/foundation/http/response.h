/* The head of an HTTP/1.1 response. */
#pragma once

#include "foundation/base/io/output.h"

/* Writes the status line and the headers up to the empty line. `type`: of the body, or NULL.
 * `headers`: more of them, each with CR LF, or NULL. `length`: of the body; SIZE_MAX: unknown, the
 * body ends with the connection. */
void http_write_head(struct output *out, int status, const char *type, const char *headers,
                     size_t length, bool keep_alive);

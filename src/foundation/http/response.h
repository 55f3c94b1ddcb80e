/* The head of an HTTP/1.1 response. */
#pragma once

#include "foundation/base/io/output.h"

/* The status line and the headers up to the empty line. `type`: of the body; NULL: none. `headers`:
 * more of them, each with CR LF; NULL: none. `length`: of the body; SIZE_MAX: unknown, the
 * connection's end is its end. */
void http_write_head(struct output *out, int status, const char *type, const char *headers,
                     size_t length, bool keep_alive);

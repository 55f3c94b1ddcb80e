/* The one JSON reader: a whole document as values. Strict (RFC 8259), but for NaN and the
 * infinities, which Python writes; whole numbers below 2^63 keep their digits. */
#pragma once

#include "foundation/base/json/value.h"

/* How deep lists and objects may lie in each other. */
#define JSON_DEPTH_MOST 64

/* bytes[0..size) and a NUL behind them, which must outlive the values. GORDIAN_STATUS_INPUT with
 * line and column of what is wrong. */
gordian_status json_read(const struct value **out, struct arena *arena, const char *bytes,
                         size_t size, gordian_error *error);

#define JSON_UNIQUE_MOST 256 /* keys of an object */

/* The same of bytes from a network. They are copied, and every text ends in NUL. Stricter: no NaN
 * and no infinity, only UTF-8, no NUL in a text. `unique`: no key twice in an object, nor more than
 * JSON_UNIQUE_MOST. */
gordian_status json_read_strictly(const struct value **out, struct arena *arena, const char *bytes,
                                  size_t size, bool unique, gordian_error *error);

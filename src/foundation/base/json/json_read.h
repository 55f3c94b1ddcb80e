/* JSON parser: reads a whole document into values. Strict (RFC 8259), except that it accepts NaN
 * and infinities, which Python writes. Whole numbers below 2^63 are exact. */
#pragma once

#include "foundation/base/json/value.h"

/* Maximum nesting of lists and objects. */
#define JSON_DEPTH_MOST 64

/* Parses bytes[0..size), which a NUL follows, and which must outlive the values.
 * GORDIAN_STATUS_INPUT with line and column if they are malformed. */
gordian_status json_read(const struct value **out, struct arena *arena, const char *bytes,
                         size_t size, gordian_error *error);

#define JSON_UNIQUE_MOST 256 /* maximum number of keys of an object */

/* The same for bytes from a network. Copies the bytes and ends every text with NUL. It is stricter:
 * it refuses NaN, infinity, invalid UTF-8 and a NUL in a text. `unique`: the keys of an object must
 * be unique, and at most JSON_UNIQUE_MOST. */
gordian_status json_read_strictly(const struct value **out, struct arena *arena, const char *bytes,
                                  size_t size, bool unique, gordian_error *error);

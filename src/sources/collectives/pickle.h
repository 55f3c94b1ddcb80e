/* Pickle parser: reads a Python pickle of plain data: dictionaries, lists, tuples, texts, numbers,
 * booleans, None.
 *
 * A pickle is a program for a stack machine, and some of its opcodes call any function that they
 * name. This parser runs only the opcodes that make plain data (protocols 0 to 5). It refuses all
 * others with their name and place. It never calls a function. */
#pragma once

#include "foundation/base/json/value.h"

/* Parses a pickle. Texts may point into bytes[0..size), which must outlive the values. If the
 * pickle is invalid, returns GORDIAN_STATUS_INPUT with a message that names the byte. */
gordian_status pickle_read(const struct value **out, struct arena *arena, const uint8_t *bytes,
                           size_t size, gordian_error *error);

/* Does the data begin like a pickle? Since protocol 2 a pickle begins with the protocol number,
 * before that with a mark, a dictionary or a list. JSON begins with none of these bytes. */
bool pickle_begins(const uint8_t *bytes, size_t size);

/* Reads a Python pickle of plain data: dictionaries, lists, tuples, texts, numbers, truths, None.
 *
 * A pickle is a program for a small machine with a stack, and some of its opcodes call whatever
 * function they name. This reader knows those that make plain data (protocols 0 to 5) and refuses
 * every other by name and place; nothing is ever called. */
#pragma once

#include "foundation/base/json/value.h"

/* Texts may stay where they are in bytes[0..size), which must outlive the values.
 * GORDIAN_STATUS_INPUT says what is wrong at which byte. */
gordian_status pickle_read(const struct value **out, struct arena *arena, const uint8_t *bytes,
                           size_t size, gordian_error *error);

/* Does it begin like one? From protocol 2 on with the protocol's number, before that with a mark, a
 * dictionary or a list: JSON begins with none of them. */
bool pickle_begins(const uint8_t *bytes, size_t size);

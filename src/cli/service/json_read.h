/* Looking things up in a line of JSON that the service wrote: no tree, no memory.
 *
 *     struct json_value value, name;
 *     if (json_member(line, "granted_to", &value))
 *         for (struct json_value rest = json_items(value); json_item(&rest, &name);)
 *             json_string(name, buffer, sizeof buffer);
 *
 * Values point into the text. Anything may be handed in; what is not well-formed is not found. */
#ifndef GORDIAN_CLI_SERVICE_JSON_READ_H
#define GORDIAN_CLI_SERVICE_JSON_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_value {
    const char *text; /* not NUL-terminated, no blanks around it */
    size_t length;
};

struct json_value json_line(const char *text, size_t length);

/* The member of an object with this (plain) key. */
bool json_member(struct json_value object, const char *key, struct json_value *value);
/* What is inside an array, to be taken apart with json_item; empty if it is none. */
struct json_value json_items(struct json_value array);
bool json_item(struct json_value *rest, struct json_value *item);

/* A string, unescaped, with a NUL; cut off where the buffer ends. False: it is none. */
bool json_string(struct json_value value, char *buffer, size_t size);
bool json_number(struct json_value value, uint64_t *number);
bool json_is(struct json_value value, const char *word); /* true, false, null, "text" with quotes */

/* A member that is a string or a number; false, and "" or 0, if there is none. */
bool json_member_string(struct json_value object, const char *key, char *buffer, size_t size);
bool json_member_number(struct json_value object, const char *key, uint64_t *number);

#endif

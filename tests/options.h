/* What the differential programs read on their command lines. */
#ifndef GORDIAN_TESTS_OPTIONS_H
#define GORDIAN_TESTS_OPTIONS_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static inline bool option_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return errno == 0 && end != text && *end == '\0' && text[0] != '-' && *number <= most;
}

/* "PxQ", each from 1 to `most`; "random": 0 and 0. */
static inline bool option_size(const char *text, uint32_t most, uint32_t *processes,
                               uint32_t *resources)
{
    uint64_t second;
    char *end;
    *processes = *resources = 0;
    if (strcmp(text, "random") == 0)
        return true;
    unsigned long first = strtoul(text, &end, 10);
    if (*end != 'x' || first == 0 || first > most || !option_number(end + 1, most, &second) ||
        second == 0)
        return false;
    *processes = (uint32_t)first;
    *resources = (uint32_t)second;
    return true;
}

/* Is the name among those between the commas? */
static inline bool option_lists(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

#endif

/* Suppressions: known reports that are not to be printed.
 *
 *     # two locks that are never contended
 *     potential  cache_fill cache_drop
 *     potential  pool.c:120
 *     deadlock   legacy::shutdown*
 *     any        vendor/foo.c:*
 *
 * A line has a kind (potential, deadlock, stall, any) and patterns. A pattern is a function or
 * FILE:LINE, with shell wildcards. The line suppresses a report of that kind if every pattern
 * matches a call site, and no two patterns match the same one. Naming both sides of an inversion
 * therefore suppresses no other report. Only a line with `deadlock` suppresses a deadlock: `any`
 * stands for potential deadlocks and stalls. */
#pragma once

#include "output/report/report.h"

struct suppression {
    unsigned kinds; /* bit k: incidents of kind k */
    unsigned line;
    const char *const *patterns;
    size_t count;
    const char *text; /* the line, with single blanks */
};

struct suppressions {
    struct suppression *list;
    size_t count, room;
    struct arena arena; /* memory of the patterns */
};

/* Reads the file. GORDIAN_STATUS_INPUT: a line is invalid, with its position. GORDIAN_STATUS_IO: it
 * cannot be read. */
gordian_status suppressions_read(struct suppressions *suppressions, const char *path,
                                 gordian_error *error);
void suppressions_free(struct suppressions *suppressions);

/* Returns the first line that suppresses this report, or NULL. */
const struct suppression *suppressions_find(const struct suppressions *suppressions,
                                            const struct report *report);

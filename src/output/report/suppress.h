/* Suppressions: reports that are known and not wanted.
 *
 *     # two locks that are never contended
 *     potential  cache_fill cache_drop
 *     potential  pool.c:120
 *     deadlock   legacy::shutdown*
 *     any        vendor/foo.c:*
 *
 * A line has a kind (potential, deadlock, stall, any) and patterns, each a function or FILE:LINE,
 * with the wildcards of a shell. It takes a report of that kind in which every pattern fits a call
 * site, and no two patterns the same one: so naming both sides of an inversion leaves every other
 * report alone. An actual deadlock is only taken by a line that says `deadlock`: `any` stands
 * for potential ones and stalls.
 */
#pragma once

#include "output/report/report.h"

struct suppression {
    unsigned kinds; /* bit k: incidents of kind k */
    unsigned line;
    const char *const *patterns;
    size_t count;
    const char *text; /* the line, in single blanks */
};

struct suppressions {
    struct suppression *list;
    size_t count, room;
    struct arena arena; /* of the patterns */
};

/* GORDIAN_STATUS_INPUT with the place of what is wrong; GORDIAN_STATUS_IO if it cannot be read. */
gordian_status suppressions_read(struct suppressions *suppressions, const char *path,
                                 gordian_error *error);
void suppressions_free(struct suppressions *suppressions);

/* The first line that takes this report, or NULL. */
const struct suppression *suppressions_find(const struct suppressions *suppressions,
                                            const struct report *report);

/* One line of JSON that is an object of texts, numbers and truths, nothing within: what this
 * program writes as results. */
#ifndef GORDIAN_LAB_PAPERS_FLAT_H
#define GORDIAN_LAB_PAPERS_FLAT_H

#include <stdbool.h>
#include <stddef.h>

#define FLAT_TEXT_MOST 512

struct flat {
    const char *at, *end;
    const char *why; /* it is no such object */
    bool begun, ended;
};

/* A member: its value as a text, and as a number if it is one. */
struct flat_member {
    char key[64];
    char text[FLAT_TEXT_MOST];
    double number; /* NaN: it is none */
};

struct flat flat_open(const char *text, size_t size);
/* The next member; false after the last one, or with flat->why set. */
bool flat_next(struct flat *flat, struct flat_member *member);

#endif

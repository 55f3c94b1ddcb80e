/* Everything that can be asked of a system without its allocating anything, as text; and logs of
 * answers, as text too, so that two runs are compared by comparing strings. */
#ifndef GORDIAN_TESTS_DUMP_H
#define GORDIAN_TESTS_DUMP_H

#include <gordian/gordian.h>

/* A growing string, from the C library's memory. */
struct text {
    char *bytes;
    size_t used, room;
};

void text_add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_free(struct text *text);
/* The three texts of a play, whatever else it has. */
#define PLAY_FREE(play)                                                                            \
    (text_free(&(play)->log), text_free(&(play)->before), text_free(&(play)->after))

void dump_edges(struct text *text, const char *what, const gordian_edge *edges, size_t count);
void dump_ids(struct text *text, const char *what, const uint32_t *ids, size_t count);
/* NULL: nothing. */
void dump_system(struct text *text, const gordian_system *system);
void dump_report(struct text *text, const gordian_report *report);

#endif

/* String interning: texts of any length and their numbers: the labels of a graph, the places of a
 * net. */
#pragma once

#include "foundation/base/hash.h"

#define LABEL_TAU 0u

/* A table is empty if everything except `memory` is zero. */
struct label_table {
    gordian_allocator memory;
    struct hash table;
    size_t *starts; /* of label i in `text`, NUL-terminated */
    size_t start_room;
    uint32_t count;
    char *text;
    size_t text_used, text_room;
};

gordian_status labels_init(struct label_table *labels, const gordian_allocator *memory,
                           gordian_error *error); /* number 0 is "tau", as graphs require */
void labels_free(struct label_table *labels);
gordian_status labels_put(struct label_table *labels, const char *text, size_t length,
                          uint32_t *label, gordian_error *error);
/* NONE: not in the table. */
uint32_t labels_find(const struct label_table *labels, const char *text, size_t length);
/* Adds every label of `from` to `to`. new_of[label], unless NULL: its number there. */
gordian_status labels_copy(struct label_table *to, const struct label_table *from, uint32_t *new_of,
                           gordian_error *error);

/* A part of a label: name, or name=datum. */
struct label_part {
    const char *name, *datum; /* not NUL-terminated; datum NULL: none */
    size_t name_length, datum_length;
    size_t length; /* of the whole part */
};
/* Reads the next part of the label at *at and advances *at. False: there is none. */
bool label_next(const char **at, struct label_part *part);
/* Is this the name of the part? */
bool label_part_is(const struct label_part *part, const char *name);

const char *labels_text(const struct label_table *labels, uint32_t label);

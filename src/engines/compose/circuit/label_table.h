/* Texts of any length and their numbers: the labels of a graph, the places of a net. */
#pragma once

#include "foundation/base/hash.h"

#define LABEL_TAU 0u

/* One that is all zero but for its memory is empty. */
struct label_table {
    gordian_allocator memory;
    struct hash table;
    size_t *starts; /* of label i in `text`: NUL-terminated */
    size_t start_room;
    uint32_t count;
    char *text;
    size_t text_used, text_room;
};

gordian_status labels_init(struct label_table *labels, const gordian_allocator *memory,
                           gordian_error *error); /* with "tau" as number 0, as a graph wants it */
void labels_free(struct label_table *labels);
gordian_status labels_put(struct label_table *labels, const char *text, size_t length,
                          uint32_t *label, gordian_error *error);
uint32_t labels_find(const struct label_table *labels, const char *text,
                     size_t length); /* or NONE */
const char *labels_text(const struct label_table *labels, uint32_t label);

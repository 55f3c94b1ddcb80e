/* "Did you mean": finds the word nearest to what was typed. */
#pragma once

#include <stddef.h>

struct nearest {
    const char *typed;
    size_t length; /* of it */
    const char *word;
    size_t steps; /* edit distance from what was typed to `word` */
};

void nearest_offer(struct nearest *nearest, const char *word);
/* Returns the nearest word that was offered; NULL: none is near. */
const char *nearest_found(const struct nearest *nearest);

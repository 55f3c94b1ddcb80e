/* The papers' texts, embedded in the program: src/lab/papers/data/, converted to C by
 * scripts/embed-text. */
#pragma once

#include <stddef.h>

struct papers_data {
    const char *text;
    const size_t *size;
};

#define PAPERS_DATA_COUNT 5

extern const struct papers_data papers_data[PAPERS_DATA_COUNT];
/* The results recorded when the program was built: docs/lab/papers/results.json. */
extern const struct papers_data papers_recorded;

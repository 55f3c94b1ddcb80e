/* The papers' texts, parts of the program: src/lab/papers/data/, made into C by scripts/embed-text.
 */
#ifndef GORDIAN_LAB_PAPERS_DATA_H
#define GORDIAN_LAB_PAPERS_DATA_H

#include <stddef.h>

struct papers_data {
    const char *text;
    const size_t *size;
};

#define PAPERS_DATA_COUNT 5

extern const struct papers_data papers_data[PAPERS_DATA_COUNT];
/* The results that were recorded when the program was built: docs/lab/papers/results.json. */
extern const struct papers_data papers_recorded;

#endif

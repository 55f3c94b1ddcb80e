/*
 * The states of largest.h that may still lead to something better than what is known, each with
 * the best that can follow. A search through real states keeps to those that one of these stands
 * for: where sums allow a hundred million real states and only some thousands of these are left,
 * that is what makes it short.
 */
#pragma once

#include "engines/makespan/exact/largest.h"
#include "engines/makespan/exact/search.h"
#include "foundation/base/hash.h"

struct candidate {
    uint64_t key;  /* the state as a word, without the time */
    uint32_t next; /* of the same progress */
    uint32_t time; /* the best it can be reached at */
    uint32_t rest; /* the best that can follow; CANDIDATES_NONE: no end that is wanted */
};

#define CANDIDATES_NONE UINT32_MAX

struct candidates {
    gordian_allocator memory;
    struct largest_layout layout;
    struct candidate *entries;
    uint32_t count, room;
    struct hash table; /* of entries */
};

/* Those that may lead to better than what the watch has. GORDIAN_STATUS_END: there are more than
 * `most`, 64 bits are too few for a state, or the watch said stop; *out is NULL then. */
gordian_status candidates_open(struct candidates **out, const struct search *search, uint64_t most,
                               gordian_error *error);
void candidates_close(struct candidates *candidates); /* NULL is fine */

/* The best that can follow; CANDIDATES_NONE: nothing that is wanted. */
uint32_t candidates_rest(const struct candidates *candidates, const struct largest_run *runs,
                         uint32_t count);

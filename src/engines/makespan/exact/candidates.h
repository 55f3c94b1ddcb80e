/*
 * The states of largest.h that may still lead to a better result than the best known, each with the
 * best remainder. A search through real states visits only real states that one of these
 * represents. This makes the search short where sums allow a hundred million real states but only
 * some thousand candidates are left.
 */
#pragma once

#include "engines/makespan/exact/largest.h"
#include "engines/makespan/exact/search.h"
#include "foundation/base/hash.h"

struct candidate {
    uint64_t key;  /* the state as a word, without the time */
    uint32_t next; /* next state of the same progress */
    uint32_t time; /* the best time at which it is reached */
    uint32_t rest; /* the best remainder; CANDIDATES_NONE: no useful end can follow */
};

#define CANDIDATES_NONE UINT32_MAX

struct candidates {
    gordian_allocator memory;
    struct largest_layout layout;
    struct candidate *entries;
    uint32_t count, room;
    struct hash table; /* of entries */
};

/* Finds the states that may lead to a better result than the watch has. GORDIAN_STATUS_END, with
 * *out NULL: there are more than `most`, 64 bits are too few for a state, or the watch stopped
 * it. */
gordian_status candidates_open(struct candidates **out, const struct search *search, uint64_t most,
                               gordian_error *error);
void candidates_close(struct candidates *candidates); /* accepts NULL */

/* Returns the best remainder; CANDIDATES_NONE: no useful end can follow. */
uint32_t candidates_rest(const struct candidates *candidates, const struct largest_run *runs,
                         uint32_t count);

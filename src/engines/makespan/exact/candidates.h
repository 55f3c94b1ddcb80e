/*
 * The states of largest.h that may still lead to something better than what is known, each with
 * the best that can follow. A search through real states keeps to those that one of these stands
 * for: where sums allow a hundred million real states and only some thousands of these are left,
 * that is what makes it short.
 */
#ifndef GORDIAN_ENGINES_MAKESPAN_EXACT_CANDIDATES_H
#define GORDIAN_ENGINES_MAKESPAN_EXACT_CANDIDATES_H

#include "engines/makespan/exact/largest.h"
#include "engines/makespan/exact/search.h"

struct closer_entry {
    uint64_t key;  /* the state as a word, without the time */
    uint32_t next; /* of the same progress */
    uint32_t time; /* the best it can be reached at */
    uint32_t rest; /* the best that can follow; CLOSER_NONE: no end that is wanted */
};

#define CLOSER_NONE UINT32_MAX

struct closer {
    gordian_allocator memory;
    struct largest_layout layout;
    struct closer_entry *entries;
    size_t count, room;
    uint32_t *slots; /* of a hash table: entries; CLOSER_NONE: free */
    size_t slot_room;
};

/* Those that may lead to better than what the watch has. GORDIAN_STATUS_END: there are more than
 * `most`, 64 bits are too few for a state, or the watch said stop; *out is NULL then. */
gordian_status closer_open(struct closer **out, const struct search *search, uint64_t most,
                           gordian_error *error);
void closer_close(struct closer *closer); /* NULL is fine */

/* The best that can follow; CLOSER_NONE: nothing that is wanted. */
uint32_t closer_at(const struct closer *closer, const struct largest_run *runs, uint32_t count);

#endif

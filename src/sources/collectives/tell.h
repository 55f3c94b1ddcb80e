/* What the tellers share: sentences, lists of ranks, places. */
#pragma once

#include "sources/collectives/training.h"

/* Those that are to blame for the same at the same operation: culprits[first .. first + count) of
 * the list that charges_open makes, which is sorted by that. */
struct charge {
    enum blame blame;
    uint32_t meeting; /* NONE: none */
    const uint32_t *ranks;
    size_t count;
};

struct charges {
    const struct training *job;
    uint32_t *ranks;
    struct charge *list;
    size_t count;
};

bool charges_open(struct charges *findings, const struct training *job); /* false: out of memory */
void charges_close(struct charges *findings);

/* "0-8, 10-13, 15"; at most about `most` pieces, then "and 7 more". `ranks` ascend. */
void tell_ranks(struct output *out, const uint32_t *ranks, size_t count, size_t most);
/* "rank 3", "ranks 3 and 5", "Ranks 3, 5 and 9": for the start of a sentence if `capital`. */
void tell_subject(struct output *out, const uint32_t *ranks, size_t count, bool capital);
/* "all_reduce #12 of group 7 (DATA_PARALLEL)". */
void tell_meeting(struct output *out, const struct training *job, uint32_t meeting);
/* What is wrong, and what to do: one or two sentences. */
void tell_finding(struct output *out, const struct training *job, const struct charge *finding);
void tell_mismatch(struct output *out, const struct training *job, const struct mismatch *mismatch);
void tell_cycle(struct output *out, const struct training *job, const struct cycle *cycle);
void tell_stalled(struct output *out, const struct training *job, uint32_t meeting);
/* "2025-09-22 22:47:17.531 UTC" of nanoseconds. */
void tell_time(struct output *out, uint64_t ns);

/* The flights of a meeting as ranks, ascending, and those that are late; memory of the caller. */
size_t meeting_ranks(const struct training *job, uint32_t meeting, uint32_t *ranks);

/* Whose order two collectives of a cycle of two contradicts: members that took the second first,
 * where fewer did so than took the first first. NONE: cannot be said. */
uint32_t cycle_odd(const struct training *job, const struct cycle *cycle);

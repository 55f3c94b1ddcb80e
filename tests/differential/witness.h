/*
 * Independent checkers: is this proof of a deadlock one? They look at the naive model's state and
 * at nothing of the library but the answer itself. Each returns NULL when the answer is right,
 * else what is wrong with it.
 *
 * The one idea behind all of them: a set W of waiting processes is *irreducible* if no member could
 * be served even after everybody outside W had finished and returned everything.
 */
#ifndef GORDIAN_TESTS_WITNESS_H
#define GORDIAN_TESTS_WITNESS_H

#include "naive.h"

/* `member` by process. False for the empty set. */
bool witness_irreducible(const struct naive *naive, const bool *member);

/* gordian_explain's answer for `process`. */
const char *witness_check(struct naive *naive, uint32_t process, const gordian_witness *witness);

/* The deadlocks: irreducible sets in which everybody lacks, directly or by way of others, what
 * everybody holds, and that cannot be made larger; to lack is to want more than there would be if
 * all outside had finished. part_of[p] becomes the smallest process of p's part, or GORDIAN_NONE.
 * Cubic and worse: for small systems. */
void witness_parts(struct naive *naive, uint32_t *part_of);

/* gordian_snapshot_check's answer for the model's state; `part_of` from witness_parts. */
const char *witness_report(struct naive *naive, const gordian_report *report,
                           const uint32_t *part_of);

/* gordian_snapshot_edges' answer for a part. */
const char *witness_part_edges(const struct naive *naive, const gordian_part *part,
                               const gordian_edge *edges, size_t count);

/* Whom the policy picks among the members of all parts, and by what weight. */
uint32_t witness_victim(const struct naive *naive, const uint32_t *part_of, gordian_policy policy,
                        int64_t *weight);

/* The matrices by definition, of single- and multi-unit systems up to 64 x 64: a bit a node. */
struct witness_matrices {
    uint64_t sink[64]; /* by resource: the running process it leads to (single-unit) */
    uint64_t rr[64];   /* by resource: resources reached, itself included */
    uint64_t rp[64];   /* by resource: processes reached */
};
void witness_matrices(const struct naive *naive, struct witness_matrices *matrices);

#endif

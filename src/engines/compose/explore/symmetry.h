/*
 * Symmetry reduction: permutations of equal components of a circuit.
 *
 * A permutation of the automata is a symmetry if it maps every firing to a firing: the same moves,
 * of the permuted automata. It then maps paths to paths, initial states to initial states, and
 * deadlocks to deadlocks. A search may continue from any image of a state instead of the state
 * itself.
 *
 * Candidates come from colour refinement. Two automata have the same colour as long as neither
 * their firings nor the other automata in these firings distinguish them. Individualizing an
 * automaton and its image distinguishes others, and so on until every colour is unique. The
 * candidate is then verified on all firings. So hash collisions, limits and the order of the search
 * may lose symmetries, but never add a wrong one.
 */
#pragma once

#include "engines/compose/explore/firing.h"
#include "foundation/base/hash.h"

/* The automaton `at` gets the state of `from`. */
struct symmetry_point {
    uint32_t at, from;
};

/* Permutations, without their fixed points, sorted by `at`. */
struct symmetry {
    gordian_allocator memory;
    const struct firings *firings;
    uint32_t factors;
    struct hash table; /* of the firings by their moves */
    size_t count;
    size_t *first; /* count + 1 */
    struct symmetry_point *points;
    size_t first_room, point_room;
    uint32_t *work; /* one number per factor: a scratch buffer */
};

/* Finds some symmetries of a circuit with listed firings: enough to generate all of them if the
 * circuit is not too large. The firings must outlive the result. */
gordian_status symmetry_open(struct symmetry *symmetry, const struct firings *firings,
                             const gordian_allocator *memory, gordian_error *error);
void symmetry_close(struct symmetry *symmetry);

/* Applies a permutation to a state. */
void symmetry_apply(const struct symmetry *symmetry, size_t permutation, uint32_t *state);
/* Normalizes a state: replaces it by greater images until no permutation yields one. Then automata
 * that have moved come first, so a search that follows the first firing continues with them.
 * `whose`, unless NULL, becomes the combined permutation: automaton i has the state that whose[i]
 * had. */
void symmetry_settle(const struct symmetry *symmetry, uint32_t *state, uint32_t *whose);
/* Returns the image of a firing: automaton f is replaced by as[f]. */
uint32_t symmetry_firing(const struct symmetry *symmetry, uint32_t firing, const uint32_t *as);

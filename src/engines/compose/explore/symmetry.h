/*
 * Equal components: ways to let the automata of a circuit change places that change nothing.
 *
 * A permutation of the automata is a symmetry if it makes every firing a firing: the same moves, of
 * the automata that stand there now. Then whatever leads from one state to another leads, with the
 * places changed, from the one's image to the other's; initial states stay initial, deadlocks stay
 * deadlocks. A search may go on from any image of a state instead of from the state itself.
 *
 * Candidates come from colours: two automata have one colour as long as nothing tells them apart,
 * looking at the firings they are in and who else is in these. Giving one of them a colour of its
 * own, and its image, too, tells others apart, and so on until everybody has one. A candidate is
 * then tried on all firings, so that hashes, limits and the order of the search may cost symmetries
 * but never add a wrong one.
 */
#pragma once

#include "engines/compose/explore/firing.h"
#include "foundation/base/hash.h"

/* Whoever stands at `at` gets what `from` had. */
struct symmetry_point {
    uint32_t at, from;
};

/* Permutations, those who stay left out, points by `at`. */
struct symmetry {
    gordian_allocator memory;
    const struct firings *firings;
    uint32_t factors;
    struct hash table; /* of the firings by their moves */
    size_t count;
    size_t *first; /* count + 1 */
    struct symmetry_point *points;
    size_t first_room, point_room;
    uint32_t *work; /* one number a factor: room for those who use it */
};

/* Finds some of the symmetries of a circuit whose firings are listed: enough to make all of them,
 * where the circuit is not too large. The firings must outlive it. */
gordian_status symmetry_open(struct symmetry *symmetry, const struct firings *firings,
                             const gordian_allocator *memory, gordian_error *error);
void symmetry_close(struct symmetry *symmetry);

/* What a permutation makes of a state. */
void symmetry_apply(const struct symmetry *symmetry, size_t permutation, uint32_t *state);
/* Goes from a state to greater images of it until no permutation gives one: those who have moved
 * then stand first, where a search that takes the first it finds goes on with them. `whose`, unless
 * NULL, becomes the way there: the automaton at i has the state that whose[i] had. */
void symmetry_settle(const struct symmetry *symmetry, uint32_t *state, uint32_t *whose);
/* The firing with the moves of this one, by as[f] for each automaton f. */
uint32_t symmetry_firing(const struct symmetry *symmetry, uint32_t firing, const uint32_t *as);

/*
 * Indivisible firings: steps of a circuit that cannot be split into smaller ones.
 *
 * engine/engine.h defines them and shows why they suffice. The search starts with one transition of
 * one factor. For every name that fires, every other factor with that name must move as well. Each
 * firing is found once, from the lowest of its moving factors.
 *
 * There are two uses: all firings of a circuit at once (firings_open), or the firings of one state
 * on demand (firing_finder_find with locals), for circuits with too many firings to list.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

struct firing_move {
    uint32_t factor, from, to;
    size_t transition; /* of the factor's shape */
};

/* All indivisible firings of a circuit. Firing i moves the factors of moves[first[i]] ..
 * moves[first[i+1]-1], ascending. Firings are sorted by (lowest moving factor, its state). */
struct firings {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    size_t count, first_room, label_room;
    size_t *first; /* count + 1 */
    struct firing_move *moves;
    size_t move_count, move_room;
    uint64_t *labels;  /* label_words words per firing */
    size_t *bucket_of; /* by factor: the bucket of its first local state */
    /* by the lowest moving factor and its state: firings bucket[b] .. bucket[b+1]-1 */
    size_t *bucket;
    bool complete; /* false: there are too many firings, and none is listed */
};

#define FIRINGS_MOVES_MAX ((size_t)1 << 22)

/* Lists all firings. If there are too many, `complete` is false and the list is empty. `memory`
 * must outlive the list. */
gordian_status firings_open(struct firings *firings, const gordian_circuit *circuit,
                            const gordian_allocator *memory, gordian_error *error);
/* The same, but too many firings are a failure (GORDIAN_STATUS_INPUT). `what` needs the list: "a
 * net". */
gordian_status firings_list_all(struct firings *firings, const gordian_circuit *circuit,
                                const char *what, gordian_error *error);
void firings_free(struct firings *firings);

static inline const uint64_t *firing_label(const struct firings *firings, size_t i)
{
    return firings->labels + i * firings->circuit->label_words;
}

/* ------------------------------------------------------------------ one state at a time */

struct firing_finder;

/* Called for every firing found, with the moves in any order. A status other than GORDIAN_OK ends
 * the search and is returned. */
typedef gordian_status firing_found(void *context, const struct firing_move *moves, size_t count,
                                    gordian_error *error);

gordian_status firing_finder_open(struct firing_finder **out, const gordian_circuit *circuit,
                                  const gordian_allocator *memory, gordian_error *error);
void firing_finder_close(struct firing_finder *finder); /* may be NULL */
/* Finds the firings of the state `locals`; NULL: of all states. `work`, if not NULL, limits the
 * number of transitions tried; it is decremented, and the search ends at 0. */
gordian_status firing_finder_find(struct firing_finder *finder, const uint32_t *locals,
                                  uint64_t *work, firing_found *found, void *context,
                                  gordian_error *error);

/* Copies the moves, sorted by factor, to `kept`, which has capacity for them, and makes their
 * label: label_words words. */
void moves_keep(const gordian_circuit *circuit, const struct firing_move *moves, size_t count,
                struct firing_move *kept, uint64_t *label);

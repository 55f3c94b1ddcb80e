/*
 * Indivisible firings: what a circuit does at once, and cannot do in smaller pieces.
 *
 * engine/engine.h says what they are and why they are enough. They are found by starting from one
 * transition of one factor and then answering for every name that fires: whoever else has it must
 * move as well. Each is found once, from the lowest of its moving factors.
 *
 * Two ways to use it: all firings of a circuit at once (firings_open), or those of one state when
 * it is asked for (seeker_find with locals), for circuits that have more than anyone can list.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

struct firing_move {
    uint32_t factor, from, to;
    size_t transition; /* of the factor's shape */
};

/* All indivisible firings of a circuit. Firing i moves the factors of moves[first[i]] ..
 * moves[first[i+1]-1], ascending; firings are sorted by (lowest moving factor, its state from). */
struct firings {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    size_t count, first_room, label_room;
    size_t *first; /* count + 1 */
    struct firing_move *moves;
    size_t move_count, move_room;
    uint64_t *labels;  /* label_words words each */
    size_t *bucket_of; /* by factor: where its local states begin among the buckets */
    size_t *bucket;    /* of the lowest moving factor and its state: firings bucket[b] ..
                          bucket[b+1]-1 */
    bool complete;     /* false: there are too many, and nothing is listed */
};

#define FIRINGS_MOVES_MAX ((size_t)1 << 22)

/* Lists them, unless there are more than can be listed: then `complete` is false and the rest
 * empty. `memory` must outlive the list. */
gordian_status firings_open(struct firings *firings, const gordian_circuit *circuit,
                            const gordian_allocator *memory, gordian_error *error);
/* The same, but a list that is too long is a failure (GORDIAN_STATUS_INPUT). `what` needs the list:
 * "a net". */
gordian_status firings_list_all(struct firings *firings, const gordian_circuit *circuit,
                                const char *what, gordian_error *error);
void firings_free(struct firings *firings);

static inline const uint64_t *firing_label(const struct firings *firings, size_t i)
{
    return firings->labels + i * firings->circuit->label_words;
}

/* ------------------------------------------------------------------ one state at a time */

struct seeker;

/* Called for every firing found; the moves are in no order. What it returns other than GORDIAN_OK
 * ends the search and becomes its status. */
typedef gordian_status firing_found(void *context, const struct firing_move *moves, size_t count,
                                    gordian_error *error);

gordian_status seeker_open(struct seeker **out, const gordian_circuit *circuit,
                           const gordian_allocator *memory, gordian_error *error);
void seeker_close(struct seeker *seeker); /* NULL is fine */
/* `locals`: the state whose firings are wanted; NULL: those of all states. `work`, if not NULL, is
 * how many transitions may be tried; it is counted down, and the search ends when it is 0. */
gordian_status seeker_find(struct seeker *seeker, const uint32_t *locals, uint64_t *work,
                           firing_found *found, void *context, gordian_error *error);

/* Moves by factor into `kept`, which has room for them, and their label: label_words words. */
void moves_keep(const gordian_circuit *circuit, const struct firing_move *moves, size_t count,
                struct firing_move *kept, uint64_t *label);

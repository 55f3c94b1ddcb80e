/*
 * A circuit whose states fit one machine word, with its indivisible firings.
 *
 * A packed state is a state as in packing.h, with one word. Packed states compare in the order of
 * circuit/circuit.h, so the rank among packed numbers is the number of the state.
 *
 * Firings. engine/engine.h defines indivisible firings and shows why they suffice. Here a firing is
 * three words: it is enabled if (x & mask) == value, and leads to x ^ flip. Two firings conflict if
 * they move a common factor. Firings that can never be enabled together need not be distinguished
 * (in a chain of FIFO1s all conflicts are like that). So most circuits decompose into many small
 * parts, and the number of joint firings of a state is the product over the parts. Within a part,
 * `uses` has one bit for every factor that two firings of the part need.
 *
 * GORDIAN_STATUS_UNAVAILABLE: the circuit does not fit; the engines that use this header do not
 * support it.
 */
#pragma once

#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/packing.h"
#include "foundation/gpu/kernels/compose/compose_walk.h"

#define PACKED_BITS        62u /* of a state */
#define PACKED_FIRINGS_MAX 16384u

struct packed {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    struct packing packing; /* of one word; without the list of firings */

    struct compose_firing *firings; /* sorted by part */
    size_t firing_count;
    uint64_t *labels; /* label_words words per firing */
    uint64_t *movers; /* bits_words(factor_count) words per firing: the factors that move */

    uint32_t singles; /* firings 0 .. singles-1 are parts on their own */
    uint32_t *ends;   /* the end of each other part */
    uint32_t part_count;
};

/* On failure *out is NULL. */
gordian_status packed_open(struct packed **out, const gordian_circuit *circuit,
                           const gordian_allocator *memory, gordian_error *error);
void packed_free(struct packed *packed); /* may be NULL */

/* For the table of engines: can the circuit of this problem be packed? */
bool packed_supports(const void *problem, const char **why);

static inline size_t packed_mover_words(const struct packed *packed)
{
    return bits_words(packed->circuit->factor_count);
}

/* State `number` of all combinations in their order, and the inverse. */
uint64_t packed_of_number(const struct packed *packed, uint64_t number);
uint64_t packed_number(const struct packed *packed, uint64_t state);
/* Initial state i, in ascending order; circuit->initial of them. */
uint64_t packed_initial(const struct packed *packed, uint64_t i);

/* The firing as a transformation of words of 64 neighbouring states. */
struct compose_word_firing packed_word_firing(const struct compose_firing *firing);

/* Calls `before` for each predecessor: a joint firing leads from it to `state`. Stops when `before`
 * returns false. `chosen`: the firings. */
typedef bool packed_before(void *context, uint64_t from, const uint32_t *chosen, uint32_t count);
void packed_walk_back(const struct packed *packed, uint64_t state, packed_before *before,
                      void *context);
void packed_label(const struct packed *packed, const uint32_t *chosen, uint32_t count,
                  uint64_t *label);

/* The note of a result if a state on a path has more than COMPOSE_WALK_MOST joint firings. */
#define COMPOSE_WAYS_LEFT_OUT                                                                      \
    "paths to deadlocks are omitted: a state on the path has too many joint firings"

/* A row of the product under construction: transitions in any order, then sorted as sinks
 * require. */
struct packed_row {
    const struct packed *packed;
    uint64_t *labels, *to; /* delivered */
    uint64_t *raw_labels, *raw_to;
    uint32_t *order;
    uint32_t *locals;
    size_t count, room;
};

gordian_status packed_row_open(struct packed_row *row, const struct packed *packed,
                               gordian_error *error);
void packed_row_free(struct packed_row *row);
/* Ensures capacity for `count` raw transitions. The caller stores them in raw_labels and raw_to. */
gordian_status packed_row_reserve(struct packed_row *row, size_t count, gordian_error *error);
/* Sorts the transitions and passes the row to the sink. */
gordian_status packed_row_deliver(struct packed_row *row, const gordian_compose_sink *sink,
                                  uint64_t state, uint64_t number, gordian_error *error);

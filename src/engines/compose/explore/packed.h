/*
 * A circuit whose state fits one machine word, with its indivisible firings worked out.
 *
 * A packed state is that of packing.h, with one word: packed states compare as circuit/circuit.h
 * orders states, so the rank among packed numbers is the state's number.
 *
 * Firings: engine/engine.h says what an indivisible firing is and why they suffice. Here each is
 * three words: enabled where (x & mask) == value, leading to x ^ flip. Which ones may fire together
 * is worked out once: two clash if they move a factor in common. Those that can never be enabled at
 * the same time need no telling apart (in a chain of FIFO1s no two that clash are), so most
 * circuits fall into many small parts, and the number of joint firings of a state is the product
 * over the parts. Within a part `uses` tells: one bit for a factor that two of its firings want.
 *
 * What does not fit is told with GORDIAN_STATUS_UNAVAILABLE: the engines that use this do not
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
    struct packing packing; /* of one word; the firings are here */

    struct compose_firing *firings; /* sorted by part */
    size_t firing_count;
    uint64_t *labels; /* label_words words each */
    uint64_t *movers; /* bits_words(factor_count) words each: the factors that move */

    uint32_t singles; /* firings 0 .. singles-1 are parts of their own */
    uint32_t *ends;   /* where each of the other parts ends */
    uint32_t part_count;
};

/* On failure *out is NULL. */
gordian_status packed_open(struct packed **out, const gordian_circuit *circuit,
                           const gordian_allocator *memory, gordian_error *error);
void packed_free(struct packed *packed); /* NULL is fine */

/* For the table of engines: can this problem's circuit be packed? */
bool packed_supports(const void *problem, const char **why);

static inline size_t packed_mover_words(const struct packed *packed)
{
    return bits_words(packed->circuit->factor_count);
}

/* State `number` of all combinations, in their order, and back. */
uint64_t packed_of_number(const struct packed *packed, uint64_t number);
uint64_t packed_number(const struct packed *packed, uint64_t state);
/* Initial state i, in ascending order; circuit->initial of them. */
uint64_t packed_initial(const struct packed *packed, uint64_t i);

/* How a firing looks to a word of 64 neighbouring states. */
struct compose_word_firing packed_word_firing(const struct compose_firing *firing);

/* Which states a joint firing leads from to `state`: calls for each until the call says false.
 * `chosen`: the firings. */
typedef bool packed_before(void *context, uint64_t from, const uint32_t *chosen, uint32_t count);
void packed_walk_back(const struct packed *packed, uint64_t state, packed_before *before,
                      void *context);
void packed_label(const struct packed *packed, const uint32_t *chosen, uint32_t count,
                  uint64_t *label);

/* A result's note where a state on the way has more than COMPOSE_WALK_MOST joint firings. */
#define COMPOSE_WAYS_LEFT_OUT                                                                      \
    "ways to deadlocks are left out: a state on the way can fire in too many ways at once"

/* One row of the product being put together: transitions in any order, then sorted as sinks want
 * them. */
struct packed_row {
    const struct packed *packed;
    uint64_t *labels, *to; /* what is delivered */
    uint64_t *raw_labels, *raw_to;
    uint32_t *order;
    uint32_t *locals;
    size_t count, room;
};

gordian_status packed_row_open(struct packed_row *row, const struct packed *packed,
                               gordian_error *error);
void packed_row_free(struct packed_row *row);
/* Room for `count` raw transitions, which the caller puts into raw_labels and raw_to. */
gordian_status packed_row_reserve(struct packed_row *row, size_t count, gordian_error *error);
/* Sorts them and hands them to the sink. */
gordian_status packed_row_deliver(struct packed_row *row, const gordian_compose_sink *sink,
                                  uint64_t state, uint64_t number, gordian_error *error);

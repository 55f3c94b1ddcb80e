/*
 * States as machine words.
 *
 * Every factor has a field with as many bits as its states need (none if it has one state). The
 * fields follow each other from the first factor up. No field crosses a word boundary, and no word
 * is full, so a word of ones is never part of a state. Comparing the words from last to first
 * compares states as circuit/circuit.h requires.
 *
 * A firing is then a few comparisons and exclusive ors: it is enabled if the fields of its moving
 * factors have the required values, and it flips them to the new ones.
 */
#pragma once

#include "engines/compose/explore/firing.h"

#define PACKED_NONE UINT64_MAX

struct packed_field {
    uint32_t word;
    uint8_t shift, bits;
};

/* The condition of a firing on a word of the state, and its effect. */
struct patch {
    uint64_t mask, value, flip;
    uint32_t word;
};

struct packing {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    size_t words;  /* of a state; at least 1 */
    uint64_t bits; /* of a state, in all words */
    struct packed_field *fields;

    /* The listed firings, if there are any. */
    const struct firings *firings;
    size_t *first; /* patches of firing i: patches[first[i]] .. patches[first[i+1]-1] */
    struct patch *patches;
    bool *rivals; /* by firing: another firing may move the same factor in the same state */
};

/* `firings` NULL: only the layout. */
gordian_status packing_open(struct packing *packing, const gordian_circuit *circuit,
                            const struct firings *firings, const gordian_allocator *memory,
                            gordian_error *error);
void packing_close(struct packing *packing);

void pack_state(const struct packing *packing, const uint32_t *locals, uint64_t *state);
void unpack_state(const struct packing *packing, const uint64_t *state, uint32_t *locals);

static inline uint32_t packed_local(const struct packing *packing, const uint64_t *state,
                                    uint32_t factor)
{
    struct packed_field field = packing->fields[factor];
    return (uint32_t)(state[field.word] >> field.shift & ((UINT64_C(1) << field.bits) - 1));
}

static inline int packed_compare(const uint64_t *left, const uint64_t *right, size_t words)
{
    while (words-- > 0)
        if (left[words] != right[words])
            return left[words] < right[words] ? -1 : 1;
    return 0;
}

/* Appends the patches of some moves, for different factors in ascending order, to `patches`
 * (capacity: one per move). Returns their number. */
size_t patches_of(const struct packing *packing, const struct firing_move *moves, size_t count,
                  struct patch *patches);

static inline bool patches_fit(const struct patch *patches, size_t count, const uint64_t *state)
{
    for (size_t i = 0; i < count; i++)
        if ((state[patches[i].word] & patches[i].mask) != patches[i].value)
            return false;
    return true;
}

static inline void patches_flip(const struct patch *patches, size_t count, uint64_t *state)
{
    for (size_t i = 0; i < count; i++)
        state[patches[i].word] ^= patches[i].flip;
}

/* Returns the set of those among 64 neighbouring states whose lowest bits match the condition. */
static inline uint64_t packed_places(uint64_t mask, uint64_t value)
{
    uint64_t places = 0;
    for (uint64_t p = 0; p < 64; p++)
        places |= (uint64_t)((p & mask) == (value & 63)) << p;
    return places;
}

/* Describes a deadlock without a path and without its number, as the only one of the result. False:
 * out of memory. */
bool packing_describe(const struct packing *packing, const uint64_t *state,
                      gordian_compose_result *result);

/* The first combination of initial states, and the next one; false: there is none. */
void initial_first(const gordian_circuit *circuit, uint32_t *locals);
bool initial_next(const gordian_circuit *circuit, uint32_t *locals);
bool initial_is(const gordian_circuit *circuit, const uint32_t *locals);

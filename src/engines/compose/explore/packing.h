/*
 * States as machine words.
 *
 * Every factor has a field of as many bits as its states need (none if it has one), the fields one
 * after another from the first factor up, none across two words and no word full to its last bit,
 * so that a word of ones is never a state. States compare as circuit/circuit.h says if their words
 * are compared from the last to the first.
 *
 * A firing is then a few comparisons and a few exclusive ors: it can happen if the fields of its
 * moving factors have the values it wants, and it flips them into the new ones.
 */
#pragma once

#include "engines/compose/explore/firing.h"

#define PACKED_NONE UINT64_MAX

struct packed_field {
    uint32_t word;
    uint8_t shift, bits;
};

/* What a firing asks of a word of the state, and does to it. */
struct patch {
    uint64_t mask, value, flip;
    uint32_t word;
};

struct packing {
    gordian_allocator memory;
    const gordian_circuit *circuit;
    size_t words;  /* of a state; at least 1 */
    uint64_t bits; /* of a state, in all its words */
    struct packed_field *fields;

    /* The firings listed, if they are. */
    const struct firings *firings;
    size_t *first; /* patches of firing i: patches[first[i]] .. patches[first[i+1]-1] */
    struct patch *patches;
    bool *rivals; /* by firing: there may be a state in which another one moves the same factor */
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

/* Adds the patches of some moves, which are for different factors in ascending order, to `patches`
 * (room for one a move); returns how many. */
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

/* Of 64 neighbouring states those whose lowest bits are as a firing wants them. */
static inline uint64_t packed_places(uint64_t mask, uint64_t value)
{
    uint64_t places = 0;
    for (uint64_t p = 0; p < 64; p++)
        places |= (uint64_t)((p & mask) == (value & 63)) << p;
    return places;
}

/* Describes a deadlock, without a way there and without its number, as the only one of the result.
 * False: out of memory. */
bool packing_describe(const struct packing *packing, const uint64_t *state,
                      gordian_compose_result *result);

/* The first combination of initial states, and the next one; false: there is none left. */
void initial_first(const gordian_circuit *circuit, uint32_t *locals);
bool initial_next(const gordian_circuit *circuit, uint32_t *locals);
bool initial_is(const gordian_circuit *circuit, const uint32_t *locals);

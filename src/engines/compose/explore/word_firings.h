/* Firings on 64 neighbouring states at once: the states of a word of the grid (space.h). */
#pragma once

#include "engines/compose/explore/space.h"

struct wide_firing {
    uint64_t mask, value; /* of the base: what it asks of the factors outside the word */
    uint64_t places;      /* what it asks of those inside: the states in which that holds */
    int64_t delta;        /* to the word it leads to */
    int shift;            /* and to the place */
    bool rivals;
};

/* One for every listed firing; `wide` has room for them. */
void wide_firings(struct wide_firing *wide, const struct packing *packing, const struct grid *grid);

static inline bool wide_fits(const struct wide_firing *firing, uint64_t base)
{
    return (base & firing->mask) == firing->value;
}

static inline uint64_t wide_shift(const struct wide_firing *firing, uint64_t states)
{
    return firing->shift >= 0 ? states << firing->shift : states >> -firing->shift;
}

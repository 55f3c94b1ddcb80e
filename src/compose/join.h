/*
 * Several circuits as one: their automata share the names they have in common, as the automata of
 * one .ca text do. Names inside of a .treo component are its own: where another circuit has the
 * same, they are called name@NUMBER, with the circuit's number from 1.
 */
#ifndef GORDIAN_COMPOSE_JOIN_H
#define GORDIAN_COMPOSE_JOIN_H

#include "compose/circuit.h"

struct joint {
    const struct circuit *circuit; /* closed */
    bool own_inside;               /* names that are not ports of it are its own */
};

/* A new closed circuit of the factors of all, in order, over the data of all; `data`, unless NULL,
 * are the data instead. */
gordian_status circuits_join(struct circuit **out, const struct joint *joints, size_t count,
                             const char *data, const gordian_allocator *memory,
                             gordian_error *error);

#endif

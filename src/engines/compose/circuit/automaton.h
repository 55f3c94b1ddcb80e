/*
 * A constraint automaton as it is written: control states, memory cells, transitions with guards.
 *
 * This is what the readers build and what `.ca` files hold. Ports are numbered locally, in the
 * order of the interface, so that one automaton serves every instance of a component: a chain of a
 * thousand fifo1 has one of them. Which names the ports stand for is the business of the circuit
 * (circuit.h).
 *
 * A transition says of every port whether it fires or must not (the algebraic form): `fires` is the
 * set of those that do, all others must not. Each state also has an idle loop, which is never
 * written down and never counted. A transition that fires nothing is not allowed.
 *
 * Ownership: an automaton owns everything in it; the data table it refers to belongs to the
 * circuit.
 */
#pragma once

#include "engines/compose/circuit/guard.h"
#include "foundation/base/bits.h"

/* How a port is used, seen from inside the component. */
enum port_way {
    PORT_UNKNOWN, /* not said */
    PORT_IN,      /* a?  the component takes from it */
    PORT_OUT,     /* b!  the component puts into it */
    PORT_MIXED,   /* c:  both */
};

struct automaton_port {
    char *name;
    uint8_t way; /* enum port_way */
};

struct automaton_cell {
    char *name;
    uint32_t initial; /* a symbol, or GORDIAN_NONE: null */
    bool own;         /* no port ever has its values (automaton_flow) */
};

struct automaton_state {
    char *name; /* NULL: its number */
    bool initial;
};

struct automaton_transition {
    uint32_t from, to;
    uint32_t guard;
    uint32_t line, column; /* where it stands in its text; 0: nowhere */
    double cost;           /* NAN: not said */
};

struct automaton {
    gordian_allocator memory;
    char *title; /* "fifo1" */
    struct automaton_port *ports;
    size_t port_count, port_room;
    struct automaton_cell *cells;
    size_t cell_count, cell_room;
    struct automaton_state *states;
    size_t state_count, state_room;
    struct automaton_transition *transitions;
    size_t transition_count, transition_room;
    uint64_t *fires; /* bits_words(port_count) words a transition */
    size_t fires_room;
    struct guards guards;
    bool costs; /* some transition says what it costs */
};

/* Building one: ports, cells and states first, then transitions. Whatever fails has changed
 * nothing; the status is GORDIAN_OK or GORDIAN_STATUS_MEMORY unless said. Names are copied. */
gordian_status automaton_new(struct automaton **out, const char *title,
                             const gordian_allocator *memory, gordian_error *error);
void automaton_free(struct automaton *automaton); /* NULL is fine */

gordian_status automaton_port(struct automaton *automaton, const char *name, enum port_way way,
                              uint32_t *port, gordian_error *error);
gordian_status automaton_cell(struct automaton *automaton, const char *name, uint32_t initial,
                              uint32_t *cell, gordian_error *error);
gordian_status automaton_state(struct automaton *automaton, const char *name, bool initial,
                               uint32_t *state, gordian_error *error);
/* GORDIAN_STATUS_INPUT: fires nothing, or the guard mentions a port that does not fire. */
gordian_status automaton_transition(struct automaton *automaton, uint32_t from, uint32_t to,
                                    const uint64_t *fires, uint32_t guard, gordian_error *error);

/* By name; GORDIAN_NONE: there is none. */
uint32_t automaton_find_cell(const struct automaton *automaton, const char *name, size_t length);

/* Does it only pass data on? True if no guard looks at the data themselves: nothing but equalities
 * and tests of cells for null, and no two data from different sources (ports it takes from, cells
 * now) made equal. False also where that cannot be told. */
bool automaton_is_routing(const struct automaton *automaton);

/* Marks the cells that no port ever meets (`own`). Fills a byte for every symbol of the data, and
 * one for every function: 1 if the automaton holds the symbol against something that a port meets,
 * or gives such a thing to the function. */
gordian_status automaton_flow(struct automaton *automaton, const struct data *data,
                              uint8_t *symbols, uint8_t *functions, gordian_error *error);

static inline size_t automaton_words(const struct automaton *automaton)
{
    return bits_words(automaton->port_count);
}

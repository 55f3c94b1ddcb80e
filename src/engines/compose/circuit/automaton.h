/*
 * A constraint automaton: control states, memory cells, transitions with guards.
 *
 * The readers build it, and `.ca` files store it. Ports have local numbers, in the order of the
 * interface, so that all instances of a component share one automaton. A chain of a thousand fifo1
 * has only one. The circuit (circuit.h) maps ports to names.
 *
 * A transition states for every port whether it fires or must not fire (the algebraic form): the
 * ports in `fires` fire, all others must not. Each state also has an idle loop, which is neither
 * stored nor counted. A transition must fire at least one port.
 *
 * Ownership: an automaton owns everything in it. The circuit owns the data table.
 */
#pragma once

#include "engines/compose/circuit/guard.h"
#include "foundation/base/bits.h"

/* How a port is used, seen from inside the component. */
enum port_direction {
    PORT_UNKNOWN, /* not declared */
    PORT_IN,      /* a? the component reads from it */
    PORT_OUT,     /* b! the component writes to it */
    PORT_MIXED,   /* c: both */
};

struct automaton_port {
    char *name;
    uint8_t direction; /* enum port_direction */
};

struct automaton_cell {
    char *name;
    uint32_t initial; /* a symbol; GORDIAN_NONE: null */
    bool own;         /* no port ever carries its values (automaton_flow) */
};

struct automaton_state {
    char *name; /* NULL: the state has only a number */
    bool initial;
};

struct automaton_transition {
    uint32_t from, to;
    uint32_t guard;
    uint32_t line, column; /* position in the text; 0: none */
    double cost;           /* NAN: not given */
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
    uint64_t *fires; /* bits_words(port_count) words per transition */
    size_t fires_room;
    struct guards guards;
    bool costs; /* some transition has a cost */
};

/* Building: add ports, cells and states first, then transitions. A function that fails changes
 * nothing. It returns GORDIAN_OK or GORDIAN_STATUS_MEMORY unless noted otherwise. Names are
 * copied. */
gordian_status automaton_new(struct automaton **out, const char *title,
                             const gordian_allocator *memory, gordian_error *error);
void automaton_free(struct automaton *automaton); /* may be NULL */

gordian_status automaton_port(struct automaton *automaton, const char *name,
                              enum port_direction direction, uint32_t *port, gordian_error *error);
gordian_status automaton_cell(struct automaton *automaton, const char *name, uint32_t initial,
                              uint32_t *cell, gordian_error *error);
gordian_status automaton_state(struct automaton *automaton, const char *name, bool initial,
                               uint32_t *state, gordian_error *error);
/* GORDIAN_STATUS_INPUT: no port fires, or the guard mentions a port that does not fire. */
gordian_status automaton_transition(struct automaton *automaton, uint32_t from, uint32_t to,
                                    const uint64_t *fires, uint32_t guard, gordian_error *error);

/* Returns the cell with this name, or GORDIAN_NONE. */
uint32_t automaton_find_cell(const struct automaton *automaton, const char *name, size_t length);

/* Does the automaton only route data? True if no guard inspects data: guards have only equalities
 * and tests of cells for null, and no equality joins data from two sources (input ports, current
 * values of cells). False also if this cannot be decided. */
bool automaton_is_routing(const struct automaton *automaton);

/* Marks the cells that never meet a port (`own`). Fills one byte for every symbol of the data and
 * one for every function. The byte is 1 if the automaton compares the symbol with something that
 * meets a port, or passes such a thing to the function. */
gordian_status automaton_flow(struct automaton *automaton, const struct data *data,
                              uint8_t *symbols, uint8_t *functions, gordian_error *error);

static inline size_t automaton_words(const struct automaton *automaton)
{
    return bits_words(automaton->port_count);
}

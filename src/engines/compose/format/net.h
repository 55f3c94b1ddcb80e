/*
 * A Petri net (place/transition net), and the equivalent circuit.
 *
 * Every place is an automaton with two states ("none", "one"). Every transition is a name that all
 * adjacent places agree on. Two transitions without a common place can fire at once, as in every
 * product; this changes neither the states nor the deadlocks.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/graph.h"

/* The arcs between a place and a transition: the transition takes a token from the place, puts one
 * into it, or both. */
struct net_arc {
    uint32_t place, transition;
    bool takes, puts;
    const char *where; /* position in the text, while it is read */
};

struct net {
    gordian_allocator memory;
    char title[GORDIAN_NAME_MAX + 1];
    struct label_table places, transitions;
    uint8_t *marked; /* by place */
    size_t marked_room;
    struct net_arc *arcs; /* by (place, transition), each pair once */
    size_t arc_count;
};

void net_free(struct net *net);
/* Converts a net with sorted arcs to a circuit. The monitor may take ownership of the net's
 * names. */
gordian_status net_circuit(gordian_circuit **out, struct net *net,
                           const gordian_circuit_options *options, gordian_error *error);

/* Sets safe[place] for places that are proved never to have two tokens. */
gordian_status net_prove(const struct net *net, uint8_t *safe, gordian_error *error);
/* Adds the monitor for second tokens (circuit/net_safety.h) to the circuit unless the net is proved
 * 1-safe. */
gordian_status net_watch(struct net *net, gordian_circuit *circuit, gordian_error *error);

/*
 * A place/transition net as it was read, and the circuit that behaves like it.
 *
 * Every place is an automaton of two states ("none", "one"), every transition a name that all
 * places around it agree on. Two transitions that have no place in common can fire at once, as in
 * every product; that changes neither the states nor the deadlocks.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/graph.h"

/* A place and a transition that are connected: the transition takes a token from the place, puts
 * one into it, or both. */
struct net_arc {
    uint32_t place, transition;
    bool takes, puts;
    const char *where; /* in the text; while it is read */
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
/* The circuit of a net whose arcs are sorted. What watches over it may take the net's names. */
gordian_status net_circuit(gordian_circuit **out, struct net *net,
                           const gordian_circuit_options *options, gordian_error *error);

/* Sets safe[place] of places that are proved never to have two tokens. */
gordian_status net_prove(const struct net *net, uint8_t *safe, gordian_error *error);
/* Gives the circuit what finds out about a second token (circuit/net_safety.h), unless there is a
 * proof. */
gordian_status net_watch(struct net *net, gordian_circuit *circuit, gordian_error *error);

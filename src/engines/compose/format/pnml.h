/*
 * PNML: place/transition nets whose places have one token at most, read as circuits (net.h).
 *
 * A circuit is a net, too: a place for every state of every automaton, a transition for every
 * indivisible firing. A graph is a net with one token.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/graph/graph.h"

struct output;

/* GORDIAN_STATUS_INPUT, with a place in the text: no such net. Whether a place gets a second token
 * is found out while it is composed (circuit/net_safety.h). */
gordian_status pnml_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error);
/* GORDIAN_STATUS_INPUT: several initial states, or more firings than can be listed. */
gordian_status pnml_write_circuit(const gordian_circuit *circuit, struct output *out,
                                  gordian_error *error);
gordian_status pnml_write_graph(const gordian_graph *graph, const char *title, struct output *out,
                                gordian_error *error);

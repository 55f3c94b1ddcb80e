/*
 * PNML: Petri nets with at most one token per place (1-safe nets), read as circuits (net.h).
 *
 * A circuit can be written as a net: a place for every state of every automaton, and a transition
 * for every indivisible firing. A graph becomes a net with one token.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/graph/graph.h"

struct output;

/* GORDIAN_STATUS_INPUT, with a position in the text: not such a net. The composition detects
 * whether a place gets a second token (circuit/net_safety.h). */
gordian_status pnml_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error);
/* GORDIAN_STATUS_INPUT: several initial states, or too many firings to list. */
gordian_status pnml_write_circuit(const gordian_circuit *circuit, struct output *out,
                                  gordian_error *error);
gordian_status pnml_write_graph(const gordian_graph *graph, const char *title, struct output *out,
                                gordian_error *error);

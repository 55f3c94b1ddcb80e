/* Writes a graph in the languages of other tools: mCRL2, Promela (SPIN), and .treo with one
 * component of rules for the Reo compiler. Names that the language does not allow are replaced, and
 * a comment lists them. Circuits can be written as Promela. */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/graph.h"

struct output;

gordian_status mcrl2_write(const gordian_graph *graph, const char *title, struct output *out,
                           gordian_error *error);
gordian_status promela_write(const gordian_graph *graph, const char *title, struct output *out,
                             gordian_error *error);
/* Writes the circuit itself, so that SPIN computes the product. GORDIAN_STATUS_INPUT: too many
 * firings to list. */
gordian_status promela_write_circuit(const gordian_circuit *circuit, struct output *out,
                                     gordian_error *error);
/* GORDIAN_STATUS_INPUT: several initial states, or a step with an empty label. */
gordian_status treo_write(const gordian_graph *graph, const char *title, struct output *out,
                          gordian_error *error);

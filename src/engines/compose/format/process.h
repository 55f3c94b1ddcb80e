/* A graph as a process in the languages of other tools: mCRL2, Promela (SPIN), and .treo with one
 * component of rules, as the Reo compiler reads it. Names that such a language cannot have are
 * replaced, and a comment says by what. Promela has circuits, too. */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/graph/graph.h"

struct output;

gordian_status mcrl2_write(const gordian_graph *graph, const char *title, struct output *out,
                           gordian_error *error);
gordian_status promela_write(const gordian_graph *graph, const char *title, struct output *out,
                             gordian_error *error);
/* The circuit itself: the product is what SPIN then makes of it. GORDIAN_STATUS_INPUT: it has more
 * firings than can be listed. */
gordian_status promela_write_circuit(const gordian_circuit *circuit, struct output *out,
                                     gordian_error *error);
/* GORDIAN_STATUS_INPUT: several initial states, or a step that shows nothing. */
gordian_status treo_write(const gordian_graph *graph, const char *title, struct output *out,
                          gordian_error *error);

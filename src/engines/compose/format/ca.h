/*
 * .ca: constraint automata as plain text, one or several to a file, read and written.
 * docs/guide/compose.md has the grammar.
 *
 *     data 0 1
 *     automaton fifo1 (a?, b!) {
 *         memory m
 *         empty* -> full : {a} $m' = a
 *         full -> empty : {b} b = $m, $m' = null
 *     }
 *
 * Automata that have a port of the same name share it. What is written can be read back and gives
 * the same product.
 */
#ifndef GORDIAN_ENGINES_COMPOSE_FORMAT_CA_H
#define GORDIAN_ENGINES_COMPOSE_FORMAT_CA_H

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/engine/engine.h"

struct output;

/* The word behind an automaton that is a product of a stopped run. */
#define CA_INCOMPLETE "incomplete"

/* As treo_read. */
gordian_status ca_read(gordian_circuit **out, const struct text *text,
                       const gordian_circuit_options *options, gordian_fault *fault,
                       gordian_error *error);

/* The automata of a closed circuit, one for each factor, each as it was written, on the circuit's
 * names. GORDIAN_STATUS_IO: a write failed (out->failure). */
gordian_status ca_write_circuit(const gordian_circuit *circuit, struct output *out,
                                gordian_error *error);

/* The same without the line that says what the data are, with names of its own for some
 * (renamed[name], or NULL) and its tables numbered from `first_function`: so that several circuits
 * can be written into one text (ca_join.c). */
gordian_status ca_write_factors(const gordian_circuit *circuit, char *const *renamed,
                                size_t first_function, struct output *out, gordian_error *error);
void ca_write_datum(const char *text, struct output *out);
/* In quotes; those in the title, as chain<"x"> has, become apostrophes. */
void ca_write_title(const char *title, struct output *out);

/* A graph as one automaton without cells. `circuit`: where it comes from, NULL if that is not
 * known. GORDIAN_STATUS_INPUT: it has labels that cannot be written. */
gordian_status ca_write_graph(const gordian_graph *graph, const gordian_circuit *circuit,
                              const char *title, struct output *out, gordian_error *error);

/* A sink that writes the product as one automaton without cells. The output must outlive it; a
 * failing write shows in out->failure and ends the run with GORDIAN_STATUS_IO. */
struct ca_sink {
    gordian_compose_sink sink;
    struct output *out;
    const gordian_circuit *circuit;
};
void ca_sink_open(struct ca_sink *sink, struct output *out);
/* Writes the end; call it also after a failed or stopped run, which makes the automaton
 * `incomplete`: states that were not looked at look like deadlocks there. */
void ca_sink_close(struct ca_sink *sink, bool incomplete);

#endif

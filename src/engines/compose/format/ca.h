/*
 * Reads and writes .ca files: constraint automata as plain text, one or more per file.
 * docs/guide/compose.md has the grammar.
 *
 *     data 0 1
 *     automaton fifo1 (a?, b!) {
 *         memory m
 *         empty* -> full : {a} $m' = a
 *         full -> empty : {b} b = $m, $m' = null
 *     }
 *
 * Automata with ports of the same name share the port. A file that was written can be read and
 * yields the same product.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"
#include "engines/compose/engine/engine.h"

struct output;

/* Follows an automaton that is the product of a stopped run. */
#define CA_INCOMPLETE "incomplete"

/* Like treo_read. */
gordian_status ca_read(gordian_circuit **out, const struct text *text,
                       const gordian_circuit_options *options, gordian_fault *fault,
                       gordian_error *error);

/* Writes the automata of a sealed circuit, one per factor, in their original form, with the names
 * of the circuit. GORDIAN_STATUS_IO: a write failed (out->failure). */
gordian_status ca_write_circuit(const gordian_circuit *circuit, struct output *out,
                                gordian_error *error);

/* The same without the line of data, with replaced names (renamed[name], unless NULL) and with
 * tables numbered from `first_function`. So several circuits can be written to one text
 * (ca_join.c). */
gordian_status ca_write_factors(const gordian_circuit *circuit, char *const *renamed,
                                size_t first_function, struct output *out, gordian_error *error);
void ca_write_datum(const char *text, struct output *out);
/* Writes a title in quotes. Quotes in it, as in chain<"x">, become apostrophes. */
void ca_write_title(const char *title, struct output *out);

/* Writes a graph as one automaton without cells. `circuit`: its origin; NULL: not known.
 * GORDIAN_STATUS_INPUT: it has labels that cannot be written. */
gordian_status ca_write_graph(const gordian_graph *graph, const gordian_circuit *circuit,
                              const char *title, struct output *out, gordian_error *error);

/* A sink that writes the product as one automaton without cells. The output must outlive it. A
 * write error is in out->failure and ends the run with GORDIAN_STATUS_IO. */
struct ca_sink {
    gordian_compose_sink sink;
    struct output *out;
    const gordian_circuit *circuit;
};
void ca_sink_open(struct ca_sink *sink, struct output *out);
/* Writes the end. Call it also after a failed or stopped run, which makes the automaton
 * `incomplete`, because states that were not expanded look like deadlocks. */
void ca_sink_close(struct ca_sink *sink, bool incomplete);

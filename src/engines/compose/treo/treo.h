/*
 * Reads .treo, the language of the Reo compiler, into a circuit. docs/guide/compose.md describes
 * the language.
 *
 *     treo/lex.h     text to tokens
 *     treo/parse.h   tokens to a tree (treo/tree.h)
 *     actuals.c      what a component is called with, and what it calls that itself
 *     eval.c         parameters, ranges, for and if: a tree to instances of atoms on nodes
 *     atom.c         #RBA, #CAM and #PA atoms to automata (circuit/automaton.h)
 *     circuit/primitives.h   the built-in components
 *     treo.c         imports, the main component, nodes; fills the circuit
 */
#ifndef GORDIAN_ENGINES_COMPOSE_TREO_TREO_H
#define GORDIAN_ENGINES_COMPOSE_TREO_TREO_H

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"

/* Limits that make every text end: nested instances, and instances, ports and rounds in all. */
#define TREO_DEPTH_MAX     10000u
#define TREO_INSTANCES_MAX 4000000u

/* `text` stays the caller's. On success *out is closed (circuit/circuit.h) and the caller's to
 * free. On failure *out is NULL, and *fault (may be NULL) shows the place. */
gordian_status treo_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error);

#endif

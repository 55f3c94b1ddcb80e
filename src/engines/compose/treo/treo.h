/*
 * Reads .treo, the language of the Reo compiler, into a circuit. docs/guide/compose.md describes
 * the language.
 *
 *     treo/lex.h     text to tokens
 *     treo/parse.h   tokens to a tree (treo/tree.h)
 *     actuals.c      actual ports and parameters of a component, bound to its formals
 *     eval.c         parameters, ranges, for and if: a tree to instances of atoms on nodes
 *     atom.c         #RBA, #CAM and #PA atoms to automata (circuit/automaton.h)
 *     circuit/primitives.h   the built-in components
 *     treo.c         imports, the main component
 *     nodes.c        nodes and mergers; fills the circuit
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/text_fault.h"

/* Limits that guarantee termination: depth of instances, and number of instances, ports and
 * rounds. */
#define TREO_DEPTH_MAX     10000u
#define TREO_INSTANCES_MAX 4000000u

/* The caller keeps `text`. On success *out is sealed (circuit/circuit.h), and the caller frees it.
 * On failure *out is NULL, and *fault (may be NULL) has the position. */
gordian_status treo_read(gordian_circuit **out, const struct text *text,
                         const gordian_circuit_options *options, gordian_fault *fault,
                         gordian_error *error);

/*
 * Where data go within an automaton, and so which of its constants a port may ever carry.
 *
 * A cell that counts ($m = 0 .. $m' = 3) and never meets a port has a domain of its own: the ports
 * need not range over its numbers. A cell meets a port if a guard sets one against the other, by =
 * or != or as arguments of one function, at once or by way of other cells. What is built in and
 * goes along the data (succ) or computes with them (+) belongs to the ports, too.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"

/* Marks the cells that no port ever meets (`own`). Fills a byte for every symbol of the data, and
 * one for every function: 1 if the automaton holds the symbol against something that a port meets,
 * or gives such a thing to the function. */
gordian_status automaton_flow(struct automaton *automaton, const struct data *data,
                              uint8_t *symbols, uint8_t *functions, gordian_error *error);

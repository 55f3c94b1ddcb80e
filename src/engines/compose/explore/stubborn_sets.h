/*
 * Partial-order reduction for the deadlock search: stubborn sets, and symmetry reduction.
 *
 * In every state only the enabled firings of a stubborn set S are followed, where
 * - some firing of S is enabled;
 * - for every enabled firing of S, S has all firings that need one of its automata in its current
 *   state. So no firing outside of S can disable it, nor the other way round;
 * - for every other firing of S, S has all firings that bring one of its automata, which is in a
 *   wrong state, to the state it needs. So no firing outside of S can enable it.
 *
 * Every sequence that leads to a deadlock contains a firing of S, which may as well come first. So
 * all deadlocks are found with fewer states. The paths are valid, but not always shortest. Of
 * several such sets the one with the fewest enabled firings is used.
 *
 * Equal components may be permuted (symmetry.h). Of the states that are images of each other only
 * one is expanded, and for each deadlock found all images are counted. A reported path is assembled
 * from the steps between the expanded states, with the permutations undone.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

/* GORDIAN_STATUS_UNAVAILABLE: the circuit has more firings than can be listed. */
gordian_status compose_reduced(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               gordian_compose_result *result, gordian_error *error);

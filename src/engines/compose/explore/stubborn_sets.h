/*
 * A search for deadlocks that leaves out what makes no difference to them: stubborn sets, symmetry.
 *
 * In every state only some of the enabled firings are followed, a set S of firings such that
 *   - some firing of S is enabled;
 *   - for a firing of S that is enabled, S has all that need one of its automata in the state it is
 *     in now: nobody outside of S can take something away from it, nor it from them;
 *   - for one that is not, S has all that bring one of its automata, which is not where it should
 *     be, to that place: nobody outside of S can enable it.
 * Whatever leads to a deadlock has a firing of S in it, and that may as well come first. So the
 * deadlocks that are found are all there are; the states are fewer, and the ways are ways, but not
 * always the shortest. Of several such sets the one with the fewest enabled firings is taken.
 *
 * Components that are equal may change places (symmetry.h): of the states that are images of one
 * another one is followed, and of each deadlock found all images are counted. A way that is shown
 * is put together from the steps between the states followed, with the places changed back.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"

/* GORDIAN_STATUS_UNAVAILABLE: the circuit has more firings than can be listed. */
gordian_status compose_reduced(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               gordian_compose_result *result, gordian_error *error);

/*
 * Nets whose places may get a second token (nets that may not be 1-safe).
 *
 * The automaton of a place has no state for a second token, so a transition that would add one does
 * not fire. The circuit of a net is therefore correct only if this never happens: if the net is
 * 1-safe. Where the structure of the net does not prove that (format/net.c), the circuit has a
 * second, monitored circuit, whose only deadlocks are the states after a second token. It consists
 * of:
 * - the same places;
 * - a name "!N" for every unproved pair of a transition and a place, enabled if the transition is
 *   enabled and the place has a token;
 * - a monitor, which takes part in every firing. After a "!N" it blocks every firing. Before that
 *   it can always fire on its own.
 *
 * So the ordinary deadlock search finds second tokens and the path to them. Several automata
 * implement the monitor together, so that none has too many ports.
 *
 * If there are many unproved pairs, not every automaton of the monitor has all of them. The names
 * "!N" are divided into groups with one automaton each. A "!N" makes its group stop the monitor
 * from firing on its own; then a name "!offG" blocks every firing. So a "!N" leads to a deadlock
 * one step later, and can fire together with transitions.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/label_table.h"

/* A transition that may add a second token to a place: name "!N" of the monitored circuit. */
struct alarm {
    uint32_t transition, place;
};

struct safety {
    gordian_allocator memory;
    gordian_circuit *circuit; /* the monitored circuit; NULL: it would take too long */
    size_t place_count; /* its first automata are the places, in the order of the circuit ... */
    size_t first;       /* ... where they begin with this automaton */
    struct label_table places, transitions;
    struct alarm *alarms;
    size_t alarm_count;
    size_t marks; /* number of '!' before an alarm's number; no transition's name begins with as
                     many */
};

/* Adds it to a circuit, which owns it on success. */
gordian_status safety_attach(gordian_circuit *circuit, struct safety *safety, gordian_error *error);
/* Copies the safety data of `from` to a circuit that contains the automata of `from`, from number
 * `first` on. */
gordian_status safety_inherit(gordian_circuit *circuit, const gordian_circuit *from, size_t first,
                              gordian_error *error);
void safety_free(struct safety *safety);

/* Searches the nets of the circuit for a second token within the limits of the options; unless
 * `thorough`, only near the initial state. *stop: GORDIAN_COMPOSE_STOP_COMPLETE: there is none.
 * GORDIAN_COMPOSE_STOP_UNSAFE: there is one, and *result describes the path in place of earlier
 * contents. Otherwise: why the search ended early. */
gordian_status safety_search(const gordian_circuit *circuit, const gordian_compose_options *options,
                             bool thorough, gordian_compose_result *result,
                             gordian_compose_stop *stop, gordian_error *error);
/* Checks the deadlocks that *result describes. If only a second token causes one, it is not a
 * deadlock, and the result becomes GORDIAN_COMPOSE_STOP_UNSAFE. In an incomplete run, deadlocks
 * without a description are no longer counted. */
gordian_status safety_review(const gordian_circuit *circuit, gordian_compose_result *result,
                             gordian_error *error);

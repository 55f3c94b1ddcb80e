/*
 * Nets whose places may get a second token.
 *
 * The automaton of a place has no state for a second token: a transition that would put one there
 * does not fire. So the circuit of a net tells the truth as long as that never happens: if the net
 * is 1-safe. Where the structure of the net does not prove that (format/net.c), the circuit
 * has a second one with it, in which the only deadlocks are states behind a second token: the same
 * places, a name "!N" for every transition and place that is unproved, enabled where the transition
 * is and the place has a token, and a monitor. The monitor takes part in every firing; after a "!N"
 * it lets nothing fire, and before that it can always fire by itself. So the ordinary search for
 * deadlocks finds out, with the way there. (Several automata are the monitor together, so that none
 * has too many ports.)
 *
 * Where there are many unproved pairs, not every automaton of the monitor has all of them. The
 * names "!N" are put into groups, each with an automaton of its own. A "!N" makes its group stop
 * the monitor from firing by itself; then a name "!offG" lets nothing fire. So a "!N" leads to a
 * deadlock one step later, and can fire together with transitions.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "engines/compose/circuit/label_table.h"

/* A transition that may put a second token into a place: name "!N" of the monitored circuit. */
struct alarm {
    uint32_t transition, place;
};

struct safety {
    gordian_allocator memory;
    gordian_circuit *circuit; /* the monitored one; NULL: it would take too long */
    size_t place_count;       /* its first automata are the places, as the circuit has them ... */
    size_t first;             /* ... from this automaton on */
    struct label_table places, transitions;
    struct alarm *alarms;
    size_t alarm_count;
    size_t marks; /* how many '!' the name of an alarm begins with: no transition has that many */
};

/* Adds it to a circuit, whose it is on success. */
gordian_status safety_attach(gordian_circuit *circuit, struct safety *safety, gordian_error *error);
/* Gives a circuit that has the automata of `from`, from number `first` on, what that one has. */
gordian_status safety_inherit(gordian_circuit *circuit, const gordian_circuit *from, size_t first,
                              gordian_error *error);
void safety_free(struct safety *safety);

/* Looks for a second token in the nets of the circuit, within the options' limits; unless
 * `thorough` near the beginning only. *stop: GORDIAN_COMPOSE_STOP_COMPLETE: there is none;
 * GORDIAN_COMPOSE_STOP_UNSAFE: there is, and *result says how, in place of what it had; otherwise
 * why the search ended early. */
gordian_status safety_search(const gordian_circuit *circuit, const gordian_compose_options *options,
                             bool thorough, gordian_compose_result *result,
                             gordian_compose_stop *stop, gordian_error *error);
/* A state that *result describes as a deadlock, and that only a second token causes, is none: it
 * becomes GORDIAN_COMPOSE_STOP_UNSAFE. Of an incomplete run deadlocks that are not described are
 * not counted any more. */
gordian_status safety_review(const gordian_circuit *circuit, gordian_compose_result *result,
                             gordian_error *error);

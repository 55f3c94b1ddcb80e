/*
 * Engines that compose: one table, one interface.
 *
 * An engine is given a closed circuit (circuit.h) and finds the states of the product, the
 * reachable ones unless all are asked for, counts its transitions and its deadlocks, and hands
 * states and transitions to a sink as a stream, so that the product never has to fit into memory.
 * All engines give the same answer, number by number: circuit.h says how states are numbered, and
 * the order of the stream is fixed. `plain` (plain_product.h) is what the tests hold against them.
 *
 * Firings. A *joint* transition is any choice of a transition or idling for each factor such that
 * all agree on shared names and not all idle. It is *indivisible* if the factors that move hang
 * together by names that fire. Whoever has a name that fires moves; so an indivisible firing is
 * decided by the local states of its own moving factors, two of them with no moving factor in
 * common never get into each other's way, and the joint firings of a state are exactly the
 * non-empty sets of its indivisible firings with disjoint moving factors. Fired together such a set
 * leads where its parts lead one after another, in any order; so states and deadlocks need the
 * indivisible ones only, and they are few: about n for a chain of n where the joint ones are (1 +
 * sqrt 2)^n. A product's transitions are the joint ones.
 */
#ifndef GORDIAN_COMPOSE_ENGINE_H
#define GORDIAN_COMPOSE_ENGINE_H

#include "base/engine.h"
#include "compose/circuit.h"

struct compose_progress {
    uint64_t states;      /* found so far */
    uint64_t transitions; /* counted so far */
    uint64_t waiting;     /* found but not looked at yet */
    uint64_t written;     /* transitions given to the sink */
    uint64_t memory;      /* bytes the engine holds now */
    unsigned pass;        /* 1: finding states; 2: delivering */
};

struct compose_options {
    bool full;        /* every combination of local states, reachable or not */
    bool indivisible; /* count and deliver the indivisible transitions instead of the joint ones */
    bool count_transitions; /* false: states and deadlocks only (result->transitions stays 0) */
    uint64_t max_states;    /* stop when there are more; 0: no limit */
    uint64_t max_memory;    /* bytes the engine may hold; 0: no limit */
    uint32_t max_deadlocks; /* describe this many, the nearest first; all are counted */
    unsigned threads;       /* 0: as many as the machine has cores */
    const uint32_t *order; /* the order to compose in: a permutation of the factors; NULL: choose */
    /* Called now and then (at least ten times a second, always on the thread that called run);
     * false stops the engine. NULL: never. */
    bool (*go_on)(void *context, const struct compose_progress *progress);
    void *context;
    const gordian_allocator *allocator; /* NULL: the C library's */
};

/* Everything at its default: reachable, joint, transitions counted, one deadlock described. */
void compose_options_init(struct compose_options *options);

enum compose_stop {
    COMPOSE_COMPLETE,
    COMPOSE_STATES,  /* max_states */
    COMPOSE_MEMORY,  /* max_memory, or no more memory to be had */
    COMPOSE_STOPPED, /* go_on said so */
};

/* A state that can be reached and that nothing leads out of, and a shortest way there from an
 * initial state. Those described are ordered by (step_count, number). Of several shortest ways all
 * engines give the same: from the end back, always the smallest state one step nearer, and of
 * several labels the smallest. */
struct compose_deadlock {
    uint64_t number;
    uint32_t *state; /* local states, one a factor */
    uint64_t
        *labels; /* label_words words a step; shortest in joint firings, whatever was counted */
    size_t step_count;
};

struct compose_result {
    uint64_t states, transitions, deadlocks;
    bool uncounted; /* a stopped run did not count transitions: there are 0 and no rows */
    enum compose_stop stop;
    uint64_t memory; /* most bytes held at a time */
    struct compose_deadlock *found;
    size_t found_count;
    uint32_t *order;    /* the order the factors were composed in: factor_count numbers */
    const char *engine; /* the one that ran */
    char note[200];     /* something the user should know; "": nothing */
    gordian_allocator allocator;
};

void compose_result_free(struct compose_result *result);

/* Which joint firings of a stopped run's states stay among these is known only by looking at one
 * after the other. That is not done for more than this many: compose_leave_out notes it, and a sink
 * is told of the states only. */
#define COMPOSE_AMONG_MOST (UINT64_C(1) << 28)
void compose_leave_out(struct compose_result *result);

/* Where the product goes: `begin` once all states are known, then `state` for every state in the
 * order of their numbers, each with all its transitions sorted by (label_compare, to). Everything
 * is valid during the call only. A stopped run (see stop) delivers the states found and the
 * transitions among them. What a call returns other than GORDIAN_OK ends the run and becomes its
 * status. */
struct compose_row {
    uint64_t number;
    const uint32_t *state; /* local states */
    bool initial;
    size_t count;
    const uint64_t *labels; /* label_words words each */
    const uint64_t *to;     /* numbers */
};

struct compose_sink {
    void *context;
    /* transitions: UINT64_MAX if not known yet. */
    gordian_status (*begin)(void *context, const struct circuit *circuit, uint64_t states,
                            uint64_t transitions, gordian_error *error);
    gordian_status (*row)(void *context, const struct compose_row *row, gordian_error *error);
};

/* What an engine can be asked to do: compose this circuit in this way. */
struct compose_problem {
    const struct circuit *circuit;
    const struct compose_options *options;
};

struct compose_engine {
    struct engine about; /* a problem is a const struct compose_problem * */
    /* `sink` NULL: nothing is delivered. *result is filled on GORDIAN_OK, also when a limit stopped
     * the run; compose_result_free frees what is in it. On failure it is empty. */
    gordian_status (*run)(const struct circuit *circuit, const struct compose_options *options,
                          const struct compose_sink *sink, struct compose_result *result,
                          gordian_error *error);
};

/* Of struct compose_engine. */
extern const struct engine_family compose_family;

/* The engine of that name, or the best for this circuit for "auto". */
gordian_status compose_choose(const char *name, const struct circuit *circuit,
                              const struct compose_options *options,
                              const struct compose_engine **engine, gordian_error *error);

/* Sinks and checks that engines and commands share (sinks.c). */

/* Collects the product as a graph. */
struct graph;
struct graph_sink {
    struct compose_sink sink;
    const struct circuit *circuit;
    struct graph *graph; /* the caller's once the run is over: graph_free */
    struct output *text;
    gordian_allocator memory;
};
gordian_status graph_sink_open(struct graph_sink *sink, const gordian_allocator *memory,
                               gordian_error *error);
/* Finishes the graph and hands it out; frees the rest. */
gordian_status graph_sink_close(struct graph_sink *sink, struct graph **graph,
                                gordian_error *error);
void graph_sink_abandon(struct graph_sink *sink);

/* Is this a run of the circuit: from an initial state, by joint firings, to that state, from which
 * nothing leads on? For tests and benches; slow and plain, shares nothing with the engines. `why`:
 * what is wrong. */
bool compose_check_deadlock(const struct circuit *circuit, const struct compose_deadlock *deadlock,
                            const char **why);

#endif

/*
 * What is done with a product once it is a graph (graph.h): hiding, minimisation, equality,
 * livelock; and the order to compose in.
 *
 * Each makes a new graph and leaves the one given alone. GORDIAN_OK or GORDIAN_STATUS_MEMORY; on
 * failure *out is NULL and nothing is leaked.
 */
#ifndef GORDIAN_COMPOSE_GRAPH_OPERATIONS_H
#define GORDIAN_COMPOSE_GRAPH_OPERATIONS_H

#include "compose/circuit.h"
#include "compose/graph/graph.h"

/* Which names are hidden: asked once for every name of every label. `name` is not NUL-terminated.
 */
struct hiding {
    bool (*hides)(void *context, const char *name, size_t length);
    void *context;
};

/* Hides every name that is not a port of the main component. The circuit must outlive it. */
struct hiding hide_inner(const struct circuit *circuit);

/* Hiding. A step all of whose names are hidden, and any step that is tau already, disappears into
 * what follows it: q takes over every visible step that can be taken after any number of hidden
 * ones, with the hidden names struck out of its label; the initial states gain the states that
 * hidden steps lead to. Cycles of hidden steps are legal. Only what is then reachable is kept, in
 * the order it had. */
gordian_status graph_hide(struct graph **out, const struct graph *graph,
                          const struct hiding *hiding, gordian_error *error);

/* Strikes the hidden names out of the labels and keeps the steps that nothing is left of, as tau.
 */
gordian_status graph_rename(struct graph **out, const struct graph *graph,
                            const struct hiding *hiding, gordian_error *error);

/* The smallest graph strongly bisimilar to this one, reachable part only. A state of the result
 * stands for a class and is numbered by the smallest state in it; tau is a label like any other.
 * O(m log n). */
gordian_status graph_minimise(struct graph **out, const struct graph *graph, gordian_error *error);

/* The classes of strong bisimilarity: class_of[s], numbered by their smallest states. */
gordian_status graph_classes(const struct graph *graph, uint32_t *class_of, uint32_t *class_count,
                             gordian_error *error);

/* ------------------------------------------------------------------ equality */

/* How two graphs that differ can be told apart: a line of play. From a pair of initial states one
 * side takes a step, the other answers with the same label as well as it can, and so on; in the
 * end one can do `labels[count-1]` and the other cannot do it at all. Where there is no choice
 * between steps of the same label, that is a trace of one and not of the other. */
struct difference {
    gordian_allocator memory;
    char **labels;
    bool *by_left; /* who takes step i */
    size_t count;  /* 0: one side has an initial state, or none */
};

/* Are they bisimilar: every initial state of one to an initial state of the other? `difference` may
 * be NULL; it is filled if they are not, and is then the caller's: difference_free. */
gordian_status graph_equal(const struct graph *left, const struct graph *right, bool *equal,
                           struct difference *difference, gordian_error *error);
void difference_free(struct difference *difference);

/* ------------------------------------------------------------------ livelock */

/* Cycles of hidden steps: the circuit is busy for ever and shows nothing. */
struct livelock {
    gordian_allocator memory;
    uint64_t states; /* on such cycles, and reachable */
    uint32_t state;  /* the nearest of them */
    size_t *path;    /* arcs of the graph, from an initial state to it: a shortest one */
    size_t path_count;
    size_t *cycle; /* arcs, from it back to it, all hidden: a shortest one */
    size_t cycle_count;
};

/* All zero but for its memory if there is none. */
gordian_status graph_livelock(const struct graph *graph, const struct hiding *hiding,
                              struct livelock *livelock, gordian_error *error);
void livelock_free(struct livelock *livelock);

/* ------------------------------------------------------------------ order */

/* A good order to compose the factors in, two at a time: each next one shares as much as possible
 * with what is there already and leaves as few names open as possible, so that the parts in
 * between stay small. `order`: factor_count numbers. */
gordian_status compose_order(const struct circuit *circuit, uint32_t *order,
                             const gordian_allocator *memory, gordian_error *error);
/* Is it a permutation of the factors? `why`: what is wrong. */
bool compose_order_valid(const struct circuit *circuit, const uint32_t *order, size_t count,
                         const char **why);

/* One step of composing in an order: the states and transitions of the part after it (reachable,
 * joint), the names it still shares with the factors to come. */
struct compose_stage {
    uint32_t factor;
    uint64_t states, transitions;
    uint32_t open_names;
};
/* What composing in this order costs, one stage a factor. Stages above `max_states` states are not
 * built: their counts, and those of all that follow, are UINT64_MAX. `stages`: factor_count. */
gordian_status compose_explain(const struct circuit *circuit, const uint32_t *order,
                               uint64_t max_states, struct compose_stage *stages,
                               const gordian_allocator *memory, gordian_error *error);

#endif

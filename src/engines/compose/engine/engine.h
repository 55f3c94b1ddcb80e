/*
 * Engines that compose: one table, one interface.
 *
 * An engine is given a closed circuit (circuit/circuit.h) and finds the states of the product, the
 * reachable ones unless all are asked for, counts its transitions and its deadlocks, and hands
 * states and transitions to a sink as a stream, so that the product never has to fit into memory.
 * All engines give the same answer, number by number: circuit/circuit.h says how states are
 * numbered, and the order of the stream is fixed. The tests hold the textbook's rules
 * (tests/compose/plain_product.c) against them.
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
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "foundation/base/engine.h"

/* Which joint firings of a stopped run's states stay among these is known only by looking at one
 * after the other. That is not done for more than this many: compose_leave_out notes it, and a sink
 * is told of the states only. */
#define COMPOSE_AMONG_MOST (UINT64_C(1) << 28)
void compose_leave_out(gordian_compose_result *result);

/* A part of the run begins: what it takes is counted in it until compose_phase_end. NULL: it is
 * not, there were too many. */
gordian_compose_phase *compose_phase(gordian_compose_result *result, const char *name);
void compose_phase_end(gordian_compose_phase *phase);

/* What an engine can be asked to do: compose this circuit in this way. */
struct compose_problem {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
};

struct compose_engine {
    struct engine about; /* a problem is a const struct compose_problem * */
    /* `sink` NULL: nothing is delivered. *result is filled on GORDIAN_OK, also when a limit stopped
     * the run; gordian_compose_result_free frees what is in it. On failure it is empty, or, when
     * memory ran out while the sink was served, has the deadlocks found until then. */
    gordian_status (*run)(const gordian_circuit *circuit, const gordian_compose_options *options,
                          const gordian_compose_sink *sink, gordian_compose_result *result,
                          gordian_error *error);
};

/* Reports progress to the caller; false: stop. */
static inline bool compose_goes_on(const gordian_compose_options *options,
                                   const gordian_compose_progress *progress)
{
    return !options->go_on || options->go_on(options->context, progress);
}

/* Of struct compose_engine. */
extern const struct engine_family compose_family;

/* The engine that the options name, or the best for this circuit. */
gordian_status compose_choose(const gordian_circuit *circuit,
                              const gordian_compose_options *options,
                              const struct compose_engine **engine, gordian_error *error);

/* As gordian_compose_graph, but memory that runs out is a failure whatever was found: for questions
 * that only the whole graph answers. */
gordian_status compose_whole_graph(gordian_graph **out, const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   const gordian_compose_sink *sink,
                                   const gordian_allocator *allocator,
                                   gordian_compose_result *result, gordian_error *error);

/* ------------------------------------------------------------------ among engines */

extern const struct compose_engine compose_dense; /* dense.c: the oracle */
extern const struct compose_engine compose_cpu;   /* cpu/cpu.c */
extern const struct compose_engine compose_cuda;  /* cuda/cuda.c */
extern const struct compose_engine compose_mpi;   /* mpi/mpi.c, in gordian-mpi */

/* Fills result->order: the options' own, which must be a permutation of the factors
 * (GORDIAN_STATUS_INPUT otherwise), or a chosen one. */
gordian_status compose_take_order(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  gordian_compose_result *result, gordian_error *error);

/* A good order to compose the factors in, two at a time: each next one shares as much as possible
 * with what is there already and leaves as few names open as possible, so that the parts in
 * between stay small. `order`: factor_count numbers. */
gordian_status compose_order(const gordian_circuit *circuit, uint32_t *order,
                             const gordian_allocator *memory, gordian_error *error);
/* Is it a permutation of the factors? `why`: what is wrong. */
bool compose_order_valid(const gordian_circuit *circuit, const uint32_t *order, size_t count,
                         const char **why);

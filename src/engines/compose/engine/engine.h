/*
 * The interface of the engines that compose circuits.
 *
 * An engine takes a sealed circuit (circuit/circuit.h) and finds the states of the product: the
 * reachable ones, unless all are requested. It counts transitions and deadlocks, and streams states
 * and transitions to a sink, so the product never has to fit into memory. All engines produce the
 * same numbers: circuit/circuit.h defines the numbers of states, and the order of the stream is
 * fixed. The tests compare the engines with the textbook definition
 * (tests/compose/plain_product.c).
 *
 * Firings. A *joint* transition is a choice of a transition or idling for each factor such that all
 * agree on shared names and not all idle. It is *indivisible* if the moving factors are connected
 * by names that fire. Every factor that has a firing name moves. This has three consequences:
 * - The local states of the moving factors decide whether an indivisible firing is enabled.
 * - Two indivisible firings without a common moving factor never conflict.
 * - The joint firings of a state are exactly the non-empty sets of its indivisible firings with
 *   disjoint moving factors.
 *
 * Firing such a set at once leads to the same state as firing its members in any order. So states
 * and deadlocks need only the indivisible firings, and these are few: about n for a chain of n,
 * where there are (1 + sqrt 2)^n joint ones. The transitions of a product are the joint ones.
 */
#pragma once

#include "engines/compose/circuit/circuit.h"
#include "foundation/base/engine.h"

/* In a stopped run, the joint firings that lead from a known state to a known state can only be
 * found by enumeration. Runs with more firings than this omit it: compose_omit_transitions adds a
 * note, and a sink gets the states only. */
#define COMPOSE_AMONG_MOST (UINT64_C(1) << 28)
void compose_omit_transitions(gordian_compose_result *result);

/* Begins a phase of the run, whose time is measured until compose_phase_end. NULL: it is not
 * measured, there are too many phases. */
gordian_compose_phase *compose_phase(gordian_compose_result *result, const char *name);
void compose_phase_end(gordian_compose_phase *phase);

/* A request to an engine: compose this circuit with these options. */
struct compose_problem {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
};

struct compose_engine {
    struct engine about; /* a problem is a const struct compose_problem * */
    /* `sink` NULL: nothing is delivered. *result is filled on GORDIAN_OK, also if a limit stopped
     * the run; gordian_compose_result_free frees it. After a failure it is empty. If memory ran out
     * while the sink was served, it has the deadlocks found before. */
    gordian_status (*run)(const gordian_circuit *circuit, const gordian_compose_options *options,
                          const gordian_compose_sink *sink, gordian_compose_result *result,
                          gordian_error *error);
};

/* Reports progress to the caller. False: stop. */
static inline bool compose_goes_on(const gordian_compose_options *options,
                                   const gordian_compose_progress *progress)
{
    return !options->go_on || options->go_on(options->context, progress);
}

/* The family of struct compose_engine. */
extern const struct engine_family compose_family;

/* Chooses the engine named by the options, or the best one for this circuit. */
gordian_status compose_choose(const gordian_circuit *circuit,
                              const gordian_compose_options *options,
                              const struct compose_engine **engine, gordian_error *error);

/* Like gordian_compose_graph, but running out of memory is always a failure. For questions that
 * need the whole graph. */
gordian_status compose_whole_graph(gordian_graph **out, const gordian_circuit *circuit,
                                   const gordian_compose_options *options,
                                   const gordian_compose_sink *sink,
                                   const gordian_allocator *allocator,
                                   gordian_compose_result *result, gordian_error *error);

/* ------------------------------------------------------------------ choice of engine */

extern const struct compose_engine compose_dense; /* dense.c: the reference implementation */
extern const struct compose_engine compose_cpu;   /* cpu/cpu.c */
extern const struct compose_engine compose_cuda;  /* cuda/cuda.c */
extern const struct compose_engine compose_mpi;   /* mpi/mpi.c, in gordian-mpi */

/* Fills result->order with the order of the options, or with a chosen one. GORDIAN_STATUS_INPUT:
 * the order of the options is not a permutation of the factors. */
gordian_status compose_take_order(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  gordian_compose_result *result, gordian_error *error);

/* Chooses a good order to compose the factors pairwise: each factor shares as many names as
 * possible with the ones before it and leaves as few names open as possible, so that intermediate
 * products stay small. `order`: factor_count numbers. */
gordian_status compose_order(const gordian_circuit *circuit, uint32_t *order,
                             const gordian_allocator *memory, gordian_error *error);
/* Is it a permutation of the factors? `why`: the error. */
bool compose_order_valid(const gordian_circuit *circuit, const uint32_t *order, size_t count,
                         const char **why);

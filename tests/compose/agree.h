/*
 * Holding an engine against the plainest one: reference circuits, random circuits, and comparing
 * everything that comes out, number by number.
 */
#ifndef GORDIAN_TESTS_COMPOSE_AGREE_H
#define GORDIAN_TESTS_COMPOSE_AGREE_H

#include "compose/compose.h"
#include "engines/compose/engine/engine.h"
#include "engines/compose/graph/graph_sink.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"

#include <string.h>

/* ------------------------------------------------------------------ circuits */

static const char library[] =
    "chain<k:int>(a[0]?,a[k]!) { fifo1(a[i],a[i+1]) | i:<0..k-1> }\n"
    "apart<k:int>(a[0..k-1]?,b[0..k-1]!) { fifo1(a[i],b[i]) | i:<0..k-1> }\n"
    "chain4(a?,b!) { chain<4>(a,b) }\n"
    "chain9(a?,b!) { chain<9>(a,b) }\n"
    "apart7() { { fifo1(a[i],b[i]) | i:<0..6> } }\n"
    "lossy(a?,b!) { lossysync(a,x) fifo1(x,b) }\n"
    "ring4() { fifofull<0>(a,b) fifofull<0>(b,c) fifo1(c,d) fifo1(d,a) }\n"
    "stuck() { fifofull<0>(a,b) fifofull<0>(b,c) fifofull<0>(c,d) fifofull<0>(d,a) }\n";

struct reference {
    const char *main, *data;
    uint64_t states, transitions, deadlocks;
};

static const struct reference references[] = {
    {"chain4", NULL, 16, 42, 0}, {"chain9", NULL, 512, 4244, 0}, {"apart7", NULL, 128, 16256, 0},
    {"lossy", NULL, 2, 5, 0},    {"lossy", "0,1", 3, 14, 0},     {"ring4", NULL, 6, 10, 0},
    {"stuck", NULL, 1, 0, 1},
};

/* A random automaton on some of the circuit's names. */
static inline gordian_status random_factor(gordian_circuit *circuit, struct random *random,
                                           uint32_t names, gordian_error *error)
{
    struct automaton *automaton;
    uint32_t ports = 1 + (uint32_t)random_below(random, names < 3 ? names : 3), number, id;
    uint32_t states = 1 + (uint32_t)random_below(random, 4), on[3];
    gordian_status status = automaton_new(&automaton, "random", &circuit->memory, error);
    uint32_t first = (uint32_t)random_below(random, names);
    for (uint32_t p = 0; p < ports && status == GORDIAN_OK; p++) {
        char name[8] = {(char)('p' + p)};
        on[p] = (first + p) % names;
        status = automaton_port(automaton, name, PORT_MIXED, &id, error);
    }
    for (uint32_t s = 0; s < states && status == GORDIAN_OK; s++)
        status =
            automaton_state(automaton, NULL, s == 0 || random_below(random, 8) == 0, &id, error);
    uint32_t count = (uint32_t)random_below(random, 2 * states + 2);
    for (uint32_t t = 0; t < count && status == GORDIAN_OK; t++) {
        uint64_t fires = 1 + random_below(random, (1u << ports) - 1);
        status = automaton_transition(automaton, (uint32_t)random_below(random, states),
                                      (uint32_t)random_below(random, states), &fires, 0, error);
    }
    if (status == GORDIAN_OK)
        status = circuit_automaton(circuit, automaton, &number, error);
    if (status == GORDIAN_OK)
        status = circuit_factor(circuit, number, on, NULL, error);
    return status;
}

static inline gordian_circuit *random_circuit(struct random *random)
{
    gordian_circuit *circuit;
    gordian_allocator memory = memory_allocator(NULL);
    gordian_error error = {0};
    uint32_t names = 1 + (uint32_t)random_below(random, 8), id;
    uint32_t factors = 1 + (uint32_t)random_below(random, 7);
    gordian_status status = circuit_new(&circuit, "random", &memory, &error);
    for (uint32_t n = 0; n < names && status == GORDIAN_OK; n++) {
        char text[4] = {'n', (char)('a' + n)};
        status = circuit_name(circuit, text, 2, &id, &error);
    }
    for (uint32_t f = 0; f < factors && status == GORDIAN_OK; f++)
        status = random_factor(circuit, random, names, &error);
    if (status == GORDIAN_OK)
        status = circuit_seal(circuit, &error);
    REQUIRE(status == GORDIAN_OK);
    return circuit;
}

/* ------------------------------------------------------------------ comparing */

/* A result and the product as a graph. */
struct outcome {
    gordian_compose_result result;
    gordian_graph *graph;
};

/* An engine's run, or something that takes a tuning beside. */
typedef gordian_status run_it(const gordian_circuit *circuit,
                              const gordian_compose_options *options,
                              const gordian_compose_sink *sink, gordian_compose_result *result,
                              const void *tuning, gordian_error *error);

static inline gordian_status on_oracle(const gordian_circuit *circuit,
                                       const gordian_compose_options *options,
                                       const gordian_compose_sink *sink,
                                       gordian_compose_result *result, const void *tuning,
                                       gordian_error *error)
{
    (void)tuning;
    return compose_dense.run(circuit, options, sink, result, error);
}

static inline struct outcome run(run_it *it, const gordian_circuit *circuit,
                                 const gordian_compose_options *options, const void *tuning)
{
    struct outcome outcome = {0};
    struct graph_sink sink;
    gordian_error error = {0};
    REQUIRE(graph_sink_open(&sink, NULL, &error) == GORDIAN_OK);
    gordian_status status = it(circuit, options, &sink.sink, &outcome.result, tuning, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    if (status != GORDIAN_OK)
        exit(1);
    /* Of a product that was cut off the graph may lack its initial state. */
    if (graph_sink_close(&sink, &outcome.graph, &error) != GORDIAN_OK)
        outcome.graph = NULL;
    return outcome;
}

static inline void outcome_free(struct outcome *outcome)
{
    gordian_compose_result_free(&outcome->result);
    gordian_graph_close(outcome->graph);
}

static inline void same_deadlocks(const gordian_circuit *circuit,
                                  const gordian_compose_result *ours,
                                  const gordian_compose_result *theirs)
{
    size_t words = circuit->label_words;
    CHECK(ours->found_count == theirs->found_count);
    for (size_t i = 0; i < ours->found_count && i < theirs->found_count; i++) {
        const gordian_compose_deadlock *one = &ours->found[i], *other = &theirs->found[i];
        const char *why = "";
        CHECK_MSG(compose_check_deadlock(circuit, one, &why), "%s", why);
        CHECK(one->number == other->number);
        CHECK(one->step_count == other->step_count);
        CHECK(memcmp(one->state, other->state, circuit->factor_count * sizeof(uint32_t)) == 0);
        CHECK(one->step_count != other->step_count ||
              memcmp(one->labels, other->labels, one->step_count * words * sizeof(uint64_t)) == 0);
    }
}

static inline void compare(run_it *it, const gordian_circuit *circuit,
                           const gordian_compose_options *options, const void *tuning)
{
    struct outcome ours = run(it, circuit, options, tuning);
    struct outcome theirs = run(on_oracle, circuit, options, NULL);
    uint32_t where = 0;
    CHECK_MSG(ours.result.states == theirs.result.states, "%llu states, %llu",
              (unsigned long long)ours.result.states, (unsigned long long)theirs.result.states);
    CHECK_MSG(ours.result.transitions == theirs.result.transitions, "%llu transitions, %llu",
              (unsigned long long)ours.result.transitions,
              (unsigned long long)theirs.result.transitions);
    CHECK(ours.result.deadlocks == theirs.result.deadlocks);
    CHECK(ours.result.stop == theirs.result.stop);
    CHECK(!ours.graph == !theirs.graph);
    if (ours.graph && theirs.graph)
        CHECK_MSG(graph_same(ours.graph, theirs.graph, &where), "state %u", where);
    same_deadlocks(circuit, &ours.result, &theirs.result);
    outcome_free(&ours);
    outcome_free(&theirs);
}

#endif

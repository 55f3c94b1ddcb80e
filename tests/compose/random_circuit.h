/* Random circuits: automata that share names at random, and networks of primitives over data. */
#ifndef GORDIAN_TESTS_RANDOM_CIRCUIT_H
#define GORDIAN_TESTS_RANDOM_CIRCUIT_H

#include "compose.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"

/* One automaton: some states, some ports, transitions at random, several to the same place with the
 * same label or another one. */
static inline struct automaton *random_automaton(struct random *random, uint32_t ports)
{
    gordian_allocator memory = memory_allocator(NULL);
    struct automaton *automaton = NULL;
    uint32_t states = 1 + (uint32_t)random_below(random, random_chance(random, 10) ? 9 : 3),
             ignored;
    REQUIRE(automaton_new(&automaton, "random", &memory, NULL) == GORDIAN_OK);
    for (uint32_t p = 0; p < ports; p++) {
        char name[20];
        snprintf(name, sizeof name, "p%u", p);
        REQUIRE(automaton_port(automaton, name, PORT_MIXED, &ignored, NULL) == GORDIAN_OK);
    }
    for (uint32_t s = 0; s < states; s++)
        REQUIRE(automaton_state(automaton, NULL, s == 0 || random_chance(random, 10), &ignored,
                                NULL) == GORDIAN_OK);
    size_t transitions = random_below(random, 3 * states) + states / 2;
    for (size_t t = 0; t < transitions; t++) {
        uint64_t fires = 0;
        while (fires == 0)
            for (uint32_t p = 0; p < ports; p++)
                fires |= (uint64_t)random_chance(random, 40) << p;
        uint32_t guard = guard_add(&automaton->guards, GUARD_TRUE, GUARD_NONE, GUARD_NONE, 0);
        REQUIRE(automaton_transition(automaton, (uint32_t)random_below(random, states),
                                     (uint32_t)random_below(random, states), &fires, guard,
                                     NULL) == GORDIAN_OK);
    }
    return automaton;
}

/* Up to `factors` automata on names from a pool; at most `most` combinations of states. */
static inline gordian_circuit *random_circuit(struct random *random, uint32_t factors,
                                              uint64_t most)
{
    gordian_circuit *circuit = NULL;
    uint64_t whole = 1;
    uint32_t pool = 2 + (uint32_t)random_below(random, random_chance(random, 15) ? 120 : 16);
    gordian_allocator memory = memory_allocator(NULL);
    REQUIRE(circuit_new(&circuit, "random", &memory, NULL) == GORDIAN_OK);
    for (uint32_t n = 0; n < pool; n++) {
        char text[20];
        uint32_t name;
        snprintf(text, sizeof text, "n%u", n);
        REQUIRE(circuit_name(circuit, text, strlen(text), &name, NULL) == GORDIAN_OK);
        if (random_chance(random, 40))
            circuit_boundary(circuit, name, PORT_MIXED);
    }
    for (uint32_t f = 0; f < factors; f++) {
        uint32_t ports = 1 + (uint32_t)random_below(random, pool < 4 ? pool : 4), number;
        struct automaton *automaton = random_automaton(random, ports);
        if (whole * automaton->state_count > most) {
            automaton_free(automaton);
            continue;
        }
        whole *= automaton->state_count;
        uint32_t names[4];
        for (uint32_t p = 0; p < ports; p++) /* now and then the same name twice */
            names[p] = (uint32_t)random_below(random, pool);
        REQUIRE(circuit_automaton(circuit, automaton, &number, NULL) == GORDIAN_OK);
        REQUIRE(circuit_factor(circuit, number, names, NULL, NULL) == GORDIAN_OK);
    }
    REQUIRE(circuit_seal(circuit, NULL) == GORDIAN_OK);
    return circuit;
}

/* A network of primitives, as text. */
static inline gordian_circuit *random_network(struct random *random, uint32_t factors)
{
    static const char *const kinds[] = {
        "sync(%s,%s) ",      "lossysync(%s,%s) ",  "syncdrain(%s,%s) ",   "asyncdrain(%s,%s) ",
        "fifo1(%s,%s) ",     "fifo1(%s,%s) ",      "fifofull<0>(%s,%s) ", "shiftlossyfifo1(%s,%s) ",
        "syncspout(%s,%s) ", "asyncspout(%s,%s) ", "variable(%s,%s) ",    "fifo1(%s,%s) ",
    };
    static const char *const domains[] = {NULL, "0,1", "0,x,y"};
    char source[4000] = "main() { ", names[12][4];
    uint32_t pool = 2 + (uint32_t)random_below(random, 10);
    for (uint32_t n = 0; n < pool; n++)
        snprintf(names[n], sizeof names[n], "%c", (char)('a' + n));
    for (uint32_t f = 0; f < factors; f++) {
        uint32_t from = (uint32_t)random_below(random, pool), to;
        do
            to = (uint32_t)random_below(random, pool);
        while (to == from);
        size_t used = strlen(source);
        snprintf(source + used, sizeof source - used,
                 kinds[random_below(random, sizeof kinds / sizeof *kinds)], names[from], names[to]);
    }
    strcat(source, "}");
    return read_circuit(source, NULL, domains[random_below(random, 3)]);
}

#endif

/* Circuits: labels and their order, names, ports that coincide, sizes, and products in any order.
 */
#include "compose.h"
#include "engines/compose/engine/engine.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "foundation/base/random.h"

/* ------------------------------------------------------------------ labels */

/* The definition, word for word: lists of names, then data. */
static int compare_plainly(const uint64_t *left, const uint64_t *right, size_t fires, uint32_t bits)
{
    size_t a = 0, b = 0;
    for (;; a++, b++) {
        while (a < fires && !bits_test(left, a))
            a++;
        while (b < fires && !bits_test(right, b))
            b++;
        if (a == fires || b == fires) {
            if (a != b)
                return a == fires ? -1 : 1;
            break;
        }
        if (a != b)
            return a < b ? -1 : 1;
    }
    for (size_t n = 0; n < fires; n++) {
        unsigned long one = 0, other = 0;
        for (uint32_t i = 0; i < bits; i++) {
            one |= (unsigned long)bits_test(left, fires + n * bits + i) << i;
            other |= (unsigned long)bits_test(right, fires + n * bits + i) << i;
        }
        if (one != other)
            return one < other ? -1 : 1;
    }
    return 0;
}

static void check_order(void)
{
    struct random random;
    random_seed(&random, 5);
    for (unsigned long round = 0; round < test_scaled(50000); round++) {
        uint64_t left[8] = {0}, right[8] = {0};
        size_t names = 1 + random_below(&random, 100);
        uint32_t bits = (uint32_t)random_below(&random, 4);
        size_t words = bits_words(names * (1 + bits));
        for (size_t n = 0; n < names; n++) {
            unsigned many = random_chance(&random, 50) ? 3 : 60;
            for (int side = 0; side < 2; side++) {
                uint64_t *label = side ? right : left;
                if (side && random_chance(&random, 90)) { /* mostly the same */
                    if (bits_test(left, n))
                        bits_set(right, n);
                    for (uint32_t i = 0; i < bits; i++)
                        if (bits_test(left, names + n * bits + i))
                            bits_set(right, names + n * bits + i);
                } else if (random_chance(&random, many)) {
                    bits_set(label, n);
                    for (uint32_t i = 0; i < bits; i++)
                        if (random_chance(&random, 50))
                            bits_set(label, names + n * bits + i);
                }
            }
        }
        int expected = compare_plainly(left, right, names, bits);
        CHECK(label_compare(left, right, words, names, bits) == expected);
        CHECK(label_compare(right, left, words, names, bits) == -expected);
    }
}

/* ------------------------------------------------------------------ sizes */

static void check_sizes(void)
{
    gordian_circuit *circuit =
        read_circuit("f<n:int>() { fifo1(a[i],b[i]) | i:<1..n> }", "f<63>", NULL);
    REQUIRE(circuit);
    CHECK(circuit->whole_fits && circuit->whole == UINT64_C(1) << 63 && circuit->initial == 1);
    CHECK(circuit->name_count == 126 && circuit->label_words == 2 && circuit->shape_count == 1);
    gordian_circuit_close(circuit);
    circuit = read_circuit("f<n:int>() { fifo1(a[i],b[i]) | i:<1..n> }", "f<64>", NULL);
    REQUIRE(circuit);
    CHECK(!circuit->whole_fits);
    gordian_graph *graph;
    gordian_error error = {0};
    CHECK(plain_product(&graph, circuit, true, NULL, &error) == GORDIAN_STATUS_INPUT && !graph);
    gordian_circuit_close(circuit);
}

/* Reachable: what the rules reach from the beginning; full: everything there is. */
static void check_full(void)
{
    gordian_circuit *circuit =
        read_circuit("main() { fifofull<0>(x,y) fifo1(y,x) fifo1(a,b) }", NULL, NULL);
    gordian_graph *part = product_of(circuit), *whole;
    REQUIRE(part && plain_product(&whole, circuit, true, NULL, NULL) == GORDIAN_OK);
    CHECK(part->state_count == 4 && whole->state_count == 8);
    CHECK(whole->initial_count == 1 && whole->initial[0] == 0);
    gordian_graph_close(part);
    gordian_graph_close(whole);
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ random circuits */

/* Channels between few nodes: connected, with mergers, replication and loops. */
static void make_circuit(struct random *random, char *text, size_t size, unsigned factors)
{
    static const char *const kinds[] = {"sync",        "lossysync",      "fifo1",
                                        "fifo1",       "syncdrain",      "asyncdrain",
                                        "fifofull<0>", "shiftlossyfifo1"};
    unsigned nodes = 2 + factors * 2 / 3;
    size_t used = (size_t)snprintf(text, size, "main() {");
    for (unsigned i = 0; i < factors; i++)
        used += (size_t)snprintf(text + used, size - used, " %s(x%u,x%u)",
                                 kinds[random_below(random, sizeof kinds / sizeof *kinds)],
                                 (unsigned)random_below(random, nodes),
                                 (unsigned)random_below(random, nodes));
    snprintf(text + used, size - used, " }");
}

/* The same factors in another order: the product must be the same up to the numbers of its states.
 */
static gordian_circuit *shuffled(struct random *random, const gordian_circuit *circuit)
{
    gordian_circuit *other;
    uint32_t number, names[16];
    gordian_allocator memory = memory_allocator(NULL);
    size_t count = circuit->factor_count;
    size_t order[64];
    REQUIRE(count <= 64 && circuit_new(&other, "shuffled", &memory, NULL) == GORDIAN_OK);
    for (size_t i = 0; i < count; i++) {
        size_t k = random_below(random, i + 1);
        order[i] = order[k];
        order[k] = i;
    }
    REQUIRE(circuit->data.domain_size == 1); /* the transitions below carry no data */
    for (size_t i = 0; i < count; i++) {
        const struct factor *factor = &circuit->factors[order[i]];
        const struct automaton *from = factor_shape(circuit, (uint32_t)order[i])->automaton;
        const struct shape *shape = factor_shape(circuit, (uint32_t)order[i]);
        struct automaton *copy;
        if (shape->port_count !=
            from->port_count) { /* ports that coincide: another test's matter */
            gordian_circuit_close(other);
            return NULL;
        }
        REQUIRE(automaton_new(&copy, from->title, &memory, NULL) == GORDIAN_OK);
        for (size_t p = 0; p < from->port_count; p++) {
            const char *name = names_text(&circuit->names, factor->names[p]);
            REQUIRE(automaton_port(copy, from->ports[p].name, from->ports[p].direction, NULL,
                                   NULL) == GORDIAN_OK);
            REQUIRE(circuit_name(other, name, strlen(name), &names[p], NULL) == GORDIAN_OK);
        }
        /* unfolded: a control state for every state */
        for (uint32_t s = 0; s < shape->state_count; s++)
            REQUIRE(automaton_state(copy, NULL, s < shape->initial_count, NULL, NULL) ==
                    GORDIAN_OK);
        for (uint32_t s = 0; s < shape->state_count; s++)
            for (size_t t = shape->first[s]; t < shape->first[s + 1]; t++)
                REQUIRE(automaton_transition(copy, s, shape->to[t],
                                             shape->labels + t * shape->label_words, 0,
                                             NULL) == GORDIAN_OK);
        REQUIRE(circuit_automaton(other, copy, &number, NULL) == GORDIAN_OK);
        REQUIRE(circuit_factor(other, number, names, NULL, NULL) == GORDIAN_OK);
    }
    REQUIRE(circuit_seal(other, NULL) == GORDIAN_OK);
    return other;
}

static void check_any_order(void)
{
    struct random random;
    char text[1000];
    unsigned long compared = 0;
    random_seed(&random, 11);
    /* About half of them have no other order. */
    for (unsigned long round = 0; compared < test_scaled(300); round++) {
        REQUIRE(round < test_scaled(3000));
        make_circuit(&random, text, sizeof text, 1 + (unsigned)random_below(&random, 6));
        gordian_circuit *circuit = read_circuit(text, NULL, NULL);
        REQUIRE(circuit);
        gordian_circuit *other = shuffled(&random, circuit);
        gordian_graph *left = product_of(circuit), *right = product_of(other);
        if (other) {
            bool same = false;
            CHECK(graph_isomorphic(left, right, &same, NULL) == GORDIAN_OK);
            CHECK_MSG(same, "%s: %u/%zu, %u/%zu", text, left->state_count, left->arc_count,
                      right->state_count, right->arc_count);
            compared++;
        }
        gordian_graph_close(left);
        gordian_graph_close(right);
        gordian_circuit_close(circuit);
        gordian_circuit_close(other);
    }
}

/* Data that are only passed on make no difference to what can happen. */
static void check_routing(void)
{
    struct random random;
    char text[1000];
    unsigned long routing = 0;
    random_seed(&random, 12);
    for (unsigned long round = 0; round < test_scaled(300); round++) {
        make_circuit(&random, text, sizeof text, 1 + (unsigned)random_below(&random, 4));
        gordian_circuit *one = read_circuit(text, NULL, "0"),
                        *two = read_circuit(text, NULL, "0,1");
        REQUIRE(one && two);
        CHECK(gordian_circuit_is_routing(one) == gordian_circuit_is_routing(two));
        if (gordian_circuit_is_routing(two)) {
            gordian_graph *left = product_of(one), *right = product_of(two);
            CHECK_MSG((deadlocks_of(left) > 0) == (deadlocks_of(right) > 0), "%s", text);
            CHECK(left->state_count <= right->state_count);
            routing++;
            gordian_graph_close(left);
            gordian_graph_close(right);
        }
        gordian_circuit_close(one);
        gordian_circuit_close(two);
    }
    CHECK_MSG(routing >= test_scaled(30), "%lu", routing);
    /* Two data that must be equal are looked at. */
    gordian_circuit *circuit =
        read_circuit("e(a?,b?) { #RBA {a,b} a=b } main(a?,b?) { e(a,b) }", NULL, "0,1");
    REQUIRE(circuit);
    CHECK(!gordian_circuit_is_routing(circuit));
    gordian_circuit_close(circuit);
}

/* ------------------------------------------------------------------ isomorphism and deadlocks */

static gordian_graph *small_graph(const uint32_t (*arcs)[3], size_t count, uint32_t states)
{
    struct label_table labels;
    gordian_graph *graph;
    gordian_allocator memory = memory_allocator(NULL);
    uint32_t from[16];
    gordian_graph_arc list[16];
    REQUIRE(labels_init(&labels, &memory, NULL) == GORDIAN_OK);
    for (size_t i = 0; i < count; i++) {
        char name[8];
        snprintf(name, sizeof name, "l%u", arcs[i][1]);
        from[i] = arcs[i][0];
        REQUIRE(labels_put(&labels, name, strlen(name), &list[i].label, NULL) == GORDIAN_OK);
        list[i].to = arcs[i][2];
    }
    REQUIRE(graph_build(&graph, &labels, states, 0, from, list, count, &memory, NULL) ==
            GORDIAN_OK);
    return graph;
}

static void check_isomorphism(void)
{
    /* Two triangles or one hexagon behind the initial state: refinement alone cannot tell them
     * apart. */
    static const uint32_t triangles[][3] = {{0, 9, 1}, {0, 9, 2}, {0, 9, 3}, {0, 9, 4},
                                            {0, 9, 5}, {0, 9, 6}, {1, 1, 2}, {2, 1, 3},
                                            {3, 1, 1}, {4, 1, 5}, {5, 1, 6}, {6, 1, 4}};
    static const uint32_t hexagon[][3] = {{0, 9, 1}, {0, 9, 2}, {0, 9, 3}, {0, 9, 4},
                                          {0, 9, 5}, {0, 9, 6}, {1, 1, 3}, {3, 1, 2},
                                          {2, 1, 6}, {6, 1, 4}, {4, 1, 5}, {5, 1, 1}};
    static const uint32_t hexagon_too[][3] = {{0, 9, 1}, {0, 9, 2}, {0, 9, 3}, {0, 9, 4},
                                              {0, 9, 5}, {0, 9, 6}, {1, 1, 2}, {2, 1, 3},
                                              {3, 1, 4}, {4, 1, 5}, {5, 1, 6}, {6, 1, 1}};
    gordian_graph *a = small_graph(triangles, 12, 7), *b = small_graph(hexagon, 12, 7);
    gordian_graph *c = small_graph(hexagon_too, 12, 7);
    bool same;
    CHECK(graph_isomorphic(a, b, &same, NULL) == GORDIAN_OK && !same);
    CHECK(graph_isomorphic(b, c, &same, NULL) == GORDIAN_OK && same);
    CHECK(graph_isomorphic(a, a, &same, NULL) == GORDIAN_OK && same);
    gordian_graph_close(a);
    gordian_graph_close(b);
    gordian_graph_close(c);
}

static void check_deadlock_checker(void)
{
    gordian_circuit *circuit = read_circuit("main(a?) { #CA q* -> r : {a} }", NULL, NULL);
    REQUIRE(circuit);
    const char *why = NULL;
    uint32_t end = 1, start = 0;
    uint64_t step = 1, nothing = 0;
    gordian_compose_deadlock good = {.state = &end, .labels = &step, .step_count = 1};
    gordian_compose_deadlock early = {.state = &start, .labels = &step, .step_count = 0};
    gordian_compose_deadlock idle = {.state = &end, .labels = &nothing, .step_count = 1};
    gordian_compose_deadlock wrong = {.state = &start, .labels = &step, .step_count = 1};
    CHECK(compose_check_deadlock(circuit, &good, &why));
    CHECK(!compose_check_deadlock(circuit, &early, &why) && strstr(why, "leads out"));
    CHECK(!compose_check_deadlock(circuit, &idle, &why) && strstr(why, "nothing"));
    CHECK(!compose_check_deadlock(circuit, &wrong, &why) && strstr(why, "cannot"));
    gordian_circuit_close(circuit);
    /* One factor is at its end, the other is not: it moves while the first idles. */
    static const char *const two[] = {"f(a?) { #CA q* -> r : {a} } main(a?, b?) { f(a) f(b) }",
                                      "f(a?) { #CA q* -> r : {a} } main(a?, b?) { f(b) f(a) }"};
    for (size_t i = 0; i < 2; i++) {
        uint32_t half[2] = {1, 0}, both[2] = {1, 1};
        uint64_t steps[2];
        circuit = read_circuit(two[i], NULL, NULL);
        REQUIRE(circuit && circuit->factor_count == 2 && circuit->label_words == 1);
        factor_label(circuit, 0, 0, &steps[0]);
        factor_label(circuit, 1, 0, &steps[1]);
        gordian_compose_deadlock moves = {.state = half, .labels = steps, .step_count = 1};
        gordian_compose_deadlock stuck = {.state = both, .labels = steps, .step_count = 2};
        CHECK(!compose_check_deadlock(circuit, &moves, &why) && strstr(why, "leads out"));
        CHECK_MSG(compose_check_deadlock(circuit, &stuck, &why), "%s", why);
        gordian_circuit_close(circuit);
    }
}

int main(void)
{
    check_order();
    check_sizes();
    check_full();
    check_any_order();
    check_routing();
    check_isomorphism();
    check_deadlock_checker();
    return test_done();
}

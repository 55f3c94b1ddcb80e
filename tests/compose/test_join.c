/* Circuits composed together are what they are in one text. */
#include "foundation/base/io/output.h"
#include "random_circuit.h"

static bool same_product(const gordian_circuit *left, const gordian_circuit *right)
{
    bool same = false; /* an automaton's states are numbered as they come in its text */
    gordian_graph *one = product_of(left), *other = product_of(right);
    REQUIRE(one && other && graph_isomorphic(one, other, &same, NULL) == GORDIAN_OK);
    gordian_graph_close(one);
    gordian_graph_close(other);
    return same;
}

/* ------------------------------------------------------------------ cut in two */

/* The automata from number `from` up to `to`, and what stands before the first. */
static gordian_circuit *read_some(const char *text, size_t from, size_t to)
{
    struct output some;
    const char *at = strstr(text, "automaton ");
    REQUIRE(output_open(&some, -1));
    output_bytes(&some, text, (size_t)(at - text));
    for (size_t number = 0; at; number++) {
        const char *next = strstr(at + 1, "\nautomaton ");
        size_t length = next ? (size_t)(next + 1 - at) : strlen(at);
        if (number >= from && number < to)
            output_bytes(&some, at, length);
        at = next ? next + 1 : NULL;
    }
    output_char(&some, '\0');
    REQUIRE(some.failure == 0);
    gordian_circuit *circuit = read_ca(some.buffer, NULL);
    output_close(&some);
    return circuit;
}

static void cut_and_join(struct random *random, gordian_circuit *whole)
{
    struct output text;
    gordian_circuit *joined = NULL;
    size_t cut = 1 + random_below(random, whole->factor_count - 1);
    REQUIRE(output_open(&text, -1));
    REQUIRE(ca_write_circuit(whole, &text, NULL) == GORDIAN_OK);
    output_char(&text, '\0');
    gordian_circuit *first = read_some(text.buffer, 0, cut);
    gordian_circuit *second = read_some(text.buffer, cut, whole->factor_count);
    REQUIRE(first && second);
    const gordian_circuit *parts[] = {first, second};
    REQUIRE(gordian_circuit_join(&joined, parts, 2, NULL, NULL, NULL) == GORDIAN_OK);
    CHECK(joined->factor_count == whole->factor_count);
    CHECK_MSG(same_product(joined, whole), "cut after %zu of\n%s", cut, text.buffer);
    output_close(&text);
    gordian_circuit_close(first);
    gordian_circuit_close(second);
    gordian_circuit_close(joined);
}

static void test_cut(void)
{
    struct random random;
    unsigned long rounds = test_scaled(400);
    random_seed(&random, 77);
    for (unsigned long i = 0; i < rounds; i++) {
        gordian_circuit *whole = i % 2 ? random_circuit(&random, 6, 2000)
                                       : random_network(&random, 2 + random_below(&random, 4));
        if (whole && whole->factor_count > 1)
            cut_and_join(&random, whole);
        gordian_circuit_close(whole);
    }
}

/* ------------------------------------------------------------------ names and data */

static bool has_name(const gordian_circuit *circuit, const char *name, bool port)
{
    uint32_t n = names_find(&circuit->names, name, strlen(name));
    return n != GORDIAN_NONE && (circuit->boundary[n] != 0) == port;
}

/* x is inside of both: two nodes, not one. b joins the two; a goes to two automata and is a port.
 */
static void test_inside(void)
{
    gordian_circuit *left =
        read_circuit("main(a?,b!) { fifo1(a,x) fifo1(x,b) syncdrain(a,x) }", NULL, NULL);
    gordian_circuit *right = read_circuit("main(b?,c!) { fifo1(b,x) fifo1(x,c) }", NULL, NULL);
    gordian_circuit *whole = read_circuit(
        "main(a?,c!) { fifo1(a,u) fifo1(u,b) syncdrain(a,u) fifo1(b,v) fifo1(v,c) }", NULL, NULL);
    gordian_circuit *joined = NULL;
    const gordian_circuit *parts[] = {left, right};
    REQUIRE(left && right && whole);
    REQUIRE(gordian_circuit_join(&joined, parts, 2, NULL, NULL, NULL) == GORDIAN_OK);
    CHECK(joined->name_count == whole->name_count);
    CHECK(has_name(joined, "x@1", false) && has_name(joined, "x@2", false));
    CHECK(has_name(joined, "a", true) && has_name(joined, "c", true));
    CHECK(has_name(joined, "b", false));
    gordian_graph *one = product_of(joined), *other = product_of(whole);
    CHECK(one && other && one->state_count == other->state_count);
    CHECK(one && other && one->first[one->state_count] == other->first[other->state_count]);
    gordian_graph_close(one);
    gordian_graph_close(other);
    gordian_circuit_close(left);
    gordian_circuit_close(right);
    gordian_circuit_close(whole);
    gordian_circuit_close(joined);
}

/* The data of both, and the tables of both, which are told apart. */
static void test_data(void)
{
    static const char left_text[] = "data 0 1\ndefine f = {[0,1] [1,0]}\n"
                                    "automaton l (a?, b!) { q* -> q : {a, b} b = f(a) }\n",
                      right_text[] = "data 1 \"x\"\ndefine f = {[1,\"x\"] [\"x\",1]}\n"
                                     "automaton r (b?, c!) { q* -> q : {b, c} c = f(b) }\n";
    gordian_circuit *left = read_ca(left_text, NULL), *right = read_ca(right_text, NULL), *joined;
    REQUIRE(left && right);
    const gordian_circuit *parts[] = {left, right};
    REQUIRE(gordian_circuit_join(&joined, parts, 2, NULL, NULL, NULL) == GORDIAN_OK);
    CHECK(joined->data.domain_size == 3);
    gordian_graph *graph = product_of(joined);
    CHECK(graph && graph->state_count == 1 && graph->first[1] == 1); /* 0 1 x, and nothing else */
    gordian_graph_close(graph);
    gordian_circuit_close(joined);
    REQUIRE(gordian_circuit_join(&joined, parts, 2, "0,1,x,y", NULL, NULL) == GORDIAN_OK);
    CHECK(joined->data.domain_size == 4);
    gordian_circuit_close(joined);
    gordian_circuit_close(left);
    gordian_circuit_close(right);
}

int main(void)
{
    test_cut();
    test_inside();
    test_data();
    return test_done();
}

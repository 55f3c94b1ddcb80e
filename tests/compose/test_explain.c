/* The parts that an order goes through: each is the product of the factors in it, and the last one
 * is the whole. */
#include "../alloc/failing.h"
#include "compose.h"
#include "random_circuit.h"

#define FACTORS 8u
#define MOST    2000u

static uint32_t naive_open(const gordian_circuit *circuit, const uint32_t *order, size_t count)
{
    uint32_t open = 0;
    for (uint32_t n = 0; n < circuit->name_count; n++) {
        bool inside = false, outside = false;
        for (size_t i = 0; i < circuit->factor_count; i++)
            for (uint32_t p = 0; p < factor_shape(circuit, order[i])->port_count; p++)
                if (circuit->factors[order[i]].names[p] == n)
                    *(i < count ? &inside : &outside) = true;
        open += inside && outside;
    }
    return open;
}

/* A random circuit of fewer factors is the beginning of one of more with the same seed. */
static void test_prefixes(uint64_t seed)
{
    struct random random;
    gordian_compose_stage stages[FACTORS];
    uint32_t order[FACTORS];
    random_seed(&random, seed);
    gordian_circuit *whole = random_circuit(&random, FACTORS, MOST);
    for (uint32_t f = 0; f < whole->factor_count; f++)
        order[f] = f;
    REQUIRE(gordian_compose_explain(whole, order, MOST, stages, NULL, NULL) == GORDIAN_OK);
    for (uint32_t f = 1; f <= FACTORS; f++) {
        random_seed(&random, seed);
        gordian_circuit *part = random_circuit(&random, f, MOST);
        size_t count = part->factor_count;
        gordian_graph *graph = count ? product_of(part) : NULL;
        if (graph) {
            const gordian_compose_stage *stage = &stages[count - 1];
            CHECK(stage->automaton == count - 1);
            CHECK_MSG(stage->states == graph->state_count && stage->transitions == graph->arc_count,
                      "seed %d, %zu factors: %d/%d, not %u/%zu", (int)seed, count,
                      (int)stage->states, (int)stage->transitions, graph->state_count,
                      graph->arc_count);
            CHECK(stage->open_names == naive_open(whole, order, count));
        }
        gordian_graph_close(graph);
        gordian_circuit_close(part);
    }
    gordian_circuit_close(whole);
}

/* Whatever the order, the last part is the whole. */
static void test_orders(uint64_t seed)
{
    struct random random;
    gordian_compose_stage stages[FACTORS];
    uint32_t order[FACTORS];
    random_seed(&random, seed);
    gordian_circuit *whole = random_circuit(&random, FACTORS, MOST);
    size_t count = whole->factor_count;
    gordian_graph *graph = count ? product_of(whole) : NULL;
    for (uint32_t f = 0; f < count; f++) {
        uint32_t at = (uint32_t)random_below(&random, f + 1);
        order[f] = order[at];
        order[at] = f;
    }
    REQUIRE(gordian_compose_explain(whole, order, MOST, stages, NULL, NULL) == GORDIAN_OK);
    if (graph) {
        CHECK(stages[count - 1].states == graph->state_count);
        CHECK(stages[count - 1].transitions == graph->arc_count);
        CHECK(stages[count - 1].open_names == 0);
    }
    for (size_t i = 0; i < count; i++)
        CHECK(stages[i].open_names == naive_open(whole, order, i + 1));
    gordian_graph_close(graph);
    gordian_circuit_close(whole);
}

/* Parts that are too large are not built, and neither is what follows. */
static void test_limit(void)
{
    gordian_circuit *circuit =
        read_circuit("main(a[0]?,a[8]!) { fifo1(a[i],a[i+1]) | i:<0..7> }", NULL, NULL);
    gordian_compose_stage stages[8];
    uint32_t order[8] = {0, 1, 2, 3, 4, 5, 6, 7};
    REQUIRE(circuit);
    REQUIRE(gordian_compose_explain(circuit, order, 16, stages, NULL, NULL) == GORDIAN_OK);
    CHECK(stages[3].states == 16 && stages[3].transitions == 42);
    for (size_t i = 4; i < 8; i++)
        CHECK(stages[i].states == UINT64_MAX && stages[i].transitions == UINT64_MAX);
    gordian_circuit_close(circuit);
}

static void test_memory(void)
{
    gordian_circuit *circuit =
        read_circuit("main(a[0]?,a[3]!) { fifo1(a[i],a[i+1]) | i:<0..2> }", NULL, NULL);
    gordian_compose_stage stages[3];
    uint32_t order[3] = {1, 0, 2};
    struct failing failing = {0};
    gordian_allocator allocator = {failing_resize, &failing};
    REQUIRE(circuit);
    REQUIRE(gordian_compose_explain(circuit, order, 0, stages, &allocator, NULL) == GORDIAN_OK);
    size_t calls = failing.calls;
    CHECK(calls > 4 && failing.live_blocks == 0);
    for (size_t n = 1; n <= calls; n++) {
        failing = (struct failing){.fail_at = n};
        gordian_status status =
            gordian_compose_explain(circuit, order, 0, stages, &allocator, NULL);
        /* An engine may take a failure for its limit: then the part is not known. */
        CHECK(status == GORDIAN_STATUS_MEMORY || status == GORDIAN_OK);
        CHECK_MSG(failing.live_blocks == 0, "allocation %zu leaks", n);
    }
    gordian_circuit_close(circuit);
}

int main(void)
{
    for (uint64_t seed = 1; seed <= 100; seed++) {
        test_prefixes(seed);
        test_orders(seed);
    }
    test_limit();
    test_memory();
    return test_done();
}

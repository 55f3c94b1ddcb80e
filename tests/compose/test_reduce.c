/* Reductions on and off: as many deadlocks, never more states, and every way that is shown is a
 * run of the circuit into a deadlock. Stubborn sets and symmetry are both on. */
#include "random_circuit.h"

#include <gordian/compose.h>

static bool run(const gordian_circuit *circuit, bool reduce, gordian_compose_result *result)
{
    gordian_compose_options options;
    gordian_error error = {0};
    gordian_compose_options_init(&options);
    options.engine = reduce ? NULL : circuit->whole > 4096 ? "cpu" : "dense";
    options.threads = 1;
    options.reduce = reduce;
    options.count_transitions = false;
    options.max_deadlocks = reduce ? 1000 : 0;
    gordian_status status = gordian_compose(circuit, &options, NULL, result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s", error.message);
    return status == GORDIAN_OK;
}

static void compare_runs(const gordian_circuit *circuit, const char *what, unsigned long number)
{
    gordian_compose_result all, fewer;
    const char *why = "";
    if (!run(circuit, false, &all))
        return;
    if (run(circuit, true, &fewer)) {
        CHECK_MSG(fewer.deadlocks == all.deadlocks && fewer.states <= all.states,
                  "%s %lu: %llu deadlocks in %llu states, not %llu in %llu", what, number,
                  (unsigned long long)fewer.deadlocks, (unsigned long long)fewer.states,
                  (unsigned long long)all.deadlocks, (unsigned long long)all.states);
        CHECK((fewer.found_count > 0) == (all.deadlocks > 0));
        for (size_t i = 0; i < fewer.found_count; i++)
            CHECK_MSG(compose_check_deadlock(circuit, &fewer.found[i], &why), "%s %lu: %s", what,
                      number, why);
        gordian_compose_result_free(&fewer);
    }
    gordian_compose_result_free(&all);
}

static void check_random(void)
{
    struct random random;
    random_seed(&random, 7);
    unsigned long count = test_scaled(20000);
    for (unsigned long i = 0; i < count; i++) {
        gordian_circuit *circuit =
            random_circuit(&random, 2 + (uint32_t)random_below(&random, 6), 2000);
        compare_runs(circuit, "random", i);
        gordian_circuit_close(circuit);
    }
}

/* One random automaton several times: round a ring, around somebody in the middle, or at random, so
 * that many can change places. */
static gordian_circuit *random_symmetric(struct random *random)
{
    gordian_allocator memory = memory_allocator(NULL);
    gordian_circuit *circuit = NULL;
    uint32_t copies = 2 + (uint32_t)random_below(random, 4),
             kind = (uint32_t)random_below(random, 3);
    uint32_t number[2], names[4], pool = 2 * copies + 1;
    REQUIRE(circuit_new(&circuit, "symmetric", &memory, NULL) == GORDIAN_OK);
    for (uint32_t n = 0; n < pool; n++) {
        char text[20];
        snprintf(text, sizeof text, "n%u", n);
        REQUIRE(circuit_name(circuit, text, strlen(text), names, NULL) == GORDIAN_OK);
    }
    for (size_t i = 0; i < 2; i++)
        REQUIRE(circuit_automaton(circuit, random_automaton(random, 3), &number[i], NULL) ==
                GORDIAN_OK);
    for (uint32_t i = 0; i < copies; i++) {
        uint32_t next = (i + 1) % copies;
        names[0] = i;
        names[1] = kind == 0 ? next : kind == 1 ? pool - 1 : (uint32_t)random_below(random, pool);
        names[2] = random_chance(random, 50) && kind == 2 ? names[1] : copies + i;
        REQUIRE(circuit_factor(circuit, number[0], names, NULL, NULL) == GORDIAN_OK);
    }
    names[0] = pool - 1;
    names[1] = kind == 0 ? pool - 1 : (uint32_t)random_below(random, copies);
    names[2] = pool - 1;
    REQUIRE(circuit_factor(circuit, number[1], names, NULL, NULL) == GORDIAN_OK);
    REQUIRE(circuit_seal(circuit, NULL) == GORDIAN_OK);
    return circuit;
}

static void check_symmetric(void)
{
    struct random random;
    random_seed(&random, 11);
    unsigned long count = test_scaled(20000);
    for (unsigned long i = 0; i < count; i++) {
        gordian_circuit *circuit = random_symmetric(&random);
        if (circuit->whole_fits && circuit->whole <= 2000)
            compare_runs(circuit, "symmetric", i);
        gordian_circuit_close(circuit);
    }
}

/* How much it leaves out: n buffers that share nothing, philosophers, a chain; clients that are all
 * alike, whose deadlocks are many but one of a kind. */
static void check_known(void)
{
    static const struct {
        const char *text, *main;
        uint64_t most, deadlocks;
    } known[] = {
        {"apart() { { fifo1(a[i],b[i]) | i:<1..10> } }", NULL, 20, 0},
        {"ends() { { once(a[i]) | i:<1..10> } } once(a?) { #CA p* -> q : {a} }", "ends", 11, 1},
        {"phil(l!,r!,d!,e!) { #CA a* -> b : {l} b -> c : {r} c -> d : {d} d -> a : {e} }"
         "fork(t?,s?,u?,v?) { #CA f* -> g : {t} f -> g : {s} g -> f : {u} g -> f : {v} }"
         "main() { { phil(l[i],r[i],d[i],e[i]) fork(l[i],r[(i+1)%6],d[i],e[(i+1)%6]) | i:<0..5> } "
         "}",
         "main", 37, 1},
        {"client(g?,p!) { #CA a* -> b : {g} b -> a : {p} b -> c : {g} }"
         "lock(g!,p?) { #CA f* -> h : {g} h -> f : {p} h -> f : {g} }"
         "main() { { client(g[i],p[i]) lock(g[i],p[i]) | i:<1..6> } }",
         "main", 18, 1},
        {"pick(a?,b?) { #CA p* -> q : {a} p -> r : {b} }"
         "many() { { pick(a[i],b[i]) | i:<1..6> } }",
         "many", 28, 64},
        {"ring() { fifofull<0>(x[0],x[1]) { fifo1(x[i],x[(i+1)%8]) | i:<1..7> } }", NULL, 8, 0},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        gordian_compose_result result;
        gordian_circuit *circuit = read_circuit(known[i].text, known[i].main, NULL);
        REQUIRE(circuit);
        compare_runs(circuit, "known", i);
        REQUIRE(run(circuit, true, &result));
        CHECK_MSG(result.states <= known[i].most && result.deadlocks == known[i].deadlocks,
                  "%zu: %llu states, %llu deadlocks", i, (unsigned long long)result.states,
                  (unsigned long long)result.deadlocks);
        gordian_compose_result_free(&result);
        gordian_circuit_close(circuit);
    }
}

static void check_limits(void)
{
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_circuit *circuit = read_circuit(
        "r() { fifofull<0>(x[0],x[1]) { fifo1(x[i],x[(i+1)%8]) | i:<1..7> } }", NULL, NULL);
    gordian_compose_sink sink = {0};
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    options.reduce = true;
    options.max_states = 3;
    CHECK(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STATES && result.states == 3);
    gordian_compose_result_free(&result);
    options.max_states = 0;
    options.max_memory = 100;
    CHECK(gordian_compose(circuit, &options, NULL, &result, NULL) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_MEMORY);
    gordian_compose_result_free(&result);
    CHECK(gordian_compose(circuit, &options, &sink, &result, NULL) == GORDIAN_STATUS_INPUT);
    gordian_circuit_close(circuit);
}

int main(void)
{
    check_random();
    check_symmetric();
    check_known();
    check_limits();
    return test_done();
}

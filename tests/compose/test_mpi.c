/* Composition over MPI against the plainest engine. Run by mpirun with any number of ranks: rank 0
 * compares, the others work. */
#include "compose/agree.h"
#include "engines/compose/mpi/mpi.h"
#include "foundation/ranks/ranks.h"

#include <mpi.h>

static gordian_status over_mpi(const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               const void *tuning, gordian_error *error)
{
    (void)tuning;
    return compose_mpi.run(circuit, options, sink, result, error);
}

static void compare_ways(const gordian_circuit *circuit, struct random *random)
{
    gordian_compose_options options;
    gordian_compose_options_init(&options);
    options.max_deadlocks = (uint32_t)random_below(random, 4);
    compare(over_mpi, circuit, &options, NULL);
    options.indivisible = true;
    compare(over_mpi, circuit, &options, NULL);
    options.indivisible = random_below(random, 2);
    options.full = true;
    compare(over_mpi, circuit, &options, NULL);
    options.max_states = 1 + random_below(random, 40);
    compare(over_mpi, circuit, &options, NULL);
}

static void test_references(struct random *random)
{
    for (size_t i = 0; i < sizeof references / sizeof *references; i++) {
        const struct reference *r = &references[i];
        gordian_circuit *circuit = read_circuit(library, r->main, r->data);
        gordian_compose_options options;
        REQUIRE(circuit);
        gordian_compose_options_init(&options);
        struct outcome outcome = run(over_mpi, circuit, &options, NULL);
        CHECK_MSG(outcome.result.states == r->states &&
                      outcome.result.transitions == r->transitions &&
                      outcome.result.deadlocks == r->deadlocks,
                  "%s", r->main);
        outcome_free(&outcome);
        if (r->states <= 128)
            compare_ways(circuit, random);
        gordian_circuit_close(circuit);
    }
}

static void test_random(struct random *random, unsigned rounds)
{
    for (unsigned i = 0; i < rounds; i++) {
        gordian_circuit *circuit = random_circuit(random);
        if (circuit->whole <= 4096)
            compare_ways(circuit, random);
        gordian_circuit_close(circuit);
    }
}

/* Large enough that all ranks have states, and batches fill. */
static void test_large(void)
{
    gordian_circuit *circuit =
        read_circuit("main(a[0]?,a[18]!) { fifo1(a[i],a[i+1]) | i:<0..17> }", NULL, NULL);
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_error error = {0};
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    REQUIRE(compose_mpi.run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.states == 262144 && result.deadlocks == 0);
    uint64_t pell[20] = {0, 1};
    for (int n = 2; n < 20; n++)
        pell[n] = 2 * pell[n - 1] + pell[n - 2];
    CHECK(result.transitions == 2 * pell[19] - 262144);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

static bool stop_now(void *context, const gordian_compose_progress *progress)
{
    (void)context;
    (void)progress;
    return false;
}

/* Stopped on the way: everybody comes back, and the next run is not disturbed. */
static void test_stop(void)
{
    gordian_circuit *circuit =
        read_circuit("main(a[0]?,a[30]!) { fifo1(a[i],a[i+1]) | i:<0..29> }", NULL, NULL);
    gordian_compose_options options;
    gordian_compose_result result;
    gordian_error error = {0};
    REQUIRE(circuit);
    gordian_compose_options_init(&options);
    options.go_on = stop_now;
    options.count_transitions = false;
    options.max_deadlocks = 0;
    REQUIRE(compose_mpi.run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STOPPED && result.states > 0 &&
          result.states < 1u << 30);
    gordian_compose_result_free(&result);
    options.go_on = NULL;
    options.max_states = 100000;
    REQUIRE(compose_mpi.run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_COMPOSE_STOP_STATES && result.states > 100000 &&
          result.states < 1u << 30);
    gordian_compose_result_free(&result);
    gordian_circuit_close(circuit);
}

static bool stop_later(void *context, const gordian_compose_progress *progress)
{
    (void)context;
    return progress->states < 100;
}

/* The first step leads into a deadlock, or lets 30 buffers run: stopped after that, by ctrl-C or by
 * a limit, the run has found it, and says where it is. */
static void test_kept(void)
{
    static const char gate[] = "main(a[30]!) {\n"
                               "  gate(die,live,a[0]) { fifo1(a[i],a[i+1]) | i:<0..29> } }\n"
                               "gate(die?,live?,x!) { #CA start* -> dead : {die} start -> run : "
                               "{live} run -> run : {x} }\n";
    gordian_circuit *circuit = read_circuit(gate, "main", NULL);
    REQUIRE(circuit);
    for (unsigned mode = 0; mode < 4; mode++) {
        gordian_compose_options options;
        gordian_compose_result result;
        gordian_error error = {0};
        gordian_compose_options_init(&options);
        options.go_on = mode < 2 ? stop_later : NULL;
        options.max_states = mode < 2 ? 0 : 1000;
        options.count_transitions = mode % 2;
        REQUIRE(compose_mpi.run(circuit, &options, NULL, &result, &error) == GORDIAN_OK);
        CHECK_MSG(result.stop != GORDIAN_COMPOSE_STOP_COMPLETE && result.deadlocks == 1 &&
                      result.found_count == 1,
                  "mode %u: stop %d, %d deadlocks, %zu described", mode, (int)result.stop,
                  (int)result.deadlocks, result.found_count);
        gordian_compose_result_free(&result);
    }
    gordian_circuit_close(circuit);
}

static void (*const services[RANKS_SERVICES])(void) = {[RANKS_COMPOSE] = compose_mpi_serve};

int main(int argc, char **argv)
{
    unsigned long rounds = test_scaled(150);
    int rank, code = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        ranks_serve(services);
    } else {
        struct random random;
        random_seed(&random, 11);
        test_references(&random);
        test_random(&random, rounds);
        test_large();
        test_stop();
        test_kept();
        test_references(&random);
        ranks_call(RANKS_DISMISSED);
        code = test_done();
    }
    MPI_Finalize();
    return code;
}

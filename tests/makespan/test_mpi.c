/* Annealing over MPI against annealing on threads: the same answer, schedule included. Run by
 * mpirun with any number of ranks: rank 0 compares, the others work. */
#include "engines/makespan/anneal/anneal.h"
#include "engines/makespan/mpi.h"
#include "foundation/ranks/ranks.h"
#include "world.h"

#include <mpi.h>
#include <string.h>

static void compare(const struct makespan_model *model, const gordian_makespan_options *options)
{
    struct makespan_result one = {0}, many = {0};
    gordian_error error = {0};
    REQUIRE(makespan_anneal.run(model, options, &one, &error) == GORDIAN_OK);
    REQUIRE(makespan_mpi.run(model, options, &many, &error) == GORDIAN_OK);
    CHECK_MSG(one.lower == many.lower && one.upper == many.upper && one.exact == many.exact,
              "%s, %u warps: %u .. %u, not %u .. %u", model->text, model->warps, many.lower,
              many.upper, one.lower, one.upper);
    CHECK(memcmp(one.order, many.order, model->work) == 0);
    CHECK(memcmp(one.cycles, many.cycles, model->work * sizeof *one.cycles) == 0);
    CHECK(many.stop == GORDIAN_MAKESPAN_STOP_DONE && strcmp(many.engine, "mpi") == 0);
    /* Chains behind one that has reached the bound are given up sooner or later. */
    CHECK(one.exact || one.evaluations == many.evaluations);
    makespan_result_free(&one);
    makespan_result_free(&many);
}

static void test_random(struct random *random, unsigned long count)
{
    for (unsigned long i = 0; i < count; i++) {
        struct makespan_model *model = random_model(random, 9, 12);
        gordian_makespan_options options;
        gordian_makespan_options_init(&options);
        options.goal =
            random_below(random, 2) ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
        options.seed = random_next(random);
        options.chains = 1 + (uint32_t)random_below(random, 9);
        options.evaluations = 1 + random_below(random, 300);
        options.published = random_below(random, 4) == 0;
        options.start = (gordian_makespan_start)random_below(random, 5);
        options.threads = 1;
        compare(model, &options);
        model_close(model);
    }
}

/* Long enough for several meetings; some ranks have more to do than others. */
static void test_long(unsigned long percent)
{
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, 8);
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.chains = 5;
    options.evaluations = 1 + 400 * percent;
    options.threads = 1;
    compare(model, &options);
    model_close(model);
}

static bool go_on(void *context, const gordian_makespan_progress *progress)
{
    CHECK(progress->lower <= progress->upper);
    return --*(int *)context > 0;
}

/* All ranks stop when rank 0 is told to, and there is a schedule. */
static void test_stop(void)
{
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, 16);
    gordian_makespan_options options;
    struct makespan_result result;
    gordian_error error = {0};
    int looks = 2;
    gordian_makespan_options_init(&options);
    options.evaluations = UINT64_C(1) << 39;
    options.go_on = go_on;
    options.context = &looks;
    REQUIRE(makespan_mpi.run(model, &options, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_MAKESPAN_STOP_STOPPED && looks == 0 && result.order);
    makespan_result_free(&result);
    options.go_on = NULL;
    options.max_ns = 1;
    REQUIRE(makespan_mpi.run(model, &options, &result, &error) == GORDIAN_OK);
    CHECK(result.stop == GORDIAN_MAKESPAN_STOP_TIME && result.order);
    makespan_result_free(&result);
    options.chains = 0;
    CHECK(makespan_mpi.run(model, &options, &result, &error) == GORDIAN_STATUS_INPUT);
    model_close(model);
}

static void (*const services[RANKS_SERVICES])(void) = {[RANKS_MAKESPAN] = makespan_mpi_serve};

int main(int argc, char **argv)
{
    int rank, code = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) {
        ranks_serve(services);
    } else {
        struct random random;
        random_seed(&random, 8);
        test_random(&random, 1 + test_scale());
        test_long(test_scale());
        test_stop();
        ranks_call(RANKS_DISMISSED);
        code = test_done();
    }
    MPI_Finalize();
    return code;
}

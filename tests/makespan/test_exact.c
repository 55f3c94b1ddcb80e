/* The exact engine: against a file of known values, against brute force, against itself with other
 * words, cuts and threads; and what it says when it is stopped. */
#include "engines/makespan/exact/candidates.h"
#include "engines/makespan/exact/largest.h"
#include "engines/makespan/exact/search.h"
#include "engines/makespan/model/engine.h"
#include "world.h"

#include <string.h>

static gordian_makespan_options options_of(gordian_makespan_goal goal)
{
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.goal = goal;
    options.threads = 2;
    return options;
}

static struct makespan_result solve(const struct makespan_model *model,
                                    const gordian_makespan_options *options)
{
    struct makespan_result result;
    gordian_error error;
    gordian_status status = makespan_exact.run(model, options, &result, &error);
    CHECK_MSG(status == GORDIAN_OK, "%s x %u: %s", model->text, model->warps, error.message);
    REQUIRE(status == GORDIAN_OK);
    /* The schedule is there, it is right, and it reaches its end of the interval. */
    uint32_t end = result.cycles[model->work - 1] + 1;
    CHECK(end == (options->goal == GORDIAN_MAKESPAN_GOAL_WORST ? result.lower : result.upper));
    CHECK(schedule_check(model, result.order, result.cycles, end, NULL) == GORDIAN_OK);
    CHECK(result.lower <= result.upper && result.exact == (result.lower == result.upper));
    return result;
}

static uint32_t exact_value(const struct makespan_model *model, gordian_makespan_goal goal)
{
    gordian_makespan_options options = options_of(goal);
    struct makespan_result result = solve(model, &options);
    CHECK_MSG(result.exact, "%s x %u: %u..%u", model->text, model->warps, result.lower,
              result.upper);
    uint32_t value = result.lower;
    makespan_result_free(&result);
    return value;
}

/* ------------------------------------------------------------------ known values */

static uint32_t build_row(const struct makespan_model *model, const uint32_t *witness, size_t count)
{
    uint8_t order[1024];
    uint32_t makespan = 0;
    REQUIRE(count == model->work);
    for (size_t i = 0; i < count; i++)
        order[i] = (uint8_t)(witness[i] - 1);
    CHECK(order_valid(model, order));
    CHECK(schedule_build(model, order, NULL, &makespan) == GORDIAN_OK);
    return makespan;
}

/* What is too long for every day; a short run does some of the rest. */
static bool too_long(const struct row *row)
{
    if (row->id % test_stride() != 0)
        return true;
    if (strlen(row->string) < 20 || row->warps < 6)
        return false;
    return test_scale() < (row->warps < 8 ? 100 : 1000);
}

static void test_rows(const char *path)
{
    size_t count;
    struct row *rows = read_rows(path, &count);
    CHECK(count == 61);
    for (size_t i = 0; i < count; i++) {
        const struct row *row = &rows[i];
        struct makespan_model *model = row_model(row);
        CHECK_MSG(strcmp(model->text, row->string) == 0, "row %u: %s", row->id, model->text);
        if (row->worst_count)
            CHECK(build_row(model, row->worst_witness, row->worst_count) == row->worst);
        if (row->best_count)
            CHECK(build_row(model, row->best_witness, row->best_count) == row->best);
        CHECK(model_upper_bound(model) >= row->worst && model_lower_bound(model) <= row->worst);
        CHECK(!row->best || model_lower_bound(model) <= row->best);
        if (!too_long(row)) {
            uint32_t worst = exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST), best;
            CHECK_MSG(worst == row->worst, "row %u: worst %u, not %u", row->id, worst, row->worst);
            best = row->best ? exact_value(model, GORDIAN_MAKESPAN_GOAL_BEST) : 0;
            CHECK_MSG(best == row->best, "row %u: best %u, not %u", row->id, best, row->best);
        }
        model_close(model);
    }
    free(rows);
}

/* The case study, by warps: with four schedulers, and without a bound. */
/* The threads are what a short run under the thread sanitizer is about. */
static bool threads_only(void)
{
    return TEST_THREADS_ONLY && test_scale() < 100;
}

static void test_case_study(void)
{
    static const uint32_t four[] = {25, 31, 37, 45, 65, 78, 87, 98},
                          free_of[] = {25, 31, 37, 45, 57, 67, 77, 86};
    uint32_t most = test_scale() >= 100 ? 8 : threads_only() ? 3 : 5;
    for (uint32_t warps = 1; warps <= most; warps++) {
        struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, warps);
        CHECK(exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST) == four[warps - 1]);
        model_close(model);
        model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 0, warps);
        CHECK(exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST) == free_of[warps - 1]);
        model_close(model);
    }
}

/* More of them, where the tables alone leave an interval open. */
static void test_case_study_free(void)
{
    static const uint32_t values[][2] = {{10, 104}, {12, 123}, {14, 141}, {16, 160}, {24, 234}};
    const unsigned least[] = {10, 100, 100, 100, 1000}; /* the scale: the last takes minutes */
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        if (test_scale() < least[i])
            continue;
        struct makespan_model *model =
            make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 0, values[i][0]);
        CHECK(exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST) == values[i][1]);
        model_close(model);
    }
}

/* ------------------------------------------------------------------ brute force */

static void test_brute_force(void)
{
    struct random random;
    random_seed(&random, 2024);
    uint64_t strings = 0;
    for (unsigned long n = 0; n < 6 * test_scale(); n++) {
        struct makespan_model *model = random_model(&random, 5, 7);
        uint64_t count = count_strings(model);
        if (count > 100000) {
            model_close(model);
            continue;
        }
        uint32_t worst, best;
        strings += count;
        brute_force(model, &worst, &best);
        CHECK_MSG(exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST) == worst,
                  "%s x %u, %u schedulers: worst %u", model->text, model->warps, model->schedulers,
                  worst);
        CHECK_MSG(exact_value(model, GORDIAN_MAKESPAN_GOAL_BEST) == best,
                  "%s x %u, %u schedulers: best %u", model->text, model->warps, model->schedulers,
                  best);
        CHECK(model_upper_bound(model) >= worst && model_lower_bound(model) <= best);
        model_close(model);
    }
    CHECK(strings > 1000 * test_scale());
}

/* ------------------------------------------------------------------ sums and largest ones */

#define FEW 4u /* warps, and instructions of a run */

/* Seen: warps with that sum and that largest, so many of them that start and leave, and the largest
 * that is left then. */
static bool seen[FEW * FEW + 1][FEW + 1][FEW + 1][FEW + 1][FEW + 1];

static uint32_t largest_of(const uint32_t *left, uint32_t warps)
{
    uint32_t most = 0;
    for (uint32_t i = 0; i < warps; i++)
        most = left[i] > most ? left[i] : most;
    return most;
}

/* Every choice of those who start, of warps that have so much left each. */
static void see_steps(const uint32_t *left, uint32_t warps)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < warps; i++)
        sum += left[i];
    for (uint32_t chosen = 0; chosen < 1u << warps; chosen++) {
        uint32_t after[FEW], starts = 0, leaves = 0;
        for (uint32_t i = 0; i < warps; i++) {
            after[i] = left[i] - (chosen >> i & 1);
            starts += chosen >> i & 1;
            leaves += after[i] == 0;
        }
        seen[sum][largest_of(left, warps)][starts][leaves][largest_of(after, warps)] = true;
    }
}

static void see_all(uint32_t *left, uint32_t at, uint32_t warps)
{
    if (at == warps) {
        see_steps(left, warps);
        return;
    }
    for (left[at] = 1; left[at] <= FEW; left[at]++)
        see_all(left, at + 1, warps);
}

/* What is said to be possible is what some warps can do, and nothing else. */
static void test_largest_steps(void)
{
    for (uint32_t warps = 1; warps <= FEW; warps++) {
        uint32_t left[FEW];
        memset(seen, 0, sizeof seen);
        see_all(left, 0, warps);
        for (uint32_t sum = warps; sum <= warps * FEW; sum++)
            for (uint32_t most = 1; most <= FEW; most++) {
                struct largest_run run = {warps, sum, most};
                if (!seen[sum][most][0][0][most])
                    continue; /* no such warps */
                for (uint32_t starts = 0; starts <= warps; starts++)
                    for (uint32_t leaves = 0; leaves <= starts; leaves++) {
                        struct largest_step step = {starts, leaves};
                        bool can = false;
                        for (uint32_t after = 0; after <= FEW; after++) {
                            bool may = (after == most || after + 1 == most) &&
                                       largest_may_be(&run, &step, after);
                            can |= may;
                            CHECK_MSG(may == seen[sum][most][starts][leaves][after],
                                      "%u warps, %u left, at most %u: %u start, %u leave, %u",
                                      warps, sum, most, starts, leaves, after);
                        }
                        CHECK(can == largest_can(&run, &step, FEW, true));
                        CHECK(!can || leaves <= largest_leavers(&run, FEW));
                    }
            }
    }
}

/* ------------------------------------------------------------------ against itself */

/* Told by sums and largest ones the states are fewer: their best is between the table's bound and
 * the truth, whatever the words. */
static void check_tightened(const struct search *search, uint32_t value, bool wide)
{
    bool worst = search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST;
    uint32_t bound = table_bound(search->table), tight = 0;
    if (!search_tightens(search))
        return;
    CHECK(!(wide ? search_sweep_largest_128 : search_sweep_largest_64)(search, 0, &tight, NULL));
    CHECK_MSG(worst ? value <= tight && tight <= bound : bound <= tight && tight <= value,
              "%s x %u: %u, %u, %u", search->model->text, search->model->warps, bound, tight,
              value);
    /* With the truth known nothing better is looked for. */
    atomic_store(worst ? &search->watch->lower : &search->watch->upper, value);
    CHECK(search_tighten(search, 0, NULL) == GORDIAN_OK);
    uint32_t left = atomic_load(worst ? &search->watch->upper : &search->watch->lower);
    CHECK_MSG(left == tight, "%s x %u: %u, not %u", search->model->text, search->model->warps, left,
              tight);
}

/* Kept to by a search, they leave the truth in it: a sweep comes to it, and a dive finds it. */
static void check_candidates(struct search *search, uint32_t value, bool wide)
{
    bool worst = search->table->goal == GORDIAN_MAKESPAN_GOAL_WORST, found = false;
    struct candidates *candidates;
    uint32_t swept = 0, makespan = 0;
    uint8_t *order = malloc(search->model->work);
    REQUIRE(order != NULL);
    atomic_store(&search->watch->lower, worst ? value - 1 : 1);
    atomic_store(&search->watch->upper, worst ? UINT32_MAX - 1 : value + 1);
    if (candidates_open(&candidates, search, UINT64_MAX, NULL) == GORDIAN_OK) {
        struct largest_run runs[ABSTRACTION_MAX_BLOCKS] = {{0}};
        const uint32_t length = search->model->runs[0].length, warps = search->model->warps;
        runs[0] = (struct largest_run){warps, warps * length, length};
        uint32_t rest = candidates_rest(candidates, runs, search->model->run_count);
        CHECK(rest != CANDIDATES_NONE && (worst ? rest >= value : rest <= value));
        search->candidates = candidates;
        CHECK(!(wide ? search_sweep_128 : search_sweep_64)(search, 0, &swept, NULL));
        CHECK_MSG(swept == value, "%s x %u: %u, not %u", search->model->text, warps, swept, value);
        CHECK(!(wide ? search_dfs_128 : search_dfs_64)(search, value, 0, order, &found, NULL));
        CHECK(found && schedule_build(search->model, order, NULL, &makespan) == GORDIAN_OK &&
              makespan == value);
        search->candidates = NULL;
        CHECK(candidates->count > 0);
        candidates_close(candidates);
        CHECK(candidates_open(&candidates, search, 0, NULL) == GORDIAN_STATUS_END && !candidates);
    } else {
        CHECK(!search_tightens(search));
    }
    free(order);
}

/* One table and a sweep that knows nothing but the closed bounds, with either size of words. */
static uint32_t sweep_value(const struct makespan_model *model, gordian_makespan_goal goal,
                            const struct abstraction_plan *plan, unsigned threads, bool wide,
                            uint32_t *bound)
{
    gordian_makespan_options options = options_of(goal);
    struct meter meter;
    struct watch watch;
    struct thread_pool *workers;
    struct abstraction *abstraction;
    struct table *table;
    uint32_t value = 0;
    meter_open(&meter, NULL, 0);
    watch_open(&watch, model, &options, &meter);
    REQUIRE(thread_pool_open(&workers, threads, &meter.memory, NULL) == GORDIAN_OK);
    REQUIRE(!abstraction_open(&abstraction, model, plan, UINT64_MAX, &meter.memory, NULL));
    REQUIRE(table_open(&table, abstraction, goal, workers, &watch, NULL) == GORDIAN_OK);
    *bound = table_bound(table);
    uint32_t passing = 0;
    CHECK(!table_passing(abstraction, goal, workers, &watch, &passing, NULL) && passing == *bound);
    CHECK(table_passing_size(abstraction) <= abstraction->states * table->width);
    /* One below the best: so that the best itself is found. */
    atomic_store(&watch.lower, goal == GORDIAN_MAKESPAN_GOAL_WORST ? 0 : 1);
    atomic_store(&watch.upper, UINT32_MAX - 1);
    struct search search = {model, table, workers, &watch, meter.memory};
    struct watch other = watch;
    CHECK((wide ? search_sweep_128 : search_sweep_64)(&search, 0, &value, NULL) == GORDIAN_OK);
    /* When a sweep is through, what it kept is the truth. */
    CHECK(value == atomic_load(goal == GORDIAN_MAKESPAN_GOAL_WORST ? &watch.upper : &watch.lower));
    /* A dive finds it, and nothing better. */
    uint8_t *order = malloc(model->work);
    bool found = false;
    uint32_t makespan = 0;
    REQUIRE(order != NULL);
    CHECK(!(wide ? search_dfs_128 : search_dfs_64)(&search, value, 0, order, &found, NULL));
    CHECK(found && order_valid(model, order));
    CHECK(schedule_build(model, order, NULL, &makespan) == GORDIAN_OK && makespan == value);
    uint32_t beyond = goal == GORDIAN_MAKESPAN_GOAL_WORST ? value + 1 : value - 1;
    CHECK(!(wide ? search_dfs_128 : search_dfs_64)(&search, beyond, 0, order, &found, NULL));
    CHECK(!found);
    free(order);
    search.watch = &other;
    check_tightened(&search, value, wide);
    check_candidates(&search, value, wide);
    table_close(table);
    abstraction_close(abstraction);
    thread_pool_close(workers);
    CHECK(meter_now(&meter) == 0);
    meter_close(&meter);
    return value;
}

static void test_plans(void)
{
    struct random random;
    random_seed(&random, 99);
    for (unsigned long n = 0; n < test_scale() / 2 + 5; n++) {
        struct makespan_model *model = random_model(&random, 5, 9);
        for (unsigned goal = 0; goal < 2; goal++) {
            gordian_makespan_goal wanted =
                goal ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
            uint32_t value = exact_value(model, wanted), bound, coarser;
            struct abstraction_plan plan;
            REQUIRE(abstraction_plan_types(&plan, model));
            CHECK(sweep_value(model, wanted, &plan, 1, false, &coarser) == value);
            REQUIRE(abstraction_plan_runs(&plan, model));
            CHECK(sweep_value(model, wanted, &plan, 2, true, &bound) == value);
            CHECK(goal ? bound >= coarser && bound <= value : bound <= coarser && bound >= value);
            coarser = bound;
            /* Finer is never worse, and at the end nothing is abstract. */
            while (abstraction_plan_refine(&plan, model)) {
                CHECK(sweep_value(model, wanted, &plan, 1 + n % 3, n % 2, &bound) == value);
                CHECK(goal ? bound >= coarser : bound <= coarser);
                coarser = bound;
            }
            CHECK_MSG(bound == value, "%s x %u: %u, not %u", model->text, model->warps, bound,
                      value);
        }
        model_close(model);
    }
}

/* Large enough for words of 128 bits, and for values of two bytes. */
static void test_wide(void)
{
    struct makespan_model *model =
        make_model("LLLLLLLLLLLLLLLLLLLLCLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLLL", "L=1,C=2", 0, 5);
    CHECK(search_bits(model) == 128 && table_width(model) == 2);
    uint32_t worst = exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST),
             best = exact_value(model, GORDIAN_MAKESPAN_GOAL_BEST);
    CHECK(worst >= best && best >= 5 * 55);
    model_close(model);
}

/* ------------------------------------------------------------------ limits */

static bool stop_at_once(void *context, const gordian_makespan_progress *progress)
{
    CHECK(progress->lower <= progress->upper && progress->phase);
    ++*(unsigned *)context;
    return false;
}

static void check_stopped(const struct makespan_model *model, gordian_makespan_options *options,
                          uint32_t worst)
{
    options->goal = GORDIAN_MAKESPAN_GOAL_WORST;
    struct makespan_result result = solve(model, options);
    CHECK(result.lower <= worst && result.upper >= worst);
    CHECK(result.exact == (result.stop == GORDIAN_MAKESPAN_STOP_DONE));
    makespan_result_free(&result);
}

static void test_limits(void)
{
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 0, 16);
    gordian_makespan_options options = options_of(GORDIAN_MAKESPAN_GOAL_WORST);
    options.max_ns = 1;
    check_stopped(model, &options, 160);
    options.max_ns = 300000000;
    check_stopped(model, &options, 160);
    options = options_of(GORDIAN_MAKESPAN_GOAL_WORST);
    unsigned calls = 0;
    options.go_on = stop_at_once;
    options.context = &calls;
    check_stopped(model, &options, 160);
    CHECK(calls == 1);
    model_close(model);
    /* No room for the finer tables, then for no table at all. */
    model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 0, 7);
    for (uint64_t kib = 128; kib <= 4096; kib *= threads_only() ? 8 : 2) {
        options = options_of(GORDIAN_MAKESPAN_GOAL_WORST);
        options.max_memory = kib << 10;
        struct makespan_result result = solve(model, &options);
        CHECK(result.lower <= 77 && result.upper >= 77);
        CHECK_MSG(result.most_memory <= options.max_memory, "%llu bytes",
                  (unsigned long long)result.most_memory);
        CHECK(result.exact || result.stop == GORDIAN_MAKESPAN_STOP_MEMORY || result.note[0]);
        makespan_result_free(&result);
    }
    model_close(model);
}

/* More runs than an abstraction can have. */
static void test_many_runs(void)
{
    char kernel[201];
    for (unsigned i = 0; i < 200; i++)
        kernel[i] = "LC"[i % 2];
    kernel[200] = '\0';
    struct makespan_model *model = make_model(kernel, "L=1,C=1", 0, 6);
    gordian_makespan_options options = options_of(GORDIAN_MAKESPAN_GOAL_WORST);
    options.evaluations = 1000;
    struct makespan_result result = solve(model, &options);
    CHECK(!result.exact && result.note[0]);
    makespan_result_free(&result);
    model_close(model);
    /* More ways to leave a block in a cycle than can be looked at. */
    model = make_model("LLLCCCLLLCCC", "L=60,C=60", 0, 200);
    struct abstraction_plan plan;
    struct abstraction *abstraction;
    REQUIRE(abstraction_plan_runs(&plan, model));
    CHECK(abstraction_open(&abstraction, model, &plan, UINT64_MAX, &model->memory, NULL) ==
          GORDIAN_STATUS_END);
    result = solve(model, &options);
    CHECK(result.exact || result.note[0]);
    makespan_result_free(&result);
    model_close(model);
    model = make_model(kernel, "L=1,C=1", 0, 1);
    CHECK(exact_value(model, GORDIAN_MAKESPAN_GOAL_WORST) == 200 &&
          exact_value(model, GORDIAN_MAKESPAN_GOAL_BEST) == 200);
    model_close(model);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    test_rows(argv[1]);
    test_case_study();
    test_case_study_free();
    test_plans();
    test_wide();
    test_limits();
    if (!threads_only()) { /* the threads are those of the rows, or there are none */
        test_brute_force();
        test_largest_steps();
        test_many_runs();
    }
    return test_done();
}

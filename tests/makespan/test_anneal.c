/* Annealing: never beyond the exact value, nearly always at it, never an invalid schedule; the same
 * for any number of threads; and as published where that is asked for. */
#include "engines/makespan/anneal/anneal.h"
#include "world.h"

#include <string.h>

static struct makespan_result solve(const struct makespan_model *model,
                                    const gordian_makespan_options *options)
{
    struct makespan_result result;
    gordian_error error;
    gordian_status status = makespan_anneal.run(model, options, &result, &error);
    REQUIRE(status == GORDIAN_OK);
    uint32_t end = result.cycles[model->work - 1] + 1;
    CHECK(end == (options->goal == GORDIAN_MAKESPAN_GOAL_WORST ? result.lower : result.upper));
    CHECK(schedule_check(model, result.order, result.cycles, end, NULL) == GORDIAN_OK);
    return result;
}

/* ------------------------------------------------------------------ known values */

struct target {
    gordian_makespan_goal goal;
    uint32_t value;
};

/* What is reached need not be looked for any longer. */
static bool not_there_yet(void *context, const gordian_makespan_progress *progress)
{
    const struct target *target = context;
    return target->goal == GORDIAN_MAKESPAN_GOAL_WORST ? progress->lower < target->value
                                                       : progress->upper > target->value;
}

/* Does it reach the exact value? It must never pass it. */
static bool reaches(const struct makespan_model *model, gordian_makespan_goal goal, uint32_t value,
                    unsigned id)
{
    struct target target = {goal, value};
    gordian_makespan_options options;
    gordian_makespan_options_init(&options);
    options.goal = goal;
    options.threads = 2;
    options.evaluations = 300000;
    options.go_on = not_there_yet;
    options.context = &target;
    struct makespan_result result = solve(model, &options);
    uint32_t got = goal == GORDIAN_MAKESPAN_GOAL_WORST ? result.lower : result.upper;
    CHECK_MSG(got == value || makespan_better(goal, value, got), "row %u: %u beyond %u", id, got,
              value);
    CHECK(result.lower <= value && result.upper >= value);
    makespan_result_free(&result);
    if (got != value)
        fprintf(stderr, "row %u: %s case %u, exact %u\n", id,
                goal == GORDIAN_MAKESPAN_GOAL_WORST ? "worst" : "best", got, value);
    return got == value;
}

static void test_rows(const char *path)
{
    size_t count;
    struct row *rows = read_rows(path, &count);
    unsigned tried = 0, reached = 0;
    for (size_t i = 0; i < count; i++) {
        struct makespan_model *model = row_model(&rows[i]);
        /* The small ones only where everything takes long. */
        if (test_scale() < 100 && model->work > 60) {
            model_close(model);
            continue;
        }
        tried++;
        reached += reaches(model, GORDIAN_MAKESPAN_GOAL_WORST, rows[i].worst, rows[i].id);
        if (rows[i].best) {
            tried++;
            reached += reaches(model, GORDIAN_MAKESPAN_GOAL_BEST, rows[i].best, rows[i].id);
        }
        model_close(model);
    }
    CHECK_MSG(reached * 100 >= tried * 95, "%u of %u", reached, tried);
    free(rows);
}

/* ------------------------------------------------------------------ chains */

/* The published chain, written out with the plain evaluation. */
static uint32_t published(const struct makespan_model *model,
                          const gordian_makespan_options *options, uint64_t number, uint8_t *order)
{
    struct chain_random random;
    uint8_t candidate[256];
    uint32_t now, best, value;
    anneal_begin(model, options, number, &random, order);
    CHECK(schedule_build(model, order, NULL, &now) == GORDIAN_OK);
    best = now;
    for (uint64_t step = 0; step < options->evaluations; step++) {
        struct chain_move move;
        double left = 1 - (double)step / (double)options->evaluations;
        chain_draw(&random, true, model->warps, model->work, order, &move);
        memcpy(candidate, order, model->work);
        candidate[move.first] = order[move.last - 1];
        candidate[move.last - 1] = order[move.first];
        CHECK(schedule_build(model, candidate, NULL, &value) == GORDIAN_OK);
        bool takes = value >= now;
        if (!takes) {
            /* min(1, T / (m - m')), in real numbers; heat is T rounded down to 2^-16. */
            struct chain_random copy = random;
            double x = (double)(chain_next(&copy) >> 32) / 4294967296.0;
            double chance = options->temperature * left / (now - value);
            uint32_t heat = chain_heat(anneal_temperature(options), step, options->evaluations);
            takes = chain_accepts(&random, true, heat, now - value);
            CHECK(takes == (x < chance) || (x - chance < 1e-4 && chance - x < 1e-4));
        }
        if (takes) {
            memcpy(order, candidate, model->work);
            now = value;
        }
        best = now > best ? now : best;
    }
    return best;
}

static void test_published(void)
{
    struct random random;
    random_seed(&random, 5);
    for (unsigned long n = 0; n < test_scale() / 4 + 4; n++) {
        struct makespan_model *model = random_model(&random, 6, 12);
        gordian_makespan_options options;
        gordian_makespan_options_init(&options);
        options.published = true;
        options.evaluations = 300;
        options.chains = 5;
        options.seed = n;
        uint8_t order[256];
        uint32_t best = 0;
        for (uint64_t number = 0; number < 5; number++) {
            uint32_t value = published(model, &options, number, order);
            best = value > best ? value : best;
        }
        struct makespan_result result = solve(model, &options);
        CHECK_MSG(result.lower == best, "%u, written out %u", result.lower, best);
        makespan_result_free(&result);
        model_close(model);
    }
}

/* Every order a chain tries is one of the model's, and gives a work-conserving schedule: looked at
 * one by one with the independent checker. */
static void test_validity(void)
{
    struct random random;
    random_seed(&random, 17);
    uint64_t evaluations = 0, wanted = 20000 * (uint64_t)test_scale();
    uint64_t wrong = 0;
    for (uint64_t number = 0; evaluations < wanted; number++) {
        struct makespan_model *model = random_model(&random, 5, 8);
        struct evaluator *evaluator;
        struct chain_random chain;
        gordian_makespan_options options;
        uint8_t order[64], candidate[64];
        uint32_t cycles[64];
        gordian_makespan_options_init(&options);
        options.goal = number % 2 ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
        REQUIRE(evaluator_open(&evaluator, model, &model->memory, NULL) == GORDIAN_OK);
        anneal_begin(model, &options, number, &chain, order);
        uint32_t now = evaluator_set(evaluator, order), value;
        for (unsigned step = 0; step < 5000; step++, evaluations++) {
            struct chain_move move;
            const uint8_t *current = evaluator_order(evaluator);
            chain_draw(&chain, false, model->warps, model->work, current, &move);
            memcpy(order, current, model->work);
            chain_apply(&move, current + move.first, candidate);
            memcpy(order + move.first, candidate, move.last - move.first);
            value = evaluator_try(evaluator, move.first, move.last, candidate);
            uint32_t loss = makespan_loss(options.goal, now, value);
            if (loss == 0 || chain_accepts(&chain, false, 20000, loss)) {
                evaluator_keep(evaluator);
                now = value;
                wrong += schedule_check(model, evaluator_order(evaluator),
                                        evaluator_cycles(evaluator), value, NULL) != GORDIAN_OK;
            } else {
                wrong += evaluator_scratch(evaluator, order, cycles) != value ||
                         schedule_check(model, order, cycles, value, NULL) != GORDIAN_OK;
            }
        }
        evaluator_close(evaluator);
        model_close(model);
    }
    CHECK_MSG(wrong == 0, "%llu of %llu", (unsigned long long)wrong,
              (unsigned long long)evaluations);
}

/* ------------------------------------------------------------------ the same again */

static void test_determinism(void)
{
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, 8);
    for (unsigned mode = 0; mode < 4; mode++) {
        struct makespan_result first = {0};
        for (unsigned threads = 1; threads <= 4; threads++) {
            gordian_makespan_options options;
            gordian_makespan_options_init(&options);
            options.evaluations = 20 * test_scale();
            options.chains = 7;
            options.threads = threads;
            options.published = mode & 1;
            options.goal = mode & 2 ? GORDIAN_MAKESPAN_GOAL_BEST : GORDIAN_MAKESPAN_GOAL_WORST;
            struct makespan_result result = solve(model, &options);
            if (threads == 1) {
                first = result;
                continue;
            }
            CHECK(result.lower == first.lower && result.upper == first.upper);
            CHECK(memcmp(result.order, first.order, model->work) == 0);
            makespan_result_free(&result);
        }
        makespan_result_free(&first);
    }
    model_close(model);
}

/* ------------------------------------------------------------------ the log */

struct log {
    gordian_makespan_improvement lines[4096];
    size_t count;
};

static void keep_line(void *context, const gordian_makespan_improvement *found)
{
    struct log *log = context;
    REQUIRE(log->count < 4096);
    log->lines[log->count++] = *found;
}

static int by_chain(const void *a, const void *b)
{
    const gordian_makespan_improvement *x = a, *y = b;
    if (x->chain != y->chain)
        return x->chain < y->chain ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* Chain by chain, from what it starts with, always better; the best of all is the answer. */
static void check_log(struct log *log, const gordian_makespan_options *options, uint32_t lower)
{
    uint32_t best = 0;
    uint64_t chains = 0;
    qsort(log->lines, log->count, sizeof *log->lines, by_chain);
    for (size_t i = 0; i < log->count; i++) {
        const gordian_makespan_improvement *line = &log->lines[i], *before = line - 1;
        bool first = i == 0 || before->chain != line->chain;
        CHECK(first == (line->step == 0) && line->step <= options->evaluations);
        CHECK(line->start == anneal_start(options, line->chain));
        CHECK(options->start == GORDIAN_MAKESPAN_START_ALL || line->start == options->start);
        CHECK(line->chain_seconds >= 0 && line->seconds >= line->chain_seconds);
        CHECK(first || (line->value > before->value && line->seconds >= before->seconds));
        best = line->value > best ? line->value : best;
        chains += first;
    }
    CHECK(best == lower && chains == options->chains);
}

static void test_log(void)
{
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, 8);
    static struct log one, many;
    for (unsigned start = 0; gordian_makespan_start_text((gordian_makespan_start)start); start++) {
        gordian_makespan_options options;
        gordian_makespan_options_init(&options);
        options.evaluations = 10 * test_scale();
        options.published = start % 2;
        options.start = (gordian_makespan_start)start;
        options.improved = keep_line;
        options.context = &one;
        options.threads = 1;
        one.count = many.count = 0;
        struct makespan_result result = solve(model, &options);
        check_log(&one, &options, result.lower);
        makespan_result_free(&result);
        options.threads = 3;
        options.context = &many;
        result = solve(model, &options);
        check_log(&many, &options, result.lower);
        makespan_result_free(&result);
        /* The same but for the times. */
        REQUIRE(one.count == many.count);
        for (size_t i = 0; i < one.count; i++)
            CHECK(one.lines[i].value == many.lines[i].value &&
                  one.lines[i].step == many.lines[i].step);
    }
    model_close(model);
}

/* What each starts from, written out. */
static void test_starts(void)
{
    struct makespan_model *model = make_model("LCL", "L=1,C=1", 0, 3);
    static const uint8_t robin[] = {0, 1, 2, 0, 1, 2, 0, 1, 2},
                         fixed[] = {0, 0, 0, 1, 1, 1, 2, 2, 2};
    gordian_makespan_options options;
    struct chain_random random;
    uint8_t order[9];
    gordian_makespan_options_init(&options);
    options.start = GORDIAN_MAKESPAN_START_ROUND_ROBIN;
    anneal_begin(model, &options, 5, &random, order);
    CHECK(memcmp(order, robin, sizeof order) == 0);
    options.start = GORDIAN_MAKESPAN_START_FIXED_PRIORITY;
    anneal_begin(model, &options, 6, &random, order);
    CHECK(memcmp(order, fixed, sizeof order) == 0);
    options.start = GORDIAN_MAKESPAN_START_MOST_PENDING;
    anneal_begin(model, &options, 7, &random, order);
    CHECK(order_valid(model, order) && order[0] == 0 && order[1] == 1);
    options.start = GORDIAN_MAKESPAN_START_RANDOM;
    anneal_begin(model, &options, 8, &random, order);
    CHECK(order_valid(model, order));
    model_close(model);
}

static void refuse(const struct makespan_model *model, const gordian_makespan_options *options,
                   const char *word)
{
    struct makespan_result result;
    gordian_error error;
    CHECK(makespan_anneal.run(model, options, &result, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strstr(error.message, word), "'%s' without '%s'", error.message, word);
}

static void test_options(void)
{
    struct makespan_model *model = make_model("LC", "L=1,C=4", 4, 2);
    gordian_makespan_options good, bad;
    gordian_makespan_options_init(&good);
    bad = good;
    bad.chains = 0;
    refuse(model, &bad, "chain");
    bad = good;
    bad.evaluations = 0;
    refuse(model, &bad, "evaluations");
    bad = good;
    bad.temperature = -1;
    refuse(model, &bad, "temperature");
    bad = good;
    bad.start = (gordian_makespan_start)9;
    refuse(model, &bad, "start");
    model_close(model);
}

int main(int argc, char **argv)
{
    REQUIRE(argc == 2);
    test_options();
    test_determinism();
    if (TEST_THREADS_ONLY)
        return test_done();
    test_published();
    test_starts();
    test_log();
    test_validity();
    test_rows(argv[1]);
    return test_done();
}

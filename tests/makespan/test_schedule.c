/* Models, building, evaluating and checking schedules; every claim against something plainer. */
#include "engines/makespan/anneal/anneal.h"
#include "foundation/gpu/kernels/makespan/makespan_chain.h"
#include "world.h"

#include <math.h>
#include <string.h>

/* ------------------------------------------------------------------ the paper's examples */

static uint32_t build_text(const struct makespan_model *model, const char *text, uint32_t *cycles)
{
    uint8_t order[64];
    uint32_t count = 0, makespan = 0;
    for (const char *at = text; *at; at++) {
        if (*at != ' ')
            order[count++] = (uint8_t)(*at - '1');
    }
    REQUIRE(count == model->work && order_valid(model, order));
    CHECK(schedule_build(model, order, cycles, &makespan) == GORDIAN_OK);
    CHECK(schedule_check(model, order, cycles, makespan, NULL) == GORDIAN_OK);
    return makespan;
}

static void test_paper(void)
{
    struct makespan_model *model = make_model("LCL", "L=1,C=1", 0, 4);
    uint32_t cycles[12];
    static const uint32_t string[] = {1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 7, 8};
    CHECK(build_text(model, "1 1 2 2 3 3 4 1 4 2 3 4", cycles) == 8);
    for (unsigned i = 0; i < 12; i++)
        CHECK(cycles[i] + 1 == string[i]); /* the paper's warp cycle string */
    CHECK(build_text(model, "1 1 2 2 3 3 1 2 3 4 4 4", cycles) == 9);
    CHECK(build_text(model, "1 2 1 3 2 3 1 2 3 4 4 4", cycles) == 9);
    model_close(model);
}

static void test_normalisation(void)
{
    gordian_unit units[] = {{.letter = 'D', .lanes = 16, .latency = 4},
                            {.letter = 'L', .lanes = 16},
                            {.letter = 'C', .lanes = 192},
                            {.letter = 'S', .lanes = 5, .latency = 2}};
    gordian_makespan_problem problem = {.kernel = "LCDS",
                                        .length = 4,
                                        .warps = 8,
                                        .schedulers = 4,
                                        .units = units,
                                        .unit_count = 4};
    struct makespan_model *model;
    REQUIRE(model_open(&model, &problem, NULL, NULL) == GORDIAN_OK);
    /* 32 / 5 threads: seven turns of two cycles. */
    CHECK(strcmp(model->text, "LLCDDDDDDDDSSSSSSSSSSSSSS") == 0);
    CHECK(model->sigma == 4 && model->bounded && model->types == 4);
    uint32_t sum = 0;
    for (uint32_t t = 0; t < 4; t++)
        sum += model->given[t];
    CHECK(sum == 6 + 1 + 1 + 1);
    model_close(model);
    /* The same figures one by one; a latency that is not given is one cycle, and so is a warp of 32
     * threads; products do not overflow. */
    const gordian_unit none = {.letter = 'T'}, slow = {.lanes = 1, .latency = UINT32_MAX};
    uint64_t cycles;
    CHECK(gordian_unit_starts(&units[2], 0, &cycles) == 6 && cycles == 1);
    CHECK(gordian_unit_starts(&units[3], 0, &cycles) == 1 && cycles == 14);
    CHECK(gordian_unit_starts(&units[3], 4, &cycles) == 1 && cycles == 2);
    CHECK(gordian_unit_starts(&none, 0, &cycles) == 0 && cycles == 1);
    CHECK(gordian_unit_starts(&slow, 0, &cycles) == 1 && cycles == UINT64_C(32) * UINT32_MAX);
}

static void refuse(gordian_makespan_problem problem, const char *word)
{
    gordian_makespan *makespan;
    gordian_error error = {0};
    CHECK(gordian_makespan_open(&makespan, &problem, NULL, &error) == GORDIAN_STATUS_INPUT);
    CHECK(makespan == NULL);
    CHECK_MSG(strstr(error.message, word), "'%s' without '%s'", error.message, word);
}

static void test_bad_input(void)
{
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .lanes = 64}};
    static const gordian_unit twice[] = {{.letter = 'L', .units = 1}, {.letter = 'L', .units = 1}};
    static const gordian_unit small[] = {{.letter = 'l', .units = 1}};
    static const gordian_unit slow[] = {{.letter = 'L', .units = 1, .latency = 70000}};
    gordian_makespan_problem good = {
        .kernel = "LCL", .length = 3, .warps = 4, .units = units, .unit_count = 2};
    gordian_makespan_problem bad = good;
    bad.length = 0;
    refuse(bad, "empty");
    bad = good;
    bad.kernel = "LcL";
    refuse(bad, "character 2");
    bad.kernel = "LC\n";
    refuse(bad, "byte 10");
    bad.kernel = "LCS";
    refuse(bad, "no units for 'S'");
    bad = good;
    bad.warps = 0;
    refuse(bad, "at least one warp");
    bad.warps = 257;
    refuse(bad, "257 warps");
    bad = good;
    bad.units = twice;
    refuse(bad, "twice");
    bad.units = small;
    bad.unit_count = 1;
    refuse(bad, "A to Z");
    bad.units = slow;
    bad.kernel = "L";
    bad.length = 1;
    refuse(bad, "longer than");
    char *kernel = malloc(40000);
    REQUIRE(kernel != NULL);
    memset(kernel, 'L', 40000);
    bad = good;
    bad.kernel = kernel;
    bad.length = 40000;
    bad.warps = 200;
    refuse(bad, "in all");
    free(kernel);
}

static void test_chips(void)
{
    gordian_chip chip;
    size_t count = 0;
    for (; gordian_chip_info(count, &chip) == GORDIAN_OK; count++) {
        gordian_makespan_problem problem = {.kernel = "LCSD",
                                            .length = 4,
                                            .warps = chip.max_warps,
                                            .schedulers = chip.schedulers,
                                            .units = chip.units,
                                            .unit_count = chip.unit_count};
        gordian_makespan *makespan = NULL;
        CHECK(gordian_makespan_open(&makespan, &problem, NULL, NULL) == GORDIAN_OK);
        CHECK(chip.source && chip.title && chip.latencies);
        gordian_makespan_close(makespan);
    }
    CHECK(count == 5);
}

/* ------------------------------------------------------------------ the checker */

/* Every change of one entry's cycle, and every exchange of two, that the checker lets pass must
 * still be a work-conserving schedule: built again from its own order it must come out the same. */
static void mutate(const struct makespan_model *model, struct random *random, uint8_t *order,
                   uint32_t *cycles, unsigned long *refused)
{
    uint32_t i = (uint32_t)random_below(random, model->work), old = cycles[i], end = 0, rebuilt;
    uint32_t again[256];
    cycles[i] = (uint32_t)random_below(random, old + 3);
    for (uint32_t k = 0; k < model->work; k++)
        end = cycles[k] >= end ? cycles[k] + 1 : end;
    if (schedule_check(model, order, cycles, end, NULL) != GORDIAN_OK) {
        ++*refused;
        cycles[i] = old;
        return;
    }
    CHECK(schedule_canonical(model, order, cycles) == GORDIAN_OK);
    CHECK(schedule_build(model, order, again, &rebuilt) == GORDIAN_OK);
    CHECK(rebuilt == end && memcmp(again, cycles, model->work * sizeof *cycles) == 0);
}

static void test_checker(void)
{
    struct random random;
    random_seed(&random, 7);
    unsigned long refused = 0;
    for (unsigned long n = 0; n < 30 * test_scale(); n++) {
        struct makespan_model *model = random_model(&random, 6, 8);
        uint8_t order[256];
        uint32_t cycles[256], makespan;
        order_fill(model, ORDER_RANDOM, &random, order);
        CHECK(schedule_build(model, order, cycles, &makespan) == GORDIAN_OK);
        CHECK(schedule_check(model, order, cycles, makespan, NULL) == GORDIAN_OK);
        CHECK(schedule_check(model, order, cycles, makespan + 1, NULL) == GORDIAN_STATUS_INPUT);
        for (unsigned k = 0; k < 20; k++)
            mutate(model, &random, order, cycles, &refused);
        model_close(model);
    }
    CHECK(refused > test_scale());
}

/* ------------------------------------------------------------------ evaluators and bounds */

/* The bound in closed form: what comes before the first use of a unit, its work, and what comes
 * after the last; and the order that the one with most to do goes first, the lower number among
 * equals. */
static void test_closed_form(void)
{
    static const struct {
        const char *kernel;
        uint32_t lower;
    } known[] = {{"LCC", 10}, {"CCL", 10}, {"CLC", 10}, {"LCL", 16}, {"CCC", 6}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct makespan_model *model = make_model(known[i].kernel, "L=1,C=4", 4, 8);
        CHECK_MSG(model_lower_bound(model) == known[i].lower, "%s: %u", known[i].kernel,
                  model_lower_bound(model));
        model_close(model);
    }
    struct makespan_model *model = make_model("CC", "C=2", 2, 3);
    static const uint8_t wanted[] = {0, 1, 2, 0, 1, 2};
    uint8_t order[6];
    REQUIRE(model->work == 6);
    order_fill(model, ORDER_MOST_PENDING, NULL, order);
    CHECK(memcmp(order, wanted, sizeof order) == 0);
    model_close(model);
}

static void test_templates(void)
{
    struct random random;
    random_seed(&random, 3);
    for (unsigned long n = 0; n < 5 * test_scale(); n++) {
        struct makespan_model *model = random_model(&random, 12, 20);
        struct evaluator *evaluator;
        REQUIRE(evaluator_open(&evaluator, model, &model->memory, NULL) == GORDIAN_OK);
        for (unsigned t = 0; t < ORDER_TEMPLATES; t++) {
            uint8_t order[256];
            uint32_t cycles[256], plain[256], makespan;
            order_fill(model, (enum order_template)t, &random, order);
            CHECK(order_valid(model, order));
            CHECK(schedule_build(model, order, plain, &makespan) == GORDIAN_OK);
            CHECK(evaluator_scratch(evaluator, order, cycles) == makespan);
            CHECK(memcmp(cycles, plain, model->work * sizeof *plain) == 0);
            CHECK(makespan <= model_upper_bound(model) && makespan >= model_lower_bound(model));
        }
        evaluator_close(evaluator);
        model_close(model);
    }
}

/* Windows of all kinds: the incremental value is the plain one; kept or not, the current order
 * stays sorted and right. */
static void walk(struct makespan_model *model, uint64_t seed, unsigned steps)
{
    struct evaluator *evaluator;
    struct chain_random random;
    uint8_t order[4096], candidate[4096];
    uint32_t cycles[4096], makespan;
    REQUIRE(model->work <= 4096);
    REQUIRE(evaluator_open(&evaluator, model, &model->memory, NULL) == GORDIAN_OK);
    chain_seed(&random, seed, 0);
    order_fill(model, ORDER_ROUND_ROBIN, NULL, order);
    evaluator_set(evaluator, order);
    for (unsigned step = 0; step < steps; step++) {
        struct chain_move move;
        const uint8_t *current = evaluator_order(evaluator);
        chain_draw(&random, false, model->warps, model->work, current, &move);
        memcpy(order, current, model->work);
        chain_apply(&move, order + move.first, candidate);
        memcpy(order + move.first, candidate, move.last - move.first);
        CHECK(order_valid(model, order));
        uint32_t value = evaluator_try(evaluator, move.first, move.last, candidate);
        CHECK(schedule_build(model, order, cycles, &makespan) == GORDIAN_OK);
        CHECK_MSG(value == makespan, "step %u: %u, plain %u", step, value, makespan);
        if (chain_below(&random, 3) == 0)
            continue;
        evaluator_keep(evaluator);
        CHECK(evaluator_makespan(evaluator) == makespan);
        /* Sorted by cycle, those of a cycle in the candidate's order. */
        uint32_t at = 0;
        bool same = true;
        for (uint32_t cycle = 0; cycle < makespan; cycle++) {
            for (uint32_t i = 0; i < model->work; i++) {
                if (cycles[i] != cycle)
                    continue;
                same &= evaluator_order(evaluator)[at] == order[i];
                same &= evaluator_cycles(evaluator)[at++] == cycle;
            }
        }
        CHECK(same && at == model->work);
    }
    evaluator_close(evaluator);
}

static void test_incremental(void)
{
    struct random random;
    random_seed(&random, 11);
    for (unsigned long n = 0; n < 3 * test_scale(); n++) {
        struct makespan_model *model = random_model(&random, n % 3 ? 7 : 40, 60);
        walk(model, n, 40);
        model_close(model);
    }
    struct makespan_model *model = make_model("LLLLLCCCCCCCCCLLCCCCCCCCC", "L=1,C=4", 4, 16);
    walk(model, 5, 20 * (unsigned)test_scale());
    model_close(model);
    /* More than 255 starts in a cycle. */
    model = make_model("LCLC", "L=300,C=256", 0, 256);
    CHECK(model_upper_bound(model) == 4 && model_lower_bound(model) == 4);
    walk(model, 6, 5);
    model_close(model);
}

/* The chain's logarithm is near the real one: acceptance depends on nothing else. */
static void test_logarithm(void)
{
    for (uint64_t x = 1; x < UINT64_C(1) << 32; x += 1 + x / 37) {
        double want = -log((double)x / 4294967296.0), got = chain_minus_log((uint32_t)x) / 65536.0;
        CHECK_MSG(fabs(want - got) < 0.02, "%llu: %f, %f", (unsigned long long)x, want, got);
    }
}

int main(void)
{
    test_paper();
    test_normalisation();
    test_bad_input();
    test_chips();
    test_checker();
    test_closed_form();
    test_templates();
    test_incremental();
    test_logarithm();
    return test_done();
}

/* Everything that can be measured, at small sizes, on the emulator where a GPU is needed: each
 * checks its answers. What a run records; what it says of an emulated GPU; and that the benches
 * have the papers' numbers, too. */
#include "lab/bench/bench.h"
#include "lab/bench/detect/detect.h"
#include "lab/papers/measures.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* In a sanitized build these take half a minute each; their kernels have tests of their own there.
 */
static bool is_long(const struct papers_measure *measure)
{
    return strcmp(measure->name, "garray-pages") == 0 || strcmp(measure->name, "anneal-cuda") == 0;
}

/* A short run has a short figure of the published annealer there, and lets ours run as it does. */
static void give_figure(struct papers_run *run)
{
    struct published_fig7_options options;
    published_fig7_options_init(&options);
    options.iterations = PUBLISHED_FIG7_ITERATIONS / 400;
    run->has_figure[0] = published_fig7_run(&run->figures[0], &options, NULL) == GORDIAN_OK;
    CHECK(run->has_figure[0]);
}

static void test_each(void)
{
    struct results results;
    struct papers_run run;
    struct bench_options options;
    gordian_error error = {0};
    static const struct papers_point points[] = {{"8x8", 8, 8}, {"40x12", 40, 12}};
    const size_t count = test_is_short() ? 1 : 2;
    results_init(&results);
    bench_options_init(&options);
    options.quick = true;
    papers_run_open(&run, &options, &results, &error);
    CHECK(run.info.emulated);
    if (test_is_short())
        give_figure(&run);
    for (const struct papers_measure *measure = papers_measures; measure->name; measure++) {
        struct results_value values[2] = {0};
        if (test_is_short() && is_long(measure))
            continue;
        CHECK_MSG((papers_why_not(&run, measure) != NULL) == papers_side_is_gpu(measure->side),
                  "%s", measure->name);
        run.emulated = true;
        CHECK_MSG(!papers_why_not(&run, measure), "%s", measure->name);
        gordian_status status = papers_measure_at(&run, measure, points, count, values);
        CHECK_MSG(status == GORDIAN_OK, "%s: %s", measure->name, error.message);
        for (size_t i = 0; i < count; i++)
            CHECK_MSG(values[i].value > 0 && values[i].samples > 0, "%s: %g", measure->name,
                      values[i].value);
        run.emulated = false;
        for (const struct papers_measure *before = papers_measures; before < measure; before++)
            CHECK(strcmp(before->name, measure->name) != 0);
    }
    papers_run_close(&run);
    results_free(&results);
}

/* A run of an item: what has no GPU here is passed over, the rest is recorded once. */
static void test_run(void)
{
    static const char text[] = "paper p\n"
                               "table 1 One\n"
                               "kind times\n"
                               "unit s\n"
                               "series A\n"
                               "row 16x16 | 1\n"
                               "row 4096x4096 | 1\n"
                               "measure detect-cuda-list\n"
                               "measure osdda-cpu-list\n"
                               "measure detect-sparse-list\n";
    struct papers papers;
    struct results results;
    struct papers_run run;
    struct bench_options options;
    gordian_error error = {0};
    results_init(&results);
    bench_options_init(&options);
    options.quick = true;
    REQUIRE(papers_open(&papers, &error) == GORDIAN_OK);
    REQUIRE(papers_read(&papers, text, sizeof text - 1, &error) == GORDIAN_OK);
    papers_run_open(&run, &options, &results, &error);
    REQUIRE(results_begin_run(&results, "", &error) == GORDIAN_OK);
    const struct papers_item *item = &papers.items[papers.item_count - 1];
    for (int again = 0; again < 2; again++) {
        CHECK_MSG(papers_measure_item(&run, item) == GORDIAN_OK, "%s", error.message);
        CHECK(!results_find(&results, "detect-cuda-list", 16, 16));
        CHECK(results_find(&results, "osdda-cpu-list", 16, 16));
        CHECK(!results_find(&results, "osdda-cpu-list", 4096, 4096)); /* not with --quick */
        CHECK(results_find(&results, "detect-sparse-list", 4096, 4096));
        CHECK_MSG(results.value_count == 3, "%zu", results.value_count);
    }
    CHECK(strlen(results.runs[0].date) == 10 && results.runs[0].cpu[0] && results.runs[0].cores);
    papers_run_close(&run);
    papers_close(&papers);
    results_free(&results);
}

/* The least of a row's cells but the first, and the first. */
static void compare_row(const struct papers *papers, const char *number, uint32_t size, double cpu,
                        double gpu, bool article)
{
    const struct papers_item *item = papers_named(papers, &papers->papers[article ? 1 : 0], number);
    REQUIRE(item);
    for (size_t p = 0; p < papers_point_count(item); p++) {
        if (papers_point_at(item, p).x != size)
            continue;
        double least = INFINITY;
        for (size_t s = 1; s < papers_series_count(item); s++)
            least = fmin(least, papers_cell_at(item, p, s)->value);
        CHECK_MSG(papers_cell_at(item, p, 0)->value == cpu && least == gpu, "%s, %u: %g, %g",
                  item->key, size, cpu, gpu);
        return;
    }
    CHECK_MSG(cpu == 0 && gpu == 0, "%s, %u", item->key, size);
}

/* The benches print the same numbers beside theirs. */
static void test_benches(void)
{
    struct papers papers;
    REQUIRE(papers_open(&papers, NULL) == GORDIAN_OK);
    for (uint32_t size = 64; size <= 8192; size *= 2) {
        const struct detect_paper paper = detect_paper_at(size);
        compare_row(&papers, "3.3", size, paper.list_s.cpu, paper.list_s.gpu, false);
        compare_row(&papers, "2", size, paper.block_ms.cpu, paper.block_ms.gpu, true);
        compare_row(&papers, "3", size, paper.release_ms.cpu, paper.release_ms.gpu, true);
        if (size > 64) /* where the thesis's best cannot be right */
            compare_row(&papers, "4.4", size, paper.multi_s.cpu, paper.multi_s.gpu, false);
    }
    papers_close(&papers);
}

int main(void)
{
    test_each();
    test_run();
    test_benches();
    return test_done();
}

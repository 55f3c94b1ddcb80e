/* The papers' texts: all items are there, what is printed agrees with itself or is marked. */
#include "lab/papers/chart.h"
#include "lab/papers/papers.h"
#include "test.h"

#include <math.h>
#include <string.h>

/* The papers' own lists of tables and figures. */
static const char *const keys[] = {
    "thesis/fig1.1",   "thesis/fig1.2",   "thesis/fig1.3",   "thesis/2.1",      "thesis/2.2",
    "thesis/2.3",      "thesis/fig2.1",   "thesis/fig2.2",   "thesis/fig2.3",   "thesis/fig2.4",
    "thesis/fig2.5",   "thesis/fig2.6",   "thesis/fig2.7",   "thesis/fig2.8",   "thesis/fig2.9",
    "thesis/fig2.10",  "thesis/3.1",      "thesis/3.2",      "thesis/3.3",      "thesis/fig3.1",
    "thesis/fig3.2",   "thesis/fig3.3",   "thesis/fig3.4",   "thesis/fig3.5",   "thesis/fig3.6",
    "thesis/fig3.7",   "thesis/fig3.8",   "thesis/fig3.9",   "thesis/fig3.10",  "thesis/4.1",
    "thesis/4.2",      "thesis/4.3",      "thesis/4.4",      "thesis/fig4.1",   "thesis/fig4.2",
    "thesis/fig4.3",   "thesis/fig4.4",   "thesis/fig4.5",   "thesis/fig4.6",   "thesis/fig4.7",
    "thesis/fig4.8",   "thesis/fig4.9",   "thesis/fig4.10",  "thesis/fig4.11",  "thesis/fig4.12",
    "thesis/fig4.13",  "thesis/fig4.14",  "thesis/fig4.15",  "thesis/fig4.16",  "thesis/5.1",
    "thesis/5.2",      "thesis/5.3",      "thesis/5.4",      "thesis/fig5.1",   "thesis/fig5.2",
    "thesis/fig5.3",   "thesis/fig5.4",   "article/1",       "article/2",       "article/3",
    "article/fig1",    "article/fig2",    "article/fig3",    "article/fig4",    "article/fig5",
    "article/fig6",    "article/fig7",    "article/fig8",    "article/fig9",    "article/fig10",
    "automata/fig2.1", "automata/fig3.1", "automata/fig3.2", "automata/fig4.1", "automata/4.1",
    "automata/4.2",    "automata/4.3",    "automata/4.4",    "automata/4.5",    "automata/4.6",
    "automata/4.7",    "automata/4.8",    "automata/4.9",    "array/structure", "array/fig",
    "makespan/fig1",   "makespan/fig2",   "makespan/fig3",   "makespan/fig4",   "makespan/fig5",
    "makespan/fig6",   "makespan/fig7",
};

static const struct papers_item *item_of(const struct papers *papers, const char *key)
{
    for (size_t i = 0; i < papers->item_count; i++)
        if (strcmp(papers->items[i].key, key) == 0)
            return &papers->items[i];
    return NULL;
}

static void test_complete(const struct papers *papers)
{
    CHECK(papers->paper_count == 5);
    CHECK_MSG(papers->item_count == sizeof keys / sizeof *keys, "%zu items", papers->item_count);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        CHECK_MSG(item_of(papers, keys[i]), "%s", keys[i]);
    for (size_t i = 0; i < papers->item_count; i++)
        for (size_t k = 0; k < i; k++)
            CHECK(strcmp(papers->items[i].key, papers->items[k].key) != 0);
}

/* Nothing is listed without a word on what shows it here, measures it or gives its points. */
static void test_said(const struct papers *papers)
{
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        CHECK_MSG(item->shows.count || item->measures.count || item->from.count, "%s", item->key);
        CHECK_MSG(item->title[0], "%s", item->key);
        if (item->kind == PAPERS_KIND_TIMES || item->kind == PAPERS_KIND_WORDS)
            CHECK_MSG(item->row_count > 0 && item->columns.count > 0, "%s", item->key);
        if (item->kind == PAPERS_KIND_PLOT || item->kind == PAPERS_KIND_SPEEDUPS)
            CHECK_MSG(item->notes.count > 0, "%s: where its points are from", item->key);
        if (item->measures.count && item->kind != PAPERS_KIND_FOUND)
            CHECK_MSG(item->differs.count > 0, "%s: what differs", item->key);
        for (size_t k = 0; k < item->from.count; k++)
            CHECK(papers_named(papers, item->paper, item->from.items[k]));
        for (size_t k = 0; k < item->measures.count; k++)
            CHECK_MSG(papers_measure_named(item->measures.items[k]), "%s: %s", item->key,
                      item->measures.items[k]);
    }
}

static void test_numbers(const struct papers *papers)
{
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        if (item->kind != PAPERS_KIND_TIMES)
            continue;
        CHECK_MSG(papers_unit_ns(item->unit) > 1, "%s", item->key);
        for (size_t p = 0; p < papers_point_count(item); p++) {
            CHECK_MSG(papers_point_at(item, p).x > 0, "%s", item->key);
            for (size_t s = 0; s < papers_series_count(item); s++) {
                const struct papers_cell *cell = papers_cell_at(item, p, s);
                CHECK_MSG(cell->value > 0, "%s: %s", item->key, cell->text);
                CHECK(isnan(cell->speedup) == (item->printed == PAPERS_PRINTED_NONE));
            }
        }
        for (size_t k = 0; k < item->over.count; k++)
            CHECK(papers_series_named(item, item->over.items[k]) < papers_series_count(item));
        for (size_t k = 0; k < item->to.count; k++)
            CHECK(papers_series_named(item, item->to.items[k]) < papers_series_count(item));
    }
}

/* A printed speed-up follows from the printed times, however they were rounded, or it is marked as
 * a slip; and nothing else is. */
static void test_speedups(const struct papers *papers)
{
    size_t good = 0, slipped = 0;
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        if (item->printed == PAPERS_PRINTED_NONE)
            continue;
        for (size_t p = 0; p < papers_point_count(item); p++)
            for (size_t s = 0; s < papers_series_count(item); s++) {
                enum papers_agreement agreement = papers_agreement(item, p, s);
                CHECK_MSG((agreement == PAPERS_AGREEMENT_SLIPPED) ==
                              (papers_slip_at(item, p, s) != NULL),
                          "%s, %s, %s: %s", item->key, papers_point_at(item, p).text,
                          papers_series_at(item, s), papers_cell_at(item, p, s)->text);
                good += agreement == PAPERS_AGREEMENT_GOOD;
                slipped += agreement == PAPERS_AGREEMENT_SLIPPED;
            }
    }
    /* Seven tables of the thesis and two of the article, of 5 x 3 speed-ups; the article prints 1X
     * for its CPU, too. Three are wrong, and the thesis prints 0x for its CPU. */
    CHECK_MSG(good == 9 * 15 + 2 * 5 - 3, "%zu", good);
    CHECK_MSG(slipped == 3 + 7 * 5, "%zu", slipped);
}

/* Slips name cells that there are. */
static void test_slips(const struct papers *papers)
{
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        for (size_t k = 0; k < item->slip_count; k++) {
            const struct papers_slip *slip = &item->slips[k];
            if (!slip->point)
                continue;
            bool found = strcmp(slip->point, "*") == 0;
            for (size_t p = 0; p < papers_point_count(item); p++)
                found = found || strcmp(slip->point, papers_point_at(item, p).text) == 0;
            CHECK_MSG(found, "%s: %s", item->key, slip->point);
            CHECK(papers_series_named(item, slip->series) < papers_series_count(item));
        }
    }
}

/* Averages are those of the runs above them, and of the tables that repeat them. */
static void test_averages(const struct papers *papers)
{
    size_t checked = 0;
    for (size_t i = 0; i < papers->item_count; i++) {
        const struct papers_item *item = &papers->items[i];
        const size_t last = papers_series_count(item) - 1;
        for (size_t p = 0; item->average && p < papers_point_count(item); p++) {
            double sum = 0, told = papers_cell_at(item, p, last)->value;
            for (size_t s = last - item->average; s < last; s++)
                sum += papers_cell_at(item, p, s)->value;
            CHECK_MSG(fabs(sum / item->average - told) < 1e-5, "%s: %g", item->key, told);
            checked++;
        }
    }
    CHECK(checked == 30);
    static const struct {
        const char *all, *one;
        size_t series;
    } pairs[] = {{"automata/4.1", "automata/4.4", 0}, {"automata/4.2", "automata/4.5", 0},
                 {"automata/4.1", "automata/4.6", 1}, {"automata/4.2", "automata/4.7", 1},
                 {"automata/4.1", "automata/4.8", 2}, {"automata/4.2", "automata/4.9", 2}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        const struct papers_item *all = item_of(papers, pairs[i].all);
        const struct papers_item *one = item_of(papers, pairs[i].one);
        REQUIRE(all && one);
        for (size_t p = 0; p < papers_point_count(all); p++)
            CHECK(fabs(papers_cell_at(all, p, pairs[i].series)->value -
                       papers_cell_at(one, p, papers_series_count(one) - 1)->value) < 1e-4);
    }
}

/* ------------------------------------------------------------------ names */

static void expect_one(const struct papers *papers, const char *name, const char *key)
{
    const struct papers_item *found[PAPERS_FOUND_MOST];
    size_t count;
    gordian_error error = {0};
    CHECK_MSG(papers_find(papers, name, found, &count, &error) == GORDIAN_OK, "%s", error.message);
    CHECK_MSG(count == 1 && strcmp(found[0]->key, key) == 0, "%s", name);
}

static void expect_refused(const struct papers *papers, const char *name, const char *message)
{
    const struct papers_item *found[PAPERS_FOUND_MOST];
    size_t count;
    gordian_error error = {0};
    CHECK(papers_find(papers, name, found, &count, &error) == GORDIAN_STATUS_INPUT);
    CHECK_MSG(strcmp(error.message, message) == 0, "%s", error.message);
}

static void test_names(const struct papers *papers)
{
    const struct papers_item *found[PAPERS_FOUND_MOST];
    size_t count;
    expect_one(papers, "3.3", "thesis/3.3");
    expect_one(papers, "thesis/3.3", "thesis/3.3");
    expect_one(papers, "fig3.10", "thesis/fig3.10");
    expect_one(papers, "article/fig8", "article/fig8");
    expect_one(papers, "automata/4.2", "automata/4.2");
    expect_one(papers, "array/fig", "array/fig");
    expect_one(papers, "makespan/fig7", "makespan/fig7");
    expect_refused(papers, "4.2", "several papers have '4.2': give thesis/4.2 or automata/4.2");
    expect_refused(papers, "thesis/3.33",
                   "no paper has a table or figure 'thesis/3.33'; did you mean 'thesis/3.3'?");
    expect_refused(papers, "nothing of the kind",
                   "no paper has a table or figure 'nothing of the kind'; 'gordian papers' lists "
                   "them");
    CHECK(papers_find(papers, "makespan", found, &count, NULL) == GORDIAN_OK && count == 7);
}

/* ------------------------------------------------------------------ curves */

static void test_charts(const struct papers *papers)
{
    struct results results;
    struct chart chart;
    gordian_error error = {0};
    results_init(&results);
    static const char text[] =
        "{\"run\":1,\"system\":\"s\",\"cpu\":\"c\",\"cores\":2,\"date\":\"d\",\"commit\":\"e\"}\n"
        "{\"measure\":\"osdda-cpu-list\",\"x\":512,\"y\":512,\"value\":4e6,\"samples\":1,\"run\":1}"
        "\n"
        "{\"measure\":\"detect-sparse-list\",\"x\":512,\"y\":512,\"value\":1e3,\"samples\":1,"
        "\"run\":1}\n";
    REQUIRE(results_read(&results, text, sizeof text - 1, &error) == GORDIAN_OK);
    REQUIRE(chart_open_speedups(&chart, papers, item_of(papers, "thesis/3.3"), &results, &error) ==
            GORDIAN_OK);
    bool paper = false, ours = false;
    for (size_t c = 0; c < chart.curve_count; c++) {
        if (strcmp(chart.curves[c].name, "CPU-OSDDA / GTX 670") == 0)
            paper = fabs(chart.curves[c].y[4] - 1383.97 / 4.36) < 1e-9;
        if (strcmp(chart.curves[c].name, "published, CPU / ours, CPU") == 0)
            ours = chart.curves[c].y[0] == 4000 && isnan(chart.curves[c].y[1]);
    }
    CHECK(paper);
    CHECK(ours);
    chart_close(&chart);
    REQUIRE(chart_open_values(&chart, papers, item_of(papers, "automata/fig4.1"), &results,
                              &error) == GORDIAN_OK);
    CHECK(chart.point_count == 10);
    CHECK(strcmp(chart.curves[0].name, "GTX570 GPU Averages") == 0);
    CHECK(chart.curves[0].y[9] == 15.2143 * 1e6);
    chart_close(&chart);
    results_free(&results);
}

/* ------------------------------------------------------------------ texts that are wrong */

static void test_wrong_texts(void)
{
    static const char *const wrong[] = {
        "title before the paper\n",
        "paper p\nnonsense here\n",
        "paper p\ntable 1\n",
        "paper p\ntable 1 One\nkind unknown\n",
        "paper p\ntable 1 One\nseries A | B\nrow x | 1\n",
        "paper p\ntable 1 One\nprinted badly\n",
        "paper p\ntable 1 One\naverage many\n",
        "paper p\ntable 1 One\nslip a | b\n",
        "paper p\ntable 1 One\nwhatever\n",
        "table 1 One\n",
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct papers papers;
        gordian_error error = {0};
        REQUIRE(papers_open(&papers, &error) == GORDIAN_OK);
        CHECK_MSG(papers_read(&papers, wrong[i], strlen(wrong[i]), &error) == GORDIAN_STATUS_INPUT,
                  "%s", wrong[i]);
        CHECK_MSG(error.line > 0, "%s", wrong[i]);
        papers_close(&papers);
    }
}

int main(void)
{
    struct papers papers;
    gordian_error error = {0};
    gordian_status status = papers_open(&papers, &error);
    CHECK_MSG(status == GORDIAN_OK, "line %llu: %s", (unsigned long long)error.line, error.message);
    REQUIRE(status == GORDIAN_OK);
    test_complete(&papers);
    test_said(&papers);
    test_numbers(&papers);
    test_speedups(&papers);
    test_slips(&papers);
    test_averages(&papers);
    test_names(&papers);
    test_charts(&papers);
    papers_close(&papers);
    test_wrong_texts();
    return test_done();
}

/* Figure 7 of the paper: eight curves, two a start, that rise, and what they say at a time. */
#include "lab/published/makespan/makespan.h"
#include "world.h"

static void check_curve(const struct published_fig7 *figure, uint32_t number)
{
    const struct published_curve *curve = &figure->curves[number];
    REQUIRE(curve->count > 0);
    CHECK(curve->start ==
          (gordian_makespan_start)(GORDIAN_MAKESPAN_START_ROUND_ROBIN + number % 4));
    for (size_t p = 1; p < curve->count; p++) {
        CHECK(curve->points[p].estimate > curve->points[p - 1].estimate);
        CHECK(curve->points[p].seconds >= curve->points[p - 1].seconds);
    }
    const struct published_point *last = &curve->points[curve->count - 1];
    CHECK(last->estimate <= figure->estimate);
    CHECK(published_fig7_at(figure, curve, 1e9) == last->estimate);
    CHECK(published_fig7_at(figure, curve, curve->points[0].seconds) >= curve->points[0].estimate);
    CHECK(published_fig7_at(figure, curve, -1) == 0);
}

static bool stop_at_once(void *context, const gordian_makespan_progress *progress)
{
    (void)context;
    (void)progress;
    return false;
}

int main(void)
{
    struct published_fig7_options options;
    struct published_fig7 figure, again;
    published_fig7_options_init(&options);
    CHECK(options.iterations == 2000000 && options.warps == 16 && options.schedulers == 0);
    options.iterations = 30 * test_scale();
    REQUIRE(published_fig7_run(&figure, &options, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < PUBLISHED_FIG7_INSTANCES; i++)
        check_curve(&figure, i);
    CHECK(figure.estimate <= 160 && published_fig7_at(&figure, NULL, 1e9) == figure.estimate);
    CHECK(figure.evaluations == 8 * (options.iterations + 1));
    /* The same seed: the same points, whatever the time they took. */
    REQUIRE(published_fig7_run(&again, &options, NULL) == GORDIAN_OK);
    for (uint32_t i = 0; i < PUBLISHED_FIG7_INSTANCES; i++) {
        REQUIRE(again.curves[i].count == figure.curves[i].count);
        for (size_t p = 0; p < again.curves[i].count; p++)
            CHECK(again.curves[i].points[p].estimate == figure.curves[i].points[p].estimate);
    }
    published_fig7_free(&again);
    published_fig7_free(&figure);
    options.ours = true;
    options.schedulers = 4;
    REQUIRE(published_fig7_run(&figure, &options, NULL) == GORDIAN_OK);
    CHECK(figure.estimate <= 184);
    published_fig7_free(&figure);
    options.go_on = stop_at_once;
    options.iterations = 2000000;
    REQUIRE(published_fig7_run(&figure, &options, NULL) == GORDIAN_OK);
    CHECK(figure.stop == GORDIAN_MAKESPAN_STOP_STOPPED);
    published_fig7_free(&figure);
    return test_done();
}

#include "lab/published/makespan/makespan.h"

#include "foundation/base/error.h"
#include "foundation/base/memory.h"

struct drawing {
    struct published_fig7 *figure;
    const struct published_fig7_options *options;
    gordian_allocator memory;
    bool out_of_memory;
};

void published_fig7_options_init(struct published_fig7_options *options)
{
    *options = (struct published_fig7_options){
        .seed = 1, .iterations = PUBLISHED_FIG7_ITERATIONS, .warps = 16};
}

/* The instances run sequentially on one thread. */
static void note_point(void *context, const gordian_makespan_improvement *found)
{
    struct drawing *drawing = context;
    struct published_curve *curve = &drawing->figure->curves[found->chain];
    if (!memory_grow(&drawing->memory, &curve->points, &curve->capacity, curve->count + 1,
                     sizeof *curve->points)) {
        drawing->out_of_memory = true;
        return;
    }
    curve->start = found->start;
    curve->points[curve->count++] = (struct published_point){found->chain_seconds, found->value};
}

static bool figure_goes_on(void *context, const gordian_makespan_progress *progress)
{
    struct drawing *drawing = context;
    const struct published_fig7_options *options = drawing->options;
    return !drawing->out_of_memory &&
           (!options->go_on || options->go_on(options->context, progress));
}

static gordian_status run_instances(struct drawing *drawing, gordian_makespan *makespan,
                                    gordian_error *error)
{
    const struct published_fig7_options *asked = drawing->options;
    gordian_makespan_options options;
    gordian_makespan_answer answer;
    gordian_makespan_options_init(&options);
    options.engine = "anneal";
    options.seed = asked->seed;
    options.chains = PUBLISHED_FIG7_INSTANCES;
    options.evaluations = asked->iterations;
    options.published = !asked->ours;
    options.threads = 1;
    options.go_on = figure_goes_on;
    options.improved = note_point;
    options.context = drawing;
    TRY(gordian_makespan_solve(makespan, &options, &answer, error));
    drawing->figure->estimate = answer.lower;
    drawing->figure->seconds = answer.seconds;
    drawing->figure->evaluations = answer.evaluations;
    drawing->figure->stop = answer.stop;
    return drawing->out_of_memory ? fail_memory(error) : GORDIAN_OK;
}

gordian_status published_fig7_run(struct published_fig7 *figure,
                                  const struct published_fig7_options *options,
                                  gordian_error *error)
{
    struct published_fig7_options defaults;
    published_fig7_options_init(&defaults);
    struct drawing drawing = {.figure = figure,
                              .options = options ? options : &defaults,
                              .memory = memory_allocator(NULL)};
    gordian_makespan *makespan;
    *figure = (struct published_fig7){0};
    static const gordian_unit units[] = {{.letter = 'L', .units = 1}, {.letter = 'C', .units = 4}};
    const gordian_makespan_problem problem = {.kernel = "LLLLLCCCCCCCCCLLCCCCCCCCC",
                                              .length = 25,
                                              .warps = drawing.options->warps,
                                              .schedulers = drawing.options->schedulers,
                                              .units = units,
                                              .unit_count = 2};
    TRY(gordian_makespan_open(&makespan, &problem, NULL, error));
    gordian_status status = run_instances(&drawing, makespan, error);
    gordian_makespan_close(makespan);
    if (status != GORDIAN_OK)
        published_fig7_free(figure);
    return status;
}

void published_fig7_free(struct published_fig7 *figure)
{
    gordian_allocator memory = memory_allocator(NULL);
    for (size_t i = 0; i < PUBLISHED_FIG7_INSTANCES; i++)
        memory_free(&memory, figure->curves[i].points);
    *figure = (struct published_fig7){0};
}

uint32_t published_fig7_at(const struct published_fig7 *figure, const struct published_curve *curve,
                           double seconds)
{
    uint32_t estimate = 0;
    for (size_t i = 0; i < PUBLISHED_FIG7_INSTANCES; i++) {
        const struct published_curve *one = &figure->curves[i];
        for (size_t p = 0; (!curve || curve == one) && p < one->count; p++)
            if (one->points[p].seconds <= seconds && one->points[p].estimate > estimate)
                estimate = one->points[p].estimate;
    }
    return estimate;
}

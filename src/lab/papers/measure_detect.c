/* Measures detection: an engine or a published method replays the papers' experiments. */
#include "foundation/base/error.h"
#include "lab/bench/detect/published.h"
#include "lab/papers/measures.h"

#include <string.h>

struct experiment {
    struct paper_player player;
    enum paper_experiment what;
    uint32_t size;
};

static gordian_status run_paper_experiment(void *context, double *ns, gordian_error *error)
{
    const struct experiment *experiment = context;
    struct measure_time time = {0};
    gordian_status status =
        paper_play(&experiment->player, experiment->what, experiment->size, &time, error);
    *ns = time.wall;
    return status;
}

/* `with` is one of our engines, or the name of a published method. */
static gordian_status find_player(struct papers_run *run, const char *name,
                                  struct paper_player *player)
{
    for (int i = 0; i < PUBLISHED_METHODS; i++)
        if (strcmp(published_method_name((enum published_method)i), name) == 0) {
            gordian_status status = papers_run_gpu(run);
            player->gpu = run->gpu;
            player->method = (enum published_method)i;
            return status;
        }
    player->engine = name;
    return GORDIAN_OK;
}

gordian_status measure_detect(struct papers_run *run, const struct papers_measure *measure,
                              const struct papers_point *point, struct results_value *value)
{
    struct experiment experiment = {.what = (enum paper_experiment)measure->how,
                                    .size = (uint32_t)point->x};
    struct bench_side side = {.context = &experiment, .run = run_paper_experiment};
    experiment.player.multi = experiment.what == PAPER_EXPERIMENT_LIST_AND_RELEASE;
    TRY(find_player(run, measure->with, &experiment.player));
    return papers_time(run, &side, value);
}

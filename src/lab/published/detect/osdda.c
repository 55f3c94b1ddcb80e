/* Algorithm 4 of the thesis (the article's algorithm 1): the kernels that an event of a single-unit
 * system launches. */
#include "lab/published/detect/detect_internal.h"

#include "foundation/base/error.h"

static gordian_status launch_osdda(struct published_detect *d, const struct step *step,
                                   struct grid grid, const struct published_event *event,
                                   gordian_error *error)
{
    const struct published_osdda_arguments a = {
        .event = *event,
        .across_processes = d->across_processes,
        .across_resources = d->across_resources,
        .ag = d->ag,
        .sink = d->sink,
        .rp = d->rp,
        .sink_before = d->sink_before,
        .rr = d->rr,
        .ar = d->ar,
        .flag = flag_address(d, FLAG_DEADLOCK),
    };
    return published_detect_launch(d, step, grid, &a, sizeof a, error);
}

static gordian_status launch_single(struct published_detect *d, const struct step *step,
                                    const struct published_event *event, gordian_error *error)
{
    return launch_osdda(d, step, (struct grid){1, 1}, event, error);
}

/* A block for each resource, with a thread for each cell of its longest row. */
static struct grid grid_of_rows(const struct published_detect *d)
{
    const uint32_t processes = d->across_processes, resources = d->across_resources;
    return (struct grid){d->resources, processes > resources ? processes : resources};
}

/* Transposes the matrix and checks whether a row of the result has an element; its cells are those
 * of `down` tiles. */
static gordian_status reduce_column(struct published_detect *d, gpu_address matrix, uint32_t down,
                                    uint32_t across, uint32_t column, enum flag flag, bool *any,
                                    gordian_error *error)
{
    static const struct step reduce = STEP("row_reduction");
    const uint32_t count = d->form == FORM_BITS ? down : down * PUBLISHED_TILE;
    const struct published_reduction_arguments a = {matrix_row(d, d->turned, column, count),
                                                    flag_address(d, flag), count};
    const struct grid grid = {1, (count + 63) / 64 * 32}; /* half as many threads, in whole warps */
    TRY(published_detect_transpose(d, matrix, down, across, error));
    TRY(published_detect_launch(d, &reduce, grid, &a, sizeof a, error));
    return published_detect_flag(d, flag, any, error);
}

static gordian_status published_osdda_grant(struct published_detect *d,
                                            const struct published_event *event,
                                            gordian_error *error)
{
    static const struct step granted = STEP("osdda_granted");
    return launch_single(d, &granted, event, error);
}

/* Line 12 of the thesis's algorithm checks for a process that holds nothing; correct is one that
 * holds something, as in the article. */
static gordian_status published_osdda_block(struct published_detect *d,
                                            const struct published_event *event, bool *deadlock,
                                            gordian_error *error)
{
    static const struct step check = STEP("osdda_deadlock_check"), blocked = STEP("osdda_blocked");
    bool holds = false;
    gordian_status status = launch_single(d, &check, event, error);
    THEN(status, published_detect_flag(d, FLAG_DEADLOCK, deadlock, error));
    if (status != GORDIAN_OK || *deadlock)
        return status;
    status = reduce_column(d, d->ag, d->resource_tiles, d->process_tiles, event->process, FLAG_HELD,
                           &holds, error);
    if (status != GORDIAN_OK || !holds)
        return status;
    status = gpu_copy(d->gpu, d->sink_before, d->sink,
                      matrix_bytes(d, d->resource_tiles, d->across_processes), error);
    return status == GORDIAN_OK ? launch_osdda(d, &blocked, grid_of_rows(d), event, error) : status;
}

static gordian_status published_osdda_release(struct published_detect *d,
                                              const struct published_event *event,
                                              gordian_error *error)
{
    static const struct step release = STEP("osdda_release"), isolate = STEP("osdda_isolate"),
                             hand_over = STEP("osdda_hand_over"),
                             reach = STEP("osdda_release_reach");
    bool waited = false;
    TRY(launch_single(d, &release, event, error));
    TRY(reduce_column(d, d->ar, d->process_tiles, d->resource_tiles, event->resource, FLAG_WAITING,
                      &waited, error));
    if (waited != (event->heir != PUBLISHED_NOBODY))
        return fail(error, GORDIAN_STATUS_INPUT, "q%u is %swaited for", event->resource,
                    waited ? "" : "not ");
    if (!waited)
        return launch_single(d, &isolate, event, error);
    TRY(launch_single(d, &hand_over, event, error));
    return launch_osdda(d, &reach, grid_of_rows(d), event, error);
}

const struct detect_events published_osdda_events = {published_osdda_grant, published_osdda_block,
                                                     published_osdda_release};

#include "lab/bench/detect/published.h"

#include "foundation/base/error.h"
#include "lab/bench/detect/detect.h"
#include "lab/bench/detect/long_chain.h"

struct play {
    const struct paper_player *player;
    struct gen_trace trace;
    gordian_system *system; /* of our engine; otherwise: */
    struct published_detect *published;
    uint64_t start;
};

const char *paper_player_name(const struct paper_player *player)
{
    return player->engine ? player->engine : published_method_name(player->method);
}

/* ------------------------------------------------------------------ events */

static gordian_status check_paper_outcome(const struct play *play, const gordian_event *event,
                                          gordian_outcome outcome, gordian_outcome expected,
                                          gordian_error *error)
{
    if (outcome == expected)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_INPUT, "%s: p%u requests q%u of the papers' list: %s, not %s",
                paper_player_name(play->player), event->process, event->resource,
                gordian_outcome_text(outcome), gordian_outcome_text(expected));
}

static gordian_status request_published(struct play *play, const gordian_event *event,
                                        gordian_outcome expected, gordian_outcome *outcome,
                                        gordian_error *error)
{
    if (expected != GORDIAN_OUTCOME_GRANTED)
        return published_detect_block(play->published, event->process, event->resource, outcome,
                                      error);
    *outcome = GORDIAN_OUTCOME_GRANTED;
    return published_detect_grant(play->published, event->process, event->resource, error);
}

/* Makes a request that must have the given outcome. */
static gordian_status play_request(struct play *play, const gordian_event *event,
                                   gordian_outcome expected, gordian_error *error)
{
    gordian_outcome outcome = GORDIAN_OUTCOME_REFUSED;
    gordian_result result = {0};
    gordian_status status;
    if (play->system) {
        status = gordian_feed(play->system, event, &result, error);
        outcome = (gordian_outcome)result.outcome;
    } else {
        status = request_published(play, event, expected, &outcome, error);
    }
    return status == GORDIAN_OK ? check_paper_outcome(play, event, outcome, expected, error)
                                : status;
}

/* Makes a release that serves the previous process of the chain. */
static gordian_status play_release(struct play *play, const gordian_event *event,
                                   gordian_error *error)
{
    if (!play->system)
        return published_detect_release(play->published, event->process, event->resource,
                                        event->process - 1, error);
    gordian_result result;
    TRY(gordian_feed(play->system, event, &result, error));
    if (result.served_count != 1)
        return fail(error, GORDIAN_STATUS_INPUT, "%s: the papers' release serves no process",
                    paper_player_name(play->player));
    return GORDIAN_OK;
}

/* Plays the first `count` events of the list, without the deadlock. */
static gordian_status play_list(struct play *play, size_t count, gordian_error *error)
{
    if (play->player->multi) /* the second unit */
        TRY(play_request(play, &play->trace.events[0], GORDIAN_OUTCOME_GRANTED, error));
    for (size_t i = 0; i < count; i++)
        TRY(play_request(
            play, &play->trace.events[i],
            i < play->trace.processes ? GORDIAN_OUTCOME_GRANTED : GORDIAN_OUTCOME_BLOCKED, error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ the clock */

static gordian_status settle_play(struct play *play, gordian_error *error)
{
    struct long_chain chain = {.system = play->system};
    if (!play->system)
        return gpu_wait(play->player->gpu, error);
    if (play->player->multi) {
        /* The cuda engine computes the reachability of multi-unit systems on demand. */
        const uint64_t *words;
        size_t count;
        gordian_status status =
            gordian_matrix_row(play->system, GORDIAN_MATRIX_RP, 0, &words, &count, error);
        if (status != GORDIAN_OK &&
            status != GORDIAN_STATUS_UNAVAILABLE) /* the last status: the engine keeps no matrix */
            return status;
    }
    return long_chain_settle(&chain, error);
}

static gordian_status start_clock(struct play *play, gordian_error *error)
{
    TRY(settle_play(play, error));
    if (play->published)
        TRY(gpu_timer_start(play->player->gpu, error));
    play->start = clock_ns();
    return GORDIAN_OK;
}

static gordian_status stop_clock(struct play *play, struct measure_time *time, gordian_error *error)
{
    double microseconds = 0;
    gordian_status status = play->published
                                ? gpu_timer_stop(play->player->gpu, &microseconds, error)
                                : settle_play(play, error);
    *time = (struct measure_time){microseconds * 1e3, (double)(clock_ns() - play->start)};
    return status;
}

/* ------------------------------------------------------------------ experiments */

static gordian_status run_list(struct play *play, struct measure_time *time, gordian_error *error)
{
    const size_t count = play->trace.event_count;
    TRY(start_clock(play, error));
    TRY(play_list(play, count - 1, error));
    TRY(play_request(play, &play->trace.events[count - 1], GORDIAN_OUTCOME_DEADLOCK, error));
    return stop_clock(play, time, error);
}

static gordian_status play_block(struct play *play, struct measure_time *time, gordian_error *error)
{
    const size_t last = play->trace.event_count - 2;
    TRY(play_list(play, last, error));
    TRY(start_clock(play, error));
    TRY(play_request(play, &play->trace.events[last], GORDIAN_OUTCOME_BLOCKED, error));
    return stop_clock(play, time, error);
}

static gordian_status play_timed_release(struct play *play, struct measure_time *time,
                                         gordian_error *error)
{
    const uint32_t size = play->trace.processes, links = size / 2;
    const gordian_event event = detect_paper_release(links);
    TRY(play_list(play, (size_t)size + links, error));
    TRY(start_clock(play, error));
    TRY(play_release(play, &event, error));
    return stop_clock(play, time, error);
}

/* After the release the served process runs, and closes the ring. */
static gordian_status run_list_and_release(struct play *play, struct measure_time *time,
                                           gordian_error *error)
{
    const size_t count = play->trace.event_count;
    const gordian_event event = detect_paper_release(play->trace.processes - 1);
    gordian_event last = play->trace.events[count - 1];
    last.process = event.process - 1;
    TRY(start_clock(play, error));
    TRY(play_list(play, count - 1, error));
    TRY(play_release(play, &event, error));
    TRY(play_request(play, &last, GORDIAN_OUTCOME_DEADLOCK, error));
    return stop_clock(play, time, error);
}

static gordian_status play_experiment(struct play *play, enum paper_experiment experiment,
                                      struct measure_time *time, gordian_error *error)
{
    switch (experiment) {
    case PAPER_EXPERIMENT_LIST:
        return run_list(play, time, error);
    case PAPER_EXPERIMENT_BLOCK:
        return play_block(play, time, error);
    case PAPER_EXPERIMENT_RELEASE:
        return play_timed_release(play, time, error);
    case PAPER_EXPERIMENT_LIST_AND_RELEASE:
        return run_list_and_release(play, time, error);
    }
    return GORDIAN_OK;
}

static gordian_status open_play(struct play *play, uint32_t size, gordian_error *error)
{
    const struct paper_player *player = play->player;
    TRY(detect_paper_list(size, &play->trace, error));
    const uint64_t units = player->multi ? 2 : 1;
    play->trace.units[play->trace.events[0].resource] = units;
    if (player->engine)
        return detect_open(&play->system, player->engine, &play->trace, error);
    return published_detect_open(&play->published, player->gpu, player->method, size, size, units,
                                 error);
}

gordian_status paper_play(const struct paper_player *player, enum paper_experiment experiment,
                          uint32_t size, struct measure_time *time, gordian_error *error)
{
    struct play play = {.player = player};
    gordian_status status = open_play(&play, size, error);
    THEN(status, play_experiment(&play, experiment, time, error));
    gordian_close(play.system);
    published_detect_close(play.published);
    gen_trace_free(&play.trace);
    return status;
}

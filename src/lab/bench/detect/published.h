/*
 * The papers' detection experiments, for any player: one of our engines, or a published method on
 * a device. `gordian bench detect` and `gordian papers` measure with these, on the same events
 * (detect_paper_list).
 */
#pragma once

#include "lab/published/detect/detect.h"
#include "lab/published/measure.h"

struct paper_player {
    const char *engine;           /* one of ours; NULL: */
    struct gpu *gpu;              /* the device, with published_kernels added, */
    enum published_method method; /* and the method on it */
    bool multi;                   /* one resource has two units, so it is a multi-unit system */
};

enum paper_experiment {
    /* Tables 3.2 and 3.3: the list of 2M events, to the deadlock. */
    PAPER_EXPERIMENT_LIST,
    /* The article's table 2: the last blocked event before it. */
    PAPER_EXPERIMENT_BLOCK,
    /* The article's table 3: a release at the end of a chain of half the processes. */
    PAPER_EXPERIMENT_RELEASE,
    /* Tables 4.3 and 4.4: the list, with a release before the deadlock. The thesis does not say
       which events it measured. Its times grow sixteenfold when the size doubles, like those of a
       fixed number of releases, each of which recomputes reachability. */
    PAPER_EXPERIMENT_LIST_AND_RELEASE,
};

/* Plays once on a new system, without setup, until everything is up to date. For engines the device
 * time is not known. GORDIAN_STATUS_INPUT: the experiment cannot have this answer. */
gordian_status paper_play(const struct paper_player *player, enum paper_experiment experiment,
                          uint32_t size, struct measure_time *time, gordian_error *error);

/* Returns the name of the engine or of the method. */
const char *paper_player_name(const struct paper_player *player);

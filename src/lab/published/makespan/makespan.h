/*
 * The paper's figure 7 again: how eight instances of the published annealer converge, two from each
 * of the four starts, on its case study (L5 C9 L2 C9, one load a cycle and four others, 16 warps).
 *
 * As there, the instances run one after another, each with its own clock, and every improvement is
 * noted with its time; what instances side by side would have found at a time is the best of them.
 * The paper's figures for it: 2 million iterations each, T0 = 0.3, and 160 cycles at the end, on
 * Java threads of a Pentium E5400.
 */
#pragma once

#include <gordian/gordian.h>

#define PUBLISHED_FIG7_INSTANCES  8u
#define PUBLISHED_FIG7_ITERATIONS 2000000u

struct published_fig7_options {
    uint64_t seed;       /* 1 */
    uint64_t iterations; /* of each instance */
    uint32_t warps;      /* 16 */
    uint32_t schedulers; /* 0, as the paper's figures have it: no bound; its text has 4 */
    bool ours;           /* not the published annealer but ours, for the same iterations */
    /* As in gordian_makespan_options. */
    bool (*go_on)(void *context, const gordian_makespan_progress *progress);
    void *context;
};

/* An instance has this estimate from that second of its own on. */
struct published_point {
    double seconds;
    uint32_t estimate;
};

struct published_curve {
    gordian_makespan_start start;
    struct published_point *points; /* rising; the first one is what it starts from */
    size_t count, room;
};

struct published_fig7 {
    struct published_curve curves[PUBLISHED_FIG7_INSTANCES];
    uint32_t estimate; /* of all of them, at the end */
    double seconds;    /* of all of them, one after another */
    uint64_t evaluations;
    gordian_makespan_stop stop;
};

void published_fig7_options_init(struct published_fig7_options *options);

/* `options` NULL: as published. On failure the figure is empty. */
gordian_status published_fig7_run(struct published_fig7 *figure,
                                  const struct published_fig7_options *options,
                                  gordian_error *error);
void published_fig7_free(struct published_fig7 *figure);

/* The estimate of an instance, or (curve NULL) of all of them, after so many seconds. */
uint32_t published_fig7_at(const struct published_fig7 *figure, const struct published_curve *curve,
                           double seconds);

/*
 * Reproduces the paper's figure 7: how eight instances of the published simulated annealing
 * converge,
 * two from each of the four starts, on its case study (L5 C9 L2 C9, one load a cycle and four
 * others,
 * 16 warps).
 *
 * As in the paper, the instances run one after another, each with its own clock, and every
 * improvement
 * is recorded with its time. The result of parallel instances at a time is the best of them. The
 * paper's parameters: 2 million iterations each, T0 = 0.3, and 160 cycles at the end, on Java
 * threads
 * of a Pentium E5400.
 */
#pragma once

#include <gordian/gordian.h>

#define PUBLISHED_FIG7_INSTANCES  8u
#define PUBLISHED_FIG7_ITERATIONS 2000000u

struct published_fig7_options {
    uint64_t seed;       /* 1 */
    uint64_t iterations; /* of each instance */
    uint32_t warps;      /* 16 */
    uint32_t schedulers; /* 0, as in the paper's figures: no bound; its text has 4 */
    bool ours;           /* our annealer, not the published one, for the same iterations */
    /* As in gordian_makespan_options. */
    bool (*go_on)(void *context, const gordian_makespan_progress *progress);
    void *context;
};

/* An instance has this estimate from this second of its own clock on. */
struct published_point {
    double seconds;
    uint32_t estimate;
};

struct published_curve {
    gordian_makespan_start start;
    struct published_point *points; /* rising; the first one is the start */
    size_t count, capacity;
};

struct published_fig7 {
    struct published_curve curves[PUBLISHED_FIG7_INSTANCES];
    uint32_t estimate; /* of all instances, at the end */
    double seconds;    /* of all instances, in sequence */
    uint64_t evaluations;
    gordian_makespan_stop stop;
};

void published_fig7_options_init(struct published_fig7_options *options);

/* `options` NULL: as published. On failure the figure is empty. */
gordian_status published_fig7_run(struct published_fig7 *figure,
                                  const struct published_fig7_options *options,
                                  gordian_error *error);
void published_fig7_free(struct published_fig7 *figure);

/* Returns the estimate of an instance, or (curve NULL) of all of them, after this many seconds. */
uint32_t published_fig7_at(const struct published_fig7 *figure, const struct published_curve *curve,
                           double seconds);

/*
 * What is measured here for the papers' work, and by whom: one table (measures.c), in which the
 * items find theirs by name. A side is who does the work where.
 *
 * To add one: a function that measures at some points, a line of the table, `measure NAME` in the
 * items of data/ it belongs to.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "lab/bench/harness/harness.h"
#include "lab/papers/results.h"
#include "lab/published/makespan/makespan.h"

enum papers_side {
    PAPERS_SIDE_PUBLISHED_CPU,
    PAPERS_SIDE_PUBLISHED_GPU,
    PAPERS_SIDE_OURS_GPU,
    PAPERS_SIDE_OURS_CPU,
};

#define PAPERS_VALUES_MOST 32 /* points of an item */

/* A measuring machine: what all of a run share. */
struct papers_run {
    struct bench bench; /* its options, progress, memory and error; no rows */
    bool emulated;      /* only to test the measuring: sizes of any kind, times that mean nothing */
    struct gpu *gpu;    /* open from the first who needs it on, with the published kernels */
    struct gpu_info info;
    struct results *results;          /* where the values go */
    struct published_fig7 figures[2]; /* the published chains' and ours, once they have run */
    bool has_figure[2];
};

/* Values at points, in nanoseconds or cycles, with their 99th percentile if there is one. Those
 * left 0 could not be measured. */
struct papers_measure;
typedef gordian_status papers_one(struct papers_run *run, const struct papers_measure *measure,
                                  const struct papers_point *point, struct results_value *value);
typedef gordian_status papers_all(struct papers_run *run, const struct papers_measure *measure,
                                  const struct papers_point *points, size_t count,
                                  struct results_value *values);

struct papers_measure {
    const char *name;
    enum papers_side side;
    const char *what; /* "the engine sparse" */
    papers_one *one;  /* or `all` */
    const char *with; /* for them, who say what they make of these */
    unsigned how;
    papers_all *all;
    double quick_most; /* with --quick only points up to here; 0: all */
    const char *label; /* of its column; NULL: papers_label has that of its side */
};

/* By name; NULL: there is none. */
const struct papers_measure *papers_measure_named(const char *name);
/* All of them, for tests; name NULL at the end. */
extern const struct papers_measure papers_measures[];

bool papers_side_is_gpu(enum papers_side side);
/* "ours, GPU" */
const char *papers_label(const struct papers_measure *measure);
const char *papers_side_text(enum papers_side side); /* "published-gpu" */

/* Why it cannot be measured here, NULL: it can. */
const char *papers_why_not(const struct papers_run *run, const struct papers_measure *measure);

/* Measures what `item` names and has not been measured in this run yet. `quick`: not all points,
 * and each for a shorter time. What cannot be measured here is passed over. */
gordian_status papers_measure_item(struct papers_run *run, const struct papers_item *item);

/* Values of a measure at some points. */
gordian_status papers_measure_at(struct papers_run *run, const struct papers_measure *measure,
                                 const struct papers_point *points, size_t count,
                                 struct results_value *values);

/* Does this run lack points of `item` that `measure` would have? If so `text` names the points and
 * the reason: "4096x4096, 8192x8192: left out by --quick". */
bool papers_unmeasured(const struct papers_run *run, const struct papers_measure *measure,
                       const struct papers_item *item, char *text, size_t size);

/* GORDIAN_STATUS_INPUT, with the line, if a value from run `first_run` on belongs to no table or
 * figure: an unknown measure, or a point that none of them has. */
gordian_status papers_check_results(const struct papers *papers, const struct results *results,
                                    size_t first_run, gordian_error *error);

void papers_run_open(struct papers_run *run, const struct bench_options *options,
                     struct results *results, gordian_error *error);
void papers_run_close(struct papers_run *run);

/* ---- for those who measure */

/* The device, with the kernels of the published methods. */
gordian_status papers_run_gpu(struct papers_run *run);
/* Runs a side until its time is spent, and fills the value in. */
gordian_status papers_time(struct papers_run *run, struct bench_side *side,
                           struct results_value *value);

/* ---- the measures (measure_*.c) */

papers_one measure_detect;       /* the experiment `how`, by the engine or method `with` */
papers_one measure_worst;        /* the banker's worst request, by the engine `with` */
papers_one measure_banker;       /* the same as published, here or on a device */
papers_one measure_product;      /* the engine `with`, as often as the point says */
papers_one measure_product_cuda; /* the same on a device, all prepared */
papers_one measure_cells;        /* our loop over the cells of the matrices */
papers_one measure_matrices;     /* as published, here or on a device */
papers_one measure_array;        /* the method `how`; `with`: one block only */
papers_all measure_chains;       /* as published from the start `how`; or eight of ours */
papers_all measure_chains_cuda;  /* ours on a device, the engine `with` */

/*
 * Table of measures: what is measured here for the papers' work, and which method does it. Items
 * refer to measures by name. A side is a kind of method on a kind of machine (ours, GPU).
 *
 * To add a measure: write a function that measures at some points, add a line to the table, and
 * add
 * `measure NAME` to the items of data/ it belongs to.
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

/* A measuring run: what all measurements share. */
struct papers_run {
    struct bench bench; /* its options, progress, memory and error; no rows */
    bool emulated;      /* only to test the measuring: any sizes; times mean nothing */
    struct gpu *gpu;    /* opened on first use, with the published kernels */
    struct gpu_info info;
    struct results *results;          /* receives the values */
    struct published_fig7 figures[2]; /* the published chains' and ours, after they have run */
    bool has_figure[2];
};

/* Values at points, in nanoseconds or cycles, with the 99th percentile if there is one. A value of
 * 0 could not be measured. */
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
    const char *with; /* argument of the function above */
    unsigned how;
    papers_all *all;
    double quick_limit; /* --quick measures only points up to this one; 0: all */
    const char *label;  /* column label; NULL: the label of its side (papers_label) */
};

/* Finds a measure by name; NULL: none. */
const struct papers_measure *papers_measure_named(const char *name);
/* All measures, for tests; the last has name NULL. */
extern const struct papers_measure papers_measures[];

bool papers_side_is_gpu(enum papers_side side);
/* "ours, GPU" */
const char *papers_label(const struct papers_measure *measure);
const char *papers_side_text(enum papers_side side); /* "published-gpu" */

/* Returns why it cannot be measured here; NULL: it can. */
const char *papers_why_not(const struct papers_run *run, const struct papers_measure *measure);

/* Measures what `item` names, unless this run has measured it already. `quick`: fewer points and
 * shorter measurements. Skips what cannot be measured here. */
gordian_status papers_measure_item(struct papers_run *run, const struct papers_item *item);

/* Measures at some points. */
gordian_status papers_measure_at(struct papers_run *run, const struct papers_measure *measure,
                                 const struct papers_point *points, size_t count,
                                 struct results_value *values);

/* Does this run lack points of `item` that `measure` could have? Then `text` names the points and
 * the reason: "4096x4096, 8192x8192: left out by --quick". */
bool papers_unmeasured(const struct papers_run *run, const struct papers_measure *measure,
                       const struct papers_item *item, char *text, size_t size);

/* GORDIAN_STATUS_INPUT, with the line, if a value from run `first_run` on belongs to no table or
 * figure: the measure is unknown, or no item has the point. */
gordian_status papers_check_results(const struct papers *papers, const struct results *results,
                                    size_t first_run, gordian_error *error);

void papers_run_open(struct papers_run *run, const struct bench_options *options,
                     struct results *results, gordian_error *error);
void papers_run_close(struct papers_run *run);

/* ---- for the measuring functions */

/* Opens the device, with the kernels of the published methods. */
gordian_status papers_run_gpu(struct papers_run *run);
/* Runs a side until its time is spent, and fills in the value. */
gordian_status papers_time(struct papers_run *run, struct bench_side *side,
                           struct results_value *value);

/* ---- the measures (measure_*.c) */

papers_one measure_detect; /* the experiment `how`, by the engine or method `with` */
papers_one measure_worst;  /* the banker's worst request, by the engine `with` */
papers_one measure_banker; /* the published banker, on the CPU or on a device */
papers_one
    measure_product; /* product with the engine `with`; the point gives the number of factors */
papers_one measure_product_cuda; /* the same on a device, with everything prepared beforehand */
papers_one measure_cells;        /* our loop over the cells of the matrices */
papers_one measure_matrices;     /* the published product, on the CPU or on a device */
papers_one measure_array;        /* the method `how`; `with`: only one block */
papers_all measure_chains;       /* the published chains from the start `how`, or eight of ours */
papers_all measure_chains_cuda;  /* our chains on a device, by the engine `with` */

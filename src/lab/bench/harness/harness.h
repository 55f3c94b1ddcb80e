/*
 * Benchmark harness that all benches use: rows, and interleaved measurement of several sides.
 *
 * A bench is a function in the table of bench.c. It measures and adds rows. The harness prints
 * each
 * row at once, as a line of the table or as a JSON object, and keeps the rows of curves for the
 * plot.
 *
 * Fairness. All sides are warmed up, then run in turn, each round in a new random order, so that
 * other
 * load and leftovers of one side affect all sides alike. Each run gives one sample; the harness
 * reports
 * the median and the 99th percentile. A side times itself, to leave out its setup, and checks or
 * returns its answers, so that the compiler cannot drop the work.
 *
 * Clocks. Intervals of microseconds are timed with clock_ns. Intervals long enough to be
 * interrupted
 * are timed with work_ns, the thread's CPU time, so that other programs do not count.
 */
#pragma once

#include "foundation/base/clock.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "foundation/gpu/gpu.h"

struct bench_options {
    const char *name;   /* of one bench; NULL: all of them */
    bool json;          /* one object per row instead of the table */
    bool quick;         /* smaller sizes and fewer repetitions: under a minute */
    const char *engine; /* only the rows of this engine; NULL or "auto": all */
    const char *svg;    /* write the curves to this file; NULL: nowhere */
    uint64_t seed;
    uint32_t
        soak; /* `serve`: instead of measuring, run this many seconds at 80 % of the top rate */
    const char *store; /* `serve`: instead, measure on PostgreSQL with this connection string */
    /* Called with what is being measured, for a progress line; NULL: not called. */
    void (*progress)(void *context, const char *text);
    void *progress_context;
};

/* Every option at its default: all benches, text, seed 1. */
void bench_options_init(struct bench_options *options);

enum bench_bar {
    BAR_NONE,
    BAR_AT_LEAST, /* the ratio must be at least the target */
    BAR_AT_MOST,
    BAR_VALUE_AT_MOST, /* the value itself; only on a known machine */
};

struct bench_row {
    char id[96]; /* "detect/single/chain-8192/sparse" */
    double value;
    const char *unit;
    double per_unit;      /* nanoseconds per unit */
    double p99;           /* 0: none */
    const char *baseline; /* NULL: none */
    double baseline_value;
    double ratio; /* baseline_value / value unless set */
    enum bench_bar bar_kind;
    double bar;
    double paper_cpu, paper_gpu; /* the papers' figures in the same unit; 0: none */
    char note[160];              /* "" or a note for the reader */

    const char *plot;         /* title of the plot, or NULL */
    char series[32];          /* name of its curve */
    char baseline_series[32]; /* the baseline's curve, or "" */
    double x;
};

/* One of the compared sides. `run` runs it once and returns the nanoseconds of the measured part.
 * The harness fills in median, p99 and the number of samples. */
struct bench_side {
    void *context;
    gordian_status (*run)(void *context, double *ns, gordian_error *error);
    double median, p99;
    unsigned samples;
};

struct bench {
    const struct bench_options *options;
    struct output *out;
    gordian_error *error;
    gordian_allocator memory;
    struct bench_row *rows; /* all so far */
    size_t row_count, row_capacity;
    char device[128]; /* the GPU that was used; "": none */
};

/* Is this engine requested? */
bool bench_wants(const struct bench *bench, const char *engine);
/* Reports what is being measured. */
void bench_progress(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Opens the process's device and records its name for the rows; close it with gpu_close. */
gordian_status bench_open_gpu(struct bench *bench, struct gpu **gpu, struct gpu_info *info);

/* Starts a row: id from a format, everything else zero. */
struct bench_row bench_row(const char *unit, const char *id, ...)
    __attribute__((format(printf, 2, 3)));
/* Starts a row with the median and the 99th percentile of a side; the unit is one of time. */
struct bench_row bench_measured(const struct bench_side *side, const char *unit, const char *id,
                                ...) __attribute__((format(printf, 3, 4)));
/* Fills them in, for a row started otherwise; `per_unit`: nanoseconds in the row's unit. */
void bench_fill(struct bench_row *row, const struct bench_side *side, double per_unit);
/* Fills in a baseline, in the unit of the row. */
void bench_against(struct bench_row *row, const char *baseline, const struct bench_side *side);
/* The same; the baseline also gets a curve of its name. */
void bench_against_curve(struct bench_row *row, const char *baseline,
                         const struct bench_side *side);
/* The same; the ratio is the row's value over the baseline. */
void bench_times(struct bench_row *row, const char *baseline, double value);
/* Fills in the papers' figures, in the unit of the row. */
void bench_paper(struct bench_row *row, double cpu, double gpu);
void bench_bar(struct bench_row *row, enum bench_bar kind, double bar);
void bench_note(struct bench_row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes the row a point of a curve. */
void bench_curve(struct bench_row *row, const char *plot, double x, const char *series, ...)
    __attribute__((format(printf, 4, 5)));
/* Flushes what was printed. */
gordian_status bench_flush(struct bench *bench);
/* Prints and keeps the row; computes its ratio. */
gordian_status bench_add(struct bench *bench, struct bench_row *row);
/* Prints a reason in place of the rows whose ids begin with `id`. */
gordian_status bench_skip(struct bench *bench, const char *id, const char *why);
/* Did it meet its target? True if it has none. */
bool bench_met(const struct bench_row *row);

struct bench_effort {
    unsigned warmups;
    unsigned least, most; /* samples of each side */
    double seconds;       /* stop between these after this much time */
};

#define BENCH_SIDES_MOST 32

/* Measures the sides, BENCH_SIDES_MOST at most, in turn. */
gordian_status bench_measure(struct bench *bench, struct bench_side *sides, size_t count,
                             struct bench_effort effort);

/* A counting allocator, for one thread at a time. */
struct bench_memory {
    size_t live, peak; /* bytes */
};
gordian_allocator bench_counting(struct bench_memory *memory);

/* Sorts the samples. */
double bench_median(double *samples, size_t count);
double bench_p99(double *samples, size_t count);

/* plot.c: writes the rows that form curves as an SVG file. */
gordian_status bench_plot(const struct bench *bench, const char *path);

/* The benches. */
gordian_status bench_detect(struct bench *bench);
gordian_status bench_avoid(struct bench *bench);
gordian_status bench_compose(struct bench *bench);
gordian_status bench_makespan(struct bench *bench);
gordian_status bench_array(struct bench *bench);
gordian_status bench_inspect(struct bench *bench);
gordian_status bench_of_run(struct bench *bench);
gordian_status bench_of_messages(struct bench *bench);
gordian_status bench_collectives(struct bench *bench);
gordian_status bench_serve(struct bench *bench);
gordian_status bench_shared(struct bench *bench);
gordian_status bench_read(struct bench *bench);
gordian_status bench_watch(struct bench *bench);
gordian_status bench_check(struct bench *bench);

/*
 * What every bench is written with: rows, and measuring sides by turns.
 *
 * A bench is a function in the table of bench.c. It measures, and hands over rows; the harness
 * prints each as it comes, as a line of the table or as a JSON object, and keeps those that form
 * curves for the plot.
 *
 * Fairness. All sides are warmed up, then run by turns, each round in an order drawn anew, so that
 * whatever else the machine does, and whatever one leaves to the next, hits all. Each run gives one
 * sample, and the median and the 99th percentile of the samples are kept. A side times itself, so
 * that setting up is left out, and checks or hands out its answers, so that the compiler cannot
 * drop the work.
 *
 * Clocks. What takes microseconds is timed with clock_ns. What takes long enough to be interrupted
 * is timed with work_ns, the time this thread had a core, so that other programs do not count.
 */
#pragma once

#include "foundation/base/clock.h"
#include "foundation/base/io/output.h"
#include "foundation/base/memory.h"
#include "foundation/gpu/gpu.h"

struct bench_options {
    const char *name;   /* of one bench; NULL: all of them */
    bool json;          /* one object a row instead of the table */
    bool quick;         /* smaller sizes and fewer repetitions: under a minute */
    const char *engine; /* only the rows of this engine; NULL or "auto": all */
    const char *svg;    /* write the curves to this file; NULL: nowhere */
    uint64_t seed;
    uint32_t soak;     /* `serve`: instead of measuring, so many seconds at 80 % of the top rate */
    const char *store; /* `serve`: on PostgreSQL, by this connection string, instead */
    /* Told what is being measured now, for a progress line; NULL: nobody. */
    void (*progress)(void *context, const char *text);
    void *progress_context;
};

/* Every option at its default: all benches, text, seed 1. */
void bench_options_init(struct bench_options *options);

enum bench_bar {
    BAR_NONE,
    BAR_AT_LEAST, /* the ratio must be at least the bar */
    BAR_AT_MOST,
    BAR_VALUE_AT_MOST, /* the value itself: only where the machine is known */
};

struct bench_row {
    char id[96]; /* "detect/single/chain-8192/sparse" */
    double value;
    const char *unit;
    double per_unit;      /* nanoseconds in one of the unit */
    double p99;           /* 0: none */
    const char *baseline; /* NULL: none */
    double baseline_value;
    double ratio; /* baseline_value / value unless set */
    enum bench_bar bar_kind;
    double bar;
    double paper_cpu, paper_gpu; /* the papers' own figures in the same unit; 0: none */
    char note[160];              /* "" or what a reader must know */

    const char *plot;         /* the curve's picture, or NULL */
    char series[32];          /* which curve of it */
    char baseline_series[32]; /* the baseline's curve, or "" */
    double x;
};

/* One of the things compared. `run` does it once and gives the nanoseconds of the part that
 * counts; median, p99 and how many samples they are of are filled in. */
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
    size_t row_count, row_room;
    char device[128]; /* the GPU that was used; "": none */
};

/* Is this engine among those asked for? */
bool bench_wants(const struct bench *bench, const char *engine);
/* Tells whoever watches what is being measured. */
void bench_progress(const struct bench *bench, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* The device of the process, which the rows name; to be closed with gpu_close. */
gordian_status bench_open_gpu(struct bench *bench, struct gpu **gpu, struct gpu_info *info);

/* Starts a row: id from a format, everything else zero. */
struct bench_row bench_row(const char *unit, const char *id, ...)
    __attribute__((format(printf, 2, 3)));
/* Starts a row with the median and the 99th percentile of a side; the unit is one of time. */
struct bench_row bench_measured(const struct bench_side *side, const char *unit, const char *id,
                                ...) __attribute__((format(printf, 3, 4)));
/* Fills them in where the row is not of one run; `per_unit`: nanoseconds in the row's unit. */
void bench_fill(struct bench_row *row, const struct bench_side *side, double per_unit);
/* Fills a baseline in, in the unit of the row. */
void bench_against(struct bench_row *row, const char *baseline, const struct bench_side *side);
/* The same; the baseline has a curve of its name, too. */
void bench_against_curve(struct bench_row *row, const char *baseline,
                         const struct bench_side *side);
/* The same; the ratio says how many times the baseline the row is. */
void bench_times(struct bench_row *row, const char *baseline, double value);
/* Fills the papers' own figures in, in the unit of the row. */
void bench_paper(struct bench_row *row, double cpu, double gpu);
void bench_bar(struct bench_row *row, enum bench_bar kind, double bar);
void bench_note(struct bench_row *row, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Makes the row a point of a curve. */
void bench_curve(struct bench_row *row, const char *plot, double x, const char *series, ...)
    __attribute__((format(printf, 4, 5)));
/* Flushes what was printed. */
gordian_status bench_flush(struct bench *bench);
/* Prints and keeps the row; works the ratio out. */
gordian_status bench_add(struct bench *bench, struct bench_row *row);
/* Says, where rows with ids that start so would be, why they are not there. */
gordian_status bench_skip(struct bench *bench, const char *id, const char *why);
/* Did it meet its bar? True without one. */
bool bench_met(const struct bench_row *row);

struct bench_effort {
    unsigned warmups;
    unsigned least, most; /* samples of each side */
    double seconds;       /* stop in between once this much time is spent */
};

#define BENCH_SIDES_MOST 32

/* Measures the sides, BENCH_SIDES_MOST at most, by turns. */
gordian_status bench_measure(struct bench *bench, struct bench_side *sides, size_t count,
                             struct bench_effort effort);

/* An allocator that counts, one thread at a time. */
struct bench_memory {
    size_t live, peak; /* bytes */
};
gordian_allocator bench_counting(struct bench_memory *memory);

/* Sorts the samples. */
double bench_median(double *samples, size_t count);
double bench_p99(double *samples, size_t count);

/* plot.c: the rows that form curves, as an SVG file. */
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

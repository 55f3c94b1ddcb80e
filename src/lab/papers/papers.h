/*
 * The five papers: every table and figure by its number, with the printed values and those
 * measured
 * here for the same work.
 *
 *     papers_open         the papers (data/, one text each, part of the program)
 *     papers_find         "3.3", "thesis/3.3", "fig8", "article/fig8"
 *     results_read        recorded results (results.h)
 *     papers_chart_open   an item's numbers as curves: the paper's and ours (chart.h)
 *     papers_print_*      an item as text, JSON or Markdown; papers_draw as a picture
 *     papers_measure_item measures now (measures.h)
 *
 * A number is identified by its item, point and series. A point is a parameter of the experiment:
 * a
 * size, a count. A series is a method. In an "across" table the columns are the points; only
 * printing depends on this.
 */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/error.h"

enum papers_kind {
    PAPERS_KIND_TIMES,    /* a table of run times */
    PAPERS_KIND_WORDS,    /* a table without measurements */
    PAPERS_KIND_DRAWING,  /* a figure without numbers, or a listing */
    PAPERS_KIND_PLOT,     /* a figure of run times whose points are not printed */
    PAPERS_KIND_FOUND,    /* figure of values found by a time: more is better */
    PAPERS_KIND_SPEEDUPS, /* computed from tables */
    PAPERS_KIND_JOINED,   /* numbers of several tables */
};

/* Meaning of the speed-ups printed after the times of a table. */
enum papers_printed {
    PAPERS_PRINTED_NONE,
    PAPERS_PRINTED_RATIO,          /* old time / new time */
    PAPERS_PRINTED_RATIO_LESS_ONE, /* the ratio minus one */
};

/* "times", "words", ...; indexed by enum papers_kind, NULL at the end. */
extern const char *const papers_kind_names[];

struct papers_texts {
    const char **items;
    size_t count, capacity;
};

struct papers_cell {
    const char *text; /* as printed */
    double value;     /* in the item's unit; NaN: not a number */
    double speedup;   /* as printed; NaN: none */
};

struct papers_row {
    const char *label;
    struct papers_cell *cells;
    size_t count, capacity;
};

/* Parameters of an experiment: both numbers of "8192x256", or the only number twice. */
struct papers_point {
    const char *text;
    double x, y;
};

struct papers_slip {
    const char *point, *series; /* "*": any; both NULL: the whole item */
    const char *text;
};

struct papers_paper {
    const char *name, *title, *by, *machines;
    struct papers_texts slips;
};

struct papers_item {
    const struct papers_paper *paper;
    const char *key;    /* "thesis/fig3.10" */
    const char *name;   /* "fig3.10", the end of `key` */
    const char *number; /* "3.10"; "": the paper gives no number */
    const char *title;
    bool figure;
    enum papers_kind kind;
    const char *unit; /* unit of the numbers: "s", "ms", "us", "cycles" */
    char decimal;     /* ',' or '.' */
    const char *head; /* name of the points */
    bool across;      /* the points are the columns */
    struct papers_texts columns;
    struct papers_row *rows;
    size_t row_count, row_capacity;
    enum papers_printed printed;
    struct papers_texts over, to; /* speed-ups of `to` over `over`; without `to`: of all others */
    struct papers_texts draw;     /* series to draw; empty: all */
    struct papers_texts from;     /* tables that a figure is computed from */
    unsigned average; /* the last series is the mean of this many series before it; 0: no */
    struct papers_texts measures; /* what is measured here for the same work */
    struct papers_texts without;  /* sides without a measure, and the reason */
    struct papers_slip *slips;
    size_t slip_count, slip_capacity;
    struct papers_texts shows, notes, differs;
};

struct papers {
    struct arena arena; /* owns all texts */
    gordian_allocator memory;
    struct papers_paper *papers;
    size_t paper_count, paper_capacity;
    struct papers_item *items; /* in the papers' order */
    size_t item_count, item_capacity;
};

/* GORDIAN_STATUS_INPUT, with line and column, if an embedded text is malformed. On failure there is
 * nothing to close. */
gordian_status papers_open(struct papers *papers, gordian_error *error);
void papers_close(struct papers *papers);

/* Adds a paper from a text, read like the embedded ones; for tests. */
gordian_status papers_read(struct papers *papers, const char *text, size_t size,
                           gordian_error *error);

/* ---- names (find.c) */

#define PAPERS_FOUND_MOST 128

/* Returns all items that a name may mean: one item of a paper ("thesis/3.3"), that name in any
 * paper ("3.3"), or all items of a paper ("thesis"). The error names the nearest name if there is
 * none. Several matches are an error, unless the name is a paper's. */
gordian_status papers_find(const struct papers *papers, const char *name,
                           const struct papers_item **found, size_t *count, gordian_error *error);
/* Returns a table or figure that another item names; NULL: none. */
const struct papers_item *papers_named(const struct papers *papers,
                                       const struct papers_paper *paper, const char *number);

/* ---- an item's numbers (item.c) */

size_t papers_point_count(const struct papers_item *item);
size_t papers_series_count(const struct papers_item *item);
struct papers_point papers_point_at(const struct papers_item *item, size_t point);
const char *papers_series_at(const struct papers_item *item, size_t series);
const struct papers_cell *papers_cell_at(const struct papers_item *item, size_t point,
                                         size_t series);
/* Returns the index of a series; the count if there is none of that name. Also for tests. */
size_t papers_series_named(const struct papers_item *item, const char *name);
/* Nanoseconds per unit; 1 for a unit that is not a time. */
double papers_unit_ns(const char *unit);
/* Is the text in the list? */
bool papers_is_listed(const struct papers_texts *texts, const char *text);
/* Is there a speed-up for this pair of series? */
bool papers_is_pair(const struct papers_item *item, size_t over, size_t to);

/* Compares the printed speed-up of a cell with its times, allowing for their rounding. */
enum papers_agreement {
    PAPERS_AGREEMENT_NONE,    /* nothing is printed */
    PAPERS_AGREEMENT_GOOD,    /* as `printed` says */
    PAPERS_AGREEMENT_SLIPPED, /* does not follow from the times */
};
enum papers_agreement papers_agreement(const struct papers_item *item, size_t point, size_t series);
/* Returns the slip (mistake in the paper) that this cell is marked with. A slip of the cell comes
 * before one of its series; NULL: none. */
const struct papers_slip *papers_slip_at(const struct papers_item *item, size_t point,
                                         size_t series);
/* Does the slip belong to the cell alone? */
bool papers_slip_is_own(const struct papers_slip *slip);

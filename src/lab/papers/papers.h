/*
 * The five papers: every table and figure by its number, as they are printed, and what was measured
 * here for the same work.
 *
 *     papers_open         the papers (data/, one text each, part of the program)
 *     papers_find         "3.3", "thesis/3.3", "fig8", "article/fig8"
 *     results_read        recorded results (results.h)
 *     papers_chart_open   an item's numbers as curves: the paper's, and ours beside them (chart.h)
 *     papers_print_*      an item as text, JSON or Markdown; papers_draw as a picture
 *     papers_measure_item measures now (measures.h)
 *
 * A number has a place (an item, a point, a series) and nothing else refers to it. A point is what
 * the experiment was run with: a size, a count; a series is who took part. Tables whose columns are
 * the points are "across"; everything but printing is the same for them.
 */
#pragma once

#include "foundation/base/arena.h"
#include "foundation/base/error.h"

enum papers_kind {
    PAPERS_KIND_TIMES,    /* a table of run times */
    PAPERS_KIND_WORDS,    /* a table without measurements */
    PAPERS_KIND_DRAWING,  /* a figure without numbers, or a listing */
    PAPERS_KIND_PLOT,     /* a figure of run times whose points are not printed */
    PAPERS_KIND_FOUND,    /* the same of what was found by then: more is better */
    PAPERS_KIND_SPEEDUPS, /* worked out from tables */
    PAPERS_KIND_JOINED,   /* the numbers of several tables */
};

/* What stands behind the times of a table. */
enum papers_printed {
    PAPERS_PRINTED_NONE,
    PAPERS_PRINTED_RATIO,          /* old time / new time */
    PAPERS_PRINTED_RATIO_LESS_ONE, /* that less one */
};

/* "times", "words", ..; by enum papers_kind, NULL at the end. */
extern const char *const papers_kind_names[];

struct papers_texts {
    const char **items;
    size_t count, room;
};

struct papers_cell {
    const char *text; /* as printed */
    double value;     /* in the item's unit; NaN: no number */
    double speedup;   /* as printed; NaN: none */
};

struct papers_row {
    const char *label;
    struct papers_cell *cells;
    size_t count, room;
};

/* What an experiment was run with: both numbers of "8192x256", or the one there is twice. */
struct papers_point {
    const char *text;
    double x, y;
};

struct papers_slip {
    const char *point, *series; /* "*": any of them; both NULL: of the item as a whole */
    const char *text;
};

struct papers_paper {
    const char *name, *title, *by, *machines;
    struct papers_texts slips;
};

struct papers_item {
    const struct papers_paper *paper;
    const char *key;    /* "thesis/fig3.10" */
    const char *name;   /* "fig3.10", a part of it */
    const char *number; /* "3.10"; "": the paper gives none */
    const char *title;
    bool figure;
    enum papers_kind kind;
    const char *unit; /* of its numbers: "s", "ms", "us", "cycles" */
    char decimal;     /* ',' or '.' */
    const char *head; /* what its points are called */
    bool across;      /* the points are the columns */
    struct papers_texts columns;
    struct papers_row *rows;
    size_t row_count, row_room;
    enum papers_printed printed;
    struct papers_texts over, to; /* speed-ups: of `to` over `over`; no `to`: all the others */
    struct papers_texts draw;     /* series to draw; none: all */
    struct papers_texts from;     /* tables that a figure is worked out from */
    unsigned average;             /* the last series is the mean of so many before it; 0: no */
    struct papers_texts measures; /* what is measured here for the same work */
    struct papers_texts without;  /* sides there is nothing for, and why */
    struct papers_slip *slips;
    size_t slip_count, slip_room;
    struct papers_texts shows, notes, differs;
};

struct papers {
    struct arena arena; /* all texts */
    gordian_allocator memory;
    struct papers_paper *papers;
    size_t paper_count, paper_room;
    struct papers_item *items; /* in the papers' order */
    size_t item_count, item_room;
};

/* GORDIAN_STATUS_INPUT, with line and column, if a text of the program is not what it should be. On
 * failure there is nothing to close. */
gordian_status papers_open(struct papers *papers, gordian_error *error);
void papers_close(struct papers *papers);

/* Adds a paper: a text of its own, read as those of the program are; for tests. */
gordian_status papers_read(struct papers *papers, const char *text, size_t size,
                           gordian_error *error);

/* ---- names (find.c) */

#define PAPERS_FOUND_MOST 128

/* All items that a name may mean: one item of a paper ("thesis/3.3"), that name in any paper
 * ("3.3"), or all of a paper ("thesis"). One message if there is none, with the nearest name, or
 * (but for a paper's own name) if there are several. */
gordian_status papers_find(const struct papers *papers, const char *name,
                           const struct papers_item **found, size_t *count, gordian_error *error);
/* A table or figure that another item names; NULL: there is none. */
const struct papers_item *papers_named(const struct papers *papers,
                                       const struct papers_paper *paper, const char *number);

/* ---- an item's numbers (item.c) */

size_t papers_point_count(const struct papers_item *item);
size_t papers_series_count(const struct papers_item *item);
struct papers_point papers_point_at(const struct papers_item *item, size_t point);
const char *papers_series_at(const struct papers_item *item, size_t series);
const struct papers_cell *papers_cell_at(const struct papers_item *item, size_t point,
                                         size_t series);
/* The place of a series; the count: there is none of that name. Also for tests. */
size_t papers_series_named(const struct papers_item *item, const char *name);
/* Nanoseconds of the item's unit; 1 for what is no time. */
double papers_unit_ns(const char *unit);
/* Is the text one of them? */
bool papers_is_listed(const struct papers_texts *texts, const char *text);
/* Is a speed-up worked out for this pair of series? */
bool papers_is_pair(const struct papers_item *item, size_t over, size_t to);

/* The printed speed-up of a cell against what its times give, however those were rounded. */
enum papers_agreement {
    PAPERS_AGREEMENT_NONE,    /* nothing is printed */
    PAPERS_AGREEMENT_GOOD,    /* as `printed` says */
    PAPERS_AGREEMENT_SLIPPED, /* it does not follow from the times */
};
enum papers_agreement papers_agreement(const struct papers_item *item, size_t point, size_t series);
/* The slip that this cell is marked with: one of its own before one of its series; NULL: none. */
const struct papers_slip *papers_slip_at(const struct papers_item *item, size_t point,
                                         size_t series);
/* Is it the cell's own? */
bool papers_slip_is_own(const struct papers_slip *slip);

/*
 * `gordian compose`: the command (compose.c), its input (compose/input.c), a run with limits,
 * progress and ctrl-C (compose/run.c), its output files (compose/output.c), the two reporters
 * (compose/text.c, compose/json.c), and the comparison of two circuits, bisimulation
 * (compose/equal.c).
 */
#pragma once

#include "cli/base/cli.h"
#include "foundation/base/meter.h"
#include "output/show/style.h"

#include <gordian/compose.h>

/* Maximum number of deadlocks that --trace describes. */
#define COMPOSE_TRACES 10000u
/* --explain composes intermediate products up to this many states. */
#define COMPOSE_EXPLAINED 50000u

/* The input: a circuit, or a graph that was composed before. */
struct subject {
    const char *path;
    gordian_format format;
    gordian_circuit *circuit; /* or NULL */
    gordian_circuit_info info;
    gordian_graph *graph; /* or NULL */
    bool cut;             /* the end of the graph's file is missing */
};

/* A sequence of firings: label texts, each with a NUL. */
struct route {
    struct output text; /* in memory */
    size_t steps;
};

/* Counted while the product is composed. */
struct statistics {
    uint32_t names;
    size_t words;                                 /* of a label */
    uint64_t rows, transitions, loops, branching; /* branching: maximum of transitions of a state */
    uint64_t together;                            /* maximum of names that fire together */
    uint64_t *fired; /* by name: the number of transitions in which it fires */
};

/* Everything to report about one input. */
struct composed {
    const struct subject *subject;
    gordian_compose_result result; /* of a graph: counts only */
    bool counted;                  /* transitions were counted */
    bool one_datum;     /* composed with one data value, because the data do not matter */
    struct meter meter; /* memory of the graphs */
    gordian_graph *product, *hidden, *minimal; /* or NULL */
    gordian_livelock livelock;
    gordian_check check;               /* of --check, --ltl, --best */
    gordian_graph_deadlocks deadlocks; /* of a graph */
    struct statistics statistics;
    double seconds;
};

struct compose {
    struct cli *cli;
    struct style style;

    bool interrupted;     /* by ctrl-C */
    struct meter reading; /* memory of the input */

    /* options */
    const char *main, *other, *data, *keep, *order, *file, *check, *ltl, *best;
    unsigned fair, semiring; /* indices of their choices */
    struct option_texts folders, define;
    const char *defines;       /* `define`, with the content of its files */
    gordian_question question; /* of --check, --ltl or --best; formula NULL: none */
    uint64_t max_states, max_memory;
    uint32_t threads;
    bool hide, minimal, full, explain, trace, equal, dot, circuit, livelock, statistics, quick,
        reduce;
    gordian_format format; /* of `file` */
};

/* ---- compose/input.c */

/* Reads a file and reports errors. Returns the exit code. `main`: NULL for the default component.
 * `data`: NULL for the data given in the text. */
int subject_read(struct compose *compose, struct subject *subject, const char *path,
                 const char *main, const char *data);
/* The same for several files: joins their circuits. */
int subjects_read(struct compose *compose, struct subject *subject, char **paths, size_t count);
/* Takes ownership of a circuit. */
void subject_take(struct subject *subject, gordian_circuit *circuit);
void subject_free(struct subject *subject);
/* Returns the title of a circuit, or the path of a graph. */
const char *subject_title(const struct subject *subject);

/* ---- compose/define.c */

/* Reads --define: f={[0,1]};g=FILE, or a FILE with such lines. *text is the whole text, which the
 * caller frees; NULL: no definitions. Returns the exit code. */
int defines_read(struct compose *compose, char **text);

/* ---- compose/run.c */

struct product_file;
/* Composes and fills *composed, which composed_free frees in any case. `to`: receives the product
 * while it is composed; NULL: none. */
gordian_status compose_subject(struct compose *compose, const struct subject *subject,
                               struct product_file *to, struct composed *composed,
                               gordian_error *error);
void composed_free(struct composed *composed);
/* Do the options need the product as a graph? */
bool compose_needs_graph(const struct compose *compose);
/* Returns the resulting graph, or NULL. */
const gordian_graph *composed_graph(const struct composed *composed);
/* Is the result complete: no limit, no ctrl-C, no truncated file? */
bool composed_is_complete(const struct composed *composed);
/* Is a deadlock described? */
bool composed_describes(const struct composed *composed);
/* Returns the nearest described deadlock. NULL: none is described, or it is one of a graph. */
const gordian_compose_deadlock *composed_nearest(const struct composed *composed);

/* ---- compose/output.c */

/* Destination of the product: a file or stdout, during composition or as a graph afterwards. */
struct product_file {
    gordian_writer writer; /* the writer for the library; `write` NULL: none */
    gordian_format format;
    int fd; /* -1: none */
    gordian_writer file;
    bool begun;
    int failure; /* errno of the first write that failed */
};

/* Opens the file, or stdout for --dot; returns the exit code. */
int product_file_open(struct product_file *to, struct compose *compose);
/* Closes it. Returns `code`, or EXIT_BROKEN (reported) if a write failed. */
int product_file_close(struct product_file *to, struct compose *compose, int code);

/* ---- traces (compose/run.c) */

bool route_open(struct route *trace);
void route_close(struct route *trace);
/* Finds the path to a deadlock; NULL: the nearest one. False: out of memory. */
bool route_of(struct route *trace, const struct composed *composed,
              const gordian_compose_deadlock *deadlock);
bool route_of_arcs(struct route *trace, const gordian_graph *graph, const gordian_graph_arc *arcs,
                   size_t count);

/* Write the texts of an automaton and of one of its states, each with a NUL, to an output in
 * memory. False: out of memory. */
bool text_of_automaton(struct output *text, const gordian_circuit *circuit, size_t automaton);
bool text_of_state(struct output *text, const gordian_circuit *circuit, size_t automaton,
                   uint32_t state);

/* ---- reporters */

struct compose_reporter {
    /* Before composition; one stage for each automaton, in order. */
    gordian_status (*explain)(struct compose *compose, const struct subject *subject,
                              const gordian_compose_stage *stages, gordian_error *error);
    gordian_status (*statistics)(struct compose *compose, const struct composed *composed,
                                 gordian_error *error);
    gordian_status (*deadlock)(struct compose *compose, const struct composed *composed,
                               size_t number, const gordian_compose_deadlock *deadlock,
                               gordian_error *error);
    /* The net is not 1-safe: shows how a place gets a second token. Nothing else is reported. */
    gordian_status (*unsafe)(struct compose *compose, const struct composed *composed,
                             gordian_error *error);
    gordian_status (*livelock)(struct compose *compose, const struct composed *composed,
                               gordian_error *error);
    gordian_status (*check)(struct compose *compose, const struct composed *composed,
                            gordian_error *error);
    gordian_status (*summary)(struct compose *compose, const struct composed *composed,
                              gordian_error *error);
    gordian_status (*difference)(struct compose *compose, const struct composed sides[2],
                                 const gordian_difference *difference, gordian_error *error);
};

extern const struct compose_reporter compose_json, compose_text;

/* Reports that the net is not 1-safe, and how. Returns the exit code. */
int compose_refuse_net(struct compose *compose, const struct composed *composed);

/* "max-states" and so on, as in the summary; NULL: complete. */
const char *compose_stop_text(gordian_compose_stop stop);

/* "weak" and so on, as for --fair; "weighted" and so on, as for --semiring. */
const char *compose_fairness_text(gordian_fairness fairness);
const char *compose_semiring_text(gordian_semiring semiring);

/* ---- compose/equal.c */

int compose_equal(struct compose *compose, const char *left, const char *right);

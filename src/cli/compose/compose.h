/*
 * `gordian compose` in parts: the command and what it does one after another (compose.c), the
 * texts it reads (compose/input.c), a run with its limits, progress and ctrl-C (compose/run.c), the
 * files it writes (compose/output.c), the two ways to report (compose/text.c, compose/json.c), and
 * the comparison of two circuits (compose/equal.c).
 */
#pragma once

#include "cli/base/cli.h"
#include "foundation/base/meter.h"
#include "output/show/style.h"

#include <gordian/compose.h>

/* Deadlocks that --trace describes at most. */
#define COMPOSE_TRACES 10000u
/* --explain builds the parts in between up to this many states. */
#define COMPOSE_EXPLAINED 50000u

/* What was read: a circuit, or a graph that somebody has composed before. */
struct subject {
    const char *path;
    gordian_format format;
    gordian_circuit *circuit; /* or NULL */
    gordian_circuit_info info;
    gordian_graph *graph; /* or NULL */
    bool cut;             /* the end of the graph's file is missing */
};

/* Firings one after another: label texts, each with a NUL behind it. */
struct route {
    struct output text; /* in memory */
    size_t steps;
};

/* Counted while the product goes by. */
struct statistics {
    uint32_t names;
    size_t words;                                 /* of a label */
    uint64_t rows, transitions, loops, branching; /* branching: most transitions of a state */
    uint64_t together;                            /* most names that fire at once */
    uint64_t *fired;                              /* by name: transitions in which it fires */
};

/* All there is to say about one subject. */
struct composed {
    const struct subject *subject;
    gordian_compose_result result; /* of a graph: counts only */
    bool counted;                  /* transitions are */
    bool one_datum;                /* composed with one datum: the data make no difference */
    struct meter meter;            /* what the graphs take */
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
    struct meter reading; /* what the files take */

    /* options */
    const char *main, *other, *data, *keep, *order, *file, *check, *ltl, *best;
    unsigned fair, semiring; /* indices of their words */
    struct option_texts folders, define;
    const char *defines;       /* `define` with what its files have */
    gordian_question question; /* of --check, --ltl or --best; no formula: none */
    uint64_t max_states, max_memory;
    uint32_t threads;
    bool hide, minimal, full, explain, trace, equal, dot, circuit, livelock, statistics, quick,
        reduce;
    gordian_format format; /* of `file` */
};

/* ---- compose/input.c */

/* Reads it; says what is wrong with it. The exit code, 0 if all is well. `main`: NULL for the
 * default one. `data`: NULL as the text says. */
int subject_read(struct compose *compose, struct subject *subject, const char *path,
                 const char *main, const char *data);
/* The same for any number of files: their circuits as one. */
int subjects_read(struct compose *compose, struct subject *subject, char **paths, size_t count);
/* Takes a circuit over. */
void subject_take(struct subject *subject, gordian_circuit *circuit);
void subject_free(struct subject *subject);
/* What it is called. */
const char *subject_title(const struct subject *subject);

/* ---- compose/define.c */

/* --define: f={[0,1]};g=FILE, or a FILE with such lines. *text: all of it, the caller's to free;
 * NULL: nothing is defined. The exit code. */
int defines_read(struct compose *compose, char **text);

/* ---- compose/run.c */

struct product_file;
/* Composes: fills *composed, which composed_free frees whatever happened. `to`: where the product
 * itself goes while it is made; NULL: nowhere. */
gordian_status compose_subject(struct compose *compose, const struct subject *subject,
                               struct product_file *to, struct composed *composed,
                               gordian_error *error);
void composed_free(struct composed *composed);
/* The product as a graph is needed, and not only its size. */
bool compose_needs_graph(const struct compose *compose);
/* The graph that the options ask for in the end, or NULL. */
const gordian_graph *composed_graph(const struct composed *composed);
/* Was everything seen: no limit, no ctrl-C, no file without its end? */
bool composed_is_complete(const struct composed *composed);
/* Is there a deadlock that is described? */
bool composed_describes(const struct composed *composed);
/* The described deadlock that is nearest; NULL: none is described, or it is one of a graph. */
const gordian_compose_deadlock *composed_nearest(const struct composed *composed);

/* ---- compose/output.c */

/* A file or stdout that the product goes to, as a stream or once it is a graph. */
struct product_file {
    gordian_writer writer; /* what the library writes to; `write` NULL: nowhere */
    gordian_format format;
    int fd; /* -1: none */
    gordian_writer file;
    bool begun;
    int failure; /* errno of the first write that failed */
};

/* Opens `file`, or stdout for --dot; the exit code. */
int product_file_open(struct product_file *to, struct compose *compose);
/* Closes; `code`, or EXIT_BROKEN (said) if a write failed. */
int product_file_close(struct product_file *to, struct compose *compose, int code);

/* ---- traces (compose/run.c) */

bool route_open(struct route *trace);
void route_close(struct route *trace);
/* What leads to a deadlock; to the nearest one if `deadlock` is NULL. False: out of memory. */
bool route_of(struct route *trace, const struct composed *composed,
              const gordian_compose_deadlock *deadlock);
bool route_of_arcs(struct route *trace, const gordian_graph *graph, const gordian_graph_arc *arcs,
                   size_t count);

/* The texts of an automaton and of one of its states into an output in memory, a NUL behind each.
 * False: out of memory. */
bool text_of_automaton(struct output *text, const gordian_circuit *circuit, size_t automaton);
bool text_of_state(struct output *text, const gordian_circuit *circuit, size_t automaton,
                   uint32_t state);

/* ---- reporters */

struct compose_reporter {
    /* Before anything is composed; one stage an automaton, in the order. */
    gordian_status (*explain)(struct compose *compose, const struct subject *subject,
                              const gordian_compose_stage *stages, gordian_error *error);
    gordian_status (*statistics)(struct compose *compose, const struct composed *composed,
                                 gordian_error *error);
    gordian_status (*deadlock)(struct compose *compose, const struct composed *composed,
                               size_t number, const gordian_compose_deadlock *deadlock,
                               gordian_error *error);
    /* The net is not 1-safe: how it gets a second token. Nothing else is reported. */
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

/* Reports that the net is not 1-safe, and how; the exit code. */
int compose_refuse_net(struct compose *compose, const struct composed *composed);

/* "max-states" and so on, as the summary has it; NULL: the run was complete. */
const char *compose_stop_text(gordian_compose_stop stop);

/* "weak" and so on, as --fair has it; "weighted" and so on, as --semiring. */
const char *compose_fairness_text(gordian_fairness fairness);
const char *compose_semiring_text(gordian_semiring semiring);

/* ---- compose/equal.c */

int compose_equal(struct compose *compose, const char *left, const char *right);

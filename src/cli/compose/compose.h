/*
 * `gordian compose` in parts: the command and what it does one after another (compose.c), the
 * texts it reads (compose/input.c), the engine's run with its limits, progress and ctrl-C
 * (compose/run.c), the files it writes (compose/output.c), graphs that come from a file instead of
 * an engine (compose/graph.c), the two ways to report (compose/text.c, compose/json.c), and the
 * comparison of two circuits (compose/equal.c).
 */
#ifndef GORDIAN_CLI_COMPOSE_COMPOSE_H
#define GORDIAN_CLI_COMPOSE_COMPOSE_H

#include "base/meter.h"
#include "cli/cli.h"
#include "compose/engine.h"
#include "compose/format/aut.h"
#include "compose/format/ca.h"
#include "compose/format/dot.h"
#include "compose/graph/operations.h"
#include "show/style.h"

/* Deadlocks that --trace describes at most. */
#define COMPOSE_TRACES 10000u
/* --explain builds the parts in between up to this many states. */
#define COMPOSE_EXPLAINED 50000u

enum compose_format {
    FORMAT_NONE,
    FORMAT_AUT,
    FORMAT_CA,
    FORMAT_DOT,
    FORMAT_TREO, /* read only */
};

/* What was read: a circuit, or a graph that somebody has composed before. */
struct subject {
    const char *path;
    enum compose_format format;
    struct circuit *circuit; /* or NULL */
    struct graph *graph;     /* or NULL */
};

/* Firings one after another: label texts, each with a NUL behind it. */
struct route {
    struct output text; /* in memory */
    size_t steps;
};

/* Counted while the product goes by. */
struct statistics {
    uint64_t rows, transitions, loops, branching; /* branching: most transitions of a state */
    uint64_t together;                            /* most names that fire at once */
    uint64_t *fired;                              /* by name: transitions in which it fires */
};

/* All there is to say about one subject. */
struct composed {
    const struct subject *subject;
    struct compose_result result; /* of a graph: counts only */
    bool counted;                 /* transitions are */
    bool one_datum;               /* composed with one datum: the data make no difference */
    struct meter meter;           /* what the graphs take */
    struct graph *product, *hidden, *minimal; /* or NULL */
    struct livelock livelock;
    struct statistics statistics;
    size_t *nearest; /* of a graph: arcs of a shortest way to a deadlock */
    size_t nearest_count;
    uint32_t nearest_state;
    double seconds;
};

/* The names --keep lists, or the boundary of the circuit. */
struct kept_context {
    const struct circuit *circuit;
    const char *list; /* NULL: the boundary */
};

struct compose {
    struct cli *cli;
    struct style style;

    bool interrupted; /* by ctrl-C */
    const char *root; /* the file being read, which may import others */

    /* options */
    const char *main, *other, *data, *keep, *order, *file, *folder;
    uint64_t max_states, max_memory;
    uint32_t threads;
    bool hide, minimal, full, explain, trace, equal, dot, circuit, livelock, statistics, quick;
    enum compose_format format; /* of `file` */
};

/* ---- compose/input.c */

/* The format that a file's name ends in; FORMAT_NONE: none we know. */
enum compose_format compose_format_of(const char *path);
/* Reads it; says what is wrong with it. The exit code, 0 if all is well. `main`: NULL for the
 * default one. `data`: NULL as the text says. */
int subject_read(struct compose *compose, struct subject *subject, const char *path,
                 const char *main, const char *data);
/* The same for any number of files: their circuits as one (compose/join.h). */
int subjects_read(struct compose *compose, struct subject *subject, char **paths, size_t count);
void subject_free(struct subject *subject);

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
/* What --hide hides. */
struct hiding compose_hiding(const struct compose *compose, const struct subject *subject,
                             struct kept_context *context);
/* The graph that the options ask for in the end, or NULL. */
const struct graph *composed_graph(const struct composed *composed);
/* The described deadlock that is nearest; NULL: none is described. */
const struct compose_deadlock *composed_nearest(const struct composed *composed);

/* ---- compose/output.c */

/* A file or stdout that the product goes to, as a stream or once it is a graph. */
struct product_file {
    struct output *out;
    struct output own;
    int fd;
    enum compose_format format;
    struct compose_sink sink; /* what an engine delivers to */
    union {
        struct aut_sink aut;
        struct ca_sink ca;
        struct dot_sink dot;
    } as;
};

/* Opens `file`, or stdout for --dot; the exit code. Without either nothing is opened and `out` is
 * NULL. */
int product_file_open(struct product_file *to, struct compose *compose);
/* Makes it a sink. */
void product_file_stream(struct product_file *to);
/* Ends the stream. */
void product_file_end(struct product_file *to);
gordian_status product_file_graph(struct product_file *to, const struct graph *graph,
                                  const struct subject *subject, gordian_error *error);
gordian_status product_file_circuit(struct product_file *to, const struct circuit *circuit,
                                    gordian_error *error);
/* Closes; `code`, or EXIT_BROKEN (said) if a write failed. */
int product_file_close(struct product_file *to, struct compose *compose, int code);

/* ---- compose/graph.c */

/* Counts states, transitions and deadlocks of a graph that was read, and the nearest deadlock. */
gordian_status graph_summarise(struct composed *composed, const struct graph *graph,
                               gordian_error *error);

/* ---- traces (compose/run.c) */

bool route_open(struct route *trace);
void route_close(struct route *trace);
/* What leads to a deadlock; to the nearest one if `deadlock` is NULL. False: out of memory. */
bool route_of(struct route *trace, const struct composed *composed,
              const struct compose_deadlock *deadlock);
bool route_of_arcs(struct route *trace, const struct graph *graph, const size_t *arcs,
                   size_t count);

/* ---- reporters */

struct compose_reporter {
    /* Before anything is composed; one stage a factor, in the order. */
    gordian_status (*explain)(struct compose *compose, const struct circuit *circuit,
                              const struct compose_stage *stages, gordian_error *error);
    gordian_status (*statistics)(struct compose *compose, const struct composed *composed,
                                 gordian_error *error);
    gordian_status (*deadlock)(struct compose *compose, const struct composed *composed,
                               size_t number, const struct compose_deadlock *deadlock,
                               gordian_error *error);
    gordian_status (*livelock)(struct compose *compose, const struct composed *composed,
                               gordian_error *error);
    gordian_status (*summary)(struct compose *compose, const struct composed *composed,
                              gordian_error *error);
    gordian_status (*difference)(struct compose *compose, const struct composed sides[2],
                                 const struct difference *difference, gordian_error *error);
};

extern const struct compose_reporter compose_json, compose_text;

/* "max-states" and so on, as the summary has it; NULL: the run was complete. */
const char *compose_stop_text(enum compose_stop stop);

/* ---- compose/equal.c */

int compose_equal(struct compose *compose, const char *left, const char *right);

#endif

/*
 * Composition of circuits of constraint automata (Reo), and their deadlocks.
 *
 * A *circuit* is read from a text: automata that share names. Composing it computes its *product*:
 * the reachable states, which names fire together in each, and the target states. The product can
 * be counted, delivered row by row, written to a file during composition, or kept as a *graph*.
 * Graphs support hiding of names, minimisation and comparison.
 *
 *     static const char text[] = "ring() { fifofull<0>(a,b) fifo1(b,a) }";
 *     gordian_bytes bytes = {text, sizeof text - 1};
 *     gordian_source source = gordian_source_bytes(&bytes);
 *     gordian_circuit *circuit;
 *     gordian_circuit_read(&circuit, GORDIAN_FORMAT_TREO, "ring", &source, NULL, NULL, NULL);
 *     gordian_compose_result result;
 *     gordian_compose(circuit, NULL, NULL, &result, NULL);
 *     if (result.deadlocks > 0) ...
 *
 * This header is not included by <gordian/gordian.h>, which documents the conventions. Circuits and
 * graphs never change, so any number of threads may use one at once. docs/guide/compose.md
 * describes the languages and the rules.
 */
#ifndef GORDIAN_COMPOSE_H
#define GORDIAN_COMPOSE_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ texts */

typedef enum gordian_format {
    GORDIAN_FORMAT_NONE = 0,
    GORDIAN_FORMAT_TREO, /* a circuit in the language of the Reo compiler; a graph is written as one
                            component of rules */
    GORDIAN_FORMAT_CA,   /* constraint automata as plain text */
    GORDIAN_FORMAT_AUT,  /* a graph, in the Aldebaran format */
    GORDIAN_FORMAT_DOT,  /* a drawing, for Graphviz; written only */
    GORDIAN_FORMAT_PNML, /* a Petri net whose places have at most one token */
    GORDIAN_FORMAT_MCRL2,   /* a graph as an mCRL2 process; written only */
    GORDIAN_FORMAT_PROMELA, /* a graph as a SPIN process; written only */
} gordian_format;

/* Returns the format for the suffix of a file name: "ring.treo". */
GORDIAN_API gordian_format gordian_format_of(const char *path);

/* The position of an error in a text. gordian_error has the message, line and column. */
typedef struct gordian_fault {
    char file[256]; /* the name of the text, or of an imported one; "": no position */
    char line[160]; /* the line, or the part of it around the position; tabs as blanks */
    uint32_t caret; /* characters of `line` before the position, for a caret below it */
    /* If a given parameter is wrong: where it is used, in another text. "": not applicable. */
    char inner_file[256];
    char inner_text[160];
    uint64_t inner_line, inner_column;
    uint32_t inner_caret;
} gordian_fault;

/* ------------------------------------------------------------------ circuits */

typedef struct gordian_circuit gordian_circuit;
typedef struct gordian_import gordian_import;

typedef struct gordian_circuit_options {
    const char *main; /* component to compose: "chain<3>", "merger(a[1..3],c)"; NULL: `main`, or the
                         only one, or the one named like the text. Only for .treo */
    const char *data; /* the data values of ports: "0,1"; NULL: those in the text, or 0 */
    /* Functions and predicates that texts use without a definition: "f={[0,1] [1,0]}; P=<0,2>;
     * g=add"; NULL: none. */
    const char *define;
    /* Finds the text for `import a.b.c;` in the text named `from` and passes it to
     * gordian_import_read. It is called for "a/b/c.rba.treo", "a/b/c.treo", "a/b.rba.treo" and
     * "a/b.treo". GORDIAN_STATUS_END: there is no such path. NULL: not called. */
    gordian_status (*import)(void *context, const char *from, const char *path,
                             gordian_import *import, gordian_error *error);
    void *context;
    bool files; /* then search files: next to the importing text, next to the first one (their names
                   are paths), and in these folders: */
    const char *folders;                /* separated by ':'; NULL: none */
    const gordian_allocator *allocator; /* NULL: that of the C library; must outlive the circuit */
    uint32_t max_instances;             /* of components; 0: 4,000,000 */
    uint32_t max_unfolded; /* states, and transitions, of one unfolded automaton; 0: 2^24 */
} gordian_circuit_options;

/* Sets every option to its default, which is zero. */
GORDIAN_API void gordian_circuit_options_init(gordian_circuit_options *options);

/* Reads all of the source, which is a .treo, .ca or .pnml text. `name` is for messages and imports.
 * `options` NULL: the defaults. GORDIAN_STATUS_INPUT if the text is wrong: the error has the line
 * and the column, and `fault` (may be NULL) the rest. The caller must close the circuit. On failure
 * *out is NULL. */
GORDIAN_API gordian_status gordian_circuit_read(gordian_circuit **out, gordian_format format,
                                                const char *name, const gordian_source *source,
                                                const gordian_circuit_options *options,
                                                gordian_fault *fault, gordian_error *error);
/* Frees a circuit. NULL is allowed. */
GORDIAN_API void gordian_circuit_close(gordian_circuit *circuit);
/* Returns warnings about the text: lines with positions, each ending in a newline; "": none. The
 * text belongs to the circuit. */
GORDIAN_API const char *gordian_circuit_notes(const gordian_circuit *circuit);
/* To be called by options->import: reads all of the source. `name` identifies the text; a text that
 * was imported before is not read again. */
GORDIAN_API gordian_status gordian_import_read(gordian_import *import, const char *name,
                                               const gordian_source *source, gordian_error *error);

/* Creates a circuit of the automata of all these circuits, in order. They share the names that they
 * have in common. Names inside a .treo component are local: if another circuit has the same name,
 * they are called NAME@NUMBER, with the number of the circuit from 1. `data` is as in the options;
 * NULL: the data of all. `circuits` are not needed afterwards. */
GORDIAN_API gordian_status gordian_circuit_join(gordian_circuit **out,
                                                const gordian_circuit *const *circuits,
                                                size_t count, const char *data,
                                                const gordian_allocator *allocator,
                                                gordian_error *error);
/* Writes the circuit itself, as .ca, .dot, .pnml or .pml (Promela). A circuit from an incomplete
 * product can be written only as .ca or .dot. */
GORDIAN_API gordian_status gordian_circuit_write(const gordian_circuit *circuit,
                                                 gordian_format format,
                                                 const gordian_writer *writer,
                                                 gordian_error *error);

typedef struct gordian_circuit_info {
    const char *title;    /* of the main component; belongs to the circuit */
    uint32_t name_count;  /* names are numbered in byte order */
    uint32_t datum_count; /* data values, at least 1 */
    size_t automaton_count;
    size_t label_words;    /* 64-bit words of a label */
    uint64_t combinations; /* number of combinations of states of the automata; UINT64_MAX: this
                              many or more */
    uint64_t initial;      /* the same for their initial states */
} gordian_circuit_info;

/* Returns the sizes of a circuit. */
GORDIAN_API void gordian_circuit_describe(const gordian_circuit *circuit,
                                          gordian_circuit_info *info);
/* NULL after the last one. */
GORDIAN_API const char *gordian_circuit_name(const gordian_circuit *circuit, uint32_t name);
GORDIAN_API const char *gordian_circuit_datum(const gordian_circuit *circuit, uint32_t datum);
/* Returns whether the name is a port of the main component. */
GORDIAN_API bool gordian_circuit_is_port(const gordian_circuit *circuit, uint32_t name);
/* Returns whether the automata only pass data on, and each name has one writer. A search for
 * deadlocks then needs only one datum: joined with no other circuit and one of its data, the
 * circuit has the same deadlocks. */
GORDIAN_API bool gordian_circuit_is_routing(const gordian_circuit *circuit);

/* An automaton of a circuit, unfolded with its data. Idling does not count as a transition. */
typedef struct gordian_automaton_info {
    uint32_t state_count;
    size_t transition_count;
} gordian_automaton_info;

/* Describes automaton number `index`, from 0, in the order of the text. GORDIAN_STATUS_END after
 * the last one. */
GORDIAN_API gordian_status gordian_circuit_automaton(const gordian_circuit *circuit, size_t index,
                                                     gordian_automaton_info *info);

/* A *label* is a set of names that fire together: bit n, counted from the least significant bit of
 * the first word, is set if name n fires. With more than one data value the label also has the
 * data. */

/* Returns the number of the datum at a firing name. */
GORDIAN_API uint32_t gordian_circuit_value(const gordian_circuit *circuit, const uint64_t *label,
                                           uint32_t name);

/* Write a text to a buffer of the caller, truncated if necessary, and return the length of the
 * whole text without NUL. A label: sorted names, separated by '|', each with =DATUM if there are
 * several data. An automaton: "fifo1(a,b)". A state of an automaton: "full m=0". */
GORDIAN_API size_t gordian_circuit_label_text(const gordian_circuit *circuit, const uint64_t *label,
                                              char *buffer, size_t size);
GORDIAN_API size_t gordian_circuit_automaton_text(const gordian_circuit *circuit, size_t automaton,
                                                  char *buffer, size_t size);
GORDIAN_API size_t gordian_circuit_state_text(const gordian_circuit *circuit, size_t automaton,
                                              uint32_t state, char *buffer, size_t size);

/* ------------------------------------------------------------------ composing */

typedef struct gordian_compose_progress {
    uint64_t states;      /* found so far */
    uint64_t transitions; /* counted so far */
    uint64_t waiting;     /* found but not explored yet */
    uint64_t written;     /* transitions passed to the sink */
    uint64_t memory;      /* bytes held by the engine now */
    unsigned pass;        /* 1: finding states; 2: delivering rows */
} gordian_compose_progress;

typedef struct gordian_compose_options {
    const char *engine;     /* "auto" (NULL, default), "cpu", "dense", "cuda" */
    bool full;              /* every combination of the states of the automata, reachable or not */
    bool indivisible;       /* count and deliver only transitions that do not consist of several
                               independent ones */
    bool count_transitions; /* true by default; false: only states and deadlocks, which takes far
                               less time */
    bool reduce; /* search only for deadlocks, and skip what makes no difference to them (stubborn
                    sets, and permutations of equal components): the same number of deadlocks, of
                    which those that differ only by a permutation are described once; fewer states;
                    paths need not be the shortest; transitions are not counted, and nothing is
                    delivered */
    uint64_t max_states;    /* stop when there are more; 0: no limit */
    uint64_t max_memory;    /* bytes that the engine may hold; 0: no limit */
    uint64_t max_ns;        /* nanoseconds; 0: no limit */
    uint32_t max_deadlocks; /* how many to describe, the nearest first: 1; all are counted */
    unsigned threads;       /* 0: one per core */
    const uint32_t *order;  /* order of composition: every automaton once; NULL: automatic */
    /* Called at least ten times a second, on the calling thread. Returning false stops the run.
     * NULL: not called. */
    bool (*go_on)(void *context, const gordian_compose_progress *progress);
    void *context;
    const gordian_allocator *allocator; /* NULL: that of the C library; must outlive the result */
} gordian_compose_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_compose_options_init(gordian_compose_options *options);

typedef enum gordian_compose_stop {
    GORDIAN_COMPOSE_STOP_COMPLETE = 0,
    GORDIAN_COMPOSE_STOP_STATES,  /* max_states */
    GORDIAN_COMPOSE_STOP_MEMORY,  /* max_memory, or out of memory */
    GORDIAN_COMPOSE_STOP_TIME,    /* max_ns */
    GORDIAN_COMPOSE_STOP_STOPPED, /* go_on returned false */
    GORDIAN_COMPOSE_STOP_UNSAFE,  /* a net is not 1-safe and cannot be composed: the first steps in
                                     found[0] put a second token into a place, which `note` names;
                                     deadlocks are not known */
    GORDIAN_COMPOSE_STOP_CUT, /* the circuit was read from the product of a stopped run: transitions
                                 are missing, so no deadlock is reported */
} gordian_compose_stop;

/* A reachable state without outgoing transitions, and a shortest path to it from an initial state.
 * If there are several shortest paths, all engines return the same one. A run that was stopped may
 * have found a deadlock without knowing its number or a path to it. */
typedef struct gordian_compose_deadlock {
    uint64_t number;  /* UINT64_MAX: not known */
    uint32_t *state;  /* the state of each automaton */
    uint64_t *labels; /* of the steps, label_words words each; NULL: no path is known */
    size_t step_count;
} gordian_compose_deadlock;

/* The cost of a phase of a run, and how well it used its threads or ranks. */
typedef struct gordian_compose_phase {
    const char
        *name;   /* "words", "bitmap", "states", "levels", "count", "numbers", "ways", "rows" */
    uint64_t ns; /* wall-clock time */
    uint64_t idle_ns; /* idle time, summed over all threads or ranks */
    uint64_t fired;   /* how often a word of 64 neighbouring states was processed */
    uint64_t found;   /* words found, whether already known or not */
    uint64_t sent;    /* found words that were sent to another thread or rank */
    uint64_t rounds;  /* levels, or passes over a bitmap, on a GPU */
} gordian_compose_phase;

#define GORDIAN_COMPOSE_PHASES 8

typedef struct gordian_compose_result {
    uint64_t states, transitions, deadlocks;
    bool uncounted; /* a stopped run did not count transitions: 0, and no rows */
    gordian_compose_stop stop;
    uint64_t memory;                 /* peak memory in bytes */
    gordian_compose_deadlock *found; /* the described ones, by (step_count, number) */
    size_t found_count;
    uint32_t *order;                                      /* the automata in order of composition */
    const char *engine;                                   /* the engine that was used */
    char note[200];                                       /* a note for the user; "": none */
    unsigned workers;                                     /* threads or ranks; 0: not counted */
    gordian_compose_phase phases[GORDIAN_COMPOSE_PHASES]; /* in sequence */
    size_t phase_count;
    gordian_allocator allocator;
} gordian_compose_result;

/* Frees the content of a result and clears it. */
GORDIAN_API void gordian_compose_result_free(gordian_compose_result *result);

/* A state of the product and all its transitions, sorted by their labels as lists of names ({a},
 * {a,b}, {b}), then by data, then by `to`. Valid during the call. */
typedef struct gordian_compose_row {
    uint64_t number;       /* states are numbered from 0 */
    const uint32_t *state; /* the state of each automaton */
    bool initial;
    size_t count;
    const uint64_t *labels; /* label_words words each */
    const uint64_t *to;     /* numbers of states */
} gordian_compose_row;

/* Receives the product: `begin` (NULL: not called) once all states are known, then `row` for every
 * state in order. A stopped run delivers the states found and the transitions between them. A
 * status other than GORDIAN_OK ends the run and becomes its status. */
typedef struct gordian_compose_sink {
    void *context;
    /* transitions: UINT64_MAX if not known yet. */
    gordian_status (*begin)(void *context, const gordian_circuit *circuit, uint64_t states,
                            uint64_t transitions, gordian_error *error);
    gordian_status (*row)(void *context, const gordian_compose_row *row, gordian_error *error);
} gordian_compose_sink;

/* Composes a circuit. All engines give identical answers. `options` NULL: the defaults. `sink`
 * NULL: nothing is delivered. *result is filled in on GORDIAN_OK, also if a limit stopped the run,
 * and the caller must free it. On failure it is empty. GORDIAN_STATUS_UNAVAILABLE: the engine is
 * not available or cannot compose this circuit. */
GORDIAN_API gordian_status gordian_compose(const gordian_circuit *circuit,
                                           const gordian_compose_options *options,
                                           const gordian_compose_sink *sink,
                                           gordian_compose_result *result, gordian_error *error);

/* The same, and writes the product: during composition as .aut, .ca or .dot, or in the other
 * formats after it has become a graph in memory. An incomplete product is marked as incomplete in
 * the first three formats, and is not written in the others. */
GORDIAN_API gordian_status gordian_compose_write(
    const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_compose_sink *sink, gordian_format format, const gordian_writer *writer,
    gordian_compose_result *result, gordian_error *error);

typedef struct gordian_graph gordian_graph;

/* The same, and keeps the product. The caller must close *out. It is NULL if the run was stopped,
 * because a part of the product would be misleading. `allocator` is for the graph and all graphs
 * derived from it, and must outlive them; NULL: that of the C library. */
GORDIAN_API gordian_status gordian_compose_graph(
    gordian_graph **out, const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_compose_sink *sink, const gordian_allocator *allocator,
    gordian_compose_result *result, gordian_error *error);

/* Composing the automata one after another in an order: the intermediate product after each
 * step. */
typedef struct gordian_compose_stage {
    uint32_t automaton;           /* the automaton that is added */
    uint64_t states, transitions; /* of the intermediate product; UINT64_MAX: too many to count */
    uint32_t open_names;          /* names shared with later automata */
} gordian_compose_stage;

/* Fills in one stage per automaton. `order` NULL: the order that would be chosen. Intermediate
 * products of more than `max_states` states, and all later ones, are not examined. */
GORDIAN_API gordian_status gordian_compose_explain(const gordian_circuit *circuit,
                                                   const uint32_t *order, uint64_t max_states,
                                                   gordian_compose_stage *stages,
                                                   const gordian_allocator *allocator,
                                                   gordian_error *error);

/* ------------------------------------------------------------------ graphs */

/* Reads a .aut file. If a run was killed and left a truncated file, it is read up to its end, and
 * *cut (may be NULL) is true. Otherwise like gordian_circuit_read. */
GORDIAN_API gordian_status gordian_graph_read(gordian_graph **out, const char *name,
                                              const gordian_source *source,
                                              const gordian_allocator *allocator, bool *cut,
                                              gordian_fault *fault, gordian_error *error);
/* Frees a graph. NULL is allowed. */
GORDIAN_API void gordian_graph_close(gordian_graph *graph);
/* Writes a graph as .aut (with only the first initial state), or in another format. `circuit` is
 * the circuit of which it is the product, for the data in a .ca file; NULL: unknown. A graph from a
 * truncated file is marked as in gordian_compose_write; other formats are GORDIAN_STATUS_INPUT. */
GORDIAN_API gordian_status gordian_graph_write(const gordian_graph *graph, const char *title,
                                               const gordian_circuit *circuit,
                                               gordian_format format, const gordian_writer *writer,
                                               gordian_error *error);

typedef struct gordian_graph_arc {
    uint32_t label; /* gordian_graph_label; 0: a step without visible names, "tau" */
    uint32_t to;
} gordian_graph_arc;

/* Return the sizes of a graph. */
GORDIAN_API uint32_t gordian_graph_states(const gordian_graph *graph);
GORDIAN_API size_t gordian_graph_transitions(const gordian_graph *graph);
/* Lists belong to the graph. */
GORDIAN_API const uint32_t *gordian_graph_initial(const gordian_graph *graph, size_t *count);
/* The outgoing transitions of a state, sorted by (label text, to). */
GORDIAN_API const gordian_graph_arc *gordian_graph_arcs(const gordian_graph *graph, uint32_t state,
                                                        size_t *count);
/* Sorted names, separated by '|', each with =DATUM if there are several data. */
GORDIAN_API const char *gordian_graph_label(const gordian_graph *graph, uint32_t label);

/* The reachable part of a graph, and a path to the nearest state without outgoing transitions. */
typedef struct gordian_graph_deadlocks {
    uint64_t states, transitions, deadlocks; /* the reachable ones */
    uint32_t state;                          /* the nearest deadlock */
    gordian_graph_arc *path;                 /* a shortest path to it */
    size_t path_count;
    gordian_allocator allocator;
} gordian_graph_deadlocks;

/* The caller must free *found. On failure it is empty. */
GORDIAN_API gordian_status gordian_graph_find_deadlocks(const gordian_graph *graph,
                                                        gordian_graph_deadlocks *found,
                                                        gordian_error *error);
GORDIAN_API void gordian_graph_deadlocks_free(gordian_graph_deadlocks *found);

/* Selects the hidden names: called once for every name of every label. `name` does not end in
 * NUL. */
typedef struct gordian_hiding {
    bool (*hides)(void *context, const char *name, size_t length);
    void *context;
} gordian_hiding;

/* Hides every name that is not a port of the main component. The circuit must outlive the
 * result. */
GORDIAN_API gordian_hiding gordian_hide_inner(const gordian_circuit *circuit);

/* Hides names in a graph: a step without visible names disappears into the steps that follow it.
 * Only the part that is then reachable is kept, in the same order. Search for deadlocks before
 * hiding, because an endless cycle of hidden steps looks like a deadlock afterwards. The caller
 * must close *out, here and below. On failure it is NULL. */
GORDIAN_API gordian_status gordian_graph_hide(gordian_graph **out, const gordian_graph *graph,
                                              const gordian_hiding *hiding, gordian_error *error);
/* Computes the smallest graph that is strongly bisimilar to this one. Each state stands for a
 * class, in the order of the smallest states of the classes. "tau" is an ordinary label. */
GORDIAN_API gordian_status gordian_graph_minimise(gordian_graph **out, const gordian_graph *graph,
                                                  gordian_error *error);

/* Cycles of hidden steps: the circuit is busy forever without visible steps. */
typedef struct gordian_livelock {
    uint64_t states;         /* reachable states on such cycles; 0: there are none */
    uint32_t state;          /* the nearest of these states */
    gordian_graph_arc *path; /* a shortest path to it from an initial state */
    size_t path_count;
    gordian_graph_arc *cycle; /* a shortest cycle of hidden steps through it */
    size_t cycle_count;
    gordian_allocator allocator;
} gordian_livelock;

/* The caller must free *livelock. On failure it is empty. */
GORDIAN_API gordian_status gordian_graph_livelock(const gordian_graph *graph,
                                                  const gordian_hiding *hiding,
                                                  gordian_livelock *livelock, gordian_error *error);
GORDIAN_API void gordian_livelock_free(gordian_livelock *livelock);

/* The runs that an LTL formula refers to. A name is enabled in a state if a step from there fires
 * it. */
typedef enum gordian_fairness {
    GORDIAN_FAIRNESS_NONE = 0, /* all runs */
    GORDIAN_FAIRNESS_WEAK,     /* runs in which a name that is permanently enabled from some time on
                                  fires again and again */
    GORDIAN_FAIRNESS_STRONG, /* runs in which a name that is enabled again and again fires again and
                                again */
} gordian_fairness;

/* How costs of steps are combined. The costs of a path, and of automata that move in one step, are
 * multiplied in the semiring, and the best path is chosen. A step without a cost has the best cost.
 */
typedef enum gordian_semiring {
    GORDIAN_SEMIRING_NONE = 0,
    GORDIAN_SEMIRING_WEIGHTED,    /* costs are added, and the smallest is best */
    GORDIAN_SEMIRING_FUZZY,       /* from 0 to 1: a path is as good as its worst step */
    GORDIAN_SEMIRING_PROBABILITY, /* from 0 to 1: costs are multiplied, and the most likely path is
                                     best */
} gordian_semiring;

/* A question about a product. docs/guide/compose.md describes the formulas: CTL or LTL over enabled
 * names, firing names, memory and control states of automata. */
typedef struct gordian_question {
    const char *formula;
    bool linear;               /* an LTL formula that every fair run must satisfy; otherwise CTL */
    gordian_fairness fairness; /* only for LTL */
    gordian_semiring semiring; /* CTL formulas in circuits with costs: find the best path to a state
                                  in which the formula holds, not whether it holds */
} gordian_question;

typedef struct gordian_check {
    bool holds;      /* in every initial state, or in every fair run; or there is a path */
    uint64_t states; /* number of states in which it holds; only for CTL */
    uint32_t start;  /* an initial state that explains the answer: one where it does not hold, if
                        there is one */
    gordian_graph_arc
        *path; /* from this state: an explanation, as far as a single path can give it */
    size_t path_count;
    gordian_graph_arc
        *cycle; /* the steps that then repeat forever, from the end of the path back to it */
    size_t cycle_count;
    bool dead_end; /* the path ends in a state without outgoing transitions, which is part of the
                      explanation */
    double cost;   /* of the best path */
    double *costs; /* of its steps; NULL: not requested */
    gordian_allocator allocator;
} gordian_check;

/* Checks a graph, which has only names. GORDIAN_STATUS_INPUT: the formula is invalid; the error has
 * the column. The caller must free *check. On failure it is empty. */
GORDIAN_API gordian_status gordian_graph_check(const gordian_graph *graph,
                                               const gordian_question *question,
                                               gordian_check *check, gordian_error *error);
/* Composes a circuit, checks its product, and keeps it in *out as gordian_compose_graph does. */
GORDIAN_API gordian_status gordian_compose_check(
    gordian_graph **out, const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_question *question, const gordian_allocator *allocator, gordian_check *check,
    gordian_compose_result *result, gordian_error *error);
GORDIAN_API void gordian_check_free(gordian_check *check);

/* How two graphs differ: a distinguishing sequence of steps. From a pair of initial states, one
 * side takes a step, the other side answers with the same label as well as it can, and so on.
 * Finally one side takes a step labels[count - 1] that the other side cannot take. */
typedef struct gordian_difference {
    char **labels;
    bool *by_left; /* which side takes step i */
    size_t count;  /* 0: one side has an initial state without a counterpart */
    gordian_allocator allocator;
} gordian_difference;

/* Checks whether the graphs are bisimilar, every initial state of each to an initial state of the
 * other. `difference` may be NULL. It is filled in if they are not bisimilar, and the caller must
 * then free it. */
GORDIAN_API gordian_status gordian_graph_equal(const gordian_graph *left,
                                               const gordian_graph *right, bool *equal,
                                               gordian_difference *difference,
                                               gordian_error *error);
GORDIAN_API void gordian_difference_free(gordian_difference *difference);

#ifdef __cplusplus
}
#endif

#endif

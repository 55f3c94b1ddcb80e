/*
 * Composition: what can circuits of constraint automata (Reo) do together, and can they get stuck?
 *
 * A *circuit* is read from a text: automata that share names. Composing it gives its *product*: the
 * states it can be in, which names fire together in each, and where that leads. The product is
 * counted, handed over row by row, written to a file while it is made, or kept as a *graph*, in
 * which names can be hidden, which can be minimised and compared with others.
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
 * Apart from <gordian/gordian.h>, which has the conventions. Circuits and graphs never change: any
 * number of threads may use one at once. docs/guide/compose.md has the languages and the rules.
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
    GORDIAN_FORMAT_AUT,  /* a graph, as Aldebaran has it */
    GORDIAN_FORMAT_DOT,  /* a drawing, for Graphviz; written only */
    GORDIAN_FORMAT_PNML, /* a Petri net whose places have one token at most */
    GORDIAN_FORMAT_MCRL2,   /* a graph as a process of mCRL2; written only */
    GORDIAN_FORMAT_PROMELA, /* a graph as a process of SPIN; written only */
} gordian_format;

/* The format that a file's name ends in: "ring.treo". */
GORDIAN_API gordian_format gordian_format_of(const char *path);

/* Where a text is wrong; gordian_error has the message, line and column. */
typedef struct gordian_fault {
    char file[256]; /* the text's name, or that of one it imports; "": no place in a text */
    char line[160]; /* the line, or the part of it around the place; tabs as blanks */
    uint32_t caret; /* characters of `line` before the place; a caret below goes there */
    /* Where a parameter that was given there came to grief, in another text; "": nowhere else. */
    char inner_file[256];
    char inner_text[160];
    uint64_t inner_line, inner_column;
    uint32_t inner_caret;
} gordian_fault;

/* ------------------------------------------------------------------ circuits */

typedef struct gordian_circuit gordian_circuit;
typedef struct gordian_import gordian_import;

typedef struct gordian_circuit_options {
    const char *main; /* the component to compose, as it is used: "chain<3>", "merger(a[1..3],c)";
                         NULL: `main`, or the only one, or the one named like the text. Of a
                         .treo only */
    const char *data; /* the data values of ports: "0,1"; NULL: those the text mentions, or 0 */
    /* Functions and predicates by name, which texts use and do not have:
     * "f={[0,1] [1,0]}; P=<0,2>; g=add"; NULL: none. */
    const char *define;
    /* Finds the text that `import a.b.c;` in the text named `from` is about, and hands it over by
     * gordian_import_read; it is tried as "a/b/c.rba.treo", "a/b/c.treo", "a/b.rba.treo" and
     * "a/b.treo". GORDIAN_STATUS_END: there is none of that path. NULL: nobody is asked. */
    gordian_status (*import)(void *context, const char *from, const char *path,
                             gordian_import *import, gordian_error *error);
    void *context;
    bool files;          /* then look into files: beside the one that imports, beside the first one,
                            whose names are taken for paths, and in these folders: */
    const char *folders; /* with ':' between them; NULL: none */
    const gordian_allocator *allocator; /* NULL: the C library's; must outlive the circuit */
    uint32_t max_instances;             /* of components; 0: 4,000,000 */
    uint32_t max_unfolded; /* states, and transitions, of one automaton with its data; 0: 2^24 */
} gordian_circuit_options;

/* Sets every option to its default: everything zero. */
GORDIAN_API void gordian_circuit_options_init(gordian_circuit_options *options);

/* Reads all of the source, a .treo, a .ca or a .pnml. `name` is for messages and for imports.
 * `options` NULL: the defaults. GORDIAN_STATUS_INPUT if the text is wrong: line and column are in
 * the error, the rest in `fault` (may be NULL). The circuit is the caller's to close. On failure
 * *out is NULL.
 */
GORDIAN_API gordian_status gordian_circuit_read(gordian_circuit **out, gordian_format format,
                                                const char *name, const gordian_source *source,
                                                const gordian_circuit_options *options,
                                                gordian_fault *fault, gordian_error *error);
/* Frees a circuit. NULL is fine. */
GORDIAN_API void gordian_circuit_close(gordian_circuit *circuit);
/* What a user should know of a text that was read all the same: lines with their places, each with
 * a newline behind it; "": nothing. The circuit's. */
GORDIAN_API const char *gordian_circuit_notes(const gordian_circuit *circuit);
/* What options->import calls: reads all of the source. `name` tells texts apart: one that was
 * imported before is not looked at again. */
GORDIAN_API gordian_status gordian_import_read(gordian_import *import, const char *name,
                                               const gordian_source *source, gordian_error *error);

/* A new circuit of the automata of all of these, in order: they share the names that they have in
 * common. Names inside a component of a .treo are its own: where another circuit has the same, they
 * are called NAME@NUMBER, by the circuit's number from 1. `data`: as in the options; NULL: the data
 * of all. Nothing of `circuits` is needed afterwards. */
GORDIAN_API gordian_status gordian_circuit_join(gordian_circuit **out,
                                                const gordian_circuit *const *circuits,
                                                size_t count, const char *data,
                                                const gordian_allocator *allocator,
                                                gordian_error *error);
/* Writes the circuit itself, as .ca, .dot, .pnml or .pml (Promela); one that was read from an
 * incomplete product as .ca or .dot only. */
GORDIAN_API gordian_status gordian_circuit_write(const gordian_circuit *circuit,
                                                 gordian_format format,
                                                 const gordian_writer *writer,
                                                 gordian_error *error);

typedef struct gordian_circuit_info {
    const char *title;    /* of the main component; the circuit's */
    uint32_t name_count;  /* names are numbered in the byte order of their texts */
    uint32_t datum_count; /* data values, at least 1 */
    size_t automaton_count;
    size_t label_words;    /* 64-bit words of a label */
    uint64_t combinations; /* of the automata's states; UINT64_MAX: so many or more */
    uint64_t initial;      /* of their initial states; likewise */
} gordian_circuit_info;

/* How large it is. */
GORDIAN_API void gordian_circuit_describe(const gordian_circuit *circuit,
                                          gordian_circuit_info *info);
/* NULL past the last one. */
GORDIAN_API const char *gordian_circuit_name(const gordian_circuit *circuit, uint32_t name);
GORDIAN_API const char *gordian_circuit_datum(const gordian_circuit *circuit, uint32_t datum);
/* Is the name a port of the main component? */
GORDIAN_API bool gordian_circuit_is_port(const gordian_circuit *circuit, uint32_t name);
/* Do the automata only pass data on, each name with one writer? Then a search for deadlocks needs
 * one datum only: the circuit, joined with none and one of its data, has the same ones. */
GORDIAN_API bool gordian_circuit_is_routing(const gordian_circuit *circuit);

/* An automaton of a circuit with its data; idling does not count as a transition. */
typedef struct gordian_automaton_info {
    uint32_t state_count;
    size_t transition_count;
} gordian_automaton_info;

/* Automaton number `index`, from 0, in the order of the text; GORDIAN_STATUS_END past the last
 * one. */
GORDIAN_API gordian_status gordian_circuit_automaton(const gordian_circuit *circuit, size_t index,
                                                     gordian_automaton_info *info);

/* A *label* says which names fire together: bit n, from the least significant one of the first word
 * on, is set if name n does. With more than one data value it has the data, too. */

/* The number of the datum at a name that fires. */
GORDIAN_API uint32_t gordian_circuit_value(const gordian_circuit *circuit, const uint64_t *label,
                                           uint32_t name);

/* Texts for people, into a caller's buffer, cut if they do not fit; each returns the bytes that the
 * whole has without its NUL. A label: names sorted, '|' between them, each with =DATUM if there are
 * several data. An automaton: "fifo1(a,b)". A state of one: "full m=0". */
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
    uint64_t waiting;     /* found but not looked at yet */
    uint64_t written;     /* transitions given to the sink */
    uint64_t memory;      /* bytes the engine holds now */
    unsigned pass;        /* 1: finding states; 2: delivering */
} gordian_compose_progress;

typedef struct gordian_compose_options {
    const char *engine; /* "auto" (NULL, default), "cpu", "dense", "cuda" */
    bool full;          /* every combination of the automata's states, reachable or not */
    bool indivisible; /* count and deliver only transitions that are not several at once which have
                         nothing to do with each other */
    bool count_transitions; /* true; false: states and deadlocks only, which takes far less time */
    bool
        reduce; /* look for deadlocks only, and leave out what makes no difference to them (stubborn
                   sets; equal components that change places): as many deadlocks, of which those
                   that differ only in who is where are described once, fewer states, ways that
                   need not be the shortest; transitions are not counted, nothing is delivered */
    uint64_t max_states;    /* stop when there are more; 0: no limit */
    uint64_t max_memory;    /* bytes the engine may hold; 0: no limit */
    uint64_t max_ns;        /* nanoseconds; 0: no limit */
    uint32_t max_deadlocks; /* describe this many, the nearest first: 1; all are counted */
    unsigned threads;       /* 0: as many as the machine has cores */
    const uint32_t *order;  /* to compose in: every automaton once; NULL: choose one */
    /* Called now and then, at least ten times a second, on the thread that called; false stops.
     * NULL: never. */
    bool (*go_on)(void *context, const gordian_compose_progress *progress);
    void *context;
    const gordian_allocator *allocator; /* NULL: the C library's; must outlive the result */
} gordian_compose_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_compose_options_init(gordian_compose_options *options);

typedef enum gordian_compose_stop {
    GORDIAN_COMPOSE_STOP_COMPLETE = 0,
    GORDIAN_COMPOSE_STOP_STATES,  /* max_states */
    GORDIAN_COMPOSE_STOP_MEMORY,  /* max_memory, or no more memory to be had */
    GORDIAN_COMPOSE_STOP_TIME,    /* max_ns */
    GORDIAN_COMPOSE_STOP_STOPPED, /* go_on said so */
    GORDIAN_COMPOSE_STOP_UNSAFE,  /* a net is not 1-safe and cannot be composed: its first steps in
                                     found[0] put a second token into a place, which `note` names;
                                     there is nothing to say about deadlocks */
    GORDIAN_COMPOSE_STOP_CUT,     /* the circuit was read from a product that a stopped run wrote:
                                     transitions are missing, so no deadlock is reported */
} gordian_compose_stop;

/* A state that can be reached and that nothing leads out of, and a shortest way there from an
 * initial state. Of several shortest ways all engines give the same. A run that was stopped may
 * have met a deadlock without knowing its number or a way to it. */
typedef struct gordian_compose_deadlock {
    uint64_t number;  /* UINT64_MAX: not known */
    uint32_t *state;  /* in which state each automaton is */
    uint64_t *labels; /* of the steps, label_words words each; NULL: no way is known */
    size_t step_count;
} gordian_compose_deadlock;

/* What a part of a run took: how well it uses the threads, or the ranks, it has. */
typedef struct gordian_compose_phase {
    const char
        *name;   /* "words", "bitmap", "states", "levels", "count", "numbers", "ways", "rows" */
    uint64_t ns; /* on the clock */
    uint64_t idle_ns; /* of all threads or ranks together: nothing to do */
    uint64_t fired;   /* words of 64 neighbouring states, how often one of them fired */
    uint64_t found;   /* words that were led to, whether they were known or not */
    uint64_t sent;    /* of these to another thread or rank */
    uint64_t rounds;  /* levels, or passes over a bitmap, on a GPU */
} gordian_compose_phase;

#define GORDIAN_COMPOSE_PHASES 8

typedef struct gordian_compose_result {
    uint64_t states, transitions, deadlocks;
    bool uncounted; /* a stopped run did not count transitions: there are 0 and no rows */
    gordian_compose_stop stop;
    uint64_t memory;                 /* most bytes held at a time */
    gordian_compose_deadlock *found; /* those described, by (step_count, number) */
    size_t found_count;
    uint32_t *order;    /* the automata in the order they were composed in */
    const char *engine; /* the one that ran */
    char note[200];     /* something the user should know; "": nothing */
    unsigned workers;   /* threads or ranks; 0: nobody counted */
    gordian_compose_phase phases[GORDIAN_COMPOSE_PHASES]; /* one after the other */
    size_t phase_count;
    gordian_allocator allocator;
} gordian_compose_result;

/* Frees what is in it, and empties it. */
GORDIAN_API void gordian_compose_result_free(gordian_compose_result *result);

/* A state of the product and all its transitions, sorted by their labels as lists of names ({a},
 * {a,b}, {b}), then by their data, then by `to`. Valid during the call. */
typedef struct gordian_compose_row {
    uint64_t number;       /* states are numbered from 0 */
    const uint32_t *state; /* in which state each automaton is */
    bool initial;
    size_t count;
    const uint64_t *labels; /* label_words words each */
    const uint64_t *to;     /* numbers */
} gordian_compose_row;

/* Who is told of the product: `begin` (NULL: not called) once all states are known, then `row` for
 * every state in order. A stopped run delivers the states found and the transitions among them.
 * What a call returns other than GORDIAN_OK ends the run and becomes its status. */
typedef struct gordian_compose_sink {
    void *context;
    /* transitions: UINT64_MAX if not known yet. */
    gordian_status (*begin)(void *context, const gordian_circuit *circuit, uint64_t states,
                            uint64_t transitions, gordian_error *error);
    gordian_status (*row)(void *context, const gordian_compose_row *row, gordian_error *error);
} gordian_compose_sink;

/* Composes a circuit. All engines give the same answer, number by number. `options` NULL: the
 * defaults. `sink` NULL: nothing is delivered. *result is filled on GORDIAN_OK, also when a limit
 * stopped the run, and is then the caller's to free; on failure it is empty.
 * GORDIAN_STATUS_UNAVAILABLE: the engine is not here, or cannot do this circuit. */
GORDIAN_API gordian_status gordian_compose(const gordian_circuit *circuit,
                                           const gordian_compose_options *options,
                                           const gordian_compose_sink *sink,
                                           gordian_compose_result *result, gordian_error *error);

/* The same, and writes the product: while it is made, as .aut, .ca or .dot, or once it is a graph
 * in memory, in the other formats. A product that is not complete is marked as incomplete in the
 * first three, and is not written in the others. */
GORDIAN_API gordian_status gordian_compose_write(
    const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_compose_sink *sink, gordian_format format, const gordian_writer *writer,
    gordian_compose_result *result, gordian_error *error);

typedef struct gordian_graph gordian_graph;

/* The same, and keeps the product: *out is the caller's to close; NULL if the run was stopped,
 * since a part of the product would only mislead. `allocator` is for the graph and all that is made
 * of it, which it must outlive; NULL: the C library's. */
GORDIAN_API gordian_status gordian_compose_graph(
    gordian_graph **out, const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_compose_sink *sink, const gordian_allocator *allocator,
    gordian_compose_result *result, gordian_error *error);

/* Composing two at a time in an order: what there is after each step. */
typedef struct gordian_compose_stage {
    uint32_t automaton;           /* the one that comes in */
    uint64_t states, transitions; /* of what is composed by then; UINT64_MAX: too many to tell */
    uint32_t open_names;          /* that it shares with those to come */
} gordian_compose_stage;

/* Fills one stage an automaton. `order` NULL: the one that would be chosen. Parts of more than
 * `max_states` states are not looked at, nor those after them. */
GORDIAN_API gordian_status gordian_compose_explain(const gordian_circuit *circuit,
                                                   const uint32_t *order, uint64_t max_states,
                                                   gordian_compose_stage *stages,
                                                   const gordian_allocator *allocator,
                                                   gordian_error *error);

/* ------------------------------------------------------------------ graphs */

/* Reads a .aut. A file that was cut short, by a run that was killed, is read as far as it goes;
 * *cut (may be NULL) tells. Otherwise as gordian_circuit_read. */
GORDIAN_API gordian_status gordian_graph_read(gordian_graph **out, const char *name,
                                              const gordian_source *source,
                                              const gordian_allocator *allocator, bool *cut,
                                              gordian_fault *fault, gordian_error *error);
/* Frees a graph. NULL is fine. */
GORDIAN_API void gordian_graph_close(gordian_graph *graph);
/* Writes it as .aut (with the first initial state only), or in any other format. `circuit`: the one
 * that it is the product of, for the data that a .ca has; NULL: it is not known. A graph from a
 * file that was cut short is marked as in gordian_compose_write; GORDIAN_STATUS_INPUT in other
 * formats. */
GORDIAN_API gordian_status gordian_graph_write(const gordian_graph *graph, const char *title,
                                               const gordian_circuit *circuit,
                                               gordian_format format, const gordian_writer *writer,
                                               gordian_error *error);

typedef struct gordian_graph_arc {
    uint32_t label; /* gordian_graph_label; 0: a step that shows nothing, "tau" */
    uint32_t to;
} gordian_graph_arc;

/* How large it is. */
GORDIAN_API uint32_t gordian_graph_states(const gordian_graph *graph);
GORDIAN_API size_t gordian_graph_transitions(const gordian_graph *graph);
/* Lists belong to the graph. */
GORDIAN_API const uint32_t *gordian_graph_initial(const gordian_graph *graph, size_t *count);
/* What leads out of a state, sorted by (label text, to). */
GORDIAN_API const gordian_graph_arc *gordian_graph_arcs(const gordian_graph *graph, uint32_t state,
                                                        size_t *count);
/* Names sorted, '|' between them, each with =DATUM if there are several data. */
GORDIAN_API const char *gordian_graph_label(const gordian_graph *graph, uint32_t label);

/* What can be reached in a graph, and the way to the nearest state that nothing leads out of. */
typedef struct gordian_graph_deadlocks {
    uint64_t states, transitions, deadlocks; /* that can be reached */
    uint32_t state;                          /* the nearest deadlock */
    gordian_graph_arc *path;                 /* a shortest way there */
    size_t path_count;
    gordian_allocator allocator;
} gordian_graph_deadlocks;

/* *found is the caller's to free; on failure it is empty. */
GORDIAN_API gordian_status gordian_graph_find_deadlocks(const gordian_graph *graph,
                                                        gordian_graph_deadlocks *found,
                                                        gordian_error *error);
GORDIAN_API void gordian_graph_deadlocks_free(gordian_graph_deadlocks *found);

/* Which names are hidden: asked once for every name of every label. `name` does not end in NUL. */
typedef struct gordian_hiding {
    bool (*hides)(void *context, const char *name, size_t length);
    void *context;
} gordian_hiding;

/* Hides every name that is not a port of the main component. The circuit must outlive it. */
GORDIAN_API gordian_hiding gordian_hide_inner(const gordian_circuit *circuit);

/* The graph with names hidden: a step all of whose names are, and any that shows nothing already,
 * disappears into what follows it. Only what can then be reached is kept, in the order it had. Look
 * for deadlocks before: one who goes round in hidden steps for ever looks like one. *out is the
 * caller's to close, here and below; on failure it is NULL. */
GORDIAN_API gordian_status gordian_graph_hide(gordian_graph **out, const gordian_graph *graph,
                                              const gordian_hiding *hiding, gordian_error *error);
/* The smallest graph strongly bisimilar to this one. A state stands for a class and is numbered by
 * the smallest state in it; "tau" is a label like any other. */
GORDIAN_API gordian_status gordian_graph_minimise(gordian_graph **out, const gordian_graph *graph,
                                                  gordian_error *error);

/* Cycles of hidden steps: the circuit is busy for ever and shows nothing. */
typedef struct gordian_livelock {
    uint64_t states;         /* on such cycles, that can be reached; 0: there is none */
    uint32_t state;          /* the nearest of them */
    gordian_graph_arc *path; /* a shortest way there from an initial state */
    size_t path_count;
    gordian_graph_arc *cycle; /* from it back to it, all hidden: a shortest one */
    size_t cycle_count;
    gordian_allocator allocator;
} gordian_livelock;

/* *livelock is the caller's to free; on failure it is empty. */
GORDIAN_API gordian_status gordian_graph_livelock(const gordian_graph *graph,
                                                  const gordian_hiding *hiding,
                                                  gordian_livelock *livelock, gordian_error *error);
GORDIAN_API void gordian_livelock_free(gordian_livelock *livelock);

/* Of what runs a formula of LTL speaks. A name can fire in a state if a step from there fires it.
 */
typedef enum gordian_fairness {
    GORDIAN_FAIRNESS_NONE = 0, /* all */
    GORDIAN_FAIRNESS_WEAK,   /* those in which a name that from some time on can always fire does so
                                again and again */
    GORDIAN_FAIRNESS_STRONG, /* those in which a name that can fire again and again does so */
} gordian_fairness;

/* How costs of steps are put together: those of a way, and of automata that move at once, are
 * multiplied, of several ways the best counts. What says nothing costs the best there is. */
typedef enum gordian_semiring {
    GORDIAN_SEMIRING_NONE = 0,
    GORDIAN_SEMIRING_WEIGHTED,    /* costs add up, the least is best */
    GORDIAN_SEMIRING_FUZZY,       /* from 0 to 1: a way is as good as its worst step */
    GORDIAN_SEMIRING_PROBABILITY, /* from 0 to 1: multiplied; the likeliest is best */
} gordian_semiring;

/* Does a formula hold? docs/guide/compose.md has the languages: CTL or LTL over names that can
 * fire, names that do, memory and control states of automata. */
typedef struct gordian_question {
    const char *formula;
    bool linear;               /* it is one of LTL, which every fair run must fulfil; else of CTL */
    gordian_fairness fairness; /* of LTL only */
    gordian_semiring semiring; /* of CTL, and of a circuit that says what steps cost: not whether it
                                  holds, but the best way to a state in which it does */
} gordian_question;

typedef struct gordian_check {
    bool holds;      /* in every initial state, or in every fair run; or there is a way */
    uint64_t states; /* in which it holds; of CTL only */
    uint32_t start;  /* an initial state that tells: where it does not hold, if there is one */
    gordian_graph_arc *path; /* from there: why, as far as a single way can show it */
    size_t path_count;
    gordian_graph_arc *cycle; /* and then for ever: from the end of the path back to it */
    size_t cycle_count;
    bool dead_end; /* the path ends where nothing leads on, and that is the point */
    double cost;   /* of the best way */
    double *costs; /* of its steps; NULL: nobody asked */
    gordian_allocator allocator;
} gordian_check;

/* Of a graph, which has names only. GORDIAN_STATUS_INPUT: it is no formula; the column is in the
 * error. *check is the caller's to free; on failure it is empty. */
GORDIAN_API gordian_status gordian_graph_check(const gordian_graph *graph,
                                               const gordian_question *question,
                                               gordian_check *check, gordian_error *error);
/* Composes a circuit and checks its product, which is kept: *out, as of gordian_compose_graph. */
GORDIAN_API gordian_status gordian_compose_check(
    gordian_graph **out, const gordian_circuit *circuit, const gordian_compose_options *options,
    const gordian_question *question, const gordian_allocator *allocator, gordian_check *check,
    gordian_compose_result *result, gordian_error *error);
GORDIAN_API void gordian_check_free(gordian_check *check);

/* How two graphs can be told apart: a line of play. From a pair of initial states one side takes a
 * step, the other answers with the same label as well as it can, and so on; in the end one can do
 * labels[count - 1] and the other cannot do it at all. */
typedef struct gordian_difference {
    char **labels;
    bool *by_left; /* who takes step i */
    size_t count;  /* 0: one side has an initial state that the other has not */
    gordian_allocator allocator;
} gordian_difference;

/* Are they bisimilar, every initial state of one to an initial state of the other? `difference` may
 * be NULL; it is filled if they are not, and is then the caller's to free. */
GORDIAN_API gordian_status gordian_graph_equal(const gordian_graph *left,
                                               const gordian_graph *right, bool *equal,
                                               gordian_difference *difference,
                                               gordian_error *error);
GORDIAN_API void gordian_difference_free(gordian_difference *difference);

#ifdef __cplusplus
}
#endif

#endif

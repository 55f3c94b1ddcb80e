/*
 * What the parts of the .treo reader share: modules, values, scopes, instances, nodes.
 *
 * Evaluation works off a queue of composite instances, breadth first. So nesting costs no stack,
 * nodes come into being in the order of their depth, and the outermost ones get the plain names.
 */
#pragma once

#include "engines/compose/circuit/primitives.h"
#include "engines/compose/graph/graph.h"
#include "engines/compose/treo/parse.h"
#include "engines/compose/treo/treo.h"

#define TREO_NAME_MAX  255u /* bytes of a name in a text */
#define TREO_INDEX_MAX 4u   /* indices of a variable */

/* ------------------------------------------------------------------ modules */

/* A text that has been read: the one given, or an imported one. */
struct module {
    struct text text;
    const struct text *shown; /* `text`, or the caller's */
    struct tokens tokens;
    struct file file;
    struct label_table names; /* of its definitions, as `definitions` has them */
    struct definition **definitions;
    size_t definition_count, definition_room;
};

/* What options->import hands a text over to. */
struct gordian_import {
    struct text text;
};

/* ------------------------------------------------------------------ values */

enum value_kind {
    VALUE_NUMBER,
    VALUE_BOOL,
    VALUE_TEXT,
    VALUE_ANY,  /* * in a row of a table */
    VALUE_LIST, /* of values, also tuples and ranges */
    VALUE_TABLE,
    VALUE_COMPONENT,
    VALUE_PRIMITIVE,
};

struct scope;
struct treo;

struct value {
    uint8_t kind; /* enum value_kind */
    int64_t number;
    const char *text;
    struct value *items; /* an array */
    size_t count;
    const struct component *component;
    const char *name;          /* of the component */
    const struct scope *scope; /* where a component was written */
    uint32_t module;
    const struct primitive *primitive;
};

/* Bindings, newest first. */
struct scope {
    const struct scope *up;
    const char *key; /* k, f[2] */
    struct value value;
};

/* Where something is being evaluated. */
struct place {
    struct treo *treo;
    const struct scope *scope;
    uint32_t module;
    uint32_t instance;
};

/* ------------------------------------------------------------------ the circuit as it grows */

/* A composite instance. */
struct instance {
    const struct component *component;
    const struct scope *scope;
    uint32_t module;
    uint32_t parent; /* GORDIAN_NONE for the main one */
    uint32_t depth;
    uint32_t ordinal; /* among the instances of the same name in the parent, from 1 */
    const char *name;
    const struct token *token; /* where it stands, and in which module */
    uint32_t token_module;
};

struct node {
    const char *name; /* as in the text: x, a[1] */
    uint32_t instance;
    bool boundary;
    uint8_t way; /* of a boundary port */
    uint32_t writers, readers;
};

/* What a variable means in an instance. */
struct binding {
    uint32_t node;
    uint8_t way; /* as the signature says, if it is a port of the component; else PORT_UNKNOWN */
};

/* An instance of an automaton; its ends follow one another. */
struct atom_instance {
    uint32_t automaton;
    const char *title;
    size_t first_end;
};

struct end {
    uint32_t node;
    uint8_t way;
};

struct treo {
    gordian_allocator memory;
    const gordian_circuit_options *options;
    uint32_t most; /* instances, ports, rounds */
    struct arena arena;
    gordian_circuit *circuit;
    struct module **modules;
    size_t module_count, module_room;
    struct instance *instances;
    size_t instance_count, instance_room;
    uint32_t *stack; /* instances that are still to be taken apart, the next one on top */
    size_t stack_count, stack_room;
    struct node *nodes;
    size_t node_count, node_room;
    struct label_table keys; /* "instance:variable", as `bindings` has them */
    struct binding *bindings;
    size_t binding_count, binding_room;
    struct atom_instance *atoms;
    size_t atom_count, atom_room;
    struct end *ends;
    size_t end_count, end_room;
    struct label_table made; /* automata by what they were made from, as `automata` has them */
    uint32_t *automata;
    size_t made_count, made_room;
    const struct scope *defines; /* functions by name that the caller gives */
    uint32_t fault_module;       /* where the last complaint points to */
    gordian_fault *fault;
    gordian_error *error;
};

/* Something the user should know, though it is no error: with its place, in the circuit's notes. */
gordian_status treo_note(struct treo *treo, uint32_t module, const struct token *token,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Starts reading: a circuit, and the text's tokens as module 0. treo_end frees everything else and
 * hands the circuit out, closed, if `status` is GORDIAN_OK. Call it whatever treo_begin returned.
 */
gordian_status treo_begin(struct treo *treo, const struct text *text,
                          const gordian_circuit_options *options, gordian_fault *fault,
                          gordian_error *error);
gordian_status treo_end(struct treo *treo, gordian_status status, gordian_circuit **out);

/* A fault at a token of a module: GORDIAN_STATUS_INPUT. */
gordian_status treo_complain(struct treo *treo, uint32_t module, const struct token *token,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same where something is being evaluated. */
#define place_complain(place, ...) treo_complain((place)->treo, (place)->module, __VA_ARGS__)
/* There is no such component: which may have been meant, and of the main one which there are. */
gordian_status treo_unknown(struct treo *treo, uint32_t module, const struct expr *variable);

/* ------------------------------------------------------------------ treo/value.c */

/* k, a[1][2] as a key; GORDIAN_STATUS_INPUT: an index that is no number. The variable has no
 * ranges. */
gordian_status value_key(const struct place *place, const struct expr *variable, char *key,
                         size_t size);
gordian_status value_evaluate(const struct place *place, const struct expr *expr,
                              struct value *value);
gordian_status value_number(const struct place *place, const struct expr *expr, int64_t *number);
gordian_status value_truth(const struct place *place, const struct expr *expr, bool *truth);
/* A variable in the expression that has no value yet, or NULL. */
const struct expr *value_unbound(const struct place *place, const struct expr *expr);
const struct value *scope_find(const struct scope *scope, const char *key);
/* A scope with one more binding; NULL: out of memory. */
const struct scope *scope_bind(struct treo *treo, const struct scope *up, const char *key,
                               const struct value *value);
/* A component that is written out, as a value. */
struct value value_component(const struct place *place, const struct component *component,
                             const char *name);
/* The component of that name as a module sees it. GORDIAN_STATUS_END: there is none. */
gordian_status component_find(struct treo *treo, uint32_t module, const struct token *token,
                              const char *name, struct value *value);
/* Calls `each` with every key a variable with ranges stands for, in order: x[1..3] is x[1], x[2],
 * x[3]. */
gordian_status value_expand(const struct place *place, const struct expr *variable,
                            gordian_status (*each)(void *context, const char *key), void *context);
/* How many that are. */
gordian_status value_expand_count(const struct place *place, const struct expr *variable,
                                  uint64_t *count);
/* A datum's text: 1, true, token; false: the value is none. */
bool value_as_text(const struct value *value, char *buffer, size_t size);

/* ------------------------------------------------------------------ the others */

/* treo/formula.c: calls `each` with a scope for every way to make the formula true. */
gordian_status formula_solve(const struct place *place, const struct expr *formula,
                             gordian_status (*each)(void *context, const struct place *place),
                             void *context);

/* treo/eval.c: an automaton made before from what `key` says, or NONE. */
uint32_t treo_made(const struct treo *treo, const char *key);
/* Hands the automaton to the circuit, or frees it; remembers what it was made from, unless `key` is
 * "". */
gordian_status treo_keep(struct treo *treo, const char *key, struct automaton *automaton,
                         uint32_t *number);
/* Works everything off, from the main instance on. */
gordian_status treo_run(struct treo *treo, const struct set *main);

/* treo/atom.c: the automaton of an atomic component. `ports`: keys and ways, in order. */
struct atom_port {
    const char *key;
    uint8_t way;
};
gordian_status atom_build(const struct place *place, const struct component *component,
                          const char *name, const struct atom_port *ports, size_t port_count,
                          struct automaton **out);
/* treo/function.c: the symbol of a datum. */
gordian_status value_symbol(struct treo *treo, uint32_t module, const struct token *token,
                            const struct value *value, uint32_t *symbol);
/* Data that a function's table mentions, in order; in the arena. */
struct mentions {
    uint32_t *symbols;
    size_t count;
    const struct token *token; /* the function stands here */
};
/* A value as a function or predicate of the data: a table, a list, the name of a built-in one. What
 * it mentions does not come into the domain by itself. `arity`: how many arguments it is given, for
 * a message. */
gordian_status value_function(struct treo *treo, uint32_t module, const struct value *value,
                              bool predicate, uint32_t arity, uint32_t *function,
                              struct mentions *found);

/* treo/bare.c: rules without braces, of automata with at most BARE_PORTS_MAX ports. */
#define BARE_PORTS_MAX 256u
#define BARE_OPEN_MAX  12u
/* Adds the ports that may fire by such a guard, and those that must not. */
void bare_ports(const struct automaton *automaton, uint32_t guard, uint64_t *fires,
                uint64_t *blocked);
/* How many classes of ports the guard leaves open, each to fire or not. */
uint32_t bare_open(const struct automaton *automaton, uint32_t guard);
/* Who fires when the classes in `choice` do; false: there is no such choice. */
bool bare_choice(const struct automaton *automaton, uint32_t guard, uint32_t choice,
                 uint64_t *fires);

/* treo/nodes.c: names the nodes, inserts mergers, fills the circuit. */
gordian_status treo_fill(struct treo *treo);

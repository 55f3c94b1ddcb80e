/*
 * Internal header of the .treo reader: modules, values, scopes, instances, nodes.
 *
 * Composite instances are evaluated from a queue, breadth first. So nesting uses no stack, nodes
 * are created in order of their depth, and the outermost ones get the plain names.
 */
#pragma once

#include "engines/compose/circuit/primitives.h"
#include "engines/compose/graph/graph.h"
#include "engines/compose/treo/parse.h"
#include "engines/compose/treo/treo.h"

#define TREO_NAME_MAX  255u /* bytes of a name in a text */
#define TREO_INDEX_MAX 4u   /* indices of a variable */

/* ------------------------------------------------------------------ modules */

/* The text of the program or of an import. */
struct module {
    struct text text;
    const struct text *shown; /* `text`, or the text of the caller */
    struct tokens tokens;
    struct file file;
    struct label_table names; /* names of the definitions; same numbers as `definitions` */
    struct definition **definitions;
    size_t definition_count, definition_room;
};

/* The destination of options->import. */
struct gordian_import {
    struct text text;
};

/* ------------------------------------------------------------------ values */

enum value_kind {
    VALUE_NUMBER,
    VALUE_BOOL,
    VALUE_TEXT,
    VALUE_ANY,  /* * in a row of a table */
    VALUE_LIST, /* a list, tuple or range of values */
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
    const struct scope *scope; /* of the component's definition */
    uint32_t module;
    const struct primitive *primitive;
};

/* Bindings, newest first. */
struct scope {
    const struct scope *up;
    const char *key; /* k, f[2] */
    struct value value;
};

/* The context of an evaluation. */
struct place {
    struct treo *treo;
    const struct scope *scope;
    uint32_t module, instance;
};

/* ------------------------------------------------------------------ building the circuit */

/* A composite instance. */
struct instance {
    const struct component *component;
    const struct scope *scope;
    uint32_t module;
    uint32_t parent; /* GORDIAN_NONE for the main instance */
    uint32_t depth;
    uint32_t ordinal; /* its number among the instances of the same name in the parent, from 1 */
    const char *name;
    const struct token *token; /* position of the instance, and its module */
    uint32_t token_module;
};

struct node {
    const char *name; /* as in the text: x, a[1] */
    uint32_t instance;
    bool boundary;
    uint8_t direction; /* of a boundary port */
    uint32_t writers, readers;
};

/* The binding of a variable in an instance. */
struct binding {
    uint32_t node;
    /* the declared direction, if it is a port of the component; otherwise PORT_UNKNOWN */
    uint8_t direction;
};

/* An instance of an automaton; its ends are contiguous. */
struct atom_instance {
    uint32_t automaton;
    const char *title;
    size_t first_end;
};

struct end {
    uint32_t node;
    uint8_t direction;
};

struct treo {
    gordian_allocator memory;
    const gordian_circuit_options *options;
    uint32_t most; /* maximum number of instances, ports and rounds */
    struct arena arena;
    gordian_circuit *circuit;
    struct module **modules;
    size_t module_count, module_room;
    struct instance *instances;
    size_t instance_count, instance_room;
    uint32_t *stack; /* instances to be expanded, the next one on top */
    size_t stack_count, stack_room;
    struct node *nodes;
    size_t node_count, node_room;
    struct label_table keys; /* "instance:variable"; same numbers as `bindings` */
    struct binding *bindings;
    size_t binding_count, binding_room;
    struct atom_instance *atoms;
    size_t atom_count, atom_room;
    struct end *ends;
    size_t end_count, end_room;
    struct label_table made; /* keys of automata; same numbers as `automata` */
    uint32_t *automata;
    size_t made_count, made_room;
    const struct scope *defines; /* functions defined by the caller */
    uint32_t fault_module;       /* the module of the last error */
    gordian_fault *fault;
    gordian_error *error;
};

/* Adds a message for the user, with its position, to the notes of the circuit. */
gordian_status treo_note(struct treo *treo, uint32_t module, const struct token *token,
                         const char *format, ...) __attribute__((format(printf, 4, 5)));

/* Starts reading: creates the circuit and tokenizes the text as module 0. treo_end returns the
 * sealed circuit if `status` is GORDIAN_OK, and frees everything else. Call it even if treo_begin
 * failed. */
gordian_status treo_begin(struct treo *treo, const struct text *text,
                          const gordian_circuit_options *options, gordian_fault *fault,
                          gordian_error *error);
gordian_status treo_end(struct treo *treo, gordian_status status, gordian_circuit **out);

/* Reports an error at a token of a module: GORDIAN_STATUS_INPUT. */
gordian_status treo_complain(struct treo *treo, uint32_t module, const struct token *token,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* The same during an evaluation. */
#define place_complain(place, ...) treo_complain((place)->treo, (place)->module, __VA_ARGS__)
/* Reports an unknown component: suggests a similar name and, for the main component, lists all. */
gordian_status treo_unknown(struct treo *treo, uint32_t module, const struct expr *variable);

/* ------------------------------------------------------------------ treo/value.c */

/* Converts k or a[1][2] to a key. The variable has no ranges. GORDIAN_STATUS_INPUT: an index is not
 * a number. */
gordian_status value_key(const struct place *place, const struct expr *variable, char *key,
                         size_t size);
gordian_status value_evaluate(const struct place *place, const struct expr *expr,
                              struct value *value);
gordian_status value_number(const struct place *place, const struct expr *expr, int64_t *number);
gordian_status value_truth(const struct place *place, const struct expr *expr, bool *truth);
/* Returns a variable in the expression without a value, or NULL. */
const struct expr *value_unbound(const struct place *place, const struct expr *expr);
const struct value *scope_find(const struct scope *scope, const char *key);
/* Returns a scope with another binding; NULL: out of memory. */
const struct scope *scope_bind(struct treo *treo, const struct scope *up, const char *key,
                               const struct value *value);
/* The value of a component definition. */
struct value value_component(const struct place *place, const struct component *component,
                             const char *name);
/* Finds the component of that name visible in a module. GORDIAN_STATUS_END: there is none. */
gordian_status component_find(struct treo *treo, uint32_t module, const struct token *token,
                              const char *name, struct value *value);
/* Calls `each` with every key of a variable with ranges, in order: x[1..3] is x[1], x[2], x[3]. */
gordian_status value_expand(const struct place *place, const struct expr *variable,
                            gordian_status (*each)(void *context, const char *key), void *context);
/* The number of these keys. */
gordian_status value_expand_count(const struct place *place, const struct expr *variable,
                                  uint64_t *count);
/* Writes a datum: 1, true, token. False: the value is not a datum. */
bool value_as_text(const struct value *value, char *buffer, size_t size);

/* ------------------------------------------------------------------ formulas and functions */

/* treo/formula.c: calls `each` with a scope for every solution of the formula. */
gordian_status formula_solve(const struct place *place, const struct expr *formula,
                             gordian_status (*each)(void *context, const struct place *place),
                             void *context);

/* treo/eval.c: returns the automaton with this key, or NONE. */
uint32_t treo_made(const struct treo *treo, const char *key);
/* Passes the automaton to the circuit, or frees it. Stores its key unless it is "". */
gordian_status treo_keep(struct treo *treo, const char *key, struct automaton *automaton,
                         uint32_t *number);
/* Evaluates all instances, starting with the main one. */
gordian_status treo_run(struct treo *treo, const struct set *main);

/* treo/atom.c: builds the automaton of an atomic component. `ports`: keys and directions, in
 * order. */
struct atom_port {
    const char *key;
    uint8_t direction;
};
gordian_status atom_build(const struct place *place, const struct component *component,
                          const char *name, const struct atom_port *ports, size_t port_count,
                          struct automaton **out);
/* treo/function.c: the symbol of a datum. */
gordian_status value_symbol(struct treo *treo, uint32_t module, const struct token *token,
                            const struct value *value, uint32_t *symbol);
/* Data in the table of a function, in order; in the arena. */
struct mentions {
    uint32_t *symbols;
    size_t count;
    const struct token *token; /* position of the function */
};
/* Converts a value to a function or predicate: a table, a list, the name of a built-in one. It does
 * not add the data to the domain. `arity`: number of arguments, for a message. */
gordian_status value_function(struct treo *treo, uint32_t module, const struct value *value,
                              bool predicate, uint32_t arity, uint32_t *function,
                              struct mentions *found);

/* treo/bare.c: rules without braces, for automata with at most BARE_PORTS_MAX ports. */
#define BARE_PORTS_MAX 256u
#define BARE_OPEN_MAX  12u
/* Adds the ports that such a guard allows to fire, and the ports that must not fire. */
void bare_ports(const struct automaton *automaton, uint32_t guard, uint64_t *fires,
                uint64_t *blocked);
/* Returns the number of classes of ports that the guard leaves open. */
uint32_t bare_open(const struct automaton *automaton, uint32_t guard);
/* Computes which ports fire if the classes in `choice` do. False: not a valid choice. */
bool bare_choice(const struct automaton *automaton, uint32_t guard, uint32_t choice,
                 uint64_t *fires);

/* treo/nodes.c: names the nodes, adds mergers, fills the circuit. */
gordian_status treo_fill(struct treo *treo);

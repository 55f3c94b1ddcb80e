/*
 * A circuit: automata that share names. This is what engines take.
 *
 * The readers (treo/treo.h, format/ca.h) fill it: names, automata, instances of them, boundary
 * ports. circuit_seal then unfolds the data and sorts the names; from there on it is read-only,
 * may be used by any number of threads, and engines need to know nothing about guards, cells, nodes
 * or components:
 *
 * A *shape* is what all instances of one automaton share: states 0 .. n-1 (control state and cell
 * values: those reachable within the automaton itself, then what begins in control states that are
 * not) and transitions that carry concrete data. A *factor* is a shape on names: port p of the
 * shape is name names[p] of the circuit. A state of the *product* is one state of each factor.
 * Every factor takes one transition or idles; those that share a name agree on it: fires or not,
 * and with which datum. That agreement is the only rule.
 *
 * Nodes. A name with one writer and any number of readers needs nothing: all who have it agree on
 * it, that is replication. For a name with two or more writers the reader of the text inserts a
 * merger (its writers get names of their own, c.1, c.2, ..., and {c.i, c} fires with equal data),
 * so engines never see more than agreement.
 *
 * Labels. A name needs 1 + value_bits bits: whether it fires and the number of its datum in D (0,
 * and no bit at all, if D has one element). The bits of a name that does not fire are all 0. In a
 * label of the circuit bit n says that name n fires, and the datum of name n stands in the
 * value_bits bits from name_count + n * value_bits on; in a label of a shape the same with ports
 * for names. So two labels agree on shared names if and only if (x ^ y) & mask_x & mask_y is 0,
 * data or not, and the union of the two is x | y. A product's transition count is the number of
 * different (from, label, to): with two data values {a} d_a=0 and {a} d_a=1 are two transitions, as
 * in the tables everybody prints.
 *
 * Order. Names are numbered in the byte order of their texts, so the bits of a label read from 0 up
 * are its names sorted. Initial states of a shape come first. The states of the product are ordered
 * by their local states, *the last factor counts most*: the order of the mixed-radix number
 *     local[0] + states[0] * (local[1] + states[1] * (local[2] + ...)).
 * A state's number in every output is its rank in that order among the states delivered. So state 0
 * is initial, all engines number alike, and results are compared for equality instead of
 * isomorphism.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"

#include <gordian/compose.h>

#define SHAPE_MAX (1u << 24) /* states, and transitions, of one automaton with its data */

struct cost {
    double least, greatest;
};

struct shape {
    const struct automaton *automaton; /* where it comes from */
    uint32_t port_count;
    uint32_t label_words; /* of a local label: bits_words(port_count * (1 + value_bits)) */
    uint32_t state_count;
    uint32_t initial_count; /* states 0 .. initial_count-1 are initial; at least 1 */
    uint32_t *values;       /* of state s: control state, then every cell: 1 + cell_count numbers */
    size_t transition_count; /* without idle loops */
    size_t *first;           /* transitions of state s: first[s] .. first[s+1]-1 */
    uint32_t *to;            /* sorted by (from, label, to), each once */
    uint64_t *labels;        /* label_words words each */
    bool routing;            /* automaton_is_routing */
    /* What transitions cost, where one of the automaton's says so, else NULL: the least and the
     * greatest of those that became one; NAN: not said. */
    struct cost *costs;
};

struct factor {
    uint32_t shape;
    uint32_t *names; /* of the circuit, one for every port of the shape; all different */
    char *title;     /* for people: "fifo1"; NULL: the automaton's */
};

struct safety;

struct gordian_circuit {
    gordian_allocator memory;
    char *title; /* the main component */
    bool closed;
    char *notes;     /* what the user should know, a line each; NULL: nothing */
    bool incomplete; /* a product of a stopped run: transitions are missing */
    bool own_inside; /* names that are not ports of it are its own, whoever else has the same */
    uint32_t max_unfolded; /* of one shape; SHAPE_MAX unless set before closing */

    struct names names;
    uint32_t name_count;
    uint8_t *ways;     /* enum port_way of a boundary port, PORT_UNKNOWN of an inner name */
    uint8_t *boundary; /* 1: a port of the main component */
    size_t way_room, boundary_room;

    struct data data;
    uint32_t value_bits;  /* of a name; 0 if D has one element */
    uint32_t label_words; /* of a label: bits_words(name_count * (1 + value_bits)) */

    struct automaton **automata; /* owned */
    size_t automaton_count, automaton_room;
    struct shape
        *shapes; /* after closing; one for every automaton in use and way to alias its ports */
    size_t shape_count, shape_room;
    struct factor *factors; /* in the order of the text */
    size_t factor_count, factor_room;

    /* After closing. */
    size_t *
        users_first; /* the factors that have name n: users[users_first[n] .. users_first[n+1]-1] */
    uint32_t *users;
    bool whole_fits;  /* the number of all combinations of local states fits 64 bits ... */
    uint64_t whole;   /* ... and is this */
    uint64_t initial; /* combinations of initial states; UINT64_MAX if more */

    struct safety **safeties; /* of nets in which a place may get a second token; owned */
    size_t safety_count, safety_room;
};

/* ------------------------------------------------------------------ building */

gordian_status circuit_new(gordian_circuit **out, const char *title,
                           const gordian_allocator *memory, gordian_error *error);
gordian_status circuit_title(gordian_circuit *circuit, const char *title, gordian_error *error);

/* Adds a line to the notes, unless it is there. */
gordian_status circuit_note(gordian_circuit *circuit, const char *line, gordian_error *error);

/* The id of a name, new if need be. Before circuit_seal ids are in order of arrival. A name has 1
 * to 255 bytes, none of them a blank, '#', '=', '|', '"' or a control character. */
gordian_status circuit_name(gordian_circuit *circuit, const char *text, size_t length,
                            uint32_t *name, gordian_error *error);
void circuit_boundary(gordian_circuit *circuit, uint32_t name, enum port_way way);
/* Takes the automaton over, on success; its symbols are those of circuit->data. */
gordian_status circuit_automaton(gordian_circuit *circuit, struct automaton *automaton,
                                 uint32_t *number, gordian_error *error);
/* An instance of automaton `number` on these names, one for every port; the same name twice means
 * that the two ports must do the same. `title` NULL: the automaton's. */
gordian_status circuit_factor(gordian_circuit *circuit, uint32_t number, const uint32_t *names,
                              const char *title, gordian_error *error);
/* Fixes D, sorts the names, unfolds the shapes. On failure the circuit can only be freed.
 * GORDIAN_STATUS_INPUT: an automaton that has too many states or no initial one; the place of the
 * transition, if there is one, is in the error. */
gordian_status circuit_seal(gordian_circuit *circuit, gordian_error *error);

/* ------------------------------------------------------------------ reading it */

static inline const struct shape *factor_shape(const gordian_circuit *circuit, uint32_t factor)
{
    return &circuit->shapes[circuit->factors[factor].shape];
}

/* Transition t of the factor, as a label of the circuit (label_words words, overwritten). */
void factor_label(const gordian_circuit *circuit, uint32_t factor, size_t t, uint64_t *label);
/* The bits of a label the factor has a say in. */
void factor_mask(const gordian_circuit *circuit, uint32_t factor, uint64_t *mask);

static inline bool label_fires(const uint64_t *label, uint32_t name)
{
    return bits_test(label, name);
}
/* The number in `count` bits from `bit` on, and putting one where all are 0. */
static inline uint64_t label_bits(const uint64_t *label, size_t bit, uint32_t count)
{
    uint64_t value = 0;
    for (uint32_t i = 0; i < count; i++)
        value |= (uint64_t)bits_test(label, bit + i) << i;
    return value;
}
static inline void label_set_bits(uint64_t *label, size_t bit, uint32_t count, uint64_t value)
{
    for (uint32_t i = 0; i < count; i++)
        if (value >> i & 1)
            bits_set(label, bit + i);
}
/* -1, 0, 1: as labels compare. First the names that fire, as sorted lists, a shorter list before
 * what it begins ({a} {a,b} {a,c} {b}); then the data, the first name that differs decides.
 * `fires`: how many bits say who fires: name_count of the circuit, port_count of a shape. */
int label_compare(const uint64_t *left, const uint64_t *right, size_t words, size_t fires,
                  uint32_t value_bits);

/* ------------------------------------------------------------------ as text */

struct output;

/* A label: names sorted and joined by '|'; name=datum if D has more than one element; "tau" if
 * nothing fires. */
void circuit_write_label(const gordian_circuit *circuit, const uint64_t *label, struct output *out);
/* A factor, for people: "fifo1(a0,a1)". */
void circuit_write_factor(const gordian_circuit *circuit, uint32_t factor, struct output *out);
/* A local state of a factor, for people: "empty", "full m=0", "m=null". */
void circuit_write_state(const gordian_circuit *circuit, uint32_t factor, uint32_t state,
                         struct output *out);

/* The states and transitions of an automaton over a domain (closed). `merge`: port p of the
 * automaton becomes port merge[p] of the shape, which has `ports` of them; ports that become one
 * must do the same. NULL: as they are. */
gordian_status shape_unfold(struct shape *shape, const struct automaton *automaton,
                            const struct data *data, const uint32_t *merge, uint32_t ports,
                            uint32_t most, const gordian_allocator *memory, gordian_error *error);
void shape_free(struct shape *shape, const gordian_allocator *memory);

/* ------------------------------------------------------------------ deadlocks of a result */

/* Frees the deadlocks that are described: none was found. */
void compose_forget_deadlocks(gordian_compose_result *result);
/* Memory for a deadlock's state and the labels of the steps there. False: out of memory. */
bool compose_deadlock_alloc(gordian_compose_result *result, const gordian_circuit *circuit,
                            size_t steps, gordian_compose_deadlock *deadlock);

/* The bits that hold a datum's number: 0 for a domain of one. */
uint32_t data_value_bits(const struct data *data);

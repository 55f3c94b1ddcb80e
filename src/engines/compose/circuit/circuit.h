/*
 * A circuit: automata that share names. It is the input of every engine.
 *
 * The readers (treo/treo.h, format/ca.h) fill it with names, automata, instances of automata and
 * boundary ports. circuit_seal then unfolds the data and sorts the names. After that the circuit is
 * read-only and any number of threads may use it. Engines need not know about guards, cells, nodes
 * or components.
 *
 * Shapes and factors. A *shape* is what all instances of one automaton share: states 0 .. n-1 and
 * transitions with concrete data. A state is a control state with the values of the cells. The
 * states that the automaton can reach on its own come first, then those that begin in other control
 * states. A *factor* is a shape with names: port p of the shape is name names[p] of the circuit. A
 * state of the *product* is one state of each factor. In a step, every factor takes one transition
 * or idles, and factors that share a name agree on it: whether it fires, and with which datum.
 * There is no other rule.
 *
 * Nodes. A name with one writer and any number of readers needs no automaton: agreement replicates
 * the datum. For a name with two or more writers the reader of the text adds a merger: its writers
 * get their own names c.1, c.2, ..., and {c.i, c} fires with equal data. Engines only see
 * agreement.
 *
 * Labels. A name takes 1 + value_bits bits: whether it fires, and the number of its datum in D (0,
 * and no bit at all, if D has one element). All bits of a name that does not fire are 0. In a label
 * of the circuit, bit n states that name n fires, and its datum is in the value_bits bits from
 * name_count + n * value_bits on. A label of a shape has ports in place of names. So two labels
 * agree on their shared names if and only if (x ^ y) & mask_x & mask_y is 0, and their union is x |
 * y. The number of transitions of a product is the number of different (from, label, to). With two
 * data values, {a} d_a=0 and {a} d_a=1 are two transitions, as in published tables.
 *
 * Order. Names are numbered in the byte order of their texts, so the bits of a label, from 0 up,
 * are its names sorted. Initial states of a shape come first. The states of the product are ordered
 * by their local states, and *the last factor is the most significant*: the order of the
 * mixed-radix number
 *     local[0] + states[0] * (local[1] + states[1] * (local[2] + ...)).
 * The number of a state in every output is its rank in that order among the delivered states. So
 * state 0 is initial, all engines number alike, and results are compared for equality, not
 * isomorphism.
 */
#pragma once

#include "engines/compose/circuit/automaton.h"

#include <gordian/compose.h>

/* States, and transitions, of one automaton unfolded over the data. */
#define SHAPE_MAX (1u << 24)

struct cost {
    double least, greatest;
};

struct shape {
    const struct automaton *automaton; /* the automaton that was unfolded */
    uint32_t port_count;
    uint32_t label_words; /* of a label of the shape: bits_words(port_count * (1 + value_bits)) */
    uint32_t state_count;
    uint32_t initial_count; /* states 0 .. initial_count-1 are initial; at least 1 */
    uint32_t *values; /* of state s: the control state, then every cell: 1 + cell_count numbers */
    size_t transition_count; /* without idle loops */
    size_t *first;           /* transitions of state s: first[s] .. first[s+1]-1 */
    uint32_t *to;            /* sorted by (from, label, to), each once */
    uint64_t *labels;        /* label_words words per transition */
    bool routing;            /* automaton_is_routing */
    /* Costs of the transitions: the least and the greatest of the transitions that were merged;
     * NAN: not given. NULL: the automaton gives no cost. */
    struct cost *costs;
};

struct factor {
    uint32_t shape;
    uint32_t *names; /* of the circuit, one per port of the shape; all different */
    char *title;     /* shown to users: "fifo1"; NULL: the automaton's */
};

struct safety;

struct gordian_circuit {
    gordian_allocator memory;
    char *title; /* the main component */
    bool closed;
    char *notes;     /* messages for the user, one per line; NULL: none */
    bool incomplete; /* the product of a stopped run: transitions are missing */
    bool own_inside; /* names other than ports are local, even if another circuit has the same names
                      */
    uint32_t max_unfolded; /* states of one shape; SHAPE_MAX unless set before circuit_seal */

    struct names names;
    uint32_t name_count;
    uint8_t *directions; /* enum port_direction of a boundary port, PORT_UNKNOWN of other names */
    uint8_t *boundary;   /* 1: a port of the main component */
    size_t direction_room, boundary_room;

    struct data data;
    uint32_t value_bits;  /* of a name; 0 if D has one element */
    uint32_t label_words; /* of a label: bits_words(name_count * (1 + value_bits)) */

    struct automaton **automata; /* owned */
    size_t automaton_count, automaton_room;
    struct shape *shapes; /* after circuit_seal; one per automaton in use and set of merged ports */
    size_t shape_count, shape_room;
    struct factor *factors; /* in the order of the text */
    size_t factor_count, factor_room;

    /* After circuit_seal. */
    /* the factors that have name n: users[users_first[n] .. users_first[n+1]-1] */
    size_t *users_first;
    uint32_t *users;
    bool whole_fits;  /* the number of combinations of local states fits 64 bits ... */
    uint64_t whole;   /* ... and is this */
    uint64_t initial; /* combinations of initial states; UINT64_MAX if more */

    struct safety **safeties; /* of nets in which a place may get a second token; owned */
    size_t safety_count, safety_room;
};

/* ------------------------------------------------------------------ building */

gordian_status circuit_new(gordian_circuit **out, const char *title,
                           const gordian_allocator *memory, gordian_error *error);
gordian_status circuit_title(gordian_circuit *circuit, const char *title, gordian_error *error);

/* Adds a line to the notes unless they contain it already. */
gordian_status circuit_note(gordian_circuit *circuit, const char *line, gordian_error *error);

/* Returns the number of a name, and adds the name if it is new. Before circuit_seal, numbers are in
 * order of arrival. A name has 1 to 255 bytes, without blanks, '#', '=', '|', '"' and control
 * characters. */
gordian_status circuit_name(gordian_circuit *circuit, const char *text, size_t length,
                            uint32_t *name, gordian_error *error);
void circuit_boundary(gordian_circuit *circuit, uint32_t name, enum port_direction direction);
/* Takes ownership of the automaton on success. Its symbols must be from circuit->data. */
gordian_status circuit_automaton(gordian_circuit *circuit, struct automaton *automaton,
                                 uint32_t *number, gordian_error *error);
/* Adds an instance of automaton `number` with these names, one per port. If a name occurs twice,
 * its two ports must do the same. `title` NULL: the automaton's. */
gordian_status circuit_factor(gordian_circuit *circuit, uint32_t number, const uint32_t *names,
                              const char *title, gordian_error *error);
/* Fixes D, sorts the names and unfolds the shapes. After a failure the circuit can only be freed.
 * GORDIAN_STATUS_INPUT: an automaton has too many states or no initial state; the error has the
 * position of the transition, if there is one. */
gordian_status circuit_seal(gordian_circuit *circuit, gordian_error *error);

/* ------------------------------------------------------------------ reading */

static inline const struct shape *factor_shape(const gordian_circuit *circuit, uint32_t factor)
{
    return &circuit->shapes[circuit->factors[factor].shape];
}

/* Writes transition t of the factor as a label of the circuit: label_words words, overwritten. */
void factor_label(const gordian_circuit *circuit, uint32_t factor, size_t t, uint64_t *label);
/* The bits of a label that belong to names of the factor. */
void factor_mask(const gordian_circuit *circuit, uint32_t factor, uint64_t *mask);

static inline bool label_fires(const uint64_t *label, uint32_t name)
{
    return bits_test(label, name);
}
/* Reads the number in `count` bits from `bit` on. label_set_bits writes it where all bits are 0. */
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
/* Compares labels: -1, 0, 1. The sorted lists of firing names are compared first. A list comes
 * before the lists that it is a prefix of: {a} {a,b} {a,c} {b}. Then the datum of the first name
 * that differs decides. `fires`: bits that state which names fire: name_count of a circuit,
 * port_count of a shape. */
int label_compare(const uint64_t *left, const uint64_t *right, size_t words, size_t fires,
                  uint32_t value_bits);

/* ------------------------------------------------------------------ as text */

struct output;

/* A label: sorted names joined by '|', name=datum if D has more than one element, "tau" if nothing
 * fires. */
void circuit_write_label(const gordian_circuit *circuit, const uint64_t *label, struct output *out);
/* A factor as shown to users: "fifo1(a0,a1)". */
void circuit_write_factor(const gordian_circuit *circuit, uint32_t factor, struct output *out);
/* A local state of a factor as shown to users: "empty", "full m=0", "m=null". */
void circuit_write_state(const gordian_circuit *circuit, uint32_t factor, uint32_t state,
                         struct output *out);

/* Unfolds an automaton over a closed domain into states and transitions. `merge`: port p of the
 * automaton becomes port merge[p] of the shape, which has `ports` ports; merged ports must do the
 * same. NULL: no ports are merged. */
gordian_status shape_unfold(struct shape *shape, const struct automaton *automaton,
                            const struct data *data, const uint32_t *merge, uint32_t ports,
                            uint32_t most, const gordian_allocator *memory, gordian_error *error);
void shape_free(struct shape *shape, const gordian_allocator *memory);

/* ------------------------------------------------------------------ deadlocks of a result */

/* Frees the described deadlocks and sets their number to 0. */
void compose_forget_deadlocks(gordian_compose_result *result);
/* Allocates the state of a deadlock and the labels of the steps to it. False: out of memory. */
bool compose_deadlock_alloc(gordian_compose_result *result, const gordian_circuit *circuit,
                            size_t steps, gordian_compose_deadlock *deadlock);

/* Bits of a datum's number: 0 for a domain of one element. */
uint32_t data_value_bits(const struct data *data);

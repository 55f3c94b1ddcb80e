/*
 * Constraint automata on the device: arguments of the compose_*.cu kernels.
 *
 * States are packed words (engines/compose/explore/packed.h). A set of states has one of three
 * kinds: a bitmap by packed number; a list and a hash table of the same states; or all
 * combinations, which need no memory.
 */
#pragma once

#include "foundation/gpu/kernels/compose/compose_walk.h"
#include <gordian/array.h>

#define COMPOSE_THREADS 256u
#define COMPOSE_EMPTY   UINT64_MAX /* a free slot of the table: no state has 64 bits */
#define COMPOSE_PROBES  512u       /* slots probed before the table counts as full */
#define COMPOSE_STRIDE  8u         /* words of the bitmap between entries of the directory */
#define COMPOSE_MISSING UINT64_MAX /* the rank of a state that is not in the set */

enum compose_set_kind {
    COMPOSE_BITMAP,
    COMPOSE_LIST,
    COMPOSE_ALL,
};

/* A factor's place in a packed state. */
struct compose_radix {
    uint32_t shift, states;
};

struct compose_set {
    uint32_t kind; /* enum compose_set_kind */
    uint32_t radix_count;
    uint64_t radices;   /* struct compose_radix: those with more than one state */
    uint64_t bitmap;    /* uint64_t words */
    uint64_t words;     /* of the bitmap */
    uint64_t directory; /* uint64_t: states before word i * COMPOSE_STRIDE; bitmap only */
    uint64_t list;      /* uint64_t, in the order found, or sorted */
    uint64_t count;     /* states */
    uint64_t table;     /* uint64_t keys */
    uint64_t slots;     /* a power of two */
    uint32_t dense;     /* 1: every packed number is a state, so the rank is the number */
    uint32_t closed;    /* 1: everything that a state leads to is in the set */
};

/* The firings, for all kernels except compose_pass. */
struct compose_firings {
    uint64_t firings; /* struct compose_firing */
    uint64_t ends;    /* uint32_t: of the parts after the singles */
    uint32_t count, singles, parts, unused;
};

/* ------------------------------------------------------------------ exploring */

/* compose_pass: fires the waiting states of every word. Waiting states are taken and new ones
 * inserted in place, so a pass also handles the new states that it reaches later. A pass that finds
 * nothing leaves nothing waiting. */
struct compose_pass_arguments {
    uint64_t visited, waiting; /* uint64_t bitmaps */
    uint64_t words;
    uint64_t firings; /* struct compose_word_firing */
    uint32_t firing_count;
    uint32_t pass;  /* this pass's place in `found` */
    uint64_t found; /* uint64_t: new states by pass; a pass after one that found nothing ends */
};

/* compose_mark: sets a list's bits in a bitmap; states from `fresh` on also wait. */
struct compose_mark_arguments {
    uint64_t list;
    uint64_t count, fresh;
    uint64_t visited, waiting;
    uint64_t found; /* uint64_t: states that were not there */
};

struct compose_tally {
    uint64_t size; /* of the list; more than its capacity: the rest was lost */
    uint64_t full; /* states that found no slot */
};

#define COMPOSE_LEVELS 16u   /* of a launch */
#define COMPOSE_STAGE  1024u /* states that a block collects before they go to the list */
#define COMPOSE_TURN   8u    /* most states that a warp handles before its block does that */

/* compose_levels, a cooperative launch: fires the states first .. last-1 of the list. New states
 * are appended to the `size` present ones and form the next level. Each warp handles one state, and
 * each of its lanes some of the firings. The launch ends after `levels` levels, when a level finds
 * nothing, when there are more than `most` states, or when the list or the table is full: repeating
 * a level does no harm. The decisions are made by level, so that all blocks make the same. */
struct compose_levels_arguments {
    struct compose_firings firings;
    uint64_t list, room;
    uint64_t table, slots;
    uint64_t first, last, size;
    uint64_t most;
    uint64_t tally;   /* struct compose_tally; `full` is not used */
    uint64_t found;   /* uint64_t by level: states that are new */
    uint64_t full;    /* uint64_t by level: states that found no slot */
    uint64_t barrier; /* struct grid_barrier */
    uint32_t levels, unused;
};

/* compose_enter: inserts the list's states into the table, which may have some of them. `extend`:
 * new ones are also appended to the list (`from` are then the states to enter). */
struct compose_enter_arguments {
    uint64_t from, count;
    uint64_t list, room;
    uint64_t table, slots;
    uint64_t tally;
    uint32_t extend, unused;
};

/* ------------------------------------------------------------------ counting */

/* compose_survey: sums over items first .. last-1 of the set: words of a bitmap, states of a list,
 * or numbers. Without joint transitions if `joint` is 0; only those within the set, unless it is
 * closed. */
struct compose_survey_arguments {
    struct compose_firings firings;
    struct compose_set set;
    uint64_t first, last;
    uint64_t counts;       /* struct compose_counts, one: added to */
    uint64_t word_firings; /* struct compose_word_firing */
    uint32_t joint;
    uint32_t by_words; /* 1: 64 states at a time, of a bitmap; `joint` then requires firings that do
                          not conflict */
};

/* compose_dead: lists the states below `limit` without transitions, in any order; with distances
 * (below) only those at `distance`. */
struct compose_dead_arguments {
    struct compose_firings firings;
    struct compose_set set;
    uint64_t first, last; /* items, as above */
    uint64_t limit;
    uint64_t distances; /* uint32_t; 0: not used */
    struct garray out;  /* of uint64_t; refused ones are counted as well */
    uint32_t distance, unused;
};

/* compose_below: counts the states of a list that are below each of the targets. */
struct compose_below_arguments {
    struct compose_set set;
    uint64_t targets, counts; /* uint64_t */
    uint32_t target_count, unused;
};

/* ------------------------------------------------------------------ distances */

#define COMPOSE_CHANGED   1u /* there is a state at now + 1 */
#define COMPOSE_TOO_MANY  2u /* a state has more than COMPOSE_WALK_MOST joint firings */
#define COMPOSE_WALK_MOST ((uint64_t)1 << 26)

/* compose_step: every state that a joint firing leads to from a state at distance `now` (1:
 * initial, 0: not reached) gets distance now + 1 unless it is nearer. There is one distance for
 * each bit of the bitmap or slot of the table. */
struct compose_step_arguments {
    struct compose_firings firings;
    struct compose_set set;
    uint64_t distances; /* uint32_t */
    uint64_t changed;   /* uint32_t: COMPOSE_CHANGED, COMPOSE_TOO_MANY are set in it */
    uint32_t now, unused;
};

/* compose_distance: reads the distances of a list's states; if `mark` is not 0, sets them first.
 * States that are not in the set have 0. */
struct compose_distance_arguments {
    struct compose_set set;
    uint64_t distances;
    uint64_t states, out; /* uint64_t; uint32_t */
    uint32_t count, mark;
};

/* ------------------------------------------------------------------ rows */

/* compose_gather: lists the states of the directory's entries first .. last-1 in order; or those of
 * the numbers first .. last-1. */
struct compose_gather_arguments {
    struct compose_set set;
    uint64_t first, last;
    uint64_t out; /* uint64_t */
};

struct compose_row_place {
    uint64_t first, count; /* where the row's transitions are, and how many */
};

/* compose_rows: writes the transitions of the states, each row contiguously anywhere in the arrays.
 * If `taken` ends up above `room`, rows that did not fit are missing. */
struct compose_rows_arguments {
    struct compose_firings firings;
    struct compose_set set;
    uint64_t states; /* uint64_t */
    uint64_t count;
    uint64_t rows;    /* struct compose_row_place, one for each state */
    uint64_t targets; /* uint64_t: ranks */
    uint64_t names;   /* uint64_t: label_words words each */
    uint64_t labels;  /* uint64_t: of the firings */
    uint64_t room;    /* transitions */
    uint64_t taken;   /* uint64_t */
    uint32_t label_words;
    uint32_t joint;
};

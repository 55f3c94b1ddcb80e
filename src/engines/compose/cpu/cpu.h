/*
 * The inside of the `cpu` engine.
 *
 * States are found by indivisible firings alone and kept in one of three ways:
 *
 *   a hash table of words of 64 neighbouring states (cpu/cells.c, explore/cells.h), for circuits
 * whose state fits a word. Each thread owns a part of the words and nobody else touches it: what a
 *   thread finds for others it writes to them.
 *
 *   a hash table of packed states (cpu/hash.c), for any circuit; divided in the same way, but the
 *   threads meet to hand over what they have found.
 *
 *   a bitmap (explore/space.h, cpu/bitmap.c), one bit for every combination of local states, where
 * there is memory for that. The threads go over it again and again; each looks at words of 64
 * neighbouring states at a time and fires whole words: a mask picks the states of the word in which
 * a firing can happen, a shift moves them to where it leads.
 *
 * It starts with the bitmap where that is small; otherwise with a table, and turns to the bitmap as
 * soon as the states found would fill it well enough.
 *
 * Then the states are counted through (cpu/count.c), numbered by rank (explore/space.h), delivered
 * (cpu/rows.c), and the ways to deadlocks are searched for (cpu/trace.c).
 */
#pragma once

#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/enabled_firings.h"
#include "engines/compose/explore/space.h"
#include "foundation/base/meter.h"
#include "foundation/base/threads/thread_pool.h"

#include <stdatomic.h>

struct table;
struct word_shards;

struct cpu {
    const gordian_circuit *circuit;
    const gordian_compose_options *options;
    gordian_compose_result *result;
    struct meter meter;
    struct thread_pool *workers;
    struct firings firings;
    struct packing packing;
    struct grid grid; /* words 0: there is none */
    bool by_states;   /* in a table of states even if words would do */
    struct word_shards *shards;
    struct table *table;
    struct space space;   /* the states found */
    struct scene *scenes; /* one a thread */
    unsigned scene_count;

    _Atomic uint64_t states, transitions, waiting, written;
    uint64_t stuck; /* deadlocks met while the states were found; all of them if `met` */
    bool met;
    uint64_t *example; /* one of them: a packed state */
    _Atomic bool has_example;
    uint64_t unlooked; /* states that were found and not looked at, of a run that was stopped */
    uint64_t grace;    /* until then (clock_ns) a stop is not obeyed; 0: it is */
    _Atomic bool halt; /* whoever sees it stops */
    _Atomic uint32_t reason; /* gordian_compose_stop */
    unsigned pass;
};

/* Ready to look for the states of a circuit, or to be given them in `space`. On failure there is
 * nothing left to be closed but what cpu_close closes. */
gordian_status cpu_open(struct cpu *cpu, const gordian_circuit *circuit,
                        const gordian_compose_options *options, gordian_compose_result *result,
                        gordian_error *error);
void cpu_close(struct cpu *cpu);

/* The engine, but with a table of states wherever words would do: what the words are measured and
 * tested against. */
gordian_status cpu_run_by_states(const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 gordian_error *error);

/* Makes everybody stop, for the first reason given. */
void cpu_halt(struct cpu *cpu, gordian_compose_stop reason);
static inline bool cpu_halted(struct cpu *cpu)
{
    return atomic_load_explicit(&cpu->halt, memory_order_relaxed);
}
/* Runs a piece of work on all threads, progress reported meanwhile. */
void cpu_work(struct cpu *cpu, void (*work)(void *context, unsigned member), void *context);
/* Waits for work that thread_pool_start has begun, progress reported meanwhile. */
void cpu_wait(struct cpu *cpu);
/* For long work on the caller's own thread: reports progress; true: go on. */
bool cpu_report(struct cpu *cpu);
/* A deadlock was met: it is the example, if it is the first. */
void cpu_note_stuck(struct cpu *cpu, const uint64_t *state);

/* A firing on 64 neighbouring states at once: the states of a word of the grid. */
struct wide_firing {
    uint64_t mask, value; /* of the base: what it asks of the factors outside the word */
    uint64_t places;      /* what it asks of those inside: the states in which that holds */
    int64_t delta;        /* to the word it leads to */
    int shift;            /* and to the place */
    bool rivals;
};

/* One for every listed firing; `wide` has room for them. */
void wide_firings(struct wide_firing *wide, const struct packing *packing, const struct grid *grid);

static inline bool wide_fits(const struct wide_firing *firing, uint64_t base)
{
    return (base & firing->mask) == firing->value;
}

static inline uint64_t wide_shift(const struct wide_firing *firing, uint64_t states)
{
    return firing->shift >= 0 ? states << firing->shift : states >> -firing->shift;
}

/* cpu/cells.c: finds states with a table of words, of circuits for which it can. It ends as
 * cpu_hash does. */
bool word_shards_can(const struct cpu *cpu);
gordian_status cpu_cells(struct cpu *cpu, gordian_error *error);
/* The shards' states as a sorted space; the shards are gone then. */
gordian_status word_shards_sort(struct cpu *cpu, gordian_error *error);
void word_shards_free(struct cpu *cpu);
uint64_t word_shards_unlooked(const struct cpu *cpu);
/* What a thread has found. */
const struct cell *word_shards_cells(const struct cpu *cpu, unsigned member, size_t *count);
/* Gives the deadlocks described their numbers. */
void word_shards_number(struct cpu *cpu);

/* cpu/hash.c: finds states with the table. It ends with everything found, with the reason to stop
 * in cpu->reason, or with cpu->space a bitmap for cpu_bitmap to go on from. */
gordian_status cpu_hash(struct cpu *cpu, gordian_error *error);
/* The table's states as a sorted space; the table is gone then. */
gordian_status cpu_sort(struct cpu *cpu, gordian_error *error);
void table_free(struct cpu *cpu);
/* States that were found and have not been looked at. */
uint64_t table_unlooked(const struct table *table);
/* Calls `each` for the states of one part, each in `state`, which has room for one. There are as
 * many parts as threads. */
void table_each(const struct table *table, unsigned part, uint64_t *state,
                void (*each)(void *context, const uint64_t *state), void *context);
/* The same for those of them that have not been looked at. */
void table_each_waiting(const struct table *table, unsigned part, uint64_t *state,
                        void (*each)(void *context, const uint64_t *state), void *context);

/* cpu/bitmap.c: an empty bitmap in cpu->space; from there all states. */
bool cpu_bitmap_open(struct cpu *cpu);
void cpu_bitmap_put(struct cpu *cpu, uint64_t state, bool done);
/* All of a cell, which is the first for its word. */
void cpu_bitmap_take(struct cpu *cpu, const struct cell *cell);
gordian_status cpu_bitmap(struct cpu *cpu, gordian_error *error);

/* cpu/count.c: transitions and deadlocks of everything found; transitions of all combinations. */
gordian_status cpu_count(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error);
gordian_status cpu_count_full(struct cpu *cpu, gordian_error *error);
/* Deadlocks among the states that were found and not looked at, of a run that was stopped. */
gordian_status cpu_count_unlooked(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error);
/* Deadlocks among those of the states found, which have numbers, that are in `within`, too. */
gordian_status cpu_count_dead(struct cpu *cpu, const struct space *within, uint64_t *deadlocks,
                              gordian_error *error);
/* Can anything happen in the state? False: no, or the firings are not listed. */
bool cpu_can_fire(const struct cpu *cpu, const uint64_t *state);
/* So many of the deadlocks are described. */
size_t cpu_described(const struct cpu *cpu);

/* cpu/rows.c */
gordian_status cpu_deliver(struct cpu *cpu, const struct space *space,
                           const gordian_compose_sink *sink, gordian_error *error);
/* Transitions among the states of a space that is not closed under them; cpu_count_stopped leaves
 * them out if that would take too long, or ctrl-C was pressed. */
gordian_status cpu_count_among(struct cpu *cpu, const struct space *space, gordian_error *error);
gordian_status cpu_count_stopped(struct cpu *cpu, const struct space *space, gordian_error *error);

/* cpu/trace.c: fills result->found with the nearest cpu_described deadlocks of a space, which are
 * among `numbers`: there their numbers come from. NULL: they are left open. */
gordian_status cpu_trace(struct cpu *cpu, const struct space *space, const struct space *numbers,
                         gordian_error *error);
/* Describes deadlocks that were found: numbers in the space. `before`, by number: 1 + the one it
 * was reached from, or 1 + itself. */
gordian_status cpu_describe(struct cpu *cpu, const struct space *space, uint32_t *before,
                            uint64_t *found, size_t count, gordian_error *error);
/* Describes the example, without a way. What cannot be allocated is left out. */
static inline void cpu_describe_example(struct cpu *cpu)
{
    if (atomic_load(&cpu->has_example) && cpu->options->max_deadlocks > 0)
        packing_describe(&cpu->packing, cpu->example, cpu->result);
}
/* The same for deadlocks that are near, if they are (*done), of a run that is complete,
 * without its states. Numbers are left open. */
gordian_status cpu_trace_near(struct cpu *cpu, bool *done, gordian_error *error);

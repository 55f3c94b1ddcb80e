/*
 * Internal header of the `cpu` engine.
 *
 * It finds states with indivisible firings only, and stores them in one of three structures:
 * - A hash table of words of 64 neighbouring states (cpu/cells.c, explore/cells.h), for circuits
 *   whose state fits a word. Each thread owns a part of the words, and only that thread accesses
 *   it. Threads send states to their owners.
 * - A hash table of packed states (cpu/hash.c), for any circuit. It is divided in the same way, but
 *   the threads synchronize to exchange states.
 * - A bitmap (explore/space.h, cpu/bitmap.c) with one bit for every combination of local states, if
 *   there is memory for it. The threads sweep over it repeatedly. Each processes words of 64
 *   neighbouring states and fires whole words: a mask selects the states of the word in which a
 *   firing is enabled, and a shift moves them to their successors.
 *
 * A small bitmap is used from the start. Otherwise the engine starts with a table, and switches to
 * a bitmap as soon as the states found would fill it well enough.
 *
 * Then it counts transitions and deadlocks (cpu/count.c), numbers the states by rank
 * (explore/space.h), delivers them (cpu/rows.c), and searches the paths to deadlocks (cpu/trace.c).
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
    struct grid grid; /* words 0: none */
    bool by_states;   /* uses a table of states even if a table of words is possible */
    struct word_shards *shards;
    struct table *table;
    struct space space;        /* the states found */
    struct firing_view *views; /* one per thread */
    unsigned firing_view_count;

    _Atomic uint64_t states, transitions, waiting, written;
    uint64_t stuck; /* deadlocks found during the search; all of them if `met` */
    bool met;
    uint64_t *example; /* a deadlock: a packed state */
    _Atomic bool has_example;
    uint64_t unexpanded;     /* states of a stopped run that have not fired yet */
    uint64_t grace;          /* stop requests are ignored until this time (clock_ns); 0: never */
    _Atomic bool halt;       /* all threads stop when it is set */
    _Atomic uint32_t reason; /* gordian_compose_stop */
    unsigned pass;
};

/* Prepares the engine to search the states of a circuit, or to be given them in `space`. After a
 * failure the caller must call cpu_close. */
gordian_status cpu_open(struct cpu *cpu, const gordian_circuit *circuit,
                        const gordian_compose_options *options, gordian_compose_result *result,
                        gordian_error *error);
void cpu_close(struct cpu *cpu);

/* The engine with a table of states even if a table of words is possible. Tests and measurements
 * compare the two. */
gordian_status cpu_run_by_states(const gordian_circuit *circuit,
                                 const gordian_compose_options *options,
                                 const gordian_compose_sink *sink, gordian_compose_result *result,
                                 gordian_error *error);

/* Stops all threads. The first reason is kept. */
void cpu_halt(struct cpu *cpu, gordian_compose_stop reason);
static inline bool cpu_halted(struct cpu *cpu)
{
    return atomic_load_explicit(&cpu->halt, memory_order_relaxed);
}
/* Runs work on all threads and reports progress. */
void cpu_work(struct cpu *cpu, void (*work)(void *context, unsigned member), void *context);
/* Waits for work started with thread_pool_start and reports progress. */
void cpu_wait(struct cpu *cpu);
/* Reports progress during long work on the caller's thread. True: continue. */
bool cpu_report(struct cpu *cpu);
/* Records the first deadlock as the example. */
void cpu_record_deadlock(struct cpu *cpu, const uint64_t *state);

/* A firing of 64 neighbouring states at once: the states of a word of the grid. */
struct wide_firing {
    uint64_t mask, value; /* condition on the base: the factors outside the word */
    uint64_t places; /* condition on the factors inside: the states of the word that satisfy it */
    int64_t delta;   /* to the target word */
    int shift;       /* to the target position in the word */
    bool rivals;
};

/* One for every listed firing; `wide` has capacity for them. */
void wide_firings(struct wide_firing *wide, const struct packing *packing, const struct grid *grid);

static inline bool wide_fits(const struct wide_firing *firing, uint64_t base)
{
    return (base & firing->mask) == firing->value;
}

static inline uint64_t wide_shift(const struct wide_firing *firing, uint64_t states)
{
    return firing->shift >= 0 ? states << firing->shift : states >> -firing->shift;
}

/* cpu/cells.c: finds states with a table of words, if word_shards_can. It ends like cpu_hash. */
bool word_shards_can(const struct cpu *cpu);
gordian_status cpu_cells(struct cpu *cpu, gordian_error *error);
/* Turns the states of the shards into a sorted space and frees the shards. */
gordian_status word_shards_sort(struct cpu *cpu, gordian_error *error);
void word_shards_free(struct cpu *cpu);
uint64_t word_shards_unexpanded(const struct cpu *cpu);
/* The cells that a thread has found. */
const struct cell *word_shards_cells(const struct cpu *cpu, unsigned member, size_t *count);
/* Numbers the described deadlocks. */
void word_shards_number(struct cpu *cpu);

/* cpu/hash.c: finds states with a table. It ends when all states are found, with the reason to stop
 * in cpu->reason, or with a bitmap in cpu->space, from which cpu_bitmap continues. */
gordian_status cpu_hash(struct cpu *cpu, gordian_error *error);
/* Turns the states of the table into a sorted space and frees the table. */
gordian_status cpu_sort(struct cpu *cpu, gordian_error *error);
void table_free(struct cpu *cpu);
/* The number of states that have not fired yet. */
uint64_t table_unexpanded(const struct table *table);
/* Calls `each` for the states of one part, each in `state`, which has capacity for one. There is
 * one part per thread. */
void table_each(const struct table *table, unsigned part, uint64_t *state,
                void (*each)(void *context, const uint64_t *state), void *context);
/* The same for the states that have not fired yet. */
void table_each_waiting(const struct table *table, unsigned part, uint64_t *state,
                        void (*each)(void *context, const uint64_t *state), void *context);

/* cpu/bitmap.c: opens an empty bitmap in cpu->space; cpu_bitmap finds all states from there. */
bool cpu_bitmap_open(struct cpu *cpu);
void cpu_bitmap_put(struct cpu *cpu, uint64_t state, bool done);
/* Stores a whole cell; its word must be empty. */
void cpu_bitmap_take(struct cpu *cpu, const struct cell *cell);
gordian_status cpu_bitmap(struct cpu *cpu, gordian_error *error);

/* cpu/count.c: counts transitions and deadlocks of the states found; cpu_count_full counts the
 * transitions of all combinations. */
gordian_status cpu_count(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error);
gordian_status cpu_count_full(struct cpu *cpu, gordian_error *error);
/* Counts the deadlocks among the states of a stopped run that have not fired yet. */
gordian_status cpu_count_unexpanded(struct cpu *cpu, uint64_t *deadlocks, gordian_error *error);
/* Counts the deadlocks among the numbered states that are also in `within`. */
gordian_status cpu_count_dead(struct cpu *cpu, const struct space *within, uint64_t *deadlocks,
                              gordian_error *error);
/* Is a firing enabled in the state? False: no, or the firings are not listed. */
bool cpu_can_fire(const struct cpu *cpu, const uint64_t *state);
/* The number of deadlocks that are described. */
size_t cpu_described(const struct cpu *cpu);

/* cpu/rows.c */
gordian_status cpu_deliver(struct cpu *cpu, const struct space *space,
                           const gordian_compose_sink *sink, gordian_error *error);
/* Counts the transitions among the states of a space that is not closed under them.
 * cpu_count_stopped omits the count if it would take too long, or after ctrl-C. */
gordian_status cpu_count_among(struct cpu *cpu, const struct space *space, gordian_error *error);
gordian_status cpu_count_stopped(struct cpu *cpu, const struct space *space, gordian_error *error);

/* cpu/trace.c: fills result->found with the nearest cpu_described deadlocks of a space. Their
 * numbers are those in `numbers`; NULL: they get no numbers. */
gordian_status cpu_trace(struct cpu *cpu, const struct space *space, const struct space *numbers,
                         gordian_error *error);
/* Describes deadlocks that were found, as numbers in the space. `before`, by number: 1 + the
 * predecessor, or 1 + the number itself. */
gordian_status cpu_describe(struct cpu *cpu, const struct space *space, uint32_t *before,
                            uint64_t *found, size_t count, gordian_error *error);
/* Describes the example without a path. Omits what cannot be allocated. */
static inline void cpu_describe_example(struct cpu *cpu)
{
    if (atomic_load(&cpu->has_example) && cpu->options->max_deadlocks > 0)
        packing_describe(&cpu->packing, cpu->example, cpu->result);
}
/* Finds near deadlocks of a complete run without its states, if there are any (*done). They get no
 * numbers. */
gordian_status cpu_trace_near(struct cpu *cpu, bool *done, gordian_error *error);

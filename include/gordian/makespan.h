/*
 * How long can a group of GPU warps take on one streaming multiprocessor? All run the same string
 * of instructions; letters A to Z name the kind of unit an instruction needs: by custom L
 * (load/store), C (CUDA cores), S (special functions), D (double precision), T (tensor cores). A
 * unit starts so many warps' instructions a cycle, the schedulers so many in all, a warp one; each
 * takes a cycle. Whatever can run does run; who goes first nobody promises. The *makespan* is the
 * length of such a schedule; the longest is the worst case, the shortest the best.
 *
 * A part of <gordian/gordian.h>, which includes it and has the conventions.
 */
#ifndef GORDIAN_MAKESPAN_H
#define GORDIAN_MAKESPAN_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORDIAN_MAKESPAN_TYPES      26
#define GORDIAN_MAKESPAN_MAX_WARPS  256
#define GORDIAN_MAKESPAN_MAX_LENGTH 65536 /* instructions of a warp, normalised */
#define GORDIAN_MAKESPAN_MAX_ISSUE  4
#define GORDIAN_MAKESPAN_MAX_WORK   4194304 /* instructions of all warps, normalised */

/* A kind of unit. Give `units`, the warps that can start a cycle; or `lanes`, the units in
 * hardware: fewer than a warp's threads make several instructions of one. */
typedef struct gordian_unit {
    char letter;
    uint32_t units;   /* 0: see lanes */
    uint32_t lanes;   /* looked at when units is 0; both 0: there are none */
    uint32_t latency; /* cycles an instruction keeps its unit; 0 means 1 */
    /* 0: always so many. Otherwise each time a number from latency to this, that nobody promises.
     */
    uint32_t latency_most;
} gordian_unit;

/* What a unit comes to with warps of so many threads (0 means 32): how many of them start a cycle
 * (0: none), and in *cycles the cycles that one instruction of the kernel stands for, at most. */
GORDIAN_API uint32_t gordian_unit_starts(const gordian_unit *unit, uint32_t warp_size,
                                         uint64_t *cycles);

typedef struct gordian_makespan_problem {
    const char *kernel; /* letters */
    size_t length;      /* of it */
    uint32_t warps;
    uint32_t schedulers; /* starts a cycle in all; 0: no bound */
    uint32_t warp_size;  /* threads; 0 means 32 */
    uint32_t issue;      /* instructions of a warp that may start in a cycle, one after another in
                            the kernel; 0 means 1. With more, schedulers bound the warps a cycle. */
    const gordian_unit *units;
    size_t unit_count;
} gordian_makespan_problem;

/* What a real chip's multiprocessor has. */
typedef struct gordian_chip {
    const char *name;  /* "hopper" */
    const char *title; /* "NVIDIA Hopper (GH100, compute capability 9.0)" */
    uint32_t schedulers;
    uint32_t max_warps;        /* that can be resident */
    const gordian_unit *units; /* `lanes`, and in `latency` the cycles until the next instruction
                                  can follow: 1 where the units are pipelined */
    size_t unit_count;
    const uint32_t *latencies; /* one a unit: cycles until a result can be used, for those who want
                                  the pessimistic model of units that are not pipelined */
    const char *source;        /* where the figures are published */
} gordian_chip;

/* Chip number `index`, from 0; GORDIAN_STATUS_END past the last one. */
GORDIAN_API gordian_status gordian_chip_info(size_t index, gordian_chip *chip);

typedef struct gordian_makespan gordian_makespan;

/* Checks the problem and normalises it; nothing of `problem` is needed afterwards. */
GORDIAN_API gordian_status gordian_makespan_open(gordian_makespan **out,
                                                 const gordian_makespan_problem *problem,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
GORDIAN_API void gordian_makespan_close(gordian_makespan *makespan);

/* How many warps there are, the normalised string, and for a letter what can start a cycle (0: the
 * string has none). */
GORDIAN_API uint32_t gordian_makespan_warps(const gordian_makespan *makespan);
GORDIAN_API const char *gordian_makespan_kernel(const gordian_makespan *makespan);
GORDIAN_API uint32_t gordian_makespan_length(const gordian_makespan *makespan);
GORDIAN_API uint32_t gordian_makespan_units(const gordian_makespan *makespan, char letter);

typedef enum gordian_makespan_goal {
    GORDIAN_MAKESPAN_GOAL_WORST = 0,
    GORDIAN_MAKESPAN_GOAL_BEST,
} gordian_makespan_goal;

/* What a chain of annealing starts from: the paper's templates. */
typedef enum gordian_makespan_start {
    GORDIAN_MAKESPAN_START_ALL = 0, /* the four in turn, chain by chain */
    GORDIAN_MAKESPAN_START_ROUND_ROBIN,
    GORDIAN_MAKESPAN_START_FIXED_PRIORITY,
    GORDIAN_MAKESPAN_START_MOST_PENDING, /* who has the most instructions left goes first */
    GORDIAN_MAKESPAN_START_RANDOM,
} gordian_makespan_start;

/* "all", "round-robin", ...; NULL: not one of them. */
GORDIAN_API const char *gordian_makespan_start_text(gordian_makespan_start start);

/* A chain has a better schedule than it had; what it starts from is its first. */
typedef struct gordian_makespan_improvement {
    double seconds;               /* since the solve began */
    double chain_seconds;         /* since the chain began */
    uint64_t chain;               /* from 0 */
    gordian_makespan_start start; /* ALL: no chain found it but an exact search */
    uint64_t step;                /* evaluations of the chain until then */
    uint32_t value;               /* cycles */
} gordian_makespan_improvement;

typedef enum gordian_makespan_stop {
    GORDIAN_MAKESPAN_STOP_DONE = 0, /* exact, or all evaluations made */
    GORDIAN_MAKESPAN_STOP_TIME,
    GORDIAN_MAKESPAN_STOP_MEMORY,
    GORDIAN_MAKESPAN_STOP_STOPPED, /* go_on said so */
} gordian_makespan_stop;

typedef struct gordian_makespan_progress {
    uint32_t lower, upper; /* certain so far */
    uint64_t evaluations;  /* schedules built */
    uint64_t states;       /* of exact bounds and search */
    uint64_t memory;       /* bytes held now */
    const char *phase;     /* "annealing", "bounding", "searching" */
} gordian_makespan_progress;

typedef struct gordian_makespan_options {
    const char *engine; /* "auto" (default), "anneal", "exact", "cuda" */
    gordian_makespan_goal goal;
    uint64_t seed;        /* 1. Same seed and chains: same answer, whatever the threads */
    uint32_t chains;      /* 8 */
    uint64_t evaluations; /* of each chain: 2,000,000; the exact engine makes a few of its own */
    double temperature;   /* to start from: 0.3, falling linearly to 0 */
    bool published;       /* anneal as published: swaps only */
    gordian_makespan_start start;
    unsigned threads;    /* 0: as many as the machine has cores */
    uint64_t max_memory; /* bytes; 0: no limit */
    uint64_t max_ns;     /* nanoseconds; 0: no limit */
    /* Called now and then, at least ten times a second, on the thread that called; false stops.
     * NULL: never. */
    bool (*go_on)(void *context, const gordian_makespan_progress *progress);
    /* Told of what each chain finds, on whichever thread, one call at a time; "cuda" looks after
     * every launch; "mpi" at every meeting, for the best chain, with the evaluations of all. NULL:
     * nobody. */
    void (*improved)(void *context, const gordian_makespan_improvement *improvement);
    void *context;
} gordian_makespan_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_makespan_options_init(gordian_makespan_options *options);

/* The lists belong to the makespan and stay valid until the next solve. */
typedef struct gordian_makespan_answer {
    uint32_t lower, upper;   /* the true value is certain to be within */
    bool exact;              /* they are the same */
    const uint32_t *witness; /* the schedule that reaches `lower` (worst) or `upper` (best): warps
                                from 1, in order of their cycles */
    const uint32_t *cycles;  /* from 1 */
    const uint32_t *pieces;  /* where in gordian_makespan_kernel each entry is, from 1: in order,
                                but for those that shorter latencies leave out */
    size_t witness_count;
    uint64_t evaluations, states, memory;
    gordian_makespan_stop stop;
    const char *engine;
    const char *note; /* "": nothing */
    double seconds;
} gordian_makespan_answer;

/* `options` NULL: the defaults. */
GORDIAN_API gordian_status gordian_makespan_solve(gordian_makespan *makespan,
                                                  const gordian_makespan_options *options,
                                                  gordian_makespan_answer *answer,
                                                  gordian_error *error);

/* The schedule that a pseudo-precedence string stands for: every warp, from 1, as often as the
 * kernel has instructions; each entry goes to the earliest cycle that fits. `cycles`, from 1, may
 * be NULL. */
GORDIAN_API gordian_status gordian_makespan_build(const gordian_makespan *makespan,
                                                  const uint32_t *witness, size_t count,
                                                  uint32_t *cycles, uint32_t *length,
                                                  gordian_error *error);
/* Is this a work-conserving schedule? GORDIAN_STATUS_INPUT, and why, if not. */
GORDIAN_API gordian_status gordian_makespan_check(const gordian_makespan *makespan,
                                                  const uint32_t *witness, const uint32_t *cycles,
                                                  size_t count, gordian_error *error);
/* The same where latencies are within intervals: with the piece that each entry is. */
GORDIAN_API gordian_status gordian_makespan_check_pieces(const gordian_makespan *makespan,
                                                         const uint32_t *witness,
                                                         const uint32_t *pieces,
                                                         const uint32_t *cycles, size_t count,
                                                         gordian_error *error);

/* Blocks of warps that are dealt out to several multiprocessors when they start. Which one gets
 * which, and how many, nobody promises, but that none gets more than `resident`. */
typedef struct gordian_makespan_dealing {
    uint32_t blocks, multiprocessors;
    uint32_t resident; /* 0: as few as can be: blocks / multiprocessors, rounded up */
} gordian_makespan_dealing;

/* How many blocks the multiprocessor has that decides: all of them end with a problem of so many
 * times the block's warps (problem.warps). Multiprocessors do not wait for each other, and more
 * warps never make the worst or the best case shorter; so in the worst case it is the one with the
 * most blocks that can be dealt to one, in the best case with the fewest that the fullest can have.
 * GORDIAN_STATUS_INPUT: no blocks or multiprocessors, or some blocks would have to wait for others
 * to end. */
GORDIAN_API gordian_status gordian_makespan_fullest(const gordian_makespan_dealing *dealing,
                                                    gordian_makespan_goal goal, uint32_t *blocks,
                                                    gordian_error *error);

/* Writes the question as an integer program in the LP format of CPLEX, which solvers read: its
 * optimum, `makespan`, is the worst or the best case. Only small ones can be solved.
 * GORDIAN_STATUS_INPUT: it would have more than 50 million variables. GORDIAN_STATUS_IO: the writer
 * failed. */
GORDIAN_API gordian_status gordian_makespan_lp(const gordian_makespan *makespan,
                                               gordian_makespan_goal goal,
                                               const gordian_writer *writer, gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif

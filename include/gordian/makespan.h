/*
 * Bounds for the execution time of a group of GPU warps on one streaming multiprocessor. All warps
 * run the same string of instructions. Letters A to Z name the kind of unit that an instruction
 * needs: by convention L (load/store), C (CUDA cores), S (special functions), D (double precision),
 * T (tensor cores).
 *
 * In a cycle, a limited number of instructions can start: for each kind of unit, for all schedulers
 * together, and one for each warp. Each instruction takes one cycle. An instruction that can run
 * does run, but the order in which warps are selected is not specified. The *makespan* is the
 * length of such a schedule. The longest is the worst case, the shortest the best.
 *
 * This is a part of <gordian/gordian.h>, which includes it and documents the conventions.
 */
#ifndef GORDIAN_MAKESPAN_H
#define GORDIAN_MAKESPAN_H

#include <gordian/gordian.h>

#ifdef __cplusplus
extern "C" {
#endif

#define GORDIAN_MAKESPAN_TYPES      26
#define GORDIAN_MAKESPAN_MAX_WARPS  256
#define GORDIAN_MAKESPAN_MAX_LENGTH 65536 /* instructions of a warp, after normalisation */
#define GORDIAN_MAKESPAN_MAX_ISSUE  4
#define GORDIAN_MAKESPAN_MAX_WORK   4194304 /* instructions of all warps, after normalisation */

/* A kind of unit. Set `units`, the number of warps that can start in a cycle, or `lanes`, the
 * number of hardware lanes. If there are fewer lanes than threads in a warp, one instruction
 * becomes several. */
typedef struct gordian_unit {
    char letter;
    uint32_t units;   /* 0: see lanes */
    uint32_t lanes;   /* used if units is 0; both 0: there are no units */
    uint32_t latency; /* cycles an instruction keeps its unit; 0 means 1 */
    /* 0: the latency is fixed. Otherwise it is any number from `latency` to this, chosen anew each
     * time. */
    uint32_t latency_most;
} gordian_unit;

/* Returns how many instructions of a kind can start in a cycle with warps of this size (0 means
 * 32); 0: none. *cycles is the maximum number of cycles that one instruction stands for. */
GORDIAN_API uint32_t gordian_unit_starts(const gordian_unit *unit, uint32_t warp_size,
                                         uint64_t *cycles);

typedef struct gordian_makespan_problem {
    const char *kernel; /* letters */
    size_t length;      /* of kernel */
    uint32_t warps;
    uint32_t schedulers; /* instructions that can start in a cycle in total; 0: no bound */
    uint32_t warp_size;  /* threads; 0 means 32 */
    uint32_t issue; /* consecutive instructions of a warp that may start in a cycle; 0 means 1. If
                       it is larger, schedulers limits the warps per cycle */
    const gordian_unit *units;
    size_t unit_count;
} gordian_makespan_problem;

/* The multiprocessor of a real chip. */
typedef struct gordian_chip {
    const char *name;  /* "hopper" */
    const char *title; /* "NVIDIA Hopper (GH100, compute capability 9.0)" */
    uint32_t schedulers;
    uint32_t max_warps;        /* maximum number of resident warps */
    const gordian_unit *units; /* `lanes`; `latency` is the cycles until the next instruction can
                                  follow: 1 for pipelined units */
    size_t unit_count;
    const uint32_t *latencies; /* for each unit, the cycles until a result can be used, for the
                                  pessimistic model of units that are not pipelined */
    const char *source;        /* where the figures are published */
} gordian_chip;

/* Describes chip number `index`, from 0. GORDIAN_STATUS_END after the last one. */
GORDIAN_API gordian_status gordian_chip_info(size_t index, gordian_chip *chip);

typedef struct gordian_makespan gordian_makespan;

/* Checks the problem and normalises it. `problem` is not needed afterwards. */
GORDIAN_API gordian_status gordian_makespan_open(gordian_makespan **out,
                                                 const gordian_makespan_problem *problem,
                                                 const gordian_allocator *allocator,
                                                 gordian_error *error);
GORDIAN_API void gordian_makespan_close(gordian_makespan *makespan);

/* Return the number of warps, the normalised string, its length, and for a letter how many
 * instructions can start in a cycle (0: the string has none). */
GORDIAN_API uint32_t gordian_makespan_warps(const gordian_makespan *makespan);
GORDIAN_API const char *gordian_makespan_kernel(const gordian_makespan *makespan);
GORDIAN_API uint32_t gordian_makespan_length(const gordian_makespan *makespan);
GORDIAN_API uint32_t gordian_makespan_units(const gordian_makespan *makespan, char letter);

typedef enum gordian_makespan_goal {
    GORDIAN_MAKESPAN_GOAL_WORST = 0,
    GORDIAN_MAKESPAN_GOAL_BEST,
} gordian_makespan_goal;

/* The initial string of an annealing chain: the templates of the paper. */
typedef enum gordian_makespan_start {
    GORDIAN_MAKESPAN_START_ALL = 0, /* the four in turn, one for each chain */
    GORDIAN_MAKESPAN_START_ROUND_ROBIN,
    GORDIAN_MAKESPAN_START_FIXED_PRIORITY,
    GORDIAN_MAKESPAN_START_MOST_PENDING, /* the warp with the most remaining instructions first */
    GORDIAN_MAKESPAN_START_RANDOM,
} gordian_makespan_start;

/* "all", "round-robin", ...; NULL for other values. */
GORDIAN_API const char *gordian_makespan_start_text(gordian_makespan_start start);

/* A chain has found a better schedule. The first one is its initial schedule. */
typedef struct gordian_makespan_improvement {
    double seconds;               /* since the solve started */
    double chain_seconds;         /* since the chain started */
    uint64_t chain;               /* from 0 */
    gordian_makespan_start start; /* ALL: found by an exact search, not by a chain */
    uint64_t step;                /* evaluations of the chain so far */
    uint32_t value;               /* cycles */
} gordian_makespan_improvement;

typedef enum gordian_makespan_stop {
    GORDIAN_MAKESPAN_STOP_DONE = 0, /* exact, or all evaluations made */
    GORDIAN_MAKESPAN_STOP_TIME,
    GORDIAN_MAKESPAN_STOP_MEMORY,
    GORDIAN_MAKESPAN_STOP_STOPPED, /* go_on returned false */
} gordian_makespan_stop;

typedef struct gordian_makespan_progress {
    uint32_t lower, upper; /* proved so far */
    uint64_t evaluations;  /* schedules built */
    uint64_t states;       /* of exact bounds and search */
    uint64_t memory;       /* bytes held now */
    const char *phase;     /* "annealing", "bounding", "searching" */
} gordian_makespan_progress;

typedef struct gordian_makespan_options {
    const char *engine; /* "auto" (default), "anneal", "exact", "cuda" */
    gordian_makespan_goal goal;
    uint64_t seed; /* 1 by default. Same seed and chains: same answer, with any number of threads */
    uint32_t chains;      /* 8 by default */
    uint64_t evaluations; /* of each chain: 2,000,000; the exact engine makes a few itself */
    double temperature;   /* initial temperature: 0.3 by default, falling linearly to 0 */
    bool published;       /* anneal as published: only swaps */
    gordian_makespan_start start;
    unsigned threads;    /* 0: one per core */
    uint64_t max_memory; /* bytes; 0: no limit */
    uint64_t max_ns;     /* nanoseconds; 0: no limit */
    /* Called at least ten times a second, on the calling thread. Returning false stops the solve.
     * NULL: not called. */
    bool (*go_on)(void *context, const gordian_makespan_progress *progress);
    /* Called for each improvement of a chain, on any thread, one call at a time. "cuda" reports
     * after every launch. "mpi" reports at every synchronisation, for the best chain, with the
     * evaluations of all chains. NULL: not called. */
    void (*improved)(void *context, const gordian_makespan_improvement *improvement);
    void *context;
} gordian_makespan_options;

/* Sets every option to its default. */
GORDIAN_API void gordian_makespan_options_init(gordian_makespan_options *options);

/* The lists belong to the makespan and are valid until the next solve. */
typedef struct gordian_makespan_answer {
    uint32_t lower, upper;   /* the true value is certain to be in this interval */
    bool exact;              /* lower and upper are equal */
    const uint32_t *witness; /* the schedule that reaches `lower` (worst) or `upper` (best): warps
                                from 1, in order of their cycles */
    const uint32_t *cycles;  /* from 1 */
    const uint32_t *pieces;  /* index in gordian_makespan_kernel of each entry, from 1: in order,
                                without the pieces that shorter latencies leave out */
    size_t witness_count;
    uint64_t evaluations, states, memory;
    gordian_makespan_stop stop;
    const char *engine;
    const char *note; /* "": none */
    double seconds;
} gordian_makespan_answer;

/* `options` NULL: the defaults. */
GORDIAN_API gordian_status gordian_makespan_solve(gordian_makespan *makespan,
                                                  const gordian_makespan_options *options,
                                                  gordian_makespan_answer *answer,
                                                  gordian_error *error);

/* Builds the schedule of a pseudo-precedence string, which lists every warp, from 1, as often as
 * the kernel has instructions. Each entry runs in the earliest cycle that fits. `cycles`, from 1,
 * may be NULL. */
GORDIAN_API gordian_status gordian_makespan_build(const gordian_makespan *makespan,
                                                  const uint32_t *witness, size_t count,
                                                  uint32_t *cycles, uint32_t *length,
                                                  gordian_error *error);
/* Checks that this is a work-conserving schedule. Otherwise GORDIAN_STATUS_INPUT, with the
 * reason. */
GORDIAN_API gordian_status gordian_makespan_check(const gordian_makespan *makespan,
                                                  const uint32_t *witness, const uint32_t *cycles,
                                                  size_t count, gordian_error *error);
/* The same for latencies within intervals, with the piece of each entry. */
GORDIAN_API gordian_status gordian_makespan_check_pieces(const gordian_makespan *makespan,
                                                         const uint32_t *witness,
                                                         const uint32_t *pieces,
                                                         const uint32_t *cycles, size_t count,
                                                         gordian_error *error);

/* Blocks of warps that are assigned to several multiprocessors when they start. The assignment is
 * not specified, except that no multiprocessor gets more than `resident` blocks. */
typedef struct gordian_makespan_dealing {
    uint32_t blocks, multiprocessors;
    uint32_t resident; /* 0: the minimum possible: blocks / multiprocessors, rounded up */
} gordian_makespan_dealing;

/* Returns the number of blocks on the multiprocessor that determines the answer. The answer is that
 * of a problem with this number times the warps of a block (problem.warps). Multiprocessors do not
 * wait for each other, and more warps never make the worst or the best case shorter. The worst case
 * is therefore that of the largest number of blocks on one multiprocessor. The best case is that of
 * the most even distribution. GORDIAN_STATUS_INPUT: there are no blocks or no multiprocessors, or
 * some blocks would have to wait for others to end. */
GORDIAN_API gordian_status gordian_makespan_fullest(const gordian_makespan_dealing *dealing,
                                                    gordian_makespan_goal goal, uint32_t *blocks,
                                                    gordian_error *error);

/* Writes the problem as an integer program in the LP format of CPLEX, which solvers read. Its
 * optimum, `makespan`, is the worst or the best case. Only small problems can be solved.
 * GORDIAN_STATUS_INPUT: it would have more than 50 million variables. GORDIAN_STATUS_IO: the writer
 * failed. */
GORDIAN_API gordian_status gordian_makespan_lp(const gordian_makespan *makespan,
                                               gordian_makespan_goal goal,
                                               const gordian_writer *writer, gordian_error *error);

#ifdef __cplusplus
}
#endif

#endif

/*
 * Engines that bound the makespan: one table, one interface.
 *
 * Every engine gives an interval that is certain to hold the true value, [lower, upper], and a
 * schedule at one end of it: at `lower` for the worst case (no schedule is longer than `upper`), at
 * `upper` for the best case (no schedule is shorter than `lower`). Where they meet the answer is
 * exact. Engines are anytime: a limit or go_on stops them and what they have is the answer.
 *
 *   anneal  the schedule's end by simulated annealing on CPU threads, the other by model_*_bound
 *   exact   a little annealing, bounds by abstraction, then a search that closes the interval
 *   cuda    chains by the thousand and bounds by abstraction on a GPU (cuda/cuda.h)
 *   mpi     annealing over the ranks of an MPI job (mpi.h)
 *   relax   relaxed models: annealing, and all states where they are few (relax/relax.h)
 */
#pragma once

#include "engines/makespan/model/schedule.h"
#include "foundation/base/engine.h"

/* The options, the progress and why it stopped are the public ones; memory comes from where the
 * model's does. */
struct makespan_result {
    uint32_t lower, upper;
    bool exact;
    uint8_t *order;       /* model->work entries, in order of their cycles */
    uint32_t *cycles;     /* one an entry; checked by schedule_check before it gets here */
    uint32_t *pieces;     /* of relaxed models: where in the string each is; NULL: in order */
    uint32_t count;       /* of relaxed models: entries, for some pieces are left out */
    uint64_t evaluations; /* schedules built */
    uint64_t states;      /* of the exact engine: states of its tables and its search */
    uint64_t most_memory; /* bytes held at a time */
    gordian_makespan_stop stop;
    const char *engine;
    char note[200]; /* something the user should know; "": nothing */
    gordian_allocator memory;
};

void makespan_result_free(struct makespan_result *result);

/* For engines: takes over a schedule if it is better for the goal (or if there is none yet): copies
 * the order, builds, sorts and checks it. */
gordian_status makespan_result_take(struct makespan_result *result,
                                    const struct makespan_model *model,
                                    const gordian_makespan_options *options, const uint8_t *order,
                                    gordian_error *error);

struct makespan_engine {
    struct engine about; /* a problem is a model: const struct makespan_model * */
    /* *result is filled on GORDIAN_OK, also when a limit stopped the run; makespan_result_free
     * frees what is in it. On failure it is empty. */
    gordian_status (*run)(const struct makespan_model *model,
                          const gordian_makespan_options *options, struct makespan_result *result,
                          gordian_error *error);
};

extern const struct makespan_engine
    makespan_anneal; /* anneal.c: see foundation/gpu/kernels/makespan/makespan_chain.h,
                        anneal/anneal.h */
extern const struct makespan_engine makespan_exact; /* exact/exact.c */
extern const struct makespan_engine makespan_cuda;  /* cuda/cuda.c */
extern const struct makespan_engine makespan_mpi;   /* mpi.c, in gordian-mpi */
extern const struct makespan_engine makespan_relax; /* relax/relax.c */

/* For engines that know the plain model only: is it? */
bool makespan_is_plain(const void *model, const char **why);

/* Of struct makespan_engine. */
extern const struct engine_family makespan_family;

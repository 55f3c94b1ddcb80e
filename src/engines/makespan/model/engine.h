/*
 * Engines that bound the makespan: one table and one interface.
 *
 * Every engine returns an interval [lower, upper] that is proved to contain the exact value, and a
 * schedule at one end of it: at `lower` for the worst case (no schedule is longer than `upper`), at
 * `upper` for the best case (no schedule is shorter than `lower`). If both ends are equal, the
 * result is exact. Engines are anytime algorithms: if a limit or go_on stops them, they return what
 * they have.
 *
 *     anneal  the schedule by simulated annealing on CPU threads, the other end by model_*_bound
 *     exact   some annealing, bounds by abstraction, then branch and bound to close the interval
 *     cuda    thousands of annealing chains and bounds by abstraction on a GPU (cuda/cuda.h)
 *     mpi     annealing over the ranks of an MPI job (mpi.h)
 *     relax   relaxed models: annealing, and all states if they are few (relax/relax.h)
 */
#pragma once

#include "engines/makespan/model/schedule.h"
#include "foundation/base/engine.h"

/* Options, progress and stop reasons are the public ones. Memory comes from the model's
 * allocator. */
struct makespan_result {
    uint32_t lower, upper;
    bool exact;
    uint8_t *order;   /* model->work entries, ordered by cycle */
    uint32_t *cycles; /* one per entry; checked by schedule_check before it gets here */
    /* of relaxed models: the position of each entry in the string; NULL: in order */
    uint32_t *pieces;
    uint32_t count; /* of relaxed models: number of entries, because some pieces may be left out */
    uint64_t evaluations; /* schedules built */
    uint64_t states;      /* of the exact engine: states of its tables and its search */
    uint64_t most_memory; /* most bytes held at a time */
    gordian_makespan_stop stop;
    const char *engine;
    char note[200]; /* a note for the user; "": none */
    gordian_allocator memory;
};

void makespan_result_free(struct makespan_result *result);

/* For engines: takes a schedule if it is better for the goal (or the first one). Copies the order,
 * then builds, sorts and checks the schedule. */
gordian_status makespan_result_take(struct makespan_result *result,
                                    const struct makespan_model *model,
                                    const gordian_makespan_options *options, const uint8_t *order,
                                    gordian_error *error);

struct makespan_engine {
    struct engine about; /* a problem is a model: const struct makespan_model * */
    /* *result is filled on GORDIAN_OK, also if a limit stopped the run; makespan_result_free frees
     * its contents. On failure it is empty. */
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

/* For engines that only support the plain model: returns whether it is plain. */
bool makespan_is_plain(const void *model, const char **why);

/* Of struct makespan_engine. */
extern const struct engine_family makespan_family;

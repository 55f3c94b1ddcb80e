/* Inside the mpi engine: what its files share. */
#pragma once

#include "engines/compose/explore/cells.h"
#include "engines/compose/explore/packed.h"
#include "engines/compose/explore/space.h"
#include "engines/compose/mpi/mpi.h"
#include "foundation/gpu/kernels/compose/compose.h"

#include <mpi.h>

/* ------------------------------------------------------------------ the job */

enum mpi_command {
    MPI_COMMAND_EXPLORE,
    MPI_COMMAND_FULL,
};

/* What rank 0 tells first. */
struct mpi_order {
    uint64_t command; /* enum mpi_command */
    uint64_t firing_count, singles, part_count, radix_count;
    uint64_t whole; /* numbers to count, of the full product */
    uint64_t initial;
    uint64_t count;      /* the transitions, too, not only states and deadlocks */
    uint64_t joint;      /* ... the joint ones */
    uint64_t max_states; /* 0: no limit */
    uint64_t max_memory;
    uint64_t max_dead; /* stuck states to describe */
    uint64_t gather;   /* rank 0 wants all states */
};

/* A factor with more than one state. */
struct mpi_radix {
    uint32_t shift, states, initial, unused;
};

/* What a rank works on; every rank has the same but for its own states. */
struct job {
    gordian_allocator memory;
    int rank, ranks;
    struct mpi_order order;
    struct compose_firing *firings;
    uint32_t *ends;
    struct mpi_radix *radices;
    struct compose_word_firing *moves; /* the firings, as words see them */
    struct cells_rules rules;          /* the same, to explore by */
    struct cells cells;                /* words of one's own */
    uint64_t sent, idle_ns;            /* pairs of others', time without work */
    bool stopped;
};

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error);
void job_free(struct job *job);
uint64_t job_initial(const struct job *job, uint64_t i);
uint64_t job_of_number(const struct job *job, uint64_t number);
uint64_t job_ways(const struct job *job, uint64_t state);

/* Does every rank say so? All ranks together. */
static inline bool ranks_agree(bool fine)
{
    int mine = fine, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* ------------------------------------------------------------------ talking (explore.c) */

/* Called on rank 0 now and then with the states known; false: stop. */
typedef bool mpi_watch(void *context, uint64_t states, uint64_t memory);

/* Finds all states; when it returns everybody is done. *stop on every rank. */
gordian_status job_explore(struct job *job, mpi_watch *watch, void *context,
                           gordian_compose_stop *stop, gordian_error *error);

/* ------------------------------------------------------------------ counting (mpi/count.c) */

struct mpi_sums {
    struct compose_counts counts;
    uint64_t memory;
    uint64_t fired, found, sent, idle_ns; /* of struct gordian_compose_phase */
};

/* Over one's own states, or one's block of all numbers, summed up on rank 0. *stuck: there, one of
 * the deadlocks, or UINT64_MAX. */
void job_count(const struct job *job, bool complete, struct mpi_sums *sums, uint64_t *stuck);
/* The numbers of some states, on rank 0, who knows the states: how many come before each of them.
 * `count` and `states` are told to the others. */
gordian_status job_number(const struct job *job, uint64_t *states, size_t count, uint64_t *numbers,
                          gordian_error *error);
/* All states of all ranks, on rank 0: cells in the job's memory. */
gordian_status job_gather(struct job *job, struct space *all, gordian_error *error);

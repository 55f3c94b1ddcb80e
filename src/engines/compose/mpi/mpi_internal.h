/* Internal header of the mpi engine. */
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

/* Broadcast by rank 0 first. */
struct mpi_order {
    uint64_t command; /* enum mpi_command */
    uint64_t firing_count, singles, part_count, radix_count;
    uint64_t whole; /* numbers of the full product to count */
    uint64_t initial;
    uint64_t count;      /* count transitions, in addition to states and deadlocks */
    uint64_t joint;      /* ... joint transitions */
    uint64_t max_states; /* 0: no limit */
    uint64_t max_memory;
    uint64_t max_dead; /* deadlocks to describe */
    uint64_t gather;   /* rank 0 needs all states */
};

/* A factor with more than one state. */
struct mpi_radix {
    uint32_t shift, states, initial, unused;
};

/* The job of a rank. It is the same on every rank except for the rank's own states. */
struct job {
    gordian_allocator memory;
    int rank, ranks;
    struct mpi_order order;
    struct compose_firing *firings;
    uint32_t *ends;
    struct mpi_radix *radices;
    struct compose_word_firing *moves; /* the firings as transformations of words */
    struct cells_rules rules;          /* the same, for the exploration */
    struct cells cells;                /* the words that this rank owns */
    uint64_t sent, idle_ns;            /* pairs sent to other ranks, time without work */
    bool stopped;
};

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error);
void job_free(struct job *job);
uint64_t job_initial(const struct job *job, uint64_t i);
uint64_t job_of_number(const struct job *job, uint64_t number);
uint64_t job_count_transitions(const struct job *job, uint64_t state);

/* Collective call: is `fine` true on every rank? */
static inline bool ranks_agree(bool fine)
{
    int mine = fine, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

/* ------------------------------------------------------------------ messages (explore.c) */

/* Called on rank 0 from time to time with the number of known states. False: stop. */
typedef bool mpi_watch(void *context, uint64_t states, uint64_t memory);

/* Finds all states. It returns when all ranks are done; *stop is set on every rank. */
gordian_status job_explore(struct job *job, mpi_watch *watch, void *context,
                           gordian_compose_stop *stop, gordian_error *error);

/* ------------------------------------------------------------------ counting (job.c) */

struct mpi_sums {
    struct compose_counts counts;
    uint64_t memory;
    uint64_t fired, found, sent, idle_ns; /* of struct gordian_compose_phase */
};

/* Counts over the rank's own states, or its block of all numbers, and sums up on rank 0. *stuck on
 * rank 0: a deadlock, or UINT64_MAX. */
void job_count(const struct job *job, bool complete, struct mpi_sums *sums, uint64_t *stuck);
/* Numbers some states of rank 0: counts the states before each of them. Rank 0 broadcasts `count`
 * and `states`. */
gordian_status job_number(const struct job *job, uint64_t *states, size_t count, uint64_t *numbers,
                          gordian_error *error);
/* Gathers the states of all ranks on rank 0: cells in the job's memory. */
gordian_status job_gather(struct job *job, struct space *all, gordian_error *error);

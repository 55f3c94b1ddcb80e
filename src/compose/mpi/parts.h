/* Inside the mpi engine: what its files share. */
#ifndef GORDIAN_COMPOSE_MPI_PARTS_H
#define GORDIAN_COMPOSE_MPI_PARTS_H

#include "base/hash.h"
#include "compose/mpi/mpi.h"
#include "compose/packed/packed.h"
#include "compose/space.h"
#include "gpu/kernels/compose.h"

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
    uint64_t joint;      /* count the joint transitions */
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
    uint32_t *weights; /* of radix r: what one more of its local state adds to the owner */
    struct compose_word_firing *moves; /* the firings, as words see them */
    uint32_t *changes;                 /* of the owner by a firing, modulo the ranks */

    struct cell *cells; /* words of one's own */
    uint32_t cell_count, cell_room;
    struct hash table; /* of the cells by word */
    /* Cells that wait, first come first served: the longer a word waits, the more of its states
     * fire at once. */
    uint32_t *queue;
    size_t queue_first, queue_last, queue_room;
    uint64_t states; /* of one's own */
    bool no_memory, stopped;
};

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error);
void job_close(struct job *job);
uint64_t job_initial(const struct job *job, uint64_t i);
uint64_t job_of_number(const struct job *job, uint64_t number);
uint32_t job_owner(const struct job *job, uint64_t state);
uint64_t job_ways(const struct job *job, uint64_t state);

/* Adds states of one's own; those that are new wait. Cells may move. */
void job_add(struct job *job, uint64_t word, uint64_t states);
uint64_t job_bytes(const struct job *job); /* of memory, for its states */

/* Sets the weights and changes (mpi/owner.c); every rank comes to the same. */
void job_choose_owners(struct job *job);

/* ------------------------------------------------------------------ talking (mpi/talk.c) */

/* Called on rank 0 now and then with the states known; false: stop. */
typedef bool mpi_watch(void *context, uint64_t states, uint64_t memory);

/* Finds all states; when it returns everybody is done. *stop on every rank. */
gordian_status job_explore(struct job *job, mpi_watch *watch, void *context,
                           gordian_compose_stop *stop, gordian_error *error);

/* ------------------------------------------------------------------ counting (mpi/count.c) */

struct mpi_sums {
    struct compose_counts counts;
    uint64_t memory;
};

/* Over one's own states, or one's block of all numbers, summed up on rank 0. */
void job_count(const struct job *job, struct mpi_sums *sums);
/* All states of all ranks, on rank 0: cells in the job's memory. */
gordian_status job_gather(struct job *job, struct space *all, gordian_error *error);

#endif

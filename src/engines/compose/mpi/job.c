/* The job every rank has. */
#include "engines/compose/mpi/mpi_internal.h"

#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ the job */

void job_close(struct job *job)
{
    memory_free_all(&job->memory, job->firings, job->ends, job->radices, job->moves);
    cells_rules_close(&job->rules, &job->memory);
    cells_close(&job->cells);
}

static bool make_room(struct job *job)
{
    const struct mpi_order *order = &job->order;
    job->firings = memory_zeroed(&job->memory, (order->firing_count + 1) * sizeof *job->firings);
    job->ends = memory_zeroed(&job->memory, (order->part_count + 1) * sizeof *job->ends);
    job->radices = memory_zeroed(&job->memory, (order->radix_count + 1) * sizeof *job->radices);
    job->moves = memory_zeroed(&job->memory, (order->firing_count + 1) * sizeof *job->moves);
    return job->firings && job->ends && job->radices && job->moves &&
           cells_rules_open(&job->rules, (uint32_t)order->firing_count, (uint32_t)job->ranks,
                            &job->memory);
}

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error)
{
    *job =
        (struct job){.memory = packed ? packed->memory : memory_allocator(NULL), .order = *order};
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
    job->cells.memory = job->memory;
    int fine = make_room(job), all;
    /* Nobody goes on alone. */
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        job_close(job);
        return fail_memory(error);
    }
    if (packed) {
        size_t r = 0;
        memcpy(job->firings, packed->firings, packed->firing_count * sizeof *job->firings);
        memcpy(job->ends, packed->ends, packed->part_count * sizeof *job->ends);
        for (uint32_t f = 0; f < packed->circuit->factor_count; f++) {
            const struct shape *shape = factor_shape(packed->circuit, f);
            if (shape->state_count > 1)
                job->radices[r++] = (struct mpi_radix){.shift = packed->packing.fields[f].shift,
                                                       .states = shape->state_count,
                                                       shape->initial_count};
        }
    }
    MPI_Bcast(job->firings, (int)(order->firing_count * sizeof *job->firings), MPI_BYTE, 0,
              MPI_COMM_WORLD);
    MPI_Bcast(job->ends, (int)(order->part_count * sizeof *job->ends), MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(job->radices, (int)(order->radix_count * sizeof *job->radices), MPI_BYTE, 0,
              MPI_COMM_WORLD);
    for (size_t i = 0; i < order->firing_count; i++) {
        job->moves[i] = packed_word_firing(&job->firings[i]);
        cells_rules_add(&job->rules, &job->firings[i]);
    }
    return GORDIAN_OK;
}

/* Digit by digit: by the states of each factor, or by its initial ones. */
static uint64_t compose_state(const struct job *job, uint64_t number, bool initial)
{
    uint64_t state = 0;
    for (size_t r = 0; r < job->order.radix_count; r++) {
        const struct mpi_radix *radix = &job->radices[r];
        uint32_t count = initial ? radix->initial : radix->states;
        state |= number % count << radix->shift;
        number /= count;
    }
    return state;
}

uint64_t job_initial(const struct job *job, uint64_t i)
{
    return compose_state(job, i, true);
}

uint64_t job_of_number(const struct job *job, uint64_t number)
{
    return compose_state(job, number, false);
}

uint64_t job_ways(const struct job *job, uint64_t state)
{
    return compose_ways(job->firings, (uint32_t)job->order.singles, job->ends,
                        (uint32_t)job->order.part_count, state);
}

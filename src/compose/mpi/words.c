/* Words of states in a table, and the job every rank has. */
#include "compose/mpi/parts.h"

#include "base/error.h"

#include <string.h>

static void put_cells(const void *context, struct hash *table)
{
    const struct job *job = context;
    for (uint32_t i = 0; i < job->cell_count; i++)
        hash_put(table, hash_word(job->cells[i].word), i);
}

/* The word's cell, new if need be; NULL: no memory. */
static struct cell *cell_at(struct job *job, uint64_t word)
{
    uint64_t hash = hash_word(word);
    uint32_t count = job->cell_count + 1;
    struct hash_probe probe = hash_probe(&job->table, hash);
    while (hash_meet(&job->table, &probe))
        if (job->cells[probe.number].word == word)
            return &job->cells[probe.number];
    if (!hash_reserve(&job->table, &job->memory, count, count, put_cells, job) ||
        !memory_grow32(&job->memory, &job->cells, &job->cell_room, count, sizeof *job->cells))
        return NULL;
    hash_put(&job->table, hash, job->cell_count);
    job->cells[job->cell_count] = (struct cell){.word = word};
    return &job->cells[job->cell_count++];
}

uint64_t job_bytes(const struct job *job)
{
    return (uint64_t)job->cell_room * sizeof *job->cells + job->queue_room * sizeof *job->queue +
           (uint64_t)job->table.slot_count * sizeof *job->table.slots;
}

/* ------------------------------------------------------------------ the job */

void job_close(struct job *job)
{
    memory_free_all(&job->memory, job->firings, job->ends, job->radices, job->weights, job->moves,
                    job->changes, job->queue, job->cells);
    hash_free(&job->table, &job->memory);
}

static bool make_room(struct job *job)
{
    const struct mpi_order *order = &job->order;
    job->firings = memory_zeroed(&job->memory, (order->firing_count + 1) * sizeof *job->firings);
    job->ends = memory_zeroed(&job->memory, (order->part_count + 1) * sizeof *job->ends);
    job->radices = memory_zeroed(&job->memory, (order->radix_count + 1) * sizeof *job->radices);
    job->weights = memory_zeroed(&job->memory, (order->radix_count + 1) * sizeof *job->weights);
    job->moves = memory_zeroed(&job->memory, (order->firing_count + 1) * sizeof *job->moves);
    job->changes = memory_zeroed(&job->memory, (order->firing_count + 1) * sizeof *job->changes);
    return job->firings && job->ends && job->radices && job->weights && job->moves && job->changes;
}

static void fill_from(struct job *job, const struct packed *packed)
{
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

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error)
{
    *job =
        (struct job){.memory = packed ? packed->memory : memory_allocator(NULL), .order = *order};
    MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job->ranks);
    int fine = make_room(job), all;
    /* Nobody goes on alone. */
    MPI_Allreduce(&fine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (!all) {
        job_close(job);
        return fail_memory(error);
    }
    if (packed)
        fill_from(job, packed);
    MPI_Bcast(job->firings, (int)(order->firing_count * sizeof *job->firings), MPI_BYTE, 0,
              MPI_COMM_WORLD);
    MPI_Bcast(job->ends, (int)(order->part_count * sizeof *job->ends), MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Bcast(job->radices, (int)(order->radix_count * sizeof *job->radices), MPI_BYTE, 0,
              MPI_COMM_WORLD);
    for (size_t i = 0; i < order->firing_count; i++)
        job->moves[i] = packed_word_firing(&job->firings[i]);
    job_choose_owners(job);
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

void job_add(struct job *job, uint64_t word, uint64_t states)
{
    struct cell *cell = cell_at(job, word);
    if (!cell || !memory_grow(&job->memory, &job->queue, &job->queue_room, job->queue_last + 1,
                              sizeof *job->queue)) {
        job->no_memory = true;
        return;
    }
    uint64_t fresh = states & ~cell->visited;
    if (!fresh)
        return;
    if (!cell->waiting)
        job->queue[job->queue_last++] = (uint32_t)(cell - job->cells);
    cell->visited |= fresh;
    cell->waiting |= fresh;
    job->states += (uint64_t)__builtin_popcountll(fresh);
}

/* Words of states in a table, and the job every rank has. */
#include "compose/mpi/parts.h"

#include "base/error.h"

#include <string.h>

uint64_t hash_word(uint64_t word)
{
    word = (word ^ word >> 31) * 0x9e3779b97f4a7c15u;
    return word ^ word >> 32;
}

static struct cell *place_of(const struct cells *cells, uint64_t word)
{
    uint64_t slot = hash_word(word) & (cells->slots - 1);
    while (cells->table[slot].word && cells->table[slot].word != word + 1)
        slot = (slot + 1) & (cells->slots - 1);
    return &cells->table[slot];
}

static bool grow_cells(struct cells *cells)
{
    struct cells larger = {.memory = cells->memory,
                           .slots = cells->slots ? 2 * cells->slots : 1024,
                           .used = cells->used};
    larger.table = memory_zeroed(cells->memory, larger.slots * sizeof *larger.table);
    if (!larger.table)
        return false;
    for (uint64_t i = 0; i < cells->slots; i++)
        if (cells->table[i].word)
            *place_of(&larger, cells->table[i].word - 1) = cells->table[i];
    memory_free(cells->memory, cells->table);
    *cells = larger;
    return true;
}

struct cell *cells_at(struct cells *cells, uint64_t word)
{
    struct cell *cell = cells->slots ? place_of(cells, word) : NULL;
    if (cell && cell->word)
        return cell;
    if (2 * (cells->used + 1) > cells->slots) {
        if (!grow_cells(cells))
            return NULL;
        cell = place_of(cells, word);
    }
    cells->used++;
    cell->word = word + 1;
    return cell;
}

void cells_free(struct cells *cells)
{
    if (cells->table)
        memory_free(cells->memory, cells->table);
    *cells = (struct cells){.memory = cells->memory};
}

/* ------------------------------------------------------------------ the job */

void job_close(struct job *job)
{
    memory_free(&job->memory, job->firings);
    memory_free(&job->memory, job->ends);
    memory_free(&job->memory, job->radices);
    memory_free(&job->memory, job->weights);
    memory_free(&job->memory, job->moves);
    memory_free(&job->memory, job->changes);
    memory_free(&job->memory, job->queue);
    cells_free(&job->cells);
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
            job->radices[r++] = (struct mpi_radix){
                .shift = packed->shift[f], .states = shape->state_count, shape->initial_count};
    }
}

gordian_status job_open(struct job *job, const struct packed *packed, const struct mpi_order *order,
                        gordian_error *error)
{
    *job =
        (struct job){.memory = packed ? packed->memory : memory_allocator(NULL), .order = *order};
    job->cells.memory = &job->memory;
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
    struct cell *cell = cells_at(&job->cells, word);
    if (!cell || !memory_grow(&job->memory, &job->queue, &job->queue_room, job->queue_last + 1,
                              sizeof *job->queue)) {
        job->no_memory = true;
        return;
    }
    uint64_t fresh = states & ~cell->visited;
    if (!fresh)
        return;
    if (!cell->waiting)
        job->queue[job->queue_last++] = word;
    cell->visited |= fresh;
    cell->waiting |= fresh;
    job->states += (uint64_t)__builtin_popcountll(fresh);
}

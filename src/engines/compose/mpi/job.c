/* The job of a rank: counting over the ranks, and gathering all states on rank 0. */
#include "engines/compose/mpi/mpi_internal.h"
#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ the job */

void job_free(struct job *job)
{
    memory_free_all(&job->memory, job->firings, job->ends, job->radices, job->moves);
    cells_rules_close(&job->rules, &job->memory);
    cells_close(&job->cells);
}

static bool allocate_job(struct job *job)
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
    if (!ranks_agree(allocate_job(job))) {
        job_free(job);
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

/* Digit by digit: the states of each factor, or only its initial ones. */
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

uint64_t job_count_transitions(const struct job *job, uint64_t state)
{
    return compose_ways(job->firings, (uint32_t)job->order.singles, job->ends,
                        (uint32_t)job->order.part_count, state);
}

/* ------------------------------------------------------------------ counting over the ranks */

/* Counting over the ranks, and getting all states to rank 0. */
/* ------------------------------------------------------------------ sums */

/* Counts 64 neighbouring states at once. Conflicting joint firings are counted state by state. */
static void count_rank_word(const struct job *job, uint64_t word, uint64_t states,
                            struct mpi_sums *sums, uint64_t *stuck)
{
    uint32_t count = (uint32_t)job->order.firing_count;
    bool free = job->order.part_count == 0 && count < 1u << COMPOSE_PLANES;
    uint64_t any = compose_count_word(&sums->counts, job->moves, count, job->order.joint && free,
                                      word, states);
    if (states & ~any)
        *stuck = word << 6 | (uint64_t)__builtin_ctzll(states & ~any);
    if (!job->order.joint || free)
        return;
    for (; any; any &= any - 1)
        compose_count_ways(
            &sums->counts,
            job_count_transitions(job, word << 6 | (uint64_t)__builtin_ctzll(any)) - 1, 1);
}

/* Counts the block of numbers of this rank. Consecutive numbers are mostly neighbouring states. */
static void count_block(const struct job *job, struct mpi_sums *sums)
{
    uint64_t whole = job->order.whole, ranks = (uint64_t)job->ranks, rank = (uint64_t)job->rank;
    uint64_t each = whole / ranks, more = whole % ranks;
    uint64_t first = rank * each + (rank < more ? rank : more);
    uint64_t last = first + each + (rank < more), word = 0, states = 0, stuck;
    bool dense = true;
    for (size_t r = 0; r < job->order.radix_count; r++)
        dense &= (job->radices[r].states & (job->radices[r].states - 1)) == 0;
    for (uint64_t n = first; n < last; n++) {
        if (dense && n % 64 == 0 && last - n >= 64) {
            count_rank_word(job, word, states, sums, &stuck);
            count_rank_word(job, n / 64, UINT64_MAX, sums, &stuck);
            states = 0;
            n += 63;
            continue;
        }
        uint64_t state = dense ? n : job_of_number(job, n);
        if (state >> 6 != word) {
            count_rank_word(job, word, states, sums, &stuck);
            states = 0;
        }
        word = state >> 6;
        states |= UINT64_C(1) << (state & 63);
    }
    count_rank_word(job, word, states, sums, &stuck);
}

void job_count(const struct job *job, bool complete, struct mpi_sums *sums, uint64_t *stuck)
{
    const struct cells *cells = &job->cells;
    uint64_t own_deadlock = cells->stuck ? cells->stuck_state : UINT64_MAX;
    struct mpi_sums own = {.memory = cells_bytes(cells),
                           .fired = cells->fired,
                           .found = cells->entered,
                           .sent = job->sent,
                           .idle_ns = job->idle_ns};
    if (job->order.command == MPI_COMMAND_FULL)
        count_block(job, &own);
    else if (complete && !job->order.count) /* the exploration has counted the deadlocks */
        own.counts = (struct compose_counts){.states = cells->states, .deadlocks = cells->stuck};
    else {
        for (uint32_t i = 0; i < job->cells.count; i++)
            count_rank_word(job, job->cells.list[i].word, job->cells.list[i].visited, &own,
                            &own_deadlock);
    }
    MPI_Reduce(&own, sums, sizeof own / sizeof(uint64_t), MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Reduce(&own_deadlock, stuck, 1, MPI_UINT64_T, MPI_MIN, 0, MPI_COMM_WORLD);
}

/* ------------------------------------------------------------------ all states */

gordian_status job_number(const struct job *job, uint64_t *states, size_t count, uint64_t *numbers,
                          gordian_error *error)
{
    uint64_t asked = count;
    MPI_Bcast(&asked, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    uint64_t *pairs = memory_alloc(&job->memory, 2 * asked * sizeof *pairs);
    bool all = ranks_agree(pairs != NULL);
    if (pairs && all) {
        if (job->rank == 0)
            memcpy(pairs, states, asked * sizeof *pairs);
        MPI_Bcast(pairs, (int)asked, MPI_UINT64_T, 0, MPI_COMM_WORLD);
        for (uint64_t i = 0; i < asked; i++)
            pairs[asked + i] = cells_before(&job->cells, pairs[i]);
        MPI_Reduce(pairs + asked, numbers, (int)asked, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    }
    memory_free(&job->memory, pairs);
    return all ? GORDIAN_OK : fail_memory(error);
}

#define PIECE ((size_t)1 << 20) /* cells per message */

gordian_status job_gather(struct job *job, struct space *all, gordian_error *error)
{
    uint64_t mine = job->cells.count, sum = 0;
    int fine = 1;
    *all = (struct space){.kind = SPACE_CELLS, .memory = job->memory};
    MPI_Reduce(&mine, &sum, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    if (job->rank == 0) {
        all->cells = memory_alloc(&job->memory, (sum + 1) * sizeof *all->cells);
        fine = all->cells != NULL;
    }
    MPI_Bcast(&fine, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (!fine || (job->rank == 0 && !all->cells))
        return fail_memory(error);
    if (job->rank != 0) {
        MPI_Send(&mine, 1, MPI_UINT64_T, 0, 0, MPI_COMM_WORLD);
        size_t count = job->cells.count;
        for (size_t at = 0; at < count; at += PIECE)
            MPI_Send(job->cells.list + at,
                     (int)((count - at < PIECE ? count - at : PIECE) * sizeof(struct cell)),
                     MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        return GORDIAN_OK;
    }
    if (mine)
        memcpy(all->cells, job->cells.list, mine * sizeof *all->cells);
    all->cell_count = mine;
    for (int r = 1; r < job->ranks; r++) {
        uint64_t theirs;
        MPI_Recv(&theirs, 1, MPI_UINT64_T, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (size_t at = 0; at < theirs; at += PIECE)
            MPI_Recv(all->cells + all->cell_count + at,
                     (int)((theirs - at < PIECE ? theirs - at : PIECE) * sizeof(struct cell)),
                     MPI_BYTE, r, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        all->cell_count += theirs;
    }
    space_sort_cells(all);
    return GORDIAN_OK;
}

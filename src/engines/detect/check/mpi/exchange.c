/* All-to-all exchange of records between ranks (exchange.h). */
#include "engines/detect/check/mpi/exchange.h"

/* Bytes for one rank in one call: counts are ints, and memory is finite. */
#define ROUND (4u << 20)

bool exchange_open(struct exchange *exchange, const gordian_allocator *memory)
{
    *exchange = (struct exchange){.memory = *memory};
    MPI_Comm_rank(MPI_COMM_WORLD, &exchange->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &exchange->ranks);
    size_t ranks = (size_t)exchange->ranks;
    bytes_init(&exchange->in, memory);
    exchange->out = memory_alloc(memory, ranks * sizeof *exchange->out);
    exchange->starts = memory_zeroed(memory, (ranks + 1) * sizeof *exchange->starts);
    for (size_t r = 0; r < ranks && exchange->out; r++)
        bytes_init(&exchange->out[r], memory);
    return exchange->out && exchange->starts;
}

void exchange_close(struct exchange *exchange)
{
    for (int r = 0; r < exchange->ranks && exchange->out; r++)
        bytes_free(&exchange->out[r]);
    bytes_free(&exchange->in);
    memory_free_all(&exchange->memory, exchange->out, exchange->starts);
}

bool exchange_all(bool fine)
{
    int mine = fine, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    return all;
}

uint64_t exchange_sum(uint64_t value)
{
    uint64_t sum;
    MPI_Allreduce(&value, &sum, 1, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
    return sum;
}

uint64_t exchange_most(uint64_t value)
{
    uint64_t most;
    MPI_Allreduce(&value, &most, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    return most;
}

/* Reserves memory for the bytes that will arrive. `sizes` has a place for each rank, twice. */
static bool reserve_exchange(struct exchange *exchange, uint64_t *sizes, uint64_t *longest)
{
    size_t ranks = (size_t)exchange->ranks;
    uint64_t *coming = sizes + ranks, all = 0;
    bool fine = true;
    *longest = 0;
    for (size_t r = 0; r < ranks; r++) {
        sizes[r] = exchange->out[r].used;
        *longest = sizes[r] > *longest ? sizes[r] : *longest;
        fine &= !exchange->out[r].failed;
    }
    MPI_Alltoall(sizes, 1, MPI_UINT64_T, coming, 1, MPI_UINT64_T, MPI_COMM_WORLD);
    for (size_t r = 0; r < ranks; r++) {
        exchange->starts[r] = (size_t)all;
        all += coming[r];
    }
    exchange->starts[ranks] = (size_t)all;
    exchange->in.used = 0;
    fine = fine && bytes_room(&exchange->in, (size_t)all);
    exchange->in.used = fine ? (size_t)all : 0;
    *longest = exchange_most(*longest);
    return exchange_all(fine);
}

static int clip(uint64_t size, uint64_t done)
{
    uint64_t left = size > done ? size - done : 0;
    return (int)(left < ROUND ? left : ROUND);
}

/* Makes one call: sends the bytes of every message from `done` on. */
static void run_round(struct exchange *exchange, const uint64_t *sizes, uint64_t done, int *counts)
{
    int ranks = exchange->ranks, *coming = counts + ranks;
    MPI_Request *requests = (MPI_Request *)(void *)(coming + ranks);
    int pending = 0;
    for (int r = 0; r < ranks; r++) {
        counts[r] = clip(sizes[r], done);
        coming[r] = clip(sizes[ranks + r], done);
    }
    for (int r = 0; r < ranks; r++)
        if (coming[r] > 0)
            MPI_Irecv(exchange->in.data + exchange->starts[r] + done, coming[r], MPI_BYTE, r, 0,
                      MPI_COMM_WORLD, &requests[pending++]);
    for (int r = 0; r < ranks; r++)
        if (counts[r] > 0)
            MPI_Isend(exchange->out[r].data + done, counts[r], MPI_BYTE, r, 0, MPI_COMM_WORLD,
                      &requests[pending++]);
    MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
}

bool exchange_run(struct exchange *exchange)
{
    size_t ranks = (size_t)exchange->ranks;
    uint64_t *sizes = memory_alloc(&exchange->memory, 2 * ranks * sizeof *sizes), longest = 0;
    int *counts = memory_alloc(&exchange->memory,
                               2 * ranks * sizeof *counts + 2 * ranks * sizeof(MPI_Request));
    bool fine = exchange_all(sizes && counts) && reserve_exchange(exchange, sizes, &longest);
    for (uint64_t done = 0; fine && done < longest; done += ROUND)
        run_round(exchange, sizes, done, counts);
    memory_free_all(&exchange->memory, sizes, counts);
    for (size_t r = 0; r < ranks; r++)
        exchange->out[r].used = 0;
    exchange->at = 0;
    exchange->from = 0;
    return fine;
}

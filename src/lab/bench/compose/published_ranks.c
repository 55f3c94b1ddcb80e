/*
 * The published product divided over the ranks of an MPI job:
 *
 *     mpirun -n RANKS published_ranks FIFOS [--device]
 *
 * Each rank computes its rows of the product of FIFOS FIFO1s from the automata, on one core or
 * (--device) on a GPU; the ranks of a machine share its devices in turn. Ranks send only the
 * number of
 * transitions they found, and their status at the end. Rank 0 prints
 * {"ranks":..,"transitions":..,"seconds":..}. The exit status is 0, 1 if it failed, 2 for wrong
 * arguments.
 */
#include "foundation/base/clock.h"
#include "foundation/base/error.h"
#include "lab/published/compose/measure_product.h"

#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static gordian_status open_rank_device(struct gpu **gpu, int rank, gordian_error *error)
{
    char why[200] = "";
    unsigned count = gpu_count(why, sizeof why);
    if (count == 0)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no GPU: %s", why);
    TRY(gpu_open(gpu, (unsigned)rank % count, NULL, error));
    return gpu_add_kernels(*gpu, &published_kernels, error);
}

static int make_rank_product(uint32_t fifos, bool on_device)
{
    gordian_error error = {0};
    struct gpu *gpu = NULL;
    struct measure_time time;
    uint64_t mine = 0, all = 0;
    int rank, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    gordian_status status = on_device ? open_rank_device(&gpu, rank, &error) : GORDIAN_OK;
    MPI_Barrier(MPI_COMM_WORLD); /* only for the clock: all ranks start at once */
    uint64_t start = clock_ns();
    THEN(status, measure_product_part(gpu, fifos, (uint32_t)rank, (uint32_t)ranks, NULL, &mine,
                                      &time, &error));
    /* On rank 0: the sum of all ranks, and whether none of them failed. */
    int each = status == GORDIAN_OK, good = 0;
    MPI_Reduce(&mine, &all, 1, MPI_UINT64_T, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Allreduce(&each, &good, 1, MPI_INT, MPI_LAND, MPI_COMM_WORLD);
    double seconds = (double)(clock_ns() - start) / 1e9;
    gpu_close(gpu);
    if (status != GORDIAN_OK)
        fprintf(stderr, "rank %d: %s\n", rank, error.message);
    else if (good && rank == 0)
        printf("{\"ranks\":%d,\"transitions\":%" PRIu64 ",\"seconds\":%.9g}\n", ranks, all,
               seconds);
    return good ? 0 : 1;
}

int main(int argc, char **argv)
{
    int code = 2;
    MPI_Init(&argc, &argv);
    bool on_device = argc == 3 && strcmp(argv[2], "--device") == 0;
    if (argc == 2 || on_device)
        code = make_rank_product((uint32_t)strtoul(argv[1], NULL, 10), on_device);
    else
        fprintf(stderr, "published_ranks: the number of FIFO1s is missing\n");
    MPI_Finalize();
    return code;
}

/* What `gordian bench mpi` measures: 8 bytes to and fro between two ranks of MPI.
 *
 *     mpirun -n 2 ping_pong ROUNDS    nanoseconds a round, by rank 0
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void play(int rank, long rounds)
{
    double ball = 0;
    for (long i = 0; i < rounds; i++)
        if (rank == 0) {
            MPI_Send(&ball, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&ball, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&ball, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&ball, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        }
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long rounds = argc == 2 ? strtol(argv[1], NULL, 10) : 0;
    if (size != 2 || rounds <= 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    play(rank, rounds / 10 + 1);
    MPI_Barrier(MPI_COMM_WORLD);
    double start = MPI_Wtime();
    play(rank, rounds);
    double end = MPI_Wtime();
    if (rank == 0)
        printf("%.3f\n", (end - start) * 1e9 / (double)rounds);
    MPI_Finalize();
    return 0;
}

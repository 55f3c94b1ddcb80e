/* The program of `gordian bench mpi`: round trips of 8 bytes between two ranks of MPI.
 *
 *     mpirun -n 2 ping_pong FOLDER
 *
 * Each rank reads the number of rounds to play, an int, from the pipe FOLDER/RANK, repeatedly
 * until
 * end of file, and sleeps meanwhile. Rank 0 prints the nanoseconds of a round. */
#include <fcntl.h>
#include <limits.h>
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

static void play(int rank, int rounds)
{
    double ball = 0;
    for (int i = 0; i < rounds; i++)
        if (rank == 0) {
            MPI_Send(&ball, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
            MPI_Recv(&ball, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(&ball, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&ball, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
        }
}

/* Warm up first: nothing is measured until both ranks are awake. */
static void play_batch(int rank, int rounds)
{
    play(rank, rounds / 4 + 1);
    double start = MPI_Wtime();
    play(rank, rounds);
    double end = MPI_Wtime();
    if (rank == 0) {
        printf("%.3f\n", (end - start) * 1e9 / (double)rounds);
        fflush(stdout);
    }
}

int main(int argc, char **argv)
{
    int rank, size, rounds;
    char path[PATH_MAX];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    snprintf(path, sizeof path, "%s/%d", argc == 2 ? argv[1] : "", rank);
    int orders = open(path, O_RDONLY | O_CLOEXEC);
    if (size != 2 || orders < 0)
        MPI_Abort(MPI_COMM_WORLD, 2);
    while (read(orders, &rounds, sizeof rounds) == (ssize_t)sizeof rounds)
        play_batch(rank, rounds);
    close(orders);
    MPI_Finalize();
    return 0;
}

/*
 * gordian-mpi: the same commands under mpirun. Rank 0 runs the command, with an additional engine
 * `mpi` for composition, makespans and snapshots; the other ranks work for it.
 */
#include "engines/compose/mpi/mpi.h"
#include "engines/detect/check/mpi/mpi.h"
#include "engines/makespan/mpi.h"
#include "foundation/ranks/ranks.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define EXIT_BROKEN 4

/* main() of main.c, renamed */
int gordian_main(int argc, char **argv);

/* An unreachable rank, or another MPI error: end all ranks, so that none waits. */
static void on_error(MPI_Comm *comm, int *code, ...)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int length, rank = -1;
    MPI_Error_string(*code, text, &length);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    fprintf(stderr, "gordian-mpi: rank %d: %s: the run is aborted\n", rank, text);
    MPI_Abort(*comm, EXIT_BROKEN);
}

static void (*const services[RANKS_SERVICES])(void) = {
    [RANKS_COMPOSE] = compose_mpi_serve,
    [RANKS_MAKESPAN] = makespan_mpi_serve,
    [RANKS_CHECK] = check_mpi_serve,
};

int main(int argc, char **argv)
{
    MPI_Errhandler handler;
    int rank, code = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_create_errhandler(on_error, &handler);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, handler);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        /* The output may go to a pseudo-terminal of mpirun, whatever mpirun's own output is. */
        setenv("NO_COLOR", "1", 0);
        code = gordian_main(argc, argv);
        ranks_call(RANKS_DISMISSED);
    } else {
        ranks_serve(services);
    }
    MPI_Errhandler_free(&handler);
    MPI_Finalize();
    return code;
}

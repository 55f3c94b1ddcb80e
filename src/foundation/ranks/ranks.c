/* Dispatch of services to the ranks of an MPI job (ranks.h). */
#include "foundation/ranks/ranks.h"

#include <mpi.h>

void ranks_call(enum ranks_service service)
{
    int number = service;
    MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
}

void ranks_serve(void (*const services[RANKS_SERVICES])(void))
{
    for (;;) {
        int number = RANKS_DISMISSED;
        MPI_Bcast(&number, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (number == RANKS_DISMISSED)
            return;
        services[number]();
    }
}

/*
 * The ranks of an MPI job (gordian-mpi only): rank 0 runs the command, the other ranks work for
 * it.
 *
 * An engine calls ranks_call with its service. It then communicates with that service on all other
 * ranks by its own protocol until both are done.
 */
#pragma once

enum ranks_service {
    RANKS_DISMISSED, /* the end */
    RANKS_COMPOSE,
    RANKS_MAKESPAN,
    RANKS_CHECK,
    RANKS_SERVICES,
};

/* Rank 0: starts this service once on the other ranks. */
void ranks_call(enum ranks_service service);

/* The other ranks: run the services that rank 0 calls until RANKS_DISMISSED. If a service is out of
 * memory, rank 0 also is, and reports it. */
void ranks_serve(void (*const services[RANKS_SERVICES])(void));

/*
 * The ranks of an MPI job (gordian-mpi only): rank 0 runs the command, the others work for it.
 *
 * An engine that wants them calls ranks_call with its own service, and then talks to that service
 * on every other rank in its own way, until both are done.
 */
#pragma once

enum ranks_service {
    RANKS_DISMISSED, /* the end */
    RANKS_COMPOSE,
    RANKS_MAKESPAN,
    RANKS_CHECK,
    RANKS_SERVICES,
};

/* Rank 0: the other ranks take up this service, once. */
void ranks_call(enum ranks_service service);

/* The other ranks: do what rank 0 calls for until they are dismissed. A service that fails for want
 * of memory fails on rank 0, too, which tells. */
void ranks_serve(void (*const services[RANKS_SERVICES])(void));

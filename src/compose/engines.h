/* What the engines that compose share among themselves. */
#ifndef GORDIAN_COMPOSE_ENGINES_H
#define GORDIAN_COMPOSE_ENGINES_H

#include "compose/engine.h"

extern const struct compose_engine compose_dense; /* dense.c: the oracle */
extern const struct compose_engine compose_cpu;   /* cpu/cpu.c */
extern const struct compose_engine compose_cuda;  /* cuda/cuda.c */
extern const struct compose_engine compose_mpi;   /* mpi/mpi.c, in gordian-mpi */

/* Fills result->order: the options' own, which must be a permutation of the factors
 * (GORDIAN_STATUS_INPUT otherwise), or a chosen one. */
gordian_status compose_take_order(const struct circuit *circuit,
                                  const struct compose_options *options,
                                  struct compose_result *result, gordian_error *error);

#endif

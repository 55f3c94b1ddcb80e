/* What the engines that compose share among themselves. */
#pragma once

#include "engines/compose/engine/engine.h"

extern const struct compose_engine compose_dense; /* dense.c: the oracle */
extern const struct compose_engine compose_cpu;   /* cpu/cpu.c */
extern const struct compose_engine compose_cuda;  /* cuda/cuda.c */
extern const struct compose_engine compose_mpi;   /* mpi/mpi.c, in gordian-mpi */

/* Fills result->order: the options' own, which must be a permutation of the factors
 * (GORDIAN_STATUS_INPUT otherwise), or a chosen one. */
gordian_status compose_take_order(const gordian_circuit *circuit,
                                  const gordian_compose_options *options,
                                  gordian_compose_result *result, gordian_error *error);

/* A good order to compose the factors in, two at a time: each next one shares as much as possible
 * with what is there already and leaves as few names open as possible, so that the parts in
 * between stay small. `order`: factor_count numbers. */
gordian_status compose_order(const gordian_circuit *circuit, uint32_t *order,
                             const gordian_allocator *memory, gordian_error *error);
/* Is it a permutation of the factors? `why`: what is wrong. */
bool compose_order_valid(const gordian_circuit *circuit, const uint32_t *order, size_t count,
                         const char **why);

/* What integer instructions compute, for loops that count. */
#pragma once

#include "engines/ptx/ptx_internal.h"

/* The value of a register where an instruction reads it; false: not known. */
typedef bool (*ptx_reader)(void *context, uint32_t number, uint64_t *value);
/* Told what the question does not say: a special register by its name, a parameter by its number.
 */
typedef void (*ptx_missing)(void *context, const char *name, size_t length);

/* What the instruction puts into its one result (a predicate is 0 or 1); false: not known. */
bool ptx_evaluate(const gordian_ptx *ptx, const struct ptx_function *function,
                  const struct ptx_instruction *instruction, const gordian_ptx_question *question,
                  ptx_reader read, ptx_missing missing, void *context, uint64_t *value);
/* The same where only a bound is known: the value is at most *last, whatever the rest is. Masks,
 * remainders, shifts that leave few bits, minima; *launch: it is a place in the launch, %tid.x
 * below %ntid.x. */
bool ptx_evaluate_bound(const gordian_ptx *ptx, const struct ptx_function *function,
                        const struct ptx_instruction *instruction,
                        const gordian_ptx_question *question, ptx_reader read, void *context,
                        uint64_t *last, bool *launch);

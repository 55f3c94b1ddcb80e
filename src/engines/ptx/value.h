/* Evaluates integer instructions, for the trip counts of loops. */
#pragma once

#include "engines/ptx/ptx_internal.h"

/* Returns the value of a register where an instruction reads it. False: unknown. */
typedef bool (*ptx_reader)(void *context, uint32_t number, uint64_t *value);
/* Called with values that the question does not give: the name of a special register, or the number
 * of a parameter. */
typedef void (*ptx_missing)(void *context, const char *name, size_t length);

/* Computes the single result of an instruction; a predicate is 0 or 1. False: unknown. */
bool ptx_evaluate(const gordian_ptx *ptx, const struct ptx_function *function,
                  const struct ptx_instruction *instruction, const gordian_ptx_question *question,
                  ptx_reader read, ptx_missing missing, void *context, uint64_t *value);
/* Computes an upper bound *last of the result if only that is known: masks, remainders, right
 * shifts, minima. *launch: it is a thread or block index, such as %tid.x below %ntid.x. */
bool ptx_evaluate_bound(const gordian_ptx *ptx, const struct ptx_function *function,
                        const struct ptx_instruction *instruction,
                        const gordian_ptx_question *question, ptx_reader read, void *context,
                        uint64_t *last, bool *launch);

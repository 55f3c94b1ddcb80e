/* What integer instructions compute, for loops that count. */
#ifndef GORDIAN_PTX_VALUE_H
#define GORDIAN_PTX_VALUE_H

#include "ptx/parts.h"

/* The value of a register where an instruction reads it; false: not known. */
typedef bool (*ptx_reader)(void *context, uint32_t number, uint64_t *value);

/* What the instruction puts into its one result (a predicate is 0 or 1); false: not known. */
bool ptx_evaluate(const gordian_ptx *ptx, const struct ptx_function *function,
                  const struct ptx_instruction *instruction, const gordian_ptx_question *question,
                  ptx_reader read, void *context, uint64_t *value);

#endif

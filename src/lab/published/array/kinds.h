/* The paper's task with LFVector and with sub-arrays (array.h). */
#pragma once

#include "lab/published/array/array.h"
#include "lab/published/array/task.h"

enum array_kinds_method {
    ARRAY_KINDS_LFVECTOR,       /* as published: one atomic per element */
    ARRAY_KINDS_LFVECTOR_TILES, /* the same buckets, one atomic per tile as in our own array */
    ARRAY_KINDS_SUBARRAYS,      /* a tile at a time, atomics only to allocate; includes the index */
};

/* Opens an array with memory for all that the task keeps, and with as many blocks as fit at once.
 */
gordian_status array_kinds_open(struct published_array **out, const struct array_task *task,
                                enum array_kinds_method way, gordian_error *error);

/* Filters once, from empty, with `blocks` blocks (0: as many as fit; 1: of the paper's size, if the
 * method allows it). Checks the result in a copy at `plain`, which has capacity for all that is
 * kept. */
gordian_status array_kinds_filter(const struct array_task *task, struct published_array *array,
                                  enum array_kinds_method way, unsigned blocks, gpu_address plain,
                                  double *ns, gordian_error *error);

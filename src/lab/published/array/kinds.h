/* The paper's task with LFVector and with sub-arrays (array.h). */
#pragma once

#include "lab/published/array/array.h"
#include "lab/published/array/task.h"

enum array_kinds_way {
    ARRAY_KINDS_LFVECTOR,       /* as published: an atomic an element */
    ARRAY_KINDS_LFVECTOR_TILES, /* the same buckets, an atomic a tile as in our own array */
    ARRAY_KINDS_SUBARRAYS,      /* a tile at a time, no atomic but for memory; and the index */
};

/* An array with memory for all that the task keeps, and as many blocks as fit at once. */
gordian_status array_kinds_open(struct published_array **out, const struct array_task *task,
                                enum array_kinds_way way, gordian_error *error);

/* Filters once, from empty, with `blocks` blocks (0: as many as fit; 1: as large as the paper's,
 * where the way takes any), and checks what came of it
 * by a copy at `plain`, where there is room for all that is kept. */
gordian_status array_kinds_filter(const struct array_task *task, struct published_array *array,
                                  enum array_kinds_way way, unsigned blocks, gpu_address plain,
                                  double *ns, gordian_error *error);

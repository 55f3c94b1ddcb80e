/*
 * Finds the longest or shortest path through an abstract system (cuda/tables.h) on a GPU, layer by
 * layer of equal work. The result is an upper bound of the longest schedule or a lower bound of the
 * shortest, and the exact value if the tables are lossless.
 *
 * A state takes one byte, or two if the makespan needs them.
 */
#pragma once

#include "engines/makespan/cuda/tables.h"
#include "foundation/gpu/gpu.h"

struct sweep_options {
    bool least; /* find the shortest path */
    bool wide;  /* two bytes per state from the start: for tests */
    uint32_t lanes;
    uint64_t max_memory; /* bytes on the device; 0: no limit */
    uint8_t *order;      /* gets a schedule if the tables are lossless; NULL: not wanted */
    /* Called between layers, at least a few times per second, with the number of states done and of
     * all states. False stops the sweep. NULL: never called. */
    bool (*go_on)(void *context, uint64_t done, uint64_t states);
    void *context;
};

struct sweep_outcome {
    uint32_t value;
    uint64_t states;
    uint64_t memory; /* bytes on the device */
    bool stopped;    /* no value was computed */
    bool found;      /* `order` has a schedule */
};

/* GORDIAN_STATUS_MEMORY: over the limit, or more than the device has. */
gordian_status sweep_run(struct gpu *gpu, const struct sweep_tables *tables,
                         const struct sweep_options *options, struct sweep_outcome *outcome,
                         gordian_error *error);

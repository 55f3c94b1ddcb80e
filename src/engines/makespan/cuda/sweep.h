/*
 * The longest, or the shortest, way through an abstract system (cuda/tables.h), layer by layer of
 * equal work on a GPU: an upper bound of the longest schedule, a lower bound of the shortest, and
 * the exact value where the tables lose nothing.
 *
 * A byte a state; two where the makespan asks for them.
 */
#pragma once

#include "engines/makespan/cuda/tables.h"
#include "foundation/gpu/gpu.h"

struct sweep_options {
    bool least; /* the shortest way */
    bool wide;  /* two bytes a state from the start: for tests */
    uint32_t lanes;
    uint64_t max_memory; /* bytes on the device; 0: no limit */
    uint8_t *order;      /* gets a schedule if the tables lose nothing; NULL: not wanted */
    /* Called between layers, at least some times a second: how many of so many states are done.
     * False stops. NULL: never. */
    bool (*go_on)(void *context, uint64_t done, uint64_t states);
    void *context;
};

struct sweep_outcome {
    uint32_t value;
    uint64_t states;
    uint64_t memory; /* bytes on the device */
    bool stopped;    /* there is no value */
    bool found;      /* the order is there */
};

/* GORDIAN_STATUS_MEMORY: over the limit, or more than the device has. */
gordian_status sweep_run(struct gpu *gpu, const struct sweep_tables *tables,
                         const struct sweep_options *options, struct sweep_outcome *outcome,
                         gordian_error *error);

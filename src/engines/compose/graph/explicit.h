/* The last steps of an engine that has all states and transitions in memory. For small products
 * only; used by `dense`. */
#pragma once

#include "engines/compose/engine/engine.h"

struct explicit_step {
    uint32_t from, to;
    const uint64_t *label; /* owned by the engine */
};

/* All combinations of local states, numbered by their mixed-radix numbers, and all joint
 * transitions in any order, without duplicates. */
struct explicit_product {
    const gordian_circuit *circuit;
    uint32_t state_count;
    struct explicit_step *steps;
    size_t step_count;
};

/* Selects the requested states, finds the deadlocks and the paths to them, and delivers. `memory`:
 * for temporary data; the result uses result->allocator. Fills all of *result except order, engine,
 * memory and note. */
gordian_status explicit_finish(struct explicit_product *product,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               const gordian_allocator *memory, gordian_error *error);

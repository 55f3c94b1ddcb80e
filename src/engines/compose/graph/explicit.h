/* A product that is there in full, states and transitions in memory: what is left to do once an
 * engine has made one. Small products only; `dense` ends here. */
#pragma once

#include "engines/compose/engine/engine.h"

struct explicit_step {
    uint32_t from, to;
    const uint64_t *label; /* the owner's */
};

/* All combinations of local states, numbered by their mixed-radix numbers, and all joint
 * transitions, in any order but each once. */
struct explicit_product {
    const gordian_circuit *circuit;
    uint32_t state_count;
    struct explicit_step *steps;
    size_t step_count;
};

/* Keeps what the options ask for, finds deadlocks and the ways to them, and delivers. `memory`: for
 * work; what ends up in the result comes from result->allocator. Fills everything in *result but
 * order, engine, memory and note. */
gordian_status explicit_finish(struct explicit_product *product,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               const gordian_allocator *memory, gordian_error *error);

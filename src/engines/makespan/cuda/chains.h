/*
 * Simulated annealing chains on a GPU, one warp each. They are the chains of
 * foundation/gpu/kernels/makespan/makespan_chain.h: thousands at a time, and each makes the same
 * steps as in anneal/anneal_chain.c.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/makespan/makespan_chains.h"

struct gpu_chains;

/* Zero: the engine chooses. */
struct chains_tuning {
    uint32_t warps; /* per block */
    bool no_shared; /* keep the chains in global memory */
    bool wide;      /* counters of eight bytes: for tests */
};

/* Returns whether the chains can run this model; `why`: the reason if not. */
bool gpu_chains_possible(const struct makespan_model *model, const char **why);

/* Opens chains `first` .. first + options->chains - 1 of the options' seed, before their first
 * step. The model and the options are used until the close; `tuning` NULL: the engine chooses
 * everything. */
gordian_status gpu_chains_open(struct gpu_chains **out, struct gpu *gpu,
                               const struct makespan_model *model,
                               const gordian_makespan_options *options, uint64_t first,
                               const struct chains_tuning *tuning, gordian_error *error);
void gpu_chains_close(struct gpu_chains *chains); /* accepts NULL */

/* Makes up to `steps` steps of every chain. */
gordian_status gpu_chains_advance(struct gpu_chains *chains, uint64_t steps, gordian_error *error);
/* For tests: the progress of all options->chains chains after the last advance. */
const struct chains_head *gpu_chains_heads(const struct gpu_chains *chains);
/* For tests: reads the best order of a chain, or its current one: model->work bytes. */
gordian_status gpu_chains_read(struct gpu_chains *chains, uint32_t number, bool best,
                               uint8_t *order, gordian_error *error);
uint64_t gpu_chains_memory(const struct gpu_chains *chains); /* bytes on the device */

/* Runs all chains to their end, or until the watch stops them or one reaches the other end of its
 * interval. `order` gets the best order of all chains, and of the lowest chain among equals. */
gordian_status gpu_chains_run(struct gpu_chains *chains, struct watch *watch, uint8_t *order,
                              gordian_error *error);

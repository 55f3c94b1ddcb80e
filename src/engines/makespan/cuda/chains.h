/*
 * Chains of annealing on a GPU, a warp each: the very chains of
 * foundation/gpu/kernels/makespan/makespan_chain.h, step by step what anneal/anneal_chain.c makes
 * of them, thousands at a time.
 */
#pragma once

#include "engines/makespan/anneal/run_state.h"
#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/makespan/makespan_chains.h"

struct gpu_chains;

/* Zero: chosen. */
struct chains_tuning {
    uint32_t warps; /* of a block */
    bool no_shared; /* places in the device's memory */
    bool wide;      /* cells of eight bytes: for tests */
};

/* Can they hold this model? `why`: what is in the way. */
bool gpu_chains_possible(const struct makespan_model *model, const char **why);

/* Chains `first` .. first + options->chains - 1 of the options' seed, at their start. The model and
 * the options are used until it is closed; `tuning` NULL: all chosen. */
gordian_status gpu_chains_open(struct gpu_chains **out, struct gpu *gpu,
                               const struct makespan_model *model,
                               const gordian_makespan_options *options, uint64_t first,
                               const struct chains_tuning *tuning, gordian_error *error);
void gpu_chains_close(struct gpu_chains *chains); /* NULL is fine */

/* Makes up to `steps` steps of every chain. */
gordian_status gpu_chains_advance(struct gpu_chains *chains, uint64_t steps, gordian_error *error);
/* For tests: how far they are: options->chains of them, as of the last advance. */
const struct chains_head *gpu_chains_heads(const struct gpu_chains *chains);
/* For tests: the best order of a chain, or the one it is at: model->work bytes. */
gordian_status gpu_chains_read(struct gpu_chains *chains, uint32_t number, bool best,
                               uint8_t *order, gordian_error *error);
uint64_t gpu_chains_memory(const struct gpu_chains *chains); /* bytes on the device */

/* All of them to their end, or until the watch has them stop or one reaches the other end of its
 * interval. `order` gets the best order of all, of the lowest chain among equals. */
gordian_status gpu_chains_run(struct gpu_chains *chains, struct watch *watch, uint8_t *order,
                              gordian_error *error);

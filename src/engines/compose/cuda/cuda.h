/*
 * The cuda engine: the product on a GPU, or on the emulator (GORDIAN_EMULATE_GPU=1).
 *
 * States are packed words (explore/packed.h). Reachable ones are found in one of two ways: in a
 * bitmap by packed number, where a thread has 64 neighbouring states fire at once, or with a hash
 * table, for sets that are thin among the numbers. What starts thin moves into a bitmap once it is
 * dense enough and a bitmap fits. Both only need indivisible firings; joint transitions are then
 * counted, state by state, or written out block by block, one block being computed while the one
 * before is delivered, so the product never has to fit the device. Ways to deadlocks come from
 * distances in joint firings, which are worked out only when there is a deadlock to describe.
 *
 * A device may fail while it works: unless rows have been delivered already, the cpu engine then
 * does it all, and the result's note tells.
 *
 * The steps are functions of their own for tests and measurements.
 */
#pragma once

#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/packed.h"
#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/compose/compose.h"

/* Zero: chosen. */
struct compose_tuning {
    uint32_t direct_bits;       /* states of up to so many bits start in a bitmap; 0: chosen ... */
    bool no_bitmap;             /* ... or never are in one */
    uint32_t share;             /* a set is dense with one in so many numbers */
    uint64_t slots;             /* of the table at first, a power of two */
    uint64_t block_states;      /* rows of a block */
    uint64_t block_transitions; /* room for its transitions at first */
};

/* For tests: the engine's run on a device of the caller's, without falling back. */
gordian_status compose_cuda_on(struct gpu *gpu, const struct compose_tuning *tuning,
                               const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error);

/* ------------------------------------------------------------------ step by step */

struct compose_device;

/* `options` and what they point to are used until it is closed; NULL tuning: all chosen. */
gordian_status compose_device_open(struct compose_device **out, struct gpu *gpu,
                                   const struct compose_tuning *tuning,
                                   const gordian_circuit *circuit,
                                   const gordian_compose_options *options, gordian_error *error);
void compose_device_close(struct compose_device *device); /* NULL is fine */

/* Finds the reachable states; *states of them. */
gordian_status compose_device_explore(struct compose_device *device, uint64_t *states,
                                      gordian_error *error);
/* Instead: all combinations, or the first `most` of them. */
gordian_status compose_device_take_all(struct compose_device *device, uint64_t most,
                                       gordian_error *error);
/* Counts over the set; *overflow: the joint transitions do not fit 64 bits. */
gordian_status compose_device_count(struct compose_device *device, bool joint,
                                    struct compose_counts *counts, gordian_error *error);
/* Writes every row of the product into the device's memory, block after block over the last one;
 * *transitions in all. What delivering does, without the delivery. */
gordian_status compose_device_write(struct compose_device *device, uint64_t *transitions,
                                    gordian_error *error);

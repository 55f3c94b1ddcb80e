/*
 * The cuda engine: the product on a GPU, or on the emulator (GORDIAN_EMULATE_GPU=1).
 *
 * States are packed words (explore/packed.h). Reachable states are found either in a bitmap indexed
 * by packed number, where a thread fires 64 neighbouring states at once, or with a hash table, for
 * sparse sets. A sparse set moves to a bitmap once it is dense enough and a bitmap fits. Both only
 * need indivisible firings. Joint transitions are then counted state by state, or written block by
 * block: the device computes one block while the previous one is delivered, so the product never
 * has to fit the device. Paths to deadlocks use distances in joint firings, which are computed only
 * if there is a deadlock to describe.
 *
 * If the device fails before any rows are delivered, the cpu engine does all the work instead, and
 * the note of the result says so.
 *
 * Tests and measurements can call the steps one by one.
 */
#pragma once

#include "engines/compose/engine/engine.h"
#include "engines/compose/explore/packed.h"
#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/compose/compose.h"

/* 0: chosen by the engine. */
struct compose_tuning {
    uint32_t direct_bits;  /* states of at most this many bits start in a bitmap; 0: chosen ... */
    bool no_bitmap;        /* ... or no bitmap is used */
    uint32_t share;        /* a set is dense if it has one of this many numbers */
    uint64_t slots;        /* initial slots of the table, a power of two */
    uint64_t block_states; /* rows of a block */
    uint64_t block_transitions; /* initial capacity for the transitions of a block */
};

/* For tests: runs the engine on the caller's device, without the CPU fallback. */
gordian_status compose_cuda_on(struct gpu *gpu, const struct compose_tuning *tuning,
                               const gordian_circuit *circuit,
                               const gordian_compose_options *options,
                               const gordian_compose_sink *sink, gordian_compose_result *result,
                               gordian_error *error);

/* ------------------------------------------------------------------ step by step */

struct compose_device;

/* `options` and the data it points to must remain valid until it is closed. `tuning` NULL: all
 * chosen. */
gordian_status compose_device_open(struct compose_device **out, struct gpu *gpu,
                                   const struct compose_tuning *tuning,
                                   const gordian_circuit *circuit,
                                   const gordian_compose_options *options, gordian_error *error);
void compose_device_close(struct compose_device *device); /* may be NULL */

/* Finds the reachable states; *states: their number. */
gordian_status compose_device_explore(struct compose_device *device, uint64_t *states,
                                      gordian_error *error);
/* Uses all combinations instead, or the first `most` of them. */
gordian_status compose_device_take_all(struct compose_device *device, uint64_t most,
                                       gordian_error *error);
/* Counts transitions and deadlocks of the set. */
gordian_status compose_device_count(struct compose_device *device, bool joint,
                                    struct compose_counts *counts, gordian_error *error);
/* Writes every row of the product to device memory, each block over the last one. *transitions:
 * their number. This is the delivery without a sink. */
gordian_status compose_device_write(struct compose_device *device, uint64_t *transitions,
                                    gordian_error *error);

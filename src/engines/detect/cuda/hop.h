/*
 * Node hopping on a GPU: recomputes RP of a multi-unit system from the holds and waits
 * (foundation/gpu/kernels/detect/lmdda.h).
 *
 * The result is a transitive closure: paths of any length among the resources that have waiters
 * (slots). It is computed block by block (Warshall's algorithm): close the paths inside a block of
 * slots, then add every path through the block by two boolean products, a narrow and a wide one.
 * All blocks together cost about as much as one product of the whole matrices; doubling the length
 * of paths costs one product for every doubling. Up to a few thousand slots, one cooperative kernel
 * does all of it, with blocks of one tile (foundation/gpu/kernels/detect/closure_tiles.h). Beyond
 * that, blocks have a thousand slots and are closed by that kernel; products are launches of their
 * own.
 */
#pragma once

#include "foundation/gpu/gpu.h"
#include "foundation/gpu/kernels/detect/lmdda.h"
#include "foundation/gpu/kernels/matrix/bit_transpose.h"
#include "foundation/gpu/kernels/matrix/bool_product.h"

struct hop_options {
    uint32_t small; /* up to this many slots, one launch */
    uint32_t block; /* beyond: slots closed at a time, a multiple of 128 */
    bool tensor;    /* use the matrix units */
};

/* Device memory in addition to the state; made by hop_open. */
struct hop {
    struct gpu *gpu;
    struct gpu_info info;
    struct hop_options options;
    uint32_t slot_room, process_room;
    uint32_t slot_stride; /* words of a row of slots */
    uint32_t stride;      /* words of a row of processes */
    unsigned cooperative_blocks;
    gpu_address paths;           /* slots x slots */
    gpu_address panel;           /* slots x block: a block's rows, transposed */
    gpu_address held;            /* slots x processes */
    gpu_address held_transposed; /* processes x slots */
    gpu_address barrier;
};

/* Returns the words of a row of that many bits. */
uint32_t hop_stride(uint32_t bits);
/* Sets the default options of this device. */
void hop_options_init(struct hop_options *options, const struct gpu_info *info);
/* Returns the device memory for that many slots and processes. */
uint64_t hop_bytes(const struct hop_options *options, uint32_t slots, uint32_t processes);
/* On failure there is nothing to close. */
gordian_status hop_open(struct hop *hop, struct gpu *gpu, const struct hop_options *options,
                        uint32_t slot_room, uint32_t process_room, gordian_error *error);
void hop_close(struct hop *hop);

/* Starts to recompute state->reach; gpu_wait waits for it. */
gordian_status hop_start(struct hop *hop, const struct lmdda_state *state, uint32_t slots,
                         uint32_t processes, uint32_t resources, gordian_error *error);

/* Single steps, also for tests and benches. */
gordian_status hop_product(struct gpu *gpu, const struct bool_product_arguments *product,
                           gordian_error *error);
gordian_status hop_transpose(struct gpu *gpu, const struct bit_transpose_arguments *transpose,
                             gordian_error *error);

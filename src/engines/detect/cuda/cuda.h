/*
 * The engines cuda and cuda-blocks: the matrices of engine/matrix.h on a GPU.
 *
 * There are two methods, as in the matrix engine: OSDDA for single-unit systems (cuda/osdda.c) and
 * LMDDA for multi-unit ones (cuda/lmdda.c). Every matrix equals the CPU's bit for bit. The engines
 * differ in how they store the matrices that have a bit for every pair of ids: cuda stores them
 * whole, cuda-blocks only the blocks that are not empty (foundation/gpu/blocks.h).
 *
 * A device may fail while it works. The graph is always on the host, so nothing is lost: the method
 * reports the failure (false, or no outcome), and the engine goes on with `sparse` on the same
 * graph and with the same answers, the present event included. `sparse` is opened and its memory
 * reserved beforehand, so falling back cannot fail. cuda_note reports that it happened.
 */
#pragma once

#include "engines/detect/engine/engine.h"
#include "foundation/gpu/gpu.h"

/* The result of a hook when the device has failed and there is no outcome. */
#define CUDA_NO_OUTCOME ((gordian_outcome)0)

/* The ids for which a device has memory. */
struct cuda_capacity {
    uint32_t processes, resources;
};

/* A method. The hooks are the engine's (engine/engine.h describes each). False: the device has
 * failed, and the method can only be closed. */
struct cuda_method {
    bool blocks; /* how matrices with a bit for every pair of ids are stored; else whole */

    /* Makes the method's state on the device from the graph, for at least these many ids. `method`
     * is this table. */
    gordian_status (*open)(void **state, const struct cuda_method *method, struct gpu *gpu,
                           const struct rag *rag, uint32_t process_limit, uint32_t resource_limit,
                           gordian_error *error);
    void (*close)(void *state);
    /* Reserves memory for more ids. On failure nothing has changed, except for GORDIAN_STATUS_IO:
     * the device failed. */
    gordian_status (*grow)(void *state, uint32_t process_limit, uint32_t resource_limit,
                           gordian_error *error);

    /* Optional, because a device has one resident kernel at a time: ends this method's kernel,
     * whose state stays on the device, or starts it again. */
    gordian_status (*pause)(void *state, bool pausing, gordian_error *error);

    bool (*grant)(void *state, uint32_t process, uint32_t resource, uint64_t units);
    gordian_outcome (*block)(void *state, uint32_t process); /* CUDA_NO_OUTCOME: failed */
    bool (*release)(void *state, uint32_t process, uint32_t resource, uint64_t units);
    bool (*serve)(void *state, uint32_t process, uint32_t from, const gordian_want *wants,
                  size_t count);
    bool (*cancel)(void *state, uint32_t process);
    bool (*settle)(void *state);

    /* Waits until the device has done everything so far. */
    gordian_status (*drain)(void *state, gordian_error *error);

    /* GORDIAN_STATUS_IO: the device has failed. */
    gordian_status (*deadlocked)(void *state, uint64_t *set, gordian_error *error);
    /* Optional: as what_if_all of an engine. */
    gordian_status (*what_if_all)(void *state, uint32_t *ends, gordian_error *error);
    /* As matrix_row of an engine. GORDIAN_STATUS_UNAVAILABLE: the method has no such matrix. */
    gordian_status (*matrix_row)(void *state, gordian_matrix which, uint32_t row,
                                 const uint64_t **words, gordian_error *error);

    /* Reports the device memory that the method has, and how much of it is in use. */
    gordian_status (*memory)(void *state, uint64_t *bytes, uint64_t *used, gordian_error *error);

    /* Optional: one line that says why it failed. NULL: unknown. */
    const char *(*reason)(const void *state);
    /* Optional, for tests: makes the device fail after that many more commands. */
    void (*fail_after)(void *state, uint64_t commands);
};

extern const struct cuda_method cuda_osdda, cuda_osdda_blocks;
extern const struct cuda_method cuda_lmdda, cuda_lmdda_blocks;

extern const struct detect_engine detect_cuda, detect_cuda_blocks;

/* Returns whether it is one of the two. The functions below are for those. */
bool cuda_runs(const struct detect_engine *engine);

/* Returns the bytes of device memory that a method takes for these ids. */
typedef uint64_t cuda_bytes(const void *method, struct cuda_capacity room);

/* Chooses the capacity when `needed` exceeds `had`: twice as much as before, or as much of that as
 * the free memory allows. GORDIAN_STATUS_MEMORY, with the size, if even `needed` does not fit;
 * nothing has been allocated then. */
gordian_status cuda_choose_capacity(struct gpu *gpu, struct cuda_capacity had,
                                    struct cuda_capacity needed, cuda_bytes *bytes,
                                    const void *method, struct cuda_capacity *chosen,
                                    gordian_error *error);

/* Returns why this engine (a system's state) goes on with `sparse`. NULL: the device works. */
const char *cuda_note(const void *engine);

/* For benchmarks of the bookkeeping: waits until the device has done everything so far. Returns
 * false if it has failed. */
bool cuda_drain(void *engine);

/* For tests and benchmarks: reports the device memory that the engine has, and how much of it is in
 * use. The engine must have state on the device. GORDIAN_STATUS_IO: the device has failed. */
gordian_status cuda_memory(void *engine, uint64_t *bytes, uint64_t *used, gordian_error *error);

/* For tests: makes the device fail after that many more commands. */
void cuda_fail_after(void *engine, uint64_t commands);

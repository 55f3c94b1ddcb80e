/*
 * The engines cuda and cuda-blocks: the matrices of engine/matrix.h, kept and worked on by a GPU.
 *
 * Two methods, like the matrix engine's: OSDDA for single-unit systems (cuda/osdda.c) and LMDDA
 * for multi-unit ones (cuda/lmdda.c). Every matrix has bit for bit what the CPU's has. The engines
 * differ in how they keep those that have a bit for every pair of ids: cuda has them whole, and
 * cuda-blocks only what is not empty of them (foundation/gpu/blocks.h).
 *
 * A device may fail while it works. The graph is always on the host, so nothing is lost:
 * a method says so (false, or no outcome), and the engine goes on with `sparse` on the same graph,
 * with the same answers, the event in flight included. `sparse` is opened and given its
 * room beforehand, so falling back cannot fail. cuda_note tells that it happened.
 */
#pragma once

#include "engines/detect/engine/engine.h"
#include "foundation/gpu/gpu.h"

/* What a hook answers when the device has failed and there is no outcome. */
#define CUDA_NO_OUTCOME ((gordian_outcome)0)

/* How many ids there is room for on a device. */
struct cuda_room {
    uint32_t processes, resources;
};

/* A method. The hooks are the engine's (engine/engine.h says what each means); false: the device
 * has failed, and the method is only good for closing. */
struct cuda_method {
    bool blocks; /* how matrices with a bit for every pair of ids are stored; else whole */

    /* Makes the method's state on the device for at least these many ids, from the graph. `method`
     * is this table. */
    gordian_status (*open)(void **state, const struct cuda_method *method, struct gpu *gpu,
                           const struct rag *rag, uint32_t process_limit, uint32_t resource_limit,
                           gordian_error *error);
    void (*close)(void *state);
    /* Room for more ids. On failure nothing has changed, but for GORDIAN_STATUS_IO: the device
     * failed. */
    gordian_status (*grow)(void *state, uint32_t process_limit, uint32_t resource_limit,
                           gordian_error *error);

    /* Optional: a device has one resident kernel at a time. Ends this method's, its state staying
     * on the device, or starts it again. */
    gordian_status (*pause)(void *state, bool pausing, gordian_error *error);

    bool (*grant)(void *state, uint32_t process, uint32_t resource, uint64_t units);
    gordian_outcome (*block)(void *state, uint32_t process); /* CUDA_NO_OUTCOME: failed */
    bool (*release)(void *state, uint32_t process, uint32_t resource, uint64_t units);
    bool (*serve)(void *state, uint32_t process, uint32_t from, const gordian_want *wants,
                  size_t count);
    bool (*cancel)(void *state, uint32_t process);
    bool (*settle)(void *state);

    /* Waits until the device is done with everything so far. */
    gordian_status (*drain)(void *state, gordian_error *error);

    /* GORDIAN_STATUS_IO: the device has failed. */
    gordian_status (*deadlocked)(void *state, uint64_t *set, gordian_error *error);
    /* Optional: as what_if_all of an engine. */
    gordian_status (*what_if_all)(void *state, uint32_t *ends, gordian_error *error);
    /* As matrix_row of an engine. GORDIAN_STATUS_UNAVAILABLE: the method has no such matrix. */
    gordian_status (*matrix_row)(void *state, gordian_matrix which, uint32_t row,
                                 const uint64_t **words, gordian_error *error);

    /* Device memory that it has, and how much of that is in use. */
    gordian_status (*memory)(void *state, uint64_t *bytes, uint64_t *used, gordian_error *error);

    /* Optional. Why it failed: one line; NULL: not known. */
    const char *(*reason)(const void *state);
    /* Optional, for tests: the device fails after that many more commands. */
    void (*fail_after)(void *state, uint64_t commands);
};

extern const struct cuda_method cuda_osdda, cuda_osdda_blocks;
extern const struct cuda_method cuda_lmdda, cuda_lmdda_blocks;

extern const struct detect_engine detect_cuda, detect_cuda_blocks;

/* Is it one of the two? The functions at the end are for those. */
bool cuda_runs(const struct detect_engine *engine);

/* Bytes of device memory that a method takes for so many. */
typedef uint64_t cuda_bytes(const void *method, struct cuda_room room);

/* The room to make where there is `had` and `needed` is needed: twice what there was, or as much of
 * that as the memory free beside what there is allows. GORDIAN_STATUS_MEMORY, with the size, if
 * even `needed` does not fit; nothing has been allocated then. */
gordian_status cuda_choose_room(struct gpu *gpu, struct cuda_room had, struct cuda_room needed,
                                cuda_bytes *bytes, const void *method, struct cuda_room *chosen,
                                gordian_error *error);

/* Why this engine (a system's state) goes on with `sparse`; NULL: it does not, the device works. */
const char *cuda_note(const void *engine);

/* For benches that time the bookkeeping: waits until the device is done with everything so far.
 * False: it has failed. */
bool cuda_drain(void *engine);

/* For tests and benches: device memory that the engine has, and how much of that is in use; there
 * is something on the device. GORDIAN_STATUS_IO: it has failed. */
gordian_status cuda_memory(void *engine, uint64_t *bytes, uint64_t *used, gordian_error *error);

/* For tests: the device fails after that many more commands. */
void cuda_fail_after(void *engine, uint64_t commands);

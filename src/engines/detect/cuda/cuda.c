/* The cuda engines: a device, a method on it, and `sparse` in case the device fails (cuda.h). */
#include "engines/detect/cuda/cuda.h"

#include "engines/detect/engine/matrix.h"
#include "engines/detect/engine/sparse.h"
#include "engines/detect/engine/what_if_ends.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <stdio.h>
#include <string.h>

struct cuda_engine {
    const struct detect_engine *table;
    gordian_allocator memory;
    struct rag *rag;
    struct gpu *gpu;
    const struct cuda_method *method; /* NULL before the first prepare */
    void *state;

    struct sparse *fallback; /* its memory is reserved from the start */
    bool failed;             /* the device has failed: `fallback` decides */
    gordian_error why;
};

/* ------------------------------------------------------------------ opening */

static void close_detect_device(struct cuda_engine *e)
{
    if (e->method)
        e->method->close(e->state);
    e->method = NULL;
    if (e->gpu)
        gpu_close(e->gpu);
    e->gpu = NULL;
}

static void cuda_detect_close(void *engine)
{
    struct cuda_engine *e = engine;
    if (!e)
        return;
    close_detect_device(e);
    if (e->fallback)
        detect_sparse.close(e->fallback);
    gordian_allocator memory = e->memory;
    memory_free(&memory, e);
}

static gordian_status cuda_detect_open(void **engine, const struct detect_engine *table,
                                       struct rag *rag, gordian_error *error)
{
    struct cuda_engine *e = memory_zeroed(&rag->memory, sizeof *e);
    if (!e)
        return fail_memory(error);
    e->table = table;
    e->memory = rag->memory;
    e->rag = rag;
    void *fallback = NULL;
    gordian_status status = detect_sparse.open(&fallback, &detect_sparse, rag, error);
    e->fallback = fallback;
    THEN(status, gpu_open_default(&e->gpu, &rag->memory, error));
    if (status != GORDIAN_OK) {
        cuda_detect_close(e);
        return status;
    }
    *engine = e;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ falling back */

/* Follows the path from `process` and marks it with that process's own number. Returns the process
 * at which it closes into a cycle. NONE: it ends, or meets a path followed earlier. */
static uint32_t follow_path(struct rag *rag, uint32_t process, uint32_t newcomer)
{
    uint32_t own = process + 1; /* 0: not met yet */
    while (process != NONE && process != newcomer && rag_waits(rag, process)) {
        uint32_t *mark = &rag->processes_more[process].mark;
        if (*mark)
            return *mark == own ? process : NONE;
        *mark = own;
        process = rag->holder[rag->wait[process]];
    }
    return NONE;
}

/* Makes the present deadlocks known to the single-unit method: one process on each cycle counts as
 * the one that closed it. `newcomer` has just begun to wait and is still to be judged. */
static void adopt_cycles(struct sparse *fallback, uint32_t newcomer)
{
    struct rag *rag = fallback->graph;
    for (uint32_t p = 0; p < rag->process_limit; p++)
        rag->processes_more[p].mark = 0;
    for (uint32_t p = 0; p < rag->process_limit; p++) {
        uint32_t closing = follow_path(rag, p, newcomer);
        if (closing == NONE)
            continue;
        rag->processes_more[closing].mark = PATH_CLOSING;
        fallback->paths.closing++;
    }
    for (uint32_t p = 0; p < rag->process_limit; p++)
        if (rag->processes_more[p].mark != PATH_CLOSING)
            rag->processes_more[p].mark = 0;
}

/* The multi-unit method needs no preparation: it searches on each question. */
static void fall_back_to_sparse(struct cuda_engine *e, uint32_t newcomer, const char *why)
{
    if (!why && e->method && e->method->reason)
        why = e->method->reason(e->state);
    fail(&e->why, GORDIAN_STATUS_IO, "the device failed: %.300s", why ? why : "unknown reason");
    close_detect_device(e);
    e->failed = true;
    if (e->rag->model == GORDIAN_MODEL_SINGLE_UNIT)
        adopt_cycles(e->fallback, newcomer);
}

/* Returns the hooks of `sparse` for the present model. */
static const struct detect_engine *fallback_hooks(const struct cuda_engine *e)
{
    return detect_sparse.refine(e->rag->model);
}

const char *cuda_note(const void *engine)
{
    const struct cuda_engine *e = engine;
    return e->failed ? e->why.message : NULL;
}

bool cuda_drain(void *engine)
{
    struct cuda_engine *e = engine;
    return !e->failed && (!e->method || e->method->drain(e->state, NULL) == GORDIAN_OK);
}

gordian_status cuda_memory(void *engine, uint64_t *bytes, uint64_t *used, gordian_error *error)
{
    struct cuda_engine *e = engine;
    if (e->failed)
        return fail(error, GORDIAN_STATUS_IO, "%s", e->why.message);
    return e->method->memory(e->state, bytes, used, error);
}

void cuda_fail_after(void *engine, uint64_t commands)
{
    struct cuda_engine *e = engine;
    if (e->method && e->method->fail_after)
        e->method->fail_after(e->state, commands);
}

/* ------------------------------------------------------------------ capacity */

/* Returns `limit` plus a share of what doubling would add. */
static uint32_t grown_limit(uint32_t had, uint32_t limit, unsigned halvings)
{
    limit = limit ? limit : 1; /* at least one, so that the kernels have something to run on */
    return halvings < 32 ? limit + ((memory_doubled(had, limit) - limit) >> halvings) : limit;
}

/* Near the end of the memory the steps get smaller, each about half of what is left. So even if ids
 * are added one by one, there are few steps. */
gordian_status cuda_choose_capacity(struct gpu *gpu, struct cuda_capacity had,
                                    struct cuda_capacity needed, cuda_bytes *bytes,
                                    const void *method, struct cuda_capacity *chosen,
                                    gordian_error *error)
{
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    for (unsigned halvings = 0; halvings <= 32; halvings++) {
        chosen->processes = grown_limit(had.processes, needed.processes, halvings);
        chosen->resources = grown_limit(had.resources, needed.resources, halvings);
        if (bytes(method, *chosen) <= info.memory_free)
            return GORDIAN_OK;
    }
    if (gpu_failed(gpu)) /* a resident kernel may fail at any time; no memory is free then */
        return gpu_wait(gpu, error);
    return fail(error, GORDIAN_STATUS_MEMORY,
                "%u processes and %u resources take %llu MiB of device memory: %.60s has %llu MiB, "
                "%llu of them free",
                needed.processes, needed.resources,
                (unsigned long long)(bytes(method, *chosen) >> 20) + 1, info.name,
                (unsigned long long)(info.memory >> 20),
                (unsigned long long)(info.memory_free >> 20));
}

static gordian_status change_method(struct cuda_engine *e, const struct cuda_method *method,
                                    uint32_t process_limit, uint32_t resource_limit,
                                    gordian_error *error)
{
    void *state = NULL;
    bool pausing = e->method && e->method->pause;
    if (pausing)
        e->method->pause(e->state, true, NULL);
    gordian_status status =
        method->open(&state, method, e->gpu, e->rag, process_limit, resource_limit, error);
    if (status != GORDIAN_OK) {
        gordian_error again = {0};
        if (pausing && e->method->pause(e->state, false, &again))
            fall_back_to_sparse(e, NONE, again.message);
        return status;
    }
    if (e->method)
        e->method->close(e->state);
    e->method = method;
    e->state = state;
    return GORDIAN_OK;
}

static gordian_status cuda_detect_prepare(void *engine, gordian_model model, uint32_t process_limit,
                                          uint32_t resource_limit, gordian_error *error)
{
    struct cuda_engine *e = engine;
    const char *why = NULL;
    if (!matrix_supports(&model, &why))
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "engine %s: %s", e->table->about.name, why);
    gordian_status status =
        detect_sparse.prepare(e->fallback, model, process_limit, resource_limit, error);
    if (status != GORDIAN_OK || e->failed)
        return status;
    bool blocks = e->table == &detect_cuda_blocks;
    const struct cuda_method *method = model == GORDIAN_MODEL_SINGLE_UNIT
                                           ? (blocks ? &cuda_osdda_blocks : &cuda_osdda)
                                           : (blocks ? &cuda_lmdda_blocks : &cuda_lmdda);
    bool first = !e->method;
    gordian_error trouble = {0};
    status = method == e->method
                 ? method->grow(e->state, process_limit, resource_limit, &trouble)
                 : change_method(e, method, process_limit, resource_limit, &trouble);
    if (status == GORDIAN_OK || e->failed)
        return GORDIAN_OK;
    if (status == GORDIAN_STATUS_IO && !first) {
        fall_back_to_sparse(e, NONE, trouble.message);
        return GORDIAN_OK;
    }
    return fail(error, status, "engine %s: %.380s", e->table->about.name, trouble.message);
}

/* ------------------------------------------------------------------ hooks */

/* Runs a hook on the device; on `sparse` if the device has failed, now or earlier. */
#define DEVICE_HOOK(e, hook, ...)                                                                  \
    do {                                                                                           \
        if (!(e)->failed) {                                                                        \
            if ((e)->method->hook((e)->state, ##__VA_ARGS__))                                      \
                return;                                                                            \
            fall_back_to_sparse((e), NONE, NULL);                                                  \
        }                                                                                          \
        if (fallback_hooks(e)->hook)                                                               \
            fallback_hooks(e)->hook((e)->fallback, ##__VA_ARGS__);                                 \
    } while (0)

static void cuda_grant(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_engine *e = engine;
    DEVICE_HOOK(e, grant, process, resource, units);
}

static gordian_outcome cuda_block(void *engine, uint32_t process)
{
    struct cuda_engine *e = engine;
    if (!e->failed) {
        gordian_outcome outcome = e->method->block(e->state, process);
        if (outcome != CUDA_NO_OUTCOME)
            return outcome;
        fall_back_to_sparse(e, process, NULL);
    }
    return fallback_hooks(e)->block(e->fallback, process);
}

static void cuda_release(void *engine, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_engine *e = engine;
    DEVICE_HOOK(e, release, process, resource, units);
}

static void cuda_serve(void *engine, uint32_t process, uint32_t from, const gordian_want *wants,
                       size_t count)
{
    struct cuda_engine *e = engine;
    DEVICE_HOOK(e, serve, process, from, wants, count);
}

/* Only `sparse` sets the paths of processes. */
static void cuda_awake(void *engine, uint32_t process)
{
    struct cuda_engine *e = engine;
    if (e->failed && fallback_hooks(e)->awake)
        fallback_hooks(e)->awake(e->fallback, process);
}

static void cuda_cancel(void *engine, uint32_t process)
{
    struct cuda_engine *e = engine;
    DEVICE_HOOK(e, cancel, process);
}

static void cuda_settle(void *engine)
{
    struct cuda_engine *e = engine;
    if (!e->failed && !e->method) /* an exit may come before the first resource */
        return;
    DEVICE_HOOK(e, settle);
}

static gordian_status cuda_deadlocked(void *engine, uint64_t *set, gordian_error *error)
{
    struct cuda_engine *e = engine;
    if (!e->failed) {
        if (!e->method)
            return GORDIAN_OK;
        gordian_error trouble = {0};
        gordian_status status = e->method->deadlocked(e->state, set, &trouble);
        if (status == GORDIAN_OK)
            return GORDIAN_OK;
        if (status != GORDIAN_STATUS_IO)
            return fail(error, status, "%s", trouble.message);
        fall_back_to_sparse(e, NONE, trouble.message);
        memset(set, 0, bits_words(e->rag->process_limit) * sizeof *set);
    }
    return fallback_hooks(e)->deadlocked(e->fallback, set, error);
}

static gordian_status cuda_what_if_all(void *engine, uint32_t *ends, gordian_error *error)
{
    struct cuda_engine *e = engine;
    if (!e->failed && e->method && e->method->what_if_all) {
        gordian_error trouble = {0};
        gordian_status status = e->method->what_if_all(e->state, ends, &trouble);
        if (status == GORDIAN_OK)
            return GORDIAN_OK;
        if (status != GORDIAN_STATUS_IO)
            return fail(error, status, "%s", trouble.message);
        fall_back_to_sparse(e, NONE, trouble.message);
    }
    return what_if_ends(e->rag, ends, error);
}

/* ------------------------------------------------------------------ matrices */

static gordian_status cuda_matrix_row(const void *engine, gordian_matrix which, uint32_t row,
                                      const uint64_t **words, gordian_error *error)
{
    const struct cuda_engine *e = engine;
    if (e->failed)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "no matrices: %.350s", e->why.message);
    return e->method->matrix_row(e->state, which, row, words, error);
}

#define CUDA_ENGINE(engine_name, what)                                                             \
    {                                                                                              \
        .about = {.name = (engine_name),                                                           \
                  .summary = (what),                                                               \
                  .available = gpu_available,                                                      \
                  .supports = matrix_supports,                                                     \
                  .dense = true},                                                                  \
        .open = cuda_detect_open, .note = cuda_note, .close = cuda_detect_close,                   \
        .prepare = cuda_detect_prepare, .grant = cuda_grant, .block = cuda_block,                  \
        .release = cuda_release, .serve = cuda_serve, .awake = cuda_awake, .cancel = cuda_cancel,  \
        .settle = cuda_settle, .deadlocked = cuda_deadlocked, .matrix_row = cuda_matrix_row,       \
        .what_if_all = cuda_what_if_all,                                                           \
    }

const struct detect_engine detect_cuda =
    CUDA_ENGINE("cuda", "OSDDA and LMDDA on an NVIDIA GPU, with a resident kernel");
const struct detect_engine detect_cuda_blocks =
    CUDA_ENGINE("cuda-blocks", "the same with sparse matrices: only nonempty blocks are stored");

bool cuda_runs(const struct detect_engine *engine)
{
    return engine == &detect_cuda || engine == &detect_cuda_blocks;
}

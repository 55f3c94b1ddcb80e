/*
 * OSDDA on a GPU: the single-unit method of the engines cuda and cuda-blocks.
 *
 * The state is in the device's memory. A resident kernel works on it
 * (foundation/gpu/kernels/detect/osdda.cu or
 * foundation/gpu/kernels/detect/osdda_blocks.cu); the host turns hooks into commands.
 * The host waits only for the answer to a block, which takes reading one word. The device does the
 * bookkeeping while the host goes on.
 */
#include "engines/detect/cuda/osdda.h"

#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ storage */

/* Returns the bytes of device memory that the method takes for these ids. */
static uint64_t device_bytes_osdda(const void *method, struct cuda_capacity room)
{
    uint64_t vectors = (4 * (uint64_t)room.resources + room.processes) * sizeof(uint32_t);
    return osdda_storage_bytes(method, room) + vectors;
}

static void free_osdda_parts(const struct cuda_osdda *o, struct osdda_parts *parts)
{
    const struct osdda_vectors *vectors = &parts->arguments.vectors;
    const struct osdda_blocks_arguments *blocks = &parts->arguments.blocks;
    gpu_free_all(o->gpu, vectors->holder, vectors->wait, vectors->sink_of, vectors->next[0],
                 vectors->next[1]);
    if (o->blocks)
        gpu_free_all(o->gpu, blocks->rr.tops, blocks->rp.tops, blocks->step, blocks->row);
    else
        gpu_free(o->gpu, parts->arguments.whole.rows);
    blocks_close(&parts->pool);
    memory_free_all(&o->rag->memory, parts->vector, parts->released, parts->row);
    *parts = (struct osdda_parts){0};
}

static gordian_status allocate_osdda_host(const struct cuda_osdda *o, struct osdda_parts *parts,
                                          gordian_error *error)
{
    const gordian_allocator *memory = &o->rag->memory;
    uint32_t longer = parts->room.processes > parts->room.resources ? parts->room.processes
                                                                    : parts->room.resources;
    parts->vector = memory_alloc(memory, longer * sizeof *parts->vector);
    parts->released = memory_alloc(memory, parts->room.resources * sizeof *parts->released);
    parts->row = memory_zeroed(memory, bits_words(longer) * sizeof *parts->row);
    return parts->vector && parts->released && parts->row ? GORDIAN_OK : fail_memory(error);
}

/* Allocates device memory; its contents are undefined. */
static gordian_status allocate_osdda_device(const struct cuda_osdda *o, struct osdda_parts *parts,
                                            gordian_error *error)
{
    uint64_t resources = parts->room.resources * sizeof(uint32_t);
    uint64_t processes = parts->room.processes * sizeof(uint32_t);
    struct osdda_vectors *vectors = &parts->arguments.vectors;
    TRY(gpu_alloc(o->gpu, &vectors->holder, resources, error));
    TRY(gpu_alloc(o->gpu, &vectors->wait, processes, error));
    TRY(gpu_alloc(o->gpu, &vectors->sink_of, resources, error));
    for (size_t i = 0; i < 2; i++)
        TRY(gpu_alloc(o->gpu, &vectors->next[i], resources, error));
    return osdda_storage_open(o, parts, error);
}

/* ------------------------------------------------------------------ the kernel */

static gordian_status start_osdda_kernel(struct cuda_osdda *o, gordian_error *error)
{
    const struct osdda_parts *parts = &o->parts;
    /* One block on each multiprocessor leaves capacity for other kernels. Threads of the emulator
     * are expensive. */
    unsigned threads = o->info.emulated ? 64 : OSDDA_MAX_THREADS;
    unsigned most = o->info.emulated ? 3 : o->info.multiprocessors, resident = 0;
    const char *kernel = o->blocks ? "osdda_blocks_service" : "osdda_service";
    TRY(gpu_resident_blocks(o->gpu, kernel, threads, 0, &resident, error));
    unsigned blocks = parts->room.resources / 16 + 1;
    if (blocks > most)
        blocks = most;
    if (blocks > resident)
        blocks = resident;
    union osdda_any_arguments arguments = parts->arguments;
    arguments.vectors.service = service_arguments(o->service);
    arguments.vectors.resources = parts->room.resources;
    while (UINT64_C(1) << arguments.vectors.doublings < parts->room.resources)
        arguments.vectors.doublings++;
    struct gpu_launch launch = {.kernel = kernel,
                                .blocks = blocks,
                                .threads = threads,
                                .arguments = &arguments,
                                .arguments_size =
                                    o->blocks ? sizeof arguments.blocks : sizeof arguments.whole};
    return service_start(o->service, launch, error);
}

gordian_status cuda_osdda_lost(const struct cuda_osdda *o, gordian_error *error)
{
    const char *reason = service_reason(o->service);
    return fail(error, GORDIAN_STATUS_IO, "%s", reason ? reason : "the device does not answer");
}

/* Waits until everything so far is done and the kernel's results can be read. */
static gordian_status drain_queue(void *state, gordian_error *error)
{
    struct cuda_osdda *o = state;
    uint32_t ignored;
    if (!service_touched(o->service))
        return GORDIAN_OK;
    bool done = service_ask(o->service, OSDDA_PING, 0, 0, 0, &ignored);
    service_touched(o->service); /* the question itself changes nothing */
    return done ? GORDIAN_OK : cuda_osdda_lost(o, error);
}

/* ------------------------------------------------------------------ from the graph */

static gordian_status write_vector(struct cuda_osdda *o, gpu_address to, const uint32_t *from,
                                   uint32_t limit, uint32_t room, gordian_error *error)
{
    for (uint32_t i = 0; i < room; i++)
        o->parts.vector[i] = i < limit && from[i] < RAG_POOLED ? from[i] : OSDDA_NONE;
    return gpu_write(o->gpu, to, o->parts.vector, room * sizeof *o->parts.vector, error);
}

/* Starts the kernel and lets it build every row from the graph. */
static gordian_status build_rows(struct cuda_osdda *o, gordian_error *error)
{
    const struct rag *rag = o->rag;
    const struct osdda_parts *parts = &o->parts;
    TRY(write_vector(o, parts->arguments.vectors.holder, rag->holder, rag->resource_limit,
                     parts->room.resources, error));
    TRY(write_vector(o, parts->arguments.vectors.wait, rag->wait, rag->process_limit,
                     parts->room.processes, error));
    TRY(start_osdda_kernel(o, error));
    if (!service_post(o->service, OSDDA_REBUILD, OSDDA_NONE, 0, 0))
        return cuda_osdda_lost(o, error);
    return drain_queue(o, error);
}

/* Rows become longer and more, so everything moves; it is rebuilt, not copied. The kernel ends
 * first, because drivers may wait for kernels when memory is allocated or freed. */
static gordian_status cuda_osdda_grow(void *state, uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_osdda *o = state;
    if (process_limit <= o->parts.room.processes && resource_limit <= o->parts.room.resources)
        return GORDIAN_OK;
    bool first = !o->parts.room.resources;
    struct osdda_parts larger = {0};
    const struct cuda_capacity needed = {process_limit, resource_limit};
    TRY(cuda_choose_capacity(o->gpu, o->parts.room, needed, device_bytes_osdda, o, &larger.room,
                             error));
    gordian_status status = allocate_osdda_host(o, &larger, error);
    THEN(status, service_stop(o->service, error));
    if (status != GORDIAN_OK) {
        free_osdda_parts(o, &larger);
        return status;
    }
    status = allocate_osdda_device(o, &larger, error);
    if (status != GORDIAN_OK) {
        free_osdda_parts(o, &larger);
        if (first || !start_osdda_kernel(o, NULL))
            return status;
        return fail(error, GORDIAN_STATUS_IO, "the resident kernel did not start again");
    }
    free_osdda_parts(o, &o->parts);
    o->parts = larger;
    status = build_rows(o, error);
    if (status != GORDIAN_OK && first && o->starved)
        return fail(error, GORDIAN_STATUS_MEMORY, "%s", service_reason(o->service));
    /* The old state is gone. Whatever the error was, this device can no longer be used. */
    return status && !first ? GORDIAN_STATUS_IO : status;
}

static void cuda_osdda_close(void *state)
{
    struct cuda_osdda *o = state;
    service_close(o->service);
    free_osdda_parts(o, &o->parts);
    memory_free(&o->rag->memory, o);
}

/* Called before every start of the kernel. */
static gordian_status feed_kernel(void *context, gordian_error *error)
{
    struct cuda_osdda *o = context;
    bool ignored;
    gordian_status status = blocks_map_more(&o->parts.pool, &ignored, error);
    o->starved = status == GORDIAN_STATUS_MEMORY;
    return status;
}

static gordian_status cuda_osdda_open(void **state, const struct cuda_method *method,
                                      struct gpu *gpu, const struct rag *rag,
                                      uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_osdda *o = memory_zeroed(&rag->memory, sizeof *o);
    if (!o)
        return fail_memory(error);
    o->gpu = gpu;
    o->rag = rag;
    o->blocks = method->blocks;
    gpu_get_info(gpu, &o->info);
    /* Check whether it fits before anything is allocated. */
    struct cuda_capacity needed = {process_limit, resource_limit}, wanted;
    gordian_status status =
        cuda_choose_capacity(gpu, o->parts.room, needed, device_bytes_osdda, o, &wanted, error);
    THEN(status, service_open(&o->service, gpu, &rag->memory, error));
    if (status == GORDIAN_OK && o->blocks)
        service_before_start(o->service, feed_kernel, o);
    THEN(status, cuda_osdda_grow(o, wanted.processes, wanted.resources, error));
    if (status != GORDIAN_OK) {
        cuda_osdda_close(o);
        return status;
    }
    *state = o;
    return GORDIAN_OK;
}

static gordian_status cuda_osdda_pause(void *state, bool pausing, gordian_error *error)
{
    struct cuda_osdda *o = state;
    return pausing ? service_stop(o->service, error) : start_osdda_kernel(o, error);
}

/* ------------------------------------------------------------------ events */

static bool cuda_osdda_grant(void *state, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_osdda *o = state;
    (void)units; /* always one */
    return service_post(o->service, OSDDA_GRANT, process, resource, 0);
}

static gordian_outcome cuda_osdda_block(void *state, uint32_t process)
{
    struct cuda_osdda *o = state;
    bool alone = o->rag->processes[process].held == NONE; /* no path leads to it */
    uint32_t sink;
    if (!service_ask(o->service, alone ? OSDDA_BLOCK_ALONE : OSDDA_BLOCK, process,
                     o->rag->wait[process], 0, &sink))
        return CUDA_NO_OUTCOME;
    if (sink == process)
        return GORDIAN_OUTCOME_DEADLOCK;
    return sink == OSDDA_NONE ? GORDIAN_OUTCOME_DOOMED : GORDIAN_OUTCOME_BLOCKED;
}

static bool cuda_osdda_release(void *state, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_osdda *o = state;
    (void)units;
    o->releaser = process;
    o->parts.released[o->released_count++] = resource;
    return true;
}

/* Together with the release before it, this is the papers' "released, p_t waits". */
static bool cuda_osdda_serve(void *state, uint32_t process, uint32_t from,
                             const gordian_want *wants, size_t count)
{
    struct cuda_osdda *o = state;
    (void)count; /* always one in a single-unit system */
    return service_post(o->service, OSDDA_HAND_OVER, from, wants[0].resource, process);
}

static bool cuda_osdda_settle(void *state)
{
    struct cuda_osdda *o = state;
    while (o->released_count) {
        uint32_t resource = o->parts.released[--o->released_count];
        if (o->rag->holder[resource] != NONE)
            continue; /* the resource was handed over */
        if (!service_post(o->service, OSDDA_RELEASE, o->releaser, resource, 0))
            return false;
    }
    return true;
}

static bool cuda_osdda_cancel(void *state, uint32_t process)
{
    struct cuda_osdda *o = state;
    bool alone = o->rag->processes[process].held == NONE;
    return service_post(o->service, alone ? OSDDA_CANCEL_ALONE : OSDDA_CANCEL, process,
                        o->rag->wait[process], 0);
}

/* ------------------------------------------------------------------ reading */

static gordian_status cuda_osdda_deadlocked(void *state, uint64_t *set, gordian_error *error)
{
    struct cuda_osdda *o = state;
    const struct rag *rag = o->rag;
    TRY(drain_queue(o, error));
    TRY(gpu_read(o->gpu, o->parts.vector, o->parts.arguments.vectors.sink_of,
                 o->parts.room.resources * sizeof *o->parts.vector, error));
    for (uint32_t p = 0; p < rag->process_limit; p++)
        if (rag_waits(rag, p) && o->parts.vector[rag->wait[p]] == OSDDA_NONE)
            bits_set(set, p);
    return GORDIAN_OK;
}

/* The sinks are the answer. */
static gordian_status cuda_osdda_what_if_all(void *state, uint32_t *ends, gordian_error *error)
{
    struct cuda_osdda *o = state;
    TRY(drain_queue(o, error));
    return gpu_read(o->gpu, ends, o->parts.arguments.vectors.sink_of,
                    o->rag->resource_limit * sizeof *ends, error);
}

/* Reads a row of a matrix that is stored as a vector: it has at most one bit. */
static gordian_status read_one_bit(struct cuda_osdda *o, gpu_address vector, uint32_t row,
                                   size_t words, gordian_error *error)
{
    uint32_t bit;
    TRY(gpu_read(o->gpu, &bit, vector + row * sizeof bit, sizeof bit, error));
    memset(o->parts.row, 0, words * sizeof *o->parts.row);
    if (bit != OSDDA_NONE)
        bits_set(o->parts.row, bit);
    return GORDIAN_OK;
}

static gordian_status cuda_osdda_matrix_row(void *state, gordian_matrix which, uint32_t row,
                                            const uint64_t **words, gordian_error *error)
{
    struct cuda_osdda *o = state;
    const struct osdda_parts *parts = &o->parts;
    size_t across_processes = bits_words(o->rag->process_limit);
    size_t across_resources = bits_words(o->rag->resource_limit);
    TRY(drain_queue(o, error));
    *words = o->parts.row;
    switch (which) {
    case GORDIAN_MATRIX_AG:
        return read_one_bit(o, parts->arguments.vectors.holder, row, across_processes, error);
    case GORDIAN_MATRIX_AR:
        return read_one_bit(o, parts->arguments.vectors.wait, row, across_resources, error);
    case GORDIAN_MATRIX_SINK:
        return read_one_bit(o, parts->arguments.vectors.sink_of, row, across_processes, error);
    case GORDIAN_MATRIX_RR:
        return osdda_storage_read(o, false, row, o->rag->resource_limit, error);
    case GORDIAN_MATRIX_RP:
        return osdda_storage_read(o, true, row, o->rag->process_limit, error);
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "there is no such matrix");
}

/* ------------------------------------------------------------------ the rest */

static const char *cuda_osdda_reason(const void *state)
{
    const struct cuda_osdda *o = state;
    return service_reason(o->service);
}

static gordian_status cuda_osdda_memory(void *state, uint64_t *bytes, uint64_t *used,
                                        gordian_error *error)
{
    struct cuda_osdda *o = state;
    uint64_t pages, pages_used;
    TRY(drain_queue(o, error));
    *bytes = *used = device_bytes_osdda(o, o->parts.room);
    if (!o->blocks)
        return GORDIAN_OK;
    TRY(blocks_count(&o->parts.pool, &pages, &pages_used, error));
    *bytes += pages - blocks_bytes(&o->info);
    *used += pages_used - blocks_bytes(&o->info);
    return GORDIAN_OK;
}

static void cuda_osdda_fail_after(void *state, uint64_t commands)
{
    struct cuda_osdda *o = state;
    service_fail_after(o->service, commands);
}

#define OSDDA_METHOD(in_blocks)                                                                    \
    {                                                                                              \
        .blocks = (in_blocks), .open = cuda_osdda_open, .close = cuda_osdda_close,                 \
        .grow = cuda_osdda_grow, .pause = cuda_osdda_pause, .grant = cuda_osdda_grant,             \
        .block = cuda_osdda_block, .release = cuda_osdda_release, .serve = cuda_osdda_serve,       \
        .cancel = cuda_osdda_cancel, .settle = cuda_osdda_settle, .drain = drain_queue,            \
        .deadlocked = cuda_osdda_deadlocked, .what_if_all = cuda_osdda_what_if_all,                \
        .matrix_row = cuda_osdda_matrix_row, .memory = cuda_osdda_memory,                          \
        .reason = cuda_osdda_reason, .fail_after = cuda_osdda_fail_after,                          \
    }

const struct cuda_method cuda_osdda = OSDDA_METHOD(false);
const struct cuda_method cuda_osdda_blocks = OSDDA_METHOD(true);

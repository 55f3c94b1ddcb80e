/*
 * OSDDA on a GPU: the single-unit method of the cuda engine.
 *
 * The state is in the device's memory and a resident kernel (gpu/kernels/osdda.cu) works on it; the
 * host turns hooks into commands. Only a block is waited for, and only for the look at one
 * word that answers it: the bookkeeping goes on while the host does.
 */
#include "gpu/kernels/osdda.h"
#include "base/bits.h"
#include "base/error.h"
#include "detect/cuda/cuda.h"
#include "detect/matrix.h"
#include "gpu/service.h"

#include <string.h>

#define CHUNK_BYTES 16u

/* What is on the device, with room for these ids. */
struct device_parts {
    uint32_t process_room, resource_room;
    uint64_t stride; /* bytes from row to row: of RR, then of RP */
    uint64_t rp;     /* where in a row RP starts */
    gpu_address holder, wait, sink_of, next[2], rows;
};

struct cuda_osdda {
    struct gpu *gpu;
    const struct rag *rag;
    struct service *service;
    struct device_parts parts;

    uint32_t *vector; /* room for a vector of either kind of id */
    uint64_t *row;    /* the last row handed out */

    /* What the current event has given back, by whom: settle clears what nobody took. */
    uint32_t *released;
    uint32_t released_count, releaser;
};

/* ------------------------------------------------------------------ storage */

static uint64_t row_bytes(uint32_t bits)
{
    return ((uint64_t)bits + 8 * OSDDA_LINE - 1) / (8 * OSDDA_LINE) * OSDDA_LINE;
}

/* Bytes of device memory the method takes for that many ids. */
static uint64_t cuda_osdda_bytes(uint32_t processes, uint32_t resources)
{
    uint64_t rows = (row_bytes(processes) + row_bytes(resources)) * resources;
    return rows + (4 * (uint64_t)resources + processes) * sizeof(uint32_t);
}

static void free_device_parts(struct gpu *gpu, struct device_parts *parts)
{
    gpu_address all[] = {parts->holder,  parts->wait,    parts->sink_of,
                         parts->next[0], parts->next[1], parts->rows};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i])
            gpu_free(gpu, all[i]);
    *parts = (struct device_parts){0};
}

/* Room for these ids on the device, contents undefined; on failure nothing is left. */
static gordian_status make_device_parts(struct gpu *gpu, struct device_parts *parts,
                                        gordian_error *error)
{
    uint64_t resources = parts->resource_room, processes = parts->process_room;
    parts->rp = row_bytes(parts->resource_room);
    parts->stride = parts->rp + row_bytes(parts->process_room);
    struct {
        gpu_address *at;
        uint64_t bytes;
    } wanted[] = {
        {&parts->holder, resources * sizeof(uint32_t)},
        {&parts->wait, processes * sizeof(uint32_t)},
        {&parts->sink_of, resources * sizeof(uint32_t)},
        {&parts->next[0], resources * sizeof(uint32_t)},
        {&parts->next[1], resources * sizeof(uint32_t)},
        {&parts->rows, resources * parts->stride},
    };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        gordian_status status = gpu_alloc(gpu, wanted[i].at, wanted[i].bytes, error);
        if (status != GORDIAN_OK) {
            *wanted[i].at = 0;
            free_device_parts(gpu, parts);
            return status;
        }
    }
    return GORDIAN_OK;
}

static uint64_t bytes_for(const void *method, struct cuda_room room)
{
    (void)method;
    return cuda_osdda_bytes(room.processes, room.resources);
}

static gordian_status choose_room(struct cuda_osdda *o, uint32_t process_limit,
                                  uint32_t resource_limit, struct device_parts *larger,
                                  gordian_error *error)
{
    struct cuda_room had = {o->parts.process_room, o->parts.resource_room}, chosen;
    struct cuda_room needed = {process_limit, resource_limit};
    gordian_status status = cuda_choose_room(o->gpu, had, needed, bytes_for, NULL, &chosen, error);
    if (status == GORDIAN_OK)
        *larger = (struct device_parts){.process_room = chosen.processes,
                                        .resource_room = chosen.resources};
    return status;
}

/* The host's side: what is as long as a vector or a row. */
struct host_parts {
    uint32_t *vector, *released;
    uint64_t *row;
};

static void free_host_parts(const gordian_allocator *memory, struct host_parts *host)
{
    memory_free_all(memory, host->vector, host->released, host->row);
}

static gordian_status make_host_parts(const gordian_allocator *memory,
                                      const struct device_parts *parts, struct host_parts *host,
                                      gordian_error *error)
{
    uint32_t longer =
        parts->process_room > parts->resource_room ? parts->process_room : parts->resource_room;
    host->vector = memory_alloc(memory, longer * sizeof *host->vector);
    host->released = memory_alloc(memory, parts->resource_room * sizeof *host->released);
    host->row = memory_zeroed(memory, row_bytes(longer));
    if (host->vector && host->released && host->row)
        return GORDIAN_OK;
    free_host_parts(memory, host);
    return fail_memory(error);
}

/* ------------------------------------------------------------------ the kernel */

static gordian_status start_kernel(struct cuda_osdda *o, gordian_error *error)
{
    const struct device_parts *parts = &o->parts;
    struct gpu_info info;
    gpu_get_info(o->gpu, &info);
    /* One block a multiprocessor leaves room for other kernels; the emulator's threads are dear. */
    unsigned threads = info.emulated ? 64 : OSDDA_MAX_THREADS;
    unsigned most = info.emulated ? 3 : info.multiprocessors, resident = 0;
    gordian_status status =
        gpu_resident_blocks(o->gpu, "osdda_service", threads, 0, &resident, error);
    if (status != GORDIAN_OK)
        return status;
    unsigned blocks = parts->resource_room / 16 + 1;
    if (blocks > most)
        blocks = most;
    if (blocks > resident)
        blocks = resident;
    struct osdda_arguments arguments = {
        .service = service_arguments(o->service),
        .holder = parts->holder,
        .wait = parts->wait,
        .sink_of = parts->sink_of,
        .next = {parts->next[0], parts->next[1]},
        .rows = parts->rows,
        .stride = parts->stride / CHUNK_BYTES,
        .rp = parts->rp / CHUNK_BYTES,
        .resources = parts->resource_room,
    };
    while (UINT64_C(1) << arguments.doublings < arguments.resources)
        arguments.doublings++;
    struct gpu_launch launch = {.kernel = "osdda_service",
                                .blocks = blocks,
                                .threads = threads,
                                .arguments = &arguments,
                                .arguments_size = sizeof arguments};
    return service_start(o->service, launch, error);
}

static gordian_status device_lost(const struct cuda_osdda *o, gordian_error *error)
{
    const char *reason = service_reason(o->service);
    return fail(error, GORDIAN_STATUS_IO, "%s", reason ? reason : "the device does not answer");
}

/* Everything so far is done, and what the kernel wrote can be read. */
static gordian_status drain_queue(struct cuda_osdda *o, gordian_error *error)
{
    uint32_t ignored;
    if (!service_touched(o->service))
        return GORDIAN_OK;
    bool done = service_ask(o->service, OSDDA_PING, 0, 0, 0, &ignored);
    service_touched(o->service); /* the question itself changes nothing */
    return done ? GORDIAN_OK : device_lost(o, error);
}

/* ------------------------------------------------------------------ from the graph */

static gordian_status write_vector(struct cuda_osdda *o, gpu_address to, const uint32_t *from,
                                   uint32_t limit, uint32_t room, gordian_error *error)
{
    for (uint32_t i = 0; i < room; i++)
        o->vector[i] = i < limit && from[i] < RAG_POOLED ? from[i] : OSDDA_NONE;
    return gpu_write(o->gpu, to, o->vector, room * sizeof *o->vector, error);
}

/* Starts the kernel and has it make every row from the graph. */
static gordian_status build_rows(struct cuda_osdda *o, gordian_error *error)
{
    const struct rag *rag = o->rag;
    const struct device_parts *parts = &o->parts;
    gordian_status status = write_vector(o, parts->holder, rag->holder, rag->resource_limit,
                                         parts->resource_room, error);
    if (status == GORDIAN_OK)
        status =
            write_vector(o, parts->wait, rag->wait, rag->process_limit, parts->process_room, error);
    if (status == GORDIAN_OK)
        status = start_kernel(o, error);
    if (status != GORDIAN_OK)
        return status;
    if (!service_post(o->service, OSDDA_REBUILD, OSDDA_NONE, 0, 0))
        return device_lost(o, error);
    return drain_queue(o, error);
}

static void take_host_parts(struct cuda_osdda *o, struct host_parts host)
{
    struct host_parts old = {o->vector, o->released, o->row};
    free_host_parts(&o->rag->memory, &old);
    o->vector = host.vector;
    o->released = host.released;
    o->row = host.row;
}

/* Takes room of the device for `larger` in place of what there is, and starts on it. The kernel has
 * ended: drivers may wait for kernels when memory is taken or given back. */
static gordian_status move_to(struct cuda_osdda *o, struct device_parts larger,
                              struct host_parts host, gordian_error *error)
{
    bool first = !o->parts.rows;
    gordian_status status = make_device_parts(o->gpu, &larger, error);
    if (status != GORDIAN_OK) {
        free_host_parts(&o->rag->memory, &host);
        if (first || !start_kernel(o, NULL))
            return status;
        return fail(error, GORDIAN_STATUS_IO, "the resident kernel did not start again");
    }
    take_host_parts(o, host);
    free_device_parts(o->gpu, &o->parts);
    o->parts = larger;
    status = build_rows(o, error);
    /* The old state is gone: whatever it was, this device is of no more use. */
    return status && !first ? GORDIAN_STATUS_IO : status;
}

/* Rows are longer and more afterwards, so everything moves: made anew rather than copied. */
static gordian_status cuda_osdda_grow(void *state, uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_osdda *o = state;
    if (process_limit <= o->parts.process_room && resource_limit <= o->parts.resource_room)
        return GORDIAN_OK;
    struct device_parts larger = {0};
    struct host_parts host = {0};
    gordian_status status = choose_room(o, process_limit, resource_limit, &larger, error);
    if (status == GORDIAN_OK)
        status = make_host_parts(&o->rag->memory, &larger, &host, error);
    if (status != GORDIAN_OK)
        return status;
    status = service_stop(o->service, error);
    if (status != GORDIAN_OK) {
        free_host_parts(&o->rag->memory, &host);
        return status;
    }
    return move_to(o, larger, host, error);
}

static void cuda_osdda_close(void *state)
{
    struct cuda_osdda *o = state;
    service_close(o->service);
    free_device_parts(o->gpu, &o->parts);
    take_host_parts(o, (struct host_parts){0});
    memory_free(&o->rag->memory, o);
}

static gordian_status cuda_osdda_open(void **state, struct gpu *gpu, const struct rag *rag,
                                      uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_osdda *o = memory_zeroed(&rag->memory, sizeof *o);
    if (!o)
        return fail_memory(error);
    o->gpu = gpu;
    o->rag = rag;
    struct device_parts wanted; /* whether it fits is found out before anything is allocated */
    gordian_status status = choose_room(o, process_limit, resource_limit, &wanted, error);
    if (status == GORDIAN_OK)
        status = service_open(&o->service, gpu, &rag->memory, error);
    if (status == GORDIAN_OK)
        status = cuda_osdda_grow(o, wanted.process_room, wanted.resource_room, error);
    if (status != GORDIAN_OK) {
        cuda_osdda_close(o);
        return status;
    }
    *state = o;
    return GORDIAN_OK;
}

static void cuda_osdda_pause(void *state)
{
    struct cuda_osdda *o = state;
    service_stop(o->service, NULL);
}

static gordian_status cuda_osdda_resume(void *state, gordian_error *error)
{
    return start_kernel(state, error);
}

/* ------------------------------------------------------------------ events */

static bool cuda_osdda_grant(void *state, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_osdda *o = state;
    (void)units; /* there is one */
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
    o->released[o->released_count++] = resource;
    return true;
}

/* Together with the release before it this is the papers' "released, p_t waits". */
static bool cuda_osdda_serve(void *state, uint32_t process, uint32_t from,
                             const gordian_want *wants, size_t count)
{
    struct cuda_osdda *o = state;
    (void)count; /* in a single-unit system always one */
    return service_post(o->service, OSDDA_HAND_OVER, from, wants[0].resource, process);
}

static bool cuda_osdda_settle(void *state)
{
    struct cuda_osdda *o = state;
    while (o->released_count) {
        uint32_t resource = o->released[--o->released_count];
        if (o->rag->holder[resource] != NONE)
            continue; /* it was handed over */
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
    gordian_status status = drain_queue(o, error);
    if (status == GORDIAN_OK)
        status = gpu_read(o->gpu, o->vector, o->parts.sink_of,
                          o->parts.resource_room * sizeof *o->vector, error);
    if (status != GORDIAN_OK)
        return status;
    for (uint32_t p = 0; p < rag->process_limit; p++)
        if (rag_waits(rag, p) && o->vector[rag->wait[p]] == OSDDA_NONE)
            bits_set(set, p);
    return GORDIAN_OK;
}

/* The sinks are what is asked for. */
static gordian_status cuda_osdda_what_if_all(void *state, uint32_t *ends, gordian_error *error)
{
    struct cuda_osdda *o = state;
    gordian_status status = drain_queue(o, error);
    if (status != GORDIAN_OK)
        return status;
    return gpu_read(o->gpu, ends, o->parts.sink_of, o->rag->resource_limit * sizeof *ends, error);
}

/* A row of a matrix that is kept as a vector: one bit at most. */
static gordian_status read_one_bit(struct cuda_osdda *o, gpu_address vector, uint32_t row,
                                   size_t words, gordian_error *error)
{
    uint32_t bit;
    gordian_status status = gpu_read(o->gpu, &bit, vector + row * sizeof bit, sizeof bit, error);
    if (status != GORDIAN_OK)
        return status;
    memset(o->row, 0, words * sizeof *o->row);
    if (bit != OSDDA_NONE)
        bits_set(o->row, bit);
    return GORDIAN_OK;
}

static gordian_status cuda_osdda_matrix_row(void *state, gordian_matrix which, uint32_t row,
                                            const uint64_t **words, gordian_error *error)
{
    struct cuda_osdda *o = state;
    const struct device_parts *parts = &o->parts;
    size_t across_processes = bits_words(o->rag->process_limit);
    size_t across_resources = bits_words(o->rag->resource_limit);
    gordian_status status = drain_queue(o, error);
    if (status != GORDIAN_OK)
        return status;
    *words = o->row;
    switch (which) {
    case GORDIAN_MATRIX_AG:
        return read_one_bit(o, parts->holder, row, across_processes, error);
    case GORDIAN_MATRIX_AR:
        return read_one_bit(o, parts->wait, row, across_resources, error);
    case GORDIAN_MATRIX_SINK:
        return read_one_bit(o, parts->sink_of, row, across_processes, error);
    case GORDIAN_MATRIX_RR:
        return gpu_read(o->gpu, o->row, parts->rows + row * parts->stride,
                        across_resources * sizeof *o->row, error);
    case GORDIAN_MATRIX_RP:
        return gpu_read(o->gpu, o->row, parts->rows + row * parts->stride + parts->rp,
                        across_processes * sizeof *o->row, error);
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "there is no such matrix");
}

static gordian_status cuda_osdda_matrix_get(void *state, gordian_matrix which, uint32_t row,
                                            uint32_t column, uint64_t *value, gordian_error *error)
{
    const uint64_t *words = NULL;
    gordian_status status = cuda_osdda_matrix_row(state, which, row, &words, error);
    if (status == GORDIAN_OK)
        *value = bits_test(words, column);
    return status;
}

/* ------------------------------------------------------------------ the rest */

static const char *cuda_osdda_reason(const void *state)
{
    const struct cuda_osdda *o = state;
    return service_reason(o->service);
}

static void cuda_osdda_fail_after(void *state, uint64_t commands)
{
    struct cuda_osdda *o = state;
    service_fail_after(o->service, commands);
}

static bool cuda_osdda_drain(void *state)
{
    return drain_queue(state, NULL) == GORDIAN_OK;
}

const struct cuda_method cuda_osdda = {
    .open = cuda_osdda_open,
    .close = cuda_osdda_close,
    .grow = cuda_osdda_grow,
    .pause = cuda_osdda_pause,
    .resume = cuda_osdda_resume,
    .grant = cuda_osdda_grant,
    .block = cuda_osdda_block,
    .release = cuda_osdda_release,
    .serve = cuda_osdda_serve,
    .cancel = cuda_osdda_cancel,
    .settle = cuda_osdda_settle,
    .drain = cuda_osdda_drain,
    .deadlocked = cuda_osdda_deadlocked,
    .what_if_all = cuda_osdda_what_if_all,
    .matrix_get = cuda_osdda_matrix_get,
    .matrix_row = cuda_osdda_matrix_row,
    .reason = cuda_osdda_reason,
    .fail_after = cuda_osdda_fail_after,
};

/* LMDDA on a GPU (cuda/lmdda.h). */
#include "engines/detect/cuda/lmdda_storage.h"
#include "foundation/base/bits.h"
#include "foundation/base/error.h"

#include <stddef.h>

#define WORD_BYTES sizeof(uint32_t)
#define NO_FAILURE UINT64_MAX

/* ------------------------------------------------------------------ storage */

/* Returns the bytes of device memory that the method takes for these ids. */
static uint64_t device_bytes_lmdda(const void *method, struct cuda_capacity room)
{
    uint64_t words = room.processes + 4 * (uint64_t)room.resources + hop_stride(room.processes);
    return lmdda_storage_bytes(method, room) + words * WORD_BYTES;
}

static void free_lmdda_device(struct cuda_lmdda *l, struct lmdda_parts *parts)
{
    const gordian_allocator *memory = &l->rag->memory;
    gpu_free_all(l->gpu, parts->device.runs, parts->device.waits, parts->device.slots, parts->ends,
                 parts->device.resources, parts->device.grants, parts->device.reach,
                 parts->blocks.walks[0].tops, parts->blocks.walks[1].tops, parts->blocks.barrier,
                 parts->blocks.changed, parts->blocks.row);
    if (parts->hop.gpu)
        hop_close(&parts->hop);
    blocks_close(&parts->blocks.pool);
    memory_free_all(memory, parts->row, parts->slots, parts->waiters, parts->occupant);
    *parts = (struct lmdda_parts){0};
}

static gordian_status allocate_lmdda_host(const struct cuda_lmdda *l, struct lmdda_parts *parts,
                                          gordian_error *error)
{
    const gordian_allocator *memory = &l->rag->memory;
    uint32_t longer = parts->room.processes > parts->room.resources ? parts->room.processes
                                                                    : parts->room.resources;
    parts->row = memory_zeroed(memory, hop_stride(longer) * WORD_BYTES);
    parts->slots = memory_alloc(memory, parts->room.resources * sizeof *parts->slots);
    parts->waiters = memory_zeroed(memory, parts->room.resources * sizeof *parts->waiters);
    parts->occupant = memory_alloc(memory, parts->room.resources * sizeof *parts->occupant);
    if (!parts->row || !parts->slots || !parts->waiters || !parts->occupant)
        return fail_memory(error);
    for (uint32_t q = 0; q < parts->room.resources; q++)
        parts->slots[q] = LMDDA_NONE;
    return GORDIAN_OK;
}

static gordian_status allocate_lmdda_device(struct cuda_lmdda *l, struct lmdda_parts *parts,
                                            gordian_error *error)
{
    struct lmdda_state *device = &parts->device;
    uint64_t vector = parts->room.resources * WORD_BYTES;
    struct {
        gpu_address *at;
        uint64_t bytes;
        uint32_t fill;
    } wanted[] = {
        {&device->runs, hop_stride(parts->room.processes) * WORD_BYTES, UINT32_MAX},
        {&device->waits, parts->room.processes * WORD_BYTES, LMDDA_NONE},
        {&device->slots, vector, LMDDA_NONE},
        {&device->resources, vector, 0},
        {&parts->ends, vector, 0},
    };
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted && status == GORDIAN_OK; i++) {
        status = gpu_alloc(l->gpu, wanted[i].at, wanted[i].bytes, error);
        THEN(status, gpu_fill32(l->gpu, *wanted[i].at, wanted[i].fill, wanted[i].bytes / WORD_BYTES,
                                error));
    }
    return status == GORDIAN_OK ? lmdda_storage_open(l, parts, error) : status;
}

/* ------------------------------------------------------------------ commands */

/* Returns whether the device works, and remembers why not. */
static bool check_device(struct cuda_lmdda *l, gordian_status status, const gordian_error *error)
{
    if (status != GORDIAN_OK && l->failure.status == GORDIAN_OK) {
        l->failure = *error;
        l->failure.status = status;
    }
    return status == GORDIAN_OK;
}

/* For tests: counts a command and fails when the count has ended. */
static gordian_status count_command(struct cuda_lmdda *l, gordian_error *error)
{
    if (l->failure.status)
        return fail(error, l->failure.status, "%s", l->failure.message);
    if (l->commands_left == 0)
        return fail(error, GORDIAN_STATUS_IO, "it was made to fail");
    if (l->commands_left != NO_FAILURE)
        l->commands_left--;
    return GORDIAN_OK;
}

uint32_t cuda_lmdda_words(const struct cuda_lmdda *l)
{
    return (l->rag->process_limit + 127) / 128 * 4;
}

/* Maps more memory if a kernel ran out of it. If that fails, the state on the device is lost. */
static gordian_status map_more_pages(struct cuda_lmdda *l, bool *again, gordian_error *error)
{
    gordian_error why = {0};
    gordian_status status = blocks_map_more(&l->parts.blocks.pool, again, &why);
    if (status == GORDIAN_OK)
        return GORDIAN_OK;
    l->starved = status == GORDIAN_STATUS_MEMORY;
    return fail(error, GORDIAN_STATUS_IO, "%s", why.message);
}

gordian_status cuda_lmdda_launch(struct cuda_lmdda *l, const struct gpu_launch *launch,
                                 gordian_error *error)
{
    bool again = true;
    while (again) {
        again = false;
        TRY(gpu_launch(l->gpu, launch, error));
        TRY(gpu_wait(l->gpu, error));
        if (l->blocks)
            TRY(map_more_pages(l, &again, error));
    }
    return GORDIAN_OK;
}

static struct gpu_launch join_launch(const struct cuda_lmdda *l)
{
    uint32_t most = l->info.emulated ? 2 : l->info.multiprocessors * 16;
    uint32_t wanted = l->join.rows / (LMDDA_THREADS / 32) + 1;
    return (struct gpu_launch){.kernel = l->blocks ? "lmdda_blocks_join" : "lmdda_join",
                               .blocks = wanted < most ? wanted : most,
                               .threads = LMDDA_THREADS,
                               .arguments = &l->join,
                               .arguments_size = sizeof l->join};
}

/* Waits for the join under way, and repeats it if it could not do all of its work. */
static gordian_status finish_join(struct cuda_lmdda *l, gordian_error *error)
{
    if (!l->joining)
        return GORDIAN_OK;
    bool again = false;
    l->joining = false;
    gordian_status status = gpu_wait(l->gpu, error);
    THEN(status, map_more_pages(l, &again, error));
    if (status != GORDIAN_OK || !again)
        return status;
    struct gpu_launch launch = join_launch(l);
    return cuda_lmdda_launch(l, &launch, error);
}

/* Sends the noted changes and, with a process, the question what its wait means. */
static gordian_status send_changes(struct cuda_lmdda *l, uint32_t process, gordian_error *error)
{
    bool question = process != NONE;
    TRY(count_command(l, error));
    TRY(finish_join(l, error));
    struct lmdda_event_arguments event = {
        .state = l->parts.device,
        .updates = l->shared_device + offsetof(struct lmdda_shared, updates),
        .rows = l->shared_device + offsetof(struct lmdda_shared, rows),
        .update_count = l->update_count,
        .row_count = l->row_count,
        .words = cuda_lmdda_words(l)};
    if (question) {
        event.process = process;
        event.wanted = l->rag->wait[process];
        event.slot = l->parts.slots[event.wanted];
        event.answer = l->shared_device + offsetof(struct lmdda_shared, answer);
        l->shared->answer = 0;
    }
    l->update_count = l->row_count = 0;
    const char *kernel = l->blocks ? "lmdda_blocks_event" : "lmdda_event";
    return cuda_lmdda_launch(l, GPU_LAUNCH(kernel, 1, LMDDA_THREADS, event), error);
}

static gordian_status recompute(struct cuda_lmdda *l, gordian_error *error)
{
    gordian_status status = count_command(l, error);
    THEN(status, finish_join(l, error));
    THEN(status, lmdda_storage_recompute(l, error));
    l->stale = false;
    return status;
}

/* Brings the device up to date with everything that has happened. */
static gordian_status update_device(struct cuda_lmdda *l, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (l->stale)
        l->row_count = 0;
    if (l->update_count || l->row_count)
        status = send_changes(l, NONE, error);
    if (status == GORDIAN_OK && l->stale)
        status = recompute(l, error);
    return status == GORDIAN_OK ? finish_join(l, error) : status;
}

static bool note_change(struct cuda_lmdda *l, enum lmdda_change change, uint32_t first,
                        uint32_t second)
{
    if (l->update_count == LMDDA_UPDATES_MOST) {
        gordian_error error = {0};
        uint32_t rows = l->row_count;
        l->row_count = 0; /* these wait for the end of the event */
        gordian_status status = send_changes(l, NONE, &error);
        l->row_count = rows;
        if (!check_device(l, status, &error))
            return false;
    }
    l->shared->updates[l->update_count++] = (struct lmdda_update){change, first, second};
    return true;
}

/* ------------------------------------------------------------------ slots and rows */

static void take_slot(struct cuda_lmdda *l, uint32_t resource)
{
    struct lmdda_parts *parts = &l->parts;
    if (parts->waiters[resource]++)
        return;
    parts->slots[resource] = parts->slot_count;
    parts->occupant[parts->slot_count++] = resource;
}

/* Removes one waiter of a resource. After the last one, the last slot's resource moves to the free
 * slot. */
static bool release_slot(struct cuda_lmdda *l, uint32_t resource)
{
    struct lmdda_parts *parts = &l->parts;
    if (--parts->waiters[resource])
        return true;
    uint32_t slot = parts->slots[resource], last = parts->occupant[--parts->slot_count];
    parts->occupant[slot] = last;
    parts->slots[last] = slot;
    parts->slots[resource] = LMDDA_NONE;
    return note_change(l, LMDDA_SLOT, last, slot) &&
           note_change(l, LMDDA_SLOT, resource, LMDDA_NONE);
}

/* Notes that an edge of `resource` was removed: at least its row has to be recomputed. */
static void invalidate_row(struct cuda_lmdda *l, uint32_t resource)
{
    for (uint32_t i = 0; i < l->row_count; i++)
        if (l->shared->rows[i] == resource)
            return;
    if (l->row_count == LMDDA_ROWS_MOST)
        l->stale = true;
    else
        l->shared->rows[l->row_count++] = resource;
}

/* Returns whether no other row leads to `resource`. Only its waiters that hold something could. */
static bool has_no_dependents(const struct rag *rag, uint32_t resource)
{
    uint32_t checks = 64; /* beyond this, recomputing everything costs hardly more */
    struct rag_edge waiter;
    for (uint32_t ref = rag->resources[resource].queue_head; ref != NONE; ref = waiter.next) {
        waiter = rag_queued(rag, ref);
        if (rag->processes[waiter.process].held != NONE || --checks == 0)
            return false;
    }
    return true;
}

/* ------------------------------------------------------------------ events */

static bool cuda_lmdda_grant(void *state, uint32_t process, uint32_t resource, uint64_t units)
{
    (void)units;
    return note_change(state, LMDDA_GRANT, resource, process);
}

static gordian_status join_rows(struct cuda_lmdda *l, uint32_t process, gordian_error *error)
{
    TRY(count_command(l, error));
    l->join = (struct lmdda_join_arguments){.state = l->parts.device,
                                            .process = process,
                                            .wanted = l->rag->wait[process],
                                            .rows = l->rag->resource_limit,
                                            .words = cuda_lmdda_words(l)};
    struct gpu_launch launch = join_launch(l);
    gordian_status status = gpu_launch(l->gpu, &launch, error);
    l->joining = status == GORDIAN_OK && l->blocks;
    return status;
}

static gordian_outcome read_answer(const struct cuda_lmdda *l)
{
    switch (__atomic_load_n(&l->shared->answer, __ATOMIC_ACQUIRE)) {
    case LMDDA_LEADS_ON:
        return GORDIAN_OUTCOME_BLOCKED;
    case LMDDA_LEADS_BACK:
        return GORDIAN_OUTCOME_DEADLOCK;
    case LMDDA_LEADS_NOWHERE:
        return GORDIAN_OUTCOME_DOOMED;
    default:
        return CUDA_NO_OUTCOME;
    }
}

static gordian_outcome cuda_lmdda_block(void *state, uint32_t process)
{
    struct cuda_lmdda *l = state;
    gordian_error error = {0};
    gordian_status status = l->stale ? update_device(l, &error) : GORDIAN_OK;
    take_slot(l, l->rag->wait[process]);
    THEN(status, send_changes(l, process, &error));
    gordian_outcome outcome = status != GORDIAN_OK ? CUDA_NO_OUTCOME : read_answer(l);
    if (status == GORDIAN_OK && outcome == CUDA_NO_OUTCOME)
        status = fail(&error, GORDIAN_STATUS_IO, "the device gave no answer");
    /* Nothing leads to a process that holds nothing. The next question reports a failure here. */
    if (status == GORDIAN_OK && l->rag->processes[process].held != NONE)
        status = join_rows(l, process, &error);
    check_device(l, status, &error);
    return outcome;
}

static bool cuda_lmdda_release(void *state, uint32_t process, uint32_t resource, uint64_t units)
{
    struct cuda_lmdda *l = state;
    (void)units;
    if (rag_held_units(l->rag, process, resource))
        return true;
    invalidate_row(l, resource);
    return note_change(l, LMDDA_UNGRANT, resource, process);
}

/* Returns whether the process holds anything other than `resource`. */
static bool holds_more(const struct rag *rag, uint32_t process, uint32_t resource)
{
    struct rag_edge held;
    for (uint32_t ref = rag->processes[process].held; ref != NONE; ref = held.next) {
        held = rag_held(rag, ref);
        if (held.resource != resource)
            return true;
    }
    return false;
}

static bool cuda_lmdda_serve(void *state, uint32_t process, uint32_t from,
                             const gordian_want *wants, size_t count)
{
    struct cuda_lmdda *l = state;
    (void)from;
    (void)count; /* it waited for one resource */
    uint32_t resource = wants[0].resource;
    if (holds_more(l->rag, process, resource))
        l->stale = true; /* everything that led to it led on to the resource */
    if (!note_change(l, LMDDA_RUN, process, 0) || !release_slot(l, resource) ||
        !note_change(l, LMDDA_GRANT, resource, process))
        return false;
    invalidate_row(l, resource);
    return true;
}

static bool cuda_lmdda_cancel(void *state, uint32_t process)
{
    struct cuda_lmdda *l = state;
    if (l->rag->processes[process].held != NONE)
        l->stale = true;
    return note_change(l, LMDDA_RUN, process, 0) && release_slot(l, l->rag->wait[process]);
}

/* The work is done when the next question needs it; how much it will be is known now. */
static bool cuda_lmdda_settle(void *state)
{
    struct cuda_lmdda *l = state;
    for (uint32_t i = 0; i < l->row_count && !l->stale; i++)
        l->stale = !has_no_dependents(l->rag, l->shared->rows[i]);
    return l->failure.status == GORDIAN_OK;
}

static gordian_status cuda_lmdda_drain(void *state, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    gordian_error trouble = {0};
    gordian_status status = update_device(l, &trouble);
    THEN(status, gpu_wait(l->gpu, &trouble));
    return check_device(l, status, &trouble) ? GORDIAN_OK
                                             : fail(error, status, "%s", trouble.message);
}

/* ------------------------------------------------------------------ questions */

static gordian_status read_device(struct cuda_lmdda *l, void *to, gpu_address from, size_t bytes,
                                  gordian_error *error)
{
    TRY(update_device(l, error));
    TRY(gpu_wait(l->gpu, error));
    return gpu_read(l->gpu, to, from, bytes, error);
}

gordian_status cuda_lmdda_ends(void *state, uint32_t *ends, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    uint32_t rows = l->rag->resource_limit;
    if (rows == 0)
        return GORDIAN_OK;
    TRY(update_device(l, error));
    TRY(lmdda_storage_find_ends(l, error));
    return read_device(l, ends, l->parts.ends, rows * WORD_BYTES, error);
}

static gordian_status cuda_lmdda_deadlocked(void *state, uint64_t *set, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    const struct rag *rag = l->rag;
    if (rag->waiting == 0)
        return GORDIAN_OK;
    uint32_t *ends = memory_alloc(&rag->memory, rag->resource_limit * sizeof *ends);
    if (!ends)
        return fail_memory(error);
    gordian_status status = cuda_lmdda_ends(l, ends, error);
    for (uint32_t p = 0; p < rag->process_limit && status == GORDIAN_OK; p++)
        if (rag_waits(rag, p) && ends[rag->wait[p]] == NONE)
            bits_set(set, p);
    memory_free(&rag->memory, ends);
    return status;
}

static gordian_status cuda_lmdda_matrix_row(void *state, gordian_matrix which, uint32_t row,
                                            const uint64_t **words, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    uint64_t *to = l->parts.row;
    uint32_t wanted = LMDDA_NONE;
    gordian_status status = GORDIAN_OK;
    switch (which) {
    case GORDIAN_MATRIX_AG:
        *words = NULL; /* counts */
        return GORDIAN_OK;
    case GORDIAN_MATRIX_AR:
        for (size_t i = 0; i < bits_words(l->rag->resource_limit); i++)
            to[i] = 0;
        status =
            read_device(l, &wanted, l->parts.device.waits + row * WORD_BYTES, sizeof wanted, error);
        if (status == GORDIAN_OK && wanted != LMDDA_NONE)
            bits_set(to, wanted);
        *words = to;
        return status;
    case GORDIAN_MATRIX_RP:
        *words = to;
        TRY(update_device(l, error));
        TRY(gpu_wait(l->gpu, error));
        return lmdda_storage_read(l, row, to, error);
    case GORDIAN_MATRIX_SINK:
    case GORDIAN_MATRIX_RR:
        break;
    }
    return fail(error, GORDIAN_STATUS_UNAVAILABLE, "a multi-unit system has no such matrix");
}

/* ------------------------------------------------------------------ opening */

/* Notes the edges of the graph. RP is computed later. */
static bool note_graph(struct cuda_lmdda *l)
{
    const struct rag *rag = l->rag;
    bool fine = true;
    l->stale = true;
    for (uint32_t p = 0; p < rag->process_limit && fine; p++) {
        if (!rag_is_process(rag, p))
            continue;
        struct rag_edge held;
        for (uint32_t ref = rag->processes[p].held; ref != NONE && fine; ref = held.next) {
            held = rag_held(rag, ref);
            fine = note_change(l, LMDDA_GRANT, held.resource, p);
        }
        if (!rag_waits(rag, p))
            continue;
        uint32_t wanted = rag->wait[p];
        take_slot(l, wanted);
        fine = fine && note_change(l, LMDDA_SLOT, wanted, l->parts.slots[wanted]) &&
               note_change(l, LMDDA_WAIT, p, wanted);
    }
    return fine;
}

/* Replaces the parts by new ones for these limits, filled from the graph. */
static gordian_status replace_parts(struct cuda_lmdda *l, uint32_t process_limit,
                                    uint32_t resource_limit, gordian_error *error)
{
    struct lmdda_parts larger = {0};
    const struct cuda_capacity needed = {process_limit, resource_limit};
    TRY(cuda_choose_capacity(l->gpu, l->parts.room, needed, device_bytes_lmdda, l, &larger.room,
                             error));
    gordian_status status = allocate_lmdda_host(l, &larger, error);
    THEN(status, allocate_lmdda_device(l, &larger, error));
    if (l->parts.room.processes)
        THEN(status, gpu_wait(l->gpu, error)); /* a join may be under way */
    if (status != GORDIAN_OK) {
        free_lmdda_device(l, &larger);
        return status;
    }
    /* The graph has what was noted for the old parts. */
    free_lmdda_device(l, &l->parts);
    l->parts = larger;
    l->update_count = l->row_count = 0;
    l->joining = false;
    if (note_graph(l))
        return GORDIAN_OK;
    return fail(error, l->failure.status, "%s", l->failure.message);
}

static gordian_status cuda_lmdda_grow(void *state, uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_lmdda *l = state;
    if (process_limit <= l->parts.room.processes && resource_limit <= l->parts.room.resources)
        return GORDIAN_OK;
    return replace_parts(l, process_limit, resource_limit, error);
}

static void cuda_lmdda_close(void *state)
{
    struct cuda_lmdda *l = state;
    gordian_error ignored;
    if (!gpu_failed(l->gpu))
        gpu_wait(l->gpu, &ignored); /* a join may be under way */
    free_lmdda_device(l, &l->parts);
    if (l->shared)
        gpu_unmap(l->gpu, l->shared);
    memory_free(&l->rag->memory, l);
}

static gordian_status cuda_lmdda_open(void **state, const struct cuda_method *method,
                                      struct gpu *gpu, const struct rag *rag,
                                      uint32_t process_limit, uint32_t resource_limit,
                                      gordian_error *error)
{
    struct cuda_lmdda *l = memory_zeroed(&rag->memory, sizeof *l);
    if (!l)
        return fail_memory(error);
    l->gpu = gpu;
    l->rag = rag;
    l->blocks = method->blocks;
    l->commands_left = NO_FAILURE;
    gpu_get_info(gpu, &l->info);
    hop_options_init(&l->options, &l->info);
    void *shared = NULL;
    /* Check whether it fits before anything is allocated. */
    struct cuda_capacity needed = {process_limit, resource_limit}, ignored;
    gordian_status status =
        cuda_choose_capacity(gpu, l->parts.room, needed, device_bytes_lmdda, l, &ignored, error);
    THEN(status, gpu_map(gpu, &shared, &l->shared_device, sizeof *l->shared, error));
    l->shared = shared;
    THEN(status, replace_parts(l, process_limit, resource_limit, error));
    if (status != GORDIAN_OK) {
        status = l->starved ? GORDIAN_STATUS_MEMORY : status;
        cuda_lmdda_close(l);
        return status;
    }
    *state = l;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ tests and benchmarks */

static const char *cuda_lmdda_reason(const void *state)
{
    const struct cuda_lmdda *l = state;
    return l->failure.status ? l->failure.message : NULL;
}

static gordian_status cuda_lmdda_memory(void *state, uint64_t *bytes, uint64_t *used,
                                        gordian_error *error)
{
    struct cuda_lmdda *l = state;
    uint64_t pages, pages_used;
    TRY(update_device(l, error));
    TRY(gpu_wait(l->gpu, error));
    *bytes = *used = device_bytes_lmdda(l, l->parts.room);
    if (!l->blocks)
        return GORDIAN_OK;
    TRY(blocks_count(&l->parts.blocks.pool, &pages, &pages_used, error));
    *bytes += pages - blocks_bytes(&l->info);
    *used += pages_used - blocks_bytes(&l->info);
    return GORDIAN_OK;
}

static void cuda_lmdda_fail_after(void *state, uint64_t commands)
{
    struct cuda_lmdda *l = state;
    l->commands_left = commands;
}

gordian_status cuda_lmdda_tune(void *state, const struct hop_options *options, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    l->options = *options;
    return replace_parts(l, l->parts.room.processes, l->parts.room.resources, error);
}

gordian_status cuda_lmdda_recompute(void *state, double *microseconds, gordian_error *error)
{
    struct cuda_lmdda *l = state;
    TRY(update_device(l, error));
    TRY(gpu_wait(l->gpu, error));
    TRY(gpu_timer_start(l->gpu, error));
    TRY(recompute(l, error));
    return gpu_timer_stop(l->gpu, microseconds, error);
}

#define LMDDA_METHOD(in_blocks)                                                                    \
    {                                                                                              \
        .blocks = (in_blocks), .open = cuda_lmdda_open, .close = cuda_lmdda_close,                 \
        .grow = cuda_lmdda_grow, .grant = cuda_lmdda_grant, .block = cuda_lmdda_block,             \
        .release = cuda_lmdda_release, .serve = cuda_lmdda_serve, .cancel = cuda_lmdda_cancel,     \
        .settle = cuda_lmdda_settle, .drain = cuda_lmdda_drain,                                    \
        .deadlocked = cuda_lmdda_deadlocked, .what_if_all = cuda_lmdda_ends,                       \
        .matrix_row = cuda_lmdda_matrix_row, .memory = cuda_lmdda_memory,                          \
        .reason = cuda_lmdda_reason, .fail_after = cuda_lmdda_fail_after,                          \
    }

const struct cuda_method cuda_lmdda = LMDDA_METHOD(false);
const struct cuda_method cuda_lmdda_blocks = LMDDA_METHOD(true);

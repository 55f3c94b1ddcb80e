/* Answers questions about the ledger on a device. */
#include "engines/avoid/cuda/banker_internal.h"

#include "foundation/base/error.h"

#include <string.h>

#define LEAST_THREADS 256u /* of a block, on a device */

/* ------------------------------------------------------------------ wants */

/* A loan: less is needed, less is free. Returns the number of wants. */
static uint32_t want_loan(const struct banker *b, const struct ledger_change *change,
                          struct banker_want *wants)
{
    const struct ledger_row *row = &b->ledger->rows[change->process];
    for (uint32_t i = 0, k = 0; i < change->count; i++) {
        while (row->claims[k].resource < change->wants[i].resource)
            k++;
        wants[i] = (struct banker_want){.resource = change->wants[i].resource,
                                        .need = row->claims[k].need - change->wants[i].units,
                                        .taken = change->wants[i].units};
    }
    return (uint32_t)change->count;
}

/* New claims in place of the old ones. Both lists ascend. */
static uint32_t want_claims(const struct banker *b, const struct ledger_change *change,
                            struct banker_want *wants)
{
    const struct ledger_row *row = &b->ledger->rows[change->process];
    uint32_t count = 0, k = 0;
    for (size_t i = 0; i < change->count || k < row->count;) {
        uint32_t old = k < row->count ? row->claims[k].resource : NONE;
        uint32_t new = i < change->count ? change->wants[i].resource : NONE;
        uint64_t claim = new <= old ? change->wants[i].units : 0;
        wants[count++] =
            (struct banker_want){.resource = new < old ? new : old,
                                 .need = claim - (old <= new ? row->claims[k].held : 0)};
        i += new <= old;
        k += old <= new;
    }
    return count;
}

static uint32_t put_wants(const struct banker *b, const struct ledger_change *change,
                          struct banker_want *wants)
{
    switch (change->kind) {
    case CHANGE_LEND:
        return want_loan(b, change, wants);
    case CHANGE_CLAIMS:
        return want_claims(b, change, wants);
    case CHANGE_TAKE:
        wants[0] = (struct banker_want){.resource = change->wants[0].resource,
                                        .taken = change->wants[0].units};
        return 1;
    }
    return 0;
}

/* ------------------------------------------------------------------ launches */

static gpu_address desk_on_device(const struct banker *b, const void *on_desk)
{
    return b->desk.there + (gpu_address)((const char *)on_desk - (const char *)b->desk.here);
}

/* Fills in all arguments except the question. */
static struct banker_arguments arguments_for(const struct banker *b)
{
    const struct banker_parts *parts = &b->parts;
    return (struct banker_arguments){
        .need = parts->need,
        .held = parts->held,
        .order = parts->order,
        .free = parts->free,
        .stride = parts->stride,
        .process_room = parts->process_room,
        .processes = b->ledger->process_limit,
        .resources = b->ledger->resource_limit,
        .process = BANKER_NONE,
        .group_count = b->group_count,
        .search_below = b->tuning.search_below,
        .search_most = b->tuning.search_most,
        .changes = desk_on_device(b, b->desk.changes),
        .groups = desk_on_device(b, b->desk.groups),
        .wants = desk_on_device(b, b->desk.wants),
        .requests = desk_on_device(b, b->desk.requests),
        .answers = desk_on_device(b, b->desk.answers),
        .control = parts->control,
        .result = desk_on_device(b, b->desk.result),
        .work = parts->work,
        .taken = parts->taken,
        .own = parts->own,
        .pointer = parts->pointer,
        .counts = parts->counts,
        .round = parts->round,
        .list = parts->list,
        .columns = parts->columns,
    };
}

/* Finds how many blocks of the kernel fit the device. */
static gordian_status resident_blocks(struct banker *b, const struct gpu_launch *launch,
                                      unsigned *blocks, gordian_error *error)
{
    if (b->shape_blocks == 0 || b->shape_threads != launch->threads ||
        b->shape_shared != launch->shared || b->shape_wide != b->parts.wide) {
        unsigned fitting = 0;
        TRY(gpu_resident_blocks(b->gpu, launch->kernel, launch->threads, launch->shared, &fitting,
                                error));
        b->shape_blocks = fitting;
        b->shape_threads = launch->threads;
        b->shape_shared = launch->shared;
        b->shape_wide = b->parts.wide;
    }
    *blocks = b->shape_blocks;
    return GORDIAN_OK;
}

/* A search is fastest with 16 bytes of a row for each thread; rounds have a warp for each process.
 */
static unsigned threads_for(const struct banker *b, uint32_t resources)
{
    const unsigned least = b->info.emulated ? 32 : LEAST_THREADS,
                   most = b->info.emulated ? 64 : BANKER_THREADS;
    unsigned threads = ((resources + BANKER_SPAN - 1) / BANKER_SPAN + 31) / 32 * 32 + 32;
    if (b->tuning.threads)
        return b->tuning.threads;
    return threads < least ? least : threads > most ? most : threads;
}

/* Puts in shared memory what fits: counts, and windows of the orders. */
static size_t shared_for(const struct banker *b, struct banker_arguments *arguments,
                         unsigned threads)
{
    static const uint32_t windows[] = {BANKER_WINDOW_MOST, BANKER_WINDOW_LEAST};
    const size_t reserve = 4096; /* the kernel's own */
    const size_t room = b->info.shared_most - reserve, unit = banker_unit(b->parts.wide);
    const size_t small = ((size_t)arguments->processes + 7) / 8 * 16, counts = 2 * small;
    const bool fits = !b->tuning.large_counts;
    for (size_t i = b->tuning.small_window; i < 2 && fits && !b->tuning.no_windows; i++) {
        size_t bytes = counts + threads * BANKER_NEAR_BYTES(windows[i], unit);
        if (bytes > room)
            continue;
        arguments->window = windows[i];
        arguments->small_bytes = (uint32_t)counts;
        return bytes;
    }
    arguments->small_counts = arguments->resources <= BANKER_SMALL && small <= room && fits;
    return arguments->small_counts ? small : 0;
}

static gordian_status choose_blocks(struct banker *b, const struct banker_arguments *arguments,
                                    struct gpu_launch *launch, gordian_error *error)
{
    unsigned resident = 0, warps = launch->threads / 32;
    TRY(resident_blocks(b, launch, &resident, error));
    unsigned blocks = (arguments->processes + warps - 1) / warps;
    unsigned most = b->info.emulated ? 3 : 2 * b->info.multiprocessors;
    blocks = blocks < most ? blocks : most;
    if (blocks < arguments->request_count)
        blocks = arguments->request_count;
    if (b->info.emulated && blocks > most)
        blocks = most;
    if (b->tuning.blocks)
        blocks = b->tuning.blocks;
    launch->blocks = blocks < resident ? blocks : resident;
    return GORDIAN_OK;
}

static gordian_status ask_device(struct banker *b, struct banker_arguments *arguments,
                                 gordian_error *error)
{
    const unsigned threads = threads_for(b, arguments->resources);
    struct gpu_launch launch = {.kernel = b->parts.wide ? "banker_judge64" : "banker_judge32",
                                .threads = threads,
                                .shared = shared_for(b, arguments, threads),
                                .cooperative = true,
                                .arguments = arguments,
                                .arguments_size = sizeof *arguments};
    gordian_status status = choose_blocks(b, arguments, &launch, error);
    if (status == GORDIAN_OK && arguments->request_count)
        status = banker_reserve_team(b, launch.blocks, error);
    if (status != GORDIAN_OK)
        return status;
    arguments->pass_cells = b->tuning.pass_cells * launch.blocks;
    if (arguments->request_count) {
        arguments->own_rows = b->team.own_rows;
        arguments->start_rows = b->team.start_rows;
        arguments->count_rows = b->team.count_rows;
        arguments->queue_rows = b->team.queue_rows;
        arguments->columns = b->team.columns;
    }
    status = banker_run(b, &launch, error);
    b->effort.searches = b->desk.result->searches;
    return status;
}

/* ------------------------------------------------------------------ one question */

/* No process, or nothing to be short of: everything is safe. */
static bool is_trivial(const struct banker *b)
{
    return b->ledger->process_limit == 0 || b->ledger->resource_limit == 0;
}

gordian_status banker_safe(struct banker *b, const struct ledger_change *change, bool *safe,
                           gordian_error *error)
{
    *safe = true;
    if (is_trivial(b))
        return GORDIAN_OK;
    TRY(banker_catch_up(b, error));
    struct banker_arguments arguments = arguments_for(b);
    if (change) {
        arguments.process = change->kind == CHANGE_TAKE ? BANKER_NONE : change->process;
        arguments.want_count = put_wants(b, change, b->desk.wants);
        arguments.stop = arguments.process != BANKER_NONE;
    }
    gordian_status status = ask_device(b, &arguments, error);
    const struct banker_result *result = b->desk.result;
    *safe = arguments.stop ? result->fits != 0 : result->finished == arguments.processes;
    return status;
}

/* ------------------------------------------------------------------ many questions */

/* Writes as many loans as fit to the mapped memory, after the largest amount of each resource that
 * any of them takes. Returns the number of loans. */
static size_t put_requests(struct banker *b, const struct ledger_change *changes, size_t count,
                           struct banker_arguments *arguments)
{
    struct banker_want *wants = b->desk.wants;
    const size_t room = b->desk.want_room - b->parts.resource_room;
    uint64_t *most = b->lists.most;
    size_t taken = 0, used = 0;
    struct banker_want *own = wants + b->parts.resource_room;
    for (; taken < count && taken < BANKER_REQUEST_ROOM; taken++) {
        const struct ledger_change *change = &changes[taken];
        if (used + change->count > room)
            break;
        b->desk.requests[taken] = (struct banker_request){
            .process = change->process,
            .first = (uint32_t)(b->parts.resource_room + used),
            .count = put_wants(b, change, own + used),
        };
        used += change->count;
    }
    for (size_t i = 0; i < used; i++) {
        if (own[i].taken > 0 && most[own[i].resource] == 0)
            wants[arguments->want_count++].resource = own[i].resource;
        if (most[own[i].resource] < own[i].taken)
            most[own[i].resource] = own[i].taken;
    }
    for (uint32_t i = 0; i < arguments->want_count; i++) {
        wants[i] =
            (struct banker_want){.resource = wants[i].resource, .taken = most[wants[i].resource]};
        most[wants[i].resource] = 0;
    }
    arguments->request_count = (uint32_t)taken;
    return taken;
}

gordian_status banker_safe_each(struct banker *b, const struct ledger_change *changes, size_t count,
                                bool *safe, gordian_error *error)
{
    for (size_t done = 0; done < count;) {
        if (is_trivial(b)) {
            safe[done++] = true;
            continue;
        }
        TRY(banker_catch_up(b, error));
        struct banker_arguments arguments = arguments_for(b);
        size_t taken = put_requests(b, changes + done, count - done, &arguments);
        TRY(ask_device(b, &arguments, error));
        for (size_t i = 0; i < taken; i++)
            safe[done + i] = b->desk.answers[i] != 0;
        done += taken;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ an order */

gordian_status banker_sequence(struct banker *b, uint32_t *processes, gordian_error *error)
{
    bool safe = true;
    TRY(banker_safe(b, NULL, &safe, error));
    gordian_status status = GORDIAN_OK;
    uint32_t limit = b->ledger->process_limit;
    if (limit == 0)
        return GORDIAN_OK;
    if (is_trivial(b))
        memset(b->lists.rounds, 0, limit * sizeof *b->lists.rounds);
    else
        status = gpu_read(b->gpu, b->lists.rounds, b->parts.round, limit * sizeof *b->lists.rounds,
                          error);
    for (uint32_t i = 0; i < limit && status == GORDIAN_OK; i++)
        if (b->lists.rounds[i] >= limit)
            status = fail(error, GORDIAN_STATUS_IO, "the device found no order in a safe state");
    if (status == GORDIAN_OK) {
        /* Counting sort: by round, then by id. */
        const struct ledger *ledger = b->ledger;
        const uint32_t *rounds = b->lists.rounds;
        uint32_t *starts = b->lists.starts;
        memset(starts, 0, ((size_t)ledger->process_limit + 2) * sizeof *starts);
        for (uint32_t i = 0; i < ledger->process_limit; i++)
            if (ledger_is_process(ledger, i))
                starts[rounds[i] + 1]++;
        for (uint32_t r = 0; r < ledger->process_limit; r++)
            starts[r + 1] += starts[r];
        for (uint32_t i = 0; i < ledger->process_limit; i++)
            if (ledger_is_process(ledger, i))
                processes[starts[rounds[i]]++] = i;
    }
    return status;
}

/* The ledger on a device: memory, and updates. */
#include "engines/avoid/cuda/banker_internal.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <inttypes.h>
#include <string.h>

#define LINE        32u        /* units: rows are whole lines of at least 128 bytes */
#define SORT_BLOCKS 256u       /* blocks that make orders at the same time */
#define ROWS_BYTES  (1u << 20) /* sent at once */

/* ------------------------------------------------------------------ device memory */

struct piece {
    gpu_address *at;
    uint64_t bytes;
};

#define PIECES 14

static uint64_t row_stride(uint32_t resources)
{
    return ((uint64_t)resources + LINE - 1) / LINE * LINE;
}

static uint32_t blocks_for_orders(uint32_t resources)
{
    return resources < SORT_BLOCKS ? resources : SORT_BLOCKS;
}

/* Lists what has to be allocated, with sizes. */
static void list_pieces(struct banker_parts *parts, struct piece pieces[PIECES])
{
    uint64_t unit = banker_unit(parts->wide), entry = 2 * unit, word = sizeof(uint32_t);
    uint64_t rows = parts->process_room, columns = parts->resource_room, stride = parts->stride;
    const struct piece all[PIECES] = {
        {&parts->need, rows * stride * unit},
        {&parts->held, rows * stride * unit},
        {&parts->order, (columns * rows + BANKER_PAD) * entry},
        {&parts->spare, blocks_for_orders(parts->resource_room) * rows * entry},
        {&parts->free, stride * unit},
        {&parts->work, stride * unit},
        {&parts->taken, stride * unit},
        {&parts->own, stride * unit},
        {&parts->pointer, stride * word},
        {&parts->counts, rows * word},
        {&parts->round, rows * word},
        {&parts->list, rows * word},
        {&parts->control, sizeof(struct banker_control)},
        {&parts->columns, stride * BANKER_COLUMN_BYTES},
    };
    memcpy(pieces, all, sizeof all);
}

uint64_t banker_bytes(uint32_t processes, uint32_t resources, bool wide)
{
    struct banker_parts parts = {.process_room = processes,
                                 .resource_room = resources,
                                 .wide = wide,
                                 .stride = row_stride(resources)};
    struct piece pieces[PIECES];
    uint64_t bytes = 0;
    list_pieces(&parts, pieces);
    for (size_t i = 0; i < PIECES; i++)
        bytes += pieces[i].bytes;
    return bytes;
}

static void free_banker_parts(struct gpu *gpu, struct banker_parts *parts)
{
    struct piece pieces[PIECES];
    list_pieces(parts, pieces);
    for (size_t i = 0; i < PIECES; i++)
        gpu_free(gpu, *pieces[i].at);
    *parts = (struct banker_parts){0};
}

/* Allocates everything, zeroed. On failure nothing is left. */
static gordian_status allocate_banker_parts(struct gpu *gpu, struct banker_parts *parts,
                                            gordian_error *error)
{
    struct piece pieces[PIECES];
    gordian_status status = GORDIAN_OK;
    list_pieces(parts, pieces);
    for (size_t i = 0; i < PIECES && status == GORDIAN_OK; i++) {
        status = gpu_alloc(gpu, pieces[i].at, pieces[i].bytes, error);
        if (status != GORDIAN_OK)
            *pieces[i].at = 0;
        else
            status = gpu_zero(gpu, *pieces[i].at, pieces[i].bytes, error);
    }
    if (status != GORDIAN_OK)
        free_banker_parts(gpu, parts);
    return status;
}

/* ------------------------------------------------------------------ mapped memory */

static size_t change_room(uint32_t processes, uint32_t resources)
{
    const uint64_t least = 1024, most = UINT64_C(1) << 20;
    uint64_t share = (uint64_t)processes * resources / 64;
    return share < least ? least : share > most ? most : share;
}

/* Allocates the next piece of the mapped memory (`desk`). Returns NULL while its size is only
 * computed. */
static void *cut_desk(char *desk, size_t *used, size_t count, size_t size)
{
    char *here = desk ? desk + *used : NULL;
    *used += (count * size + 15) / 16 * 16;
    return here;
}

static size_t lay_desk(struct banker_mapped *desk)
{
    size_t used = 0;
    desk->result = cut_desk(desk->here, &used, 1, sizeof *desk->result);
    desk->changes = cut_desk(desk->here, &used, desk->change_room, sizeof *desk->changes);
    desk->groups = cut_desk(desk->here, &used, desk->change_room + 1, sizeof *desk->groups);
    desk->wants = cut_desk(desk->here, &used, desk->want_room, sizeof *desk->wants);
    desk->requests = cut_desk(desk->here, &used, BANKER_REQUEST_ROOM, sizeof *desk->requests);
    desk->answers = cut_desk(desk->here, &used, BANKER_REQUEST_ROOM, sizeof *desk->answers);
    return used;
}

static gordian_status make_desk(struct gpu *gpu, struct banker_mapped *desk,
                                const struct banker_parts *parts, gordian_error *error)
{
    desk->change_room = change_room(parts->process_room, parts->resource_room);
    desk->want_room = 2 * (size_t)parts->resource_room + 32768;
    gordian_status status = gpu_map(gpu, &desk->here, &desk->there, lay_desk(desk), error);
    if (status != GORDIAN_OK)
        *desk = (struct banker_mapped){0};
    else
        lay_desk(desk);
    return status;
}

static void free_desk(struct gpu *gpu, struct banker_mapped *desk)
{
    if (desk->here)
        gpu_unmap(gpu, desk->here);
    *desk = (struct banker_mapped){0};
}

/* ------------------------------------------------------------------ host memory */

static void free_lists(const gordian_allocator *memory, struct banker_lists *lists)
{
    memory_free_all(memory, lists->touched, lists->rounds, lists->starts, lists->most, lists->rows);
    *lists = (struct banker_lists){0};
}

static gordian_status allocate_banker_lists(const gordian_allocator *memory,
                                            struct banker_lists *lists,
                                            const struct banker_parts *parts, gordian_error *error)
{
    size_t row = parts->stride * banker_unit(parts->wide), processes = parts->process_room;
    size_t changes = change_room(parts->process_room, parts->resource_room);
    lists->rows_size = row > ROWS_BYTES ? row : ROWS_BYTES / row * row;
    lists->touched = memory_alloc(memory, changes * sizeof *lists->touched);
    lists->rounds = memory_alloc(memory, processes * sizeof *lists->rounds);
    lists->starts = memory_alloc(memory, (processes + 2) * sizeof *lists->starts);
    lists->most = memory_zeroed(memory, parts->resource_room * sizeof *lists->most);
    lists->rows = memory_alloc(memory, lists->rows_size);
    if (lists->touched && lists->rounds && lists->starts && lists->most && lists->rows)
        return GORDIAN_OK;
    free_lists(memory, lists);
    return fail_memory(error);
}

/* ------------------------------------------------------------------ opening, capacity */

gordian_status banker_open(struct banker **out, struct gpu *gpu, const struct ledger *ledger,
                           gordian_error *error)
{
    *out = NULL;
    struct banker *b = memory_zeroed(&ledger->memory, sizeof *b);
    if (!b)
        return fail_memory(error);
    b->gpu = gpu;
    b->memory = ledger->memory;
    b->ledger = ledger;
    b->tuning = (struct banker_tuning){.search_below = 8, .pass_cells = 2048, .search_most = 128};
    gpu_get_info(gpu, &b->info);
    *out = b;
    return GORDIAN_OK;
}

static void free_team(struct gpu *gpu, struct banker_block_memory *team)
{
    gpu_free_all(gpu, team->own_rows, team->start_rows, team->count_rows, team->queue_rows,
                 team->columns);
    *team = (struct banker_block_memory){0};
}

void banker_close(struct banker *b)
{
    if (!b)
        return;
    free_team(b->gpu, &b->team);
    free_banker_parts(b->gpu, &b->parts);
    free_desk(b->gpu, &b->desk);
    free_lists(&b->memory, &b->lists);
    gordian_allocator memory = b->memory;
    memory_free(&memory, b);
}

/* Orders start where 16 bytes can be moved at a time. */
static uint32_t even_room(uint32_t processes)
{
    return (processes + BANKER_ROOM_STEP - 1) / BANKER_ROOM_STEP * BANKER_ROOM_STEP;
}

static bool totals_are_wide(const struct banker *b)
{
    if (b->tuning.wide || b->needs_wide)
        return true;
    for (uint32_t j = 0; j < b->ledger->resource_limit; j++)
        if (b->ledger->total[j] > UINT32_MAX)
            return true;
    return false;
}

/* Chooses twice the current capacity if the device has memory for it in addition to the current
 * arrays, and the required capacity otherwise. Fails before it allocates anything if that does not
 * fit either. */
static gordian_status choose_room(struct banker *b, uint32_t process_limit, uint32_t resource_limit,
                                  struct banker_parts *larger, gordian_error *error)
{
    gpu_get_info(b->gpu, &b->info);
    *larger = (struct banker_parts){
        .process_room = even_room(memory_doubled(b->parts.process_room, process_limit)),
        .resource_room = memory_doubled(b->parts.resource_room, resource_limit),
        .wide = totals_are_wide(b)};
    if (banker_bytes(larger->process_room, larger->resource_room, larger->wide) >
        b->info.memory_free) {
        larger->process_room = even_room(process_limit);
        larger->resource_room = resource_limit;
    }
    larger->stride = row_stride(larger->resource_room);
    uint64_t needed = banker_bytes(larger->process_room, larger->resource_room, larger->wide);
    if (needed <= b->info.memory_free)
        return GORDIAN_OK;
    return fail(error, GORDIAN_STATUS_MEMORY,
                "%" PRIu32 " processes and %" PRIu32 " resources take %" PRIu64
                " MiB of device memory: %" PRIu64 " MiB are free",
                process_limit, resource_limit, needed >> 20, b->info.memory_free >> 20);
}

gordian_status banker_reserve(struct banker *b, uint32_t process_limit, uint32_t resource_limit,
                              gordian_error *error)
{
    const struct banker_parts *now = &b->parts;
    /* At least one of each, so that the kernels have something to run on. */
    process_limit = process_limit ? process_limit : 1;
    resource_limit = resource_limit ? resource_limit : 1;
    if (process_limit <= now->process_room && resource_limit <= now->resource_room &&
        (now->wide || !(b->needs_wide || b->tuning.wide)))
        return GORDIAN_OK;
    struct banker_parts larger = {0};
    struct banker_mapped desk = {0};
    struct banker_lists lists = {0};
    gordian_status status = choose_room(b, process_limit, resource_limit, &larger, error);
    THEN(status, allocate_banker_lists(&b->memory, &lists, &larger, error));
    THEN(status, make_desk(b->gpu, &desk, &larger, error));
    THEN(status, allocate_banker_parts(b->gpu, &larger, error));
    if (status != GORDIAN_OK) {
        free_desk(b->gpu, &desk);
        free_lists(&b->memory, &lists);
        return status;
    }
    free_team(b->gpu, &b->team);
    free_banker_parts(b->gpu, &b->parts);
    free_desk(b->gpu, &b->desk);
    free_lists(&b->memory, &b->lists);
    b->parts = larger;
    b->desk = desk;
    b->lists = lists;
    b->stale = true;
    b->touched_count = 0;
    return GORDIAN_OK;
}

gordian_status banker_reserve_team(struct banker *b, unsigned blocks, gordian_error *error)
{
    if (blocks <= b->team.blocks)
        return GORDIAN_OK;
    uint64_t unit = banker_unit(b->parts.wide), rows = blocks;
    struct banker_block_memory team = {.blocks = blocks};
    const struct piece pieces[] = {
        {&team.own_rows, rows * b->parts.stride * unit},
        {&team.start_rows, rows * b->parts.stride * unit},
        {&team.count_rows, rows * b->parts.process_room * sizeof(uint32_t)},
        {&team.queue_rows, rows * b->parts.process_room * sizeof(uint32_t)},
        {&team.columns, rows * b->parts.stride * BANKER_COLUMN_BYTES},
    };
    gordian_status status = GORDIAN_OK;
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces && status == GORDIAN_OK; i++) {
        status = gpu_alloc(b->gpu, pieces[i].at, pieces[i].bytes, error);
        if (status != GORDIAN_OK)
            *pieces[i].at = 0;
    }
    if (status != GORDIAN_OK) {
        free_team(b->gpu, &team);
        return status;
    }
    free_team(b->gpu, &b->team);
    b->team = team;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ changes */

static void note_touched(struct banker *b, uint32_t resource, uint32_t process)
{
    if (b->stale)
        return;
    if (b->touched_count == b->desk.change_room) {
        b->stale = true;
        b->touched_count = 0;
        return;
    }
    b->lists.touched[b->touched_count++] = (uint64_t)resource << 32 | process;
}

void banker_touch(struct banker *b, uint32_t process, uint32_t resource)
{
    note_touched(b, resource, process);
}

void banker_touch_free(struct banker *b, uint32_t resource)
{
    if (b->ledger->total[resource] > UINT32_MAX)
        b->needs_wide = true;
    note_touched(b, resource, BANKER_NONE);
}

static struct banker_change read_banker_cell(const struct ledger *ledger, uint32_t resource,
                                             uint32_t process)
{
    struct banker_change change = {.resource = resource, .process = process};
    if (process == BANKER_NONE) {
        change.held = ledger->free[resource];
    } else if (ledger_is_process(ledger, process)) {
        const struct ledger_claim *claim = ledger_find(ledger, process, resource);
        change.need = claim ? claim->need : 0;
        change.held = claim ? claim->held : 0;
    }
    return change;
}

/* ------------------------------------------------------------------ complete upload */

static void put_unit(void *row, bool wide, uint64_t column, uint64_t value)
{
    if (wide)
        ((uint64_t *)row)[column] = value;
    else
        ((uint32_t *)row)[column] = (uint32_t)value;
}

/* Sends rows [from, to) of one of the matrices. */
static gordian_status send_rows(struct banker *b, bool need, uint32_t from, uint32_t to,
                                gordian_error *error)
{
    const struct banker_parts *parts = &b->parts;
    size_t row_bytes = parts->stride * banker_unit(parts->wide);
    memset(b->lists.rows, 0, (to - from) * row_bytes);
    for (uint32_t i = from; i < to; i++) {
        char *at = (char *)b->lists.rows + (i - from) * row_bytes;
        const struct ledger_row *row = &b->ledger->rows[i];
        uint32_t count = ledger_is_process(b->ledger, i) ? row->count : 0;
        for (uint32_t k = 0; k < count; k++)
            put_unit(at, parts->wide, row->claims[k].resource,
                     need ? row->claims[k].need : row->claims[k].held);
    }
    return gpu_write(b->gpu, (need ? parts->need : parts->held) + from * row_bytes, b->lists.rows,
                     (to - from) * row_bytes, error);
}

static gordian_status send_free(struct banker *b, gordian_error *error)
{
    const struct banker_parts *parts = &b->parts;
    size_t bytes = parts->stride * banker_unit(parts->wide);
    memset(b->lists.rows, 0, bytes);
    for (uint32_t j = 0; j < b->ledger->resource_limit; j++)
        put_unit(b->lists.rows, parts->wide, j, b->ledger->free[j]);
    return gpu_write(b->gpu, parts->free, b->lists.rows, bytes, error);
}

static gordian_status load_state(struct banker *b, gordian_error *error)
{
    const struct banker_parts *parts = &b->parts;
    uint64_t row_bytes = parts->stride * banker_unit(parts->wide);
    uint64_t bytes = row_bytes * parts->process_room;
    uint32_t limit = b->ledger->process_limit, step = (uint32_t)(b->lists.rows_size / row_bytes);
    TRY(gpu_zero(b->gpu, parts->need, bytes, error));
    TRY(gpu_zero(b->gpu, parts->held, bytes, error));
    for (uint32_t from = 0; from < limit; from += step) {
        uint32_t to = limit - from < step ? limit : from + step;
        TRY(send_rows(b, true, from, to, error));
        TRY(send_rows(b, false, from, to, error));
    }
    TRY(send_free(b, error));
    struct banker_sort_arguments arguments = {
        .need = parts->need,
        .order = parts->order,
        .spare = parts->spare,
        .stride = parts->stride,
        .process_room = parts->process_room,
        .resources = parts->resource_room,
    };
    unsigned blocks = blocks_for_orders(parts->resource_room);
    TRY(gpu_launch(b->gpu,
                   GPU_LAUNCH(parts->wide ? "banker_sort64" : "banker_sort32",
                              b->info.emulated && blocks > 3 ? 3 : blocks,
                              b->info.emulated ? 32 : BANKER_SORT_THREADS, arguments),
                   error));
    b->stale = false;
    return GORDIAN_OK;
}

gordian_status banker_catch_up(struct banker *b, gordian_error *error)
{
    TRY(banker_reserve(b, b->ledger->process_limit, b->ledger->resource_limit, error));
    b->group_count = 0;
    if (b->stale) {
        b->touched_count = 0;
        return load_state(b, error);
    }
    /* Write the touched cells to the mapped memory, without duplicates, with their current values,
     * by resource. */
    const uint64_t *touched = b->lists.touched;
    uint32_t count = 0, groups = 0;
    sort_words(b->lists.touched, b->touched_count, 1);
    for (size_t i = 0; i < b->touched_count; i++) {
        if (i > 0 && touched[i] == touched[i - 1])
            continue;
        uint32_t resource = (uint32_t)(touched[i] >> 32);
        if (i == 0 || resource != (uint32_t)(touched[i - 1] >> 32))
            b->desk.groups[groups++] = count;
        b->desk.changes[count++] = read_banker_cell(b->ledger, resource, (uint32_t)touched[i]);
    }
    b->desk.groups[groups] = count;
    b->group_count = groups;
    b->touched_count = 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ launches */

static gordian_status launch_and_wait(struct banker *b, const struct gpu_launch *launch,
                                      gordian_error *error)
{
    bool failing = b->fail_at && --b->fail_at == 0;
    gordian_status status = b->timed ? gpu_timer_start(b->gpu, error) : GORDIAN_OK;
    THEN(status, failing ? gpu_launch_trap(b->gpu, error) : gpu_launch(b->gpu, launch, error));
    if (status == GORDIAN_OK && b->timed)
        status = gpu_timer_stop(b->gpu, &b->effort.microseconds, error);
    return status != GORDIAN_OK ? status : gpu_wait(b->gpu, error);
}

gordian_status banker_run(struct banker *b, const struct gpu_launch *launch, gordian_error *error)
{
    gordian_status status = launch_and_wait(b, launch, error);
    b->group_count = 0; /* they have arrived */
    if (status != GORDIAN_OK)
        b->stale = true;
    return status;
}

void banker_fail_after(struct banker *b, uint64_t launches)
{
    b->fail_at = launches + 1;
}

struct banker_tuning banker_tuning(const struct banker *b)
{
    return b->tuning;
}

void banker_tune(struct banker *b, struct banker_tuning tuning)
{
    b->tuning = tuning;
}

struct banker_effort banker_effort(const struct banker *b)
{
    return b->effort;
}

void banker_time(struct banker *b, bool look)
{
    b->timed = look;
}

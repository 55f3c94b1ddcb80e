/* Finds the reachable states on the device: in a bitmap, or with a hash table (cuda.h). */
#include "engines/compose/cuda/cuda_internal.h"

#include "foundation/base/error.h"

#include <string.h>

#define SEED_STATES 4096u /* initial states per transfer */
#define BITMAP_BITS 44u   /* bits of a state, at most, for a bitmap */

/* ------------------------------------------------------------------ the bitmap */

static uint64_t bitmap_words(const struct compose_device *device)
{
    uint64_t bits = device->packed->packing.bits;
    return bits > 6 ? UINT64_C(1) << (bits - 6) : 1;
}

/* Does a bitmap fit, with its directory (an eighth of it) and the states that have not fired? */
static bool bitmap_fits(const struct compose_device *device)
{
    uint64_t bytes = bitmap_words(device) * sizeof(uint64_t);
    return device->packed->packing.bits <= BITMAP_BITS && !device->tuning.no_bitmap &&
           device_fits(device, 2 * bytes + bytes / 4);
}

static gordian_status make_bitmap(struct compose_device *device, gpu_address *bitmap,
                                  gordian_error *error)
{
    uint64_t bytes = bitmap_words(device) * sizeof(uint64_t);
    TRY(device_alloc(device, bitmap, bytes, error));
    return gpu_zero(device->gpu, *bitmap, bytes, error);
}

static gordian_status make_bitmaps(struct compose_device *device, gpu_address *visited,
                                   gpu_address *waiting, gordian_error *error)
{
    uint64_t bytes = bitmap_words(device) * sizeof(uint64_t);
    gordian_status status = make_bitmap(device, visited, error);
    THEN(status, make_bitmap(device, waiting, error));
    if (status != GORDIAN_OK) {
        device_free(device, visited, bytes);
        device_free(device, waiting, bytes);
    }
    return status;
}

static gordian_status mark_states(struct compose_device *device, gpu_address list, uint64_t count,
                                  uint64_t fresh, gpu_address visited, gpu_address waiting,
                                  gordian_error *error)
{
    struct compose_mark_arguments arguments = {.list = list,
                                               .count = count,
                                               .fresh = fresh,
                                               .visited = visited,
                                               .waiting = waiting,
                                               .found = CONTROL(device, tally.size)};
    return device_launch(device, "compose_mark", count, &arguments, sizeof arguments, error);
}

/* Runs some passes. *over: the last one found nothing. */
static gordian_status run_passes(struct compose_device *device, bool *over, gordian_error *error)
{
    uint64_t found[CUDA_PASSES];
    TRY(gpu_zero(device->gpu, CONTROL(device, found), sizeof found, error));
    for (uint32_t pass = 0; pass < CUDA_PASSES; pass++) {
        struct compose_pass_arguments arguments = {.visited = device->set.bitmap,
                                                   .waiting = device->waiting,
                                                   .words = device->set.words,
                                                   .firings = device->word_firings,
                                                   .firing_count = device->view.count,
                                                   .pass = pass,
                                                   .found = CONTROL(device, found)};
        TRY(device_launch(device, "compose_pass", device->set.words, &arguments, sizeof arguments,
                          error));
    }
    TRY(gpu_read(device->gpu, found, CONTROL(device, found), sizeof found, error));
    device->progress.waiting = found[CUDA_PASSES - 1];
    for (uint32_t pass = 0; pass < CUDA_PASSES; pass++) {
        device->progress.states += found[pass];
        device->rounds += found[pass] > 0;
    }
    *over = found[CUDA_PASSES - 1] == 0;
    return GORDIAN_OK;
}

static gordian_status explore_bitmap(struct compose_device *device, gordian_error *error)
{
    bool over = false;
    gordian_status status = GORDIAN_OK;
    while (status == GORDIAN_OK && !over && device_goes_on(device))
        status = run_passes(device, &over, error);
    device->set.closed = over;
    device->set.count = device->progress.states;
    device_free(device, &device->waiting, device->set.words * sizeof(uint64_t));
    return status;
}

/* ------------------------------------------------------------------ the table */

static gordian_status read_tally(struct compose_device *device, struct compose_tally *tally,
                                 gordian_error *error)
{
    return gpu_read(device->gpu, tally, CONTROL(device, tally), sizeof *tally, error);
}

static gordian_status write_tally(struct compose_device *device, uint64_t size,
                                  gordian_error *error)
{
    struct compose_tally tally = {.size = size};
    return gpu_write(device->gpu, CONTROL(device, tally), &tally, sizeof tally, error);
}

/* Grows the list. Fails if this exceeds the memory limit. */
static gordian_status grow_state_list(struct compose_device *device, uint64_t room,
                                      gordian_error *error)
{
    uint64_t limit = device->options->max_memory;
    uint64_t before = gpu_range_mapped(device->list), bytes = room * sizeof(uint64_t);
    if (limit && bytes > before && device->held + bytes - before > limit)
        return fail(error, GORDIAN_STATUS_MEMORY, "more memory needed than the limit of %llu bytes",
                    (unsigned long long)limit);
    gordian_status status = gpu_range_grow(device->list, bytes, error);
    device->held += gpu_range_mapped(device->list) - before;
    if (device->held > device->most)
        device->most = device->held;
    return status;
}

/* Replaces the table by an empty one with `slots` slots. */
static gordian_status new_table(struct compose_device *device, uint64_t slots, gordian_error *error)
{
    struct compose_set *set = &device->set;
    gpu_address table;
    TRY(device_alloc(device, &table, slots * sizeof(uint64_t), error));
    device_free(device, &set->table, set->slots * sizeof(uint64_t));
    set->table = table;
    set->slots = slots;
    return GORDIAN_OK;
}

/* Rebuilds the table from the first `count` states of the list. */
static gordian_status refill_table(struct compose_device *device, uint64_t count,
                                   gordian_error *error)
{
    struct compose_set *set = &device->set;
    struct compose_enter_arguments arguments = {.from = set->list,
                                                .count = count,
                                                .table = set->table,
                                                .slots = set->slots,
                                                .tally = CONTROL(device, tally)};
    TRY(gpu_fill32(device->gpu, set->table, UINT32_MAX, set->slots * 2, error));
    TRY(write_tally(device, count, error));
    if (count)
        TRY(device_launch(device, "compose_enter", count, &arguments, sizeof arguments, error));
    set->count = count;
    return GORDIAN_OK;
}

/* Doubles the table and the list and keeps the first `count` states. GORDIAN_STATUS_MEMORY: nothing
 * changed. */
static gordian_status grow_state_table(struct compose_device *device, uint64_t count,
                                       gordian_error *error)
{
    uint64_t slots = device->set.slots * 2;
    TRY(grow_state_list(device, slots / 2, error));
    TRY(new_table(device, slots, error));
    device->room = slots / 2;
    return refill_table(device, count, error);
}

static gordian_status make_table(struct compose_device *device, gordian_error *error)
{
    uint64_t most = device->info.memory / 2;
    if (!device->list) {
        TRY(gpu_range_create(&device->list, device->gpu, most, error));
        TRY(grow_state_list(device, device->tuning.slots / 2, error));
        TRY(new_table(device, device->tuning.slots, error));
    }
    device->room = device->set.slots / 2;
    device->set.kind = COMPOSE_LIST;
    device->set.list = gpu_range_address(device->list);
    return refill_table(device, 0, error);
}

/* After a launch that found states: *again is true if it has to be repeated with more capacity. */
static gordian_status settle_level(struct compose_device *device, uint64_t before, bool *again,
                                   gordian_error *error)
{
    struct compose_tally tally;
    gordian_status status = read_tally(device, &tally, error);
    *again = false;
    if (status != GORDIAN_OK)
        return status;
    *again = tally.full || tally.size > device->room;
    if (*again) {
        /* The list has all states from before this launch. The states that it found follow without
         * a gap, up to the capacity. */
        uint64_t kept = tally.size < device->room ? tally.size : device->room;
        status = grow_state_table(device, kept > before ? kept : before, error);
        if (status == GORDIAN_STATUS_MEMORY) {
            device->stop = GORDIAN_COMPOSE_STOP_MEMORY;
            *again = false;
            return refill_table(device, kept, error);
        }
        return status;
    }
    device->set.count = tally.size;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ initial states */

/* Sends the next initial states to the device; *count: their number. */
static gordian_status send_seeds(struct compose_device *device, uint64_t first, gpu_address to,
                                 uint64_t *count, gordian_error *error)
{
    uint64_t left = device->packed->circuit->initial - first;
    uint64_t seeds[SEED_STATES];
    *count = left < SEED_STATES ? left : SEED_STATES;
    for (uint64_t i = 0; i < *count; i++)
        seeds[i] = packed_initial(device->packed, first + i);
    return gpu_write(device->gpu, to, seeds, *count * sizeof *seeds, error);
}

static gordian_status seed_bitmap(struct compose_device *device, gpu_address buffer,
                                  gordian_error *error)
{
    struct compose_tally tally;
    uint64_t count;
    TRY(write_tally(device, 0, error));
    for (uint64_t first = 0; first < device->packed->circuit->initial; first += count) {
        TRY(send_seeds(device, first, buffer, &count, error));
        TRY(mark_states(device, buffer, count, 0, device->set.bitmap, device->waiting, error));
    }
    TRY(read_tally(device, &tally, error));
    device->progress.states = tally.size;
    return GORDIAN_OK;
}

static gordian_status seed_table(struct compose_device *device, gpu_address buffer,
                                 gordian_error *error)
{
    uint64_t count = 0;
    for (uint64_t first = 0;
         first < device->packed->circuit->initial && device->stop == GORDIAN_COMPOSE_STOP_COMPLETE;
         first += count) {
        bool again = true;
        TRY(send_seeds(device, first, buffer, &count, error));
        while (again) {
            uint64_t before = device->set.count;
            struct compose_enter_arguments arguments = {.from = buffer,
                                                        .count = count,
                                                        .list = device->set.list,
                                                        .room = device->room,
                                                        .table = device->set.table,
                                                        .slots = device->set.slots,
                                                        .tally = CONTROL(device, tally),
                                                        .extend = 1};
            TRY(device_launch(device, "compose_enter", count, &arguments, sizeof arguments, error));
            TRY(settle_level(device, before, &again, error));
        }
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ levels */

/* The current level: states of the list that have not fired. */
struct level {
    uint64_t first, last;
};

/* Levels are small and many. One launch processes several of them; its blocks synchronize. */
static gordian_status launch_levels(struct compose_device *device, const struct level *level,
                                    uint64_t most, gordian_error *error)
{
    struct compose_set *set = &device->set;
    unsigned threads = device->info.emulated ? 64 : COMPOSE_THREADS;
    unsigned wanted = device->info.emulated ? 3 : 5 * device->info.multiprocessors;
    struct compose_levels_arguments arguments = {.firings = device->view,
                                                 .list = set->list,
                                                 .room = device->room,
                                                 .table = set->table,
                                                 .slots = set->slots,
                                                 .first = level->first,
                                                 .last = level->last,
                                                 .size = set->count,
                                                 .most = most,
                                                 .tally = CONTROL(device, tally),
                                                 .found = CONTROL(device, level_found),
                                                 .full = CONTROL(device, level_full),
                                                 .barrier = CONTROL(device, barrier),
                                                 .levels = COMPOSE_LEVELS};
    if (!device->resident)
        TRY(gpu_resident_blocks(device->gpu, "compose_levels", threads, 0, &device->resident,
                                error));
    TRY(gpu_zero(device->gpu, CONTROL(device, level_found), 2 * COMPOSE_LEVELS * sizeof(uint64_t),
                 error));
    return gpu_launch(device->gpu,
                      GPU_LAUNCH("compose_levels",
                                 wanted < device->resident ? wanted : device->resident, threads,
                                 arguments, .cooperative = true),
                      error);
}

/* A level exceeded the capacity: grows the table, so that the level can be repeated. The list
 * has all states before the level. The states that it found follow without a gap, up to the
 * capacity. */
static gordian_status make_more_room(struct compose_device *device, uint64_t size,
                                     gordian_error *error)
{
    uint64_t kept = size < device->room ? size : device->room;
    gordian_status status = grow_state_table(device, kept, error);
    if (status != GORDIAN_STATUS_MEMORY)
        return status;
    device->stop = GORDIAN_COMPOSE_STOP_MEMORY;
    return refill_table(device, kept, error);
}

/* Processes some levels; *level becomes the next one. */
static gordian_status run_search_levels(struct compose_device *device, struct level *level,
                                        gordian_error *error)
{
    uint64_t counts[2 * COMPOSE_LEVELS], limit = device->options->max_states;
    /* Beyond this number the launch ends: the limit is reached, or a bitmap is better. */
    uint64_t most = limit && limit < device->dense ? limit : device->dense;
    TRY(launch_levels(device, level, most, error));
    TRY(gpu_read(device->gpu, counts, CONTROL(device, level_found), sizeof counts, error));
    /* Replays the decisions that all blocks made. */
    for (uint32_t i = 0; i < COMPOSE_LEVELS && level->first < level->last; i++) {
        uint64_t size = device->set.count + counts[i];
        if (counts[COMPOSE_LEVELS + i] || size > device->room)
            return make_more_room(device, size, error);
        device->set.count = size;
        *level = (struct level){level->last, size};
        device->rounds++;
        if (size > most)
            break;
    }
    return GORDIAN_OK;
}

/* With more states than this, the set may move to a bitmap if one fits. */
static uint64_t dense_from(const struct compose_device *device)
{
    uint64_t limit = device->options->max_states, bits = device->packed->packing.bits;
    bool never = bits > BITMAP_BITS || device->tuning.no_bitmap;
    return never || (limit && limit < UINT64_C(1) << bits)
               ? UINT64_MAX
               : (UINT64_C(1) << bits) / device->tuning.share;
}

static bool dense_enough(struct compose_device *device)
{
    if (device->set.count <= device->dense)
        return false;
    if (!bitmap_fits(device))
        device->dense = UINT64_MAX;
    return device->dense != UINT64_MAX;
}

/* Moves the set from the table to a bitmap. States from `first` on have not fired yet. */
static gordian_status move_to_bitmap(struct compose_device *device, uint64_t first,
                                     gordian_error *error)
{
    gpu_address visited = 0, waiting = 0;
    uint64_t count = device->set.count;
    gordian_status status = make_bitmaps(device, &visited, &waiting, error);
    THEN(status, mark_states(device, device->set.list, count, first, visited, waiting, error));
    THEN(status, gpu_wait(device->gpu, error));
    if (status != GORDIAN_OK) {
        uint64_t bytes = bitmap_words(device) * sizeof(uint64_t);
        device_free(device, &visited, bytes);
        device_free(device, &waiting, bytes);
        return status;
    }
    device_forget(device);
    device->set.kind = COMPOSE_BITMAP;
    device->set.bitmap = visited;
    device->set.words = bitmap_words(device);
    device->waiting = waiting;
    device->progress.states = count;
    return explore_bitmap(device, error);
}

static gordian_status explore_table(struct compose_device *device, gordian_error *error)
{
    uint64_t limit = device->options->max_states;
    struct level level = {0, device->set.count};
    device->dense = dense_from(device);
    while (device->stop == GORDIAN_COMPOSE_STOP_COMPLETE) {
        device->progress.states = device->set.count;
        device->progress.waiting = device->set.count - level.first;
        if (limit && device->set.count > limit) {
            /* Keeps only the requested number of states, in order of discovery. */
            device->stop = GORDIAN_COMPOSE_STOP_STATES;
            return refill_table(device, device->options->max_states, error);
        }
        if (level.first == level.last || !device_goes_on(device))
            break;
        if (dense_enough(device))
            return move_to_bitmap(device, level.first, error);
        TRY(run_search_levels(device, &level, error));
    }
    device->set.closed =
        level.first == device->set.count && device->stop == GORDIAN_COMPOSE_STOP_COMPLETE;
    return GORDIAN_OK;
}

static gordian_status explore_from(struct compose_device *device, bool bitmap, gpu_address buffer,
                                   gordian_error *error)
{
    gordian_status status;
    if (bitmap) {
        device->set.kind = COMPOSE_BITMAP;
        device->set.words = bitmap_words(device);
        status = make_bitmaps(device, &device->set.bitmap, &device->waiting, error);
        THEN(status, seed_bitmap(device, buffer, error));
        return status == GORDIAN_OK ? explore_bitmap(device, error) : status;
    }
    status = make_table(device, error);
    THEN(status, seed_table(device, buffer, error));
    return status == GORDIAN_OK ? explore_table(device, error) : status;
}

gordian_status compose_device_explore(struct compose_device *device, uint64_t *states,
                                      gordian_error *error)
{
    gpu_address buffer;
    uint64_t limit = device->options->max_states, bits = device->packed->packing.bits;
    bool bitmap = bits <= device->tuning.direct_bits &&
                  (limit == 0 || limit >= UINT64_C(1) << bits) && bitmap_fits(device);
    /* Frees the set, but keeps the table of an earlier run, which has already grown. */
    bool keep = !bitmap;
    struct compose_set *set = &device->set;
    gpu_address table = set->table;
    uint64_t slots = set->slots;
    struct gpu_range *list = device->list;
    keep = keep && list && table;
    if (keep) {
        set->table = 0;
        device->list = NULL;
    }
    device_forget(device);
    if (keep) {
        set->table = table;
        set->slots = slots;
        device->list = list;
    }
    device->rounds = 0;
    device->stop = GORDIAN_COMPOSE_STOP_COMPLETE;
    device->progress = (gordian_compose_progress){.pass = 1};
    gordian_status status = device_alloc(device, &buffer, SEED_STATES * sizeof(uint64_t), error);
    THEN(status, explore_from(device, bitmap, buffer, error));
    device_free(device, &buffer, SEED_STATES * sizeof(uint64_t));
    device->progress.states = *states = device->set.count;
    device->progress.waiting = 0;
    device->set.dense = device->set.kind == COMPOSE_BITMAP &&
                        device->set.count == UINT64_C(1) << device->packed->packing.bits;
    return status;
}

gordian_status compose_device_take_all(struct compose_device *device, uint64_t most,
                                       gordian_error *error)
{
    const gordian_circuit *circuit = device->packed->circuit;
    device_forget(device);
    if (!circuit->whole_fits)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "the number of possible states does not fit 64 bits");
    device->progress = (gordian_compose_progress){.pass = 1};
    device->stop = GORDIAN_COMPOSE_STOP_COMPLETE;
    device->set.kind = COMPOSE_ALL;
    device->set.count = circuit->whole;
    device->set.closed = 1;
    device->set.dense = circuit->whole == UINT64_C(1) << device->packed->packing.bits;
    if (most && most < circuit->whole) {
        device->set.count = most;
        device->set.closed = 0;
        device->stop = GORDIAN_COMPOSE_STOP_STATES;
    }
    device->progress.states = device->set.count;
    return GORDIAN_OK;
}

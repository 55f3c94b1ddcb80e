/* Counts transitions and deadlocks on the device, and finds the paths to deadlocks. */
#include "engines/compose/cuda/cuda_internal.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <stdio.h>
#include <string.h>

#define SLICE (UINT64_C(1) << 26) /* items per launch, so that progress can be reported */
#define BATCH 4096u               /* states per query */

/* ------------------------------------------------------------------ counting */

gordian_status compose_device_count(struct compose_device *device, bool joint,
                                    struct compose_counts *counts, gordian_error *error)
{
    uint64_t items = device_items(device);
    TRY(gpu_zero(device->gpu, CONTROL(device, counts), sizeof *counts, error));
    for (uint64_t first = 0; first < items; first += SLICE) {
        struct compose_survey_arguments arguments = {.firings = device->view,
                                                     .set = device->set,
                                                     .first = first,
                                                     .last = items - first < SLICE ? items
                                                                                   : first + SLICE,
                                                     .counts = CONTROL(device, counts),
                                                     .joint = joint};
        uint64_t states = arguments.last - first;
        TRY(device_launch(device, "compose_survey",
                          device->set.kind == COMPOSE_BITMAP ? states * 64 : states, &arguments,
                          sizeof arguments, error));
        TRY(gpu_read(device->gpu, counts, CONTROL(device, counts), sizeof *counts, error));
        device->progress.transitions = compose_joint_total(counts);
        /* After a stop the counts so far are returned: all states are known. */
        if (items > SLICE && !device_goes_on(device))
            break;
    }
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ states without successors */

/* Scans the set once: counts the deadlocks below the limit, and stores as many as `found` has
 * capacity for, in any order. */
static gordian_status scan_for_dead(struct compose_device *device,
                                    const struct dead_question *question, uint64_t limit,
                                    struct gpu_array *found, uint64_t *count, gordian_error *error)
{
    uint64_t items = device_items(device);
    struct gpu_array_count stored = {0, 0};
    gordian_status status = gpu_array_clear(found, error);
    if (status == GORDIAN_OK)
        /* Discards what the previous scan could not store. */
        status = gpu_array_settle(found, &stored, error);
    struct compose_dead_arguments arguments = {.firings = device->view,
                                               .set = device->set,
                                               .last = items,
                                               .limit = limit,
                                               .distances = question->distances,
                                               .distance = question->distance,
                                               .out = gpu_array_view(found)};
    THEN(status, device_launch(device, "compose_dead",
                               device->set.kind == COMPOSE_BITMAP ? items * 64 : items, &arguments,
                               sizeof arguments, error));
    THEN(status, gpu_array_settle(found, &stored, error));
    *count = stored.size + stored.refused;
    return status;
}

/* Finds a limit below which there are at least `wanted` deadlocks, and at most `room` unless there
 * are no fewer. */
static gordian_status narrow_down(struct compose_device *device,
                                  const struct dead_question *question, size_t wanted,
                                  uint64_t room, struct gpu_array *found, uint64_t *limit,
                                  gordian_error *error)
{
    uint64_t low = 0, high = question->below, count;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        TRY(scan_for_dead(device, question, middle, found, &count, error));
        if (count < wanted)
            low = middle;
        else
            high = middle;
        if (count >= wanted && count <= room)
            break;
    }
    *limit = high;
    return GORDIAN_OK;
}

/* Reads the first `room` deadlocks in order, after a scan that found `count`. */
static gordian_status read_dead(struct compose_device *device, const struct dead_question *question,
                                struct gpu_array *found, uint64_t *first, size_t room,
                                uint64_t enough, uint64_t count, gordian_error *error)
{
    uint64_t limit = question->below, there = count;
    gordian_status status = GORDIAN_OK;
    uint64_t *all = memory_alloc(&device->memory, enough * sizeof *all);
    if (!all)
        return fail_memory(error);
    if (count > enough) {
        status = narrow_down(device, question, room, enough, found, &limit, error);
        THEN(status, scan_for_dead(device, question, limit, found, &there, error));
    }
    if (there > enough)
        there = enough;
    THEN(status, gpu_array_read(found, all, 0, there, error));
    if (status == GORDIAN_OK) {
        sort_words(all, there, 1);
        memcpy(first, all, (there < room ? there : room) * sizeof *all);
    }
    memory_free(&device->memory, all);
    return status;
}

gordian_status device_dead(struct compose_device *device, const struct dead_question *question,
                           uint64_t *first, size_t room, uint64_t *count, gordian_error *error)
{
    uint64_t enough = room < BATCH ? BATCH : room;
    struct gpu_array *found = NULL;
    const struct gpu_array_options options = {.mode = GPU_ARRAY_FLAT,
                                              .element = sizeof *first,
                                              .most = enough,
                                              .capacity = first && room ? enough : 0};
    uint64_t bytes = options.capacity * sizeof *first;
    TRY(device_take(device, bytes, error));
    gordian_status status = gpu_array_create(&found, device->gpu, &options, error);
    THEN(status, scan_for_dead(device, question, question->below, found, count, error));
    if (status == GORDIAN_OK && bytes && *count)
        status = read_dead(device, question, found, first, room, enough, *count, error);
    gpu_array_destroy(found);
    device_give(device, bytes);
    return status;
}

/* ------------------------------------------------------------------ distances */

/* The search for paths to deadlocks. */
struct search {
    struct compose_device *device;
    gpu_address distances, states, answers; /* capacity of the last two: BATCH */
    uint64_t places;
    uint64_t *asked;
    uint32_t *read;
    size_t waiting; /* queries without an answer yet */

    /* The current path, from its end. */
    uint32_t wanted; /* distance of the predecessor */
    uint64_t *best_label, *label;
    uint64_t best, considered;
    bool found;
    /* COMPOSE_DEPTH + 1 numbers for each query: the number of firings, the firings */
    uint32_t *chosen;
    gordian_status status;
    gordian_error *error;
};

static gordian_status ask_distances(struct search *search, uint32_t count, uint32_t mark,
                                    gordian_error *error)
{
    struct compose_device *device = search->device;
    struct compose_distance_arguments arguments = {.set = device->set,
                                                   .distances = search->distances,
                                                   .states = search->states,
                                                   .out = search->answers,
                                                   .count = count,
                                                   .mark = mark};
    if (count == 0)
        return GORDIAN_OK;
    TRY(gpu_write(device->gpu, search->states, search->asked, count * sizeof *search->asked,
                  error));
    TRY(device_launch(device, "compose_distance", count, &arguments, sizeof arguments, error));
    return gpu_read(device->gpu, search->read, search->answers, count * sizeof *search->read,
                    error);
}

static gordian_status mark_initial(struct search *search, gordian_error *error)
{
    const struct packed *packed = search->device->packed;
    for (uint64_t i = 0; i < packed->circuit->initial;) {
        uint32_t count = 0;
        for (; count < BATCH && i < packed->circuit->initial; i++)
            search->asked[count++] = packed_initial(packed, i);
        TRY(ask_distances(search, count, 1, error));
    }
    return GORDIAN_OK;
}

static gordian_status step_distances(struct search *search, uint32_t now, bool *changed, bool *many,
                                     gordian_error *error)
{
    struct compose_device *device = search->device;
    struct compose_step_arguments arguments = {.firings = device->view,
                                               .set = device->set,
                                               .distances = search->distances,
                                               .changed = CONTROL(device, changed),
                                               .now = now};
    uint32_t flag = 0;
    TRY(gpu_zero(device->gpu, CONTROL(device, changed), sizeof flag, error));
    TRY(device_launch(device, "compose_step", search->places, &arguments, sizeof arguments, error));
    TRY(gpu_read(device->gpu, &flag, CONTROL(device, changed), sizeof flag, error));
    *changed = (flag & COMPOSE_CHANGED) != 0;
    *many = (flag & COMPOSE_TOO_MANY) != 0;
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ backtracking */

/* Keeps the lowest predecessor at the right distance, with its first label. */
static void keep_first_step(struct search *search, uint64_t from, const uint32_t *chosen)
{
    const gordian_circuit *circuit = search->device->packed->circuit;
    if (search->found && from > search->best)
        return;
    packed_label(search->device->packed, chosen + 1, chosen[0], search->label);
    if (search->found && from == search->best &&
        label_compare(search->label, search->best_label, circuit->label_words, circuit->name_count,
                      circuit->value_bits) >= 0)
        return;
    search->found = true;
    search->best = from;
    memcpy(search->best_label, search->label, circuit->label_words * sizeof *search->label);
}

static void read_answers(struct search *search)
{
    search->status = ask_distances(search, (uint32_t)search->waiting, 0, search->error);
    if (search->status == GORDIAN_OK)
        for (size_t i = 0; i < search->waiting; i++)
            if (search->read[i] == search->wanted)
                keep_first_step(search, search->asked[i], search->chosen + i * (COMPOSE_DEPTH + 1));
    search->waiting = 0;
}

static bool consider_before(void *context, uint64_t from, const uint32_t *chosen, uint32_t count)
{
    struct search *search = context;
    if (++search->considered > COMPOSE_WALK_MOST && search->found)
        return false; /* enough: this path is as short as any */
    if (search->found && from > search->best)
        return true;
    uint32_t *kept = search->chosen + search->waiting * (COMPOSE_DEPTH + 1);
    kept[0] = count;
    memcpy(kept + 1, chosen, count * sizeof *chosen);
    search->asked[search->waiting++] = from;
    if (search->waiting == BATCH)
        read_answers(search);
    return search->status == GORDIAN_OK;
}

/* Fills the labels from last to first. */
static gordian_status trace_path_back(struct search *search, uint64_t state, uint32_t distance,
                                      gordian_compose_deadlock *deadlock, gordian_error *error)
{
    size_t words = search->device->packed->circuit->label_words;
    for (size_t i = deadlock->step_count; i-- > 0;) {
        search->wanted = --distance;
        search->found = false;
        search->considered = 0;
        search->status = GORDIAN_OK;
        search->error = error;
        packed_walk_back(search->device->packed, state, consider_before, search);
        if (search->status == GORDIAN_OK)
            read_answers(search);
        if (search->status != GORDIAN_OK)
            return search->status;
        if (!search->found)
            return fail(error, GORDIAN_STATUS_IO,
                        "internal error on the device: a path to a deadlock is missing");
        memcpy(deadlock->labels + i * words, search->best_label, words * sizeof(uint64_t));
        state = search->best;
    }
    return GORDIAN_OK;
}

static void search_close(struct search *search)
{
    struct compose_device *device = search->device;
    device_free(device, &search->distances, search->places * sizeof(uint32_t));
    device_free(device, &search->states, BATCH * sizeof(uint64_t));
    device_free(device, &search->answers, BATCH * sizeof(uint32_t));
    memory_free_all(&device->memory, search->asked, search->read, search->chosen, search->label,
                    search->best_label);
}

static gordian_status search_open(struct search *search, struct compose_device *device,
                                  gordian_error *error)
{
    size_t words = device->packed->circuit->label_words;
    *search = (struct search){.device = device};
    search->places = device->set.kind == COMPOSE_LIST ? device->set.slots : device->set.words * 64;
    search->asked = memory_alloc(&device->memory, BATCH * sizeof *search->asked);
    search->read = memory_alloc(&device->memory, BATCH * sizeof *search->read);
    search->chosen =
        memory_alloc(&device->memory, BATCH * (COMPOSE_DEPTH + 1) * sizeof *search->chosen);
    search->label = memory_alloc(&device->memory, (words + 1) * sizeof *search->label);
    search->best_label = memory_alloc(&device->memory, (words + 1) * sizeof *search->label);
    if (!search->asked || !search->read || !search->chosen || !search->label || !search->best_label)
        return fail_memory(error);
    TRY(device_alloc(device, &search->distances, search->places * sizeof(uint32_t), error));
    TRY(device_alloc(device, &search->states, BATCH * sizeof(uint64_t), error));
    TRY(device_alloc(device, &search->answers, BATCH * sizeof(uint32_t), error));
    return gpu_zero(device->gpu, search->distances, search->places * sizeof(uint32_t), error);
}

/* ------------------------------------------------------------------ describing */

/* The number of states of the set below this one. */
static gordian_status rank_state(struct compose_device *device, struct search *search,
                                 uint64_t state, bool full, uint64_t *number, gordian_error *error)
{
    struct compose_below_arguments arguments = {.set = device->set,
                                                .targets = search->states,
                                                .counts = CONTROL(device, taken),
                                                .target_count = 1};
    *number = full ? packed_number(device->packed, state) : 0;
    if (full)
        return GORDIAN_OK;
    TRY(gpu_write(device->gpu, search->states, &state, sizeof state, error));
    TRY(gpu_zero(device->gpu, CONTROL(device, taken), sizeof *number, error));
    TRY(device_launch(device, "compose_below", device_items(device), &arguments, sizeof arguments,
                      error));
    return gpu_read(device->gpu, number, CONTROL(device, taken), sizeof *number, error);
}

static gordian_status describe_one(struct search *search, uint64_t state, uint32_t distance,
                                   bool full, gordian_compose_result *result, gordian_error *error)
{
    struct compose_device *device = search->device;
    const gordian_circuit *circuit = device->packed->circuit;
    gordian_compose_deadlock *deadlock = &result->found[result->found_count];
    if (!compose_deadlock_alloc(result, circuit, distance - 1, deadlock))
        return fail_memory(error);
    result->found_count++; /* gordian_compose_result_free frees it */
    unpack_state(&device->packed->packing, &state, deadlock->state);
    TRY(rank_state(device, search, state, full, &deadlock->number, error));
    return trace_path_back(search, state, distance, deadlock, error);
}

/* Describes deadlocks distance by distance until there are enough or nothing more is reachable. In
 * a stopped run, some may only be reachable by paths that were cut off. */
static gordian_status describe_nearest(struct search *search, uint64_t *states, size_t wanted,
                                       bool full, uint64_t below, gordian_compose_result *result,
                                       gordian_error *error)
{
    bool changed = true, many = false;
    gordian_status status = mark_initial(search, error);
    for (uint32_t now = 1; status == GORDIAN_OK && changed; now++) {
        struct dead_question question = {below, search->distances, now};
        size_t left = wanted - result->found_count;
        uint64_t count = 0;
        status = device_dead(search->device, &question, states, left, &count, error);
        for (size_t i = 0; i < left && i < count && status == GORDIAN_OK; i++)
            status = describe_one(search, states[i], now, full, result, error);
        if (status != GORDIAN_OK || result->found_count == wanted ||
            !device_goes_on(search->device))
            break;
        status = step_distances(search, now, &changed, &many, error);
        if (many) {
            snprintf(result->note, sizeof result->note, "%s", COMPOSE_WAYS_LEFT_OUT);
            break;
        }
    }
    return status;
}

/* Describes one deadlock without a path, in a run that was stopped before a path was found. */
static gordian_status describe_any(struct compose_device *device, uint64_t below,
                                   gordian_compose_result *result, gordian_error *error)
{
    uint64_t state, count = 0;
    TRY(device_dead(device, &(struct dead_question){.below = below}, &state, 1, &count, error));
    if (count > 0 && !packing_describe(&device->packed->packing, &state, result))
        return fail_memory(error);
    return GORDIAN_OK;
}

gordian_status device_describe(struct compose_device *device, uint64_t deadlocks, bool full,
                               uint64_t below, gordian_compose_result *result, gordian_error *error)
{
    uint64_t most = device->options->max_deadlocks;
    size_t wanted = (size_t)(deadlocks < most ? deadlocks : most);
    struct search search = {.device = device};
    if (wanted == 0)
        return GORDIAN_OK;
    uint64_t *states = memory_alloc(&device->memory, wanted * sizeof *states);
    result->found = memory_zeroed(&result->allocator, wanted * sizeof *result->found);
    gordian_status status = states && result->found ? GORDIAN_OK : fail_memory(error);
    THEN(status, search_open(&search, device, error));
    THEN(status, describe_nearest(&search, states, wanted, full, below, result, error));
    if (status == GORDIAN_OK && result->found_count == 0)
        status = describe_any(device, below, result, error);
    search_close(&search);
    memory_free(&device->memory, states);
    return status;
}

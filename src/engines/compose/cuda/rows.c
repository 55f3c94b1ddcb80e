/*
 * Writes the product row by row. A block of states is gathered, its transitions are written on the
 * device and copied to pinned memory of the host. While the host delivers one block, the device
 * works on the next one.
 */
#include "engines/compose/cuda/cuda_internal.h"

#include "foundation/base/error.h"
#include "foundation/base/sort.h"

#include <string.h>

/* A block: its device memory and the host's copy. */
struct block {
    gpu_address states, rows, targets, names;
    void *host;
    gpu_address mapped; /* the same memory in the device's address space */
    uint64_t first;     /* rank of its first state */
    uint64_t count;     /* states */
    uint64_t from, to;  /* units (struct writer) */
};

struct writer {
    struct compose_device *device;
    struct block blocks[2];
    /* A block is a range of units: entries of the directory for a bitmap, states otherwise. */
    uint64_t units;
    uint64_t *directory; /* the host's copy; for a bitmap only */
    uint64_t state_room, room;
    bool copied;     /* blocks are copied to the host */
    double per_unit; /* transitions per unit of the last block; 0: not known */
    uint64_t written;
};

/* ------------------------------------------------------------------ numbering */

static gordian_status number_bitmap(struct writer *writer, gordian_error *error)
{
    struct compose_device *device = writer->device;
    uint64_t entries = (device->set.words + COMPOSE_STRIDE - 1) / COMPOSE_STRIDE;
    /* The size that device_forget frees. */
    uint64_t bytes = (device->set.words / COMPOSE_STRIDE + 2) * sizeof(uint64_t);
    writer->units = entries;
    writer->directory = memory_zeroed(&device->memory, bytes);
    if (!writer->directory)
        return fail_memory(error);
    /* Fills the directory: counts the states of the bitmap. */
    uint64_t words = device->set.words, at = 0;
    size_t step = words < 65536 ? words : 65536;
    uint64_t *some = memory_alloc(&device->memory, step * sizeof *some);
    gordian_status status = some ? GORDIAN_OK : fail_memory(error);
    for (uint64_t base = 0; base < words && status == GORDIAN_OK; base += step) {
        status = gpu_read(device->gpu, some, device->set.bitmap + base * sizeof *some,
                          step * sizeof *some, error);
        for (size_t w = 0; w < step && status == GORDIAN_OK; w++) {
            if ((base + w) % COMPOSE_STRIDE == 0)
                writer->directory[(base + w) / COMPOSE_STRIDE] = at;
            at += (uint64_t)__builtin_popcountll(some[w]);
        }
    }
    writer->directory[writer->units] = at;
    memory_free(&device->memory, some);
    TRY(status);
    if (!device->set.directory)
        TRY(device_alloc(device, &device->set.directory, bytes, error));
    return gpu_write(device->gpu, device->set.directory, writer->directory,
                     (entries + 1) * sizeof(uint64_t), error);
}

static gordian_status number_list(struct writer *writer, gordian_error *error)
{
    struct compose_device *device = writer->device;
    size_t count = device->set.count, bytes = count * sizeof(uint64_t);
    writer->units = count;
    if (count == 0)
        return GORDIAN_OK;
    uint64_t *states = memory_alloc(&device->memory, bytes);
    gordian_status status = states ? GORDIAN_OK : fail_memory(error);
    THEN(status, gpu_read(device->gpu, states, device->set.list, bytes, error));
    if (status == GORDIAN_OK) {
        sort_words(states, count, 1);
        status = gpu_write(device->gpu, device->set.list, states, bytes, error);
    }
    memory_free(&device->memory, states);
    return status;
}

/* ------------------------------------------------------------------ capacity */

static uint64_t label_words(const struct writer *writer)
{
    return writer->device->packed->circuit->label_words;
}

/* Layout of the host's copy: number of transitions, states, rows, targets, names. */
struct copy_layout {
    size_t states, rows, targets, names, size;
};

static struct copy_layout layout_copy(const struct writer *writer)
{
    struct copy_layout at = {.states = 16};
    at.rows = at.states + writer->state_room * sizeof(uint64_t);
    at.targets = at.rows + writer->state_room * sizeof(struct compose_row_place);
    at.names = at.targets + writer->room * sizeof(uint64_t);
    at.size = at.names + writer->room * label_words(writer) * sizeof(uint64_t);
    return at;
}

static void free_row_blocks(struct writer *writer)
{
    struct compose_device *device = writer->device;
    for (int b = 0; b < 2; b++) {
        struct block *block = &writer->blocks[b];
        device_free(device, &block->states, writer->state_room * sizeof(uint64_t));
        device_free(device, &block->rows, writer->state_room * sizeof(struct compose_row_place));
        device_free(device, &block->targets, writer->room * sizeof(uint64_t));
        device_free(device, &block->names, writer->room * label_words(writer) * sizeof(uint64_t));
        if (block->host)
            gpu_unmap(device->gpu, block->host);
        block->host = NULL;
    }
}

static gordian_status allocate_row_blocks(struct writer *writer, gordian_error *error)
{
    struct compose_device *device = writer->device;
    gordian_status status = GORDIAN_OK;
    for (int b = 0; b < (writer->copied ? 2 : 1) && status == GORDIAN_OK; b++) {
        struct block *block = &writer->blocks[b];
        status = device_alloc(device, &block->states, writer->state_room * 8, error);
        THEN(status, device_alloc(device, &block->rows,
                                  writer->state_room * sizeof(struct compose_row_place), error));
        THEN(status, device_alloc(device, &block->targets, writer->room * 8, error));
        THEN(status,
             device_alloc(device, &block->names, writer->room * label_words(writer) * 8, error));
        if (status == GORDIAN_OK && writer->copied)
            status =
                gpu_map(device->gpu, &block->host, &block->mapped, layout_copy(writer).size, error);
    }
    if (status != GORDIAN_OK)
        free_row_blocks(writer);
    return status;
}

static void writer_close(struct writer *writer)
{
    free_row_blocks(writer);
    memory_free(&writer->device->memory, writer->directory);
}

static gordian_status writer_open(struct writer *writer, struct compose_device *device, bool copied,
                                  gordian_error *error)
{
    *writer = (struct writer){.device = device,
                              .state_room = device->tuning.block_states,
                              .room = device->tuning.block_transitions,
                              .copied = copied};
    gordian_status status = GORDIAN_OK;
    if (device->set.kind == COMPOSE_BITMAP)
        status = number_bitmap(writer, error);
    else if (device->set.kind == COMPOSE_LIST)
        status = number_list(writer, error);
    else
        writer->units = device->set.count;
    if (!copied && !device->info.emulated) { /* without pinned memory larger blocks cost nothing */
        const uint64_t rows = UINT64_C(1) << 20, transitions = UINT64_C(1) << 27;
        if (device_fits(device, 32 * rows + transitions * 8 * (1 + label_words(writer)))) {
            writer->state_room = rows;
            writer->room = transitions;
        }
    }
    if (status == GORDIAN_OK) {
        /* Limits the capacity to what these states can need. For a small product, allocating and
         * copying more would dominate the run time. A longer row grows the capacity when it
         * occurs. */
        const uint64_t states =
            writer->directory ? writer->directory[writer->units] : writer->units;
        const uint64_t longest = states > 1024 ? states : 1024;
        if (writer->state_room > states)
            writer->state_room = states;
        if (writer->state_room < COMPOSE_STRIDE * 64)
            writer->state_room = COMPOSE_STRIDE * 64;
        if (writer->room / longest > states)
            writer->room = (states + 1) * longest;
        status = allocate_row_blocks(writer, error);
    }
    if (status != GORDIAN_OK)
        writer_close(writer);
    return status;
}

/* ------------------------------------------------------------------ a block */

/* Selects the next units: as many as fit according to the last block, and at most `most`. */
static void lay_block(const struct writer *writer, struct block *block, uint64_t from,
                      uint64_t most)
{
    uint64_t left = writer->units - from, room = writer->state_room;
    if (writer->directory)
        room /= COMPOSE_STRIDE * 64;
    if (writer->per_unit * (double)room > 0.8 * (double)writer->room)
        room = (uint64_t)(0.8 * (double)writer->room / writer->per_unit) + 1;
    if (left > room)
        left = room;
    if (left > most)
        left = most;
    block->from = from;
    block->to = from + left;
    block->first = writer->directory ? writer->directory[from] : from;
    block->count = (writer->directory ? writer->directory[block->to] : block->to) - block->first;
}

static gordian_status gather_states(struct writer *writer, struct block *block, gpu_address *states,
                                    gordian_error *error)
{
    struct compose_device *device = writer->device;
    struct compose_gather_arguments arguments = {
        .set = device->set, .first = block->from, .last = block->to, .out = block->states};
    *states = block->states;
    if (device->set.kind == COMPOSE_LIST) {
        *states = device->set.list + block->from * sizeof(uint64_t);
        return GORDIAN_OK;
    }
    return device_launch(device, "compose_gather", block->to - block->from, &arguments,
                         sizeof arguments, error);
}

static gordian_status copy_block(struct writer *writer, struct block *block, gpu_address states,
                                 gordian_error *error)
{
    struct gpu *gpu = writer->device->gpu;
    struct copy_layout at = layout_copy(writer);
    TRY(gpu_copy(gpu, block->mapped, CONTROL(writer->device, taken), sizeof(uint64_t), error));
    TRY(gpu_copy(gpu, block->mapped + at.states, states, block->count * 8, error));
    TRY(gpu_copy(gpu, block->mapped + at.rows, block->rows,
                 block->count * sizeof(struct compose_row_place), error));
    TRY(gpu_copy(gpu, block->mapped + at.targets, block->targets, writer->room * 8, error));
    return gpu_copy(gpu, block->mapped + at.names, block->names,
                    writer->room * label_words(writer) * 8, error);
}

/* Starts the work on a block. */
static gordian_status start_row_block(struct writer *writer, struct block *block,
                                      gordian_error *error)
{
    struct compose_device *device = writer->device;
    gpu_address states = 0;
    gordian_status status = gpu_zero(device->gpu, CONTROL(device, taken), sizeof(uint64_t), error);
    if (status != GORDIAN_OK || block->count == 0)
        return status;
    status = gather_states(writer, block, &states, error);
    struct compose_rows_arguments arguments = {.firings = device->view,
                                               .set = device->set,
                                               .states = states,
                                               .count = block->count,
                                               .rows = block->rows,
                                               .targets = block->targets,
                                               .names = block->names,
                                               .labels = device->labels,
                                               .room = writer->room,
                                               .taken = CONTROL(device, taken),
                                               .label_words = (uint32_t)label_words(writer),
                                               .joint = !device->options->indivisible};
    THEN(status,
         device_launch(device, "compose_rows", block->count, &arguments, sizeof arguments, error));
    if (status == GORDIAN_OK && writer->copied)
        status = copy_block(writer, block, states, error);
    return status;
}

/* Waits for the block. If it does not fit, repeats it with fewer units or more capacity. */
static gordian_status finish_block(struct writer *writer, int which, gordian_error *error)
{
    struct block *block = &writer->blocks[which];
    struct compose_device *device = writer->device;
    gordian_status status = gpu_wait(device->gpu, error);
    while (status == GORDIAN_OK && block->count) {
        uint64_t taken = 0, units = block->to - block->from;
        status = gpu_read(device->gpu, &taken, CONTROL(device, taken), sizeof taken, error);
        writer->per_unit = (double)taken / (double)units;
        if (status != GORDIAN_OK || taken <= writer->room) {
            writer->written += taken;
            return status;
        }
        if (units > 1) {
            lay_block(writer, block, block->from, units - 1);
        } else {
            struct block kept = *block;
            free_row_blocks(writer);
            writer->room = taken + taken / 4;
            status = allocate_row_blocks(writer, error);
            if (status != GORDIAN_OK)
                return status;
            lay_block(writer, block, kept.from, units);
        }
        status = start_row_block(writer, block, error);
        THEN(status, gpu_wait(device->gpu, error));
    }
    return status;
}

/* ------------------------------------------------------------------ delivery */

static gordian_status deliver_block(struct writer *writer, const struct block *block,
                                    struct packed_row *row, const gordian_compose_sink *sink,
                                    gordian_error *error)
{
    struct copy_layout at = layout_copy(writer);
    const char *copy = block->host;
    const uint64_t *states = (const uint64_t *)(copy + at.states);
    const struct compose_row_place *rows = (const struct compose_row_place *)(copy + at.rows);
    const uint64_t *targets = (const uint64_t *)(copy + at.targets);
    const uint64_t *names = (const uint64_t *)(copy + at.names);
    size_t words = label_words(writer);
    for (uint64_t i = 0; i < block->count; i++) {
        size_t count = (size_t)rows[i].count;
        TRY(packed_row_reserve(row, count, error));
        if (count) {
            memcpy(row->raw_to, targets + rows[i].first, count * sizeof *targets);
            memcpy(row->raw_labels, names + rows[i].first * words, count * words * sizeof *names);
        }
        TRY(packed_row_deliver(row, sink, states[i], block->first + i, error));
        writer->device->progress.written += count;
        if (i % 4096 == 4095 && !device_goes_on(writer->device))
            return GORDIAN_OK;
    }
    return GORDIAN_OK;
}

static gordian_status deliver_blocks(struct writer *writer, struct packed_row *row,
                                     const gordian_compose_sink *sink, gordian_error *error)
{
    int now = 0;
    if (writer->units == 0)
        return GORDIAN_OK;
    lay_block(writer, &writer->blocks[now], 0, UINT64_MAX);
    gordian_status status = start_row_block(writer, &writer->blocks[now], error);
    THEN(status, finish_block(writer, now, error));
    while (status == GORDIAN_OK) {
        const struct block *block = &writer->blocks[now];
        bool more = block->to < writer->units;
        if (more) {
            lay_block(writer, &writer->blocks[!now], block->to, UINT64_MAX);
            status = start_row_block(writer, &writer->blocks[!now], error);
        }
        THEN(status, deliver_block(writer, block, row, sink, error));
        if (status == GORDIAN_OK && more)
            status = finish_block(writer, !now, error);
        if (!more || !device_goes_on(writer->device))
            break;
        now = !now;
    }
    return status;
}

gordian_status device_deliver(struct compose_device *device, uint64_t states, uint64_t transitions,
                              const gordian_compose_sink *sink, gordian_error *error)
{
    struct writer writer;
    struct packed_row row = {0};
    gordian_compose_stop stop = device->stop;
    TRY(writer_open(&writer, device, true, error));
    /* After a stop the states found are still delivered; only another stop ends the delivery. */
    device->stop = GORDIAN_COMPOSE_STOP_COMPLETE;
    device->progress.pass = 2;
    gordian_status status = packed_row_open(&row, device->packed, error);
    THEN(status, sink->begin(sink->context, device->packed->circuit, states, transitions, error));
    THEN(status, deliver_blocks(&writer, &row, sink, error));
    if (device->stop == GORDIAN_COMPOSE_STOP_COMPLETE)
        device->stop = stop;
    packed_row_free(&row);
    writer_close(&writer);
    return status;
}

gordian_status compose_device_write(struct compose_device *device, uint64_t *transitions,
                                    gordian_error *error)
{
    struct writer writer;
    gordian_status status = writer_open(&writer, device, false, error);
    if (status != GORDIAN_OK)
        return status;
    struct block *block = &writer.blocks[0];
    for (uint64_t from = 0; from < writer.units && status == GORDIAN_OK; from = block->to) {
        lay_block(&writer, block, from, UINT64_MAX);
        status = start_row_block(&writer, block, error);
        THEN(status, finish_block(&writer, 0, error));
    }
    *transitions = writer.written;
    writer_close(&writer);
    return status;
}

/* The device of the cuda engine: memory within limits, launches, upload of the circuit. */
#include "engines/compose/cuda/cuda_internal.h"

#include "foundation/base/error.h"

#include <string.h>

/* ------------------------------------------------------------------ memory */

bool device_fits(const struct compose_device *device, uint64_t bytes)
{
    struct gpu_info info;
    uint64_t limit = device->options->max_memory;
    gpu_get_info(device->gpu, &info);
    return bytes <= info.memory_free && (limit == 0 || device->held + bytes <= limit);
}

gordian_status device_take(struct compose_device *device, uint64_t bytes, gordian_error *error)
{
    uint64_t limit = device->options->max_memory;
    if (limit && device->held + bytes > limit)
        return fail(error, GORDIAN_STATUS_MEMORY, "more memory needed than the limit of %llu bytes",
                    (unsigned long long)limit);
    device->held += bytes;
    if (device->held > device->most)
        device->most = device->held;
    return GORDIAN_OK;
}

void device_give(struct compose_device *device, uint64_t bytes)
{
    device->held -= bytes;
}

gordian_status device_alloc(struct compose_device *device, gpu_address *out, uint64_t bytes,
                            gordian_error *error)
{
    *out = 0;
    TRY(device_take(device, bytes, error));
    gordian_status status = gpu_alloc(device->gpu, out, bytes, error);
    if (status != GORDIAN_OK) {
        *out = 0;
        device_give(device, bytes);
    }
    return status;
}

void device_free(struct compose_device *device, gpu_address *address, uint64_t bytes)
{
    if (*address == 0)
        return;
    gpu_free(device->gpu, *address);
    *address = 0;
    device_give(device, bytes);
}

static gordian_status device_upload(struct compose_device *device, gpu_address *out,
                                    const void *from, uint64_t bytes, gordian_error *error)
{
    TRY(device_alloc(device, out, bytes ? bytes : 8, error));
    if (bytes)
        TRY(gpu_write(device->gpu, *out, from, bytes, error));
    return GORDIAN_OK;
}

/* ------------------------------------------------------------------ launches */

gordian_status device_launch(struct compose_device *device, const char *kernel, uint64_t items,
                             const void *arguments, size_t size, gordian_error *error)
{
    unsigned threads = device->info.emulated ? 64 : COMPOSE_THREADS;
    uint64_t most = device->info.emulated ? 3 : (uint64_t)device->info.multiprocessors * 8;
    uint64_t blocks = (items + threads - 1) / threads;
    blocks = blocks > most ? most : blocks ? blocks : 1;
    struct gpu_launch launch = {.kernel = kernel,
                                .blocks = (unsigned)blocks,
                                .threads = threads,
                                .arguments = arguments,
                                .arguments_size = size};
    return gpu_launch(device->gpu, &launch, error);
}

bool device_goes_on(struct compose_device *device)
{
    device->progress.memory = device->held;
    if (device->stop == GORDIAN_COMPOSE_STOP_STOPPED)
        return false;
    if (compose_goes_on(device->options, &device->progress))
        return true;
    device->stop = GORDIAN_COMPOSE_STOP_STOPPED;
    return false;
}

/* ------------------------------------------------------------------ the circuit on the device */

static gordian_status send_word_firings(struct compose_device *device, gordian_error *error)
{
    const struct packed *packed = device->packed;
    size_t count = packed->firing_count;
    struct compose_word_firing *words = memory_alloc(&device->memory, (count + 1) * sizeof *words);
    if (!words)
        return fail_memory(error);
    for (size_t i = 0; i < count; i++)
        words[i] = packed_word_firing(&packed->firings[i]);
    gordian_status status =
        device_upload(device, &device->word_firings, words, count * sizeof *words, error);
    memory_free(&device->memory, words);
    return status;
}

static gordian_status send_radices(struct compose_device *device, gordian_error *error)
{
    const struct packed *packed = device->packed;
    struct compose_radix radices[PACKED_BITS + 1];
    uint32_t count = 0;
    for (uint32_t f = 0; f < packed->circuit->factor_count; f++) {
        uint32_t states = factor_shape(packed->circuit, f)->state_count;
        if (states > 1)
            radices[count++] = (struct compose_radix){packed->packing.fields[f].shift, states};
    }
    device->set.radix_count = count;
    TRY(device_upload(device, &device->radices, radices, count * sizeof *radices, error));
    device->set.radices = device->radices;
    return GORDIAN_OK;
}

static gordian_status send_circuit(struct compose_device *device, gordian_error *error)
{
    const struct packed *packed = device->packed;
    size_t count = packed->firing_count;
    TRY(device_upload(device, &device->firings, packed->firings, count * sizeof *packed->firings,
                      error));
    TRY(device_upload(device, &device->ends, packed->ends,
                      packed->part_count * sizeof *packed->ends, error));
    TRY(device_upload(device, &device->labels, packed->labels,
                      count * packed->circuit->label_words * sizeof *packed->labels, error));
    TRY(send_word_firings(device, error));
    TRY(send_radices(device, error));
    TRY(device_alloc(device, &device->control, sizeof(struct compose_control), error));
    TRY(gpu_zero(device->gpu, device->control, sizeof(struct compose_control), error));
    device->view = (struct compose_firings){.firings = device->firings,
                                            .ends = device->ends,
                                            .count = (uint32_t)count,
                                            .singles = packed->singles,
                                            .parts = packed->part_count};
    return GORDIAN_OK;
}

static void choose_tuning(struct compose_device *device)
{
    struct compose_tuning *tuning = &device->tuning;
    bool emulated = device->info.emulated;
    if (!tuning->direct_bits && !tuning->no_bitmap)
        tuning->direct_bits = emulated ? 16 : 22;
    if (!tuning->share)
        tuning->share = 1024;
    if (!tuning->slots)
        tuning->slots = emulated ? 1024 : 1 << 22;
    if (!tuning->block_states)
        tuning->block_states = emulated ? 1024 : 1 << 18;
    if (!tuning->block_transitions)
        tuning->block_transitions = emulated ? 1 << 14 : 1 << 23;
}

gordian_status compose_device_open(struct compose_device **out, struct gpu *gpu,
                                   const struct compose_tuning *tuning,
                                   const gordian_circuit *circuit,
                                   const gordian_compose_options *options, gordian_error *error)
{
    gordian_allocator memory = memory_allocator(options->allocator);
    struct compose_device *device = memory_zeroed(&memory, sizeof *device);
    *out = NULL;
    if (!device)
        return fail_memory(error);
    device->memory = memory;
    device->gpu = gpu;
    device->options = options;
    gpu_get_info(gpu, &device->info);
    if (tuning)
        device->tuning = *tuning;
    choose_tuning(device);
    gordian_status status = packed_open(&device->packed, circuit, &memory, error);
    THEN(status, send_circuit(device, error));
    if (status == GORDIAN_OK)
        *out = device;
    else
        compose_device_close(device);
    return status;
}

void device_forget(struct compose_device *device)
{
    struct compose_set *set = &device->set;
    device_free(device, &set->bitmap, set->words * sizeof(uint64_t));
    device_free(device, &device->waiting, set->words * sizeof(uint64_t));
    device_free(device, &set->directory, (set->words / COMPOSE_STRIDE + 2) * sizeof(uint64_t));
    device_free(device, &set->table, set->slots * sizeof(uint64_t));
    if (device->list) {
        device->held -= gpu_range_mapped(device->list);
        gpu_range_destroy(device->list);
    }
    device->list = NULL;
    device->room = 0;
    *set = (struct compose_set){.radices = device->radices, .radix_count = set->radix_count};
}

void compose_device_close(struct compose_device *device)
{
    if (!device)
        return;
    gpu_address *all[] = {&device->firings,      &device->ends,    &device->labels,
                          &device->word_firings, &device->radices, &device->control};
    device_forget(device);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        device_free(device, all[i], 0);
    packed_free(device->packed);
    gordian_allocator memory = device->memory;
    memory_free(&memory, device);
}

uint64_t device_items(const struct compose_device *device)
{
    return device->set.kind == COMPOSE_BITMAP ? device->set.words : device->set.count;
}

/* The common half of a device: checks, then calls the operation of its kind. */
#include "foundation/base/clock.h"
#include "foundation/gpu/device.h"
#include "foundation/gpu/kernels/resident/trap.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- failures */

enum { FAILURE_NONE, FAILURE_WRITING, FAILURE_THERE };

void gpu_init(struct gpu *gpu, const struct gpu_operations *operations,
              const gordian_allocator *memory)
{
    gpu->operations = operations;
    gpu->memory = memory_allocator(memory);
    atomic_init(&gpu->failed, FAILURE_NONE);
    gpu->launches_left = gpu_fail_after_wanted();
}

gordian_status gpu_fail(struct gpu *gpu, gordian_status status, gordian_error *error,
                        const char *format, ...)
{
    char text[sizeof gpu->failure];
    va_list list;
    va_start(list, format);
    vsnprintf(text, sizeof text, format, list);
    va_end(list);
    int none = FAILURE_NONE;
    if (atomic_compare_exchange_strong(&gpu->failed, &none, FAILURE_WRITING)) {
        memcpy(gpu->failure, text, sizeof text);
        gpu->failure_status = status;
        atomic_store(&gpu->failed, FAILURE_THERE);
    }
    return fail(error, status, "%s", text);
}

gordian_status gpu_fail_again(struct gpu *gpu, gordian_error *error)
{
    bool there = atomic_load(&gpu->failed) == FAILURE_THERE;
    if (!there)
        return fail(error, GORDIAN_STATUS_IO, "the device failed");
    return fail(error, gpu->failure_status, "%s", gpu->failure);
}

gordian_status gpu_fail_memory(gordian_error *error, const char *where, uint64_t needed,
                               uint64_t available)
{
    const double mebibyte = 1 << 20;
    return fail(error, GORDIAN_STATUS_MEMORY,
                "not enough %s memory: %.1f MiB needed, %.1f MiB free", where,
                (double)needed / mebibyte, (double)available / mebibyte);
}

bool gpu_failed(const struct gpu *gpu)
{
    return atomic_load(&gpu->failed) != FAILURE_NONE;
}

/* ---- calls */

void gpu_close(struct gpu *gpu)
{
    if (gpu)
        gpu->operations->close(gpu);
}

void gpu_get_info(const struct gpu *gpu, struct gpu_info *info)
{
    *info = gpu->info;
    info->memory_free = gpu_failed(gpu) ? 0 : gpu->operations->memory_free(gpu);
}

gordian_status gpu_alloc(struct gpu *gpu, gpu_address *out, size_t bytes, gordian_error *error)
{
    *out = 0;
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    return bytes ? gpu->operations->alloc(gpu, out, bytes, error) : GORDIAN_OK;
}

void gpu_free(struct gpu *gpu, gpu_address address)
{
    if (address)
        gpu->operations->release(gpu,
                                 &(struct gpu_release){.kind = GPU_MEMORY, .address = address});
}

static gordian_status fill_memory(struct gpu *gpu, gpu_address to, uint32_t value, size_t unit,
                                  size_t count, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    return count ? gpu->operations->fill(gpu, to, value, unit, count, error) : GORDIAN_OK;
}

gordian_status gpu_zero(struct gpu *gpu, gpu_address to, size_t bytes, gordian_error *error)
{
    return fill_memory(gpu, to, 0, 1, bytes, error);
}

gordian_status gpu_fill32(struct gpu *gpu, gpu_address to, uint32_t value, size_t count,
                          gordian_error *error)
{
    return fill_memory(gpu, to, value, sizeof value, count, error);
}

static gordian_status copy_memory(struct gpu *gpu, uint64_t to, uint64_t from, size_t bytes,
                                  enum gpu_direction direction, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    return bytes ? gpu->operations->copy(gpu, to, from, bytes, direction, error) : GORDIAN_OK;
}

gordian_status gpu_write(struct gpu *gpu, gpu_address to, const void *from, size_t bytes,
                         gordian_error *error)
{
    return copy_memory(gpu, to, (uintptr_t)from, bytes, GPU_WRITE, error);
}

gordian_status gpu_read(struct gpu *gpu, void *to, gpu_address from, size_t bytes,
                        gordian_error *error)
{
    return copy_memory(gpu, (uintptr_t)to, from, bytes, GPU_READ, error);
}

gordian_status gpu_copy(struct gpu *gpu, gpu_address to, gpu_address from, size_t bytes,
                        gordian_error *error)
{
    return copy_memory(gpu, to, from, bytes, GPU_COPY, error);
}

gordian_status gpu_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                       gordian_error *error)
{
    *host = NULL;
    *device = 0;
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    return bytes ? gpu->operations->map(gpu, host, device, bytes, error) : GORDIAN_OK;
}

void gpu_unmap(struct gpu *gpu, void *host)
{
    if (host)
        gpu->operations->release(
            gpu, &(struct gpu_release){.kind = GPU_MAPPING, .address = (uintptr_t)host});
}

/* ---- kernels */

gordian_status gpu_add_kernels(struct gpu *gpu, const struct gpu_kernels *set, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    if (!memory_grow(&gpu->memory, &gpu->loaded, &gpu->loaded_room, gpu->loaded_count + set->count,
                     sizeof *gpu->loaded))
        return fail_memory(error);
    struct gpu_loaded *loaded = gpu->loaded + gpu->loaded_count;
    for (size_t i = 0; i < set->count; i++)
        loaded[i] = (struct gpu_loaded){.kernel = &set->kernels[i]};
    if (gpu->operations->load)
        TRY(gpu->operations->load(gpu, set, loaded, error));
    gpu->loaded_count += set->count;
    return GORDIAN_OK;
}

/* Returns NULL if there is no kernel of that name. */
static struct gpu_loaded *find_kernel(struct gpu *gpu, const char *name)
{
    for (size_t i = 0; i < gpu->loaded_count; i++)
        if (strcmp(gpu->loaded[i].kernel->name, name) == 0)
            return &gpu->loaded[i];
    return NULL;
}

/* Finds a kernel and checks its shape. GORDIAN_STATUS_INPUT: no device could run it. */
static gordian_status check_shape(struct gpu *gpu, const char *name, unsigned threads,
                                  size_t shared, struct gpu_loaded **kernel, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    *kernel = find_kernel(gpu, name);
    if (!*kernel)
        return fail(error, GORDIAN_STATUS_INPUT, "there is no kernel '%.60s'", name);
    if (threads == 0 || threads > GPU_BLOCK_THREADS_MOST)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "kernel %s: %u threads in a block: 1 to %u are possible", name, threads,
                    GPU_BLOCK_THREADS_MOST);
    if (shared > gpu->info.shared_most)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "kernel %s: %zu bytes of shared memory, of at most %u", name, shared,
                    gpu->info.shared_most);
    return GORDIAN_OK;
}

uint64_t gpu_fail_after_wanted(void)
{
    const char *wanted = getenv("GORDIAN_GPU_FAIL_AFTER");
    return wanted && *wanted ? strtoull(wanted, NULL, 10) : UINT64_MAX;
}

gordian_status gpu_launch_trap(struct gpu *gpu, gordian_error *error)
{
    const struct trap_arguments arguments = {.thread = 31};
    return gpu->operations->launch(gpu, find_kernel(gpu, "trap_now"),
                                   GPU_LAUNCH("trap_now", 1, 32, arguments), error);
}

gordian_status gpu_launch(struct gpu *gpu, const struct gpu_launch *launch, gordian_error *error)
{
    struct gpu_loaded *kernel;
    TRY(check_shape(gpu, launch->kernel, launch->threads, launch->shared, &kernel, error));
    if (launch->blocks == 0 || launch->blocks > INT32_MAX)
        return fail(error, GORDIAN_STATUS_INPUT, "kernel %s: %u blocks: 1 to %d are possible",
                    launch->kernel, launch->blocks, INT32_MAX);
    if (launch->arguments_size == 0 || launch->arguments_size > GPU_ARGUMENTS_MOST)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "kernel %s: %zu bytes of arguments: 1 to %u are possible", launch->kernel,
                    launch->arguments_size, GPU_ARGUMENTS_MOST);
    if (launch->service && !gpu_service_ended(gpu))
        return fail(error, GORDIAN_STATUS_INPUT, "kernel %s: a service is running already",
                    launch->kernel);
    if (!launch->service && gpu->launches_left != UINT64_MAX && gpu->launches_left-- == 0) {
        gpu->launches_left = 0;
        return gpu_launch_trap(gpu, error);
    }
    return gpu->operations->launch(gpu, kernel, launch, error);
}

gordian_status gpu_wait(struct gpu *gpu, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    return gpu->operations->wait(gpu, false, error);
}

gordian_status gpu_wait_service(struct gpu *gpu, gordian_error *error)
{
    return gpu->operations->wait(gpu, true, error);
}

bool gpu_service_ended(struct gpu *gpu)
{
    return gpu->operations->service_ended(gpu);
}

gordian_status gpu_resident_blocks(struct gpu *gpu, const char *kernel, unsigned threads,
                                   size_t shared, unsigned *blocks, gordian_error *error)
{
    struct gpu_loaded *which;
    TRY(check_shape(gpu, kernel, threads, shared, &which, error));
    return gpu->operations->resident_blocks(gpu, which, threads, shared, blocks, error);
}

gordian_status gpu_timer_start(struct gpu *gpu, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    gpu->started_ns = clock_ns();
    return gpu->operations->timer ? gpu->operations->timer(gpu, NULL, error) : GORDIAN_OK;
}

gordian_status gpu_timer_stop(struct gpu *gpu, double *microseconds, gordian_error *error)
{
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    if (gpu->operations->timer)
        return gpu->operations->timer(gpu, microseconds, error);
    *microseconds = (double)(clock_ns() - gpu->started_ns) / 1000;
    return GORDIAN_OK;
}

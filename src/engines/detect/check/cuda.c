/* Checks snapshots on a GPU: memory, launches and the choice of the method. */
#include "engines/detect/check/cuda.h"

#include "engines/detect/check/background_device.h"
#include "engines/detect/check/cuda_job.h"
#include "engines/detect/check/snapshot.h"
#include "engines/detect/cuda/cuda.h"
#include "foundation/base/clock.h"
#include "foundation/gpu/kernels/array/select.h"
#include "foundation/gpu/stage.h"

#include <inttypes.h>
#include <string.h>

/* ------------------------------------------------------------------ memory */

static uint64_t tile_count(uint64_t count)
{
    return (count + SELECT_TILE - 1) / SELECT_TILE;
}

size_t job_tiles_size(uint64_t count)
{
    return (tile_count(count) + 1) * sizeof(uint32_t);
}

size_t job_flags_size(uint64_t count)
{
    return tile_count(count) * SELECT_TILE;
}

/* Returns what the device reserves: whole pages for large arrays. */
static uint64_t job_layout_bytes(const struct job_layout *layout)
{
    const uint64_t small = 512, page = UINT64_C(1) << 21;
    uint64_t bytes = 0;
    for (unsigned i = 0; i < layout->count; i++) {
        uint64_t unit = layout->sizes[i] < page / 2 ? small : page;
        bytes += (layout->sizes[i] + unit - 1) / unit * unit;
    }
    return bytes;
}

static void job_allocate(struct cuda_job *job, const struct job_layout *layout)
{
    uint64_t needed = job_layout_bytes(layout);
    if (needed > job->info.memory_free) {
        job->status =
            fail(job->error, GORDIAN_STATUS_MEMORY,
                 "checking this snapshot takes %" PRIu64 " MiB of device memory: %.60s has %" PRIu64
                 " MiB, %" PRIu64 " of them free",
                 (needed >> 20) + 1, job->info.name, job->info.memory >> 20,
                 job->info.memory_free >> 20);
        return;
    }
    for (unsigned i = 0; i < layout->count && job->status == GORDIAN_OK; i++) {
        size_t size = layout->sizes[i] ? layout->sizes[i] : sizeof(uint64_t);
        job->status = gpu_alloc(job->gpu, &job->arrays[i], size, job->error);
        if (job->status == GORDIAN_OK)
            job->array_count = i + 1;
    }
}

gpu_address job_allocate_more(struct cuda_job *job, size_t bytes)
{
    if (job->status != GORDIAN_OK)
        return 0;
    gpu_address *array = &job->arrays[job->array_count];
    job->status = gpu_alloc(job->gpu, array, bytes ? bytes : sizeof(uint64_t), job->error);
    if (job->status != GORDIAN_OK)
        return 0;
    job->array_count++;
    return *array;
}

/* Returns the microseconds since `start`. */
static double microseconds_since(uint64_t start)
{
    return (double)(clock_ns() - start) / 1e3;
}

void job_upload(struct cuda_job *job, gpu_address to, const void *from, size_t bytes)
{
    if (job->status != GORDIAN_OK || bytes == 0)
        return;
    uint64_t start = clock_ns();
    job->status = gpu_write_staged(job->gpu, to, from, bytes, gpu_stage_for(bytes), job->error);
    job->times.upload += microseconds_since(start);
}

static void job_download(struct cuda_job *job, void *to, gpu_address from, size_t bytes)
{
    if (job->status != GORDIAN_OK || bytes == 0)
        return;
    uint64_t start = clock_ns();
    job->status = gpu_read_staged(job->gpu, to, from, bytes, gpu_stage_for(bytes), job->error);
    job->times.download += microseconds_since(start);
}

uint32_t *job_download_list(struct cuda_job *job, gpu_address from, size_t count)
{
    if (job->status != GORDIAN_OK)
        return NULL;
    uint32_t *list = memory_alloc(job->memory, sizeof *list * count);
    if (!list) {
        job->status = fail_memory(job->error);
        return NULL;
    }
    job_download(job, list, from, sizeof *list * count);
    return list;
}

void job_zero(struct cuda_job *job, gpu_address to, size_t bytes)
{
    if (job->status == GORDIAN_OK && bytes > 0)
        job->status = gpu_zero(job->gpu, to, bytes, job->error);
}

/* ------------------------------------------------------------------ kernels */

void job_begin(struct cuda_job *job)
{
    if (job->status == GORDIAN_OK)
        job->status = gpu_timer_start(job->gpu, job->error);
}

void job_end(struct cuda_job *job)
{
    double time = 0;
    if (job->status == GORDIAN_OK)
        job->status = gpu_timer_stop(job->gpu, &time, job->error);
    job->times.kernels += time;
}

void job_run(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
             const void *arguments, size_t size)
{
    if (job->status != GORDIAN_OK || count == 0)
        return;
    struct gpu_launch launch = {
        .kernel = kernel,
        .blocks = (unsigned)((count + threads - 1) / threads),
        .threads = threads,
        .arguments = arguments,
        .arguments_size = size,
    };
    job->status = gpu_launch(job->gpu, &launch, job->error);
}

void job_run_together(struct cuda_job *job, const char *kernel, uint64_t count, unsigned threads,
                      const void *arguments, size_t size)
{
    unsigned blocks = 0;
    if (job->status != GORDIAN_OK || count == 0)
        return;
    job->status = gpu_resident_blocks(job->gpu, kernel, threads, 0, &blocks, job->error);
    if (job->status != GORDIAN_OK)
        return;
    uint64_t wanted = (count + threads - 1) / threads;
    struct gpu_launch launch = {
        .kernel = kernel,
        .blocks = wanted < blocks ? (unsigned)wanted : blocks,
        .threads = threads,
        .cooperative = true,
        .arguments = arguments,
        .arguments_size = size,
    };
    job->status = gpu_launch(job->gpu, &launch, job->error);
}

/* Adds the tiles up and reads their total. */
static uint32_t sum_tiles(struct cuda_job *job, uint32_t count)
{
    struct tile_sums_arguments sums = {job->tiles, (uint32_t)tile_count(count)};
    uint32_t total = 0;
    job_run(job, "tile_sums", 1, SELECT_THREADS, &sums, sizeof sums);
    if (job->status == GORDIAN_OK)
        job->status = gpu_read(job->gpu, &total, job->tiles + sums.count * sizeof total,
                               sizeof total, job->error);
    return total;
}

uint32_t job_select(struct cuda_job *job, gpu_address flags, uint32_t mask, gpu_address from,
                    gpu_address to, uint32_t count)
{
    if (count == 0)
        return 0;
    struct select_arguments select = {flags, from, to, job->tiles, count, mask};
    uint64_t threads = tile_count(count) * SELECT_THREADS;
    job_run(job, "select_count", threads, SELECT_THREADS, &select, sizeof select);
    uint32_t total = sum_tiles(job, count);
    if (total > 0)
        job_run(job, "select_write", threads, SELECT_THREADS, &select, sizeof select);
    return total;
}

uint32_t job_prefix(struct cuda_job *job, gpu_address values, uint32_t count)
{
    if (count == 0)
        return 0;
    struct prefix_arguments prefix = {values, job->tiles, count};
    uint64_t threads = tile_count(count) * SELECT_THREADS;
    job_run(job, "prefix_count", threads, SELECT_THREADS, &prefix, sizeof prefix);
    uint32_t total = sum_tiles(job, count);
    job_run(job, "prefix_write", threads, SELECT_THREADS, &prefix, sizeof prefix);
    return total;
}

/* ------------------------------------------------------------------ judging */

static void choose_layout(const gordian_snapshot *snapshot, gordian_model model,
                          struct job_layout *layout)
{
    layout->count = 0;
    if (model == GORDIAN_MODEL_SINGLE_UNIT)
        job_layout_single(snapshot, layout);
    else
        job_layout_general(snapshot, layout);
}

uint64_t check_cuda_memory(const gordian_snapshot *snapshot, gordian_model model)
{
    struct job_layout layout = {0};
    choose_layout(snapshot, model, &layout);
    return job_layout_bytes(&layout);
}

gordian_status check_cuda_on(struct gpu *gpu, const gordian_snapshot *snapshot, gordian_model model,
                             struct check_result *result, struct check_cuda_times *times,
                             gordian_error *error)
{
    struct cuda_job job = {
        .gpu = gpu,
        .snapshot = snapshot,
        .memory = &snapshot->memory,
        .result = result,
        .error = error,
    };
    struct job_layout layout = {0};
    gpu_get_info(gpu, &job.info);
    choose_layout(snapshot, model, &layout);
    job_allocate(&job, &layout);
    if (job.status == GORDIAN_OK) {
        if (model == GORDIAN_MODEL_SINGLE_UNIT)
            job_check_single(&job);
        else
            job_check_general(&job);
    }
    while (job.array_count > 0)
        gpu_free(job.gpu, job.arrays[--job.array_count]);
    if (job.status != GORDIAN_OK)
        check_result_free(result, &snapshot->memory);
    if (times)
        *times = job.times;
    return job.status;
}

gordian_status check_cuda(const gordian_snapshot *snapshot, gordian_model model, unsigned threads,
                          struct check_result *result, gordian_error *error)
{
    (void)threads;
    struct gpu *gpu;
    TRY(snapshot->device ? background_device_get(snapshot->device, &gpu, error)
                         : gpu_open_default(&gpu, &snapshot->memory, error));
    gordian_status status = check_cuda_on(gpu, snapshot, model, result, NULL, error);
    if (!snapshot->device)
        gpu_close(gpu);
    return status;
}

bool check_cuda_pays(const gordian_snapshot *snapshot)
{
    char why[256];
    return (uint64_t)snapshot->process_count + snapshot->resource_count >= ENGINE_CHECK_FROM &&
           gpu_count(why, sizeof why) > 0;
}

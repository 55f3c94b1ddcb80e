/*
 * An NVIDIA GPU through the CUDA driver.
 *
 * The device's primary context is pushed around every call, so any thread may call. There are two
 * streams: one for the service and one for everything else. Neither waits for the other or for the
 * legacy default stream. While a service runs, nothing may wait for the whole context, because that
 * would wait until the service leaves (service.h). So while a service runs, memory to free is put
 * on a list and freed later (cuda_memory.c). Every kernel is loaded when the device is opened.
 * Another gpu of this process may still wait: opening loads modules, closing frees memory.
 */
#include "foundation/gpu/cuda.h"

#include <stdio.h>
#include <string.h>

#define CAPABILITY_LEAST 8 /* major: sm_80 */

/* ---- errors and the context */

/* Returns whether the context is lost after this result: yes, unless the call itself was refused.
 */
static bool is_fatal(int result)
{
    return result != CUDA_OUT_OF_MEMORY && result != CUDA_INVALID_VALUE &&
           result != CUDA_LAUNCH_OUT_OF_RESOURCES && result != CUDA_COOPERATIVE_LAUNCH_TOO_LARGE;
}

gordian_status cuda_fail(struct cuda *cuda, int result, const char *doing, gordian_error *error)
{
    char text[160];
    driver_text(&cuda->driver, result, text, sizeof text);
    if (result == CUDA_OUT_OF_MEMORY)
        return fail(error, GORDIAN_STATUS_MEMORY, "%s, %s: %s", cuda->gpu.info.name, doing, text);
    if (!is_fatal(result))
        return fail(error, GORDIAN_STATUS_INPUT, "%s, %s: %s", cuda->gpu.info.name, doing, text);
    return gpu_fail(&cuda->gpu, GORDIAN_STATUS_IO, error, "%s, %s: %s", cuda->gpu.info.name, doing,
                    text);
}

gordian_status cuda_enter(struct cuda *cuda, gordian_error *error)
{
    int result = cuda->driver.context_push(cuda->context);
    return result == CUDA_OK ? GORDIAN_OK
                             : cuda_fail(cuda, result, "making its context current", error);
}

gordian_status cuda_leave(struct cuda *cuda, int result, const char *doing, gordian_error *error)
{
    cuda_context context;
    cuda->driver.context_pop(&context);
    return result == CUDA_OK ? GORDIAN_OK : cuda_fail(cuda, result, doing, error);
}

/* ---- launches */

/* More shared memory than every device has must be enabled once for each kernel. */
static int ask_for_shared(struct cuda *cuda, struct gpu_loaded *kernel, size_t shared)
{
    if (shared <= CUDA_SHARED_WITHOUT_ASKING || shared <= atomic_load(&kernel->shared))
        return CUDA_OK;
    int result =
        cuda->driver.function_set(kernel->function, CUDA_FUNCTION_MAX_DYNAMIC_SHARED, (int)shared);
    if (result == CUDA_OK)
        atomic_store(&kernel->shared, (unsigned)shared);
    return result;
}

static int start_kernel(struct cuda *cuda, struct gpu_loaded *kernel,
                        const struct gpu_launch *launch)
{
    int result = ask_for_shared(cuda, kernel, launch->shared);
    if (result != CUDA_OK)
        return result;
    cuda_function function = kernel->function;
    cuda_stream stream = launch->service ? cuda->service : cuda->stream;
    void *parameters[] = {(void *)(uintptr_t)launch->arguments};
    unsigned shared = (unsigned)launch->shared;
    if (launch->cooperative)
        return cuda->driver.launch_cooperative(function, launch->blocks, 1, 1, launch->threads, 1,
                                               1, shared, stream, parameters);
    return cuda->driver.launch(function, launch->blocks, 1, 1, launch->threads, 1, 1, shared,
                               stream, parameters, NULL);
}

static gordian_status cuda_launch(struct gpu *gpu, struct gpu_loaded *kernel,
                                  const struct gpu_launch *launch, gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    if (launch->service)
        atomic_store(&cuda->serving, true);
    int result = start_kernel(cuda, kernel, launch);
    if (launch->service && result != CUDA_OK)
        atomic_store(&cuda->serving, false);
    char doing[100];
    snprintf(doing, sizeof doing, "launching kernel %s", launch->kernel);
    return cuda_leave(cuda, result, doing, error);
}

/* Evaluates the result of a query of the service: it has ended if it ended well or with the whole
 * device. The context is current. */
static void note_service(struct cuda *cuda, int result)
{
    if (result == CUDA_NOT_READY || (result != CUDA_OK && !is_fatal(result)))
        return;
    atomic_store(&cuda->serving, false);
    cuda_free_late(cuda);
}

static gordian_status cuda_wait(struct gpu *gpu, bool service, gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    if (gpu_failed(gpu))
        return gpu_fail_again(gpu, error);
    TRY(cuda_enter(cuda, error));
    int result = cuda->driver.stream_wait(service ? cuda->service : cuda->stream);
    if (service)
        note_service(cuda, result);
    return cuda_leave(cuda, result, service ? "running the service kernel" : "running kernels",
                      error);
}

static bool cuda_service_ended(struct gpu *gpu)
{
    struct cuda *cuda = cuda_of(gpu);
    if (!atomic_load(&cuda->serving) || gpu_failed(gpu))
        return true;
    if (cuda_enter(cuda, NULL) != GORDIAN_OK)
        return gpu_failed(gpu);
    int result = cuda->driver.stream_query(cuda->service);
    note_service(cuda, result);
    if (result == CUDA_NOT_READY)
        result = CUDA_OK;
    cuda_leave(cuda, result, "running the service kernel", NULL);
    return !atomic_load(&cuda->serving);
}

static gordian_status cuda_resident_blocks(struct gpu *gpu, struct gpu_loaded *kernel,
                                           unsigned threads, size_t shared, unsigned *blocks,
                                           gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    int each = 0;
    int result = ask_for_shared(cuda, kernel, shared);
    if (result == CUDA_OK)
        result = cuda->driver.occupancy(&each, kernel->function, (int)threads, shared);
    gordian_status status = cuda_leave(cuda, result, "asking how many blocks fit", error);
    if (status == GORDIAN_OK)
        *blocks = (unsigned)each * gpu->info.multiprocessors;
    return status;
}

/* ---- time */

static gordian_status cuda_timer(struct gpu *gpu, double *microseconds, gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    const struct cuda_driver *driver = &cuda->driver;
    TRY(cuda_enter(cuda, error));
    float milliseconds = 0;
    int result = driver->event_record(cuda->events[microseconds ? 1 : 0], cuda->stream);
    if (!microseconds)
        return cuda_leave(cuda, result, "starting the timer", error);
    if (result == CUDA_OK)
        result = driver->event_wait(cuda->events[1]);
    if (result == CUDA_OK)
        result = driver->event_elapsed(&milliseconds, cuda->events[0], cuda->events[1]);
    *microseconds = (double)milliseconds * 1000;
    return cuda_leave(cuda, result, "running kernels", error);
}

/* ---- what a device is */

static bool built_without_nvcc(void)
{
    return !gpu_library_kernels.images[0].data;
}

static int device_numbers(const struct cuda_driver *driver, int device, struct gpu_info *info)
{
    int major = 0, minor = 0, multiprocessors = 0, shared = 0;
    size_t memory = 0;
    int result = driver->device_attribute(&major, CUDA_COMPUTE_CAPABILITY_MAJOR, device);
    if (result == CUDA_OK)
        result = driver->device_attribute(&minor, CUDA_COMPUTE_CAPABILITY_MINOR, device);
    if (result == CUDA_OK)
        result = driver->device_attribute(&multiprocessors, CUDA_MULTIPROCESSOR_COUNT, device);
    if (result == CUDA_OK)
        result = driver->device_attribute(&shared, CUDA_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
    if (result == CUDA_OK)
        result = driver->device_memory(&memory, device);
    info->major = (unsigned)major;
    info->minor = (unsigned)minor;
    info->multiprocessors = (unsigned)multiprocessors;
    info->shared_most = (unsigned)shared;
    info->memory = memory;
    /* Later chips have the instruction, but in software. */
    info->binary_mma = major == 8 || major == 9;
    return result;
}

/* Finds the device and fills in *info. Refuses devices that the kernels are not compiled for. */
static gordian_status find_device(const struct cuda_driver *driver, unsigned index, int *device,
                                  struct gpu_info *info, gordian_error *error)
{
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "device %u", index);
    char text[160];
    int count = 0;
    int result = driver->device_count(&count);
    if (result == CUDA_OK && index >= (unsigned)count)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "there is no GPU %u: the driver has %d",
                    index, count);
    if (result == CUDA_OK)
        result = driver->device_get(device, (int)index);
    if (result == CUDA_OK)
        result = driver->device_name(info->name, (int)sizeof info->name, *device);
    if (result == CUDA_OK)
        result = device_numbers(driver, *device, info);
    if (result != CUDA_OK)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "GPU %u cannot be queried: %s", index,
                    driver_text(driver, result, text, sizeof text));
    if (info->major < CAPABILITY_LEAST)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE,
                    "%s has compute capability %u.%u, %u.0 is needed", info->name, info->major,
                    info->minor, CAPABILITY_LEAST);
    return GORDIAN_OK;
}

bool gpu_driver_likely(void)
{
    return !built_without_nvcc() && driver_likely();
}

unsigned gpu_count(char *why, size_t size)
{
    struct cuda_driver driver;
    gordian_error error = {0};
    int count = 0;
    if (built_without_nvcc()) {
        snprintf(why, size, "built without nvcc");
        return 0;
    }
    if (driver_load(&driver, &error) != GORDIAN_OK) {
        snprintf(why, size, "%s", error.message);
        return 0;
    }
    if (driver.device_count(&count) != CUDA_OK || count < 1) {
        snprintf(why, size, "the NVIDIA driver finds no GPU");
        return 0;
    }
    return (unsigned)count;
}

/* The free memory can only be queried with a context. */
static int ask_memory(const struct cuda_driver *driver, int device, uint64_t *bytes)
{
    cuda_context context, popped;
    int result = driver->context_retain(&context, device);
    if (result != CUDA_OK)
        return result;
    size_t available = 0, total;
    result = driver->context_push(context);
    if (result == CUDA_OK) {
        result = driver->memory_info(&available, &total);
        driver->context_pop(&popped);
    }
    driver->context_release(device);
    *bytes = available;
    return result;
}

gordian_status gpu_describe(unsigned index, struct gpu_info *info, gordian_error *error)
{
    struct cuda_driver driver;
    int device;
    memset(info, 0, sizeof *info);
    if (built_without_nvcc())
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "built without nvcc");
    TRY(driver_load(&driver, error));
    TRY(find_device(&driver, index, &device, info, error));
    char text[160];
    int result = ask_memory(&driver, device, &info->memory_free);
    if (result != CUDA_OK)
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "%s cannot be used: %s", info->name,
                    driver_text(&driver, result, text, sizeof text));
    return GORDIAN_OK;
}

/* ---- opening and closing */

/* The context is current, or was never made. */
static void close_parts(struct cuda *cuda)
{
    const struct cuda_driver *driver = &cuda->driver;
    for (unsigned i = 0; i < 2; i++) {
        if (cuda->events[i])
            driver->event_destroy(cuda->events[i]);
    }
    if (cuda->stream)
        driver->stream_destroy(cuda->stream);
    if (cuda->service)
        driver->stream_destroy(cuda->service);
    for (size_t i = 0; i < cuda->module_count; i++)
        driver->module_unload(cuda->modules[i]);
}

static void cuda_close(struct gpu *gpu)
{
    struct cuda *cuda = cuda_of(gpu);
    gordian_allocator memory = gpu->memory;
    cuda_context popped;
    if (cuda->context) {
        bool current = cuda->driver.context_push(cuda->context) == CUDA_OK;
        if (current && atomic_load(&cuda->serving) && !gpu_failed(gpu))
            cuda->driver.stream_wait(cuda->service);
        cuda_free_late(cuda);
        close_parts(cuda);
        if (current)
            cuda->driver.context_pop(&popped);
        cuda->driver.context_release(cuda->device);
    }
    pthread_mutex_destroy(&cuda->lock);
    memory_free_all(&memory, cuda->late, cuda->modules, gpu->loaded, cuda);
}

/* Finds a kernel in the module of its file and queries it, which loads it now: loading it later
 * would wait for a running service. */
static int find_function(struct cuda *cuda, const struct gpu_image *images,
                         const cuda_module *modules, struct gpu_loaded *kernel)
{
    size_t i = 0;
    while (images[i].data && strcmp(images[i].file, kernel->kernel->file) != 0)
        i++;
    if (!images[i].data)
        return CUDA_NOT_FOUND;
    int shared;
    int result = cuda->driver.module_function(&kernel->function, modules[i], kernel->kernel->name);
    if (result != CUDA_OK)
        return result;
    return cuda->driver.function_get(&shared, CUDA_FUNCTION_SHARED_SIZE_BYTES, kernel->function);
}

static gordian_status find_functions(struct cuda *cuda, const struct gpu_kernels *set,
                                     const cuda_module *modules, struct gpu_loaded *loaded,
                                     gordian_error *error)
{
    for (size_t i = 0; i < set->count; i++) {
        int result = find_function(cuda, set->images, modules, &loaded[i]);
        char doing[100];
        snprintf(doing, sizeof doing, "loading kernel %s", set->kernels[i].name);
        if (result != CUDA_OK)
            return cuda_fail(cuda, result, doing, error);
    }
    return GORDIAN_OK;
}

static gordian_status load_modules(struct cuda *cuda, const struct gpu_image *images,
                                   gordian_error *error)
{
    for (; images->data; images++) {
        if (!memory_grow(&cuda->gpu.memory, &cuda->modules, &cuda->module_room,
                         cuda->module_count + 1, sizeof *cuda->modules))
            return fail_memory(error);
        int result = cuda->driver.module_load(&cuda->modules[cuda->module_count], images->data);
        char doing[100];
        snprintf(doing, sizeof doing, "loading %s", images->file);
        if (result != CUDA_OK)
            return cuda_fail(cuda, result, doing, error);
        cuda->module_count++;
    }
    return GORDIAN_OK;
}

static gordian_status cuda_load(struct gpu *gpu, const struct gpu_kernels *set,
                                struct gpu_loaded *loaded, gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    size_t first = cuda->module_count;
    TRY(cuda_enter(cuda, error));
    gordian_status status = load_modules(cuda, set->images, error);
    THEN(status, find_functions(cuda, set, cuda->modules + first, loaded, error));
    cuda_leave(cuda, CUDA_OK, "", NULL);
    return status;
}

static gordian_status open_parts(struct cuda *cuda, gordian_error *error)
{
    const struct cuda_driver *driver = &cuda->driver;
    int result = driver->stream_create(&cuda->stream, CUDA_STREAM_NON_BLOCKING);
    if (result == CUDA_OK)
        result = driver->stream_create(&cuda->service, CUDA_STREAM_NON_BLOCKING);
    for (unsigned i = 0; i < 2 && result == CUDA_OK; i++)
        result = driver->event_create(&cuda->events[i], 0);
    if (result == CUDA_OK)
        result = cuda_ask_granularity(cuda);
    return result == CUDA_OK ? GORDIAN_OK : cuda_fail(cuda, result, "making its streams", error);
}

static gordian_status open_device(struct cuda *cuda, unsigned index, gordian_error *error)
{
    TRY(driver_load(&cuda->driver, error));
    TRY(find_device(&cuda->driver, index, &cuda->device, &cuda->gpu.info, error));
    int result = cuda->driver.context_retain(&cuda->context, cuda->device);
    if (result != CUDA_OK) {
        cuda->context = NULL;
        return cuda_fail(cuda, result, "making its context", error);
    }
    TRY(cuda_enter(cuda, error));
    gordian_status status = open_parts(cuda, error);
    cuda_leave(cuda, CUDA_OK, "", NULL);
    return status;
}

static const struct gpu_operations cuda_operations = {
    .close = cuda_close,
    .memory_free = cuda_memory_free,
    .alloc = cuda_alloc,
    .map = cuda_map,
    .release = cuda_release,
    .fill = cuda_fill,
    .copy = cuda_copy,
    .reserve = cuda_reserve,
    .back = cuda_back,
    .load = cuda_load,
    .launch = cuda_launch,
    .wait = cuda_wait,
    .service_ended = cuda_service_ended,
    .resident_blocks = cuda_resident_blocks,
    .timer = cuda_timer,
};

gordian_status gpu_open(struct gpu **out, unsigned index, const gordian_allocator *memory,
                        gordian_error *error)
{
    *out = NULL;
    if (built_without_nvcc())
        return fail(error, GORDIAN_STATUS_UNAVAILABLE, "built without nvcc");
    gordian_allocator from = memory_allocator(memory);
    struct cuda *cuda = memory_zeroed(&from, sizeof *cuda);
    if (!cuda)
        return fail_memory(error);
    gpu_init(&cuda->gpu, &cuda_operations, memory);
    pthread_mutex_init(&cuda->lock, NULL);
    atomic_init(&cuda->serving, false);
    gordian_status status = open_device(cuda, index, error);
    THEN(status, gpu_add_kernels(&cuda->gpu, &gpu_library_kernels, error));
    if (status == GORDIAN_OK) {
        *out = &cuda->gpu;
        return GORDIAN_OK;
    }
    cuda_close(&cuda->gpu);
    /* A device that cannot be opened counts as missing. */
    status = status == GORDIAN_STATUS_MEMORY ? GORDIAN_STATUS_MEMORY : GORDIAN_STATUS_UNAVAILABLE;
    if (error)
        error->status = status;
    return status;
}

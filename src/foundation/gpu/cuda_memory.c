/* Memory of an NVIDIA GPU. */
#include "foundation/gpu/cuda.h"

#include <string.h>

/* ---- releasing */

static void free_now(struct cuda *cuda, const struct gpu_release *what)
{
    if (what->kind == GPU_MAPPING)
        cuda->driver.host_free((void *)(uintptr_t)what->address);
    else if (what->kind == GPU_PIECE)
        cuda->driver.piece_unmap(what->address, what->bytes);
    else if (what->kind == GPU_RANGE)
        cuda->driver.range_free(what->address, what->bytes);
    else
        cuda->driver.memory_free(what->address);
}

/* Unlike freeing, unmapping does not wait for the kernels that may use the memory. */
static void wait_for_users(struct cuda *cuda)
{
    int result = cuda->driver.stream_wait(cuda->stream);
    if (result != CUDA_OK)
        cuda_fail(cuda, result, "running kernels", NULL);
}

void cuda_free_late(struct cuda *cuda)
{
    pthread_mutex_lock(&cuda->lock);
    if (cuda->late_count)
        wait_for_users(cuda);
    for (size_t i = 0; i < cuda->late_count; i++)
        free_now(cuda, &cuda->late[i]);
    cuda->late_count = 0;
    pthread_mutex_unlock(&cuda->lock);
}

/* Postpones a release. Returns false if there is no memory to note it. */
static bool postpone_freeing(struct cuda *cuda, const struct gpu_release *what)
{
    pthread_mutex_lock(&cuda->lock);
    bool noted = memory_grow(&cuda->gpu.memory, &cuda->late, &cuda->late_room, cuda->late_count + 1,
                             sizeof *cuda->late);
    if (noted)
        cuda->late[cuda->late_count++] = *what;
    pthread_mutex_unlock(&cuda->lock);
    return noted;
}

/* Without memory for a note it waits for the service: late, but nothing leaks. */
void cuda_release(struct gpu *gpu, const struct gpu_release *what)
{
    struct cuda *cuda = cuda_of(gpu);
    if (!gpu->operations->service_ended(gpu) && postpone_freeing(cuda, what))
        return;
    cuda_context popped;
    bool current = cuda->driver.context_push(cuda->context) == CUDA_OK;
    if (current && what->kind == GPU_PIECE)
        wait_for_users(cuda);
    free_now(cuda, what);
    if (current)
        cuda->driver.context_pop(&popped);
}

/* ---- allocating */

uint64_t cuda_memory_free(const struct gpu *gpu)
{
    const struct cuda *cuda = (const struct cuda *)gpu;
    size_t available = 0, total;
    cuda_context popped;
    if (cuda->driver.context_push(cuda->context) != CUDA_OK)
        return 0;
    if (cuda->driver.memory_info(&available, &total) != CUDA_OK)
        available = 0;
    cuda->driver.context_pop(&popped);
    return available;
}

gordian_status cuda_alloc(struct gpu *gpu, gpu_address *out, size_t bytes, gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    size_t available = 0, total = 0;
    uint64_t address = 0;
    int result = cuda->driver.memory_info(&available, &total);
    if (result == CUDA_OK)
        result =
            bytes > available ? CUDA_OUT_OF_MEMORY : cuda->driver.memory_alloc(&address, bytes);
    if (result == CUDA_OUT_OF_MEMORY) {
        cuda_leave(cuda, CUDA_OK, "", NULL);
        return gpu_fail_memory(error, "device", bytes, available);
    }
    gordian_status status = cuda_leave(cuda, result, "allocating memory", error);
    if (status == GORDIAN_OK)
        *out = address;
    return status;
}

gordian_status cuda_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                        gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    void *memory = NULL;
    uint64_t address = 0;
    int result = cuda->driver.host_alloc(&memory, bytes, CUDA_HOST_PORTABLE_AND_MAPPED);
    if (result == CUDA_OK) {
        result = cuda->driver.host_address(&address, memory, 0);
        if (result != CUDA_OK)
            cuda->driver.host_free(memory);
    }
    TRY(cuda_leave(cuda, result, "pinning host memory", error));
    memset(memory, 0, bytes);
    *host = memory;
    *device = address;
    return GORDIAN_OK;
}

/* ---- ranges */

static struct cuda_memory_kind kind_of(const struct cuda *cuda)
{
    return (struct cuda_memory_kind){.type = CUDA_MEMORY_PINNED,
                                     .where = {CUDA_LOCATION_DEVICE, cuda->device}};
}

int cuda_ask_granularity(struct cuda *cuda)
{
    struct cuda_memory_kind kind = kind_of(cuda);
    size_t bytes = 0;
    int result = cuda->driver.granularity(&bytes, &kind, CUDA_GRANULARITY_RECOMMENDED);
    cuda->gpu.granularity = bytes;
    return result;
}

gordian_status cuda_reserve(struct gpu *gpu, gpu_address *out, uint64_t *piece, uint64_t bytes,
                            gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    uint64_t address = 0;
    int result = cuda->driver.range_reserve(&address, bytes, 0, 0, 0);
    gordian_status status = cuda_leave(cuda, result, "reserving addresses", error);
    if (status == GORDIAN_OK)
        *out = address;
    *piece = 0;
    return status;
}

/* The mapping keeps the memory, so its handle is released at once. */
static int map_piece(struct cuda *cuda, uint64_t address, uint64_t bytes)
{
    const struct cuda_driver *driver = &cuda->driver;
    struct cuda_memory_kind kind = kind_of(cuda);
    struct cuda_access access = {.who = kind.where, .flags = CUDA_ACCESS_READ_WRITE};
    unsigned long long handle;
    int result = driver->piece_create(&handle, bytes, &kind, 0);
    if (result != CUDA_OK)
        return result;
    result = driver->piece_map(address, bytes, 0, handle, 0);
    if (result == CUDA_OK) {
        result = driver->piece_access(address, bytes, &access, 1);
        if (result != CUDA_OK)
            driver->piece_unmap(address, bytes);
    }
    driver->piece_release(handle);
    return result;
}

gordian_status cuda_back(struct gpu *gpu, gpu_address address, uint64_t *piece, uint64_t bytes,
                         gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    size_t available = 0, total = 0;
    int result = map_piece(cuda, address, bytes);
    *piece = 0;
    if (result != CUDA_OUT_OF_MEMORY)
        return cuda_leave(cuda, result, "mapping memory", error);
    if (cuda->driver.memory_info(&available, &total) != CUDA_OK)
        available = 0;
    cuda_leave(cuda, CUDA_OK, "", NULL);
    return gpu_fail_memory(error, "device", bytes, available);
}

/* ---- copying and filling: in the order of the launches */

gordian_status cuda_fill(struct gpu *gpu, gpu_address to, uint32_t value, size_t unit, size_t count,
                         gordian_error *error)
{
    struct cuda *cuda = cuda_of(gpu);
    TRY(cuda_enter(cuda, error));
    int result = unit == 1 ? cuda->driver.fill8(to, 0, count, cuda->stream)
                           : cuda->driver.fill32(to, value, count, cuda->stream);
    return cuda_leave(cuda, result, "filling memory", error);
}

/* Copies to and from the host wait explicitly: with pinned memory of the caller the driver's copy
 * would not. */
gordian_status cuda_copy(struct gpu *gpu, uint64_t to, uint64_t from, size_t bytes,
                         enum gpu_direction direction, gordian_error *error)
{
    static const char *const doing[] = {"copying to it", "copying from it", "copying on it"};
    struct cuda *cuda = cuda_of(gpu);
    const struct cuda_driver *driver = &cuda->driver;
    int result;
    TRY(cuda_enter(cuda, error));
    if (direction == GPU_WRITE)
        result = driver->write(to, (const void *)(uintptr_t)from, bytes, cuda->stream);
    else if (direction == GPU_READ)
        result = driver->read((void *)(uintptr_t)to, from, bytes, cuda->stream);
    else
        result = driver->copy(to, from, bytes, cuda->stream);
    if (result == CUDA_OK && direction != GPU_COPY)
        result = driver->stream_wait(cuda->stream);
    return cuda_leave(cuda, result, doing[direction], error);
}

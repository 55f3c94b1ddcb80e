/* The kernel emulator as a device: its memory is the host's; a launch runs at once on the caller's
 * thread, a service on a thread of its own. */
#include "foundation/gpu/device.h"
#include "foundation/gpu/machine.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define GRANULARITY (64 << 10) /* of ranges; the host's pages are not larger */

/* A launch on a machine: what it needs after gpu_launch has returned. */
struct job {
    struct emulated_machine machine;
    struct machine_launch launch;
    void *arguments; /* GPU_ARGUMENTS_MOST bytes */
};

struct piece;

struct emulator {
    struct gpu gpu;
    pthread_mutex_t lock; /* protects launches other than the service's */
    struct job job, service;
    pthread_mutex_t service_lock; /* protects the members up to `ended` */
    pthread_t thread;
    bool started;                   /* the thread exists and has not been joined */
    struct piece *late, **late_end; /* memory released while it ran, in that order */
    atomic_bool ended;
    atomic_uint_fast64_t used; /* bytes of memory */
    uint64_t seed, launches;
};

static struct emulator *emulator_of(struct gpu *gpu)
{
    return (struct emulator *)gpu;
}

/* ---- memory: each piece has a header with its size */

struct piece {
    uint64_t bytes; /* of memory */
    /* For a range, whose memory does not follow this header: its addresses. The first `bytes` of
     * them are mapped. If `bytes` is 0, all are only reserved. */
    void *range;
    size_t range_bytes;
    struct piece *next;      /* in the list of pieces to free */
    char unused[64 - 8 * 4]; /* pieces are as aligned as malloc's, to 16 bytes */
};

static gordian_status take_piece(struct emulator *emulator, void **out, size_t bytes,
                                 gordian_error *error)
{
    uint64_t used = atomic_load(&emulator->used);
    uint64_t available = used < emulator->gpu.info.memory ? emulator->gpu.info.memory - used : 0;
    if (bytes > available)
        return gpu_fail_memory(error, "emulated device", bytes, available);
    struct piece *piece = memory_alloc(&emulator->gpu.memory, sizeof *piece + bytes);
    if (!piece)
        return fail_memory(error);
    piece->bytes = bytes;
    piece->range = NULL;
    atomic_fetch_add(&emulator->used, bytes);
    *out = piece + 1;
    return GORDIAN_OK;
}

/* Reserves addresses without memory: accessing them is a fault. */
static void *seal_range(void *at, size_t bytes)
{
    int fixed = at ? MAP_FIXED : 0;
    return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | fixed, -1, 0);
}

static void free_piece(struct emulator *emulator, struct piece *piece)
{
    if (piece->range && piece->bytes)
        seal_range(piece->range, piece->range_bytes);
    else if (piece->range)
        munmap(piece->range, piece->range_bytes);
    atomic_fetch_sub(&emulator->used, piece->bytes);
    memory_free(&emulator->gpu.memory, piece);
}

static void *host_address(gpu_address address)
{
    return (void *)(uintptr_t)address;
}

/* As on a device, memory is not freed before a running service has ended. */
static void emulator_release(struct gpu *gpu, const struct gpu_release *what)
{
    struct emulator *emulator = emulator_of(gpu);
    struct piece *piece = what->kind == GPU_MEMORY || what->kind == GPU_MAPPING
                              ? (struct piece *)host_address(what->address) - 1
                              : host_address(what->piece);
    pthread_mutex_lock(&emulator->service_lock);
    if (emulator->started && !atomic_load(&emulator->ended)) {
        piece->next = NULL;
        *emulator->late_end = piece;
        emulator->late_end = &piece->next;
    } else {
        free_piece(emulator, piece);
    }
    pthread_mutex_unlock(&emulator->service_lock);
}

static gordian_status emulator_alloc(struct gpu *gpu, gpu_address *out, size_t bytes,
                                     gordian_error *error)
{
    void *content = NULL;
    gordian_status status = take_piece(emulator_of(gpu), &content, bytes, error);
    if (status != GORDIAN_OK || !content)
        return status;
    memset(content, EMULATED_GARBAGE, bytes);
    *out = (uintptr_t)content;
    return GORDIAN_OK;
}

static gordian_status emulator_map(struct gpu *gpu, void **host, gpu_address *device, size_t bytes,
                                   gordian_error *error)
{
    TRY(take_piece(emulator_of(gpu), host, bytes, error));
    memset(*host, 0, bytes);
    *device = (uintptr_t)*host;
    return GORDIAN_OK;
}

static uint64_t emulator_memory_free(const struct gpu *gpu)
{
    uint64_t used = atomic_load(&((const struct emulator *)gpu)->used);
    return used < gpu->info.memory ? gpu->info.memory - used : 0;
}

static gordian_status emulator_reserve(struct gpu *gpu, gpu_address *out, uint64_t *piece,
                                       uint64_t bytes, gordian_error *error)
{
    struct piece *note = memory_zeroed(&gpu->memory, sizeof *note);
    if (!note)
        return fail_memory(error);
    void *range = seal_range(NULL, bytes);
    if (range == MAP_FAILED) {
        memory_free(&gpu->memory, note);
        return fail(error, GORDIAN_STATUS_MEMORY, "no addresses for %llu bytes",
                    (unsigned long long)bytes);
    }
    note->range = range;
    note->range_bytes = bytes;
    *piece = (uintptr_t)note;
    *out = (uintptr_t)range;
    return GORDIAN_OK;
}

static gordian_status emulator_back(struct gpu *gpu, gpu_address address, uint64_t *piece,
                                    uint64_t bytes, gordian_error *error)
{
    struct emulator *emulator = emulator_of(gpu);
    uint64_t available = emulator_memory_free(gpu);
    if (bytes > available)
        return gpu_fail_memory(error, "emulated device", bytes, available);
    struct piece *note = memory_zeroed(&gpu->memory, sizeof *note);
    if (!note)
        return fail_memory(error);
    if (mprotect(host_address(address), bytes, PROT_READ | PROT_WRITE) != 0) {
        memory_free(&gpu->memory, note);
        return gpu_fail_memory(error, "host", bytes, 0);
    }
    memset(host_address(address), EMULATED_GARBAGE, bytes);
    note->bytes = bytes;
    note->range = host_address(address);
    note->range_bytes = bytes;
    atomic_fetch_add(&emulator->used, bytes);
    *piece = (uintptr_t)note;
    return GORDIAN_OK;
}

static gordian_status emulator_fill(struct gpu *gpu, gpu_address to, uint32_t value, size_t unit,
                                    size_t count, gordian_error *error)
{
    (void)gpu, (void)error;
    uint32_t *words = host_address(to);
    if (unit == 1)
        memset(words, 0, count);
    for (size_t i = 0; i < count && unit > 1; i++)
        words[i] = value;
    return GORDIAN_OK;
}

static gordian_status emulator_copy(struct gpu *gpu, uint64_t to, uint64_t from, size_t bytes,
                                    enum gpu_direction direction, gordian_error *error)
{
    (void)gpu, (void)direction, (void)error;
    memmove(host_address(to), host_address(from), bytes);
    return GORDIAN_OK;
}

/* ---- launches */

static gordian_status prepare_job(struct emulator *emulator, struct job *job,
                                  const struct gpu_kernel *kernel, const struct gpu_launch *launch,
                                  gordian_error *error)
{
    const struct emulated_kernel *body = kernel->body;
    if (launch->arguments_size != body->arguments_size)
        return fail(error, GORDIAN_STATUS_INPUT, "kernel %s: %zu bytes of arguments, not %zu",
                    launch->kernel, launch->arguments_size, body->arguments_size);
    unsigned most = emulated_resident(launch->threads, launch->shared);
    if (launch->cooperative && launch->blocks > most)
        return fail(error, GORDIAN_STATUS_INPUT, "kernel %s: %u blocks at once, of at most %u",
                    launch->kernel, launch->blocks, most);
    job->launch = (struct machine_launch){
        .name = kernel->name,
        .kernel = body,
        .blocks = launch->blocks,
        .threads = launch->threads,
        .shared = launch->shared,
        .cooperative = launch->cooperative,
        .service = launch->service,
        .seed = emulator->seed ? emulator->seed + emulator->launches++ * UINT64_C(0x9e3779b9) : 0,
        .arguments = job->arguments,
    };
    memcpy(job->arguments, launch->arguments, launch->arguments_size);
    if (!machine_reserve(&job->machine, machine_window(&job->launch), launch->threads))
        return fail_memory(error);
    return GORDIAN_OK;
}

/* A failed kernel fails the device, as on a real one. */
static void run_job(struct emulator *emulator, struct job *job)
{
    machine_run(&job->machine, &job->launch);
    if (job->machine.failure != GORDIAN_OK)
        gpu_fail(&emulator->gpu, job->machine.failure, NULL, "%s", job->machine.message);
}

static void *service_main(void *argument)
{
    struct emulator *emulator = argument;
    run_job(emulator, &emulator->service);
    atomic_store(&emulator->ended, true);
    return NULL;
}

/* The caller holds service_lock. */
static void join_service(struct emulator *emulator)
{
    if (emulator->started)
        pthread_join(emulator->thread, NULL);
    emulator->started = false;
    while (emulator->late) {
        struct piece *piece = emulator->late;
        emulator->late = piece->next;
        free_piece(emulator, piece);
    }
    emulator->late_end = &emulator->late;
}

static gordian_status start_service(struct emulator *emulator, const struct gpu_kernel *kernel,
                                    const struct gpu_launch *launch, gordian_error *error)
{
    pthread_mutex_lock(&emulator->service_lock);
    join_service(emulator);
    gordian_status status = prepare_job(emulator, &emulator->service, kernel, launch, error);
    if (status == GORDIAN_OK) {
        atomic_store(&emulator->ended, false);
        int failure = pthread_create(&emulator->thread, NULL, service_main, emulator);
        emulator->started = failure == 0;
        if (failure) {
            atomic_store(&emulator->ended, true);
            status = fail(error, GORDIAN_STATUS_MEMORY, "no thread for the service: %s",
                          strerror(failure));
        }
    }
    pthread_mutex_unlock(&emulator->service_lock);
    return status;
}

static gordian_status emulator_launch(struct gpu *gpu, struct gpu_loaded *loaded,
                                      const struct gpu_launch *launch, gordian_error *error)
{
    struct emulator *emulator = emulator_of(gpu);
    if (launch->service)
        return start_service(emulator, loaded->kernel, launch, error);
    pthread_mutex_lock(&emulator->lock);
    gordian_status status = prepare_job(emulator, &emulator->job, loaded->kernel, launch, error);
    if (status == GORDIAN_OK)
        run_job(emulator, &emulator->job);
    pthread_mutex_unlock(&emulator->lock);
    return status;
}

static gordian_status emulator_wait(struct gpu *gpu, bool service, gordian_error *error)
{
    struct emulator *emulator = emulator_of(gpu);
    if (!service) /* launches have finished already */
        return GORDIAN_OK;
    pthread_mutex_lock(&emulator->service_lock);
    join_service(emulator);
    pthread_mutex_unlock(&emulator->service_lock);
    return gpu_failed(gpu) ? gpu_fail_again(gpu, error) : GORDIAN_OK;
}

static bool emulator_service_ended(struct gpu *gpu)
{
    return atomic_load(&emulator_of(gpu)->ended);
}

static gordian_status emulator_resident_blocks(struct gpu *gpu, struct gpu_loaded *kernel,
                                               unsigned threads, size_t shared, unsigned *blocks,
                                               gordian_error *error)
{
    (void)gpu, (void)kernel, (void)error;
    *blocks = emulated_resident(threads, shared);
    return GORDIAN_OK;
}

/* ---- opening and closing */

static void emulator_close(struct gpu *gpu)
{
    struct emulator *emulator = emulator_of(gpu);
    atomic_store(&emulator->service.machine.stop, true);
    join_service(emulator);
    gordian_allocator memory = gpu->memory;
    struct job *jobs[] = {&emulator->job, &emulator->service};
    for (unsigned i = 0; i < 2; i++) {
        machine_free(&jobs[i]->machine);
        memory_free(&memory, jobs[i]->arguments);
    }
    memory_free(&memory, gpu->loaded);
    pthread_mutex_destroy(&emulator->lock);
    pthread_mutex_destroy(&emulator->service_lock);
    memory_free(&memory, emulator);
}

static const struct gpu_operations emulator_operations = {
    .close = emulator_close,
    .memory_free = emulator_memory_free,
    .alloc = emulator_alloc,
    .map = emulator_map,
    .release = emulator_release,
    .fill = emulator_fill,
    .copy = emulator_copy,
    .reserve = emulator_reserve,
    .back = emulator_back,
    .launch = emulator_launch,
    .wait = emulator_wait,
    .service_ended = emulator_service_ended,
    .resident_blocks = emulator_resident_blocks,
};

#ifdef __has_feature
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif

/* The thread sanitizer leaves few contiguous addresses for ranges as large as the memory. */
#if defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define MEMORY_MOST (UINT64_C(2) << 30)
#else
#define MEMORY_MOST UINT64_MAX
#endif

gordian_status gpu_open_emulator(struct gpu **out, const gordian_allocator *memory,
                                 gordian_error *error)
{
    *out = NULL;
    gordian_allocator from = memory_allocator(memory);
    struct emulator *emulator = memory_zeroed(&from, sizeof *emulator);
    if (!emulator)
        return fail_memory(error);
    gpu_init(&emulator->gpu, &emulator_operations, memory);
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t most = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_C(1) << 32;
    emulator->gpu.info = (struct gpu_info){
        .name = "emulator",
        .emulated = true,
        .multiprocessors = EMULATED_MULTIPROCESSORS,
        .shared_most = EMULATED_SHARED,
        .memory = most < MEMORY_MOST ? most : MEMORY_MOST,
    };
    emulator->gpu.granularity = GRANULARITY;
    emulator->late_end = &emulator->late;
    const char *seed = getenv("GORDIAN_EMULATOR_SEED");
    emulator->seed = seed ? strtoull(seed, NULL, 10) : 0;
    const char *bytes = getenv("GORDIAN_EMULATOR_MEMORY");
    if (bytes && *bytes)
        emulator->gpu.info.memory = strtoull(bytes, NULL, 10);
    pthread_mutex_init(&emulator->lock, NULL);
    pthread_mutex_init(&emulator->service_lock, NULL);
    atomic_init(&emulator->ended, true);
    machine_init(&emulator->job.machine, &from);
    /* A resident kernel runs on a thread of its own, and the caller's allocator may not be
     * thread-safe. */
    const gordian_allocator own = memory_allocator(NULL);
    machine_init(&emulator->service.machine, &own);
    emulator->job.arguments = memory_alloc(&from, GPU_ARGUMENTS_MOST);
    emulator->service.arguments = memory_alloc(&from, GPU_ARGUMENTS_MOST);
    gordian_status status = emulator->job.arguments && emulator->service.arguments
                                ? gpu_add_kernels(&emulator->gpu, &gpu_library_kernels, error)
                                : fail_memory(error);
    if (status == GORDIAN_OK)
        *out = &emulator->gpu;
    else
        emulator_close(&emulator->gpu);
    return status;
}

void gpu_emulator_seed(struct gpu *gpu, uint64_t seed)
{
    if (gpu->info.emulated)
        emulator_of(gpu)->seed = seed;
}

void gpu_emulator_memory(struct gpu *gpu, uint64_t bytes)
{
    if (gpu->info.emulated)
        gpu->info.memory = bytes;
}

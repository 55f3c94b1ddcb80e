/* A resident service kernel, controlled from the host (service.h). */
#include "foundation/gpu/service.h"

#include "foundation/base/clock.h"

#include <sched.h>
#include <string.h>
#include <time.h>

/* Polls before anything else is checked. */
#define SPINS_HOT 20000u
/* Kernels take milliseconds on the emulator for what takes a device microseconds, on the same
 * processors that poll. After this many polls the host sleeps in between. */
#define SPINS_EMULATED 1000u
#define NAP_NS         50000
/* A kernel that does not answer for this long counts as dead. The longest command, a rebuild of the
 * largest matrices, takes much less than a second. */
#define SILENCE_NS         UINT64_C(20000000000)
#define SILENCE_NS_SLOWEST UINT64_C(600000000000) /* for the emulator under sanitizers */
/* Time that a failed kernel gets to end. */
#define STOP_NS UINT64_C(2000000000)

/* Bytes of a kernel's arguments. */
#define ARGUMENTS_MOST 512

struct service {
    gordian_allocator memory;
    struct gpu *gpu;
    struct service_ring *ring;
    gpu_address ring_there, grid_there;
    struct gpu_launch launch; /* the last launch, and its arguments */
    uint64_t arguments[ARGUMENTS_MOST / sizeof(uint64_t)];
    gordian_status (*before_start)(void *context, gordian_error *error); /* or NULL */
    void *before_start_context;
    uint64_t posted;     /* commands so far; their numbers start at 1 */
    uint64_t kernel_end; /* for tests: the command at which the kernel ends; 0: none */
    uint64_t trap_at;    /* for tests: the command at which it fails; UINT64_MAX: none */
    bool running, touched, emulated;
    bool failed;
    gordian_error reason;
};

/* ------------------------------------------------------------------ opening */

gordian_status service_open(struct service **out, struct gpu *gpu, const gordian_allocator *memory,
                            gordian_error *error)
{
    *out = NULL;
    struct service *service = memory_zeroed(memory, sizeof *service);
    if (!service)
        return fail_memory(error);
    struct gpu_info info;
    gpu_get_info(gpu, &info);
    service->memory = *memory;
    service->gpu = gpu;
    service->emulated = info.emulated;
    service->trap_at = gpu_fail_after_wanted();
    void *ring = NULL;
    gordian_status status = gpu_map(gpu, &ring, &service->ring_there, sizeof *service->ring, error);
    service->ring = ring;
    THEN(status, gpu_alloc(gpu, &service->grid_there, sizeof(struct service_grid), error));
    if (status != GORDIAN_OK) {
        service_close(service);
        return status;
    }
    *out = service;
    return GORDIAN_OK;
}

void service_close(struct service *service)
{
    if (!service)
        return;
    service_stop(service, NULL);
    if (service->grid_there)
        gpu_free(service->gpu, service->grid_there);
    if (service->ring)
        gpu_unmap(service->gpu, service->ring);
    gordian_allocator memory = service->memory;
    memory_free(&memory, service);
}

/* ------------------------------------------------------------------ failure */

static bool fail_service(struct service *service, const char *what)
{
    if (service->failed)
        return false;
    service->failed = true;
    gordian_error more = {0};
    if (service->running && gpu_service_ended(service->gpu)) {
        gpu_wait_service(service->gpu, &more);
        service->running = false;
    } else if (gpu_failed(service->gpu)) {
        gpu_wait(service->gpu, &more); /* gets the reason, without waiting */
    }
    fail(&service->reason, GORDIAN_STATUS_IO, "%s%s%s", what, more.status ? ": " : "",
         more.message);
    return false;
}

const char *service_reason(const struct service *service)
{
    return service->failed ? service->reason.message : NULL;
}

/* ------------------------------------------------------------------ leaving and restarting */

static bool has_left(const struct service *service)
{
    return __atomic_load_n(&service->ring->left, __ATOMIC_ACQUIRE) != 0;
}

static gordian_status launch_kernel(struct service *service, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    if (service->before_start)
        status = service->before_start(service->before_start_context, error);
    THEN(status, gpu_zero(service->gpu, service->grid_there, sizeof(struct service_grid), error));
    if (status == GORDIAN_OK)
        status = gpu_wait(service->gpu, error); /* the service has a stream of its own */
    if (status != GORDIAN_OK)
        return status;
    __atomic_store_n(&service->ring->left, 0, __ATOMIC_RELAXED);
    status = gpu_launch(service->gpu, &service->launch, error);
    service->running = status == GORDIAN_OK;
    return status;
}

/* The kernel has left: starts another one that continues where it stopped. */
static bool restart_kernel(struct service *service)
{
    gordian_error error = {0};
    struct service_arguments *arguments = (struct service_arguments *)service->arguments;
    gordian_status status = gpu_wait_service(service->gpu, &error);
    service->running = false;
    arguments->taken = __atomic_load_n(&service->ring->taken, __ATOMIC_ACQUIRE);
    THEN(status, launch_kernel(service, &error));
    if (status == GORDIAN_OK)
        return true;
    service->failed = true;
    fail(&service->reason, GORDIAN_STATUS_IO, "the resident kernel cannot be started again: %s",
         error.message);
    return false;
}

/* ------------------------------------------------------------------ waiting */

static inline void relax_cpu(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

/* A wait for the kernel: its start, and the number of polls. */
struct polling {
    uint64_t since;
    uint32_t polls;
};

static void yield_cpu(const struct service *service, const struct polling *polling)
{
    static const struct timespec nap = {.tv_nsec = NAP_NS};
    if (service->emulated && polling->polls > SPINS_EMULATED)
        nanosleep(&nap, NULL);
    else
        sched_yield();
}

/* After an unsuccessful poll: returns whether to poll again. The clock and the driver are queried
 * rarely, because an answer takes microseconds. */
static bool poll_again(struct service *service, struct polling *polling)
{
    bool hot = polling->polls < SPINS_HOT && !service->emulated;
    polling->polls++;
    if (has_left(service))
        return restart_kernel(service);
    if (hot) {
        relax_cpu();
        return true;
    }
    yield_cpu(service, polling);
    if (polling->polls % 64)
        return true;
    if (gpu_failed(service->gpu) || gpu_service_ended(service->gpu))
        return has_left(service) || fail_service(service, "the resident kernel has ended");
    uint64_t now = clock_ns();
    uint64_t silence = service->emulated ? SILENCE_NS_SLOWEST : SILENCE_NS;
    if (!polling->since)
        polling->since = now;
    if (now - polling->since > silence)
        return fail_service(service, "the resident kernel does not answer");
    return true;
}

static bool wait_for_room(struct service *service)
{
    struct polling polling = {0};
    while (service->posted - __atomic_load_n(&service->ring->taken, __ATOMIC_ACQUIRE) >=
           SERVICE_SLOTS)
        if (!poll_again(service, &polling))
            return false;
    return true;
}

static bool wait_for_answer(struct service *service, uint64_t number, uint32_t *answer)
{
    const uint64_t *place = &service->ring->answers[number % SERVICE_SLOTS];
    struct polling polling = {0};
    uint64_t word;
    while ((uint32_t)((word = __atomic_load_n(place, __ATOMIC_ACQUIRE)) >> 32) != (uint32_t)number)
        if (!poll_again(service, &polling)) {
            word = __atomic_load_n(place, __ATOMIC_ACQUIRE);
            if ((uint32_t)(word >> 32) != (uint32_t)number)
                return false;
            break; /* it answered before it ended */
        }
    *answer = (uint32_t)word;
    return true;
}

/* ------------------------------------------------------------------ commands */

static void write_command(struct service *service, uint32_t operation, uint32_t a, uint32_t b,
                          uint32_t c)
{
    uint32_t number = (uint32_t)++service->posted;
    uint64_t *words = service->ring->commands[service->posted % SERVICE_SLOTS];
    __atomic_store_n(&words[3], SERVICE_WORD(number, c), __ATOMIC_RELAXED);
    __atomic_store_n(&words[2], SERVICE_WORD(number, b), __ATOMIC_RELAXED);
    __atomic_store_n(&words[1], SERVICE_WORD(number, a), __ATOMIC_RELAXED);
    __atomic_store_n(&words[0], SERVICE_WORD(number, operation), __ATOMIC_RELEASE);
}

bool service_post(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c)
{
    if (service->failed)
        return false;
    if (!service->running)
        return fail_service(service, "there is no resident kernel");
    if (has_left(service) && !restart_kernel(service))
        return false;
    if (service->posted - __atomic_load_n(&service->ring->taken, __ATOMIC_RELAXED) >=
            SERVICE_SLOTS &&
        !wait_for_room(service))
        return false;
    if (service->kernel_end && service->posted >= service->kernel_end)
        operation = SERVICE_STOP;
    if (service->posted >= service->trap_at)
        operation = SERVICE_TRAP;
    write_command(service, operation, a, b, c);
    service->touched = true;
    return true;
}

bool service_ask(struct service *service, uint32_t operation, uint32_t a, uint32_t b, uint32_t c,
                 uint32_t *answer)
{
    return service_post(service, operation, a, b, c) &&
           wait_for_answer(service, service->posted, answer);
}

bool service_touched(struct service *service)
{
    bool touched = service->touched;
    service->touched = false;
    return touched;
}

void service_fail_after(struct service *service, uint64_t commands)
{
    service->kernel_end = service->posted + commands;
    if (!service->kernel_end) /* 0 means never */
        service->kernel_end = 1;
}

/* ------------------------------------------------------------------ starting and stopping */

void service_before_start(struct service *service,
                          gordian_status (*hook)(void *context, gordian_error *error),
                          void *context)
{
    service->before_start = hook;
    service->before_start_context = context;
}

struct service_arguments service_arguments(const struct service *service)
{
    return (struct service_arguments){
        .ring = service->ring_there, .grid = service->grid_there, .taken = service->posted};
}

gordian_status service_start(struct service *service, struct gpu_launch launch,
                             gordian_error *error)
{
    if (service->failed)
        return fail(error, GORDIAN_STATUS_IO, "%s", service->reason.message);
    if (launch.arguments_size > ARGUMENTS_MOST)
        return fail(error, GORDIAN_STATUS_INPUT, "%zu bytes of arguments are too many",
                    launch.arguments_size);
    memcpy(service->arguments, launch.arguments, launch.arguments_size);
    service->launch = launch;
    service->launch.arguments = service->arguments;
    service->launch.service = true;
    service->launch.cooperative = true;
    __atomic_store_n(&service->ring->taken, service->posted, __ATOMIC_RELAXED);
    return launch_kernel(service, error);
}

gordian_status service_stop(struct service *service, gordian_error *error)
{
    gordian_status status = GORDIAN_OK;
    /* It has left, with everything done. */
    if (service->running && !service->failed && has_left(service) &&
        __atomic_load_n(&service->ring->taken, __ATOMIC_ACQUIRE) == service->posted) {
        status = gpu_wait_service(service->gpu, error);
        service->running = false;
        return status;
    }
    if (service->running && !service->failed && service_post(service, SERVICE_STOP, 0, 0, 0)) {
        do { /* a kernel that has left did not read the command */
            status = gpu_wait_service(service->gpu, error);
        } while (status == GORDIAN_OK && has_left(service) && restart_kernel(service));
        service->running = false;
    }
    if (service->running) {
        /* Stop a kernel that has failed but may still run and read commands. If it does not, the
         * driver ends it with the process. */
        uint64_t until = clock_ns() + STOP_NS;
        write_command(service, SERVICE_STOP, 0, 0, 0);
        while (!gpu_failed(service->gpu) && !gpu_service_ended(service->gpu) && clock_ns() < until)
            sched_yield();
        service->running = false;
    }
    return service->failed ? fail(error, GORDIAN_STATUS_IO, "%s", service->reason.message) : status;
}

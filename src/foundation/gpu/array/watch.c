/* The watch: a host thread that grows a flat array while kernels push into it. */
#include "foundation/gpu/array/array_internal.h"
#include "foundation/gpu/device.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>

struct array_watch {
    struct garray_desk *desk; /* host address */
    gpu_address desk_there;
    uint64_t ahead;
    bool wanted;  /* between gpu_array_watch and gpu_array_unwatch */
    bool running; /* the thread exists */
    pthread_t thread;
    atomic_bool awake; /* set by the thread */
    atomic_bool stop;
};

/* Maps memory for at least `target` elements, and half more than there is if possible. Returns
 * false if there is none. */
static bool grow_ahead(struct gpu_array *array, uint64_t target)
{
    uint64_t more = array->capacity + array->capacity / 2;
    more = more < array->most ? more : array->most;
    more = more > target ? more : target;
    if (gpu_range_grow(array->range, more * array->element, NULL) != GORDIAN_OK) {
        more = target;
        if (gpu_range_grow(array->range, more * array->element, NULL) != GORDIAN_OK)
            return false;
    }
    array->capacity = more;
    __atomic_store_n(&array->watch->desk->granted, more, __ATOMIC_RELEASE);
    return true;
}

/* Without memory the thread ends; the kernels notice at the limit. */
static void *watch_main(void *argument)
{
    struct gpu_array *array = argument;
    struct array_watch *watch = array->watch;
    atomic_store(&watch->awake, true);
    while (!atomic_load_explicit(&watch->stop, memory_order_relaxed)) {
        uint64_t wanted = __atomic_load_n(&watch->desk->wanted, __ATOMIC_ACQUIRE);
        uint64_t room = array->most - (wanted < array->most ? wanted : array->most);
        uint64_t target = array->most - room + (watch->ahead < room ? watch->ahead : room);
        if (target <= array->capacity)
            sched_yield();
        else if (!grow_ahead(array, target))
            break;
    }
    return NULL;
}

/* ---- starting and stopping */

static bool watch_runs(const struct gpu_array *array)
{
    return array->watch && array->watch->wanted;
}

gpu_address watch_desk(const struct gpu_array *array)
{
    return watch_runs(array) ? array->watch->desk_there : 0;
}

void watch_pause(struct gpu_array *array)
{
    struct array_watch *watch = array->watch;
    if (!watch || !watch->running)
        return;
    atomic_store(&watch->stop, true);
    pthread_join(watch->thread, NULL);
    watch->running = false;
}

gordian_status watch_resume(struct gpu_array *array, gordian_error *error)
{
    struct array_watch *watch = array->watch;
    if (!watch_runs(array) || watch->running)
        return GORDIAN_OK;
    struct array_state state;
    TRY(array_settle(array, &state, error));
    uint64_t room = array->most - state.size;
    TRY(gpu_array_reserve(array, state.size + (watch->ahead < room ? watch->ahead : room), error));
    watch->desk->granted = array->capacity;
    watch->desk->wanted = state.size;
    atomic_store(&watch->stop, false);
    atomic_store(&watch->awake, false);
    int failure = pthread_create(&watch->thread, NULL, watch_main, array);
    if (failure)
        return fail(error, GORDIAN_STATUS_MEMORY, "no thread to watch the array: %s",
                    strerror(failure));
    watch->running = true;
    while (!atomic_load(&watch->awake)) /* a thread may take longer to start than a kernel runs */
        sched_yield();
    return GORDIAN_OK;
}

/* Maps the memory that the host and the kernels share, unless an earlier watch has mapped it. It is
 * kept for later watches. */
static gordian_status open_watch(struct gpu_array *array, gordian_error *error)
{
    const gordian_allocator *memory = &array->gpu->memory;
    if (array->watch)
        return GORDIAN_OK;
    struct array_watch *watch = memory_zeroed(memory, sizeof *watch);
    if (!watch)
        return fail_memory(error);
    void *desk;
    gordian_status status =
        gpu_map(array->gpu, &desk, &watch->desk_there, sizeof(struct garray_desk), error);
    if (status != GORDIAN_OK) {
        memory_free(memory, watch);
        return status;
    }
    watch->desk = desk;
    atomic_init(&watch->awake, false);
    atomic_init(&watch->stop, false);
    array->watch = watch;
    return GORDIAN_OK;
}

gordian_status gpu_array_watch(struct gpu_array *array, uint64_t ahead, gordian_error *error)
{
    if (array->mode != GPU_ARRAY_FLAT)
        return fail(error, GORDIAN_STATUS_INPUT, "only flat arrays can be watched");
    if (watch_runs(array))
        return fail(error, GORDIAN_STATUS_INPUT, "the array is already watched");
    TRY(open_watch(array, error));
    array->watch->ahead = ahead;
    array->watch->wanted = true;
    gordian_status status = watch_resume(array, error);
    if (status != GORDIAN_OK)
        array->watch->wanted = false;
    return status;
}

void gpu_array_unwatch(struct gpu_array *array)
{
    watch_pause(array);
    if (array->watch)
        array->watch->wanted = false;
}

void watch_free(struct gpu_array *array)
{
    if (!array->watch)
        return;
    gpu_array_unwatch(array);
    gpu_unmap(array->gpu, array->watch->desk);
    memory_free(&array->gpu->memory, array->watch);
    array->watch = NULL;
}

/* Opens a device while its snapshot is read: both take a third of a second. */
#include "engines/detect/check/background_device.h"

#include "foundation/base/engine.h"

#include <pthread.h>
#include <string.h>

struct background_device {
    gordian_allocator memory;
    pthread_t thread;
    bool running; /* the thread has not been joined yet */
    struct gpu *gpu;
    gordian_status status;
    gordian_error error;
};

bool background_device_wanted(const char *engine)
{
    return engine && strcmp(engine, "cuda") == 0;
}

bool background_device_pays(const char *engine, uint64_t nodes)
{
    return engine_any(engine) && nodes >= ENGINE_CHECK_FROM;
}

static void *open_in_background(void *context)
{
    struct background_device *ahead = context;
    ahead->status = gpu_open_default(&ahead->gpu, &ahead->memory, &ahead->error);
    return NULL;
}

struct background_device *background_device_begin(void)
{
    gordian_allocator memory =
        memory_allocator(NULL); /* the caller's allocator may not be thread-safe */
    struct background_device *ahead = memory_zeroed(&memory, sizeof *ahead);
    if (!ahead)
        return NULL;
    ahead->memory = memory;
    ahead->running = pthread_create(&ahead->thread, NULL, open_in_background, ahead) == 0;
    if (ahead->running)
        return ahead;
    memory_free(&memory, ahead);
    return NULL;
}

static void wait_for_device(struct background_device *ahead)
{
    if (ahead->running)
        pthread_join(ahead->thread, NULL);
    ahead->running = false;
}

gordian_status background_device_get(struct background_device *ahead, struct gpu **gpu,
                                     gordian_error *error)
{
    wait_for_device(ahead);
    *gpu = ahead->gpu;
    if (ahead->status != GORDIAN_OK && error)
        *error = ahead->error;
    return ahead->status;
}

void background_device_end(struct background_device *ahead)
{
    if (!ahead)
        return;
    gordian_allocator memory = ahead->memory;
    wait_for_device(ahead);
    gpu_close(ahead->gpu);
    memory_free(&memory, ahead);
}

#include "base/meter.h"

#include "base/memory.h"

#include <stddef.h>

union header {
    size_t size;
    max_align_t align;
};

/* With the lock held. */
static void *resize_locked(struct meter *meter, void *pointer, size_t size)
{
    union header *old = pointer ? (union header *)pointer - 1 : NULL;
    size_t had = old ? old->size : 0, wanted = size ? size + sizeof *old : 0;
    if (size > SIZE_MAX - sizeof *old)
        return NULL;
    if (wanted > had && meter->limit && meter->now + (wanted - had) > meter->limit) {
        meter->refused = true;
        return NULL;
    }
    union header *fresh = meter->behind.resize(meter->behind.context, old, wanted);
    if (!fresh && wanted)
        return NULL;
    meter->now += wanted - had; /* modulo 2^64: right also when it shrinks */
    if (meter->now > meter->most)
        meter->most = meter->now;
    if (!fresh)
        return NULL;
    fresh->size = wanted;
    return fresh + 1;
}

static void *meter_resize(void *context, void *pointer, size_t size)
{
    struct meter *meter = context;
    pthread_mutex_lock(&meter->lock);
    void *fresh = resize_locked(meter, pointer, size);
    pthread_mutex_unlock(&meter->lock);
    return fresh;
}

void meter_open(struct meter *meter, const gordian_allocator *behind, uint64_t limit)
{
    *meter = (struct meter){.behind = memory_allocator(behind), .limit = limit};
    meter->memory = (gordian_allocator){meter_resize, meter};
    pthread_mutex_init(&meter->lock, NULL);
}

void meter_close(struct meter *meter)
{
    pthread_mutex_destroy(&meter->lock);
}

uint64_t meter_now(struct meter *meter)
{
    pthread_mutex_lock(&meter->lock);
    uint64_t now = meter->now;
    pthread_mutex_unlock(&meter->lock);
    return now;
}

#include "foundation/base/meter.h"

#include "foundation/base/memory.h"

#include <stddef.h>

union header {
    size_t size;
    max_align_t align;
};

static bool count_bytes(struct meter *meter, size_t had, size_t wanted)
{
    if (wanted > had && meter->limit && meter->now + (wanted - had) > meter->limit) {
        meter->refused = true;
        return false;
    }
    meter->now += wanted - had; /* modulo 2^64: also correct when it shrinks */
    if (meter->now > meter->most)
        meter->most = meter->now;
    return true;
}

/* Count first, so that another thread cannot use the same memory. Hold the lock during the
 * allocation only if the allocator behind is not thread-safe: it may copy large blocks. */
static void *meter_resize(void *context, void *pointer, size_t size)
{
    struct meter *meter = context;
    union header *old = pointer ? (union header *)pointer - 1 : NULL, *fresh = NULL;
    size_t had = old ? old->size : 0, wanted = size ? size + sizeof *old : 0;
    if (size > SIZE_MAX - sizeof *old)
        return NULL;
    pthread_mutex_lock(&meter->lock);
    bool fits = count_bytes(meter, had, wanted);
    if (fits && !meter->at_once)
        fresh = meter->behind.resize(meter->behind.context, old, wanted);
    pthread_mutex_unlock(&meter->lock);
    if (fits && meter->at_once)
        fresh = meter->behind.resize(meter->behind.context, old, wanted);
    if (fits && wanted && !fresh) {
        pthread_mutex_lock(&meter->lock);
        meter->now -= wanted - had;
        pthread_mutex_unlock(&meter->lock);
    }
    if (!fresh)
        return NULL;
    fresh->size = wanted;
    return fresh + 1;
}

void meter_open(struct meter *meter, const gordian_allocator *behind, uint64_t limit)
{
    *meter = (struct meter){.behind = memory_allocator(behind), .limit = limit, .at_once = !behind};
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

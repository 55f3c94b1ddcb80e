#include "sources/inspect/snapshot/registers.h"

#include <string.h>

void registers_recall(const struct register_cache *cache, struct snapshot_thread *thread)
{
    struct target_thread *is = &thread->is;
    for (size_t i = 0; i < cache->count && thread->sleeps; i++) {
        const struct target_thread *stopped = &cache->list[i].is;
        if (cache->list[i].process != thread->process || !target_same_place(stopped, is))
            continue;
        is->register_mask = stopped->register_mask;
        memcpy(is->registers, stopped->registers, sizeof is->registers);
        thread->stack.stopped = true;
    }
}

bool registers_fetch(struct register_cache *cache, const gordian_allocator *memory,
                     struct target *target, const struct snapshot_thread *thread, unsigned stop_ms)
{
    struct target_thread now = thread->is;
    if (!target_registers(target, &now, stop_ms, NULL) ||
        !memory_extend(memory, cache->list, cache->capacity, cache->count))
        return false;
    struct snapshot_thread *stopped = &cache->list[cache->count++];
    *stopped = *thread;
    stopped->is.register_mask = now.register_mask;
    memcpy(stopped->is.registers, now.registers, sizeof now.registers);
    return true;
}

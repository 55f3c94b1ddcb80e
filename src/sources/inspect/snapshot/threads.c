#include "sources/inspect/snapshot/threads.h"

struct snapshot_thread *threads_add(struct snapshot_threads *threads,
                                    const gordian_allocator *memory, uint32_t process,
                                    const struct target_thread *is)
{
    if (!memory_extend(memory, threads->list, threads->capacity, threads->count))
        return NULL;
    struct snapshot_thread *thread = &threads->list[threads->count++];
    *thread = (struct snapshot_thread){.process = process, .is = *is, .wait = SNAPSHOT_NONE};
    return thread;
}

void threads_clear(struct snapshot_threads *threads, const gordian_allocator *memory)
{
    for (size_t i = 0; i < threads->count; i++)
        memory_free(memory, threads->list[i].stack.frames);
    threads->count = 0;
}

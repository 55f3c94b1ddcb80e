/* A cache of registers that required a stop. They are valid while the thread sleeps in the same
 * call. */
#pragma once

#include "sources/inspect/snapshot/threads.h"

struct register_cache {
    struct snapshot_thread *list;
    size_t count, capacity;
};

/* Restores the registers of a thread that sleeps in the same call as when it was stopped. */
void registers_recall(const struct register_cache *cache, struct snapshot_thread *thread);
/* Stops a thread for its registers, and remembers them. False: it could not be stopped. */
bool registers_fetch(struct register_cache *cache, const gordian_allocator *memory,
                     struct target *target, const struct snapshot_thread *thread, unsigned stop_ms);

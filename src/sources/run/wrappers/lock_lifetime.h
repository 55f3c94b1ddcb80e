/* Updates the registry, the holds of a thread and the lock orders when locks are initialized,
 * destroyed, or released by threads that do not hold them. */
#pragma once

#include "sources/run/locks/lock_registry.h"

/* The lock is initialized (again): earlier knowledge of that address is discarded. */
void lock_born(const void *lock, uint32_t kind, uint32_t units, uint32_t flags, struct site site);
/* The memory from `lock` on contains no locks any more. */
void lock_gone(const void *lock, size_t size);
/* The thread releases a lock that it does not hold: the lock is not judged by holds any more. */
void lock_stray(struct thread *t, uintptr_t lock);

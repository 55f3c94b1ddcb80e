/* Locks that come and go, and those that are given back by threads that do not have them: what the
 * registry of locks, the holds of a thread and the lock orders learn of it. */
#pragma once

#include "sources/run/locks/lock_registry.h"

/* The lock comes into being (again): whatever was known of that address is forgotten. */
void lock_born(const void *lock, uint32_t kind, uint32_t units, uint32_t flags, struct site site);
/* The memory from `lock` on is no lock any more. */
void lock_gone(const void *lock, size_t size);
/* The thread gives back what it does not hold: noted, so that the lock is never judged by holds. */
void lock_stray(struct thread *t, uintptr_t lock);

#include "sources/run/wrappers/lock_lifetime.h"

#include "sources/run/locks/lock_order.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/guard.h"
#include "sources/run/threads/held_locks.h"

void lock_born(const void *lock, uint32_t kind, uint32_t units, uint32_t flags, struct site site)
{
    struct thread *t = thread_enter();
    uintptr_t address = (uintptr_t)lock;
    struct shield shield;
    if (!t)
        return;
    work_begin(t, &shield);
    uint32_t i =
        held_find(t, address); /* initialized while held: some programs do this after a fork */
    if (i != UINT32_MAX)
        held_drop(t, i);
    locks_enter(t, address, kind, units, flags, site);
    order_forget(address, 1);
    work_end(t, &shield);
}

void lock_gone(const void *lock, size_t size)
{
    struct thread *t = thread_enter();
    struct shield shield;
    if (!t)
        return;
    work_begin(t, &shield);
    locks_remove((uintptr_t)lock, size);
    order_forget((uintptr_t)lock, size);
    work_end(t, &shield);
}

void lock_stray(struct thread *t, uintptr_t lock)
{
    struct shield shield;
    work_begin(t, &shield);
    atomic_store_explicit(&watch.strays, true, memory_order_relaxed);
    if (!(lock_flags(lock) & LOCK_STRAY)) {
        lock_mark(lock, INCIDENT_MUTEX, LOCK_STRAY);
        order_forget(lock, 1);
    }
    work_end(t, &shield);
}

#include "sources/run/graph/lock_copy.h"

#include "sources/run/graph/owner.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>

/* The kernel reads the set before it checks the invalid request. */
static bool is_readable(uintptr_t address)
{
    return sys_call(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) == 0 ||
           errno != EFAULT;
}

/* Derives the state of a lock from its holder's record. The lock's memory may be gone. */
static bool copy_from_records(uintptr_t lock, uint32_t kind, union lock_copy *copy)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    memset(copy, 0, sizeof *copy);
    for (uint32_t i = 0; kind == INCIDENT_MUTEX && i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (!thread_is_live(t) || t->ending || !units_of_lock(t, lock, INCIDENT_EXCLUSIVE, NULL))
            continue;
        copy->mutex.__data.__lock = 2;
        copy->mutex.__data.__owner = (int)t->tid;
        return true;
    }
    return false;
}

bool lock_copy(uintptr_t lock, uint32_t kind, union lock_copy *copy)
{
    static const uint8_t sizes[] = {
        [INCIDENT_MUTEX] = sizeof(pthread_mutex_t),
        [INCIDENT_RWLOCK] = sizeof(pthread_rwlock_t),
        [INCIDENT_SPIN] = sizeof(pthread_spinlock_t),
        [INCIDENT_SEMAPHORE] = sizeof(sem_t),
        [INCIDENT_CONDITION] = sizeof(pthread_cond_t),
        [INCIDENT_BARRIER] = sizeof(pthread_barrier_t),
    };
    size_t size = kind < sizeof sizes ? sizes[kind] : 0;
    if (size == 0)
        return false;
    if (unlikely(watch.sandboxed))
        return copy_from_records(lock, kind, copy);
    struct iovec to = {copy, size}, from = {(void *)lock, size};
    long copied = sys_call(SYS_process_vm_readv, watch.pid, &to, 1, &from, 1, 0);
    if (copied >= 0 || errno == EFAULT)
        return copied == (long)size;
    /* Not permitted here (a sandbox): check that it is readable, then read it. */
    if (!is_readable(lock) || !is_readable(lock + size - 1))
        return false;
    memcpy(copy, (const void *)lock, size);
    return true;
}

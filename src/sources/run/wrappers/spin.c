/* pthread_spin_*. A spin lock has no owner: the holds show it. */
#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/handler_acts.h"
#include "sources/run/threads/held_locks.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/lock_lifetime.h"

#include <errno.h>

#define SPINS_BEFORE_LOOK 2000

static inline void pause_briefly(void)
{
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb" ::: "memory");
#endif
}

/* False: still locked. */
static bool spin_some(pthread_spinlock_t *lock)
{
    for (int i = 0; i < SPINS_BEFORE_LOOK; i++) {
        if (real.pthread_spin_trylock(lock) == 0)
            return true;
        pause_briefly();
    }
    return false;
}

/* Spins like libc, and looks for a deadlock from time to time. */
static __attribute__((noinline)) int spin_slow(struct thread *t, pthread_spinlock_t *lock,
                                               struct site site)
{
    if (spin_some(lock))
        return 0;
    struct undo undo;
    WAIT_BEGIN(t, &undo, (void *)lock, INCIDENT_SPIN, INCIDENT_EXCLUSIVE, 0, site);
    enum judgement judgement = JUDGE_AGAIN;
    uint64_t next = 0;
    uint32_t look = 0;
    do {
        atomic_fetch_add_explicit(&t->spun, 1, memory_order_relaxed);
        if (judgement == JUDGE_AGAIN && sys_now() >= next) {
            judgement = judge_wait(t, look++);
            next = sys_now() + LOOK_AGAIN_NS;
        }
    } while (judgement != JUDGE_BREAK && !spin_some(lock));
    WAIT_END(t, &undo);
    return judgement == JUDGE_BREAK ? EDEADLK : 0;
}

WRAPPER(int, pthread_spin_lock, (pthread_spinlock_t * lock))
{
    struct thread *t = thread_enter();
    if (!t)
        return real.pthread_spin_lock(lock);
    struct site site = SITE_HERE;
    int result = real.pthread_spin_trylock(lock) == 0 ? 0 : spin_slow(t, lock, site);
    if (result == 0)
        hold_lock(t, (void *)lock, INCIDENT_SPIN, INCIDENT_EXCLUSIVE, site);
    return result;
}
EXPORT2(pthread_spin_lock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_spin_trylock, (pthread_spinlock_t * lock))
{
    struct thread *t = thread_enter();
    int result = real.pthread_spin_trylock(lock);
    if (t && result == 0)
        hold_as(t, (void *)lock, INCIDENT_SPIN, INCIDENT_EXCLUSIVE, INCIDENT_TRIED, SITE_HERE);
    return result;
}
EXPORT2(pthread_spin_trylock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_spin_unlock, (pthread_spinlock_t * lock))
{
    struct thread *t = thread_enter();
    if (unlikely(!t))
        unlock_passes();
    else if (!unhold_lock(t, (void *)lock))
        lock_stray(t, (uintptr_t)lock);
    return real.pthread_spin_unlock(lock);
}
EXPORT2(pthread_spin_unlock, V_2_34, V_OLDEST);

WRAPPER(int, pthread_spin_init, (pthread_spinlock_t * lock, int shared))
{
    lock_born((void *)lock, INCIDENT_SPIN, 0, shared ? LOCK_SHARED : 0, SITE_HERE);
    return real.pthread_spin_init(lock, shared);
}
EXPORT2(pthread_spin_init, V_2_34, V_OLDEST);

WRAPPER(int, pthread_spin_destroy, (pthread_spinlock_t * lock))
{
    lock_gone((void *)lock, 1);
    return real.pthread_spin_destroy(lock);
}
EXPORT2(pthread_spin_destroy, V_2_34, V_OLDEST);

/* pthread_barrier_*. */
#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/lock_lifetime.h"

WRAPPER(int, pthread_barrier_wait, (pthread_barrier_t * barrier))
{
    struct thread *t = thread_enter();
    if (!t)
        return real.pthread_barrier_wait(barrier);
    struct site site = SITE_HERE;
    struct undo undo;
    WAIT_BEGIN(t, &undo, barrier, INCIDENT_BARRIER, INCIDENT_ARRIVAL, 0, site);
    judge_wait(t, 0);
    int result = real.pthread_barrier_wait(barrier);
    WAIT_END(t, &undo);
    return result;
}
EXPORT2(pthread_barrier_wait, V_2_34, V_OLDEST);

WRAPPER(int, pthread_barrier_init,
        (pthread_barrier_t * barrier, const pthread_barrierattr_t *attributes, unsigned count))
{
    int shared = 0;
    if (attributes)
        pthread_barrierattr_getpshared(attributes, &shared);
    lock_born(barrier, INCIDENT_BARRIER, count, shared ? LOCK_SHARED : 0, SITE_HERE);
    return real.pthread_barrier_init(barrier, attributes, count);
}
EXPORT2(pthread_barrier_init, V_2_34, V_OLDEST);

WRAPPER(int, pthread_barrier_destroy, (pthread_barrier_t * barrier))
{
    lock_gone(barrier, 1);
    return real.pthread_barrier_destroy(barrier);
}
EXPORT2(pthread_barrier_destroy, V_2_34, V_OLDEST);

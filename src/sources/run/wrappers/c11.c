/* mtx_ and cnd_: libc's functions call its mutexes and conditions directly, not through the names
 * of pthread_. A mtx_t is a pthread_mutex_t, a cnd_t a pthread_cond_t; only the results differ. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/start/enter.h"
#include "sources/run/wrappers/condition.h"
#include "sources/run/wrappers/lock_lifetime.h"
#include "sources/run/wrappers/mutex.h"

static int c11_result(int result)
{
    switch (result) {
    case 0:
        return thrd_success;
    case ENOMEM:
        return thrd_nomem;
    case ETIMEDOUT:
        return thrd_timedout;
    case EBUSY:
        return thrd_busy;
    default:
        return thrd_error;
    }
}

WRAPPER(int, mtx_lock, (mtx_t * mtx))
{
    pthread_mutex_t *mutex = (pthread_mutex_t *)mtx;
    struct lock_rest rest =
        mutex_lock_quick(mutex, THROUGH_C11, watch.sites, site_of_caller(SITE_HERE), false);
    return likely(rest.what == LOCK_DONE)
               ? thrd_success
               : c11_result(mutex_lock_rest(mutex, rest, THROUGH_C11, SITE_HERE));
}
EXPORT2(mtx_lock, V_2_34, V_2_28);

WRAPPER(int, mtx_unlock, (mtx_t * mtx))
{
    return c11_result(mutex_unlock_as((pthread_mutex_t *)mtx));
}
EXPORT2(mtx_unlock, V_2_34, V_2_28);

WRAPPER(int, mtx_trylock, (mtx_t * mtx))
{
    return c11_result(mutex_trylock_as((pthread_mutex_t *)mtx, SITE_HERE, THROUGH_C11));
}
EXPORT2(mtx_trylock, V_2_34, V_2_28);

WRAPPER(int, mtx_timedlock, (mtx_t *restrict mtx, const struct timespec *restrict until))
{
    return c11_result(
        mutex_lock_until((pthread_mutex_t *)mtx, CLOCK_REALTIME, until, SITE_HERE, THROUGH_C11));
}
EXPORT2(mtx_timedlock, V_2_34, V_2_28);

WRAPPER(int, mtx_init, (mtx_t * mtx, int type))
{
    lock_born(mtx, INCIDENT_MUTEX, 0, 0, SITE_HERE);
    return real.mtx_init(mtx, type);
}
EXPORT2(mtx_init, V_2_34, V_2_28);

WRAPPER(void, mtx_destroy, (mtx_t * mtx))
{
    lock_gone(mtx, 1);
    real.mtx_destroy(mtx);
}
EXPORT2(mtx_destroy, V_2_34, V_2_28);

static int wait_c11(const struct condition_wait *call)
{
    return call->until ? real.cnd_timedwait(call->condition, call->mutex, call->until)
                       : real.cnd_wait(call->condition, call->mutex);
}

WRAPPER(int, cnd_wait, (cnd_t * condition, mtx_t *mutex))
{
    struct condition_wait call = {
        .wait = wait_c11, .condition = condition, .mutex = mutex, .through = THROUGH_C11};
    return condition_wait(&call, SITE_HERE);
}
EXPORT2(cnd_wait, V_2_34, V_2_28);

WRAPPER(int, cnd_timedwait,
        (cnd_t *restrict condition, mtx_t *restrict mutex, const struct timespec *restrict until))
{
    struct condition_wait call = {.wait = wait_c11,
                                  .condition = condition,
                                  .mutex = mutex,
                                  .until = until,
                                  .through = THROUGH_C11};
    return condition_wait(&call, SITE_HERE);
}
EXPORT2(cnd_timedwait, V_2_34, V_2_28);

WRAPPER(int, cnd_signal, (cnd_t * condition))
{
    condition_signalled(condition);
    return real.cnd_signal(condition);
}
EXPORT2(cnd_signal, V_2_34, V_2_28);

WRAPPER(int, cnd_broadcast, (cnd_t * condition))
{
    condition_signalled(condition);
    return real.cnd_broadcast(condition);
}
EXPORT2(cnd_broadcast, V_2_34, V_2_28);

WRAPPER(int, cnd_init, (cnd_t * condition))
{
    lock_born(condition, INCIDENT_CONDITION, 0, 0, SITE_HERE);
    return real.cnd_init(condition);
}
EXPORT2(cnd_init, V_2_34, V_2_28);

WRAPPER(void, cnd_destroy, (cnd_t * condition))
{
    lock_gone(condition, 1);
    real.cnd_destroy(condition);
}
EXPORT2(cnd_destroy, V_2_34, V_2_28);

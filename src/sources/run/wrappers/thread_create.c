/* pthread_create, and joins. */
#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/locks/lock_order.h"
#include "sources/run/start/enter.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/observed_wait.h"
#include "sources/run/threads/thread_table.h"
#include "sources/run/threads/wait.h"
#include "sources/run/wrappers/thread_exit.h"

#include <sched.h>
#include <stdarg.h>
#include <string.h>

static void stack_from(struct thread *t, uintptr_t top)
{
    uintptr_t size = t->stack_low; /* stored by the creator */
    t->stack_high = top;
    t->stack_low = top > size ? top - size : 0;
}

static void *start_pthread(void *record)
{
    struct thread *t = record;
    stack_from(t, (uintptr_t)__builtin_frame_address(0));
    table_adopt(t);
    void *value;
    pthread_cleanup_push(thread_leave, t);
    value = t->start(t->argument);
    thread_leave(t); /* repeated if it is cancelled */
    pthread_cleanup_pop(0);
    return value;
}

static int start_c11(void *record)
{
    struct thread *t = record;
    stack_from(t, (uintptr_t)__builtin_frame_address(0));
    table_adopt(t);
    int value;
    pthread_cleanup_push(thread_leave, t);
    value = t->start_c11(t->argument);
    thread_leave(t);
    pthread_cleanup_pop(0);
    return value;
}

/* Returns a record for the thread that `creator` is about to create; NULL: not watched. With a
 * record, the creator defers cancellation until it restores *type. A shield would also block
 * signals in the new thread. */
static struct thread *thread_prepare(struct thread *creator, const pthread_attr_t *attributes,
                                     struct site site, int *type)
{
    pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, type);
    order_frame(creator, site.frame);
    struct shield shield;
    work_begin(creator, &shield);
    struct thread *t = table_reserve();
    if (t) {
        size_t size = 0;
        pthread_attr_t defaults;
        if (!attributes && pthread_getattr_default_np(&defaults) == 0) {
            pthread_attr_getstacksize(&defaults, &size);
            pthread_attr_destroy(&defaults);
        } else if (attributes) {
            pthread_attr_getstacksize(attributes, &size);
        }
        t->stack_low = size;
        t->create_frames = walk(creator, t->create_frame, watch.sites, site);
    }
    work_end(creator, &shield);
    if (!t)
        pthread_setcanceltype(*type, NULL);
    return t;
}

/* Returns the result of a call that creates a thread. */
static int thread_made(int result, int success)
{
    if (result != success)
        order_joined();
    return result;
}

WRAPPER(int, pthread_create,
        (pthread_t * handle, const pthread_attr_t *attributes, void *(*run)(void *),
         void *argument))
{
    struct thread *creator = thread_enter();
    int type = PTHREAD_CANCEL_DEFERRED;
    order_begin(creator);
    struct thread *t = creator ? thread_prepare(creator, attributes, SITE_HERE, &type) : NULL;
    if (!t)
        return thread_made(real.pthread_create(handle, attributes, run, argument), 0);
    t->start = run;
    t->argument = argument;
    int result = real.pthread_create(handle, attributes, start_pthread, t);
    if (result != 0)
        table_release(t);
    pthread_setcanceltype(type, NULL);
    return thread_made(result, 0);
}
EXPORT2(pthread_create, V_2_34, V_OLDEST);

WRAPPER(int, thrd_create, (thrd_t * handle, thrd_start_t run, void *argument))
{
    struct thread *creator = thread_enter();
    int type = PTHREAD_CANCEL_DEFERRED;
    order_begin(creator);
    struct thread *t = creator ? thread_prepare(creator, NULL, SITE_HERE, &type) : NULL;
    if (!t)
        return thread_made(real.thrd_create(handle, run, argument), thrd_success);
    t->start_c11 = run;
    t->argument = argument;
    int result = real.thrd_create(handle, start_c11, t);
    if (result != thrd_success)
        table_release(t);
    pthread_setcanceltype(type, NULL);
    return thread_made(result, thrd_success);
}
EXPORT2(thrd_create, V_2_34, V_2_28);

/* A process that shares this memory, and runs at the same time, may post and unlock anything. */
WRAPPER(int, clone, (int (*run)(void *), void *stack, int flags, void *argument, ...))
{
    va_list more;
    va_start(more, argument);
    pid_t *parent = va_arg(more, pid_t *);
    void *storage = va_arg(more, void *);
    pid_t *child = va_arg(more, pid_t *);
    va_end(more);
    if ((flags & (CLONE_VM | CLONE_THREAD | CLONE_VFORK)) == CLONE_VM)
        atomic_store(&watch.memory_lent, true);
    if (unlikely(!real.clone) && !real_resolve() && !real.clone) {
        errno = ENOSYS;
        return -1;
    }
    return real.clone(run, stack, flags, argument, parent, storage, child);
}
EXPORT(clone, V_OLDEST);

/* ------------------------------------------------------------------ joining */

/* Any kind of join. */
struct join {
    pthread_t thread;
    void **value;
    int *status;
    bool clocked; /* uses `clock` instead of the real-time clock */
    clockid_t clock;
    const struct timespec *until;
    uint32_t through;
    int deadlock; /* the result that means EDEADLK */
};

/* Returns the result of a join: 0 or thrd_success, which are equal. */
static int thread_joined(int result)
{
    if (result == 0)
        order_joined();
    return result;
}

/* Joins, after it is clear that the thread may wait. */
static int join_by_libc(const struct join *join)
{
    if (join->through)
        return thread_joined(real.thrd_join(join->thread, join->status));
    if (!join->until)
        return thread_joined(real.pthread_join(join->thread, join->value));
    return thread_joined(
        join->clocked
            ? real.pthread_clockjoin_np(join->thread, join->value, join->clock, join->until)
            : real.pthread_timedjoin_np(join->thread, join->value, join->until));
}

_Static_assert(thrd_success == 0, "thread_joined is for both kinds");

/* Joining itself, or a thread that joins this one: libc returns EDEADLK itself. */
static bool is_join_refused(const struct thread *t, pthread_t thread)
{
    struct observed_wait look;
    if ((uintptr_t)thread == t->handle)
        return true;
    struct thread *target = table_by_handle((uintptr_t)thread);
    return target && observe_wait(target, &look) && look.kind == INCIDENT_THREAD_END &&
           look.lock == t->handle;
}

/* Waits briefly and checks again, as for mutexes. thrd_join has no time limit. */
static int wait_for_end(struct thread *t, const struct join *join)
{
    for (uint32_t look = 0;; look++) {
        enum judgement judgement = judge_wait(t, look);
        if (judgement == JUDGE_BREAK)
            return join->deadlock;
        if (judgement == JUDGE_WAIT || join->until || join->through)
            return join_by_libc(join);
        struct timespec until = sys_soon(LOOK_AGAIN_NS);
        int result = real.pthread_clockjoin_np(join->thread, join->value, CLOCK_MONOTONIC, &until);
        if (result != ETIMEDOUT)
            return thread_joined(result);
    }
}

static __attribute__((noinline)) int join_thread(const struct join *join, struct site site)
{
    struct thread *t = thread_enter_slow();
    if (!t)
        return join_by_libc(join);
    if (is_join_refused(t, join->thread))
        return join_by_libc(join);
    struct undo undo;
    order_frame(t, site.frame);
    WAIT_BEGIN(t, &undo, (void *)join->thread, INCIDENT_THREAD_END, INCIDENT_END,
               (join->until ? (uint32_t)INCIDENT_TIMED : 0) | join->through, site);
    int result = wait_for_end(t, join);
    WAIT_END(t, &undo);
    return result;
}

WRAPPER(int, pthread_join, (pthread_t thread, void **value))
{
    struct join join = {.thread = thread, .value = value, .deadlock = EDEADLK};
    return join_thread(&join, SITE_HERE);
}
EXPORT2(pthread_join, V_2_34, V_OLDEST);

WRAPPER(int, pthread_timedjoin_np, (pthread_t thread, void **value, const struct timespec *until))
{
    struct join join = {.thread = thread, .value = value, .until = until, .deadlock = EDEADLK};
    return join_thread(&join, SITE_HERE);
}
EXPORT2(pthread_timedjoin_np, V_2_34, V_TIMED);

WRAPPER(int, pthread_clockjoin_np,
        (pthread_t thread, void **value, clockid_t clock, const struct timespec *until))
{
    struct join join = {.thread = thread,
                        .value = value,
                        .clocked = true,
                        .clock = clock,
                        .until = until,
                        .deadlock = EDEADLK};
    return join_thread(&join, SITE_HERE);
}
EXPORT2(pthread_clockjoin_np, V_2_34, V_2_31);

WRAPPER(int, pthread_tryjoin_np, (pthread_t thread, void **value))
{
    thread_enter();
    return thread_joined(real.pthread_tryjoin_np(thread, value));
}
EXPORT2(pthread_tryjoin_np, V_2_34, V_TIMED);

WRAPPER(int, thrd_join, (thrd_t thread, int *status))
{
    struct join join = {
        .thread = thread, .status = status, .through = THROUGH_C11, .deadlock = thrd_error};
    return join_thread(&join, SITE_HERE);
}
EXPORT2(thrd_join, V_2_34, V_2_28);

#include "sources/run/wrappers/thread_exit.h"

#include "sources/run/judge/judge.h"
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/locks/lock_order.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/start/enter.h"
#include "sources/run/threads/thread_table.h"
#include "sources/run/threads/wait.h"

#include <errno.h>
#include <limits.h>

typedef void (*destructor)(void *value);

static _Atomic(destructor) destructors[PTHREAD_KEYS_MAX];
static _Atomic uint32_t key_limit; /* above all keys that have a destructor */

static void note_key(pthread_key_t key, destructor destroy)
{
    if (key >= PTHREAD_KEYS_MAX)
        return;
    atomic_store(&destructors[key], destroy);
    uint32_t limit = atomic_load(&key_limit);
    while (destroy && limit <= key &&
           !atomic_compare_exchange_weak(&key_limit, &limit, (uint32_t)key + 1))
        ;
}

WRAPPER(int, pthread_key_create, (pthread_key_t * key, destructor destroy))
{
    thread_enter();
    int result = real.pthread_key_create(key, destroy);
    if (result == 0)
        note_key(*key, destroy);
    return result;
}
EXPORT2(pthread_key_create, V_2_34, V_OLDEST);

/* The name used by the C++ library. */
WRAPPER(int, __pthread_key_create, (pthread_key_t * key, destructor destroy))
{
    return wrap_pthread_key_create(key, destroy);
}
EXPORT2(__pthread_key_create, V_2_34, V_OLDEST);

WRAPPER(int, pthread_key_delete, (pthread_key_t key))
{
    thread_enter();
    note_key(key, NULL);
    return real.pthread_key_delete(key);
}
EXPORT2(pthread_key_delete, V_2_34, V_OLDEST);

WRAPPER(int, tss_create, (tss_t * key, tss_dtor_t destroy))
{
    thread_enter();
    int result = real.tss_create(key, destroy);
    if (result == thrd_success)
        note_key(*key, destroy);
    return result;
}
EXPORT2(tss_create, V_2_34, V_2_28);

WRAPPER(void, tss_delete, (tss_t key))
{
    thread_enter();
    note_key(key, NULL);
    real.tss_delete(key);
}
EXPORT2(tss_delete, V_2_34, V_2_28);

/* False: no key had a value. */
static bool run_destructor_round(uint32_t limit)
{
    bool any = false;
    for (uint32_t key = 0; key < limit; key++) {
        destructor destroy = atomic_load(&destructors[key]);
        void *value = destroy ? pthread_getspecific(key) : NULL;
        if (!value)
            continue;
        any = true;
        pthread_setspecific(key, NULL);
        destroy(value);
    }
    return any;
}

/* Clears values that remain after the last round, which libc also ignores. */
static void run_destructors(void)
{
    for (int round = 0; round < PTHREAD_DESTRUCTOR_ITERATIONS; round++)
        if (!run_destructor_round(atomic_load(&key_limit)))
            return;
    for (uint32_t key = 0; key < atomic_load(&key_limit); key++)
        if (atomic_load(&destructors[key]) && pthread_getspecific(key))
            pthread_setspecific(key, NULL);
}

/* Called at the end of the calling thread. `last`: no code of the program will run in it. Otherwise
 * its locks may still be released unobserved. */
static void end_watched_thread(struct thread *t, bool last)
{
    int saved = errno;
    struct shield shield;
    shield_raise(&shield);
    self_aside = true;
    t->inside++;
    self = NULL;
    wait_end(t); /* a wait that it left by a jump */
    if (t->used && last)
        orphans_add(t, false);
    t->ending = true;
    if (last)
        judge_thread_end(t);
    order_forget(t->stack_low, t->stack_high - t->stack_low);
    table_remove(t);
    shield_lower(&shield);
    errno = saved;
}

/* Called if the thread is cancelled in a destructor: libc runs the others unobserved. */
static void leave_early(void *record)
{
    end_watched_thread(record, false);
}

void thread_leave(void *record)
{
    struct thread *t = record;
    if (t != self)
        return;
    pthread_cleanup_push(leave_early, t);
    if (real.call_tls_dtors)
        real.call_tls_dtors();
    run_destructors();
    pthread_cleanup_pop(0);
    end_watched_thread(t, real.call_tls_dtors != NULL);
}

/* ------------------------------------------------------------------ the main thread */

static int (*program_main)(int, char **, char **);

static void leave_main(void *unused)
{
    (void)unused;
    if (self && self->is_main)
        thread_leave(self);
}

/* Returning from main ends the program; leaving it by pthread_exit only ends the thread. */
static int run_watched_main(int count, char **arguments, char **variables)
{
    int code;
    if (self) /* the frames above belong to libc */
        self->stack_high = (uintptr_t)__builtin_frame_address(0);
    pthread_cleanup_push(leave_main, NULL);
    code = program_main(count, arguments, variables);
    pthread_cleanup_pop(0);
    return code;
}

WRAPPER(int, __libc_start_main,
        (main_function * run, int count, char **arguments, start_function *init,
         start_function *fini, start_function *loader, void *stack_end))
{
    thread_enter();
    program_main = run;
    return real.libc_start_main(run_watched_main, count, arguments, init, fini, loader, stack_end);
}
EXPORT(__libc_start_main, V_2_34);

/* Programs linked before that version bring their own functions for constructors. */
WRAPPER(int, oldest_start_main,
        (main_function * run, int count, char **arguments, start_function *init,
         start_function *fini, start_function *loader, void *stack_end))
{
    thread_enter();
    program_main = run;
    return real.oldest_start_main(run_watched_main, count, arguments, init, fini, loader,
                                  stack_end);
}
__asm__(".symver wrap_oldest_start_main,__libc_start_main@" V_OLDEST);

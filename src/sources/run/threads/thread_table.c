#include "sources/run/threads/thread_table.h"

#include "sources/run/locks/lock_registry.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/guard.h"
#include "sources/run/state/message.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/shield.h"
#include "sources/run/state/system_call.h"
#include "sources/run/threads/wait.h"
#include "sources/run/threads/waiters.h"

#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#define HANDLES     (1u << 17)
#define HANDLE_RUNS 16u /* probes for a handle */

static struct guard table_guard;
static uint32_t first_free; /* index + 1 */

extern void *__libc_stack_end __attribute__((weak));

bool table_start(void)
{
    for (uint32_t room = watch.thread_room; room && !watch.threads; room >>= 2) {
        if (room * sizeof *watch.threads <= pages_most() || room < 64)
            watch.threads = pages_map(room * sizeof *watch.threads);
        watch.thread_room = room;
    }
    watch.by_tid = pages_map(TID_LIMIT * sizeof *watch.by_tid);
    watch.by_handle = pages_map(HANDLES * sizeof *watch.by_handle);
    return watch.threads && watch.by_tid && watch.by_handle;
}

/* ------------------------------------------------------------------ records */

/* Callers hold the guard, or are the only thread. */
static void free_record(uint32_t index)
{
    watch.threads[index].index = first_free;
    first_free = index + 1;
}

/* Frees the record of a thread that ended unobserved, since no wrapper started it: libc starts some
 * threads itself. Callers hold the guard. */
static bool reap_record(struct thread *t)
{
    uint32_t index = (uint32_t)(t - watch.threads);
    if (!thread_is_live(t) || !t->unseen || sys_call(SYS_tgkill, watch.pid, t->tid, 0) == 0)
        return false;
    if (atomic_load(&watch.by_tid[t->tid]) == index + 1)
        atomic_store(&watch.by_tid[t->tid], 0);
    atomic_store(&t->state, THREAD_FREE);
    wait_end(t);
    atomic_fetch_sub(&watch.live, 1);
    atomic_fetch_sub(&watch.unseen, 1);
    free_record(index);
    return true;
}

static uint32_t reap_ended(void)
{
    uint32_t reaped = 0, limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++)
        reaped += reap_record(&watch.threads[i]);
    return reaped;
}

void table_reap(void)
{
    guard_lock(&table_guard);
    reap_ended();
    guard_unlock(&table_guard);
}

static struct thread *take_free(void)
{
    if (!first_free) {
        uint32_t limit = atomic_load(&watch.thread_limit);
        if (limit < watch.thread_room) {
            atomic_store(&watch.thread_limit, limit + 1);
            return &watch.threads[limit];
        }
        if (!reap_ended())
            return NULL;
    }
    struct thread *t = &watch.threads[first_free - 1];
    first_free = t->index;
    return t;
}

static struct thread *find_record(void)
{
    guard_lock(&table_guard);
    struct thread *t = take_free();
    guard_unlock(&table_guard);
    if (!t)
        watch_off("too many threads at a time");
    return t;
}

/* Callers have a shield: a record that is reserved but not used counts as a starting thread. */
struct thread *table_reserve(void)
{
    struct thread *t = find_record();
    if (!t)
        return NULL;
    if (!t->held) {
        t->held = t->first;
        t->room = sizeof t->first;
    }
    for (uint32_t i = 0; i < CACHED_WALKS; i++)
        t->walks[i] = (struct cached_walk){0}; /* cached for another stack */
    t->index = (uint32_t)(t - watch.threads);
    t->used = t->inside = t->unseen = t->ending = t->fork_tid = t->is_main = t->create_frames = 0;
    t->stack_low = t->stack_high = t->signalled = 0;
    atomic_store(&t->lowest_lock, UINTPTR_MAX);
    t->start = NULL;
    t->start_c11 = NULL;
    wait_end(t);
    atomic_store(&t->looking, LOOKING_DONE);
    atomic_store(&t->state, THREAD_RESERVED);
    atomic_fetch_add(&watch.starting, 1);
    return t;
}

void table_release(struct thread *t)
{
    if (atomic_exchange(&t->state, THREAD_FREE) == THREAD_RESERVED)
        atomic_fetch_sub(&watch.starting, 1);
    guard_lock(&table_guard);
    free_record(t->index);
    guard_unlock(&table_guard);
}

/* ------------------------------------------------------------------ by handle */

static _Atomic uint32_t *handle_place(uintptr_t handle, uint32_t step)
{
    uint32_t hash = (uint32_t)(((handle >> 6) * 0x9e3779b97f4a7c15u) >> 47);
    return &watch.by_handle[(hash + step) % HANDLES];
}

static struct thread *thread_at_handle(uintptr_t handle, uint32_t step)
{
    uint32_t index = atomic_load(handle_place(handle, step));
    return index ? &watch.threads[index - 1] : NULL;
}

static _Atomic bool handles_full; /* a handle did not fit */

/* Uses the first place whose thread has ended. */
static void note_handle(struct thread *t)
{
    for (uint32_t step = 0; step < HANDLE_RUNS; step++) {
        struct thread *other = thread_at_handle(t->handle, step);
        if (other && thread_is_live(other) && other->handle != t->handle)
            continue;
        atomic_store(handle_place(t->handle, step), t->index + 1);
        return;
    }
    atomic_store(&handles_full, true);
}

static bool has_handle(const struct thread *t, uintptr_t handle)
{
    return t && thread_is_live(t) && t->handle == handle;
}

struct thread *table_by_handle(uintptr_t handle)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t step = 0; step < HANDLE_RUNS; step++)
        if (has_handle(thread_at_handle(handle, step), handle))
            return thread_at_handle(handle, step);
    for (uint32_t i = 0; i < limit && atomic_load(&handles_full); i++)
        if (has_handle(&watch.threads[i], handle))
            return &watch.threads[i];
    return NULL;
}

/* ------------------------------------------------------------------ this thread */

/* Finds the bounds of the stack, which a walk through frames never leaves. */
static void find_stack(struct thread *t)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    if (t->is_main && &__libc_stack_end && (uintptr_t)__libc_stack_end > here) {
        struct rlimit limit;
        t->stack_high = (uintptr_t)__libc_stack_end & ~(uintptr_t)15;
        uintptr_t size = (uintptr_t)1 << 30;
        if (sys_call(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &limit) == 0 && limit.rlim_cur < size)
            size = limit.rlim_cur;
        t->stack_low = t->stack_high - size;
        if (here >= t->stack_low)
            return;
    }
    struct region region;
    if (maps_find(here, &region)) {
        t->stack_low = region.low;
        t->stack_high = region.high - 2 * sizeof(uintptr_t);
    } else {
        t->stack_low = t->stack_high = 0;
    }
}

void table_adopt(struct thread *t)
{
    struct shield shield;
    shield_raise(&shield);
    t->tid = sys_gettid();
    t->is_main = t->tid == watch.pid;
    t->handle = (uintptr_t)pthread_self();
    t->serial = atomic_fetch_add(&watch.threads_seen, 1);
    if (!t->stack_high)
        find_stack(t);
    note_handle(t);
    atomic_store(&t->state, THREAD_LIVE);
    if (t->tid < TID_LIMIT)
        atomic_store(&watch.by_tid[t->tid], t->index + 1);
    atomic_fetch_add(&watch.live, 1);
    atomic_fetch_sub(&watch.starting, 1);
    __atomic_fetch_add(&watch.tally->threads, 1, __ATOMIC_RELAXED);
    self = t;
    shield_lower(&shield);
}

/* ------------------------------------------------------------------ ending */

void table_remove(struct thread *t)
{
    if (t->tid < TID_LIMIT && atomic_load(&watch.by_tid[t->tid]) == t->index + 1)
        atomic_store(&watch.by_tid[t->tid], 0);
    t->used = 0;
    atomic_fetch_sub(&watch.live, 1);
    if (t->is_main)
        atomic_fetch_add(&watch.helpers,
                         1); /* the kernel lists the main thread until the process ends */
    table_release(t);
}

void table_fork(void)
{
    atomic_store(&table_guard.word, 0);
    watch.pid = sys_gettid(); /* of the only thread */
    struct thread *me = self;
    uint32_t limit = atomic_load(&watch.thread_limit);
    first_free = 0;
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (t == me)
            continue;
        if (atomic_load(&t->state) == THREAD_LIVE) {
            orphans_add(t, true);
            atomic_store(&watch.by_tid[t->tid], 0);
        }
        t->used = 0;
        wait_end(t);
        atomic_store(&t->state, THREAD_FREE);
        free_record(i);
    }
    atomic_store(&watch.live, me ? 1 : 0);
    atomic_store(&watch.helpers, 0);
    atomic_store(&watch.unseen, 0);
    atomic_store(&watch.starting, 0);
    waiters_fork();
    if (!me)
        return;
    atomic_store(&me->looking, LOOKING_DONE);
    for (uint32_t i = 0; i < holds_of(me); i++)
        me->held[i].flags |= HELD_INHERITED;
    me->fork_tid = me->tid;
    if (me->tid < TID_LIMIT)
        atomic_store(&watch.by_tid[me->tid], me->index + 1); /* locks with that ID are its own */
    me->tid = sys_gettid();
    me->is_main = true;
    me->unseen = false;
    if (me->tid < TID_LIMIT)
        atomic_store(&watch.by_tid[me->tid], me->index + 1);
}

/* ------------------------------------------------------------------ questions */

uint32_t table_tasks(void)
{
    struct stat status;
    if (sys_call(SYS_newfstatat, AT_FDCWD, "/proc/self/task", &status, 0) != 0 ||
        status.st_nlink <= 2)
        return 0;
    return (uint32_t)status.st_nlink - 2;
}

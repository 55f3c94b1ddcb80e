#include "run/chain.h"

#include "run/condition.h"
#include "run/locks.h"
#include "run/maps.h"
#include "run/mutex.h"
#include "run/rwlock.h"
#include "run/sys.h"
#include "run/text.h"

#include <signal.h>
#include <string.h>
#include <sys/uio.h>

bool look_at(struct thread *t, struct look *look)
{
    uint64_t generation = atomic_load_explicit(&t->generation, memory_order_acquire);
    if (!(generation & 1) || !thread_is_live(t))
        return false;
    const volatile struct wait *wait = &t->wait;
    look->thread = t;
    look->generation = generation;
    look->lock = wait->lock;
    look->outer = wait->outer;
    look->kind = wait->kind;
    look->mode = wait->mode;
    look->flags = wait->flags;
    atomic_thread_fence(memory_order_acquire);
    return atomic_load_explicit(&t->generation, memory_order_relaxed) == generation;
}

bool look_holds(const struct look *look)
{
    return atomic_load_explicit(&look->thread->generation, memory_order_acquire) ==
               look->generation &&
           thread_is_live(look->thread);
}

/* ------------------------------------------------------------------ locks of others */

/* The kernel reads the set before it looks at the unknown request. */
static bool is_readable(uintptr_t address)
{
    return syscall(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) == 0 ||
           errno != EFAULT;
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
    struct iovec to = {copy, size}, from = {(void *)lock, size};
    long copied = syscall(SYS_process_vm_readv, watch.pid, &to, 1, &from, 1, 0);
    if (copied >= 0 || errno == EFAULT)
        return copied == (long)size;
    /* Not allowed here (a sandbox): try whether it is there, then read it. */
    if (!is_readable(lock) || !is_readable(lock + size - 1))
        return false;
    memcpy(copy, (const void *)lock, size);
    return true;
}

bool look_retakes(struct look *look)
{
    union lock_copy copy;
    uintptr_t address = 0;
    if (look->kind != INCIDENT_CONDITION || look->thread == self ||
        !lock_copy(look->outer, INCIDENT_MUTEX, &copy) || copy.mutex.__data.__lock == 0 ||
        is_asleep(look->thread, &address) != SLEEP_YES ||
        address - look->outer >= sizeof(pthread_mutex_t) || !look_holds(look))
        return false;
    look->kind = INCIDENT_MUTEX;
    look->mode = INCIDENT_EXCLUSIVE;
    look->flags |= INCIDENT_RETAKES;
    look->lock = look->outer;
    return true;
}

/* ------------------------------------------------------------------ owners */

/* A process that shares a lock with us and is no more. Others may run in another world of process
 * numbers; only memory that cannot have come there by a name is sure to be shared within ours. */
static bool process_is_gone(uintptr_t lock, uint32_t tid)
{
    struct region region;
    return syscall(SYS_kill, tid, 0) != 0 && errno == ESRCH && maps_find(lock, &region) &&
           region.anonymous;
}

enum owner owner_of(uintptr_t lock, uint32_t tid, bool shared, struct thread **thread)
{
    struct orphan orphan;
    *thread = NULL;
    if (tid == 0)
        return OWNER_NONE;
    struct thread *t = table_by_tid(tid);
    bool known = t && thread_is_live(t) && (t->tid == tid || t->fork_tid == tid);
    /* Numbers come back: this thread, or one before it that ended holding the lock, or is about to?
     */
    bool has = known && !t->ending && units_held(t, lock, INCIDENT_EXCLUSIVE, NULL);
    if (!has && orphans_find(lock, tid, &orphan))
        return OWNER_GONE;
    if (known) {
        *thread = t;
        return OWNER_THREAD;
    }
    if (syscall(SYS_tgkill, watch.pid, tid, 0) == 0)
        return OWNER_RUNNING;
    if (shared)
        return process_is_gone(lock, tid) ? OWNER_GONE : OWNER_RUNNING;
    /* A private lock marked with a number that no thread of this process has. */
    struct region region;
    return maps_find(lock, &region) && !region.shared ? OWNER_GONE : OWNER_RUNNING;
}

uint32_t units_held(const struct thread *t, uintptr_t lock, uint32_t mode, const struct held **hold)
{
    uint32_t room = __atomic_load_n(&t->room, __ATOMIC_ACQUIRE);
    uint32_t count = __atomic_load_n(&t->count, __ATOMIC_RELAXED), units = 0;
    const struct held *held = __atomic_load_n(&t->held, __ATOMIC_ACQUIRE);
    for (uint32_t i = 0; i < count && i < room; i++) {
        if (held[i].lock != lock || held[i].mode != mode)
            continue;
        if (hold && units == 0)
            *hold = &held[i];
        units += held[i].units;
    }
    return units;
}

/* ------------------------------------------------------------------ who runs? */

static bool thread_runs(struct thread *t)
{
    struct look look;
    return thread_is_live(t) && (!look_at(t, &look) || (look.flags & INCIDENT_TIMED));
}

/* Is the futex a thread sleeps on a part of what it says it waits for? A handler that runs on top
 * of the wait may sleep elsewhere. What a join sleeps on is libc's own. */
static bool is_its_wait(const struct thread *t, uintptr_t address)
{
    static const uint8_t sizes[] = {
        [INCIDENT_MUTEX] = sizeof(pthread_mutex_t),
        [INCIDENT_RWLOCK] = sizeof(pthread_rwlock_t),
        [INCIDENT_SEMAPHORE] = sizeof(sem_t),
        [INCIDENT_CONDITION] = sizeof(pthread_cond_t),
        [INCIDENT_BARRIER] = sizeof(pthread_barrier_t),
    };
    uint32_t kind = t->wait.kind;
    if (kind == INCIDENT_THREAD_END)
        return true;
    if (t->wait.outer && address - t->wait.outer < sizeof(pthread_mutex_t))
        return true;
    return kind < sizeof sizes && address - t->wait.lock < sizes[kind];
}

/* Somebody just woken, whose processor has not got the message yet, still seems to sit in its
 * system call; its state tells. */
static enum sleep is_left_alone(const struct thread *t)
{
    char path[64], text[512];
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/stat");
    if (read_small(path, text, sizeof text) <= 0)
        return SLEEP_UNKNOWN;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'S' ? SLEEP_YES : SLEEP_NO;
}

enum sleep is_asleep(const struct thread *t, uintptr_t *address)
{
    char path[64], text[256];
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/syscall");
    if (read_small(path, text, sizeof text) <= 0)
        return SLEEP_UNKNOWN;
    unsigned number = 0;
    const char *at = text;
    if (*at < '0' || *at > '9')
        return SLEEP_NO; /* "running", or "-1": stopped elsewhere */
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (unsigned)(*at - '0');
    uintptr_t first = 0;
    if (strncmp(at, " 0x", 3) == 0)
        for (at += 3; (*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f'); at++)
            first = first << 4 | (uintptr_t)(*at <= '9' ? *at - '0' : *at - 'a' + 10);
    if (address)
        *address = first;
    /* One that is inside sleeps on a guard of ours, on its way into the wait or out of it. */
    if (__atomic_load_n(&t->inside, __ATOMIC_RELAXED))
        return SLEEP_NO;
#if defined(__x86_64__)
    if (number == 98) /* an emulated processor: the host's own number, and its addresses */
        return is_left_alone(t);
#endif
    return number == SYS_futex && is_its_wait(t, first) ? is_left_alone(t) : SLEEP_NO;
}

/* The mutex a woken thread wants back belongs to one who is on its way into a wait with it, as the
 * one who looks may be: it will be given back at once. */
static bool gets_it_back(const struct thread *t, uintptr_t address)
{
    uintptr_t outer = t->wait.outer;
    union lock_copy copy;
    if (!outer || address - outer >= sizeof(pthread_mutex_t) ||
        !lock_copy(outer, INCIDENT_MUTEX, &copy))
        return false;
    struct thread *owner = table_by_tid(mutex_owner(&copy.mutex));
    struct look look;
    return owner && look_at(owner, &look) && look.kind == INCIDENT_CONDITION && look.outer == outer;
}

bool relies_on(struct thread *t)
{
    uint64_t own = self ? self->serial : UINT64_MAX; /* one who ends will not look again */
    if (t->serial < own)
        return false;
    uint32_t looking = LOOKING;
    return atomic_compare_exchange_strong(&t->looking, &looking, LOOKING_AGAIN) ||
           looking == LOOKING_AGAIN;
}

/* Still on its way from looking to sleeping? */
static bool on_its_way(const struct thread *t)
{
    char path[64];
    uint64_t slept;
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/status");
    return read_line_number(path, "voluntary_ctxt_switches:", &slept) &&
           (uint32_t)slept == t->slept;
}

/* Woken, but has not said so yet. Only waits that others end without leaving a mark are worth
 * asking the kernel about; whoever waits for an owner, or for a thread that lives, does so. */
static bool is_awake(struct thread *t)
{
    struct look look;
    uintptr_t address = 0;
    union lock_copy copy;
    int value = 0;
    if (t == self)
        return false;
    if (thread_runs(t) || !look_at(t, &look)) /* by now, that is */
        return thread_is_live(t);
    if (look.kind != INCIDENT_CONDITION && look.kind != INCIDENT_SEMAPHORE &&
        look.kind != INCIDENT_BARRIER)
        return false;
    if (look.kind == INCIDENT_SEMAPHORE && lock_copy(look.lock, look.kind, &copy) &&
        sem_getvalue(&copy.semaphore, &value) == 0 && value > 0)
        return true;
    if (atomic_load(&t->looking) != LOOKING_DONE)
        return relies_on(t);
    enum sleep sleep = is_asleep(t, &address);
    if (sleep == SLEEP_YES)
        return gets_it_back(t, address);
    return sleep == SLEEP_NO && (!look_holds(&look) || !on_its_way(t));
}

/* Whoever joins the thread that is about to end goes on. */
static bool joins_ending(struct thread *t, const struct thread *ending)
{
    struct look look;
    return ending && thread_is_live(t) && look_at(t, &look) && look.kind == INCIDENT_THREAD_END &&
           look.lock == ending->handle;
}

/* Changes whenever anybody begins or ends a wait. */
static uint64_t count_moves(void)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    uint64_t sum = 0;
    for (uint32_t i = 0; i < limit; i++)
        sum += atomic_load(&watch.threads[i].generation);
    return sum;
}

/* Threads are looked at one after another: one found waiting may be woken by one who is then found
 * waiting too. So whoever has moved in the meantime counts as running; he looks for himself when he
 * waits. */
bool somebody_runs(const struct thread *ending)
{
    uint64_t seen = atomic_load(&watch.threads_seen), before = count_moves();
    uint32_t limit = atomic_load(&watch.thread_limit), nobody = 0;
    uint32_t *hint = self ? &self->running_hint : &nobody;
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t at = (*hint + i) % limit;
        struct thread *t = &watch.threads[at];
        if (t != ending && (thread_runs(t) || joins_ending(t, ending))) {
            *hint = at;
            return true;
        }
    }
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t at = (*hint + i) % limit;
        struct thread *t = &watch.threads[at];
        if (t != ending && is_awake(t)) {
            *hint = at;
            return true;
        }
    }
    /* Nobody whom the table does not have, nor one who came into it after he was looked for. */
    return table_tasks() != atomic_load(&watch.live) + atomic_load(&watch.helpers) ||
           atomic_load(&watch.threads_seen) != seen || count_moves() != before;
}

/* Does somebody who runs, or somebody who waits, hold some of it? */
static bool some_hold(uintptr_t lock, uint32_t mode, bool running)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    for (uint32_t i = 0; i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (thread_is_live(t) && !t->ending && units_held(t, lock, mode, NULL) &&
            thread_runs(t) == running)
            return true;
    }
    return false;
}

/* ------------------------------------------------------------------ following */

enum ahead { AHEAD_RUNS, AHEAD_UNKNOWN, AHEAD_ONE, AHEAD_MANY };

static enum ahead behind_owner(const struct look *look, uint32_t tid, bool shared,
                               struct thread **next)
{
    switch (owner_of(look->lock, tid, shared, next)) {
    case OWNER_THREAD:
        return AHEAD_ONE;
    case OWNER_GONE:
        return AHEAD_MANY;
    case OWNER_RUNNING:
        return AHEAD_UNKNOWN;
    default:
        return AHEAD_RUNS;
    }
}

/* Whom a waiting thread waits for, where that is one thread. */
static enum ahead waits_for_whom(const struct look *look, struct thread **next)
{
    union lock_copy copy;
    uint32_t flags;
    const pthread_mutex_t *mutex = (const pthread_mutex_t *)look->lock;
    const pthread_rwlock_t *rwlock = (const pthread_rwlock_t *)look->lock;
    if (look->thread != self && (look->kind == INCIDENT_MUTEX || look->kind == INCIDENT_RWLOCK)) {
        if (!lock_copy(look->lock, look->kind, &copy) || !look_holds(look))
            return AHEAD_RUNS;
        mutex = &copy.mutex;
        rwlock = &copy.rwlock;
    }
    switch (look->kind) {
    case INCIDENT_MUTEX:
        return behind_owner(look, mutex_owner(mutex), mutex_kind(mutex) & KIND_SHARED, next);
    case INCIDENT_RWLOCK:
        if (rwlock_writer(rwlock))
            return behind_owner(look, rwlock_writer(rwlock), rwlock_is_shared(rwlock), next);
        /* A writer waits for all readers: one who waits may be enough. */
        return some_hold(look->lock, INCIDENT_READ, false) || orphans_any() ? AHEAD_MANY
                                                                            : AHEAD_RUNS;
    case INCIDENT_SPIN:
        return some_hold(look->lock, INCIDENT_EXCLUSIVE, true) ? AHEAD_RUNS : AHEAD_MANY;
    case INCIDENT_SEMAPHORE:
        flags = lock_flags(look->lock);
        if (flags & LOCK_SHARED || some_hold(look->lock, INCIDENT_UNIT, true))
            return AHEAD_RUNS;
        if ((flags & (LOCK_KNOWN | LOCK_SIGNALS | LOCK_POSTED)) == (LOCK_KNOWN | LOCK_POSTED))
            return AHEAD_MANY;
        return somebody_runs(NULL) ? AHEAD_RUNS : AHEAD_MANY;
    case INCIDENT_THREAD_END:
        *next = table_by_handle(look->lock);
        return *next ? AHEAD_ONE : AHEAD_RUNS;
    default: /* conditions, barriers: anybody may come */
        if (look->thread == self && look->kind == INCIDENT_CONDITION && self->woke_somebody)
            return AHEAD_RUNS;
        return somebody_runs(NULL) ? AHEAD_RUNS : AHEAD_MANY;
    }
}

/* One who wakes from a condition takes a mutex back, without asking us. */
static bool retakes_later(const struct look *look)
{
    return look->kind == INCIDENT_CONDITION;
}

enum trail follow_chain(struct thread *t)
{
    uint32_t most = atomic_load_explicit(&watch.live, memory_order_relaxed) + 1;
    struct thread *at = t;
    for (uint32_t steps = 0; steps <= most; steps++) {
        struct look look;
        struct thread *next = NULL;
        if (!look_at(at, &look) || (look.flags & INCIDENT_TIMED))
            return TRAIL_RUNS;
        look_retakes(&look);
        enum ahead ahead = waits_for_whom(&look, &next);
        if (ahead == AHEAD_MANY || next == t)
            return TRAIL_STUCK;
        if (ahead == AHEAD_UNKNOWN || (ahead == AHEAD_RUNS && at != t && retakes_later(&look)))
            return TRAIL_WAKES;
        if (ahead == AHEAD_RUNS)
            return TRAIL_RUNS;
        at = next;
    }
    return TRAIL_STUCK;
}

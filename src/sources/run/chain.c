#include "sources/run/chain.h"

#include "sources/run/condition.h"
#include "sources/run/maps.h"
#include "sources/run/mutex.h"
#include "sources/run/rwlock.h"
#include "sources/run/sys.h"
#include "sources/run/text.h"
#include "sources/run/waiters.h"

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
    return sys_call(SYS_rt_sigprocmask, ~0, address & ~(uintptr_t)7, NULL, 8) == 0 ||
           errno != EFAULT;
}

/* A lock as its holder's record has it, without touching its memory, which may be gone. */
static bool copy_from_records(uintptr_t lock, uint32_t kind, union lock_copy *copy)
{
    uint32_t limit = atomic_load(&watch.thread_limit);
    memset(copy, 0, sizeof *copy);
    for (uint32_t i = 0; kind == INCIDENT_MUTEX && i < limit; i++) {
        struct thread *t = &watch.threads[i];
        if (!thread_is_live(t) || t->ending || !units_held(t, lock, INCIDENT_EXCLUSIVE, NULL))
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
    return sys_call(SYS_kill, tid, 0) != 0 && errno == ESRCH && maps_find(lock, &region) &&
           region.anonymous;
}

uint32_t mutex_named(const pthread_mutex_t *mutex)
{
    uint32_t kind = mutex_kind(mutex);
    return (kind & KIND_SHARED ? NAMED_SHARED : 0u) | (kind & KIND_ROBUST ? NAMED_ROBUST : 0u) |
           (kind & KIND_INHERIT ? NAMED_INHERIT : 0u);
}

uint32_t rwlock_named(const pthread_rwlock_t *lock)
{
    return rwlock_is_shared(lock) ? NAMED_SHARED : 0;
}

bool orphan_of(uintptr_t lock, uint32_t tid, struct orphan *orphan)
{
    return orphans_find(lock, tid, orphan) && !(orphan->forked && maps_shared(lock));
}

/* The thread that left this number on a lock; NULL: none that is known. One that has forked holds
 * what it held in the parent, under the number that it, or the one before it, had there; but not
 * what is in shared memory, where that number is the parent's. */
static struct thread *who_marked(uintptr_t lock, uint32_t tid, bool *has)
{
    struct thread *t = table_by_tid(tid);
    *has = false;
    if (!t || !thread_is_live(t) || (t->tid != tid && !t->fork_tid))
        return NULL;
    *has = !t->ending && units_held(t, lock, INCIDENT_EXCLUSIVE, NULL);
    if (t->tid == tid)
        return t;
    return *has || (t->fork_tid == tid && !maps_shared(lock)) ? t : NULL;
}

static bool thread_exists(uint32_t tid)
{
    return sys_call(SYS_tgkill, watch.pid, tid, 0) == 0;
}

/* Nobody here has this number any more. */
static enum owner unknown_owner(uintptr_t lock, uint32_t tid, uint32_t named)
{
    if (named & NAMED_ROBUST || thread_exists(tid))
        return OWNER_RUNNING;
    if (named & NAMED_SHARED)
        return process_is_gone(lock, tid) ? OWNER_GONE : OWNER_RUNNING;
    /* A private lock marked with a number that no thread of this process has. */
    return atomic_load(&watch.memory_lent) || maps_shared(lock) ? OWNER_RUNNING : OWNER_GONE;
}

enum owner owner_of(uintptr_t lock, uint32_t tid, uint32_t named, struct thread **thread)
{
    struct orphan orphan;
    bool has;
    *thread = NULL;
    if (tid == 0)
        return OWNER_NONE;
    struct thread *t = who_marked(lock, tid, &has);
    /* Numbers come back: this thread, or one before it that ended holding the lock, or is about to?
     * The kernel passes robust ones on. */
    if (!has && !(named & NAMED_ROBUST) && orphan_of(lock, tid, &orphan))
        return named & NAMED_INHERIT && thread_exists(tid) ? OWNER_RUNNING : OWNER_GONE;
    /* The same number may be another's in another world of numbers. */
    if (!t || (!has && (t->ending || (named & NAMED_SHARED && maps_shared(lock)))))
        return t ? OWNER_RUNNING : unknown_owner(lock, tid, named);
    *thread = t;
    return OWNER_THREAD;
}

uint32_t units_held(const struct thread *t, uintptr_t lock, uint32_t mode, const struct held **hold)
{
    const struct held *held;
    uint32_t count = others_holds(t, &held), units = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (held[i].lock != lock || held[i].mode != mode ||
            (held[i].flags & HELD_INHERITED && maps_shared(lock)))
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

/* Where this library is mapped, its guards included; the linker says so. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* A word of this library's: a thread that sleeps on it is at work here. */
static bool is_own_word(uintptr_t address)
{
    return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end;
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
    if (is_own_word(address))
        return false;
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

/* The system call a thread sits in, and its first argument. */
static enum sleep system_call_of(const struct thread *t, unsigned *call, uintptr_t *argument)
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
    *call = number;
    *argument = first;
    return SLEEP_YES;
}

static bool sleeps_at(const struct thread *t, uintptr_t *address)
{
    unsigned number;
    return system_call_of(t, &number, address) == SLEEP_YES && number == SYS_futex &&
           !__atomic_load_n(&t->inside, __ATOMIC_RELAXED);
}

enum sleep is_asleep(const struct thread *t, uintptr_t *address)
{
    unsigned number = 0;
    uintptr_t first = 0;
    enum sleep sits = system_call_of(t, &number, &first);
    if (sits != SLEEP_YES)
        return sits;
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

/* Woken from a condition, and now asleep until it has its mutex back? That is so until its wait is
 * over: asked once a wait. */
static bool is_retaking(struct thread *t, const struct look *look)
{
    uintptr_t address = 0;
    if (look->kind != INCIDENT_CONDITION)
        return false;
    if (atomic_load_explicit(&t->retaking, memory_order_relaxed) == look->generation)
        return true;
    if (!sleeps_at(t, &address) || address - look->outer >= sizeof(pthread_mutex_t) ||
        !look_holds(look))
        return false;
    atomic_store_explicit(&t->retaking, look->generation, memory_order_relaxed);
    return true;
}

/* The mutex a woken thread wants back is free, that is, about to be taken; or belongs to one who is
 * on its way into a wait with it, as the one who looks may be, or out of it: it will be given back
 * at once. */
static bool gets_it_back(uintptr_t outer)
{
    union lock_copy copy;
    struct look look;
    if (!lock_copy(outer, INCIDENT_MUTEX, &copy))
        return false;
    if (copy.mutex.__data.__lock == 0)
        return true;
    struct thread *owner = table_by_tid(mutex_owner(&copy.mutex));
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
    if (is_retaking(t, &look))
        return gets_it_back(look.outer);
    enum sleep sleep = is_asleep(t, NULL);
    return sleep == SLEEP_NO && (!look_holds(&look) || !on_its_way(t));
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

static bool acts(struct thread *t, const struct thread *ending)
{
    return t != ending && is_awake(t);
}

/* Threads are looked at one after another: one found waiting may be woken by one who is then found
 * waiting too. So whoever has moved in the meantime counts as running; he looks for himself when he
 * waits. */
static bool somebody_moves(const struct thread *ending)
{
    static _Atomic uint32_t hint; /* who was found last, and often is the next time */
    uint32_t limit = atomic_load(&watch.thread_limit), first = atomic_load(&hint);
    if (acts(&watch.threads[first], ending))
        return true;
    uint64_t seen = atomic_load(&watch.threads_seen), before = count_moves();
    for (uint32_t i = 0; i < limit; i++) {
        uint32_t at = (first + i) % limit;
        if (acts(&watch.threads[at], ending)) {
            atomic_store(&hint, at);
            return true;
        }
    }
    /* Nobody whom the table does not have, nor one who came into it after he was looked for. */
    return table_tasks() != atomic_load(&watch.live) + atomic_load(&watch.helpers) ||
           atomic_load(&watch.threads_seen) != seen || count_moves() != before;
}

/* Whoever joins the thread that is about to end goes on. */
bool somebody_runs(const struct thread *ending)
{
    return watch.sandboxed || waiters_some_run(ending) ||
           (ending && waiters_find(ending->handle, ending)) || somebody_moves(ending);
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

static enum ahead behind_owner(const struct look *look, uint32_t tid, uint32_t named,
                               struct thread **next)
{
    switch (owner_of(look->lock, tid, named, next)) {
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

/* Nobody known has it: one who is just noting it, or another process. */
static enum ahead behind_spinner(const struct look *look)
{
    struct orphan orphan;
    if (some_hold(look->lock, INCIDENT_EXCLUSIVE, true))
        return AHEAD_RUNS;
    return some_hold(look->lock, INCIDENT_EXCLUSIVE, false) || orphan_of(look->lock, 0, &orphan)
               ? AHEAD_MANY
               : AHEAD_UNKNOWN;
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
        return behind_owner(look, mutex_owner(mutex), mutex_named(mutex), next);
    case INCIDENT_RWLOCK:
        if (rwlock_writer(rwlock))
            return behind_owner(look, rwlock_writer(rwlock), rwlock_named(rwlock), next);
        /* A writer waits for all readers: one who waits may be enough. */
        return some_hold(look->lock, INCIDENT_READ, false) || orphans_any() ? AHEAD_MANY
                                                                            : AHEAD_RUNS;
    case INCIDENT_SPIN:
        return behind_spinner(look);
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
    uintptr_t wanted = 0; /* the lock because of which `at` is looked at */
    for (uint32_t steps = 0; steps <= most; steps++) {
        struct look look;
        struct thread *next = NULL;
        if (!look_at(at, &look) || (look.flags & INCIDENT_TIMED))
            return TRAIL_RUNS;
        if (wanted && look.kind == INCIDENT_CONDITION && look.outer == wanted)
            return TRAIL_RUNS; /* on its way into the wait or out of it: about to give it back */
        look_retakes(&look);
        enum ahead ahead = waits_for_whom(&look, &next);
        if (ahead == AHEAD_MANY || next == t)
            return TRAIL_STUCK;
        if (ahead == AHEAD_UNKNOWN || (ahead == AHEAD_RUNS && at != t && retakes_later(&look)))
            return TRAIL_WAKES;
        if (ahead == AHEAD_RUNS)
            return TRAIL_RUNS;
        at = next;
        wanted = look.lock;
    }
    return TRAIL_STUCK;
}

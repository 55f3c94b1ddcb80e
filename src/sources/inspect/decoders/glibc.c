/* Decodes the locks of glibc: the lock a thread waits for, and its futex owner.
 *
 * The function in which the thread sleeps determines the kind of lock, if symbols are available
 * (they are unless libc is linked statically and stripped). Otherwise the contents of memory at the
 * futex determine it. The owner is read from the lock, and accepted only if all other fields are
 * consistent.
 */
#include "sources/inspect/decoders/glibc.h"
#include "sources/inspect/decoders/decoder.h"
#include "sources/inspect/snapshot/stacks.h"
#include "sources/inspect/target/proc.h"

#include <string.h>

enum what {
    WHAT_MUTEX,
    WHAT_READ,
    WHAT_WRITE,
    WHAT_JOIN,
    WHAT_CONDITION,
    WHAT_SEMAPHORE,
    WHAT_BARRIER,
    WHAT_ONCE,
    WHAT_GUARD,
};

static const char *const function_names[] = {
    "pthread_mutex_lock",
    "pthread_mutex_timedlock",
    "pthread_mutex_clocklock",
    "pthread_mutex_cond_lock",
    "mtx_lock",
    "mtx_timedlock",
    "pthread_rwlock_rdlock",
    "pthread_rwlock_timedrdlock",
    "pthread_rwlock_clockrdlock",
    "pthread_rwlock_wrlock",
    "pthread_rwlock_timedwrlock",
    "pthread_rwlock_clockwrlock",
    "pthread_join",
    "pthread_timedjoin_np",
    "pthread_clockjoin_np",
    "pthread_clockjoin_ex",
    "thrd_join",
    "pthread_cond_wait",
    "pthread_cond_timedwait",
    "pthread_cond_clockwait",
    "cnd_wait",
    "cnd_timedwait",
    "sem_wait",
    "sem_timedwait",
    "sem_clockwait",
    "pthread_barrier_wait",
    "pthread_once",
    "pthread_once_slow",
    "call_once",
    "cxa_guard_acquire",
    NULL,
};
static const unsigned char function_kinds[] = {
    WHAT_MUTEX,     WHAT_MUTEX,     WHAT_MUTEX,     WHAT_MUTEX,     WHAT_MUTEX,     WHAT_MUTEX,
    WHAT_READ,      WHAT_READ,      WHAT_READ,      WHAT_WRITE,     WHAT_WRITE,     WHAT_WRITE,
    WHAT_JOIN,      WHAT_JOIN,      WHAT_JOIN,      WHAT_JOIN,      WHAT_JOIN,      WHAT_CONDITION,
    WHAT_CONDITION, WHAT_CONDITION, WHAT_CONDITION, WHAT_CONDITION, WHAT_SEMAPHORE, WHAT_SEMAPHORE,
    WHAT_SEMAPHORE, WHAT_BARRIER,   WHAT_ONCE,      WHAT_ONCE,      WHAT_ONCE,      WHAT_GUARD,
};

/* The wait being decoded. */
struct futex_wait {
    struct process_snapshot *snapshot;
    uint32_t thread;
    const struct snapshot_thread *waiter;
    struct target *target;
    const struct sleep_call *call;
    bool named; /* the function's symbol was found */
};

/* ------------------------------------------------------------------ owners */

/* Returns the thread with the tid stored in the lock: a thread of this process or, for a shared
 * lock, of another process in the snapshot. SNAPSHOT_GONE: that thread has ended. SNAPSHOT_NONE:
 * unknown. */
static uint32_t find_owner(const struct futex_wait *at, uint32_t tid, bool shared)
{
    uint32_t owner = snapshot_find_thread(at->snapshot, at->waiter->process, tid);
    for (uint32_t i = 0;
         i < snapshot_target_count(at->snapshot) && owner == SNAPSHOT_NONE && shared; i++)
        owner = snapshot_find_thread(at->snapshot, i, tid);
    if (owner != SNAPSHOT_NONE)
        return owner;
    return shared ? SNAPSHOT_NONE : SNAPSHOT_GONE;
}

/* The owner of a shared lock is not a thread in the snapshot. In another pid namespace it is
 * unknown whether the owner is alive. */
static void report_unknown_owner(const struct futex_wait *at, uint32_t tid)
{
    const struct target *target = at->target;
    char text[PROC_STAT];
    const char *state = target->core ? NULL : proc_stat(tid, text);
    bool here = !target->core && target->pid == target->seen_pid;
    bool ended = here && (!state || *state == 'Z' || *state == 'X');
    snapshot_set_unknown(
        at->snapshot, at->thread,
        ended
            ? snapshot_format(at->snapshot,
                              "waits for a lock that is shared between processes, and whose owner, "
                              "thread %u, has ended: another process may still unlock it",
                              tid)
            : snapshot_format(at->snapshot,
                              "waits for a lock that is shared between processes, and whose owner, "
                              "thread %u, is not inspected: inspect its process as well",
                              tid),
        !ended);
}

static void name_owner(const struct futex_wait *at, uint32_t lock, uint32_t tid, bool shared,
                       const char *evidence)
{
    if (tid == 0)
        return;
    uint32_t owner = find_owner(at, tid, shared);
    snapshot_set_owner(at->snapshot, lock, owner, tid, evidence);
    if (owner == SNAPSHOT_NONE)
        report_unknown_owner(at, tid);
}

/* ------------------------------------------------------------------ mutexes */

static uint32_t mutex_flags(uint32_t kind)
{
    static const uint32_t types[] = {0, INCIDENT_RECURSIVE, INCIDENT_ERRORCHECK, INCIDENT_ADAPTIVE};
    /* libc marks every robust mutex as shared; its mapping shows whether it is */
    bool shared = kind & GLIBC_SHARED && !(kind & GLIBC_ROBUST);
    return types[kind & GLIBC_TYPE] | (kind & GLIBC_ROBUST ? (uint32_t)INCIDENT_ROBUST : 0) |
           (kind & GLIBC_INHERIT ? (uint32_t)INCIDENT_INHERIT : 0) |
           (kind & GLIBC_PROTECT ? (uint32_t)INCIDENT_PROTECT : 0) |
           (shared ? (uint32_t)INCIDENT_SHARED : 0);
}

/* Returns whether this is a mutex at which a thread sleeps with this operation and value. `owner`:
 * the tid of its owner, 0: none at the moment. */
static bool fits_mutex(const struct futex_wait *at, const struct glibc_mutex *mutex,
                       uint32_t *owner)
{
    const struct sleep_call *call = at->call;
    bool inherits = mutex->kind & GLIBC_INHERIT, robust = mutex->kind & GLIBC_ROBUST;
    bool locks = call->operation == FUTEX_OP_LOCK_PI || call->operation == FUTEX_OP_LOCK_PI2;
    if ((mutex->kind & ~(uint32_t)GLIBC_KNOWN) || locks != inherits)
        return false;
    if (!locks && call->operation != FUTEX_OP_WAIT && !call->timed)
        return false;
    if (inherits || robust) {
        *owner = mutex->lock & GLIBC_OWNER_DIED ? 0 : mutex->lock & GLIBC_TID;
        return inherits || call->value == mutex->lock;
    }
    /* The word has not changed since the thread went to sleep: contended. */
    *owner = mutex->lock == call->value ? mutex->owner : 0;
    bool ceiling = mutex->kind & GLIBC_PROTECT;
    return (ceiling ? (call->value & 3) == 2 : call->value == 2) && mutex->users > 0;
}

static bool explain_mutex(const struct futex_wait *at)
{
    struct glibc_mutex mutex;
    uint32_t owner;
    if (!target_read_all(at->target, at->call->address, &mutex, sizeof mutex) ||
        !fits_mutex(at, &mutex, &owner))
        return false;
    /* Without a symbol, the owner must be an existing thread. */
    if (!at->named &&
        snapshot_find_thread(at->snapshot, at->waiter->process, owner) == SNAPSHOT_NONE)
        return false;
    uint32_t lock =
        snapshot_add_lock(at->snapshot, at->waiter->process, at->call->address, INCIDENT_MUTEX);
    snapshot_describe_lock(at->snapshot, lock,
                           (struct lock_facts){.flags = mutex_flags(mutex.kind)});
    snapshot_add_wait(at->snapshot, at->thread, lock, INCIDENT_EXCLUSIVE);
    if (!snapshot_is_held(at->snapshot, lock))
        name_owner(at, lock, owner, mutex.kind & GLIBC_SHARED, "owner read from the mutex");
    return true;
}

/* ------------------------------------------------------------------ joins */

/* Returns whether the futex is the tid in a thread descriptor, which must be part of the list of
 * all threads. */
static bool fits_descriptor(const struct futex_wait *at)
{
    struct glibc_thread thread;
    uint64_t base = at->call->address - offsetof(struct glibc_thread, tid), back = 0;
    return target_read_all(at->target, base, &thread, sizeof thread) &&
           thread.tid == at->call->value && target_read_u64(at->target, thread.next + 8, &back) &&
           back == base;
}

static bool explain_join(const struct futex_wait *at)
{
    uint32_t joined = snapshot_find_thread(at->snapshot, at->waiter->process, at->call->value);
    if (at->call->value == 0 || joined == SNAPSHOT_NONE || (!at->named && !fits_descriptor(at)))
        return false;
    snapshot_add_wait(at->snapshot, at->thread, snapshot_add_thread_end(at->snapshot, joined),
                      INCIDENT_END);
    return true;
}

/* ------------------------------------------------------------------ rwlocks */

/* Finds the start of the lock that contains this futex. */
static bool read_rwlock(const struct futex_wait *at, bool writes, uint64_t *base,
                        struct glibc_rwlock *lock)
{
    uint64_t phase = at->call->address - offsetof(struct glibc_rwlock, phase);
    uint64_t writers = at->call->address - offsetof(struct glibc_rwlock, writers_futex);
    bool aligned = at->call->address % 8 == 0;
    *base = !aligned                                            ? writers
            : !writes && (at->call->value & GLIBC_READERS_WAIT) ? at->call->address
                                                                : phase;
    return target_read_all(at->target, *base, lock, sizeof *lock) && lock->flags <= 2 &&
           lock->shared <= 1 && (aligned || writes);
}

static bool explain_rwlock(const struct futex_wait *at, bool writes)
{
    struct glibc_rwlock rwlock;
    uint64_t base;
    if (!read_rwlock(at, writes, &base, &rwlock))
        return false;
    if (!at->named &&
        snapshot_find_thread(at->snapshot, at->waiter->process, rwlock.writer) == SNAPSHOT_NONE)
        return false;
    uint32_t lock = snapshot_add_lock(at->snapshot, at->waiter->process, base, INCIDENT_RWLOCK);
    bool written = rwlock.readers & GLIBC_WRITE_PHASE;
    const struct lock_facts facts = {
        .flags = (rwlock.flags == 2 ? (uint32_t)INCIDENT_PREFERS_WRITERS : 0) |
                 (rwlock.shared ? (uint32_t)INCIDENT_SHARED : 0),
        .units = written ? 0 : rwlock.readers >> GLIBC_READER_SHIFT,
    };
    snapshot_describe_lock(at->snapshot, lock, facts);
    snapshot_add_wait(at->snapshot, at->thread, lock, writes ? INCIDENT_EXCLUSIVE : INCIDENT_READ);
    if (rwlock.writer && !snapshot_is_held(at->snapshot, lock))
        name_owner(at, lock, rwlock.writer, rwlock.shared, "writer read from the rwlock");
    if (!rwlock.writer && facts.units)
        snapshot_set_unknown(
            at->snapshot, at->thread,
            "waits for a rwlock that is held for reading, and does not store its readers", false);
    return true;
}

/* ------------------------------------------------------------------ locks without an owner */

static bool explain_semaphore(const struct futex_wait *at)
{
    struct glibc_semaphore semaphore;
    if (!target_read_all(at->target, at->call->address, &semaphore, sizeof semaphore))
        return false;
    uint32_t lock =
        snapshot_add_lock(at->snapshot, at->waiter->process, at->call->address, INCIDENT_SEMAPHORE);
    snapshot_describe_lock(
        at->snapshot, lock,
        (struct lock_facts){.units = semaphore.value, .flags = INCIDENT_SIGNALS});
    snapshot_add_wait(at->snapshot, at->thread, lock, INCIDENT_UNIT);
    return true;
}

static bool explain_barrier(const struct futex_wait *at)
{
    struct glibc_barrier barrier;
    uint64_t base = at->call->address - offsetof(struct glibc_barrier, round);
    if (!target_read_all(at->target, base, &barrier, sizeof barrier))
        return false;
    uint32_t lock = snapshot_add_lock(at->snapshot, at->waiter->process, base, INCIDENT_BARRIER);
    uint32_t arrived = barrier.in - barrier.round;
    snapshot_describe_lock(
        at->snapshot, lock,
        (struct lock_facts){.units = barrier.count,
                            .missing = barrier.count > arrived ? barrier.count - arrived : 0});
    snapshot_add_wait(at->snapshot, at->thread, lock, INCIDENT_ARRIVAL);
    return true;
}

/* Decodes a lock of which only the address is known. */
static bool explain_word(const struct futex_wait *at, uint64_t address, uint32_t kind,
                         uint32_t mode)
{
    uint32_t lock = snapshot_add_lock(at->snapshot, at->waiter->process, address, kind);
    snapshot_add_wait(at->snapshot, at->thread, lock, mode);
    return true;
}

/* ------------------------------------------------------------------ choosing the kind of lock */

static bool explain_named(const struct futex_wait *at, enum what what)
{
    switch (what) {
    case WHAT_MUTEX:
        return explain_mutex(at);
    case WHAT_READ:
        return explain_rwlock(at, false);
    case WHAT_WRITE:
        return explain_rwlock(at, true);
    case WHAT_JOIN:
        return explain_join(at);
    case WHAT_CONDITION:
        return explain_word(at, (at->call->address & ~UINT64_C(7)) - GLIBC_CONDITION_SIGNALS,
                            INCIDENT_CONDITION, INCIDENT_SIGNAL);
    case WHAT_SEMAPHORE:
        return explain_semaphore(at);
    case WHAT_BARRIER:
        return explain_barrier(at);
    case WHAT_ONCE:
        return explain_word(at, at->call->address, INCIDENT_ONCE, INCIDENT_EXCLUSIVE);
    case WHAT_GUARD:
        return explain_word(at, at->call->address, INCIDENT_GUARD, INCIDENT_EXCLUSIVE);
    }
    return false;
}

/* Returns whether this is a semaphore: a value of 0, then the number of waiters, then private or
 * shared. A semaphore must be recognized even without symbols: on x86-64, sem_wait() leaves its
 * frame by a tail call, and a process with one thread may use a semaphore to idle. */
static bool is_semaphore(const struct futex_wait *at)
{
    const struct process_snapshot *snapshot = at->snapshot;
    struct glibc_semaphore semaphore;
    uint32_t process = at->waiter->process, sleep = 0;
    if (at->call->value != 0 || at->call->address % 8 != 0 ||
        !target_read_all(at->target, at->call->address, &semaphore, sizeof semaphore))
        return false;
    for (uint32_t i = SNAPSHOT_NONE; snapshot_next_thread(snapshot, process, &i);)
        sleep += snapshot_thread(snapshot, i)->sleeps &&
                 snapshot_thread(snapshot, i)->call.kind == CALL_FUTEX &&
                 snapshot_thread(snapshot, i)->call.address == at->call->address;
    bool shared = semaphore.is_private == 128;
    return semaphore.value == 0 && (shared || semaphore.is_private == 0) &&
           (shared ? semaphore.waiters >= sleep : semaphore.waiters == sleep);
}

/* Decides by the contents of memory: only locks that name an existing thread, and semaphores. */
static bool explain_shape(const struct futex_wait *at)
{
    if (at->call->operation == FUTEX_OP_WAIT_BITSET) {
        bool writes = at->call->value == 2 || at->call->address % 8 != 0;
        bool fits = at->call->value == 2 || at->call->value == 3;
        return explain_join(at) || (fits && explain_rwlock(at, writes)) ||
               (is_semaphore(at) && explain_semaphore(at));
    }
    return explain_mutex(at);
}

static bool explain_glibc(struct process_snapshot *snapshot, uint32_t thread)
{
    const struct snapshot_thread *waiter = snapshot_thread(snapshot, thread);
    struct futex_wait at = {
        snapshot, thread, waiter, snapshot_target(snapshot, waiter->process), &waiter->call, false};
    bool raw;
    if (!waiter->sleeps || waiter->call.kind != CALL_FUTEX ||
        target_maps(at.target, "/ld-musl-")) /* another C library, with other layouts */
        return false;
    uint32_t found = stack_find(snapshot, thread, function_names, &raw);
    if (found != SNAPSHOT_NONE) {
        at.named = true;
        enum what what = (enum what)function_kinds[found];
        return (!raw || what == WHAT_GUARD) && explain_named(&at, what);
    }
    return !raw && explain_shape(&at);
}

const struct decoder decoder_glibc = {.name = "glibc", .explain = explain_glibc};

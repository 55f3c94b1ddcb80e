#include "sources/run/graph/activity.h"

#include "sources/run/graph/lock_copy.h"
#include "sources/run/libc/lock_layout.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/system_call.h"
#include "sources/run/state/text.h"
#include "sources/run/threads/thread_table.h"
#include "sources/run/threads/waiters.h"

#include <string.h>

bool observe_retaking(struct observed_wait *look)
{
    union lock_copy copy;
    uintptr_t address = 0;
    if (look->kind != INCIDENT_CONDITION || look->thread == self ||
        !lock_copy(look->outer, INCIDENT_MUTEX, &copy) || copy.mutex.__data.__lock == 0 ||
        is_asleep(look->thread, &address) != SLEEP_YES ||
        address - look->outer >= sizeof(pthread_mutex_t) || !wait_is_same(look))
        return false;
    look->kind = INCIDENT_MUTEX;
    look->mode = INCIDENT_EXCLUSIVE;
    look->flags |= INCIDENT_RETAKES;
    look->lock = look->outer;
    return true;
}

bool thread_runs(struct thread *t)
{
    struct observed_wait look;
    return thread_is_live(t) && (!observe_wait(t, &look) || (look.flags & INCIDENT_TIMED));
}

/* Bounds of this library, set by the linker. */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char _end[] __attribute__((visibility("hidden")));

/* Returns whether the futex belongs to the lock that the thread waits for. A handler that runs
 * during the wait may sleep elsewhere. The futex of a join is internal to libc. */
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
    /* A thread that sleeps on a word of this library works here. */
    if (address >= (uintptr_t)__ehdr_start && address < (uintptr_t)_end)
        return false;
    if (kind == INCIDENT_THREAD_END)
        return true;
    if (t->wait.outer && address - t->wait.outer < sizeof(pthread_mutex_t))
        return true;
    return kind < sizeof sizes && address - t->wait.lock < sizes[kind];
}

/* Returns whether the thread sleeps. A thread that was just woken, but has not run yet, still seems
 * to be in its system call; its state shows the difference. */
static enum sleep is_in_sleep_state(const struct thread *t)
{
    char path[64], text[512];
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/stat");
    if (read_small(path, text, sizeof text) <= 0)
        return SLEEP_UNKNOWN;
    const char *name_end = strrchr(text, ')');
    return name_end && name_end[1] == ' ' && name_end[2] == 'S' ? SLEEP_YES : SLEEP_NO;
}

/* Reads the system call of a thread, and its first argument. */
static enum sleep system_call_of(const struct thread *t, unsigned *call, uintptr_t *argument)
{
    char path[64], text[256];
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/syscall");
    if (read_small(path, text, sizeof text) <= 0)
        return SLEEP_UNKNOWN;
    unsigned number = 0;
    const char *at = text;
    if (*at < '0' || *at > '9')
        return SLEEP_NO; /* "running", or "-1": stopped outside a call */
    for (; *at >= '0' && *at <= '9'; at++)
        number = number * 10 + (unsigned)(*at - '0');
    bool any = strncmp(at, " 0x", 3) == 0;
    at += any ? 3 : 0;
    *call = number;
    *argument = any ? text_take_hex(&at) : 0;
    return SLEEP_YES;
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
    /* A thread that is inside sleeps on a guard of the library, before or after its wait. */
    if (__atomic_load_n(&t->inside, __ATOMIC_RELAXED))
        return SLEEP_NO;
#if defined(__x86_64__)
    if (number == 98) /* in an emulator: the host's number and addresses */
        return is_in_sleep_state(t);
#endif
    return number == SYS_futex && is_its_wait(t, first) ? is_in_sleep_state(t) : SLEEP_NO;
}

/* Returns whether the thread was woken from a condition and now waits for its mutex. That lasts
 * until its wait ends, so the answer is kept. */
static bool is_retaking(struct thread *t, const struct observed_wait *look)
{
    uintptr_t address = 0;
    if (look->kind != INCIDENT_CONDITION)
        return false;
    if (atomic_load_explicit(&t->retaking, memory_order_relaxed) == look->generation)
        return true;
    unsigned number;
    bool sleeps = system_call_of(t, &number, &address) == SLEEP_YES && number == SYS_futex &&
                  !__atomic_load_n(&t->inside, __ATOMIC_RELAXED);
    if (!sleeps || address - look->outer >= sizeof(pthread_mutex_t) || !wait_is_same(look))
        return false;
    atomic_store_explicit(&t->retaking, look->generation, memory_order_relaxed);
    return true;
}

/* Returns whether the thread will get the mutex: it is free, or its owner is about to enter a
 * condition wait with it, or leaves one. Then the mutex will be released at once. */
static bool will_get_mutex(uintptr_t outer)
{
    union lock_copy copy;
    struct observed_wait look;
    if (!lock_copy(outer, INCIDENT_MUTEX, &copy))
        return false;
    if (copy.mutex.__data.__lock == 0)
        return true;
    struct thread *owner = table_by_tid(mutex_owner(&copy.mutex));
    return owner && observe_wait(owner, &look) && look.kind == INCIDENT_CONDITION &&
           look.outer == outer;
}

bool relies_on(struct thread *t)
{
    uint64_t own = self ? self->serial : UINT64_MAX; /* a thread that ends will not look again */
    if (t->serial < own)
        return false;
    uint32_t looking = LOOKING;
    return atomic_compare_exchange_strong(&t->looking, &looking, LOOKING_AGAIN) ||
           looking == LOOKING_AGAIN;
}

/* Returns whether the thread has not slept since it finished looking. */
static bool has_not_slept_since(const struct thread *t)
{
    char path[64];
    uint64_t slept;
    text_join(path, sizeof path, "/proc/self/task/", t->tid, "/status");
    return read_line_number(path, "voluntary_ctxt_switches:", &slept) &&
           (uint32_t)slept == t->slept;
}

/* Returns whether the thread was woken, but has not reported it yet. Asks the kernel only about
 * waits that others end without a visible mark. A thread that waits for an owner, or for a live
 * thread, is not awake. */
static bool is_awake(struct thread *t)
{
    struct observed_wait look;
    union lock_copy copy;
    int value = 0;
    if (t == self)
        return false;
    if (thread_runs(t) || !observe_wait(t, &look)) /* it has changed by now */
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
        return will_get_mutex(look.outer);
    enum sleep sleep = is_asleep(t, NULL);
    return sleep == SLEEP_NO && (!wait_is_same(&look) || !has_not_slept_since(t));
}

/* A sum that changes when any wait begins or ends. */
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

/* Returns whether any thread can act. Threads are checked one after another: a thread that waits
 * may be woken by one that is found waiting later. So any thread that has moved in the meantime
 * counts as running. It looks for deadlocks itself when it waits. */
static bool any_thread_acts(const struct thread *ending)
{
    static _Atomic uint32_t hint; /* the last one found, which is likely to act again */
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
    /* Also true if the table lacks a thread, or if one has started since. */
    return table_tasks() != atomic_load(&watch.live) + atomic_load(&watch.helpers) ||
           atomic_load(&watch.threads_seen) != seen || count_moves() != before;
}

/* Returns whether a known thread runs, that is, waits for nothing or with a time limit. If true,
 * there is one. If false, one may be about to wait. Threads whose end is not visible count once it
 * is known that they exist. */
static bool any_known_thread_runs(const struct thread *ending)
{
    uint32_t idle = ending ? 1 : 0;
    if (atomic_load(&watch.starting))
        return true;
    if (atomic_load(&watch.live) > atomic_load(&watch.waiting) + idle + atomic_load(&watch.unseen))
        return true;
    if (atomic_load(&watch.unseen))
        table_reap();
    return atomic_load(&watch.live) > atomic_load(&watch.waiting) + idle;
}

/* A thread that joins the ending thread continues. */
bool any_thread_runs(const struct thread *ending)
{
    return watch.sandboxed || any_known_thread_runs(ending) ||
           (ending && waiters_find(ending->handle, ending)) || any_thread_acts(ending);
}

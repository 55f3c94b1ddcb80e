#include "sources/run/start/enter.h"

#include "sources/run/locks/lock_order.h"
#include "sources/run/start/start.h"
#include "sources/run/state/guard.h"
#include "sources/run/threads/thread_table.h"
#include "sources/run/threads/wait.h"

#include <errno.h>

/* The wait slot is in use. Usually a signal handler interrupted the wait. But the wait may have
 * been left without an undo handler: then its frame does not exist any more. */
static struct thread *find_interrupted(struct thread *t)
{
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
#if defined(__x86_64__)
    uintptr_t waited = t->wait.registers[7];
#else
    uintptr_t waited = t->wait.registers[31];
#endif
    bool both = here >= t->stack_low && here < t->stack_high && waited >= t->stack_low &&
                waited < t->stack_high;
    if (!both || here < waited)
        return NULL;
    t->jumping = true; /* by setcontext(), or without libc */
    wait_left(t);
    return t;
}

static struct thread *enrol_thread(void)
{
    int saved = errno;
    struct shield shield;
    shield_raise(&shield);
    self_aside = true;
    struct thread *t = table_reserve();
    if (t) {
        table_adopt(t);
        t->unseen = !t->is_main;
        atomic_fetch_add(&watch.unseen, t->unseen);
        if (t->unseen)
            order_found();
    }
    self_aside = false;
    shield_lower(&shield);
    errno = saved;
    return t;
}

struct thread *thread_enter_slow(void)
{
    struct thread *t = self;
    if (t)
        return is_waiting(t) ? find_interrupted(t) : t->inside ? NULL : t;
    uint32_t state = atomic_load_explicit(&watch.state, memory_order_acquire);
    if (unlikely(state != WATCH_ON) && !start_watching())
        return NULL;
    return self_aside ? NULL : enrol_thread();
}

static __attribute__((constructor(101))) void constructor(void)
{
    if (start_watching())
        thread_enter();
}

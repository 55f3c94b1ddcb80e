#include "sources/run/threads/handler_acts.h"

#include "sources/run/libc/export.h"

EXPORTED _Atomic uint32_t gordian_run_acted;

void jump_note(const struct thread *t)
{
    if (t->jumping)
        atomic_store_explicit(&gordian_run_acted, 1, memory_order_relaxed);
}

void unlock_note(const struct thread *t)
{
    if (is_waiting(t))
        atomic_store_explicit(&gordian_run_acted, 1, memory_order_relaxed);
}

void unlock_passes(void)
{
    if (self)
        unlock_note(self);
}

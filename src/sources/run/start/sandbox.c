#include "sources/run/start/sandbox.h"

#include "sources/run/judge/timers.h"
#include "sources/run/libc/real.h"
#include "sources/run/report/status.h"
#include "sources/run/state/arena.h"
#include "sources/run/state/proc_files.h"
#include "sources/run/state/settings.h"
#include "sources/run/state/system_call.h"

#include <errno.h>
#include <string.h>

/* Makes the last system calls before the filter. */
static void prepare_sandbox(void)
{
    pages_reserve();
    uint64_t caught;
    status_release_signal();
    if (!read_line_hex("/proc/self/status", "SigCgt:", &caught))
        caught = ~(uint64_t)0;
    atomic_fetch_or(&watch.caught, caught);
    watch.timers = timers_armed() != POLICY_TIMERS_NONE;
    maps_keep();
    sys_note_clock();
    __atomic_fetch_add(&watch.tally->sandboxed, 1, __ATOMIC_RELAXED);
    watch.sandboxed = true;
}

/* The next syscall(); NULL: not known yet. Read by assembler code. */
__attribute__((visibility("hidden"), used)) void *sandbox_next;

void sandbox_start(void)
{
    sandbox_next = (void *)(uintptr_t)real.syscall;
    uint64_t filters = 0, tried = setting_number("GORDIAN_FILTERS", 0);
    if (read_line_number("/proc/self/status", "Seccomp:", &filters) && filters != 0 &&
        (!read_line_number("/proc/self/status", "Seccomp_filters:", &filters) || filters > tried))
        prepare_sandbox();
}

/* ------------------------------------------------------------------ installing a filter */

bool sandbox_comes(bool comes)
{
    if (!comes || watch.sandboxed || atomic_load(&watch.state) != WATCH_ON)
        return false;
    int saved = errno;
    prepare_sandbox();
    errno = saved;
    return true;
}

long sandbox_came(bool first, long result)
{
    if (first && result < 0)
        watch.sandboxed =
            false; /* the filter was not installed; the status signal stays disabled */
    return result;
}

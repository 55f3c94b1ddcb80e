#include "foundation/base/threads/priority.h"

#ifdef __linux__
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 100000 /* the shortest turn there is: usual ones are of some ms */
#define NICE    10

/* A thread that asks for short turns need not wait until the turn of another is over (of one with a
 * lower priority neither, which the priority alone does not do). */
void priority_soon(void)
{
    struct sched_attr attr = {0};
    if (syscall(SYS_sched_getattr, 0, &attr, (unsigned)sizeof attr, 0u) != 0 ||
        attr.sched_policy != SCHED_NORMAL)
        return; /* somebody has chosen something else for it */
    attr.sched_runtime = TURN_NS;
    attr.sched_flags |= SCHED_FLAG_RESET_ON_FORK;
    if (syscall(SYS_sched_setattr, 0, &attr, 0u) != 0) {
        /* As it is, then. */
    }
}

void priority_late(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) != 0) { /* here a thread's alone */
        /* As it is, then. */
    }
}
#else
void priority_soon(void)
{
}

void priority_late(void)
{
}
#endif

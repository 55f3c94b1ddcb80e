#include "foundation/base/threads/priority.h"

#ifdef __linux__
#include <linux/sched.h>
#include <linux/sched/types.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define TURN_NS 100000 /* the shortest time slice; usual ones are some ms */
#define NICE    10

/* A thread that asks for short time slices need not wait for the end of another thread's slice.
 * Priority alone does not achieve that. */
void priority_soon(void)
{
    struct sched_attr attr = {0};
    if (syscall(SYS_sched_getattr, 0, &attr, (unsigned)sizeof attr, 0u) != 0 ||
        attr.sched_policy != SCHED_NORMAL)
        return; /* it does not have the default policy, which must be intended */
    attr.sched_runtime = TURN_NS;
    attr.sched_flags |= SCHED_FLAG_RESET_ON_FORK;
    if (syscall(SYS_sched_setattr, 0, &attr, 0u) != 0) {
        /* Ignored: the thread keeps its scheduling. */
    }
}

void priority_late(void)
{
    if (setpriority(PRIO_PROCESS, 0, NICE) != 0) { /* on Linux for this thread only */
        /* Ignored: the thread keeps its priority. */
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

/* Annotations: see include/gordian/run.h. */
#include "run/export.h"
#include "run/locks.h"

#include <gordian/run.h>

EXPORTED void gordian_run_name_lock(const void *lock, const char *name)
{
    if (thread_enter() && name)
        lock_name(lock, name);
}

/* Annotations: see include/gordian/run.h. */
#include "sources/run/libc/export.h"
#include "sources/run/locks/lock_registry.h"
#include "sources/run/start/enter.h"

#include <gordian/run.h>

EXPORTED void gordian_run_name_lock(const void *lock, const char *name)
{
    if (thread_enter() && name)
        lock_set_name(lock, name);
}

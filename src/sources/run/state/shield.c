#include "sources/run/state/shield.h"

#include "sources/run/state/system_call.h"

#include <errno.h>

/* Number of shields this thread has raised. */
static __thread uint32_t raised __attribute__((tls_model("initial-exec")));

/* All signals except the one with which libc changes the user of all threads: its sender waits for
 * all threads, and its handler returns. */
#define ALL_SIGNALS (~(uint64_t)0 & ~((uint64_t)1 << (33 - 1)))

static void raise_by(struct shield *shield, bool mask)
{
    uint64_t all = ALL_SIGNALS;
    int saved = errno;
    if (raised) {
        shield->how = SHIELD_NESTED;
    } else if (mask && sys_call(SYS_rt_sigprocmask, SIG_BLOCK, &all, &shield->mask, 8) == 0) {
        shield->how = SHIELD_MASK;
    } else {
        pthread_setcanceltype(PTHREAD_CANCEL_DEFERRED, &shield->type);
        shield->how = SHIELD_TYPE;
    }
    raised++;
    errno = saved;
}

void shield_raise(struct shield *shield)
{
    shield->mask = 0;
    raise_by(shield, atomic_load_explicit(&watch.caught, memory_order_relaxed) != 0);
}

void shield_raise_mask(struct shield *shield)
{
    shield->mask = 0;
    raise_by(shield, true);
}

void shield_lower(const struct shield *shield)
{
    struct shield is =
        *shield; /* a copy: another thread may overwrite it as soon as the guard is free */
    raised--;
    if (is.how == SHIELD_MASK)
        sys_call(SYS_rt_sigprocmask, SIG_SETMASK, &is.mask, NULL, 8);
    else if (is.how == SHIELD_TYPE)
        pthread_setcanceltype(is.type, NULL);
}

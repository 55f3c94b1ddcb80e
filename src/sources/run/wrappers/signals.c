/* sigaction() and related functions: the program may take the signal of GORDIAN_STATUS_SIGNAL for
 * itself. */
#include "sources/run/libc/export.h"
#include "sources/run/libc/real.h"
#include "sources/run/report/status.h"
#include "sources/run/start/enter.h"

#include <string.h>

/* Records handlers, for the time when system calls are forbidden. */
static void note_handler(int number, sighandler_t handler)
{
    if (handler != SIG_DFL && handler != SIG_IGN && number > 0 && number <= 64)
        atomic_fetch_or(&watch.caught, (uint64_t)1 << (number - 1));
}

WRAPPER(int, sigaction, (int number, const struct sigaction *action, struct sigaction *old))
{
    thread_enter();
    int result = real.sigaction(number, action, old);
    if (result == 0 && number == watch.status_signal && number > 0 && old) {
        /* For a signal of the library, report the default action to the program. */
        memset(old, 0, sizeof *old);
        old->sa_handler = SIG_DFL;
    }
    if (result == 0 && action) {
        status_yield(number);
        note_handler(number, action->sa_handler);
    }
    return result;
}
EXPORT(sigaction, V_OLDEST);

/* Returns the earlier handler to the program, after it has set one. */
static sighandler_t handler_set(int number, sighandler_t action, sighandler_t old)
{
    if (old == SIG_ERR)
        return old;
    note_handler(number, action);
    if (number != watch.status_signal || number <= 0)
        return old;
    status_yield(number);
    return SIG_DFL;
}

/* Wraps each variant of signal() in libc. In programs compiled for strict standards, signal() is
 * __sysv_signal(). */
#define SIGNAL_WRAPPER(name)                                                                       \
    WRAPPER(sighandler_t, name, (int number, sighandler_t action))                                 \
    {                                                                                              \
        thread_enter();                                                                            \
        return handler_set(number, action, real.name(number, action));                             \
    }                                                                                              \
    EXPORT(name, V_OLDEST)

SIGNAL_WRAPPER(signal);
SIGNAL_WRAPPER(__sysv_signal);
SIGNAL_WRAPPER(sysv_signal);
SIGNAL_WRAPPER(sigset);

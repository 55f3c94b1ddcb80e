#include "cli/base/interrupt.h"

#include "foundation/base/clock.h"

#include <stdatomic.h>
#include <stddef.h>

/* Signals within this time count as one: the same interrupt may signal both the process group and
 * the process. */
#define SAME_INTERRUPT UINT64_C(500000000)

/* Time of the first signal in ns; 0: none. Two threads may receive signals at the same time. */
static _Atomic uint64_t first;

static void on_interrupt(int number)
{
    uint64_t now = clock_ns(), before = 0;
    if (atomic_compare_exchange_strong(&first, &before, now))
        return;
    if (now > before && now - before > SAME_INTERRUPT) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void interrupt_catch(struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    atomic_store(&first, 0);
    sigaction(SIGINT, NULL, before);
    if (before->sa_handler != SIG_IGN)
        sigaction(SIGINT, &action, NULL);
}

void interrupt_release(const struct sigaction *before)
{
    sigaction(SIGINT, before, NULL);
}

bool interrupt_seen(void)
{
    return atomic_load(&first) != 0;
}

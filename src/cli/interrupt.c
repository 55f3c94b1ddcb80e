#include "cli/interrupt.h"

#include "base/clock.h"

#include <stddef.h>

/* Signals that come so close to each other, a whole group's and one's own, are one. */
#define SAME_INTERRUPT UINT64_C(500000000)

static volatile sig_atomic_t seen;
static volatile uint64_t first_time;

static void on_interrupt(int number)
{
    if (!seen) {
        first_time = clock_ns();
        seen = 1;
    } else if (clock_ns() - first_time > SAME_INTERRUPT) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

void interrupt_catch(struct sigaction *before)
{
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESTART};
    seen = 0;
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
    return seen;
}

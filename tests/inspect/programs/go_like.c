/* What `gordian inspect` sees of a Go program: the mark that Go's linker leaves in the data, and a
 * thread that sleeps on a word of its own run-time system. */
#define _GNU_SOURCE
#include "hang.h"

#include <linux/futex.h>

__attribute__((section(".go.buildinfo"), used, aligned(16))) static char mark[32] =
    "\xff Go buildinf:\x08\x02";

static int word;

static void *park(void *name)
{
    thread_is(name);
    for (;;)
        syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, 0, NULL, NULL, 0);
    return NULL;
}

int main(void)
{
    pthread_t other = go(park, "parked");
    ready(2, 2);
    stay(1, other);
}

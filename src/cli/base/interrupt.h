/* ctrl-C for commands that tell what they have found so far: the first one is only remembered, a
 * second one ends the program as ever. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* From now on; *before is for interrupt_release. One that was ignored stays so. */
void interrupt_catch(struct sigaction *before);
void interrupt_release(const struct sigaction *before);
bool interrupt_seen(void);

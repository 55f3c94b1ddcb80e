/* ctrl-C for commands that report partial results: the first one is only recorded, the second one
 * ends the program. */
#pragma once

#include <signal.h>
#include <stdbool.h>

/* Starts to catch SIGINT; *before is for interrupt_release. An ignored SIGINT stays ignored. */
void interrupt_catch(struct sigaction *before);
void interrupt_release(const struct sigaction *before);
bool interrupt_seen(void);

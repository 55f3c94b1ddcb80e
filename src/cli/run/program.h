/* The program that `gordian run` is asked to run: where it is, and whether it can be watched
 * (sources/run/start/watchable.h has the rules). */
#pragma once

#include "sources/run/start/watchable.h"

struct run_target {
    char path[4096]; /* what to execute; "": not found */
    int failure;     /* errno of why it cannot be executed: ENOENT, EACCES, ...; 0: it can */
    struct target_nature look;
};

/* Looks `name` up as execvp would, and into it. */
void run_target_find(struct run_target *target, const char *name);

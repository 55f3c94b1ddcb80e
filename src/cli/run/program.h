/* The program that `gordian run` starts: its path, and whether it can be watched (the rules are in
 * sources/run/start/watchable.h). */
#pragma once

#include "sources/run/start/watchable.h"

struct run_target {
    char path[4096]; /* path to execute; "": not found */
    int failure;     /* errno, such as ENOENT or EACCES, if it cannot be executed; 0: it can */
    struct watchability look;
};

/* Searches for `name` as execvp does and examines the file. */
void run_target_find(struct run_target *target, const char *name);

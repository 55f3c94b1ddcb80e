/* The program that `gordian run` is asked to run: where it is, and whether it can be watched.
 *
 * Watching rests on the dynamic loader: it puts the watcher in front of the C library. A program
 * without a loader (static), with another C library, for another processor, with raised
 * privileges (the loader then ignores LD_PRELOAD), or with a sanitizer that has taken the same
 * place, cannot be watched. A script is judged by its interpreter. */
#ifndef GORDIAN_CLI_RUN_TARGET_H
#define GORDIAN_CLI_RUN_TARGET_H

#include <stdbool.h>
#include <stddef.h>

struct run_target {
    char path[4096];  /* what to execute; "": not found */
    int failure;      /* errno of why it cannot be executed: ENOENT, EACCES, ...; 0: it can */
    bool watchable;   /* false: `reason` says why not */
    char judged[512]; /* whose nature that is: the program's, or its interpreter's path */
    char reason[200]; /* "is statically linked" */
};

/* Looks `name` up as execvp would, and into it. */
void run_target_find(struct run_target *target, const char *name);

#endif

/* A real service, started for a test in a folder of its own; it ends with the test. */
#ifndef GORDIAN_TESTS_SERVE_RUNNING_H
#define GORDIAN_TESTS_SERVE_RUNNING_H

#include "scratch.h"

#include <stdbool.h>
#include <sys/types.h>

struct running {
    const char *program;     /* gordian */
    const char *const *more; /* further options, NULL at the end; may be NULL. Its own folder has
                                the data, unless they begin with --store */
    pid_t pid;               /* 0: it does not run */
    char folder[SCRATCH_SIZE];
    char socket[128];
    char uri[140];
};

/* What it has said, all its lives long, to stderr. */
void running_show_log(const struct running *running);
/* Starts it, again with the same data if it has run before, and waits until it answers. False:
 * it does not come up (what it said is on standard error). */
bool running_start(struct running *running, const char *program, const char *const *more);
bool running_again(struct running *running);
/* Ends it: politely, or at once. The data stay. */
void running_end(struct running *running, int signal);
/* Ends it and removes everything. Returns its exit status, or -1. */
int running_stop(struct running *running);
/* Does it still run? */
bool running_alive(struct running *running);
/* Resident memory in bytes. */
unsigned long running_memory(const struct running *running);

/* A connection to its socket that does not block for ever (20 s); -1: none. */
int running_connect(const struct running *running);

#endif

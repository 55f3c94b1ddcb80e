/* Processes of a `gordian run` that outlive the program: daemons, jobs in the background. They are
 * known by the session: its folder is in their environment, or the library in them has mapped its
 * tally. The command does not wait for them. */
#pragma once

#include "cli/base/cli.h"

struct survivor {
    uint32_t pid;
    bool watched;      /* the library is in it */
    char command[200]; /* its arguments, or its name */
};

struct survivors {
    struct survivor *list;
    size_t count, room;
};

/* Processes that end by themselves at about the same time as the program are given a moment.
 * `folder`: of the session. To be freed by survivors_free. */
void survivors_find(struct survivors *survivors, const char *folder);
void survivors_free(struct survivors *survivors);

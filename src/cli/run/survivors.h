/* Processes of a `gordian run` that outlive the program, such as daemons and background jobs. The
 * session identifies them: its directory is in their environment, or they have mapped its tally.
 * The command does not wait for them. */
#pragma once

#include "cli/base/cli.h"

struct survivor {
    uint32_t pid;
    bool watched;      /* the library is loaded */
    char command[200]; /* its arguments or its name */
};

struct survivors {
    struct survivor *list;
    size_t count, room;
};

/* Lists the survivors. Processes that end at about the same time as the program get a grace period.
 * `folder`: directory of the session. Free the list with survivors_free. */
void survivors_find(struct survivors *survivors, const char *folder);
void survivors_free(struct survivors *survivors);

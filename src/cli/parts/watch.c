/* The watcher of databases, where it is a program of its own. */
#include "cli/base/commands.h"
#include "cli/parts/part.h"

#define PART "gordian-watch"

const struct command command_watch = {
    .name = "watch",
    .operands = "SERVER...",
    .summary = "watch the lock waits of databases, and name their deadlocks",
    .about = "This is a part of Gordian of its own, which is not installed here: " PART ".\n",
    .run = part_run,
    .missing = "the package " PART " has it, and is not installed",
    .part = PART,
};

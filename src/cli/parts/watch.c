/* The watcher of databases, where it is a program of its own. */
#include "cli/base/commands.h"
#include "cli/parts/part.h"

PART_COMMAND(watch, "SERVER...", "watch lock waits of databases and report deadlocks",
             "gordian-watch");

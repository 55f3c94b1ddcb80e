/* The command of gordian-watch. */
#include "cli/parts/part.h"

PART_COMMAND(watch, "SERVER...", "watch the lock waits of databases, and name their deadlocks",
             "gordian-watch");

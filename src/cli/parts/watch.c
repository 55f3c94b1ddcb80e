/* The watcher of databases, where it is a program of its own. */
#include "cli/parts/part.h"

PART_COMMAND(watch, "SERVER...", "watch the lock waits of databases, and name their deadlocks",
             "gordian-watch");

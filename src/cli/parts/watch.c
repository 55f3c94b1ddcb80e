/* The command of gordian-watch. */
#include "cli/parts/part.h"

PART_COMMAND(watch, "SERVER...", "watch lock waits of databases and report deadlocks",
             "gordian-watch");

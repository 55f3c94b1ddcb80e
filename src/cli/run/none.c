/* gordian run in a build without elfutils. */
#include "cli/base/commands.h"
#include "cli/run/run.h"
#include "cli/run_library.h"

#include <stdio.h>

#define MISSING "built without elfutils (libdw)"

bool run_library(char *path, size_t size, char *why, size_t why_size)
{
    (void)path;
    (void)size;
    snprintf(why, why_size, "%s", MISSING);
    return false;
}

const struct command command_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGUMENT]...",
    .summary = "run a program and report its deadlocks",
    .about = "This program was built without elfutils and cannot watch others.\n",
    .run = cli_missing,
    .missing = MISSING,
};

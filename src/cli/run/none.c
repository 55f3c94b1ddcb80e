/* gordian run, where it was built without elfutils. */
#include "cli/commands.h"
#include "cli/run/run.h"

#include <stdio.h>

static const char missing[] = "built without elfutils (libdw)";

bool run_library(char *path, size_t size, char *why, size_t why_size)
{
    (void)path;
    (void)size;
    snprintf(why, why_size, "%s", missing);
    return false;
}

static int run_main(struct cli *cli, int argc, char **argv)
{
    int code;
    if (cli_parse_before(cli, NULL, argc, argv, &code) < 0)
        return code;
    cli_say(cli, "not available: %s", missing);
    return EXIT_UNAVAILABLE;
}

const struct command command_run = {
    .name = "run",
    .operands = "[--] COMMAND [ARGUMENT]...",
    .summary = "run a program and name its deadlocks: who waits for whom, where",
    .about = "This program was built without elfutils and cannot watch others.\n",
    .run = run_main,
};

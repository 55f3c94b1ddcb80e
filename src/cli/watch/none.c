/* gordian watch in a build without it. */
#include "cli/base/commands.h"

const struct command command_watch = {
    .name = "watch",
    .operands = "SERVER...",
    .summary = "watch lock waits of databases and report deadlocks",
    .about = "This program was built without the libraries that talk to databases.\n",
    .run = cli_missing,
    .missing = "built without libpq and libmariadb",
};

/* gordian serve and gordian incidents, in builds without their libraries. */
#include "cli/base/commands.h"

#define MISSING "built without libevent, SQLite or OpenSSL"

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "run the service: reports deadlocks of the programs that use it",
    .about = "This program was " MISSING " and cannot run a\n"
             "service. It can connect to one: see 'gordian send' and 'gordian tail'.\n",
    .run = cli_missing,
    .missing = MISSING,
};

const struct command command_incidents = {
    .name = "incidents",
    .operands = "",
    .summary = "list the deadlock history of a service",
    .about = "This program was built without what `gordian serve` needs and cannot read the file\n"
             "of one. sqlite3 can: SELECT * FROM incidents.\n",
    .run = cli_missing,
    .missing = MISSING,
};

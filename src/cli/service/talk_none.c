/* gordian send and gordian tail, where they were built without a reader of JSON. */
#include "cli/base/commands.h"

#define MISSING "built without jansson"

const struct command command_send = {
    .name = "send",
    .operands = "[FILE]",
    .summary = "stream a trace to a running service",
    .about = "This program was " MISSING " and cannot read what a service answers.\n",
    .run = cli_missing,
    .missing = MISSING,
};

const struct command command_tail = {
    .name = "tail",
    .operands = "",
    .summary = "show what happens in a running service, as it happens",
    .about = "This program was " MISSING " and cannot read what a service tells.\n",
    .run = cli_missing,
    .missing = MISSING,
};

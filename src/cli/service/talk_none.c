/* gordian send and gordian tail, where they were built without a reader of JSON. */
#include "cli/commands.h"

#define MISSING "built without jansson"

static int tell_missing(struct cli *cli, int argc, char **argv)
{
    int code;
    if (cli_parse(cli, NULL, argc, argv, &code) < 0)
        return code;
    cli_say(cli, "not available: " MISSING);
    return EXIT_UNAVAILABLE;
}

const struct command command_send = {
    .name = "send",
    .operands = "[FILE]",
    .summary = "stream a trace to a running service",
    .about = "This program was " MISSING " and cannot read what a service answers.\n",
    .run = tell_missing,
    .missing = MISSING,
};

const struct command command_tail = {
    .name = "tail",
    .operands = "",
    .summary = "show what happens in a running service, as it happens",
    .about = "This program was " MISSING " and cannot read what a service tells.\n",
    .run = tell_missing,
    .missing = MISSING,
};

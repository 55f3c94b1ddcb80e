/* gordian incidents, where it was built without SQLite. */
#include "cli/commands.h"

static int incidents_main(struct cli *cli, int argc, char **argv)
{
    int code;
    if (cli_parse(cli, NULL, argc, argv, &code) < 0)
        return code;
    cli_say(cli, "not available: built without libevent, SQLite, jansson or OpenSSL");
    return EXIT_UNAVAILABLE;
}

const struct command command_incidents = {
    .name = "incidents",
    .operands = "",
    .summary = "the history of deadlocks a service has kept",
    .about = "This program was built without what `gordian serve` needs and cannot read the file\n"
             "of one. sqlite3 can: SELECT * FROM incidents.\n",
    .run = incidents_main,
};

/* gordian serve, where it was built without what it needs. */
#include "cli/commands.h"

static int serve_main(struct cli *cli, int argc, char **argv)
{
    int code;
    if (cli_parse(cli, NULL, argc, argv, &code) < 0)
        return code;
    cli_say(cli, "not available: %s", command_serve.missing);
    return EXIT_UNAVAILABLE;
}

const struct command command_serve = {
    .name = "serve",
    .operands = "",
    .summary = "run the service: sockets, HTTP, journal",
    .about = "This program was built without libevent, SQLite, jansson or OpenSSL and cannot be a\n"
             "service. It can talk to one: see 'gordian send' and 'gordian tail'.\n",
    .run = serve_main,
    .missing = "built without libevent, SQLite, jansson or OpenSSL",
};

/* Commands that are programs of their own, since they need libraries that the others do without:
 * the service SQLite, libevent and OpenSSL; the watcher of databases their client libraries; the
 * measurements igraph, and much code that few users need. `gordian serve` is one command for its
 * user, whichever program does it: this one becomes the other.
 *
 *     part.c         where the other program is; becoming it
 *     lab.c, serve.c, watch.c       the commands as `gordian` knows them
 *     lab_table.c, serve_table.c, watch_table.c
 *                                   the tables of commands of those programs
 */
#pragma once

#include "cli/base/cli.h"

/* Where the program is: beside this one, in the folder for such programs, or on the PATH. */
bool part_find(const char *program, char *path, size_t size);

/* A command as `gordian` knows it, which another program does. */
#define PART_COMMAND(COMMAND, OPERANDS, SUMMARY, PROGRAM)                                          \
    const struct command command_##COMMAND = {                                                     \
        .name = #COMMAND,                                                                          \
        .operands = (OPERANDS),                                                                    \
        .summary = (SUMMARY),                                                                      \
        .about =                                                                                   \
            "This is a part of Gordian of its own, which is not installed here: " PROGRAM ".\n",   \
        .run = part_run,                                                                           \
        .missing = "the package " PROGRAM " has it, and is not installed",                         \
        .part = (PROGRAM),                                                                         \
    }

/* What the command does here: becomes its program, or says which package has it. */
int part_run(struct cli *cli, int argc, char **argv);

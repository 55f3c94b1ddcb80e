/* Commands in helper programs, because they need libraries that the others do not: the service
 * SQLite, libevent and OpenSSL; the database watcher client libraries; the benchmarks igraph, and
 * much code that few users need. `gordian serve` works either way: it executes the helper program.
 *
 *     part.c         finds and executes the helper program
 *     lab.c, serve.c, watch.c       the commands in `gordian`
 *     lab_table.c, serve_table.c, watch_table.c
 *                                   the command tables of the helper programs */
#pragma once

#include "cli/base/cli.h"

/* Finds a helper program: next to this one, in its own folder, or in the PATH. */
bool part_find(const char *program, char *path, size_t size);

/* Defines a command of `gordian` that a helper program implements. */
#define PART_COMMAND(COMMAND, OPERANDS, SUMMARY, PROGRAM)                                          \
    const struct command command_##COMMAND = {                                                     \
        .name = #COMMAND,                                                                          \
        .operands = (OPERANDS),                                                                    \
        .summary = (SUMMARY),                                                                      \
        .about =                                                                                   \
            "This command is in a separate package, which is not installed here: " PROGRAM ".\n",  \
        .run = part_run,                                                                           \
        .missing = "the package " PROGRAM " has it, and is not installed",                         \
        .part = (PROGRAM),                                                                         \
    }

/* Executes the helper program, or reports which package has it. */
int part_run(struct cli *cli, int argc, char **argv);

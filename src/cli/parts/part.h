/* Commands that are programs of their own, since they need libraries that the others do without:
 * the service SQLite, libevent, jansson and OpenSSL; the watcher of databases their client
 * libraries; the measurements igraph, and much code that few users need. `gordian serve` is one
 * command for its user, whichever program does it: this one becomes the other.
 *
 *     part.c         where the other program is; becoming it
 *     lab.c, serve.c, watch.c       the commands as `gordian` knows them
 *     lab_table.c, serve_table.c, watch_table.c
 *                                   the tables of commands of those programs
 */
#ifndef GORDIAN_CLI_PARTS_PART_H
#define GORDIAN_CLI_PARTS_PART_H

#include "cli/base/cli.h"

/* Where the program is: beside this one, in the folder for such programs, or on the PATH. */
bool part_find(const char *program, char *path, size_t size);

/* What the command does here: becomes its program, or says which package has it. */
int part_run(struct cli *cli, int argc, char **argv);

#endif

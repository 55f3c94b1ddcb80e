#include "cli/parts/part.h"

#include "foundation/base/modules.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool find_on_path(const char *program, char *path, size_t size)
{
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        /* An empty entry means the current folder: skip it for security. */
        if (length && snprintf(path, size, "%.*s/%s", (int)length, folders, program) < (int)size &&
            access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool part_find(const char *program, char *path, size_t size)
{
    char folder[PATH_MAX], installed[PATH_MAX];
#ifdef PARTS_FOLDER /* where it is installed, mostly relative to this program */
    snprintf(installed, sizeof installed, "%s/%s", PARTS_FOLDER, program);
#else
    snprintf(installed, sizeof installed, "../libexec/gordian/%s", program);
#endif
    const char *const places[] = {program, installed, NULL};
    return (program_folder(folder, sizeof folder) &&
            find_installed_file(folder, places, X_OK, path, size)) ||
           find_on_path(program, path, size);
}

int part_run(struct cli *cli, int argc, char **argv)
{
    char path[PATH_MAX];
    if (cli_is_mpi()) {
        cli_say(cli, "gordian-mpi has no such command: use gordian");
        return EXIT_UNAVAILABLE;
    }
    if (!part_find(cli->command->part, path, sizeof path))
        return cli_missing(cli, argc, argv);
    /* Restore the state that this process was started with. */
    if (!cli->pipe_was_ignored)
        signal(SIGPIPE, SIG_DFL);
    for (int fd = 0; fd <= STDERR_FILENO; fd++)
        if (cli->streams_filled >> fd & 1)
            close(fd);
    execv(path, cli->words);
    cli_say(cli, "cannot run '%s': %s", path, strerror(errno));
    return EXIT_BROKEN;
}

#define _GNU_SOURCE
#include "lab/bench/harness/child.h"

#include "foundation/base/modules.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int child_status(const char *folder, const char *const *words, char *text, size_t size)
{
    int pipes[2], status = -1;
    size_t used = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return -1;
    pid_t child = fork();
    if (child == 0) {
        if (chdir(folder) == 0 && dup2(pipes[1], STDOUT_FILENO) >= 0 &&
            dup2(pipes[1], STDERR_FILENO) >= 0)
            execvp(words[0], (char *const *)(uintptr_t)words);
        _exit(127);
    }
    close(pipes[1]);
    while (child > 0) {
        char rest[4096];
        bool full = used + 1 >= size;
        ssize_t count =
            read(pipes[0], full ? rest : text + used, full ? sizeof rest : size - 1 - used);
        if (count < 0 && errno == EINTR)
            continue;
        if (count <= 0)
            break;
        used += full ? 0 : (size_t)count;
    }
    text[used] = '\0';
    close(pipes[0]);
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status)
               ? WEXITSTATUS(status)
               : -1;
}

bool child_sibling(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX], built[PATH_MAX];
    const char *const places[] = {name, built, NULL};
    snprintf(built, sizeof built, "src/lab/bench/%s", name);
    if (program_folder(folder, sizeof folder) &&
        find_installed_file(folder, places, X_OK, path, size))
        return true;
    if (!child_gordian(folder, sizeof folder))
        return false;
    *strrchr(folder, '/') = '\0';
    return find_installed_file(folder, places, X_OK, path, size);
}

bool child_gordian(char *path, size_t size)
{
    char folder[PATH_MAX];
    static const char *const places[] = {
        "gordian",
#ifdef GORDIAN_PROGRAM /* installed path, usually relative to this program */
        GORDIAN_PROGRAM,
#endif
        "../../bin/gordian",
        NULL,
    };
    return program_folder(folder, sizeof folder) &&
           find_installed_file(folder, places, X_OK, path, size);
}

bool child_in_path(const char *name)
{
    char path[PATH_MAX];
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, sizeof path, "%.*s/%s", (int)(length < 3000 ? length : 3000), folders, name);
        if (access(path, X_OK) == 0)
            return true;
        folders += length + (folders[length] == ':');
    }
    return false;
}

bool child_mpirun(void)
{
    static const char *const version[] = {"mpirun", "--version", NULL};
    char text[256];
    /* Allow ranks on one machine as any user and with any number of cores. */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    return child_status("/", version, text, sizeof text) == 0;
}

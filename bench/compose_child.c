/* Other programs, to compare with: SPIN, mpirun. */
#define _GNU_SOURCE
#include "compose.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

bool compose_child(const char *folder, const char *const *words, char *text, size_t size)
{
    int pipes[2], status = -1;
    size_t used = 0;
    if (pipe2(pipes, O_CLOEXEC) != 0)
        return false;
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
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
}

bool compose_beside(const char *name, char *path, size_t size)
{
    char folder[PATH_MAX];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    snprintf(path, size, "%.3900s/%s", folder, name);
    return access(path, X_OK) == 0;
}

bool compose_mpirun(void)
{
    static const char *const version[] = {"mpirun", "--version", NULL};
    char text[256];
    /* Ranks of one machine, whoever runs them and however many cores there are. */
    setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
    setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
    setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
    return compose_child("/", version, text, sizeof text);
}

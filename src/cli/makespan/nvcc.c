/* Compiles a .cu file to PTX with nvcc. */
#include "cli/makespan/makespan.h"
#include "foundation/base/io/temporary.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define WORDS 40u

/* Finds $NVCC, or nvcc in $CUDA_HOME, in the PATH, or at the usual place. */
static void find_nvcc(char *path, size_t size)
{
    const char *named = getenv("NVCC"), *home = getenv("CUDA_HOME");
    if (named && *named) {
        snprintf(path, size, "%s", named);
        return;
    }
    if (home && *home) {
        snprintf(path, size, "%s/bin/nvcc", home);
        return;
    }
    const char *folders = getenv("PATH");
    while (folders && *folders) {
        size_t length = strcspn(folders, ":");
        snprintf(path, size, "%.*s/nvcc", (int)length, folders);
        if (access(path, X_OK) == 0)
            return;
        folders += length + (folders[length] == ':');
    }
    snprintf(path, size, "/usr/local/cuda/bin/nvcc");
}

static int compile_to(struct makespan *makespan, const char *path, const char *to)
{
    char nvcc[4096], extra[2048], *words[WORDS + 10];
    size_t count = 0;
    find_nvcc(nvcc, sizeof nvcc);
    if (access(nvcc, X_OK) != 0) {
        cli_say(makespan->cli, "a .cu file needs nvcc: '%s': %s: give PTX, or set NVCC", nvcc,
                strerror(errno));
        return EXIT_UNAVAILABLE;
    }
    words[count++] = nvcc;
    words[count++] = (char *)"-ptx";
    words[count++] = (char *)"-lineinfo";
    if (makespan->nvcc) {
        snprintf(extra, sizeof extra, "%s", makespan->nvcc);
        for (char *word = strtok(extra, " \t"); word && count < WORDS; word = strtok(NULL, " \t"))
            words[count++] = word;
    }
    words[count++] = (char *)"-o";
    words[count++] = (char *)to;
    words[count++] = (char *)path;
    words[count] = NULL;
    pid_t child = fork();
    if (child == 0) {
        dup2(STDERR_FILENO, STDOUT_FILENO); /* stdout is for results */
        execv(words[0], words);
        _exit(127);
    }
    int status = -1;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    int result = child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (result == 0)
        return EXIT_NOTHING;
    cli_say(makespan->cli, "nvcc could not compile '%s'", path);
    return result == 127 || result < 0 ? EXIT_UNAVAILABLE : EXIT_MISUSE;
}

int makespan_compile(struct makespan *makespan, const char *path, int *code)
{
    char name[4096];
    gordian_error error = {0};
    int fd;
    if (temporary_file("gordian", "", name, sizeof name, &fd, &error) != GORDIAN_OK) {
        *code = cli_fail(makespan->cli, NULL, &error);
        return -1;
    }
    *code = compile_to(makespan, path, name);
    close(fd); /* nvcc may have replaced the file */
    fd = *code == EXIT_NOTHING ? open(name, O_RDONLY | O_CLOEXEC) : -1;
    if (fd < 0 && *code == EXIT_NOTHING) {
        cli_say(makespan->cli, "cannot read '%s': %s", name, strerror(errno));
        *code = EXIT_BROKEN;
    }
    unlink(name);
    return fd;
}

/* Starts services in folders of their own, and stops them. */
#define _GNU_SOURCE
#include "lab/bench/serve/serve.h"

#include "foundation/base/error.h"
#include "foundation/base/io/temporary.h"
#include "lab/bench/harness/child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#define START_SECONDS 20

gordian_status serve_make_folder(struct service_process *process, gordian_error *error)
{
    *process = (struct service_process){0};
    /* The folder must be short enough for a socket in it. */
    size_t capacity = sizeof((struct sockaddr_un){0}).sun_path - 2;
    TRY(temporary_folder("gordian-bench", process->folder, capacity, error));
    snprintf(process->socket, sizeof process->socket, "%s/s", process->folder);
    return GORDIAN_OK;
}

static bool can_connect(const char *path)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    snprintf(to.sun_path, sizeof to.sun_path, "%.100s", path);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool good = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    if (fd >= 0)
        close(fd);
    return good;
}

static gordian_status launch(struct service_process *process, const char *const *words,
                             gordian_error *error)
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        /* The child dies with us, and its output goes to a file. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        signal(SIGPIPE, SIG_DFL);
        if (chdir(process->folder) == 0) {
            int out = open("log", O_WRONLY | O_CREAT | O_TRUNC, 0600);
            if (out >= 0 && dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
                execvp(words[0], (char *const *)(uintptr_t)words);
        }
        _exit(127);
    }
    if (child < 0) {
        serve_stop(process);
        return fail(error, GORDIAN_STATUS_IO, "cannot start %s: %s", words[0], strerror(errno));
    }
    process->pid = child;
    for (int tries = 0; tries < START_SECONDS * 200; tries++) {
        if (can_connect(process->socket))
            return GORDIAN_OK;
        if (waitpid(child, &status, WNOHANG) == child) {
            char text[200];
            process->pid = 0;
            /* The first line of the service's output, for an error message. */
            char path[256];
            snprintf(path, sizeof path, "%s/log", process->folder);
            FILE *file = fopen(path, "r");
            text[0] = '\0';
            if (file && fgets(text, (int)(sizeof text), file))
                text[strcspn(text, "\n")] = '\0';
            if (file)
                fclose(file);
            serve_stop(process);
            bool missing =
                WIFEXITED(status) && (WEXITSTATUS(status) == 127 || WEXITSTATUS(status) == 3);
            return fail(error, missing ? GORDIAN_STATUS_UNAVAILABLE : GORDIAN_STATUS_IO, "%s",
                        text[0] ? text : "it is not installed");
        }
        usleep(5000);
    }
    serve_stop(process);
    return fail(error, GORDIAN_STATUS_IO, "%s does not start", words[0]);
}

gordian_status serve_start(struct service_process *process, const char *durability,
                           gordian_error *error)
{
    TRY(serve_make_folder(process, error));
    return serve_start_with(process, durability, NULL, error);
}

gordian_status serve_start_with(struct service_process *process, const char *durability,
                                const char *const *more, gordian_error *error)
{
    char self[PATH_MAX];
    if (!child_gordian(self, sizeof self))
        return fail(error, GORDIAN_STATUS_IO, "gordian was not found next to this program");
    const char *words[24] = {self,   "serve",  "--socket", process->socket, "--data",
                             "data", "--http", "none",     "--durability",  durability};
    for (size_t i = 0; more && more[i] && i < 12; i++)
        words[10 + i] = more[i];
    return launch(process, words, error);
}

gordian_status serve_start_store(struct service_process *process, const char *store,
                                 const char *schema, const char *commits, gordian_error *error)
{
    char self[PATH_MAX];
    gordian_status status = GORDIAN_OK;
    if (!child_gordian(self, sizeof self))
        return fail(error, GORDIAN_STATUS_IO, "gordian was not found next to this program");
    if (!process->folder[0])
        status = serve_make_folder(process, error);
    TRY(status);
    const char *words[] = {
        self,   "serve",  "--socket", process->socket,   "--store", store,         "--store-schema",
        schema, "--http", "none",     "--store-commits", commits,   "--max-lease", "1h",
        NULL};
    return launch(process, words, error);
}

gordian_status serve_start_redis(struct service_process *process, gordian_error *error)
{
    TRY(serve_make_folder(process, error));
    const char *words[] = {"redis-server",  "--port",       "0",   "--unixsocket",
                           process->socket, "--appendonly", "yes", "--appendfsync",
                           "everysec",      "--save",       "",    "--dir",
                           process->folder, "--daemonize",  "no",  NULL};
    return launch(process, words, error);
}

void serve_stop(struct service_process *process)
{
    if (process->pid > 0) {
        kill(process->pid, SIGTERM);
        for (int tries = 0; tries < 1000 && waitpid(process->pid, NULL, WNOHANG) == 0; tries++) {
            usleep(10000);
            if (tries == 999) {
                kill(process->pid, SIGKILL);
                waitpid(process->pid, NULL, 0);
            }
        }
    }
    temporary_remove(process->folder);
    *process = (struct service_process){0};
}

uint64_t serve_memory(const struct service_process *process)
{
    char path[64], line[200];
    uint64_t kilobytes = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)process->pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file)) {
        unsigned long value;
        if (sscanf(line, "VmRSS: %lu kB", &value) == 1)
            kilobytes = value;
    }
    if (file)
        fclose(file);
    return kilobytes * 1024;
}

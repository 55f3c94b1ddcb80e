#define _GNU_SOURCE
#include "running.h"

#include <fcntl.h>
#include <ftw.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static int status_of_last = -1;

static _Noreturn void become(const struct running *running)
{
    const char *words[32] = {running->program, "serve",  "--socket",
                             running->socket,  "--http", "none"};
    size_t count = 6;
    bool shared = running->more && running->more[0] && strcmp(running->more[0], "--store") == 0;
    if (!shared) {
        words[count++] = "--data";
        words[count++] = "data";
    }
    for (size_t i = 0; running->more && running->more[i] && count < 31; i++)
        words[count++] = running->more[i];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    int log = chdir(running->folder) == 0 ? open("log", O_WRONLY | O_CREAT | O_APPEND, 0600) : -1;
    if (log >= 0 && dup2(log, STDOUT_FILENO) >= 0 && dup2(log, STDERR_FILENO) >= 0)
        execv(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
}

void running_show_log(const struct running *running)
{
    char path[160], line[400];
    snprintf(path, sizeof path, "%s/log", running->folder);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        fprintf(stderr, "service: %s", line);
    if (file)
        fclose(file);
}

/* Does it take connections on its port, if it was given one? That comes after the Unix socket. */
static bool takes_tcp(const struct running *running)
{
    const char *listens = NULL;
    for (size_t i = 0; running->more && running->more[i]; i++)
        if (strcmp(running->more[i], "--listen") == 0)
            listens = running->more[i + 1];
    if (!listens || strncmp(listens, "127.0.0.1:", 10) != 0)
        return true;
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    to.sin_port = htons((uint16_t)atoi(listens + 10));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool taken = fd >= 0 && connect(fd, (struct sockaddr *)&to, sizeof to) == 0;
    if (fd >= 0)
        close(fd);
    return taken;
}

bool running_again(struct running *running)
{
    running->pid = fork();
    if (running->pid == 0)
        become(running);
    for (int tries = 0; running->pid > 0 && tries < 120000; tries++) {
        int fd = running_connect(running);
        if (fd >= 0) {
            close(fd);
            if (takes_tcp(running))
                return true;
        }
        if (!running_alive(running))
            break;
        usleep(5000);
    }
    running_show_log(running);
    return false;
}

bool running_start(struct running *running, const char *program, const char *const *more)
{
    static char whole[4096]; /* the service starts in another folder */
    *running =
        (struct running){.program = realpath(program, whole) ? whole : program, .more = more};
    if (!scratch_make(running->folder, "serve"))
        return false;
    snprintf(running->socket, sizeof running->socket, "%.110s/s", running->folder);
    snprintf(running->uri, sizeof running->uri, "unix:%s", running->socket);
    return running_again(running);
}

bool running_alive(struct running *running)
{
    int status;
    if (running->pid > 0 && waitpid(running->pid, &status, WNOHANG) == running->pid) {
        status_of_last = status;
        running->pid = 0;
    }
    return running->pid > 0;
}

void running_end(struct running *running, int signal)
{
    if (running->pid <= 0)
        return;
    if (!running_alive(running)) {
        fprintf(stderr, "the service had ended by itself, status %#x\n", (unsigned)status_of_last);
        running_show_log(running);
        return;
    }
    kill(running->pid, signal);
    waitpid(running->pid, &status_of_last, 0);
    running->pid = 0;
}

static int remove_one(const char *path, const struct stat *about, int kind, struct FTW *where)
{
    (void)about;
    (void)kind;
    (void)where;
    return remove(path);
}

int running_stop(struct running *running)
{
    running_end(running, SIGTERM);
    if (!WIFEXITED(status_of_last) || WEXITSTATUS(status_of_last) != 0) {
        fprintf(stderr, "the service ended with status %#x\n", (unsigned)status_of_last);
        running_show_log(running);
    }
    nftw(running->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return WIFEXITED(status_of_last) ? WEXITSTATUS(status_of_last) : -1;
}

unsigned long running_memory(const struct running *running)
{
    char path[64], line[200];
    unsigned long value = 0;
    snprintf(path, sizeof path, "/proc/%d/status", (int)running->pid);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file) && sscanf(line, "VmRSS: %lu kB", &value) != 1) {
    }
    if (file)
        fclose(file);
    return value * 1024;
}

int running_connect(const struct running *running)
{
    struct sockaddr_un to = {.sun_family = AF_UNIX};
    struct timeval limit = {.tv_sec = 20};
    snprintf(to.sun_path, sizeof to.sun_path, "%.100s", running->socket);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -1;
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0)
        return fd;
    close(fd);
    return -1;
}

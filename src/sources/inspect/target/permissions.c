#include "sources/inspect/target/permissions.h"

#include "foundation/base/error.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CAP_SYS_PTRACE_BIT 19

static bool read_text(const char *path, char *text, size_t size)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t count = fd < 0 ? -1 : read(fd, text, size - 1);
    if (fd >= 0)
        close(fd);
    text[count > 0 ? count : 0] = '\0';
    return count > 0;
}

/* A line of /proc/PID/status, from behind its name. */
static const char *status_line(const char *status, const char *name)
{
    const char *line = strstr(status, name);
    return line ? line + strlen(name) : NULL;
}

/* Kernel's rule of who may trace whom; 0: none beyond the users'. */
static int yama_scope(void)
{
    char text[16];
    return read_text("/proc/sys/kernel/yama/ptrace_scope", text, sizeof text) ? atoi(text) : 0;
}

static bool has_capability(void)
{
    char status[4096];
    const char *line = read_text("/proc/self/status", status, sizeof status)
                           ? status_line(status, "\nCapEff:\t")
                           : NULL;
    return line && (strtoull(line, NULL, 16) >> CAP_SYS_PTRACE_BIT & 1);
}

static long owner_of(uint32_t pid)
{
    char path[64], status[4096];
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    const char *line =
        read_text(path, status, sizeof status) ? status_line(status, "\nUid:\t") : NULL;
    return line ? strtol(line, NULL, 10) : -1;
}

gordian_status rights_say(const struct rights *rights, gordian_error *error)
{
    uint32_t pid = rights->pid;
    if (rights->yama_scope == 3)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: kernel.yama.ptrace_scope is 3, which forbids "
                    "it to everybody until the next boot; take a core instead (kill -QUIT)",
                    pid);
    if (rights->user == 0 && !rights->may_trace)
        return fail(
            error, GORDIAN_STATUS_INPUT,
            "process %u may not be inspected: this container lacks CAP_SYS_PTRACE; start it "
            "with --cap-add=SYS_PTRACE, or inspect from outside",
            pid);
    if (rights->owner >= 0 && rights->owner != rights->user && rights->user != 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u belongs to user %ld: inspect it as that user or as root (sudo)",
                    pid, rights->owner);
    if (rights->yama_scope >= 1)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: kernel.yama.ptrace_scope is %d; use sudo, or "
                    "sysctl kernel.yama.ptrace_scope=0",
                    pid, rights->yama_scope);
    if (rights->user == 0)
        return fail(error, GORDIAN_STATUS_INPUT,
                    "process %u may not be inspected: root lacks CAP_SYS_PTRACE in the user "
                    "namespace of that process, or a security module forbids it; inspect it from "
                    "the namespace in which it was started",
                    pid);
    return fail(error, GORDIAN_STATUS_INPUT,
                "process %u may not be inspected: it runs with raised privileges or does not want "
                "to be traced; inspect it as root (sudo)",
                pid);
}

struct rights rights_over(uint32_t pid)
{
    return (struct rights){
        .pid = pid,
        .yama_scope = yama_scope(),
        .user = (long)geteuid(),
        .owner = owner_of(pid),
        .may_trace = has_capability(),
    };
}

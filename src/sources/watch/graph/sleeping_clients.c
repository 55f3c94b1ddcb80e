/* Detects local clients that sleep in a read, by /proc/PID/syscall and context switches. */
#define _GNU_SOURCE
#include "sources/watch/graph/sleeping_clients.h"

#include "foundation/base/clock.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define COST_SHARE 20 /* at most this part of the time is spent on scanning all processes */

void sleepers_close(struct sleepers *sleepers)
{
    memory_free(&sleepers->memory, sleepers->list);
    *sleepers = (struct sleepers){0};
}

/* ------------------------------------------------------------------ state of a process */

static bool has_one_thread(uint32_t pid)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%u/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count == 1;
}

/* Returns the number of context switches of the process's thread. UINT64_MAX: the process is
 * gone. */
static uint64_t count_switches(uint32_t pid)
{
    char path[64], line[128];
    unsigned long long count, sum = 0;
    unsigned found = 0;
    snprintf(path, sizeof path, "/proc/%u/status", pid);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "voluntary_ctxt_switches: %llu", &count) == 1 ||
            sscanf(line, "nonvoluntary_ctxt_switches: %llu", &count) == 1) {
            sum += count;
            found++;
        }
    if (file)
        fclose(file);
    return found == 2 ? sum : UINT64_MAX;
}

/* Returns the socket of a poll(2) on a single descriptor. -1: it cannot be read. */
static int polled_socket(uint32_t pid, uint64_t list)
{
    char path[64];
    struct pollfd poll;
    snprintf(path, sizeof path, "/proc/%u/mem", pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    bool whole = fd >= 0 && pread(fd, &poll, sizeof poll, (off_t)list) == (ssize_t)sizeof poll;
    if (fd >= 0)
        close(fd);
    return whole ? poll.fd : -1;
}

/* Does the process still have the socket open? */
static bool has_socket(uint32_t pid, uint64_t inode)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
        found = entry->d_name[0] != '.' && local_socket(pid, atoi(entry->d_name)) == inode;
    if (folder)
        closedir(folder);
    return found;
}

/* Is this the only socket that an epoll_wait(2) waits for? */
static bool epolls_only(uint32_t pid, int epoll, uint64_t inode)
{
    char path[64], line[256];
    size_t sockets = 0, wanted = 0;
    int fd;
    snprintf(path, sizeof path, "/proc/%u/fdinfo/%d", pid, epoll);
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (sscanf(line, "tfd: %d", &fd) == 1) {
            uint64_t socket = local_socket(pid, fd);
            sockets += socket != 0;
            wanted += socket == inode;
        }
    if (file)
        fclose(file);
    return sockets == 1 && wanted == 1;
}

/* A system call with its arguments. */
struct call {
    long number; /* negative: the thread runs, or may not be read */
    unsigned long long words[4];
};

static struct call read_call(uint32_t pid)
{
    char path[64];
    struct call call = {.number = -1};
    snprintf(path, sizeof path, "/proc/%u/syscall", pid);
    FILE *file = fopen(path, "re");
    if (file && fscanf(file, "%ld %llx %llx %llx %llx", &call.number, &call.words[0],
                       &call.words[1], &call.words[2], &call.words[3]) != 5)
        call.number = -1;
    if (file)
        fclose(file);
    return call;
}

static bool reads_only(uint32_t pid, const struct call *call, uint64_t inode)
{
    int fd = -1;
    if (call->number == SYS_read || call->number == SYS_recvfrom || call->number == SYS_recvmsg)
        fd = (int)call->words[0];
#ifdef SYS_poll
    if (call->number == SYS_poll && call->words[1] == 1 && (int32_t)call->words[2] < 0)
        fd = polled_socket(pid, call->words[0]);
#endif
    if (call->number == SYS_ppoll && call->words[1] == 1 && call->words[2] == 0)
        fd = polled_socket(pid, call->words[0]);
    return fd >= 0 && local_socket(pid, fd) == inode;
}

static bool waits_in_epoll(uint32_t pid, const struct call *call, uint64_t inode)
{
    bool endless = call->number == SYS_epoll_pwait;
#ifdef SYS_epoll_wait
    endless = endless || call->number == SYS_epoll_wait;
#endif
    return endless && (int32_t)call->words[3] < 0 && epolls_only(pid, (int)call->words[0], inode);
}

static bool sleeps_so(uint32_t pid, uint64_t inode, enum sleeper_kind kind)
{
    if (!has_one_thread(pid))
        return false;
    struct call call = read_call(pid);
    switch (kind) {
    case SLEEPER_CLIENT:
        return reads_only(pid, &call, inode);
    case SLEEPER_BACKEND:
        return reads_only(pid, &call, inode) || waits_in_epoll(pid, &call, inode);
    case SLEEPER_OWNER:
        break;
    }
    return call.number >= 0;
}

/* ------------------------------------------------------------------ sleeping clients */

void sleepers_begin(struct sleepers *sleepers)
{
    for (size_t i = 0; i < sleepers->count; i++)
        sleepers->list[i].kept = false;
}

void sleepers_end(struct sleepers *sleepers)
{
    size_t kept = 0;
    for (size_t i = 0; i < sleepers->count; i++)
        if (sleepers->list[i].kept)
            sleepers->list[kept++] = sleepers->list[i];
    sleepers->count = kept;
}

bool sleepers_pending(const struct sleepers *sleepers)
{
    for (size_t i = 0; i < sleepers->count; i++)
        if (!sleepers->list[i].alone)
            return true;
    return false;
}

/* Checks which processes have the sockets open. After that, all known sleepers are the only owners:
 * a socket with other owners has no process. */
void sleepers_recount(struct sleepers *sleepers, struct locals *locals)
{
    uint64_t now = clock_ns();
    if (!locals || !sleepers_pending(sleepers) ||
        now - sleepers->recounted < COST_SHARE * sleepers->cost_ns)
        return;
    locals_recount(locals);
    sleepers->recounted = clock_ns();
    sleepers->cost_ns = sleepers->recounted - now;
    for (size_t i = 0; i < sleepers->count; i++)
        sleepers->list[i].alone = true;
}

static struct sleeper *find_sleeper(struct sleepers *sleepers, uint32_t pid, uint64_t inode)
{
    for (size_t i = 0; i < sleepers->count; i++)
        if (sleepers->list[i].pid == pid && sleepers->list[i].inode == inode)
            return &sleepers->list[i];
    if (!memory_extend(&sleepers->memory, sleepers->list, sleepers->capacity, sleepers->count))
        return NULL;
    struct sleeper *sleeper = &sleepers->list[sleepers->count++];
    *sleeper = (struct sleeper){.pid = pid, .inode = inode, .switches = UINT64_MAX};
    return sleeper;
}

uint64_t sleeper_since(struct sleepers *sleepers, struct locals *locals, enum sleeper_kind kind,
                       const struct session *session, const struct server_facts *facts)
{
    uint64_t inode, now = clock_ns();
    uint32_t pid = locals_process(locals, session, facts, &inode);
    uint64_t switches = pid ? count_switches(pid) : UINT64_MAX;
    if (switches == UINT64_MAX || !sleeps_so(pid, inode, kind) || count_switches(pid) != switches) {
        if (pid && !has_socket(pid, inode))
            locals_forget(locals, session, facts);
        return 0;
    }
    struct sleeper *sleeper = find_sleeper(sleepers, pid, inode);
    if (!sleeper)
        return 0;
    if (sleeper->switches != switches) {
        sleeper->since = sleepers->latest = now;
        sleeper->switches = switches;
        sleeper->alone = false;
    }
    sleeper->kept = true;
    return sleeper->alone ? sleeper->since : 0;
}

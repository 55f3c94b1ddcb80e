#define _GNU_SOURCE
#include "watch/local.h"

#include "base/clock.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define AGAIN_NS UINT64_C(1000000000)

/* One end of a connection. */
struct local_end {
    char address[INET6_ADDRSTRLEN];
    uint32_t port;
    uint64_t inode;
    uint32_t pid; /* 0: not found, or it has threads */
    bool wanted;  /* some session's client */
};

struct locals {
    struct local_end *ends;
    size_t count, room;
    uint64_t read; /* when */
    gordian_allocator memory;
};

static struct local_end *find_end(const struct locals *locals, const char *address, uint32_t port)
{
    for (size_t i = 0; locals && i < locals->count; i++)
        if (locals->ends[i].port == port && strcmp(locals->ends[i].address, address) == 0)
            return &locals->ends[i];
    return NULL;
}

/* The kernel writes the words of an address as they lie in memory. */
static bool parse_address(const char *text, char *address)
{
    unsigned char bytes[16];
    size_t words = strlen(text) / 8;
    for (size_t i = 0; i < words && i < 4; i++) {
        char word[9] = {0};
        memcpy(word, text + 8 * i, 8);
        uint32_t value = (uint32_t)strtoul(word, NULL, 16);
        memcpy(bytes + 4 * i, &value, sizeof value);
    }
    if (words == 1)
        return inet_ntop(AF_INET, bytes, address, INET6_ADDRSTRLEN);
    static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (words == 4 && memcmp(bytes, mapped, sizeof mapped) == 0)
        return inet_ntop(AF_INET, bytes + 12, address, INET6_ADDRSTRLEN);
    return words == 4 && inet_ntop(AF_INET6, bytes, address, INET6_ADDRSTRLEN);
}

/* One line of /proc/net/tcp. */
static bool parse_line(const char *line, struct local_end *end)
{
    unsigned long long inode;
    unsigned port;
    char address[64];
    *end = (struct local_end){0};
    if (sscanf(line, " %*[0-9]: %32[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %*s %llu", address, &port,
               &inode) != 3)
        return false;
    end->port = port;
    end->inode = inode;
    return parse_address(address, end->address);
}

static void read_table(struct locals *locals, const char *path)
{
    char line[512];
    struct local_end end;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (parse_line(line, &end) && memory_grow(&locals->memory, &locals->ends, &locals->room,
                                                  locals->count + 1, sizeof *locals->ends))
            locals->ends[locals->count++] = end;
    if (file)
        fclose(file);
}

bool local_address(uint64_t inode, char *address, size_t size, uint32_t *port)
{
    static const char *const paths[] = {"/proc/net/tcp", "/proc/net/tcp6"};
    char line[512];
    bool found = false;
    for (unsigned i = 0; i < 2 && !found; i++) {
        struct local_end end;
        FILE *file = fopen(paths[i], "re");
        while (file && !found && fgets(line, sizeof line, file))
            found = parse_line(line, &end) && end.inode == inode;
        if (file)
            fclose(file);
        if (found) {
            snprintf(address, size, "%s", end.address);
            *port = end.port;
        }
    }
    return found;
}

static bool has_one_thread(const char *pid)
{
    char path[64];
    size_t count = 0;
    snprintf(path, sizeof path, "/proc/%.20s/task", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        count += entry->d_name[0] != '.';
    if (folder)
        closedir(folder);
    return count == 1;
}

static void match_process(struct locals *locals, const char *pid)
{
    char path[128], link[64];
    snprintf(path, sizeof path, "/proc/%.20s/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        unsigned long long inode;
        snprintf(path, sizeof path, "/proc/%.20s/fd/%.20s", pid, entry->d_name);
        ssize_t length = readlink(path, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        if (sscanf(link, "socket:[%llu]", &inode) != 1)
            continue;
        for (size_t i = 0; i < locals->count; i++)
            if (locals->ends[i].wanted && locals->ends[i].inode == inode && has_one_thread(pid))
                locals->ends[i].pid = (uint32_t)strtoul(pid, NULL, 10);
    }
    if (folder)
        closedir(folder);
}

/* Those of the sessions; are there some that were not known? */
static bool mark_wanted(struct locals *locals, struct source *const *sources, size_t count)
{
    bool unknown = false;
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sources[i]->look.session_count; k++) {
            const struct session *session = &sources[i]->look.sessions[k];
            struct local_end *end =
                session->port ? find_end(locals, session->address, session->port) : NULL;
            unknown = unknown || (session->port && (!end || !end->wanted));
            if (end)
                end->wanted = true;
        }
    return unknown;
}

static void read_again(struct locals *locals, struct source *const *sources, size_t count,
                       uint64_t now)
{
    locals->count = 0;
    locals->read = now;
    read_table(locals, "/proc/net/tcp");
    read_table(locals, "/proc/net/tcp6");
    mark_wanted(locals, sources, count);
    DIR *folder = opendir("/proc");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            match_process(locals, entry->d_name);
    if (folder)
        closedir(folder);
}

void locals_read(struct locals **locals, struct source *const *sources, size_t count)
{
    uint64_t now = clock_ns();
    gordian_allocator memory = memory_allocator(NULL);
    if (!*locals) {
        *locals = memory_zeroed(&memory, sizeof **locals);
        if (!*locals)
            return;
        (*locals)->memory = memory;
    }
    if (mark_wanted(*locals, sources, count) &&
        (!(*locals)->read || now - (*locals)->read >= AGAIN_NS))
        read_again(*locals, sources, count, now);
}

void locals_close(struct locals *locals)
{
    if (!locals)
        return;
    gordian_allocator memory = locals->memory;
    memory_free_all(&memory, locals->ends, locals);
}

uint32_t locals_process(const struct locals *locals, const char *address, uint32_t port)
{
    const struct local_end *end = find_end(locals, address, port);
    return end && end->wanted ? end->pid : 0;
}

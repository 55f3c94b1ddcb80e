/* Finds local client processes by /proc/net/tcp, /proc/net/unix and /proc/PID/fd. */
#define _GNU_SOURCE
#include "sources/watch/graph/local_clients.h"

#include "foundation/base/clock.h"
#include "sources/watch/graph/inspected_process.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COST_SHARE     20 /* at most this part of the time is spent on reading the tables */
#define STARTED_WITHIN 3  /* seconds; both clocks are coarse */
#define CONNECTED      3  /* a socket state in /proc/net/unix */
#define READS_MOST     8  /* limit of readings of the kernel's table */

/* One end of a connection. */
struct local_end {
    char address[INET6_ADDRSTRLEN];
    uint32_t port, peer_port; /* own port, and port at the other end */
    uint64_t inode;
    uint32_t pid; /* 0: not found */
    bool shared;  /* open in several processes */
    bool stale;   /* may have been closed and reused */
    uint64_t far; /* client's end of a Unix socket: inode of the server's end; 0: TCP */
};

/* A server process with one end of a Unix socket, and the index of the client's end. */
struct backend {
    uint32_t pid, end;
};

struct locals {
    struct local_end *ends;
    size_t count, capacity;
    struct backend *backends; /* sorted by pid */
    size_t backend_count, backend_capacity;
    uint64_t read, cost_ns; /* when the tables were last read, and the time it took */
    gordian_allocator memory;
};

bool local_leads_to(const char *address, uint32_t peer_port, const struct server_facts *facts)
{
    bool loopback = strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0;
    return (!facts->port || facts->port == peer_port) && (facts->near || !loopback);
}

static int compare_inodes(const void *left, const void *right)
{
    const struct local_end *one = left, *other = right;
    return (one->inode > other->inode) - (one->inode < other->inode);
}

/* Finds an end by inode. The ends are sorted. */
static struct local_end *find_inode(const struct locals *locals, uint64_t inode)
{
    const struct local_end wanted = {.inode = inode};
    return locals->count
               ? bsearch(&wanted, locals->ends, locals->count, sizeof wanted, compare_inodes)
               : NULL;
}

static int compare_backends(const void *left, const void *right)
{
    const struct backend *one = left, *other = right;
    return (one->pid > other->pid) - (one->pid < other->pid);
}

/* Returns the client's end of a Unix socket whose other end belongs to the session's process. */
static struct local_end *find_unix(const struct locals *locals, const struct session *session,
                                   const struct server_facts *facts)
{
    const struct backend wanted = {.pid = (uint32_t)session->pid};
    if (!facts->near || session->pid <= 0 || !locals->backend_count)
        return NULL;
    const struct backend *found =
        bsearch(&wanted, locals->backends, locals->backend_count, sizeof wanted, compare_backends);
    struct local_end *end = found ? &locals->ends[found->end] : NULL;
    return end && end->peer_port == facts->port ? end : NULL;
}

/* Returns the client's end of a session's connection. Connections to different servers may share a
 * port; if several ends match, returns NULL. */
static struct local_end *find_end(const struct locals *locals, const struct session *session,
                                  const struct server_facts *facts)
{
    struct local_end *found = NULL;
    if (locals && !session->port)
        return find_unix(locals, session, facts);
    for (size_t i = 0; locals && i < locals->count; i++) {
        struct local_end *end = &locals->ends[i];
        if (end->port != session->port || strcmp(end->address, session->address) != 0 ||
            !local_leads_to(end->address, end->peer_port, facts))
            continue;
        if (found)
            return NULL;
        found = end;
    }
    return found;
}

/* Parses an address of the kernel, whose 32-bit words are in host byte order. */
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

/* Parses a line of /proc/net/tcp. False: it is not a socket that a process has open. The remains of
 * a closed socket have no inode. */
static bool parse_line(const char *line, struct local_end *end)
{
    unsigned long long inode;
    unsigned port, peer_port;
    char address[64];
    *end = (struct local_end){0};
    if (sscanf(line, " %*[0-9]: %32[0-9A-F]:%x %*32[0-9A-F]:%x %*s %*s %*s %*s %*s %*s %llu",
               address, &port, &peer_port, &inode) != 4)
        return false;
    end->port = port;
    end->peer_port = peer_port;
    end->inode = inode;
    return inode && parse_address(address, end->address);
}

static void read_table(struct locals *locals, const char *path)
{
    char line[512];
    struct local_end end;
    FILE *file = fopen(path, "re");
    while (file && fgets(line, sizeof line, file))
        if (parse_line(line, &end) &&
            memory_extend(&locals->memory, locals->ends, locals->capacity, locals->count))
            locals->ends[locals->count++] = end;
    if (file)
        fclose(file);
}

bool local_address(uint64_t inode, char *address, size_t size, uint32_t *port, uint32_t *peer_port)
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
            *peer_port = end.peer_port;
        }
    }
    return found;
}

uint64_t local_socket(uint32_t pid, int fd)
{
    char path[64], link[64];
    unsigned long long inode = 0;
    snprintf(path, sizeof path, "/proc/%u/fd/%d", pid, fd);
    ssize_t length = readlink(path, link, sizeof link - 1);
    link[length > 0 ? length : 0] = '\0';
    return sscanf(link, "socket:[%llu]", &inode) == 1 ? inode : 0;
}

/* Assigns the process to all ends that it has open. The ends are sorted. */
static void match_process(struct locals *locals, const char *name)
{
    char path[64];
    uint32_t pid = (uint32_t)strtoul(name, NULL, 10);
    snprintf(path, sizeof path, "/proc/%u/fd", pid);
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && (entry = readdir(folder));) {
        if (entry->d_name[0] == '.')
            continue;
        uint64_t inode = local_socket(pid, atoi(entry->d_name));
        struct local_end *end = inode ? find_inode(locals, inode) : NULL;
        if (end && end->pid && end->pid != pid)
            end->shared = true;
        if (end)
            end->pid = pid;
    }
    if (folder)
        closedir(folder);
}

static void list_backends(struct locals *locals)
{
    locals->backend_count = 0;
    for (uint32_t i = 0; i < locals->count; i++) {
        const struct local_end *far =
            locals->ends[i].far ? find_inode(locals, locals->ends[i].far) : NULL;
        if (!far || !far->pid || far->shared ||
            !memory_extend(&locals->memory, locals->backends, locals->backend_capacity,
                           locals->backend_count))
            continue;
        locals->backends[locals->backend_count++] = (struct backend){far->pid, i};
    }
    if (locals->backend_count)
        qsort(locals->backends, locals->backend_count, sizeof *locals->backends, compare_backends);
}

void locals_recount(struct locals *locals)
{
    for (size_t i = 0; i < locals->count; i++) {
        locals->ends[i].pid = 0;
        locals->ends[i].shared = false;
    }
    DIR *folder = locals->count ? opendir("/proc") : NULL;
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        if (entry->d_name[0] >= '1' && entry->d_name[0] <= '9')
            match_process(locals, entry->d_name);
    if (folder)
        closedir(folder);
    list_backends(locals);
}

/* Adds both ends of all connections to Unix sockets of PostgreSQL. */
static void read_unix(struct locals *locals)
{
    char line[512], path[256];
    unsigned long long inode;
    unsigned state, port;
    FILE *file = fopen("/proc/net/unix", "re");
    while (file && fgets(line, sizeof line, file)) {
        const char *name = NULL;
        if (sscanf(line, "%*[^:]: %*x %*x %*x %*x %x %llu %255[^\n]", &state, &inode, path) == 3)
            name = strstr(path, "/.s.PGSQL.");
        if (!name || state != CONNECTED || sscanf(name, "/.s.PGSQL.%u", &port) != 1)
            continue;
        uint64_t peer = inspector_peer(inode);
        if (!peer || !memory_grow(&locals->memory, &locals->ends, &locals->capacity,
                                  locals->count + 2, sizeof *locals->ends))
            continue;
        locals->ends[locals->count++] = (struct local_end){.inode = inode};
        locals->ends[locals->count++] =
            (struct local_end){.inode = peer, .far = inode, .peer_port = port};
    }
    if (file)
        fclose(file);
}

/* Are there sessions whose clients are not in the table yet? */
static bool has_unknown(const struct locals *locals, struct source *const *sources, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; k < sources[i]->scan.session_count; k++) {
            const struct session *session = &sources[i]->scan.sessions[k];
            const struct local_end *end = find_end(locals, session, &sources[i]->facts);
            /* A session without a port can have a local client if its server is a local PostgreSQL.
             * Only sessions that wait, or are idle and may hold something, matter. */
            bool by_socket = sources[i]->dialect == &dialect_postgres && sources[i]->facts.near &&
                             session->pid > 0 && (session->wait != SCAN_NONE || session->idle);
            if ((session->port || by_socket) && (!end || end->stale))
                return true;
        }
    return false;
}

/* Adds the current contents of the kernel's tables, sorted. Returns the number of new ends. */
static size_t read_tables(struct locals *locals)
{
    size_t before = locals->count, kept = 0;
    read_table(locals, "/proc/net/tcp");
    read_table(locals, "/proc/net/tcp6");
    read_unix(locals);
    if (locals->count)
        qsort(locals->ends, locals->count, sizeof *locals->ends, compare_inodes);
    for (size_t i = 0; i < locals->count; i++)
        if (kept == 0 || locals->ends[i].inode != locals->ends[kept - 1].inode)
            locals->ends[kept++] = locals->ends[i];
    locals->count = kept;
    return kept - before;
}

/* The kernel returns its table piece by piece and may skip entries while connections come and go.
 * So the table is read until all clients are known or nothing is new. */
static void read_again(struct locals *locals, uint64_t now, struct source *const *sources,
                       size_t count)
{
    locals->count = locals->backend_count = 0;
    for (unsigned i = 0; i < READS_MOST; i++)
        if (read_tables(locals) == 0 || !has_unknown(locals, sources, count))
            break;
    locals_recount(locals);
    locals->read = clock_ns();
    locals->cost_ns = locals->read - now;
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
    if (has_unknown(*locals, sources, count) &&
        now - (*locals)->read >= COST_SHARE * (*locals)->cost_ns)
        read_again(*locals, now, sources, count);
}

void locals_close(struct locals *locals)
{
    if (!locals)
        return;
    gordian_allocator memory = locals->memory;
    memory_free_all(&memory, locals->ends, locals->backends, locals);
}

uint32_t locals_process(const struct locals *locals, const struct session *session,
                        const struct server_facts *facts, uint64_t *inode)
{
    const struct local_end *end = find_end(locals, session, facts);
    if (!end || end->shared)
        return 0;
    *inode = end->inode;
    return end->pid;
}

void locals_forget(struct locals *locals, const struct session *session,
                   const struct server_facts *facts)
{
    struct local_end *end = find_end(locals, session, facts);
    if (end)
        end->stale = true;
}

/* ------------------------------------------------------------------ PostgreSQL backends */

/* Returns the boot time in seconds since 1970; 0: not known. */
static long long boot_time(void)
{
    char line[256];
    long long seconds = 0;
    FILE *file = fopen("/proc/stat", "re");
    while (file && !seconds && fgets(line, sizeof line, file))
        if (sscanf(line, "btime %lld", &seconds) != 1)
            seconds = 0;
    if (file)
        fclose(file);
    return seconds;
}

bool local_started(uint32_t pid, const char *id)
{
    char path[64], line[1024];
    unsigned long long ticks = 0;
    long long session = strtoll(id, NULL, 16), boot = boot_time();
    snprintf(path, sizeof path, "/proc/%u/stat", pid);
    FILE *file = fopen(path, "re");
    bool whole = file && fgets(line, sizeof line, file);
    if (file)
        fclose(file);
    const char *rest = whole ? strrchr(line, ')') : NULL; /* the name may contain any character */
    if (!boot || !rest ||
        sscanf(rest,
               ") %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d "
               "%*d %llu",
               &ticks) != 1)
        return false;
    long long started = boot + (long long)(ticks / (unsigned long long)sysconf(_SC_CLK_TCK));
    return started - session <= STARTED_WITHIN && session - started <= STARTED_WITHIN;
}

#define _GNU_SOURCE
#include "sources/inspect/target/open_files.h"

#include "foundation/base/bytes.h"
#include "sources/inspect/target/proc.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <linux/unix_diag.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ------------------------------------------------------------------ one descriptor */

static bool parse_link(const char *link, enum open_file_kind *kind, uint64_t *inode)
{
    const char *number = NULL;
    if (strncmp(link, "pipe:[", 6) == 0) {
        *kind = OPEN_FILE_PIPE;
        number = link + 6;
    } else if (strncmp(link, "socket:[", 8) == 0) {
        *kind = OPEN_FILE_SOCKET;
        number = link + 8;
    }
    *inode = number ? strtoull(number, NULL, 10) : 0;
    return number;
}

bool open_file_at(uint32_t pid, uint32_t fd, enum open_file_kind *kind, uint64_t *inode)
{
    char link[64];
    proc_descriptor(proc_living(pid), fd, link, sizeof link);
    return parse_link(link, kind, inode);
}

uint64_t open_file_inode(uint32_t pid, uint32_t fd)
{
    char path[64];
    struct stat about;
    snprintf(path, sizeof path, "/proc/%u/fd/%u", proc_living(pid), fd);
    return stat(path, &about) == 0 ? about.st_ino : 0;
}

bool open_file_mode(uint32_t pid, uint32_t fd, bool *reads, bool *writes)
{
    char text[4096];
    proc_read(text, sizeof text, "/proc/%u/fdinfo/%u", proc_living(pid), fd);
    const char *flags = strstr(text, "flags:");
    if (!flags)
        return false;
    unsigned long mode = strtoul(flags + 6, NULL, 8) & O_ACCMODE;
    *reads = mode != O_WRONLY;
    *writes = mode != O_RDONLY;
    return true;
}

static bool has_use(uint32_t pid, uint32_t fd, enum open_file_use use)
{
    char text[4096];
    bool reads, writes;
    if (use != OPEN_FILE_LOCKS)
        return open_file_mode(pid, fd, &reads, &writes) &&
               (use == OPEN_FILE_WRITES ? writes : reads);
    proc_read(text, sizeof text, "/proc/%u/fdinfo/%u", proc_living(pid), fd);
    return strstr(text, "lock:");
}

bool open_file_has(uint32_t pid, uint64_t inode, enum open_file_use use)
{
    char path[64];
    bool found = false;
    snprintf(path, sizeof path, "/proc/%u/fd", proc_living(pid));
    DIR *folder = opendir(path);
    for (struct dirent *entry; folder && !found && (entry = readdir(folder));) {
        uint32_t fd = (uint32_t)strtoul(entry->d_name, NULL, 10);
        found =
            entry->d_name[0] != '.' && open_file_inode(pid, fd) == inode && has_use(pid, fd, use);
    }
    if (folder)
        closedir(folder);
    return found;
}

/* ------------------------------------------------------------------ the other end of a socket */

static bool ask_peer(int link, uint64_t inode)
{
    const struct {
        struct nlmsghdr head;
        struct unix_diag_req body;
    } question = {
        .head = {.nlmsg_len = sizeof question,
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .body = {.sdiag_family = AF_UNIX,
                 .udiag_states = UINT32_MAX,
                 .udiag_ino = (uint32_t)inode,
                 .udiag_show = UDIAG_SHOW_PEER,
                 .udiag_cookie = {UINT32_MAX, UINT32_MAX}},
    };
    return send(link, &question, sizeof question, 0) == (ssize_t)sizeof question;
}

static uint64_t peer_in_answer(const char *answer, size_t size)
{
    struct nlmsghdr head;
    size_t at = sizeof head + NLMSG_ALIGN(sizeof(struct unix_diag_msg));
    if (size < sizeof head)
        return 0;
    memcpy(&head, answer, sizeof head);
    if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || head.nlmsg_len > size)
        return 0;
    while (at + sizeof(struct rtattr) <= head.nlmsg_len) {
        struct rtattr attribute;
        uint32_t peer;
        memcpy(&attribute, answer + at, sizeof attribute);
        if (attribute.rta_len < sizeof attribute || at + attribute.rta_len > head.nlmsg_len)
            return 0;
        if (attribute.rta_type == UNIX_DIAG_PEER &&
            attribute.rta_len >= sizeof attribute + sizeof peer) {
            memcpy(&peer, answer + at + RTA_LENGTH(0), sizeof peer);
            return peer;
        }
        at += RTA_ALIGN(attribute.rta_len);
    }
    return 0;
}

uint64_t open_file_peer(uint64_t inode)
{
    char answer[1024];
    int link = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    ssize_t count = -1;
    if (link >= 0 && inode <= UINT32_MAX && ask_peer(link, inode))
        count = recv(link, answer, sizeof answer, 0);
    if (link >= 0)
        close(link);
    return count > 0 ? peer_in_answer(answer, (size_t)count) : 0;
}

/* ------------------------------------------------------------------ all processes */

static bool add_process(struct open_files *open_files, const gordian_allocator *memory,
                        uint32_t pid)
{
    char path[64];
    uint32_t living = proc_living(pid);
    if (!living)
        return true; /* a zombie has no open files */
    snprintf(path, sizeof path, "/proc/%u/fd", living);
    DIR *folder = opendir(path);
    bool done = true;
    if (!folder) {
        snprintf(path, sizeof path, "/proc/%u/stat", pid);
        open_files->unreadable = open_files->unreadable || access(path, F_OK) == 0;
        return true;
    }
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        char link[64];
        struct open_file open_file = {.pid = pid, .fd = (uint32_t)strtoul(entry->d_name, NULL, 10)};
        ssize_t length = entry->d_name[0] == '.'
                             ? -1
                             : readlinkat(dirfd(folder), entry->d_name, link, sizeof link - 1);
        link[length > 0 ? length : 0] = '\0';
        if (!parse_link(link, &open_file.kind, &open_file.inode))
            continue;
        done = memory_extend(memory, open_files->list, open_files->room, open_files->count);
        if (done)
            open_files->list[open_files->count++] = open_file;
    }
    closedir(folder);
    return done;
}

/* ------------------------------------------------------------------ locks on files */

#define LOCK_PIECE 16384
#define LOCK_READS 32 /* attempts to read the whole file, for a wait that is not listed */

/* A line of /proc/locks. */
struct lock_line {
    uint64_t number; /* number of the lock; waiters have the number of the holder */
    uint64_t inode;
    int64_t pid;
    bool waits, posix;
};

/* "1: FLOCK  ADVISORY  WRITE 123 08:01:456 0 EOF", "1: -> POSIX  ..." */
static bool parse_lock(const char *line, struct lock_line *lock)
{
    char kind[16], advice[16], mode[16];
    unsigned major, minor;
    int used = 0;
    *lock = (struct lock_line){0};
    if (sscanf(line, "%" SCNu64 ":%n", &lock->number, &used) != 1 || !used)
        return false;
    line += used + strspn(line + used, " ");
    lock->waits = strncmp(line, "->", 2) == 0;
    line += lock->waits ? 2 : 0;
    if (sscanf(line, "%15s %15s %15s %" SCNd64 " %x:%x:%" SCNu64, kind, advice, mode, &lock->pid,
               &major, &minor, &lock->inode) != 7)
        return false;
    lock->posix = strcmp(kind, "POSIX") == 0;
    return lock->posix || strcmp(kind, "FLOCK") == 0 || strcmp(kind, "OFDLCK") == 0;
}

/* Reads all of /proc/locks, with a NUL at the end. */
static void read_lock_lines(struct bytes *text)
{
    ssize_t got = 1;
    int fd = open("/proc/locks", O_RDONLY | O_CLOEXEC);
    while (fd >= 0 && got > 0 && bytes_room(text, LOCK_PIECE)) {
        got = read(fd, text->data + text->used, LOCK_PIECE);
        text->used += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    bytes_put(text, "", 1);
}

/* In /proc/locks the waiters follow the holder. */
static bool read_locks(struct open_files *open_files, const gordian_allocator *memory)
{
    struct lock_line holder = {0}, line;
    struct bytes text;
    bytes_init(&text, memory);
    open_files->wait_count = 0;
    read_lock_lines(&text);
    bool done = !text.failed;
    for (char *at = (char *)text.data, *end; done && *at; at = end) {
        end = at + strcspn(at, "\n");
        if (*end) /* sscanf scans to the end of its input */
            *end++ = '\0';
        if (!parse_lock(at, &line))
            continue;
        if (!line.waits)
            holder = line;
        if (!line.waits || line.number != holder.number)
            continue;
        done =
            memory_extend(memory, open_files->waits, open_files->wait_room, open_files->wait_count);
        if (done)
            open_files->waits[open_files->wait_count++] =
                (struct file_wait){line.inode, line.pid, holder.pid, line.posix};
    }
    bytes_free(&text);
    return done;
}

static const struct file_wait *find_wait(const struct open_files *open_files, uint32_t pid,
                                         uint64_t inode, bool posix)
{
    for (size_t i = 0; i < open_files->wait_count; i++) {
        const struct file_wait *wait = &open_files->waits[i];
        if (wait->waiter == (int64_t)pid && wait->inode == inode && wait->posix == posix)
            return wait;
    }
    return NULL;
}

const struct file_wait *open_files_wait(struct open_files *open_files,
                                        const gordian_allocator *memory, uint32_t pid,
                                        uint64_t inode, bool posix)
{
    const struct file_wait *wait = find_wait(open_files, pid, inode, posix);
    for (unsigned i = 1; i < LOCK_READS && !wait && !open_files->failed; i++) {
        open_files->failed = !read_locks(open_files, memory);
        wait = open_files->failed ? NULL : find_wait(open_files, pid, inode, posix);
    }
    return wait;
}

/* ------------------------------------------------------------------ opening */

static int compare_openings(const void *a, const void *b)
{
    const struct open_file *left = a, *right = b;
    return left->inode != right->inode ? (left->inode > right->inode) - (left->inode < right->inode)
                                       : (left->kind > right->kind) - (left->kind < right->kind);
}

struct open_files *open_files_read(const gordian_allocator *memory)
{
    struct open_files *open_files = memory_zeroed(memory, sizeof *open_files);
    DIR *folder = open_files ? opendir("/proc") : NULL;
    bool done = folder;
    for (struct dirent *entry; done && (entry = readdir(folder));) {
        uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
        done = !pid || pid == (uint32_t)getpid() || add_process(open_files, memory, pid);
    }
    if (folder)
        closedir(folder);
    if (!done || !read_locks(open_files, memory)) {
        open_files_close(open_files, memory);
        return NULL;
    }
    if (open_files->count)
        qsort(open_files->list, open_files->count, sizeof *open_files->list, compare_openings);
    return open_files;
}

void open_files_close(struct open_files *open_files, const gordian_allocator *memory)
{
    if (!open_files)
        return;
    memory_free_all(memory, open_files->list, open_files->waits);
    memory_free(memory, open_files);
}

const struct open_file *open_files_of(const struct open_files *open_files, enum open_file_kind kind,
                                      uint64_t inode, size_t *count)
{
    size_t low = 0, high = open_files->count;
    const struct open_file key = {.inode = inode, .kind = kind};
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (compare_openings(&open_files->list[middle], &key) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *count = 0;
    while (low + *count < open_files->count &&
           compare_openings(&open_files->list[low + *count], &key) == 0)
        ++*count;
    return open_files->list + low;
}
